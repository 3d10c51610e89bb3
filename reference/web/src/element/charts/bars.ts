// Bar charts: upright where the names of the categories fit below the bars, else lying.
import type { Bars } from "../../view/content.ts";
import { barTicks } from "../../view/charts.ts";
import { svg } from "../dom.ts";
import type { ChartWords, Sketch, TipLine } from "./chart.ts";
import * as frame from "./frame.ts";

const HEIGHT = 240;
const NARROWEST_BAR = 3;

interface Bar {
  readonly category: number;
  readonly series: number;
  readonly from: number;
  readonly to: number;
  /** The place beside the other bars of its category, from 0. */
  readonly place: number;
  readonly value: number;
}

/** Returns the chart in `width` pixels. */
export function drawBars(bars: Bars, width: number, words: ChartWords): Sketch {
  const drawn = arranged(bars);
  const ticks = barTicks(bars);
  const layout = { bars, drawn, ticks, names: ticks.map(words.quantity), words, width };
  return lies(bars, width) ? lying(layout) : upright(layout);
}

interface Layout {
  readonly bars: Bars;
  readonly drawn: readonly Bar[];
  readonly ticks: readonly number[];
  readonly names: readonly string[];
  readonly words: ChartWords;
  readonly width: number;
}

function lies(bars: Bars, width: number): boolean {
  if (bars.horizontal) return true;
  const band = (width - 60) / bars.categories.length;
  const beside = bars.grouped ? bars.series.length : 1;
  return (frame.widest(bars.categories) > band - 4 && !ordered(bars)) || band < beside * NARROWEST_BAR + 2;
}

/** Tells whether the categories are dates or numbers, of which every n-th name is enough. */
function ordered(bars: Bars): boolean {
  return bars.categories.every((name) => /^[\d.,:\s/-]+$/.test(name));
}

function arranged(bars: Bars): Bar[] {
  const found: Bar[] = [];
  for (let category = 0; category < bars.categories.length; category++) {
    let [above, below, place] = [0, 0, 0];
    bars.series.forEach(({ values }, series) => {
      const value = values[category];
      if (value === null || value === undefined) return;
      if (bars.grouped) found.push({ category, series, from: 0, to: value, place: series, value });
      else {
        const from = value < 0 ? below : above;
        found.push({ category, series, from, to: from + value, place, value });
        if (value < 0) below += value;
        else above += value;
      }
    });
  }
  return found;
}

