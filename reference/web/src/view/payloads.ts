/**
 * From a payload to its content: one reader for each display type (spec section 3.2), as xmcp/render/view/payloads.py.
 *
 * A reader gets what has the shape that the schema gives for the type. Charts are read in vega_lite_charts.ts, groups in
 * fallback_ladder.ts, because their members are envelopes.
 */

import { lengthOf } from "./code_points.ts";
import { CannotShow, type Align, type Column, type Content, type Level, type Metric, type Rows, type Table } from "./content.ts";
import { entry, isObject, member, type JsonObject } from "./json.ts";
import { byteSize, count } from "./numerals.ts";
import { pictureSize } from "./picture_size.ts";
import { fault } from "./shapes.ts";
import { LIMITS, PAYLOADS } from "./tables.generated.ts";

/** Lets the page answer if the work has taken long since the last time. */
export type Pause = () => Promise<void>;

/**
 * Return the content of a payload of one of the types in `READERS`.
 *
 * Throws CannotShow if the payload does not have the shape of this type, or is too large.
 */
export async function read(kind: string, payload: unknown, pause: Pause): Promise<Content> {
  const reader = entry(READERS, kind);
  if (!reader) throw new CannotShow("this renderer does not know it");
  if (fault(PAYLOADS, kind, payload) !== null) throw new CannotShow("the payload does not have the shape of this type");
  await pause();
  return reader(payload);
}

type Row = readonly unknown[] | JsonObject;

function table(payload: unknown): Content {
  if (Array.isArray(payload)) {
    const rows = payload as JsonObject[];
    const keys = new Set<string>();
    for (const row of rows.slice(0, LIMITS.TABLE_ROWS_READ)) for (const key in row) keys.add(key);
    return grid([...keys], rows, {});
  }
  const written = payload as { columns: readonly (string | JsonObject)[]; rows: readonly Row[] };
  const columns = [...written.columns];
  for (const row of written.rows.slice(0, LIMITS.TABLE_ROWS_READ)) {
    if (Array.isArray(row)) while (columns.length < row.length) columns.push("");
  }
  return grid(columns, written.rows, payload as JsonObject);
}

function grid(allColumns: readonly (string | JsonObject)[], written: readonly Row[], whole: JsonObject): Table {
  const columns = allColumns
    .slice(0, LIMITS.TABLE_COLUMNS)
    .map((column) => (typeof column === "string" ? { key: column } : column));
  const keys = columns.map((column) => column["key"] as string);
  const rows = new MadeRows(written, keys);
  const aligned = [...rows.slice(0, LIMITS.TABLE_ROWS_ALIGNED)];
  return {
    kind: "table",
    columns: columns.map(
      (column, at): Column => ({
        title: titleOf(column),
        align: (member(column, "align") as Align | undefined) ?? (allNumbers(aligned, at) ? "right" : "left"),
        grouped: member(column, "type") === "number",
        header: member(whole, "row_header") === column["key"],
      }),
    ),
    rows,
    caption: (member(whole, "caption") as string | undefined) ?? null,
    totalRows: (member(whole, "total_rows") as number | undefined) ?? null,
    truncated: member(whole, "truncated") === true,
    further: allColumns.slice(LIMITS.TABLE_COLUMNS).map(titleOf),
  };
}

/** The rows of a table, each made when it is asked for first: a page shows a few of perhaps 400,000. */
class MadeRows implements Rows {
  readonly length: number;
  readonly #written: readonly Row[];
  readonly #keys: readonly string[];
  readonly #made: (readonly unknown[])[] = [];

