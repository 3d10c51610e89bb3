// A second file, which a page can load beside the element: charts that the element refuses are drawn by Vega, in a worker.
import type { Drawing, Drawn } from "../element/drawing.ts";
import type { MoreCharts, PARTS, Planned } from "../element/more_charts.ts";
import type { XmcpDisplay } from "../element/xmcp_display.ts";
import type { Table, View } from "../view/content.ts";
import { isObject, member, type JsonObject } from "../view/json.ts";
import { label } from "../view/untrusted.ts";
import { type AllowedChart, allowedChart } from "./allowed_chart.ts";
import { type Budget, budgetOf, drawnByVega, wholeBudget } from "./draughtsman.ts";
import { pictureOf } from "./picture.ts";

type Parts = typeof PARTS;

const MOST_FALLBACKS = 3;
const MOST_COLUMNS = 64;
const NARROWEST = 200;
/** Below this part of its size the words of a picture cannot be read: it can be scrolled. */
const SMALLEST = 0.65;

const moreCharts: MoreCharts = (envelope, view, parts) => {
  let link = envelope;
  let planned: Planned = view;
  for (let nth = 0; isObject(link) && nth <= MOST_FALLBACKS; nth++, link = member(link, "fallback")) {
    const type = member(link, "type");
    if (type === "chart" && !isOwn(link, parts)) {
      if (!planned.elsewhere) planned = refusedChart(link, view, parts);
    } else if (type === view.renderedAs) return { ...planned, content: membersOf(link, view, parts) };
  }
  return planned;
};

/** Tells whether a chart is one of the element's own, which had no room for it. */
function isOwn(envelope: JsonObject, { readChart }: Parts): boolean {
  try {
    readChart(member(envelope, "payload"));
    return true;
  } catch {
    return false;
  }
}

function membersOf(envelope: JsonObject, { content }: View, parts: Parts): View["content"] {
  const payload = member(envelope, "payload");
  if (content.kind !== "group" || !Array.isArray(payload)) return content;
  return { ...content, views: content.views.map((view, nth) => moreCharts(payload[nth], view, parts)) };
}

function refusedChart(envelope: JsonObject, view: View, parts: Parts): Planned {
  const payload = member(envelope, "payload");
  const title = wordsOf(envelope, "title") ?? view.title ?? titleOf(payload);
  const alt = wordsOf(envelope, "alt");
  return { ...view, title, elsewhere: (drawing, path) => drawn(payload, title, alt, drawing, path, parts) };
}

function wordsOf(envelope: JsonObject, name: string): string | null {
  const value = member(envelope, name);
  return typeof value === "string" && value.trim() ? value : null;
}

function titleOf(payload: unknown): string | null {
  const title = isObject(payload) ? member(payload, "title") : undefined;
  return typeof title === "string" ? title : isObject(title) ? wordsOf(title, "text") : null;
}

async function drawn(
  payload: unknown,
  title: string | null,
  alt: string | null,
  drawing: Drawing,
  path: string,
  parts: Parts,
): Promise<Drawn> {
  if (drawing.partial) throw new Error("it is not complete yet");
  const chart = allowedChart(payload);
  const table = tableOf(chart);
  const words = label(alt ?? describedBy(table), 4000);
  const place = element("div", "stage scroll");
  let [shown, wanted, busy] = [0, 0, false];
  await draw(Math.max(Math.floor(drawing.width), NARROWEST), budgetOf(drawing.room));
  const name = label(title ?? "", 60) || "chart";
  const body = element("figure", "image");
  body.append(place, dataOf());
  return {
    body,
    copied: () => parts.tabSeparated(table),
    downloads: [
      {
        label: "Download CSV",
        file: () => ({ name: `${name}.csv`, mediaType: "text/csv", text: parts.commaSeparated(table) }),
      },
      {
        label: "Download SVG",
        file: () => ({ name: `${name}.svg`, mediaType: "image/svg+xml", text: asFile(parts.svgFile(place)) }),
      },
    ],
    resize: (width) => void resized(width),
  };

  /** Draws in the last of the widths that are asked for. If it cannot be drawn in one, it stays as it was. */
  async function resized(width: number): Promise<void> {
    wanted = Math.max(Math.floor(width), NARROWEST);
    if (busy) return;
    busy = true;
    try {
      while (shown !== wanted) await draw(wanted, wholeBudget());
    } catch {
      shown = wanted;
    } finally {
      busy = false;
    }
  }

  async function draw(wide: number, budget: Budget): Promise<void> {
    const font = getComputedStyle(document.body).fontFamily;
    const tree = await drawnByVega(
      { specification: chart.specification, width: wide, font, locale: drawing.locale },
      budget,
    );
    const picture = await pictureOf(tree, words, budget, drawing.pause);
    const natural = Number(picture.getAttribute("width"));
    const scrolls = natural * SMALLEST > wide;
    picture.style.height = "auto";
    picture.style.overflow = "hidden";
    if (scrolls) picture.style.minWidth = `${Math.ceil(natural * SMALLEST)}px`;
    if (scrolls) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
    place.replaceChildren(picture);
    shown = wide;
  }

  function dataOf(): HTMLElement {
    const details = element("details", "data");
    const summary = element("summary", "");
    summary.textContent = "Data as a table";
    details.append(summary);
    details.addEventListener(
      "toggle",
      () =>
        void parts
          .drawTable(table, drawing, `${path}.data`, "Data of the chart")
          .then(({ body }) => details.append(body)),
      { once: true },
    );
    return details;
  }
}

function element(name: string, className: string): HTMLElement {
  const made = document.createElement(name);
  made.className = className;
  return made;
}

function tableOf({ rows }: AllowedChart): Table {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, MOST_COLUMNS);
  return {
    kind: "table",
    columns: names.map((title) => {
      const numbers = rows.every((row) => typeof (row[title] ?? 0) === "number");
      return { title, align: numbers ? "right" : "left", grouped: numbers, header: false } as const;
    }),
    rows: rows.map((row) => names.map((name) => row[name] ?? null)),
    caption: null,
    totalRows: null,
    truncated: false,
    further: [],
  };
}

function describedBy({ columns, rows }: Table): string {
  return `Chart of ${rows.length} rows: ${columns.map(({ title }) => title).join(", ")}`;
}

/** Programs that open SVG files know no `color()` of CSS. */
function asFile(picture: string): string {
  const share = (part: string): number => Math.round(Number(part) * 255);
  return picture.replace(
    /color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ [\d.e-]+)?\)/g,
    (_, r: string, g: string, b: string) => `rgb(${share(r)}, ${share(g)}, ${share(b)})`,
  );
}

void customElements.whenDefined("xmcp-display").then((defined) => {
  (defined as typeof XmcpDisplay).moreCharts = moreCharts;
  // What was shown before this file was there.
  for (const display of document.querySelectorAll("xmcp-display")) {
    if (display.envelope !== undefined) display.envelope = display.envelope;
  }
});
