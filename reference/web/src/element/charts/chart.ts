// A chart: its legend, its picture, which is drawn anew in every width, the values under the pointer, and its data as a table.
import type { Chart, Heat, View } from "../../view/content.ts";
import { type Quantity, range } from "../../view/numerals.ts";
import { chartTable, sharesOf } from "../../view/charts.ts";
import { label } from "../../view/untrusted.ts";
import { categoriesMissing, chartDescription } from "../../view/wording.ts";
import { html, svg } from "../dom.ts";
import type { Drawing, Drawn } from "../drawing.ts";
import { commaSeparated, tabSeparated } from "../table/saved_table.ts";
import { drawTable } from "../table/table.ts";
import { drawBars } from "./bars.ts";
import { colour } from "./frame.ts";
import { drawHeat } from "./heat.ts";
import { drawPie } from "./pie.ts";
import { drawPlot } from "./plot.ts";
import { withSafeWords } from "./safe_words.ts";
import { svgFile } from "./svg_file.ts";

/** What a chart says, in the conventions of the reader. */
export interface ChartWords {
  readonly alt: string;
  readonly quantity: Quantity;
  named(name: string | null, value: number): string;
  /** The share of each slice of a pie. */
  readonly shares: readonly string[];
}

export interface TipLine {
  readonly series: number;
  readonly words: string;
}

export interface Tip {
  readonly title: string;
  readonly lines: readonly TipLine[];
  /** Where a vertical line marks the place. */
  readonly marker?: { readonly x: number; readonly top: number; readonly bottom: number };
}

/** A picture of a chart in one width. */
export interface Sketch {
  readonly picture: SVGSVGElement;
  /** Returns what is at this place of the picture. */
  tip(x: number, y: number): Tip | undefined;
}

const NARROWEST = 200;
const MOST_NAMES = 24;

/** Returns a chart, with its legend and its data as a table. */
export function drawChart(chart: Chart, drawing: Drawing, view: View, path: string): Drawn {
  const { quantity } = drawing;
  const shown = withSafeWords(chart, quantity);
  const words: ChartWords = {
    alt: label(view.alt ?? "", 4000) || chartDescription(chart),
    quantity,
    named: (name, value) => (name === null ? quantity(value) : `${name}: ${quantity(value)}`),
    shares: chart.kind === "pie" ? sharesOf(chart, quantity) : [],
  };
  const place = html("div", { class: "stage" });
  let sketch: Sketch | undefined;
  const resize = (width: number): void => {
    sketch = sketched(shown, Math.max(Math.floor(width), NARROWEST), words);
    place.replaceChildren(sketch.picture);
  };
  resize(drawing.width);
  place.addEventListener("pointermove", (event) => showTip(place, sketch, event));
  place.addEventListener("pointerleave", () => hideTip(place));
  const table = chartTable(chart);
  const name = label(view.title ?? "", 60) || "chart";
  return {
    body: html("figure", { class: `chart ${shown.kind}` }, legendOf(shown, words), place, dataOf(table, drawing, path)),
    copied: () => tabSeparated(table),
    downloads: [
      {
        label: "Download CSV",
        file: () => ({ name: `${name}.csv`, mediaType: "text/csv", text: commaSeparated(table) }),
      },
      {
        label: "Download SVG",
        file: () => ({ name: `${name}.svg`, mediaType: "image/svg+xml", text: svgFile(place) }),
      },
    ],
    resize,
    notices: chart.kind === "bars" ? [categoriesMissing(chart)].filter(Boolean) : [],
  };

  function dataOf(data: typeof table, around: Drawing, at: string): HTMLElement {
    const details = html("details", { class: "data" }, html("summary", {}, "Data as a table"));
    // Drawn when it is opened: most readers look at the picture only.
    details.addEventListener(
      "toggle",
      () => void drawTable(data, around, `${at}.data`, "Data of the chart").then(({ body }) => details.append(body)),
      { once: true },
    );
    return details;
  }
}

function sketched(chart: Chart, width: number, words: ChartWords): Sketch {
  switch (chart.kind) {
    case "bars":
      return drawBars(chart, width, words);
    case "plot":
      return drawPlot(chart, width, words);
    case "pie":
      return drawPie(chart, width, words);
    case "heat":
      return drawHeat(chart, width, words);
  }
}

type Sign = "bar" | "line" | "dot";

function legendOf(chart: Chart, words: ChartWords): HTMLElement | null {
  if (chart.kind === "heat") {
    const [low, high] = range(chart.values.flat().filter((value) => value !== null));
    return html(
      "p",
      { class: "scale" },
      chart.valueTitle,
      html("span", {}, words.quantity(low)),
      html("i"),
      html("span", {}, words.quantity(high)),
    );
  }
  const names = namesOf(chart, words);
  if (names.length < 2 && chart.kind !== "pie") return null;
  const items = names
    .slice(0, MOST_NAMES)
    .map(([name, sign], series) =>
      html(
        "li",
        {},
        svg("svg", { viewBox: "0 0 14 10", class: colour(series), "aria-hidden": "true" }, signed(sign)),
        html("span", {}, name),
      ),
    );
  const more = names.length - MOST_NAMES;
  return html("ul", { class: "legend" }, ...items, more > 0 && html("li", {}, `and ${more} more`));
}

function namesOf(chart: Exclude<Chart, Heat>, words: ChartWords): (readonly [string, Sign])[] {
  switch (chart.kind) {
    case "bars":
      return [
        ...chart.series.map(({ name }) => [name ?? chart.valueTitle, "bar"] as const),
        ...chart.lines.map(({ name }) => [name ?? chart.valueTitle, "line"] as const),
      ];
    case "plot":
      return chart.series.map(
        ({ name, mark }) =>
          [name ?? chart.yTitle, mark === "point" ? "dot" : mark === "area" ? "bar" : "line"] as const,
      );
    case "pie":
      return chart.slices.map(
        ([name, value], at) => [`${words.named(name, value)} (${words.shares[at]})`, "bar"] as const,
      );
  }
}

function signed(sign: Sign): SVGElement {
  if (sign === "bar") return svg("rect", { x: 2, width: 10, height: 10, rx: 2, class: "mark" });
  if (sign === "dot") return svg("circle", { cx: 7, cy: 5, r: 4, class: "mark" });
  return svg("path", { d: "M1 5h12", class: "line" });
}

function showTip(place: HTMLElement, sketch: Sketch | undefined, event: PointerEvent): void {
  if (!sketch) return;
  const around = sketch.picture.getBoundingClientRect();
  const found = sketch.tip(event.clientX - around.left, event.clientY - around.top);
  hideTip(place);
  if (!found) return;
  if (found.marker) {
    const { x, top, bottom } = found.marker;
    sketch.picture.append(svg("line", { x1: x, x2: x, y1: top, y2: bottom, class: "pointer" }));
  }
  const lines = found.lines.map(({ series, words }) =>
    html("span", {}, html("i", { class: colour(series) }), html("span", {}, words)),
  );
  const tip = html("div", { class: "tip", "aria-hidden": "true" }, html("b", {}, found.title), ...lines);
  place.append(tip);
  const beside = event.clientX - around.left + 14;
  const fits = beside + tip.offsetWidth < around.width;
  tip.style.left = `${fits ? beside : Math.max(beside - tip.offsetWidth - 28, 0)}px`;
  tip.style.top = `${Math.max(event.clientY - around.top - tip.offsetHeight - 10, 0)}px`;
}

function hideTip(place: HTMLElement): void {
  for (const old of place.querySelectorAll(".tip, .pointer")) old.remove();
}
