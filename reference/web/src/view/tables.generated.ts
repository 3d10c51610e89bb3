/** Generated from schemas/ and xmcp/render/view by `uv run nox -s generate`. Do not edit: change them and run it again. */

import type { Shapes } from "./shapes.ts";

/** How much is read and drawn: limits.py. */
export const LIMITS = {
  "FALLBACKS": 3,
  "GROUP_DEPTH": 3,
  "GROUP_ITEMS": 32,
  "CHART_ROWS": 5000,
  "CHART_SERIES": 12,
  "CHART_SIDE": 4000,
  "CHART_LAYERS": 8,
  "INLINE_IMAGE": 2000000,
  "IMAGE_SIDE": 16384,
  "CHARACTERS": 200000,
  "MARKDOWN_PIECES": 10000,
  "MESSAGE": 10000,
  "TABLE_ROWS_READ": 100000,
  "TABLE_ROWS": 1000,
  "JSON_NODES": 5000,
  "TABLE_COLUMNS": 64,
  "TABLE_ROWS_ALIGNED": 1000,
  "CELL": 2000,
  "ITEMS": 500,
  "CATEGORIES": 200,
  "PARTS": 128,
} as const;

/** What the parts of a display share. */
export const ROOM = {
  "characters": 200000,
  "values": 64000,
  "pieces": 10000,
} as const;

/** What each part has of it, however much stands before it. */
export const LEAST = {
  "characters": 1000,
  "values": 100,
  "pieces": 20,
} as const;

/** Characters, as the inside of a class with the flag `u`: BIDI. */
export const BIDI = "\\u{202a}-\\u{202e}\\u{2066}-\\u{2069}" as const;

/** Characters, as the inside of a class with the flag `u`: JOINERS. */
export const JOINERS = "\\u{200c}-\\u{200d}" as const;

/** Characters, as the inside of a class with the flag `u`: HIDDEN. */
export const HIDDEN = "\\u{ad}\\u{600}-\\u{605}\\u{61c}\\u{6dd}\\u{70f}\\u{890}-\\u{891}\\u{8e2}\\u{115f}-\\u{1160}\\u{17b4}-\\u{17b5}\\u{180e}\\u{200b}\\u{200e}-\\u{200f}\\u{2060}-\\u{2065}\\u{206a}-\\u{206f}\\u{3164}\\u{feff}\\u{ffa0}\\u{fff0}-\\u{fffb}\\u{110bd}\\u{110cd}\\u{13430}-\\u{1343f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}" as const;

/** Characters, as the inside of a class with the flag `u`: BLANK. */
export const BLANK = "\\u{9}-\\u{a}\\u{d}\\u{20}\\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}-\\u{2029}\\u{202f}\\u{205f}\\u{2800}\\u{3000}\\u{ad}\\u{34f}\\u{61c}\\u{115f}-\\u{1160}\\u{17b4}-\\u{17b5}\\u{180b}-\\u{180f}\\u{200b}-\\u{200f}\\u{2060}-\\u{2065}\\u{206a}-\\u{206f}\\u{3164}\\u{fe00}-\\u{fe0f}\\u{feff}\\u{ffa0}\\u{fff0}-\\u{fffb}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}" as const;

/** Characters, as the inside of a class with the flag `u`: UNFIT. */
export const UNFIT: string = "\\u{0}-\\u{20}\\u{3c}\\u{3e}\\u{5c}\\u{7f}-\\u{a0}\\u{d800}-\\u{f8ff}\\u{f0000}-\\u{10ffff}" + BIDI + JOINERS + HIDDEN + BLANK + "\\u{2400}-\\u{2421}\\u{fffd}-\\u{ffff}";

/** The languages whose source text is coloured, by every name. */
export const LANGUAGES: Readonly<Record<string, string>> = {
  "python": "python",
  "json": "json",
  "yaml": "yaml",
  "toml": "toml",
  "sql": "sql",
  "bash": "bash",
  "html": "html",
  "xml": "xml",
  "css": "css",
  "diff": "diff",
  "ini": "ini",
  "javascript": "javascript",
  "typescript": "typescript",
  "java": "java",
  "go": "go",
  "rust": "rust",
  "c": "c",
  "cpp": "cpp",
  "csharp": "csharp",
  "py": "python",
  "sh": "bash",
  "shell": "bash",
  "js": "javascript",
  "ts": "typescript",
  "yml": "yaml",
};

