// The conventions of a reader as Vega wants them, from those that the browser knows.

/** Returns the tag of a locale that the browser can read. */
export function readable(locale: string): string {
  try {
    return Intl.getCanonicalLocales(locale)[0] ?? "en";
  } catch {
    return "en";
  }
}

/** Returns how numbers are written: a locale of d3-format. */
export function numbersOf(locale: string): Record<string, unknown> {
  const parts = new Intl.NumberFormat(locale).formatToParts(-1234567.8);
  const part = (type: string): string | undefined => parts.find((one) => one.type === type)?.value;
  return {
    decimal: part("decimal") ?? ".",
    thousands: part("group") ?? ",",
    grouping: [3],
    currency: ["", ""],
    minus: part("minusSign") ?? "−",
  };
}

/** Returns the names of months and days: a locale of d3-time-format. */
export function namesOf(locale: string): Record<string, unknown> {
  const names = (count: number, options: Intl.DateTimeFormatOptions, moment: (nth: number) => number): string[] => {
    const format = new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" });
    return Array.from({ length: count }, (_, nth) => format.format(moment(nth)));
  };
  const month = (nth: number): number => Date.UTC(2023, nth, 1);
  const day = (nth: number): number => Date.UTC(2023, 0, 1 + nth); // a Sunday
  return {
    dateTime: "%x, %X",
    date: "%Y-%m-%d",
    time: "%H:%M:%S",
    periods: ["AM", "PM"],
    months: names(12, { month: "long" }, month),
    shortMonths: names(12, { month: "short" }, month),
    days: names(7, { weekday: "long" }, day),
    shortDays: names(7, { weekday: "short" }, day),
  };
}
