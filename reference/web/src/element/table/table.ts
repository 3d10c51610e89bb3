// A table. Up to 200 rows of up to 4,000 cells and 100,000 characters stand in the page; of a longer one only those in
// sight do, in lines of one height.
import { first } from "../../view/code_points.ts";
import type { Rows, Table } from "../../view/content.ts";
import { asSent } from "../../view/numerals.ts";
import { type ColumnView, MAX_ROWS, columnsMissing, columnsOf, rowsMissing } from "../../view/tables.ts";
import { WORDS } from "../../view/wording.ts";
import { html } from "../dom.ts";
import type { Drawing, Drawn } from "../drawing.ts";
import { type Direction, ordered, unordered } from "./row_order.ts";
import { commaSeparated, tabSeparated } from "./saved_table.ts";

const MOST_ROWS_IN_PAGE = 200;
const MOST_CELLS_IN_PAGE = 4_000;
const MOST_CHARACTERS_IN_PAGE = 100_000;
const MOST_ROWS_ON_PAPER = 5_000;
/** From this number of rows on there is a field that filters them. */
const ROWS_TO_FILTER = 12;
/** Rows above and below those in sight that stand in the page as well; fewer of a table of many columns. */
const [ROWS_OUT_OF_SIGHT, CELLS_OUT_OF_SIGHT] = [12, 240];
const ROW_HEIGHT = 32;
const HEIGHT_IN_SIGHT = 432;
const WIDEST_COLUMN = 36;
/** Characters of a row whose lines have one height: of each cell, more than are in sight. */
const CHARACTERS_OF_ROW = 3_200;
const MOST_DECIMALS = 12;
/** A text of up to this number of characters is not broken into lines, such as a date. */
const SHORT = 16;

interface ShownColumn extends ColumnView {
  readonly at: number;
  /** The sign before the decimals of a numeric column, and their largest number, so that they stand below each other. */
  readonly decimalSign: string;
  readonly decimals: number;
}

/** What the person chose. */
interface Choice {
  column: number | undefined;
  direction: Direction;
  filter: string;
  scrolled: number;
}

/** Returns the table; `name` says to a screen reader what is in it. */
export async function drawTable(table: Table, drawing: Drawing, path: string, name: string): Promise<Drawn> {
  const columns = await shownColumns(table, drawing);
  const notices = [rowsMissing(table), columnsMissing(table, columns.length)].filter(Boolean);
  if (columns.length === 0) return { body: html("p", { class: "nothing" }, WORDS.NOTHING), notices };
  const shown = new ShownTable(table, columns, drawing, path, name);
  return {
    body: shown.body,
    copied: () => tabSeparated(table, shown.chosenRows()),
    downloads: [
      {
        label: "Download CSV",
        file: () => ({ name: `${name}.csv`, mediaType: "text/csv", text: commaSeparated(table, shown.chosenRows()) }),
      },
    ],
    notices,
    print: (printing) => shown.print(printing),
    resize: () => shown.resize(),
  };
}

async function shownColumns(table: Table, drawing: Drawing): Promise<ShownColumn[]> {
  const localSign = drawing.quantity(1.5).slice(1, -1);
  const columns: ShownColumn[] = [];
  for (const [at, column] of columnsOf(table, MAX_ROWS, drawing.quantity).entries()) {
    const grouped = table.columns[at]?.grouped ?? false;
    const decimals = column.numeric
      ? mostDecimals(table, at, grouped ? drawing.quantity : asSent, grouped ? localSign : ".")
      : 0;
    columns.push({ ...column, at, decimals, decimalSign: grouped ? localSign : "." });
    await drawing.pause();
  }
  return columns;
}

function mostDecimals(table: Table, at: number, written: (value: number) => string, sign: string): number {
  let decimals = 0;
  const rows = Math.min(table.rows.length, MAX_ROWS);
  // Writing a number in a locale is slow: of a long table, some rows have to do.
  const step = Math.max(1, Math.floor(rows / 2_000));
  for (let row = 0; row < rows; row += step) {
    const value = table.rows.at(row)?.[at];
    if (typeof value !== "number" || Number.isInteger(value)) continue;
    const words = written(value);
    const point = words.lastIndexOf(sign);
    if (point >= 0 && !/e/i.test(words)) decimals = Math.max(decimals, words.length - point - 1);
  }
  return Math.min(decimals, MOST_DECIMALS);
}

class ShownTable {
  readonly body: HTMLElement;
  readonly #rows: Rows;
  readonly #choice: Choice;
  readonly #long: boolean;
  readonly #content = html("tbody");
  readonly #headers: HTMLElement[];
  readonly #scroll: HTMLElement;
  readonly #space: HTMLElement;
  readonly #status = html("span", { role: "status" });
  #filtered: Uint32Array = new Uint32Array();
  #first = -1;
  #last = -1;
  readonly #outOfSight: number;
  readonly #most: number;
  #waiting = 0;
  #choosing = 0;

