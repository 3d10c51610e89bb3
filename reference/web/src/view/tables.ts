/**
 * What a table shows: the text of each cell, which columns are numbers, how many rows, and what was left out, as
 * xmcp/render/view/tables.py.
 *
 * The text of a cell is made when it is asked for, because a page shows a few of 100,000 rows at a time.
 */

import type { Align, Column, Table } from "./content.ts";
import { asSent, count, english, type Quantity } from "./numerals.ts";
import { LIMITS } from "./tables.generated.ts";
import { label } from "./untrusted.ts";
import { firstOf, scalar } from "./wording.ts";

/** Rows that a page draws. */
export const MAX_ROWS = LIMITS.TABLE_ROWS_READ;

/**
 * The shown cells of one column, null where there is no value.
 *
 * A `numeric` column holds nothing but numbers and is aligned right: its decimal points belong below each other.
 */
export interface ColumnView {
  readonly title: string;
  readonly align: Align;
  readonly header: boolean;
  readonly numeric: boolean;
  /** Returns the text of a cell, cut at `most` characters. */
  cell(row: number, most?: number): string | null;
}

/** Return the columns of a table with the cells of its first `mostRows` rows. */
export function columnsOf(table: Table, mostRows = MAX_ROWS, quantity: Quantity = english): readonly ColumnView[] {
  const shown = Math.min(table.rows.length, mostRows);
  return table.columns.map((column, at) => columnView(table, column, at, shown, quantity));
}

function columnView(table: Table, column: Column, at: number, shown: number, quantity: Quantity): ColumnView {
  const numeric = column.align === "right" && onlyNumbers(table, at, Math.min(shown, LIMITS.TABLE_ROWS_ALIGNED));
  return {
    title: label(column.title, 80),
    align: column.align,
    header: column.header,
    numeric,
    cell(row, most) {
      const value = table.rows.at(row)?.[at];
      if (numeric && typeof value === "number") return column.grouped ? quantity(value) : asSent(value);
      return scalar(value, most);
    },
  };
}

function onlyNumbers(table: Table, at: number, shown: number): boolean {
  let found = false;
  for (let row = 0; row < shown; row++) {
    const value = table.rows.at(row)![at];
    if (value === null) continue;
    if (typeof value !== "number") return false;
    found = true;
  }
  return found;
}

/** Return the sentence about rows that are not shown; empty if all are. */
export function rowsMissing(table: Table, mostRows = MAX_ROWS): string {
  const shown = Math.min(table.rows.length, mostRows);
  const total = Math.max(table.totalRows ?? 0, table.rows.length);
  if (shown < table.rows.length) return firstOf(shown, total, "rows");
  if (total > shown) return `${count(shown)} of ${count(total)} rows shown`;
  return table.truncated ? "the server cut this table; there are more rows" : "";
}

/** Return the sentence about columns beyond the first `shown`, for which there is no room; empty if there are none. */
export function columnsMissing(table: Table, shown: number): string {
  const titles = [...table.columns.slice(shown).map((column) => column.title), ...table.further];
  if (!titles.length) return "";
  const named = titles.slice(0, 12).map((title) => label(title, 40) || "(unnamed)");
  const more = titles.length > 12 ? ` and ${count(titles.length - 12)} more` : "";
  return `no room for ${count(titles.length)} more column${titles.length > 1 ? "s" : ""}: ${named.join(", ")}${more}`;
}
