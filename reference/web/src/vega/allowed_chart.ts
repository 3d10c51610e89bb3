// Decides whether Vega gets a specification, and with which data. Pure functions; the tables are in allowed.ts.
import { entry, isObject, member, type JsonObject } from "../view/json.ts";
import {
  CHOICES,
  COLOUR,
  COLOURS,
  FIELDS,
  FREE,
  LARGEST,
  LIMITS,
  LONG_NUMBER,
  MEMBERS,
  NOT_IN_FIELDS,
  PLAIN,
} from "./allowed.ts";

/** Why a specification is refused. */
export class Refused extends Error {
  constructor(why: string) {
    super(`Vega does not get it: ${why}`);
  }
}

type Cell = string | number | boolean | null;
type Row = Record<string, Cell>;

/** What Vega gets. */
export interface AllowedChart {
  readonly specification: JsonObject;
  /** All rows, for the table of the data. */
  readonly rows: readonly Row[];
}

/** Returns a copy of a specification in which there is only what is allowed. Throws Refused if it has anything else. */
export function allowedChart(payload: unknown): AllowedChart {
  if (!isObject(payload)) throw new Refused("the specification is not an object");
  const reader = new Reader();
  const specification = reader.object(payload, 1, 1);
  reader.checkFacets();
  return { specification, rows: reader.rows };
}

class Reader {
  readonly rows: Row[] = [];
  readonly #facets: string[] = [];
  #parts = 0;
  #cells = 0;

  /** Returns a copy of an object outside the data, of which `charts` are made. */
  object(value: JsonObject, depth: number, charts: number): Record<string, unknown> {
    const made = charts * repeats(member(value, "repeat"));
    if (made > LIMITS.charts) throw new Refused(`more than ${LIMITS.charts} charts in one`);
    const copy: Record<string, unknown> = {};
    for (const [name, inside] of Object.entries(value)) {
      if (!MEMBERS.has(name)) throw new Refused(`${name.slice(0, 40)} is not allowed`);
      if (name === "tooltip")
        this.#value(name, inside, depth, made); // there is no pointer in a picture
      else if (name === "data") copy[name] = this.#data(inside);
      else if (name === "datasets") copy[name] = this.#datasets(inside);
      else copy[name] = this.#value(name, inside, depth, made);
    }
    return copy;
  }

  #value(name: string, value: unknown, depth: number, charts: number): unknown {
    if (++this.#parts > LIMITS.parts) throw new Refused("the specification is too long");
    if (depth > LIMITS.depth) throw new Refused("the specification is nested too deep");
    if (Array.isArray(value)) return value.map((item) => this.#value(name, item, depth + 1, charts));
    if (isObject(value)) {
      if (name === "row" || name === "column" || name === "facet") this.#facets.push(String(member(value, "field")));
      return this.object(value, depth + 1, charts);
    }
    if (typeof value === "number") checkNumber(name, value);
    else if (typeof value === "string") checkText(name, value);
    return value;
  }

  #data(value: unknown): unknown {
    if (!isObject(value)) throw new Refused("data is not an object");
    const other = Object.keys(value).find((name) => name !== "values" && name !== "name");
    if (other !== undefined) throw new Refused(`data.${other.slice(0, 40)} is not allowed`);
    const [name, values] = [member(value, "name"), member(value, "values")];
    if (name !== undefined) checkText("name", name);
    return {
      ...(name === undefined ? {} : { name }),
      ...(values === undefined ? {} : { values: this.#values(values) }),
    };
  }

  #datasets(value: unknown): unknown {
    if (!isObject(value)) throw new Refused("datasets is not an object");
    const sets = Object.entries(value).map(([name, values]) => {
      checkText("field", name);
      return [name, this.#values(values)];
    });
    return Object.fromEntries(sets);
  }

  #values(value: unknown): readonly Row[] {
    if (!Array.isArray(value)) throw new Refused("values is not a list of rows");
    if (this.rows.length + value.length > LIMITS.rows) throw new Refused(`more than ${LIMITS.rows} rows of data`);
    const rows = value.map((row) => this.#row(row));
    this.rows.push(...rows);
    return rows;
  }

  #row(value: unknown): Row {
    if (!isObject(value)) throw new Refused("a row of the data is not an object");
    const row: Row = {}; // no name in it is that of a prototype: checkText
    for (const [name, cell] of Object.entries(value)) {
      checkText("field", name);
      if (++this.#cells > LIMITS.cells) throw new Refused("the data has too many values");
      if (typeof cell === "object" && cell !== null) throw new Refused("a value of the data is not a text or a number");
      if (typeof cell === "string" && cell.length > LIMITS.text) throw new Refused("a text of the data is too long");
      row[name] = cell as Cell;
    }
    return row;
  }

  /** Every value of a field by which a chart is divided makes a chart. */
  checkFacets(): void {
    let charts = 1;
    for (const field of this.#facets) {
      charts *= Math.max(new Set(this.rows.map((row) => row[field])).size, 1);
      if (charts > LIMITS.charts) throw new Refused(`more than ${LIMITS.charts} charts in one`);
    }
  }
}

function repeats(value: unknown): number {
  if (Array.isArray(value)) return Math.max(value.length, 1);
  return isObject(value) ? Object.values(value).reduce((product: number, list) => product * repeats(list), 1) : 1;
}

function checkNumber(name: string, value: number): void {
  const largest = entry(LARGEST, name) ?? LIMITS.number;
  if (!(Math.abs(value) <= largest)) throw new Refused(`${name} is larger than ${largest}`);
}

function checkText(name: string, value: unknown): void {
  if (typeof value !== "string" || value.length > LIMITS.text) throw new Refused(`${name} is not a short text`);
  const choices = entry(CHOICES, name);
  if (choices && !choices.has(value)) throw new Refused(`the ${name} ${value.slice(0, 40)} is not drawn`);
  if (Object.hasOwn(LARGEST, name) && value !== "container") throw new Refused(`${name} is not a number`);
  if (FREE.has(name)) return;
  if (FIELDS.has(name)) {
    if (NOT_IN_FIELDS.test(value)) throw new Refused("the name of a field has signs that are not allowed");
  } else if (!(COLOURS.has(name) ? COLOUR : PLAIN).test(value) || (name === "format" && LONG_NUMBER.test(value))) {
    throw new Refused(`the ${name} has signs that are not allowed`);
  }
}
