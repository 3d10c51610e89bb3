// Tables as text for other programs; `test_tables.py` runs this file in Node.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commaSeparated, tabSeparated } from "../../../web/src/element/table/saved_table.ts";
import type { Table } from "../../../web/src/view/content.ts";

const table = (...rows: unknown[][]): Table =>
  ({ kind: "table", columns: (rows[0] ?? []).map((_, i) => ({ title: `c${i}` })), rows }) as unknown as Table;
const cell = (value: unknown) => commaSeparated(table(["", value])).slice("\ufeffc0,c1\r\n,".length, -2);

/** The cells that a spreadsheet finds in a line whose cells another sign parts; quotes count at the start of a cell. */
function cells(csv: string, sign: string): string[] {
  const found: string[] = [];
  let [at, inQuotes, isStart] = ["", false, true];
  for (let i = 0; i < csv.length; i++) {
    const one = csv[i]!;
    if (inQuotes && one === '"' && csv[i + 1] === '"') at += csv[i++];
    else if (inQuotes && one === '"') inQuotes = false;
    else if (isStart && one === '"') inQuotes = true;
    else if (!inQuotes && (one === sign || one === "\r" || one === "\n")) {
      found.push(at);
      [at, isStart] = ["", true];
      continue;
    } else at += one;
    isStart = false;
  }
  return [...found, at];
}

test("no text is a formula, whichever sign the spreadsheet takes for the one between cells", () => {
  const formula = '=HYPERLINK("https://evil.example")';
  const hostile = [formula, `x;${formula}`, `x\t${formula}`, `x\n${formula}`, `x\r\n ${formula}`, `x;"${formula}`, `; ; ${formula}`];
  hostile.push('x;"=1+1;y', "@SUM(1)", "+1+1", "-2+3", "x;-2+3", "\t=1", " =1", "=", "x,=1");
  for (const text of hostile) {
    for (const value of [text, [text], { a: text }]) {
      const csv = commaSeparated(table([value, "a", value], ["b", value, value]));
      for (const sign of [",", ";", "\t"]) {
        const wrong = cells(csv, sign).filter((one) => /^\s*[=+\-@]/.test(one));
        assert.deepEqual(wrong, [], `${JSON.stringify(value)} between ${JSON.stringify(sign)}: ${csv}`);
      }
      for (const one of tabSeparated(table(["a", value])).split(/[\t\n]/)) assert.doesNotMatch(one, /^\s*[=+\-@]/);
    }
  }
});

test("what is no formula is saved as it was sent", () => {
  for (const text of ["a b", "1;2", "a - b", "a=b", "e-mail@example.com", "-5", "-1,234.50", "+3 %", "-1e-9", "x;-5;y"]) {
    assert.deepEqual(cells(`${cell(text)}`, ","), [text]);
  }
  assert.equal(cell(-5), "-5");
  assert.equal(cell(null), "");
  assert.equal(cell(true), "true");
  assert.equal(cell("=x"), "'=x");
  assert.equal(cell("x;y"), '"x;y"');
});

test("a long text takes linear time", () => {
  for (const piece of [";", "\t", " ", '"', "; ", "-1", ";-1", "-1,", ";=", "\r\n"]) assert.ok(cell(piece.repeat(400_000)));
});
