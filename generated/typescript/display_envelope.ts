/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * `text`, `markdown` (CommonMark with GFM tables, raw HTML off), `html` (source text).
 */
export type TextPayload = string;
/**
 * `table`: columns and rows, or a list of objects whose keys are the columns. A program that cares for the order of columns names them in `columns`.
 */
export type TablePayload =
  | Table
  | {
      [k: string]: unknown;
    }[];
/**
 * `image`: the URI of the picture, or an object with the URI and details.
 */
export type ImagePayload = ImageUri | ImageObject;
/**
 * `notification`: the message, or an object with the message and a level.
 */
export type NotificationPayload = string | NotificationObject;
/**
 * `code`: the source code, or an object with the code, its language and file name.
 */
export type CodePayload = string | Code;
/**
 * `json`, and every type without a schema of its own.
 */
export type JsonPayload =
  | {
      [k: string]: unknown;
    }
  | unknown[]
  | string;
/**
 * `facts`: labels with values, as an object or, where the order or a repeated label matters, as a list.
 */
export type FactsPayload =
  | {
      [k: string]: Scalar;
    }
  | Fact[];
/**
 * `metric`: one number that matters, or several.
 */
export type MetricPayload = Metric | Metric[];
/**
 * `file`: what a person can open or save.
 */
export type FilePayload = FileObject;
/**
 * `group`: displays in order.
 *
 * @maxItems 32
 */
export type GroupPayload = DisplayEnvelope[];
export type Scalar = string | number | boolean | null;
export type ImageUri = string;
/**
 * DisplayEnvelope, where its type has a shape of its own; a `switch` on `type` narrows it.
 */
export type KnownDisplayEnvelope =
  | TextDisplayEnvelope
  | MarkdownDisplayEnvelope
  | HtmlDisplayEnvelope
  | TableDisplayEnvelope
  | ChartDisplayEnvelope
  | ImageDisplayEnvelope
  | NotificationDisplayEnvelope
  | CodeDisplayEnvelope
  | FactsDisplayEnvelope
  | MetricDisplayEnvelope
  | FileDisplayEnvelope
  | GroupDisplayEnvelope
  | XXmcpReferenceDisplayEnvelope
  | JsonDisplayEnvelope;

/**
 * A display for a person (spec chapter 3). Unknown members are ignored.
 */
export interface DisplayEnvelope {
  /**
   * Kind of display: a registered type, or `x-vendor-name`.
   */
  type: string;
  /**
   * The data to render, in the shape the type prescribes.
   */
  payload:
    | {
        [k: string]: unknown;
      }
    | unknown[]
    | string;
  /**
   * Heading, plain text.
   */
  title?: string;
  /**
   * The display in words, for terminals and screen readers.
   */
  alt?: string;
  /**
   * Shown instead where the type is unknown.
   */
  fallback?: DisplayEnvelope;
  /**
   * A later display with the same id replaces this one.
   */
  id?: string;
  /**
   * Additional information; absent rather than null.
   */
  meta?: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * `chart`: a Vega-Lite specification with its data inside; the registry of types lists what it cannot contain.
 */
export interface ChartPayload {
  [k: string]: unknown;
}
/**
 * `x-xmcp-reference`: what a client sends to the model in place of a large display.
 */
export interface ReferencePayload {
  /**
   * Type of the display that the person sees.
   */
  type: string;
  /**
   * Its size as JSON in UTF-8.
   */
  bytes: number;
  note?: string;
  [k: string]: unknown;
}
export interface Table {
  columns: (string | Column)[];
  rows: (
    | unknown[]
    | {
        [k: string]: unknown;
      }
  )[];
  caption?: string;
  /**
   * Key of the column that holds the name of each row.
   */
  row_header?: string;
  /**
   * Number of rows of the whole table, if `rows` has only some of them.
   */
  total_rows?: number;
  truncated?: boolean;
  [k: string]: unknown;
}
export interface Column {
  /**
   * Member of a row that is an object; rows that are arrays follow the order of the columns.
   */
  key: string;
  title?: string;
  /**
   * Type of the cells: `text`, `number` (grouped digits), `boolean`, `date` or `datetime`; a renderer treats any other value as `text`.
   */
  type?: string;
  align?: "left" | "right" | "center";
  [k: string]: unknown;
}
export interface ImageObject {
  src: ImageUri;
  alt?: string;
  mime?: string;
  width?: number;
  height?: number;
  [k: string]: unknown;
}
export interface NotificationObject {
  message: string;
  level?: "info" | "success" | "warning" | "error";
  [k: string]: unknown;
}
export interface Code {
  code: string;
  language?: string;
  filename?: string;
  [k: string]: unknown;
}
export interface Fact {
  label: string;
  value: Scalar;
  [k: string]: unknown;
}
export interface Metric {
  label: string;
  value: number | string;
  unit?: string;
  delta?: number | string;
  [k: string]: unknown;
}
export interface FileObject {
  uri: string;
  name?: string;
  mime?: string;
  /**
   * Bytes.
   */
  size?: number;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `text`.
 */
export interface TextDisplayEnvelope extends DisplayEnvelope {
  type: "text";
  payload: TextPayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `markdown`.
 */
export interface MarkdownDisplayEnvelope extends DisplayEnvelope {
  type: "markdown";
  payload: TextPayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `html`.
 */
export interface HtmlDisplayEnvelope extends DisplayEnvelope {
  type: "html";
  payload: TextPayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `table`.
 */
export interface TableDisplayEnvelope extends DisplayEnvelope {
  type: "table";
  payload: TablePayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `chart`.
 */
export interface ChartDisplayEnvelope extends DisplayEnvelope {
  type: "chart";
  payload: ChartPayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `image`.
 */
export interface ImageDisplayEnvelope extends DisplayEnvelope {
  type: "image";
  payload: ImagePayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `notification`.
 */
export interface NotificationDisplayEnvelope extends DisplayEnvelope {
  type: "notification";
  payload: NotificationPayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `code`.
 */
export interface CodeDisplayEnvelope extends DisplayEnvelope {
  type: "code";
  payload: CodePayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `facts`.
 */
export interface FactsDisplayEnvelope extends DisplayEnvelope {
  type: "facts";
  payload: FactsPayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `metric`.
 */
export interface MetricDisplayEnvelope extends DisplayEnvelope {
  type: "metric";
  payload: MetricPayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `file`.
 */
export interface FileDisplayEnvelope extends DisplayEnvelope {
  type: "file";
  payload: FilePayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `group`.
 */
export interface GroupDisplayEnvelope extends DisplayEnvelope {
  type: "group";
  payload: GroupPayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `x-xmcp-reference`.
 */
export interface XXmcpReferenceDisplayEnvelope extends DisplayEnvelope {
  type: "x-xmcp-reference";
  payload: ReferencePayload;
  [k: string]: unknown;
}
/**
 * DisplayEnvelope of the type `json`.
 */
export interface JsonDisplayEnvelope extends DisplayEnvelope {
  type: "json";
  payload: JsonPayload;
  [k: string]: unknown;
}
