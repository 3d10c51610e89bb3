// The signs of buttons, levels and files: strokes in a square of 16.
import { svg } from "./dom.ts";

const PATHS = {
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  done: "M3.5 8.5 6.5 11.5 12.5 4.5",
  download: "M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10",
  picture: "M2.5 3h11v10h-11zM2.5 11l3.5-3.5 2.5 2.5 2-2 3 3M10.5 5.8h.01",
  source: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  fullscreen: "M6 2.5H2.5V6M10 2.5h3.5V6M6 13.5H2.5V10M10 13.5h3.5V10",
  file: "M4 1.8h5.2L12.5 5v9.2H4zM9 2v3.2h3.3",
  info: "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4zM8 7.3v3.7M8 4.9v.01",
  success: "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4zM5.2 8.2l2 2 3.6-4",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.01",
  error: "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4zM5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2",
} as const;

export type Icon = keyof typeof PATHS;

/** Returns a sign that a screen reader passes over. */
export function icon(name: Icon): SVGSVGElement {
  return svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));
}