  constructor(written: readonly Row[], keys: readonly string[]) {
    [this.#written, this.#keys, this.length] = [written, keys, written.length];
  }

  at(row: number): readonly unknown[] {
    return (this.#made[row] ??= cells(this.#written[row]!, this.#keys));
  }

  slice(first: number, end: number): Rows {
    return new MadeRows(this.#written.slice(first, end), this.#keys);
  }

  *[Symbol.iterator](): Generator<readonly unknown[]> {
    for (let row = 0; row < this.length; row++) yield this.at(row);
  }
}

function titleOf(column: string | JsonObject): string {
  return typeof column === "string" ? column : ((member(column, "title") ?? column["key"]) as string);
}

function cells(row: Row, keys: readonly string[]): readonly unknown[] {
  if (isObject(row)) return keys.map((key) => member(row, key) ?? null);
  return row.length === keys.length ? row : keys.map((_, at) => row[at] ?? null);
}

function allNumbers(rows: readonly (readonly unknown[])[], at: number): boolean {
  let found = false;
  for (const row of rows) {
    const value = row[at];
    if (value === null) continue;
    if (typeof value !== "number") return false;
    found = true;
  }
  return found;
}

function image(payload: unknown): Content {
  const written = (typeof payload === "string" ? { src: payload } : payload) as JsonObject & { src: string };
  const [width, height] = [member(written, "width"), member(written, "height")];
  if (written.src.startsWith("data:")) checkPicture(written.src);
  return {
    kind: "image",
    src: written.src,
    alt: text(written, "alt"),
    mime: text(written, "mime"),
    size: typeof width === "number" && typeof height === "number" ? [width, height] : null,
  };
}

function checkPicture(src: string): void {
  if (Math.floor((lengthOf(src) * 3) / 4) > LIMITS.INLINE_IMAGE) {
    throw new CannotShow(`the picture is longer than ${byteSize(LIMITS.INLINE_IMAGE)}`);
  }
  const size = pictureSize(src);
  if (size && Math.max(...size) > LIMITS.IMAGE_SIDE) {
    const [across, down, most] = [...size, LIMITS.IMAGE_SIDE].map(count);
    throw new CannotShow(`the picture has ${across} × ${down} pixels; at most ${most} × ${most} are shown`);
  }
}

function text(written: JsonObject, name: string): string | null {
  return (member(written, name) as string | undefined) ?? null;
}

function notification(payload: unknown): Content {
  if (typeof payload === "string") return { kind: "notification", message: payload, level: "info" };
  const written = payload as JsonObject & { message: string };
  return { kind: "notification", message: written.message, level: (text(written, "level") ?? "info") as Level };
}

function code(payload: unknown): Content {
  if (typeof payload === "string") return { kind: "code", source: payload, language: null, filename: null };
  const written = payload as JsonObject & { code: string };
  return { kind: "code", source: written.code, language: text(written, "language"), filename: text(written, "filename") };
}

function facts(payload: unknown): Content {
  if (!Array.isArray(payload)) {
    const items: [string, unknown][] = [];
    let total = 0;
    for (const name in payload as JsonObject) if (total++ < LIMITS.ITEMS) items.push([name, (payload as JsonObject)[name]]);
    return { kind: "facts", items, total };
  }
  const written = payload as { label: string; value: unknown }[];
  const items = written.slice(0, LIMITS.ITEMS).map((fact): [string, unknown] => [fact.label, fact.value]);
  return { kind: "facts", items, total: written.length };
}

function metrics(payload: unknown): Content {
  const written = (Array.isArray(payload) ? payload : [payload]) as (JsonObject & { label: string; value: number | string })[];
  const items = written.slice(0, LIMITS.ITEMS).map(
    (one): Metric => ({
      label: one.label,
      value: one.value,
      unit: text(one, "unit"),
      delta: (member(one, "delta") as number | string | undefined) ?? null,
    }),
  );
  return { kind: "metrics", items, total: written.length };
}

function file(payload: unknown): Content {
  const written = payload as JsonObject & { uri: string };
  const size = (member(written, "size") as number | undefined) ?? null;
  return { kind: "file", uri: written.uri, name: text(written, "name"), mime: text(written, "mime"), size };
}

function reference(payload: unknown): Content {
  const written = payload as JsonObject & { type: string; bytes: number };
  const note = text(written, "note");
  const items: [string, unknown][] = [
    ["type", written.type],
    ["size", byteSize(written.bytes)],
  ];
  if (note !== null) items.push(["note", note]);
  return { kind: "facts", items, total: items.length };
}

const READERS: Readonly<Record<string, (payload: unknown) => Content>> = {
  text: (payload) => ({ kind: "text", text: payload as string }),
  markdown: (payload) => ({ kind: "markdown", source: payload as string }),
  html: (payload) => ({ kind: "html", source: payload as string }),
  json: (payload) => ({ kind: "json", value: payload }),
  table,
  image,
  notification,
  code,
  facts,
  metric: metrics,
  file,
  "x-xmcp-reference": reference,
};