/** Words that a person reads: wording.py. */
export const WORDS = {
  "NOTHING": "(nothing to show)",
  "NO_DESCRIPTION": "(no description)",
  "NO_LINK": "(link not shown)",
  "NO_VALUE": "\u2013",
  "NO_ROWS": "(no rows)",
  "NO_NAME": "(no name)",
  "HTML_IS_SOURCE": "HTML is shown as source text, not interpreted",
  "JSON_IS_CUT": "the value is long; not all of it is shown",
} as const;

/** The name of each notification level. */
export const LEVELS = {
  "info": "Info",
  "success": "Success",
  "warning": "Warning",
  "error": "Error",
} as const;

/** Levels of nesting below which a Markdown parser drops words. */
export const MARKDOWN_DEEPEST = 20 as const;

/** What each mark of Vega-Lite is drawn as. */
export const MARKS: Readonly<Record<string, string>> = {
  "bar": "bar",
  "line": "line",
  "area": "area",
  "point": "point",
  "circle": "point",
  "square": "point",
  "arc": "arc",
  "rect": "rect",
  "rule": "rule",
};

/** Orders of categories by their values. */
export const BY_VALUE: readonly string[] = ["x", "y", "-x", "-y"];

/** The shapes of a chart that is drawn: chart_profile.py. */
export const CHART: Shapes = {
  "chart": {"type": "object", "properties": {"$schema": {"type": "string"}, "mark": {"shape": "mark"}, "encoding": {"shape": "encoding"}, "data": {"type": "object", "properties": {"values": {"shape": "rows"}, "name": {"type": "string"}}, "scalars": []}, "title": {"shape": "title"}, "name": {"type": "string"}, "description": {"type": "string"}, "datasets": {"type": "object", "additionalProperties": {"shape": "rows"}}, "layer": {"type": "array", "items": {"type": "object", "properties": {"mark": {"shape": "mark"}, "encoding": {"shape": "encoding"}, "data": {"type": "object", "properties": {"values": {"shape": "rows"}, "name": {"type": "string"}}, "scalars": []}, "title": {"shape": "title"}, "name": {"type": "string"}, "description": {"type": "string"}}, "scalars": [], "required": ["mark"]}, "maxItems": 8}, "width": {"shape": "length"}, "height": {"shape": "length"}, "padding": {"type": "number", "maximum": 4000}, "autosize": {"enum": ["pad", "fit", "fit-x", "fit-y", "none"]}}, "scalars": ["background"]},
  "mark": {"anyOf": [{"type": "string", "enum": ["bar", "line", "area", "point", "circle", "square", "arc", "rect", "rule"]}, {"type": "object", "properties": {"type": {"enum": ["bar", "line", "area", "point", "circle", "square", "arc", "rect", "rule"]}, "point": {"anyOf": [{"type": "boolean"}, {"type": "string"}, {"type": "object", "properties": {}, "scalars": ["filled", "size", "color", "opacity"]}]}, "line": {"anyOf": [{"type": "boolean"}, {"type": "object", "properties": {}, "scalars": ["color", "strokeWidth", "opacity"]}]}, "tooltip": {"anyOf": [{"type": "boolean"}, {"type": "null"}, {"type": "object", "properties": {"content": {"enum": ["data", "encoding"]}}, "scalars": []}]}, "strokeDash": {"type": "array", "items": {"type": "number"}}}, "scalars": ["filled", "opacity", "fillOpacity", "strokeOpacity", "color", "fill", "stroke", "strokeWidth", "strokeCap", "strokeJoin", "interpolate", "tension", "size", "shape", "orient", "innerRadius", "outerRadius", "padAngle", "cornerRadius", "cornerRadiusEnd", "binSpacing", "cornerRadiusTopLeft", "cornerRadiusTopRight", "cornerRadiusBottomLeft", "cornerRadiusBottomRight", "width", "height", "clip"], "required": ["type"]}]},
  "encoding": {"type": "object", "properties": {"x": {"shape": "position"}, "y": {"shape": "position"}, "theta": {"shape": "position"}, "color": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"field": {"type": "string"}, "type": {"enum": ["quantitative", "temporal", "ordinal", "nominal"]}, "title": {"type": ["string", "null"]}, "aggregate": {"enum": ["sum", "mean", "average", "median", "min", "max", "count", null]}, "sort": {"anyOf": [{"type": ["string", "null"], "enum": ["ascending", "descending", "x", "y", "-x", "-y", null]}, {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}, "maxItems": 5000}]}, "format": {"type": "string"}, "formatType": {"type": "string"}, "bin": {"enum": [false, null]}, "legend": {"shape": "guide"}, "scale": {"shape": "scale"}, "datum": {"type": ["string", "number"]}}, "scalars": ["value"]}]}, "xOffset": {"type": "object", "properties": {"field": {"type": "string"}, "type": {"enum": ["quantitative", "temporal", "ordinal", "nominal"]}, "title": {"type": ["string", "null"]}, "aggregate": {"enum": ["sum", "mean", "average", "median", "min", "max", "count", null]}, "sort": {"anyOf": [{"type": ["string", "null"], "enum": ["ascending", "descending", "x", "y", "-x", "-y", null]}, {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}, "maxItems": 5000}]}, "format": {"type": "string"}, "formatType": {"type": "string"}, "bin": {"enum": [false, null]}, "scale": {"shape": "scale"}}, "scalars": []}, "yOffset": {"type": "object", "properties": {"field": {"type": "string"}, "type": {"enum": ["quantitative", "temporal", "ordinal", "nominal"]}, "title": {"type": ["string", "null"]}, "aggregate": {"enum": ["sum", "mean", "average", "median", "min", "max", "count", null]}, "sort": {"anyOf": [{"type": ["string", "null"], "enum": ["ascending", "descending", "x", "y", "-x", "-y", null]}, {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}, "maxItems": 5000}]}, "format": {"type": "string"}, "formatType": {"type": "string"}, "bin": {"enum": [false, null]}, "scale": {"shape": "scale"}}, "scalars": []}, "tooltip": {"anyOf": [{"type": "null"}, {"shape": "hint"}, {"type": "array", "items": {"shape": "hint"}}]}, "opacity": {"type": "object", "properties": {}, "scalars": ["value"]}, "size": {"type": "object", "properties": {}, "scalars": ["value"]}, "shape": {"type": "object", "properties": {}, "scalars": ["value"]}, "strokeWidth": {"type": "object", "properties": {}, "scalars": ["value"]}, "strokeDash": {"type": "object", "properties": {}, "scalars": ["value"]}}, "scalars": []},
  "position": {"type": "object", "properties": {"field": {"type": "string"}, "type": {"enum": ["quantitative", "temporal", "ordinal", "nominal"]}, "title": {"type": ["string", "null"]}, "aggregate": {"enum": ["sum", "mean", "average", "median", "min", "max", "count", null]}, "sort": {"anyOf": [{"type": ["string", "null"], "enum": ["ascending", "descending", "x", "y", "-x", "-y", null]}, {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}, "maxItems": 5000}]}, "format": {"type": "string"}, "formatType": {"type": "string"}, "bin": {"enum": [false, null]}, "axis": {"shape": "guide"}, "scale": {"shape": "scale"}, "stack": {"enum": [true, "zero", null, false]}, "datum": {"type": ["string", "number"]}}, "scalars": []},
  "hint": {"type": "object", "properties": {"field": {"type": "string"}, "type": {"enum": ["quantitative", "temporal", "ordinal", "nominal"]}, "title": {"type": ["string", "null"]}, "aggregate": {"enum": ["sum", "mean", "average", "median", "min", "max", "count", null]}, "sort": {"anyOf": [{"type": ["string", "null"], "enum": ["ascending", "descending", "x", "y", "-x", "-y", null]}, {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}, "maxItems": 5000}]}, "format": {"type": "string"}, "formatType": {"type": "string"}, "bin": {"enum": [false, null]}, "content": {"enum": ["data", "encoding"]}}, "scalars": ["value"]},
  "guide": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"title": {"type": ["string", "null"]}, "values": {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}}, "scalars": ["format", "formatType", "grid", "labels", "ticks", "domain", "orient", "tickCount", "labelAngle", "labelFontSize", "labelColor", "labelLimit", "labelOverlap", "labelPadding", "labelAlign", "labelBaseline", "labelFontWeight", "labelFlush", "labelBound", "titleFontSize", "titleColor", "titleAngle", "titleAlign", "titlePadding", "titleFontWeight", "titleLimit", "titleOrient", "tickColor", "tickSize", "tickMinStep", "domainColor", "gridColor", "gridOpacity", "gridWidth", "offset", "symbolType", "symbolSize", "direction", "columns", "padding"]}]},
  "scale": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"zero": {"type": "boolean"}, "reverse": {"enum": [false]}, "type": {"enum": ["linear", "time", "utc", "ordinal", "band", "point"]}, "range": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}}, "scalars": ["padding", "paddingInner", "paddingOuter", "round", "scheme", "nice"]}]},
  "rows": {"type": "array", "items": {"type": "object"}, "maxItems": 5000},
  "title": {"anyOf": [{"type": ["string", "null"]}, {"type": "object", "properties": {"text": {"type": "string"}}, "scalars": ["subtitle", "anchor", "align", "angle", "baseline", "color", "dx", "dy", "font", "fontSize", "fontStyle", "fontWeight", "frame", "limit", "offset", "orient", "subtitleColor", "subtitleFontSize", "subtitlePadding"]}]},
  "length": {"anyOf": [{"type": "number", "maximum": 4000}, {"type": "string", "enum": ["container"]}, {"type": "object", "properties": {"step": {"type": "number", "maximum": 4000}}, "scalars": []}]},
};