function upright({ bars, drawn, ticks, names, words, width }: Layout): Sketch {
  const left = frame.leftMargin(names);
  const top = bars.valueTitle ? 34 : 18;
  const box = { left, right: width - 2, top, bottom: top + HEIGHT - 40 };
  const y = frame.scale(ticks[0] ?? 0, ticks.at(-1) ?? 1, box.bottom, box.top);
  // The names of the categories stand below the values of the bars that reach down to them.
  const lowest = drawn.reduce((most, { to }) => Math.max(most, to < 0 ? y(to) + 16 : 0), box.bottom);
  const foot = { ...box, bottom: lowest };
  const height = lowest + (bars.categoryTitle ? 42 : 24);
  const band = (box.right - box.left) / bars.categories.length;
  const centre = (category: number): number => box.left + band * (category + 0.5);
  const beside = bars.grouped ? Math.max(bars.series.length, 1) : 1;
  const thick = Math.min((band * 0.72) / beside, 64);
  const marks = drawn.flatMap((bar) => {
    const x = centre(bar.category) + (bars.grouped ? bar.place - beside / 2 : -0.5) * thick;
    const [low, high] = [Math.min(y(bar.from), y(bar.to)), Math.max(y(bar.from), y(bar.to))];
    const inset = beside > 1 ? 1 : 0;
    return [rectangle(x + inset, low, thick - 2 * inset, high - low, bar.series)];
  });
  const labels = valueLabels(bars, drawn, words).flatMap(({ bar, label, inside }) => {
    const x = centre(bar.category) + (bars.grouped ? bar.place - beside / 2 + 0.5 : 0) * thick;
    const room = bars.grouped ? thick + 4 : band;
    if (frame.textWidth(label) > (inside ? thick : room)) return [];
    if (inside) {
      if (Math.abs(y(bar.from) - y(bar.to)) < 16) return [];
      return [
        frame.text(x, (y(bar.from) + y(bar.to)) / 2 + 4, label, { "text-anchor": "middle", class: "value inside" }),
      ];
    }
    const at = bar.to < 0 ? y(bar.to) + 14 : y(bar.to) - 5;
    return [frame.text(x, at, label, { "text-anchor": "middle", class: "value" })];
  });
  const places = bars.categories.map(
    (name, at) => [centre(at), frame.shortened(name, Math.max(band * 2, 60))] as const,
  );
  const kept = frame.spaced(places.map(([x, name]) => [x, name]));
  const categories = places.flatMap(([x, name], at) => (kept.has(at) ? [frame.below(foot, x, name)] : []));
  const lines = bars.lines.map((series, at) => {
    const points = series.values.flatMap((value, category) =>
      value === null ? [] : [[centre(category), y(value)] as const],
    );
    return polyline(points, bars.series.length + at);
  });
  const rules = bars.rules.flatMap((rule) => ruleAcross(box, y(rule.value), rule.label));
  const titles = frame.axisTitles(foot, bars.valueTitle, bars.categoryTitle);
  const grid = frame.leftAxis(box, y, ticks, names);
  return {
    picture: frame.picture(
      width,
      height,
      words.alt,
      ...grid,
      ...marks,
      ...categories,
      ...lines,
      ...rules,
      ...labels,
      ...titles,
    ),
    tip: (x) => tipAt(bars, words, Math.floor((x - box.left) / band)),
  };
}

function lying({ bars, drawn, ticks, names, words, width }: Layout): Sketch {
  const labelled = bars.categories.map((name) => frame.shortened(name, Math.max(width * 0.36, 60)));
  const left = frame.leftMargin(labelled);
  const top = bars.categoryTitle ? 24 : 4;
  const beside = bars.grouped ? Math.max(bars.series.length, 1) : 1;
  const thick = beside > 1 ? 14 : 18;
  const band = thick * beside + 8;
  const values = valueLabels(bars, drawn, words);
  const longest = frame.widest(values.filter(({ inside }) => !inside).map(({ label }) => label));
  const negative = drawn.some((bar) => bar.to < 0);
  const box = {
    left: left + (negative ? longest : 0),
    right: width - longest - 10,
    top,
    bottom: top + band * bars.categories.length,
  };
  const height = box.bottom + (bars.valueTitle ? 42 : 24);
  const x = frame.scale(ticks[0] ?? 0, ticks.at(-1) ?? 1, box.left, box.right);
  const middle = (category: number): number => box.top + band * (category + 0.5);
  const marks = drawn.map((bar) => {
    const y = middle(bar.category) + (bars.grouped ? bar.place - beside / 2 : -0.5) * thick;
    const [low, high] = [Math.min(x(bar.from), x(bar.to)), Math.max(x(bar.from), x(bar.to))];
    const inset = beside > 1 ? 1 : 0;
    return rectangle(low, y + inset, high - low, thick - 2 * inset, bar.series);
  });
  const labels = values.flatMap(({ bar, label, inside }) => {
    const y = middle(bar.category) + (bars.grouped ? bar.place - beside / 2 + 0.5 : 0) * thick + 4;
    if (inside) {
      if (Math.abs(x(bar.to) - x(bar.from)) < frame.textWidth(label) + 8) return [];
      return [frame.text((x(bar.from) + x(bar.to)) / 2, y, label, { "text-anchor": "middle", class: "value inside" })];
    }
    const anchor = bar.to < 0 ? "end" : "start";
    return [frame.text(x(bar.to) + (bar.to < 0 ? -5 : 5), y, label, { "text-anchor": anchor, class: "value" })];
  });
  const categories = labelled.map((name, at) =>
    frame.text(left - 8, middle(at) + 4, name, { "text-anchor": "end", class: "tick" }),
  );
  const lines = bars.lines.map((series, at) => {
    const points = series.values.flatMap((value, category) =>
      value === null ? [] : [[x(value), middle(category)] as const],
    );
    return polyline(points, bars.series.length + at);
  });
  const rules = bars.rules.flatMap((rule) => ruleDown(box, x(rule.value), rule.label));
  const titles = frame.axisTitles(box, bars.categoryTitle, bars.valueTitle);
  const grid = frame.bottomAxis(box, x, ticks, names);
  return {
    picture: frame.picture(
      width,
      height,
      words.alt,
      ...grid,
      ...marks,
      ...categories,
      ...lines,
      ...rules,
      ...labels,
      ...titles,
    ),
    tip: (_, y) => tipAt(bars, words, Math.floor((y - box.top) / band)),
  };
}

