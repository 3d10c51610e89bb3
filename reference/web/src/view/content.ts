/**
 * The content of a display whose payload was read: one shape for each kind, told apart by `kind`.
 *
 * Data only, as xmcp/render/view/content.py. The strings are unchanged; untrusted.ts, wording.ts, tables.ts and charts.ts
 * make them safe to show.
 */

export type Align = "left" | "right" | "center";
export type Level = "info" | "success" | "warning" | "error";
export type Mark = "line" | "area" | "point";

/** Plain text. */
export interface Text {
  readonly kind: "text";
  readonly text: string;
}

/** CommonMark source with GFM tables. */
export interface Markdown {
  readonly kind: "markdown";
  readonly source: string;
}

/** Source text, never run. */
export interface Code {
  readonly kind: "code";
  readonly source: string;
  readonly language: string | null;
  readonly filename: string | null;
}

/** HTML source, never interpreted. */
export interface Html {
  readonly kind: "html";
  readonly source: string;
}

/** Any JSON value. */
export interface Json {
  readonly kind: "json";
  readonly value: unknown;
}

/** A table column; `grouped` asks for thousands separators (its author declared it as `number`). */
export interface Column {
  readonly title: string;
  readonly align: Align;
  readonly grouped: boolean;
  readonly header: boolean;
}

/** The rows of a table: an array, or what makes each of them when it is asked for. */
export interface Rows extends Iterable<readonly unknown[]> {
  readonly length: number;
  at(row: number): readonly unknown[] | undefined;
  slice(first: number, end: number): Rows;
}

/**
 * A table: every row has as many cells as there are columns.
 *
 * `totalRows` is the number of rows before the server cut the table; `truncated` says that it was cut. `further` are the
 * titles of columns beyond the number that is read.
 */
export interface Table {
  readonly kind: "table";
  readonly columns: readonly Column[];
  readonly rows: Rows;
  readonly caption: string | null;
  readonly totalRows: number | null;
  readonly truncated: boolean;
  readonly further: readonly string[];
}

/** The points of one line, in drawing order; `name` is null for the only one. */
export interface Series {
  readonly name: string | null;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly mark: Mark;
}

/** One number for each category of a bar chart; null is no bar. */
export interface CategorySeries {
  readonly name: string | null;
  readonly values: readonly (number | null)[];
}

/**
 * A straight line across a chart at `value` of its axis; `label` is what it marks, and `moment` the name of its value on a
 * temporal axis.
 */
export interface Rule {
  readonly axis: "x" | "y";
  readonly value: number;
  readonly label: string | null;
  readonly moment: string | null;
}

/**
 * A bar chart. Bars of one category stand on top of each other, or side by side if `grouped`.
 *
 * The categories run downwards if `horizontal`. `lines` are drawn over the bars. `rules` cross the axis of values ("y").
 * `totalCategories` counts those that were left out as well.
 */
export interface Bars {
  readonly kind: "bars";
  readonly categories: readonly string[];
  readonly series: readonly CategorySeries[];
  readonly categoryTitle: string;
  readonly valueTitle: string;
  readonly horizontal: boolean;
  readonly grouped: boolean;
  readonly lines: readonly CategorySeries[];
  readonly rules: readonly Rule[];
  readonly totalCategories: number;
}

/**
 * A chart of lines, areas and points.
 *
 * `xLabels` are named positions on the x axis; they are seconds since 1970 if it is `temporal`. Areas stand on top of each
 * other if `stacked`. The axis of values begins at zero if `fromZero`.
 */
export interface Plot {
  readonly kind: "plot";
  readonly series: readonly Series[];
  readonly xLabels: readonly (readonly [x: number, name: string])[];
  readonly xTitle: string;
  readonly yTitle: string;
  readonly fromZero: boolean;
  readonly stacked: boolean;
  readonly rules: readonly Rule[];
  readonly temporal: boolean;
}

/** A circle cut into slices, in drawing order; a ring if `hole`. No value is negative and their sum is not zero. */
export interface Pie {
  readonly kind: "pie";
  readonly slices: readonly (readonly [name: string, value: number])[];
  readonly categoryTitle: string;
  readonly valueTitle: string;
  readonly hole: boolean;
}

/** A grid of coloured cells: a row of `values` for each of `rows`, in it one number or null for each of `columns`. */
export interface Heat {
  readonly kind: "heat";
  readonly columns: readonly string[];
  readonly rows: readonly string[];
  readonly values: readonly (readonly (number | null)[])[];
  readonly xTitle: string;
  readonly yTitle: string;
  readonly valueTitle: string;
}

/** A picture: its address, its description, its size in pixels. */
export interface Image {
  readonly kind: "image";
  readonly src: string;
  readonly alt: string | null;
  readonly mime: string | null;
  readonly size: readonly [width: number, height: number] | null;
}

/** A short message. */
export interface Notification {
  readonly kind: "notification";
  readonly message: string;
  readonly level: Level;
}

/** Labels with values; `total` counts those that were left out as well. */
export interface Facts {
  readonly kind: "facts";
  readonly items: readonly (readonly [label: string, value: unknown])[];
  readonly total: number;
}

/** One number that matters. */
export interface Metric {
  readonly label: string;
  readonly value: number | string;
  readonly unit: string | null;
  readonly delta: number | string | null;
}

/** One or more numbers that matter; `total` counts those that were left out as well. */
export interface Metrics {
  readonly kind: "metrics";
  readonly items: readonly Metric[];
  readonly total: number;
}

/** A file the person can open or save; `size` in bytes. */
export interface File {
  readonly kind: "file";
  readonly uri: string;
  readonly name: string | null;
  readonly mime: string | null;
  readonly size: number | null;
}

/** Several views in order. */
export interface Group {
  readonly kind: "group";
  readonly views: readonly View[];
}

export type Chart = Bars | Plot | Pie | Heat;
export type Content =
  | Text
  | Markdown
  | Code
  | Html
  | Json
  | Table
  | Chart
  | Image
  | Notification
  | Facts
  | Metrics
  | File
  | Group;

/**
 * What is shown for one envelope.
 *
 * `renderedAs` is the display type whose content is shown, or the step of the fallback ladder: `alt`, `text`, `json`.
 * `notices` are sentences of the renderer about the display, such as why its type is not shown. `alt` describes a content
 * that is a picture to someone who cannot see it.
 */
export interface View {
  readonly content: Content;
  readonly renderedAs: string;
  readonly title: string | null;
  readonly alt: string | null;
  readonly notices: readonly string[];
}

/** The payload does not fit its type, or cannot be drawn; the message briefly says why. */
export class CannotShow extends Error {}
