// What is read of a long table before it is shown; `test_tables.py` runs this file in Node.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plan } from "../../../web/src/view/fallback_ladder.ts";
import type { Table } from "../../../web/src/view/content.ts";
import { columnsOf } from "../../../web/src/view/tables.ts";

const ROWS = 400_000;
const FIRST = 1_000; // rows by which a column is found to be one of numbers

/** Returns how many cells were read to show the first 200 rows, and the table. */
async function read(payload: (cell: PropertyDescriptor) => unknown): Promise<[number, Table]> {
  let cells = 0;
  const shown = await plan({ type: "table", payload: payload({ enumerable: true, get: () => (cells++, 7) }) }, async () => {});
  const table = shown.content as Table;
  const [column] = columnsOf(table);
  for (let row = 0; row < 200; row++) assert.equal(column!.cell(row), "7");
  return [cells, table];
}

test("of rows that are objects the first ones are read", async () => {
  const [cells, table] = await read((cell) => Array.from({ length: ROWS }, () => Object.defineProperty({}, "a", cell)));
  assert.ok(cells <= 2 * FIRST, `${cells} cells were read`);
  assert.equal(table.rows.length, ROWS);
});

test("of rows that are arrays the first ones are read", async () => {
  const [cells] = await read((cell) => ({
    columns: ["a", "b"],
    rows: Array.from({ length: ROWS }, () => Object.defineProperty([], 0, cell)),
  }));
  assert.ok(cells <= 3 * FIRST + 200, `${cells} cells were read`);
});

test("every row is there for who asks for it, and the same each time", async () => {
  const shown = await plan({ type: "table", payload: Array.from({ length: ROWS }, (_, n) => ({ n })) }, async () => {});
  const { rows } = shown.content as Table;
  assert.deepEqual(rows.at(ROWS - 1), [ROWS - 1]);
  assert.equal(rows.at(5), rows.at(5));
  assert.deepEqual([...rows.slice(2, 4)], [[2], [3]]);
  assert.equal([...rows].length, ROWS);
});
