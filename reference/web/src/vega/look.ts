// How a chart of Vega looks: as the other charts of the element. Colours are CSS variables, so a change of theme needs no drawing.
import { isObject, member, type JsonObject } from "../view/json.ts";

const SERIES = [1, 2, 3, 4, 5, 6, 7, 8].map((nth) => `var(--series-${nth})`);
const [FIRST, TEXT, MUTED, LINE, SURFACE] = [
  "var(--series-1)",
  "var(--text)",
  "var(--muted)",
  "var(--line)",
  "var(--surface)",
];
/** CSS pixels: of a letter with the space around it, and of what stands beside a chart. */
const [LETTER, BESIDE] = [8, 60];
const HEIGHT = 240;
/** Of one of several charts in a display. */
const SMALL = { width: 180, height: 140 };

/** The configuration of Vega-Lite. */
const look = {
  aria: false,
  background: null,
  padding: 4,
  view: {
    stroke: null,
    continuousWidth: SMALL.width,
    continuousHeight: SMALL.height,
    discreteWidth: { step: 26 },
    discreteHeight: { step: 26 },
  },
  axis: {
    labelColor: MUTED,
    titleColor: MUTED,
    gridColor: LINE,
    domainColor: MUTED,
    tickColor: LINE,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 600,
    titlePadding: 8,
    labelPadding: 6,
    labelLimit: 160,
    labelFlush: false,
    labelSeparation: 8,
  },
  axisBand: { grid: false, ticks: false },
  axisQuantitative: { domain: false, ticks: false },
  legend: {
    labelColor: MUTED,
    titleColor: MUTED,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 600,
    symbolStrokeWidth: 2,
    gradientStrokeColor: null,
    labelLimit: 160,
    symbolLimit: 24,
  },
  header: { labelColor: MUTED, titleColor: MUTED, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600 },
  title: { color: TEXT, subtitleColor: MUTED, fontSize: 13, fontWeight: 600 },
  mark: { color: FIRST, tooltip: null },
  arc: { stroke: SURFACE, strokeWidth: 1.5 },
  text: { color: TEXT, fontSize: 12 },
  rule: { color: MUTED },
  trail: { color: FIRST },
  boxplot: { median: { color: SURFACE, strokeWidth: 2 }, rule: { color: FIRST }, size: 18 },
  errorband: { band: { opacity: 0.22 } },
  errorbar: { rule: { color: FIRST, strokeWidth: 2 } },
  range: {
    category: SERIES,
    ordinal: { scheme: "xmcp" },
    ramp: { scheme: "xmcp" },
    heatmap: { scheme: "xmcp" },
    diverging: { scheme: "xmcp-both" },
  },
};

/** Returns a specification for a place of this width: one chart fills it; of several each has the size that it asks for. */
export function inWidth(specification: JsonObject, width: number): JsonObject {
  const { title: _, $schema, description, autosize, background, ...chart } = specification as Record<string, unknown>;
  if (!isOne(chart)) return chart;
  const { height } = chart;
  return {
    ...chart,
    width,
    height: typeof height === "number" || isObject(height) || isDiscrete(chart) ? height : HEIGHT,
    autosize: { type: "fit-x", contains: "padding" },
  };
}

/** Returns the configuration for a chart in this width: names below it lie if there is room for them, or else stand. */
export function lookOf(specification: JsonObject, width: number): JsonObject {
  const room = isOne(specification) ? width : SMALL.width;
  const names = namesBelow(specification);
  const longest = names.reduce((most, name) => Math.max(most, name.length), 0);
  return names.length * longest * LETTER < room - BESIDE ? { ...look, axisXDiscrete: { labelAngle: 0 } } : look;
}

/** Returns the different values of the field on the x axis. */
function namesBelow({ encoding, data }: JsonObject): string[] {
  const x = isObject(encoding) ? member(encoding, "x") : undefined;
  const field = isObject(x) ? member(x, "field") : undefined;
  const rows = isObject(data) ? member(data, "values") : undefined;
  if (typeof field !== "string" || !Array.isArray(rows)) return [];
  return [...new Set(rows.map((row: JsonObject) => String(row[field])))];
}

function isOne(chart: JsonObject): boolean {
  if (!("mark" in chart || "layer" in chart)) return false;
  const encoding = chart["encoding"];
  return !isObject(encoding) || !["row", "column", "facet"].some((name) => member(encoding, name) !== undefined);
}

/** Names stand below each other: each has its own height. */
function isDiscrete({ encoding }: JsonObject): boolean {
  const y = isObject(encoding) ? member(encoding, "y") : undefined;
  return isObject(y) && (member(y, "type") === "nominal" || member(y, "type") === "ordinal");
}
