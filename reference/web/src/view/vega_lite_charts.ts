import { CannotShow, type Chart } from "./content.ts";
import { isObject, member } from "./json.ts";

export function readChart(payload: unknown): Chart {
  void payload;
  throw new CannotShow("charts are not drawn yet");
}

export function chartTitle(payload: unknown): string | null {
  const written = isObject(payload) ? member(payload, "title") : null;
  const title = isObject(written) ? member(written, "text") : written;
  return typeof title === "string" ? title : null;
}