  constructor(
    table: Table,
    private readonly columns: readonly ShownColumn[],
    private readonly drawing: Drawing,
    path: string,
    name: string,
  ) {
    this.#outOfSight = Math.min(ROWS_OUT_OF_SIGHT, Math.ceil(CELLS_OUT_OF_SIGHT / columns.length));
    this.#rows = table.rows.length > MAX_ROWS ? table.rows.slice(0, MAX_ROWS) : table.rows;
    this.#most = Math.ceil(CHARACTERS_OF_ROW / columns.length);
    this.#long =
      this.#rows.length > Math.min(MOST_ROWS_IN_PAGE, MOST_CELLS_IN_PAGE / columns.length) || this.#isWordy();
    const kept = drawing.choices.get(path) as Choice | undefined;
    this.#choice = kept ?? { column: undefined, direction: "ascending", filter: "", scrolled: 0 };
    drawing.choices.set(path, this.#choice);
    this.#headers = columns.map((column) => this.#header(column));
    const head = html("thead", {}, html("tr", this.#long ? { "aria-rowindex": 1 } : {}, ...this.#headers));
    const kind = this.#long
      ? { class: "fixed", "aria-rowcount": this.#rows.length + 1, "aria-label": name }
      : { "aria-label": name };
    const grid = html("table", kind, this.#long && this.#widths(), head, this.#content);
    this.#space = html("div", {}, grid);
    const region = { class: this.#long ? "scroll tall" : "scroll", tabindex: 0, role: "group", "aria-label": name };
    this.#scroll = html("div", region, this.#space);
    if (this.#long) this.#scroll.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.body = html("div", { class: "table" }, this.#rows.length >= ROWS_TO_FILTER && this.#tools(), this.#scroll);
    void this.#choose();
    if (this.#choice.scrolled) queueMicrotask(() => (this.#scroll.scrollTop = this.#choice.scrolled));
  }

  /** Returns the rows that the filter leaves, in the order that the person sees. */
  *chosenRows(): Generator<readonly unknown[]> {
    for (const row of this.#filtered) yield this.#rows.at(row) ?? [];
  }

  print(printing: boolean): void {
    if (!this.#long) return;
    if (printing) {
      this.#space.style.height = "auto";
      this.#show(0, Math.min(this.#filtered.length, MOST_ROWS_ON_PAPER));
    } else {
      this.#first = -1;
      this.resize();
    }
  }

  resize(): void {
    // To measure a table that the browser has not laid out would make it do so.
    if (this.#long && this.#scroll.checkVisibility?.({ contentVisibilityAuto: true }) !== false) this.#showInSight();
  }

  #isWordy(): boolean {
    let left = MOST_CHARACTERS_IN_PAGE;
    for (let row = 0; row < this.#rows.length; row++) {
      for (const column of this.columns) if ((left -= column.cell(row)?.length ?? 0) < 0) return true;
    }
    return false;
  }

  #header(column: ShownColumn): HTMLElement {
    const { title } = column;
    const order = html("span", { class: "order", "aria-hidden": "true" });
    const sorts = html(
      "button",
      { type: "button", title: `Sort by ${title || "this column"}` },
      html("span", { dir: "auto" }, title || "–"),
      order,
    );
    sorts.addEventListener("click", () => this.#sortBy(column.at));
    const cell = html(
      "th",
      { scope: "col", class: this.#alignment(column) },
      this.#rows.length > 1 ? sorts : title || "–",
    );
    return cell;
  }

  #alignment(column: ShownColumn): string {
    return [column.align === "left" ? "" : column.align, column.numeric ? "numeric" : ""].filter(Boolean).join(" ");
  }

  #tools(): HTMLElement {
    const input = html("input", {
      type: "search",
      placeholder: "Filter rows",
      "aria-label": "Filter rows",
      value: this.#choice.filter,
    });
    input.addEventListener("input", () => {
      clearTimeout(this.#waiting);
      this.#waiting = setTimeout(
        () => {
          this.#choice.filter = input.value;
          this.#scroll.scrollTop = 0;
          void this.#choose();
        },
        this.#rows.length > 50_000 ? 150 : 0,
      );
    });
    return html("div", { class: "tools" }, input, this.#status);
  }

  #sortBy(column: number): void {
    const choice = this.#choice;
    if (choice.column !== column) Object.assign(choice, { column, direction: "ascending" });
    else if (choice.direction === "ascending") choice.direction = "descending";
    else choice.column = undefined;
    void this.#choose();
  }

  /** Shows what the person chose; of two choices in a short time, the later. */
  async #choose(): Promise<void> {
    const choosing = ++this.#choosing;
    const { column, direction, filter } = this.#choice;
    const order =
      column === undefined ? unordered(this.#rows.length) : ordered(this.#rows, column, direction, this.drawing.locale);
    const found = filter.trim() ? await this.#matches(order, filter.trim().toLowerCase(), choosing) : order;
    if (choosing !== this.#choosing) return;
    this.#filtered = found;
    this.#headers.forEach((header, at) => {
      const chosen = at === column;
      header.toggleAttribute("aria-sort", chosen);
      if (chosen) header.setAttribute("aria-sort", direction);
      const sign = header.querySelector(".order");
      if (sign) sign.textContent = chosen ? (direction === "ascending" ? "▲" : "▼") : "";
    });
    const { length } = this.#filtered;
    this.#status.textContent = filter ? `${this.drawing.quantity(length)} of ${this.#rowCount()}` : this.#rowCount();
    this.#first = -1;
    if (this.#long) this.#showInSight();
    else this.#show(0, length);
  }

  #rowCount(): string {
    return `${this.drawing.quantity(this.#rows.length)} row${this.#rows.length === 1 ? "" : "s"}`;
  }

  /** Returns those rows, in their order, in which a cell contains these words, as it was sent or as it is shown. */
  async #matches(order: Uint32Array, words: string, choosing: number): Promise<Uint32Array> {
    const found = new Uint32Array(order.length);
    let count = 0;
    for (let at = 0; at < order.length && choosing === this.#choosing; at++) {
      if (at % 1_000 === 0) await this.drawing.pause();
      const row = order[at] ?? 0;
      if (this.columns.some((column) => this.#contains(row, column, words))) found[count++] = row;
    }
    return found.subarray(0, count);
  }

  #contains(row: number, column: ShownColumn, words: string): boolean {
    const value = this.#rows.at(row)?.[column.at];
    if (typeof value === "string") return value.toLowerCase().includes(words);
    if (value === null || value === undefined) return false;
    return String(value).includes(words) || (column.cell(row)?.toLowerCase().includes(words) ?? false);
  }

  #scrolled(): void {
    this.#choice.scrolled = this.#scroll.scrollTop;
    this.#showInSight();
  }

  #showInSight(): void {
    const { length } = this.#filtered;
    const height = this.#scroll.clientHeight || HEIGHT_IN_SIGHT;
    const top = Math.floor(this.#scroll.scrollTop / ROW_HEIGHT);
    const first = Math.max(0, Math.min(top, length) - this.#outOfSight);
    const last = Math.min(length, top + Math.ceil(height / ROW_HEIGHT) + this.#outOfSight);
    this.#space.style.height = `${(length + 1) * ROW_HEIGHT}px`;
    // What stands there already reaches beyond what is in sight: it is drawn anew after some steps only.
    const near = this.#first >= 0 && Math.abs(first - this.#first) < this.#outOfSight / 2;
    if (!near || last > this.#last) this.#show(first, last);
  }

  #show(first: number, last: number): void {
    [this.#first, this.#last] = [first, last];
    const rows: HTMLElement[] = [];
    for (let at = first; at < last; at++) rows.push(this.#row(this.#filtered[at] ?? 0, at));
    if (rows.length === 0)
      rows.push(html("tr", {}, html("td", { colspan: this.columns.length, class: "nothing" }, WORDS.NO_ROWS)));
    this.#content.replaceChildren(...rows);
    const grid = this.#content.parentElement;
    if (grid && this.#long) grid.style.marginBlockStart = `${first * ROW_HEIGHT}px`;
  }

  #row(row: number, at: number): HTMLElement {
    const cells = this.columns.map((column) => this.#cell(row, column));
    return html("tr", this.#long ? { "aria-rowindex": at + 2 } : {}, ...cells);
  }

  #cell(row: number, column: ShownColumn): HTMLElement {
    const whole = column.cell(row, this.#long ? this.#most : undefined);
    const words = whole && this.#long && whole.length > this.#most ? `${first(whole, this.#most)}…` : whole;
    const short = !this.#long && words !== null && words.length <= SHORT;
    const kind = [this.#alignment(column), short ? "short" : ""].filter(Boolean).join(" ") || undefined;
    const cell = column.header
      ? html("th", { scope: "row", class: kind, dir: "auto" })
      : html("td", { class: kind, dir: column.numeric ? undefined : "auto" });
    if (words === null) cell.append(html("span", { class: "absent" }, WORDS.NO_VALUE));
    else if (column.numeric && column.decimals) cell.append(...aligned(words, column));
    else cell.textContent = words;
    if (this.#long && whole !== null && whole.length > 24) cell.title = whole;
    return cell;
  }

  #widths(): HTMLElement {
    const step = Math.max(1, Math.floor(this.#rows.length / 100));
    const columns = this.columns.map((column) => {
      let widest = column.title.length + 3;
      for (let row = 0; row < this.#rows.length; row += step) {
        widest = Math.max(widest, column.cell(row, WIDEST_COLUMN)?.length ?? 1);
      }
      const width = html("col");
      width.style.width = `calc(${Math.min(widest + 1, WIDEST_COLUMN)}ch + 1.5rem)`;
      return width;
    });
    return html("colgroup", {}, ...columns);
  }
}

/** Returns the whole part of a number, and its decimals in a box that is as wide in each row. */
function aligned(words: string, { decimals, decimalSign }: ShownColumn): [string, HTMLElement] {
  const at = words.lastIndexOf(decimalSign);
  const [whole, fraction] = at < 0 ? [words, ""] : [words.slice(0, at), words.slice(at)];
  const box = html("span", { class: "fraction" }, fraction);
  box.style.minWidth = `calc(${decimals}ch + .34em)`;
  return [whole, box];
}
