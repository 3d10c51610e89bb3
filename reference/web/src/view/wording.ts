/**
 * The words of the simple displays: which facts are written, in which order, how long, and made safe to show, as
 * xmcp/render/view/wording.py.
 *
 * Pure functions from content to strings. Colours, signs and layout are the element's. Text of several lines (`text`,
 * `code`) is cut here by `beginning`; the element passes it through `visible` itself.
 */

import { first, lengthOf } from "./code_points.ts";
import type { Bars, Chart, Code, Facts, File, Image, Json, Metric, Metrics, Notification } from "./content.ts";
import { byteSize, count, english, total, type Quantity } from "./numerals.ts";
import { outline } from "./outline.ts";
import { LIMITS, WORDS } from "./tables.generated.ts";
import { isBlank, label, revealed, visible } from "./untrusted.ts";

export { LEVELS, WORDS } from "./tables.generated.ts";

/** Values of JSON that a page shows. */
export const MAX_NODES = 5_000;

export type Direction = "up" | "down";
type Cut = readonly [text: string, notice: string | null];

const DIRECTIONS: Readonly<Record<string, Direction>> = { "+": "up", "-": "down", "−": "down" };

/** Return the text of one JSON value in a cell, cut at `most` characters; null for `null`. */
export function scalar(value: unknown, most: number = LIMITS.CELL): string | null {
  if (value === null || value === undefined) return null;
  const words = typeof value === "string" ? value : outline(value, null)[0];
  const start = first(words, most);
  return visible(start === words ? words : `${start}… (${lengthOf(words) - most} more characters)`);
}

/** Return the sentence about a part that is shown. `what` is the plural of its pieces. */
export function firstOf(shown: number, total: number, what: string): string {
  return `first ${count(shown)} of ${count(total)} ${what} shown`;
}

/** Return the first characters of a text as they are, and a notice if there are more. */
export function beginning(text: string, most: number = LIMITS.CHARACTERS): Cut {
  const start = first(text, most);
  return [start, start === text ? null : firstOf(most, lengthOf(text), "characters")];
}

/** Return the sentence about facts or metrics that are left out, null if none are. */
export function itemsMissing({ kind, items, total }: Facts | Metrics): string | null {
  return total > items.length ? firstOf(items.length, total, kind) : null;
}

/** Return the sentence about categories of a bar chart that are left out; empty if none are. */
export function categoriesMissing(bars: Bars): string {
  const shown = bars.categories.length;
  return bars.totalCategories > shown ? firstOf(shown, bars.totalCategories, "categories") : "";
}

/** Return a chart in a few words, for one that its author did not describe. */
export function chartDescription(chart: Chart): string {
  const [what, size, ...axes] = describe(chart);
  const words = [`${count(size)} value${size === 1 ? "" : "s"}`, ...axes.map((axis) => label(axis, 40))];
  return `${what}: ${words.filter(Boolean).join(", ")}`;
}

function describe(chart: Chart): [what: string, size: number, first: string, second: string] {
  switch (chart.kind) {
    case "bars":
      return ["Bar chart", chart.categories.length, chart.categoryTitle, chart.valueTitle];
    case "plot": {
      const size = total(chart.series.map((series) => series.points.length));
      const what = { line: "Line chart", area: "Area chart", point: "Scatter plot" }[chart.series[0]!.mark];
      return [what, size, chart.xTitle, chart.yTitle];
    }
    case "pie":
      return ["Pie chart", chart.slices.length, chart.categoryTitle, chart.valueTitle];
    case "heat":
      return ["Heat map", chart.rows.length * chart.columns.length, chart.xTitle, chart.yTitle];
  }
}

/** Return the line above source text: file name and language; empty if neither is known. */
export function codeHeading(code: Code): string {
  return label(joined(code.filename, code.language), 80);
}

/** Return the message with every hidden character revealed, and a notice if not all of it is there. */
export function message(notification: Notification): Cut {
  const [text, notice] = beginning(notification.message, LIMITS.MESSAGE);
  return [revealed(text), notice];
}

/** Return the value as indented JSON of about `nodes` values, and a notice if not all of it is there. */
export function jsonText(json: Json, nodes = MAX_NODES): Cut {
  const [whole, cut] = outline(json.value, "  ", nodes);
  const [text, notice] = beginning(whole);
  return [text, notice ?? (cut ? WORDS.JSON_IS_CUT : null)];
}

/** Tell whether the bytes of the picture are in its address (a `data:` URI). */
export function isInline(image: Image): boolean {
  return image.src.startsWith("data:");
}

/** Return the description of the picture; null if it has none. */
export function imageDescription(image: Image): string | null {
  if (image.alt === null || isBlank(image.alt)) return null;
  const start = first(image.alt, LIMITS.MESSAGE);
  return revealed(start === image.alt ? start : `${start}…`);
}

/** Return media type, size in pixels and, of an inline picture, size in bytes; empty if none is known. */
export function imageFacts(image: Image, quantity: Quantity = english): string {
  const inline = isInline(image);
  const mime = image.mime || (inline ? image.src.slice(5).split(/[;,]/, 1)[0]! : null);
  const pixels = image.size && `${quantity(image.size[0])} × ${quantity(image.size[1])} px`;
  const bytes = inline && `${byteSize(Math.floor((lengthOf(image.src) * 3) / 4), quantity)} inside the message`;
  return label(joined(mime, pixels, bytes || null));
}

/** Return the name of a file, or words that say that it has none. */
export function fileName(file: File): string {
  return label(file.name || WORDS.NO_NAME);
}

/** Return media type and size of a file; empty if neither is known. */
export function fileFacts(file: File, quantity: Quantity = english): string {
  return label(joined(file.mime, file.size === null ? null : byteSize(file.size, quantity)));
}

/** Return the value of a metric and its unit; the unit is empty if there is none. */
export function amount(metric: Metric, quantity: Quantity = english): readonly [value: string, unit: string] {
  const value = typeof metric.value === "number" ? quantity(metric.value) : label(metric.value, 80);
  return [value, label(metric.unit ?? "", 24)];
}

/** Return the delta of a metric, a number with its sign, and its direction; empty if there is none. */
export function change(metric: Metric, quantity: Quantity = english): readonly [words: string, Direction | null] {
  const delta = metric.delta;
  if (delta === null) return ["", null];
  if (typeof delta !== "number") {
    const words = label(delta, 40);
    return [words, DIRECTIONS[words.charAt(0)] ?? null];
  }
  return [`${delta > 0 ? "+" : ""}${quantity(delta)}`, delta > 0 ? "up" : delta < 0 ? "down" : null];
}

function joined(...facts: (string | null)[]): string {
  return facts.filter(Boolean).join(" · ");
}