/** Where the `_meta` of a result has its display. */
export const DISPLAY_META_KEY = "io.github.xmcp-spec/display" as const;

/** Where the `_meta` of a plain result has its error. */
export const ERROR_META_KEY = "io.github.xmcp-spec/error" as const;

/** The shape of the payload of each display type. */
export const PAYLOADS: Shapes = {
  "text": {"type": "string"},
  "markdown": {"type": "string"},
  "table": {"anyOf": [{"type": "object", "required": ["columns", "rows"], "properties": {"columns": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}, "title": {"type": "string"}, "type": {"type": "string"}, "align": {"enum": ["left", "right", "center"]}}, "additionalProperties": true}]}}, "rows": {"type": "array", "items": {"type": ["array", "object"]}}, "caption": {"type": "string"}, "row_header": {"type": "string"}, "total_rows": {"type": "integer", "minimum": 0, "maximum": 9007199254740991}, "truncated": {"type": "boolean"}}, "additionalProperties": true}, {"type": "array", "items": {"type": "object"}}]},
  "chart": {"type": "object"},
  "image": {"anyOf": [{"type": "string", "pattern": "^(?:https://[^\\s\\\\]+|data:image/(?:png|jpeg|gif|webp|avif)[;,]\\S*)$"}, {"type": "object", "required": ["src"], "properties": {"src": {"type": "string", "pattern": "^(?:https://[^\\s\\\\]+|data:image/(?:png|jpeg|gif|webp|avif)[;,]\\S*)$"}, "alt": {"type": "string"}, "mime": {"type": "string"}, "width": {"type": "number", "exclusiveMinimum": 0, "maximum": 9007199254740991}, "height": {"type": "number", "exclusiveMinimum": 0, "maximum": 9007199254740991}}, "additionalProperties": true}]},
  "notification": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}, "level": {"enum": ["info", "success", "warning", "error"]}}, "additionalProperties": true}]},
  "code": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}, "language": {"type": "string"}, "filename": {"type": "string"}}, "additionalProperties": true}]},
  "json": {"type": ["object", "array", "string"]},
  "facts": {"anyOf": [{"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}}, {"type": "array", "items": {"type": "object", "required": ["label", "value"], "properties": {"label": {"type": "string"}, "value": {"type": ["string", "number", "boolean", "null"]}}, "additionalProperties": true}}]},
  "metric": {"anyOf": [{"type": "object", "required": ["label", "value"], "properties": {"label": {"type": "string"}, "value": {"type": ["number", "string"]}, "unit": {"type": "string"}, "delta": {"type": ["number", "string"]}}, "additionalProperties": true}, {"type": "array", "items": {"type": "object", "required": ["label", "value"], "properties": {"label": {"type": "string"}, "value": {"type": ["number", "string"]}, "unit": {"type": "string"}, "delta": {"type": ["number", "string"]}}, "additionalProperties": true}}]},
  "file": {"type": "object", "required": ["uri"], "properties": {"uri": {"type": "string", "minLength": 1}, "name": {"type": "string"}, "mime": {"type": "string"}, "size": {"type": "integer", "minimum": 0, "maximum": 9007199254740991}}, "additionalProperties": true},
  "group": {"type": "array", "maxItems": 32, "items": {"type": "object"}},
  "html": {"type": "string"},
  "x-xmcp-reference": {"type": "object", "required": ["type", "bytes"], "properties": {"type": {"type": "string"}, "bytes": {"type": "integer", "minimum": 0, "maximum": 9007199254740991}, "note": {"type": "string"}}, "additionalProperties": true},
};
