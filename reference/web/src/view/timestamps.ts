/** Moments on a time axis: from the values of a temporal field to seconds and short names, as timestamps.py. */

import { english } from "./numerals.ts";

const LATEST = 1e18; // milliseconds since 1970; far beyond any calendar
const [EARLIEST_YEAR, LATEST_YEAR] = [-62135596800, 253402300800]; // seconds: from the year 1 to the year 9999
const ISO =
  /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?)?)?$/;

/**
 * Return seconds since 1970 for an ISO 8601 date or time (UTC if it has no zone) or for milliseconds since 1970.
 *
 * Null for any other value.
 */
export function secondsOf(value: unknown): number | null {
  if (typeof value === "number") return Math.abs(value) < LATEST ? value / 1000 : null;
  const parts = typeof value === "string" ? ISO.exec(value) : null;
  if (!parts) return null;
  const number = (nth: number, absent = 0): number => Number(parts[nth] ?? absent);
  const [year, month, day, hour, minute, second] = [number(1), number(2, 1), number(3, 1), number(4), number(5), number(6)];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (!year || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const [zoneHours, zoneMinutes] = [number(10), number(11)];
  if (hour > 23 || minute > 59 || second > 59 || zoneHours > 23 || zoneMinutes > 59) return null;
  const zone = (parts[9] === "-" ? -60 : 60) * (zoneHours * 60 + zoneMinutes);
  const whole = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - zone;
  return (whole * 1000 + Number((parts[7] ?? "").padEnd(3, "0").slice(0, 3))) / 1000;
}

/** Return a short name of a moment: the date, and the time of day as it is written, to the millisecond, unless it is midnight. */
export function nameOf(value: unknown, seconds: number): string {
  const parts = typeof value === "string" ? ISO.exec(value) : null;
  if (!parts) {
    const milliseconds = Math.floor(seconds * 1000 + 0.5);
    if (!(milliseconds / 1000 >= EARLIEST_YEAR && milliseconds / 1000 < LATEST_YEAR)) return english(seconds);
    return nameOf(new Date(milliseconds).toISOString(), seconds);
  }
  const [date, hour = "00", minute = "00", second = "00"] = [parts[0].slice(0, 10), parts[4], parts[5], parts[6]];
  const fraction = (parts[7] ?? "").slice(0, 3).replace(/0+$/, "");
  const exact = second === "00" && !fraction ? "" : `:${second}${fraction && `.${fraction}`}`;
  const clock = `${hour}:${minute}${exact}`;
  return clock === "00:00" ? date : `${date} ${clock}`;
}
