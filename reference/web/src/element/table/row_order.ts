// Which rows a table shows and in which order. Fast for a hundred thousand rows, which are never moved themselves.

import type { Rows } from "../../view/content.ts";

export type Direction = "ascending" | "descending";

/** Up to this number of different texts, they are ordered by the rules of the language; more of them by their characters. */
const MOST_COLLATED = 5_000;
/** Characters of a text, and values of each, that are part of its key; with the row they have room in a double, exactly. */
const [KEY_LENGTH, KEY_BASE] = [5, 2 ** 7];
const ROWS_IN_KEY = 2 ** 17;

/** Returns the numbers of the rows as they are. */
export function unordered(count: number): Uint32Array {
  const order = new Uint32Array(count);
  for (let row = 0; row < count; row++) order[row] = row;
  return order;
}

/** Returns the numbers of the rows in the order of a column: numbers, then texts; those without a value are last. */
export function ordered(rows: Rows, column: number, direction: Direction, locale: string): Uint32Array {
  const order = unordered(rows.length);
  const words: string[] = new Array(rows.length);
  // Numbers are put in front, absent values behind, texts between.
  let [numbers, present] = [0, 0];
  const absent: number[] = [];
  const texts: number[] = [];
  for (let row = 0; row < rows.length; row++) {
    const value = rows.at(row)![column];
    if (typeof value === "number") order[numbers++] = row;
    else if (value === null || value === undefined) absent.push(row);
    else {
      words[row] =
        typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
      texts.push(row);
    }
  }
  present = numbers + texts.length;
  order.set(texts, numbers);
  order.set(absent, present);
  byNumber(order.subarray(0, numbers), rows, column);
  byText(order.subarray(numbers, present), words, locale);
  if (direction === "descending") order.subarray(0, present).reverse();
  return order;
}

/** Orders rows by their ranks, which begin with 0; rows of one rank stay as they were. */
function byRank(order: Uint32Array, ranks: Uint32Array, count: number): void {
  const places = new Uint32Array(count + 1);
  for (const rank of ranks) places[rank + 1]!++;
  for (let rank = 1; rank <= count; rank++) places[rank]! += places[rank - 1]!;
  const before = order.slice();
  for (let at = 0; at < before.length; at++) order[places[ranks[at]!]!++] = before[at]!;
}

function byNumber(order: Uint32Array, rows: Rows, column: number): void {
  const values = new Float64Array(order.length);
  for (let at = 0; at < values.length; at++) values[at] = rows.at(order[at]!)![column] as number;
  const sorted = values.slice().sort(); // without a function that compares, the browser is ten times as fast
  const ranks = new Uint32Array(values.length);
  for (let at = 0; at < values.length; at++) ranks[at] = firstAtLeast(sorted, values[at]!);
  byRank(order, ranks, values.length);
}

function firstAtLeast(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function byText(order: Uint32Array, words: readonly string[], locale: string): void {
  const numbers = new Map<string, number>();
  const ranks = new Uint32Array(order.length);
  for (let at = 0; at < order.length; at++) {
    const text = words[order[at]!]!;
    let number = numbers.get(text);
    if (number === undefined) {
      if (numbers.size === MOST_COLLATED) return byCharacters(order, words);
      number = numbers.size;
      numbers.set(text, number);
    }
    ranks[at] = number;
  }
  const rankOf = new Uint32Array(numbers.size);
  const compare = collator(locale).compare;
  [...numbers].sort(([a], [b]) => compare(a, b)).forEach(([, number], rank) => (rankOf[number] = rank));
  for (let at = 0; at < ranks.length; at++) ranks[at] = rankOf[ranks[at]!]!;
  byRank(order, ranks, numbers.size);
}

function collator(locale: string): Intl.Collator {
  try {
    return new Intl.Collator(locale, { numeric: true });
  } catch {
    return new Intl.Collator(undefined, { numeric: true }); // not a locale
  }
}

/**
 * Orders rows by the characters of their texts.
 *
 * A text is a number first, made of its characters behind those that all texts begin with; the row stands in the same
 * number, so that the browser sorts numbers alone. Only texts of equal numbers are compared.
 */
function byCharacters(order: Uint32Array, words: readonly string[]): void {
  const skipped = commonBeginning(order, words);
  const keys = new Float64Array(order.length);
  for (let at = 0; at < order.length; at++) {
    const row = order[at]!;
    const text = words[row]!;
    let key = 0;
    for (let place = skipped; place < skipped + KEY_LENGTH; place++) {
      key = key * KEY_BASE + (place < text.length ? Math.min(text.charCodeAt(place) + 1, KEY_BASE - 1) : 0);
    }
    keys[at] = key * ROWS_IN_KEY + row;
  }
  keys.sort();
  for (let at = 0; at < keys.length; at++) order[at] = keys[at]! % ROWS_IN_KEY;
  let first = 0;
  for (let at = 1; at <= keys.length; at++) {
    if (at < keys.length && Math.floor(keys[at]! / ROWS_IN_KEY) === Math.floor(keys[first]! / ROWS_IN_KEY)) continue;
    if (at - first > 1)
      order.subarray(first, at).sort((a, b) => (words[a]! < words[b]! ? -1 : words[a]! > words[b]! ? 1 : a - b));
    first = at;
  }
}

function commonBeginning(order: Uint32Array, words: readonly string[]): number {
  const one = words[order[0]!] ?? "";
  let common = one.length;
  for (const row of order) {
    const text = words[row]!;
    let same = 0;
    while (same < common && text.charCodeAt(same) === one.charCodeAt(same)) same++;
    common = same;
  }
  return common;
}
