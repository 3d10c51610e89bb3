"""What a chart may consist of: the members of a Vega-Lite specification that are drawn, and their values.

An allow-list, in the shapes of shapes.py. A specification with any other member, value, mark or encoding is refused, at
any depth, so that a chart is either drawn as Vega-Lite would draw it or left to the fallback ladder. What only styles a
chart (colours, fonts, the angle of labels) is allowed and not followed.
"""

from __future__ import annotations

from typing import Any, Final

from xmcp.render.view.limits import CHART_LAYERS, CHART_ROWS, CHART_SIDE
from xmcp.render.view.shapes import Shape

MARKS: Final = {
    "bar": "bar",
    "line": "line",
    "area": "area",
    "point": "point",
    "circle": "point",
    "square": "point",
    "arc": "arc",
    "rect": "rect",
    "rule": "rule",
}
"""What each mark of Vega-Lite is drawn as."""
AGGREGATES: Final = ("sum", "mean", "average", "median", "min", "max", "count")
BY_VALUE: Final = ("x", "y", "-x", "-y")
"""Orders of categories by their values; `-` is descending."""

_TEXT: Final = {"type": "string"}
_TEXT_OR_NONE: Final = {"type": ["string", "null"]}
_NONE: Final = {"type": "null"}
_FLAG: Final = {"type": "boolean"}
_NUMBER: Final = {"type": "number"}
_LENGTH: Final = {"type": "number", "maximum": CHART_SIDE}


def _object(scalars: str, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "scalars": scalars.split()}


def _array(items: Shape, most: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": items, **({} if most is None else {"maxItems": most})}


def _either(*shapes: Shape) -> dict[str, Any]:
    return {"anyOf": list(shapes)}


def _one_of(*values: object) -> dict[str, Any]:
    return {"enum": list(values)}


def _named(name: str) -> dict[str, Any]:
    return {"shape": name}


_FIELD: Final = {
    "field": _TEXT,
    "type": _one_of("quantitative", "temporal", "ordinal", "nominal"),
    "title": _TEXT_OR_NONE,
    "aggregate": _one_of(*AGGREGATES, None),
    "sort": _either(
        {"type": ["string", "null"], "enum": ["ascending", "descending", *BY_VALUE, None]},
        _array({"type": ["string", "number", "boolean", "null"]}, CHART_ROWS),
    ),
    "format": _TEXT,
    "formatType": _TEXT,
    "bin": _one_of(False, None),
}
_DATUM: Final = {"type": ["string", "number"]}
_UNIT: Final = {
    "mark": _named("mark"),
    "encoding": _named("encoding"),
    "data": _object("", values=_named("rows"), name=_TEXT),
    "title": _named("title"),
    "name": _TEXT,
    "description": _TEXT,
}

SHAPES: Final[dict[str, Shape]] = {
    "chart": _object(
        "background",
        **{"$schema": _TEXT},
        **_UNIT,
        datasets={"type": "object", "additionalProperties": _named("rows")},
        layer=_array({**_object("", **_UNIT), "required": ["mark"]}, CHART_LAYERS),
        width=_named("length"),
        height=_named("length"),
        padding=_LENGTH,
        autosize=_one_of("pad", "fit", "fit-x", "fit-y", "none"),
    ),
    "mark": _either(
        {"type": "string", "enum": list(MARKS)},
        {
            **_object(
                "filled opacity fillOpacity strokeOpacity color fill stroke strokeWidth strokeCap strokeJoin "
                "interpolate tension size shape orient innerRadius outerRadius padAngle cornerRadius "
                "cornerRadiusEnd binSpacing cornerRadiusTopLeft cornerRadiusTopRight cornerRadiusBottomLeft "
                "cornerRadiusBottomRight width height clip",
                type=_one_of(*MARKS),
                point=_either(_FLAG, {"type": "string"}, _object("filled size color opacity")),
                line=_either(_FLAG, _object("color strokeWidth opacity")),
                tooltip=_either(_FLAG, _NONE, _object("", content=_one_of("data", "encoding"))),
                strokeDash=_array(_NUMBER),
            ),
            "required": ["type"],
        },
    ),
    "encoding": _object(
        "",
        x=_named("position"),
        y=_named("position"),
        theta=_named("position"),
        color=_either(_NONE, _object("value", **_FIELD, legend=_named("guide"), scale=_named("scale"), datum=_DATUM)),
        xOffset=_object("", **_FIELD, scale=_named("scale")),
        yOffset=_object("", **_FIELD, scale=_named("scale")),
        tooltip=_either(_NONE, _named("hint"), _array(_named("hint"))),
        **dict.fromkeys(("opacity", "size", "shape", "strokeWidth", "strokeDash"), _object("value")),
    ),
    "position": _object(
        "",
        **_FIELD,
        axis=_named("guide"),
        scale=_named("scale"),
        stack=_one_of(True, "zero", None, False),
        datum=_DATUM,
    ),
    "hint": _object("value", **_FIELD, content=_one_of("data", "encoding")),
    "guide": _either(
        _NONE,
        _object(
            "format formatType grid labels ticks domain orient tickCount labelAngle labelFontSize labelColor "
            "labelLimit labelOverlap labelPadding labelAlign labelBaseline labelFontWeight labelFlush "
            "labelBound titleFontSize titleColor titleAngle titleAlign titlePadding titleFontWeight "
            "titleLimit titleOrient tickColor tickSize tickMinStep domainColor gridColor gridOpacity "
            "gridWidth offset symbolType symbolSize direction columns padding",
            title=_TEXT_OR_NONE,
            values=_array({"type": ["string", "number", "boolean", "null"]}),
        ),
    ),
    "scale": _either(
        _NONE,
        _object(
            "padding paddingInner paddingOuter round scheme nice",
            zero=_FLAG,
            reverse=_one_of(False),
            type=_one_of("linear", "time", "utc", "ordinal", "band", "point"),
            range=_either(_TEXT, _array(_TEXT)),
        ),
    ),
    "rows": _array({"type": "object"}, CHART_ROWS),
    "title": _either(
        {"type": ["string", "null"]},
        _object(
            "subtitle anchor align angle baseline color dx dy font fontSize fontStyle fontWeight frame limit "
            "offset orient subtitleColor subtitleFontSize subtitlePadding",
            text=_TEXT,
        ),
    ),
    "length": _either(_LENGTH, {"type": "string", "enum": ["container"]}, _object("", step=_LENGTH)),
}
"""The shapes of a specification that is drawn, by name; the whole is `chart`."""
