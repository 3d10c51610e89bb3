// A table as text for other programs: the values as they were sent, without the reader's conventions.
import type { Table } from "../../view/content.ts";

/**
 * Where a text has what a spreadsheet takes for a formula, and not for a number. Some split a file at `;` or tabs, and then
 * see no quotes inside a line: so each of these, and each line break, may begin a cell.
 */
const FORMULA =
  /(^|[;\t\r\n])(?![ "]*[+-]?[\d.,]+(?:e[+-]?\d+)?[ %"]*(?:$|[;\t\r\n]))(?=[ "]*[=+\-@])/gi;

type Rows = Iterable<readonly unknown[]>;

/** Returns CSV as spreadsheets read it (RFC 4180 with a byte order mark), where no text can be a formula. */
export function commaSeparated(table: Table, rows: Rows = table.rows): string {
  return `\ufeff${lines(table, rows, comma, ",", "\r\n")}\r\n`;
}

/** Returns lines of cells with tabs between them, which a spreadsheet takes from the clipboard. */
export function tabSeparated(table: Table, rows: Rows = table.rows): string {
  return lines(table, rows, tab, "\t", "\n");
}

function lines(table: Table, rows: Rows, cell: (value: unknown) => string, between: string, end: string): string {
  const written = [table.columns.map(({ title }) => cell(title)).join(between)];
  for (const row of rows) written.push(row.map(cell).join(between));
  return written.join(end);
}

function comma(value: unknown): string {
  const words = plain(value);
  return /[",;\t\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
}

function tab(value: unknown): string {
  return plain(value).replace(/[\t\r\n]+/g, " ");
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  return (typeof value === "object" ? JSON.stringify(value) : String(value)).replace(FORMULA, "$1'");
}