function rectangle(x: number, y: number, width: number, height: number, series: number): SVGRectElement {
  const [w, h] = [Math.max(frame.rounded(width), 0), Math.max(frame.rounded(height), 0)];
  const round = Math.min(2, w / 2, h / 2);
  const place = { x: frame.rounded(x), y: frame.rounded(y), width: w, height: h, rx: round };
  return svg("rect", { ...place, class: `mark ${frame.colour(series)}` });
}

export function polyline(points: readonly (readonly [number, number])[], series: number): SVGPathElement {
  const d = points.map(([x, y], at) => `${at ? "L" : "M"}${frame.rounded(x)} ${frame.rounded(y)}`).join("");
  return svg("path", { d, class: `line ${frame.colour(series)}` });
}

export function ruleAcross(box: frame.Box, y: number, label: string | null): SVGElement[] {
  const rule = frame.line(box.left, y, box.right, y, "rule");
  return label === null
    ? [rule]
    : [rule, frame.text(box.right, y - 4, label, { "text-anchor": "end", class: "value" })];
}

export function ruleDown(box: frame.Box, x: number, label: string | null): SVGElement[] {
  const rule = frame.line(x, box.top, x, box.bottom, "rule");
  const anchor = x > (box.left + box.right) / 2 ? "end" : "start";
  const at = x + (anchor === "end" ? -4 : 4);
  return label === null
    ? [rule]
    : [rule, frame.text(at, box.top + 10, label, { "text-anchor": anchor, class: "value" })];
}

interface ValueLabel {
  readonly bar: Bar;
  readonly label: string;
  readonly inside: boolean;
}

/** Returns the numbers at the ends of bars and in the parts of stacked ones, whose sum stands at the end. */
function valueLabels(bars: Bars, drawn: readonly Bar[], words: ChartWords): ValueLabel[] {
  if (bars.grouped || bars.series.length < 2)
    return drawn.map((bar) => ({ bar, label: words.quantity(bar.value), inside: false }));
  const ends = new Map<string, Bar>();
  for (const bar of drawn) ends.set(`${bar.category} ${bar.value < 0}`, bar);
  const parts = drawn.map((bar) => ({ bar, label: words.quantity(bar.value), inside: true }));
  return [...parts, ...[...ends.values()].map((bar) => ({ bar, label: words.quantity(bar.to), inside: false }))];
}

function tipAt(bars: Bars, words: ChartWords, category: number): { title: string; lines: TipLine[] } | undefined {
  const title = bars.categories[category];
  if (title === undefined) return undefined;
  const lines = [...bars.series, ...bars.lines].flatMap(({ name, values }, series) => {
    const value = values[category];
    return value === null || value === undefined ? [] : [{ series, words: words.named(name, value) }];
  });
  return { title, lines };
}
