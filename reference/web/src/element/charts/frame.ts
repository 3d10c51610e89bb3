// The parts that all charts with two axes share: widths of texts, scales, ticks, grid, rules.
import { svg, type Child } from "../dom.ts";

/** Pixels between a tick's label and the axis. */
const GAP = 8;
/** Of display.css. */
const FONT_SIZE = 12;
/** Widths of characters as parts of the font size: rather too wide, because fonts differ. */
const [NARROW, MIDDLE, WIDE, FULL] = [0.34, 0.6, 0.9, 1.05];
const NARROW_CHARACTERS = /[ijl.,:;|'!()[\]tfrI\s-]/;
const WIDE_CHARACTERS = /[mwMW@%&]/;

/** Returns about how wide a text in a chart is, in pixels. Measuring would take longer than drawing the chart. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x1100) width += FULL;
    else if (NARROW_CHARACTERS.test(character)) width += NARROW;
    else width += WIDE_CHARACTERS.test(character) ? WIDE : MIDDLE;
  }
  return width * FONT_SIZE;
}

export function widest(texts: Iterable<string>): number {
  let most = 0;
  for (const text of texts) most = Math.max(most, textWidth(text));
  return most;
}

/** Returns `text`, cut with an ellipsis so that it is at most `width` pixels wide. */
export function shortened(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let [kept, left] = ["", width - textWidth("…")];
  for (const character of text) {
    left -= textWidth(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export type Scale = (value: number) => number;

/** Returns the linear scale that takes `low` to `from` and `high` to `to`. */
export function scale(low: number, high: number, from: number, to: number): Scale {
  const span = high - low;
  return span ? (value) => from + ((value - low) / span) * (to - from) : () => (from + to) / 2;
}

export function rounded(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

export function text(
  x: number,
  y: number,
  words: string,
  attributes: Record<string, string | number> = {},
): SVGTextElement {
  return svg("text", { x: rounded(x), y: rounded(y), ...attributes }, words);
}

export function line(x1: number, y1: number, x2: number, y2: number, kind: string): SVGLineElement {
  return svg("line", { x1: rounded(x1), y1: rounded(y1), x2: rounded(x2), y2: rounded(y2), class: kind });
}

/** Returns the drawing of a chart of this size; a screen reader says `alt` in its place. */
export function picture(width: number, height: number, alt: string, ...children: Child[]): SVGSVGElement {
  const size = { width: Math.round(width), height: Math.round(height) };
  return svg(
    "svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, ...size, role: "img", "aria-label": alt },
    ...children,
  );
}

/** Returns the grid lines and labels of the vertical axis of values. */
export function leftAxis(box: Box, y: Scale, ticks: readonly number[], names: readonly string[]): SVGElement[] {
  return ticks.flatMap((tick, at) => [
    line(box.left, y(tick), box.right, y(tick), tick === 0 ? "base" : "grid"),
    text(box.left - GAP, y(tick) + 4, names[at] ?? "", { "text-anchor": "end", class: "tick" }),
  ]);
}

/** Returns the grid lines and labels of the horizontal axis of values, below the box. */
export function bottomAxis(box: Box, x: Scale, ticks: readonly number[], names: readonly string[]): SVGElement[] {
  const kept = spaced(ticks.map((tick, at) => [x(tick), names[at] ?? ""] as const));
  return ticks.flatMap((tick, at) => {
    const grid = line(x(tick), box.top, x(tick), box.bottom, tick === 0 ? "base" : "grid");
    return kept.has(at) ? [grid, below(box, x(tick), names[at] ?? "")] : [grid];
  });
}

/** Returns a label below the box, centred at `x`, but inside the picture. */
export function below(box: Box, x: number, words: string): SVGTextElement {
  const half = textWidth(words) / 2;
  const at = Math.max(half, Math.min(x, box.right + 8 - Math.min(half, 8)));
  return text(at, box.bottom + 17, words, { "text-anchor": "middle", class: "tick" });
}

/** Returns which of these labels can stand in one line without touching: every n-th, so that the steps are equal. */
export function spaced(labels: readonly (readonly [x: number, name: string])[]): Set<number> {
  const order = labels.map((_, at) => at).sort((a, b) => (labels[a]?.[0] ?? 0) - (labels[b]?.[0] ?? 0));
  for (let step = 1; step < labels.length; step++) {
    const kept = order.filter((_, at) => at % step === 0);
    let free = -Infinity;
    const fits = kept.every((at) => {
      const [x, name] = labels[at] ?? [0, ""];
      const half = textWidth(name) / 2;
      const room = x - half >= free;
      free = x + half + 12;
      return room;
    });
    if (fits) return new Set(kept);
  }
  return new Set(order.slice(0, 1));
}

export function leftMargin(names: readonly string[]): number {
  return Math.ceil(widest(names)) + GAP;
}

/** Returns the titles of the axes: of the vertical one above it, of the horizontal one below its labels. */
export function axisTitles(box: Box, vertical: string, horizontal: string): SVGElement[] {
  const titles: SVGElement[] = [];
  const room = box.right;
  if (vertical) titles.push(text(0, 11, shortened(vertical, room), { class: "axis-title" }));
  if (horizontal) {
    const middle = (box.left + box.right) / 2;
    const words = shortened(horizontal, box.right - box.left);
    titles.push(text(middle, box.bottom + 36, words, { "text-anchor": "middle", class: "axis-title" }));
  }
  return titles;
}

/** Returns the class of the nth series, which gives it its colour. There are eight. */
export function colour(series: number): string {
  return `series-${(series % 8) + 1}`;
}
