// Charts of lines, areas and points over an axis of numbers, moments or names.
import type { Plot, Series } from "../../view/content.ts";
import { xAxis, yTicks } from "../../view/charts.ts";
import { svg } from "../dom.ts";
import { polyline, ruleAcross, ruleDown } from "./bars.ts";
import type { ChartWords, Sketch } from "./chart.ts";
import * as frame from "./frame.ts";

const HEIGHT = 260;
/** A line of more points has no dots. */
const MOST_DOTS = 40;

/** A point with the value that stands below it, which is not zero only in a stacked area. */
type Placed = readonly [x: number, y: number, base: number];

/** Returns the chart in `width` pixels. */
export function drawPlot(plot: Plot, width: number, words: ChartWords): Sketch {
  const placed = plot.stacked
    ? stacked(plot.series)
    : plot.series.map(({ points }) => points.map(([x, y]): Placed => [x, y, 0]));
  const ticks = yTicks(plot, true);
  const names = ticks.map(words.quantity);
  const lastValues = plot.series.map(({ mark, points }) =>
    mark === "point" ? "" : words.quantity(points.at(-1)?.[1] ?? 0),
  );
  const left = frame.leftMargin(names);
  const top = plot.yTitle ? 30 : 12;
  const right = width - Math.max(frame.widest(lastValues) + 10, 12);
  const box = { left, right, top, bottom: top + HEIGHT - 50 };
  const height = box.bottom + (plot.xTitle ? 42 : 24);
  const y = frame.scale(ticks[0] ?? 0, ticks.at(-1) ?? 1, box.bottom, box.top);
  const { x, labels, steps } = horizontal(plot, box, words);

  const marks = plot.series.flatMap((series, at) => drawn(series, placed[at] ?? [], x, y, at, ticks[0] ?? 0));
  const kept = frame.spaced(labels);
  const axis = labels.flatMap(([at, name], nth) => (kept.has(nth) ? [frame.below(box, at, name)] : []));
  const grid = [
    ...frame.leftAxis(box, y, ticks, names),
    ...steps.map((at) => frame.line(at, box.top, at, box.bottom, "grid")),
  ];
  const bottom = (ticks[0] ?? 0) === 0 ? [] : [frame.line(box.left, box.bottom, box.right, box.bottom, "base")];
  const rules = plot.rules.flatMap(({ axis: across, value, label }) =>
    across === "y" ? ruleAcross(box, y(value), label) : ruleDown(box, x(value), label),
  );
  const ends = endLabels(plot.series, placed, lastValues, x, y);
  const titles = frame.axisTitles(box, plot.yTitle, plot.xTitle);
  return {
    picture: frame.picture(
      width,
      height,
      words.alt,
      ...grid,
      ...bottom,
      ...marks,
      ...axis,
      ...rules,
      ...ends,
      ...titles,
    ),
    tip: tips(plot, x, words, box),
  };
}

function stacked(series: readonly Series[]): Placed[][] {
  const sums = new Map<number, number>();
  return series.map(({ mark, points }) =>
    points.map(([x, y]): Placed => {
      if (mark !== "area") return [x, y, 0];
      const base = sums.get(x) ?? 0;
      sums.set(x, base + y);
      return [x, base + y, base];
    }),
  );
}

interface Horizontal {
  readonly x: frame.Scale;
  readonly labels: readonly (readonly [x: number, name: string])[];
  /** Where vertical grid lines stand: on axes of numbers only. */
  readonly steps: readonly number[];
}

function horizontal(plot: Plot, box: frame.Box, words: ChartWords): Horizontal {
  const [{ low, high }, names] = xAxis(plot, words.quantity);
  const inset = plot.xLabels.length ? Math.min(12, (box.right - box.left) / 20) : 0;
  const x = frame.scale(low, high, box.left + inset, box.right - inset);
  const labels = names.map(([at, name]) => [x(at), name] as const);
  return { x, labels, steps: plot.xLabels.length ? [] : labels.map(([at]) => at) };
}

function drawn(
  series: Series,
  placed: readonly Placed[],
  x: frame.Scale,
  y: frame.Scale,
  at: number,
  low: number,
): SVGElement[] {
  const upper = placed.map(([px, py]) => [x(px), y(py)] as const);
  if (series.mark === "point") return [dots(upper, at, 7, 0.75)];
  const marks: SVGElement[] = [];
  if (series.mark === "area") {
    const lower = placed.map(([px, , base]) => [x(px), y(Math.max(base, Math.min(low, 0)))] as const).reverse();
    const d = [...upper, ...lower]
      .map(([px, py], nth) => `${nth ? "L" : "M"}${frame.rounded(px)} ${frame.rounded(py)}`)
      .join("");
    marks.push(svg("path", { d: `${d}Z`, class: `area ${frame.colour(at)}` }));
  }
  marks.push(polyline(upper, at));
  if (upper.length <= MOST_DOTS) marks.push(dots(upper, at, 6, 1));
  return marks;
}

/** Returns all dots of a series as one path: a stroke of no length with round ends is a dot. */
function dots(
  points: readonly (readonly [number, number])[],
  series: number,
  size: number,
  opacity: number,
): SVGPathElement {
  const d = points.map(([x, y]) => `M${frame.rounded(x)} ${frame.rounded(y)}h0`).join("");
  const path = svg("path", { d, class: `line ${frame.colour(series)}`, "stroke-opacity": opacity });
  path.style.strokeWidth = `${size}`;
  return path;
}

/** Returns the last value of each line beside its end; labels that would overlap are moved apart. */
function endLabels(
  series: readonly Series[],
  placed: readonly (readonly Placed[])[],
  names: readonly string[],
  x: frame.Scale,
  y: frame.Scale,
): SVGElement[] {
  const ends = series.flatMap((_, at) => {
    const last = placed[at]?.at(-1);
    const label = names[at];
    return last && label ? [{ x: x(last[0]), y: y(last[1]), label, at }] : [];
  });
  ends.sort((a, b) => a.y - b.y);
  let free = -Infinity;
  return ends.map((end) => {
    const at = Math.max(end.y, free);
    free = at + 13;
    return frame.text(end.x + 7, at + 4, end.label, {
      class: `value ${series.length > 1 ? `end ${frame.colour(end.at)}` : ""}`,
    });
  });
}

function tips(plot: Plot, x: frame.Scale, words: ChartWords, box: frame.Box): Sketch["tip"] {
  const places = new Map<number, { series: number; words: string }[]>();
  plot.series.forEach(({ name, points }, series) => {
    for (const [at, value] of points) {
      const lines = places.get(at) ?? [];
      if (lines.length < 12) lines.push({ series, words: words.named(name, value) });
      places.set(at, lines);
    }
  });
  const order = [...places.keys()].sort((a, b) => a - b);
  const names = new Map(plot.xLabels);
  return (pointer) => {
    const nearest = closest(order, pointer, x);
    if (nearest === undefined) return undefined;
    const lines = places.get(nearest) ?? [];
    return {
      title: names.get(nearest) ?? words.quantity(nearest),
      lines,
      marker: { x: x(nearest), top: box.top, bottom: box.bottom },
    };
  };
}

function closest(order: readonly number[], pointer: number, x: frame.Scale): number | undefined {
  let [low, high] = [0, order.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x(order[middle] ?? 0) < pointer) low = middle;
    else high = middle;
  }
  const [a, b] = [order[low], order[high]];
  if (a === undefined || b === undefined) return undefined;
  return Math.abs(x(a) - pointer) <= Math.abs(x(b) - pointer) ? a : b;
}
