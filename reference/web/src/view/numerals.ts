/**
 * Numbers for a person: from numbers to short strings, and the choice of axis ticks, as xmcp/render/view/numerals.py.
 *
 * Amounts are written as in English unless the page says which locale its reader has: then `inLocale` writes them, and
 * the functions of wording.ts, tables.ts and charts.ts take it as an argument. What was sent as a bare number in a table
 * keeps its digits in every locale, because it can be a number of a part or of a year.
 */

export type Quantity = (value: number) => string;

const BINARY_UNITS = ["B", "KiB", "MiB", "GiB"];

/** Return a number with the digits that were sent, neither grouped nor rounded. */
export const asSent = String;

/** Return a whole number with its digits grouped: how many there are of something. */
export function count(value: number | string): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Return an amount: grouped in thousands, at most four decimals (two from 100 on), without trailing zeros. */
export const english: Quantity = (value) => {
  if (!Number.isFinite(value)) return asSent(value);
  const size = Math.abs(value);
  if (size && !isPlain(size)) {
    const [digits, exponent] = value.toExponential(3).split("e");
    return `${trimmed(digits!)}e${exponent}`;
  }
  const [whole, decimals] = value.toFixed(size < 100 ? 4 : 2).split(".");
  return trimmed(`${count(whole!)}.${decimals}`);
};

/** Return the function that writes amounts in a locale (BCP 47), in as many digits as `english`. */
export function inLocale(locale: string): Quantity {
  try {
    const [fine, coarse, long] = [
      new Intl.NumberFormat(locale, { maximumFractionDigits: 4 }),
      new Intl.NumberFormat(locale, { maximumFractionDigits: 2 }),
      new Intl.NumberFormat(locale, { notation: "scientific", maximumSignificantDigits: 4 }),
    ] as const;
    return (value) => {
      const size = Math.abs(value);
      if (!Number.isFinite(value)) return asSent(value);
      return (size && !isPlain(size) ? long : size < 100 ? fine : coarse).format(value || 0);
    };
  } catch {
    return english; // not a locale
  }
}

function isPlain(size: number): boolean {
  return size >= 1e-4 && size < 1e15;
}

/** Return decimal `digits` without trailing zeros, and zero without a sign. */
export function trimmed(digits: string): string {
  const short = digits.includes(".") ? digits.replace(/\.?0*$/, "") : digits;
  return short === "-0" ? "0" : short;
}

/** Return the sum, added from left to right without compensation, so that every renderer gets the same last digit. */
export function total(values: Iterable<number>): number {
  let found = 0;
  for (const value of values) found += value;
  return found;
}

/** Return `value` with one decimal. */
export function tenths(value: number): number {
  return Number(value.toFixed(1));
}

/** Return about `wanted` round values in steps of 1, 2, 2.5 or 5 that enclose `low` and `high`, at least two. */
export function ticks(lowest: number, highest: number, wanted: number): number[] {
  let [low, high] = [lowest, highest];
  const size = Math.max(Math.abs(high), Math.abs(low));
  if (high - low <= size * 1e-9 || high - low < 1e-290) {
    const margin = size / 2 || 1;
    [low, high] = [low - margin, high + margin];
  }
  const raw = high / wanted - low / wanted;
  const exponent = Math.floor(Math.log10(raw));
  const steps = [1, 2, 2.5, 5, 10].map((factor) => factor * Number(`1e${exponent}`));
  const step = steps.find((one) => one >= raw * (1 - 1e-9)) ?? steps[4]!;
  const decimals = Math.max(0, 1 - exponent);
  const found: number[] = [];
  for (let i = Math.floor(low / step); i <= Math.ceil(high / step); i++) {
    found.push(decimals <= 100 ? Number((i * step).toFixed(decimals)) : i * step);
  }
  return found;
}

/** Return a number of bytes as a person reads it, in binary units. */
export function byteSize(size: number, quantity: Quantity = english): string {
  let power = 0;
  while (power < BINARY_UNITS.length - 1 && size >= 1024 ** (power + 1)) power++;
  return `${quantity(tenths(Math.min(size, 2 ** 60) / 1024 ** power))} ${BINARY_UNITS[power]}`;
}

/** Return the largest and the smallest of many numbers; as arguments of Math.max they could be too many. */
export function range(values: readonly number[]): readonly [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
