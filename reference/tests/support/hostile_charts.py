"""Specifications that want Vega to load, link, run, or take all time and memory. Each is a payload of a chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Case = dict[str, Any] | Callable[[], dict[str, Any]]

RUN: Final = "window.ran=1"
_DATA: Final = {"values": [{"a": "x", "b": 1}, {"a": "y", "b": 2}]}
_X: Final = {"field": "a", "type": "nominal"}
_Y: Final = {"field": "b", "type": "quantitative"}
_BOX: Final = {"data": _DATA, "mark": "boxplot", "encoding": {"x": _X, "y": _Y}}


def _box(**members: Any) -> dict[str, Any]:
    """Return a chart that only Vega draws, with these members in place of its own."""
    return {**_BOX, **members}


def _encoded(**channels: Any) -> dict[str, Any]:
    return _box(encoding={"x": _X, "y": _Y, **channels})


def _rows(count: int) -> dict[str, Any]:
    return {"values": [{"a": f"n{at}", "b": at * 1.37 % 101, "c": f"m{at % 97}"} for at in range(count)]}


def _nested(depth: int) -> dict[str, Any]:
    inside: dict[str, Any] = {"mark": "tick", "encoding": {"x": _Y}}
    for _ in range(depth):
        inside = {"vconcat": [inside]}
    return {"data": _DATA, **inside}


def refused(address: str) -> dict[str, Case]:
    """Return the cases that Vega does not get; `address` is that of a host that nothing may ask."""
    return {
        "data from a host": _box(data={"url": f"{address}/data.json"}),
        "data from a host by a layer": _box(layer=[{"data": {"url": f"{address}/a.csv"}, "mark": "tick"}]),
        "data sets from a host": _box(data={"name": "d"}, datasets={"d": {"url": f"{address}/d"}}),
        "an image mark": _box(mark={"type": "image", "url": f"{address}/i.png"}),
        "an image by a channel": _box(mark="image", encoding={"url": {"value": f"{address}/i.png"}}),
        "a link": _encoded(href={"value": f"javascript:{RUN}"}),
        "a link of a mark": _box(mark={"type": "tick", "href": f"javascript:{RUN}", "cursor": "pointer"}),
        "hidden data": _box(usermeta={"embedOptions": {"loader": {"baseURL": address}, "ast": False}}),
        "a style sheet": _box(config={"style": {"x": {"fill": f"url({address}/a)"}}}),
        "a font": _box(config={"font": f"x;}}@import url({address})"}),
        "a colour that loads": _box(mark={"type": "tick", "color": f"url({address}/#a)"}),
        "a background that loads": _box(background=f"url({address}/#a)"),
        "thirty million numbers": _box(data={"sequence": {"start": 0, "stop": 30_000_000}}),
        "a grid of the earth": _box(data={"graticule": {"step": [1e-9, 1e-9]}}, mark="geoshape"),
        "a transform": _box(transform=[{"calculate": RUN, "as": "z"}]),
        "rows times rows": _box(transform=[{"flatten": ["a", "b"]}, {"density": "b", "steps": 1_000_000_000}]),
        "an imputed sequence": _encoded(y={**_Y, "impute": {"keyvals": {"start": 0, "stop": 1e12, "step": 1}}}),
        "an expression for a label": _encoded(x={**_X, "axis": {"labelExpr": "toString.constructor('" + RUN + "')()"}}),
        "an expression as a test": _encoded(color={"condition": {"test": RUN, "value": "red"}}),
        "a slow pattern": _encoded(
            color={
                "condition": {"test": "test(/^(a+)+$/, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')", "value": "red"}
            }
        ),
        "a signal": _encoded(y={**_Y, "scale": {"domain": {"signal": "data('root')"}}}),
        "an expression for a size": _box(width={"expr": RUN}),
        "a parameter": _box(params=[{"name": "p", "select": "interval", "bind": "scales"}]),
        "an input": _box(params=[{"name": "p", "bind": {"input": "text", "element": "body"}, "expr": RUN}]),
        "a tooltip with markup": _encoded(tooltip={"signal": f"{{title: '<img src=x onerror={RUN}>'}}"}),
        "a tooltip that computes": _encoded(tooltip={"expr": RUN}),
        "an expression in a format": _encoded(y={**_Y, "axis": {"format": f'") + ({RUN}) + ("'}}),
        "an expression in a field": _encoded(x={"field": f'a"] + ({RUN}) + datum["a', "type": "nominal"}),
        "an expression in a quoted field": _encoded(x={"field": f"d'];{RUN};//", "type": "nominal"}),
        "an expression in a year": _encoded(y={**_Y, "scale": {"domain": [{"year": RUN}, {"year": 2000}]}}),
        "a format of a billion characters": _encoded(y={**_Y, "axis": {"format": "01000000000f"}}),
        "a format of someone else": _encoded(y={**_Y, "axis": {"format": "x", "formatType": "constructor"}}),
        "a billion bins": _encoded(y={**_Y, "bin": {"maxbins": 1_000_000_000}}),
        "bins without end": _encoded(x={**_Y, "bin": {"minstep": 0, "base": 1 + 1e-12}}),
        "a billion ticks": _encoded(y={**_Y, "axis": {"tickCount": 1_000_000_000}}),
        "a tick a millisecond": _encoded(x={"field": "b", "type": "temporal", "axis": {"tickCount": "millisecond"}}),
        "a logarithm of nearly one": _encoded(y={**_Y, "scale": {"type": "log", "base": 1 + 1e-12}}),
        "a billion colours": _encoded(color={**_Y, "scale": {"scheme": {"name": "viridis", "count": 1_000_000_000}}}),
        "a huge width": _box(width=1e9),
        "a huge step": _box(width={"step": 1e9}),
        "a million facets": lambda: {
            "data": _rows(4_900),
            "mark": "tick",
            "encoding": {"x": _Y, "row": {"field": "a"}, "column": {"field": "c"}},
        },
        "a repetition of repetitions": {
            "data": _DATA,
            "repeat": {"row": ["a"] * 30, "column": ["b"] * 30},
            "spec": {"repeat": ["a"] * 30, "spec": {"mark": "tick", "encoding": {"x": _Y}}},
        },
        "a hundred thousand rows": lambda: _box(data=_rows(100_000)),
        "a specification of ten thousand layers": {"data": _DATA, "layer": [{"mark": "tick"}] * 10_000},
        "deep": _nested(200),
        "deep data": _box(data={"values": [{"a": {"b": {"c": {"d": 1}}}}]}),
        "the prototype as a row": _box(
            data={"values": [{"__proto__": {"ran": 1}, "constructor": 1, "toString": 2, "b": 1}]}
        ),
        "the prototype as a field": _encoded(x={"field": "__proto__.ran"}),
        "the prototype as a data set": _box(data={"name": "__proto__"}, datasets={"__proto__": [{"a": 1}]}),
        "a member of the prototype": {**_BOX, "__proto__": {"mark": "image"}, "constructor": {"prototype": {"ran": 1}}},
        "a mark of the prototype": _box(mark="constructor"),
        "a map": _box(mark="geoshape", projection={"type": "mercator"}),
        "blended with the page": _box(mark={"type": "tick", "blend": "difference"}),
        "text split by a pattern": _box(mark={"type": "text", "lineBreak": "(a+)+$"}),
        "columns of text": _box(data={"values": "a,b\n1,2", "format": {"type": "csv"}}),
        "a function of the page as a unit of time": _encoded(x={"field": "a", "timeUnit": "year');alert('1"}),
    }


def slow() -> dict[str, Case]:
    """Return allowed specifications that cost as much as can be said, or are odd."""
    return {
        "sixty boxplots of five thousand rows": lambda: {
            "data": _rows(5_000),
            "concat": [{"mark": "boxplot", "encoding": {"x": {"field": "c"}, "y": _Y}}] * 60,
            "columns": 8,
        },
        "the same name sixty times": lambda: {
            "data": _rows(5_000),
            "repeat": {"row": ["b"] * 8, "column": ["b"] * 8},
            "spec": {
                "mark": "boxplot",
                "encoding": {"x": {"field": "c"}, "y": {"field": {"repeat": "row"}, "type": "quantitative"}},
            },
        },
        "five thousand boxes": lambda: _box(data=_rows(5_000)),
        "five thousand names in a legend": lambda: {
            "data": _rows(5_000),
            "mark": "tick",
            "encoding": {"x": _Y, "color": {"field": "a"}, "shape": {"field": "a"}, "size": _Y},
        },
        "two hundred layers": lambda: {
            "data": _rows(2_000),
            "layer": [{"mark": "errorband", "encoding": {"x": _X, "y": _Y}}] * 150,
        },
        "rows that are made up by stacking": lambda: {
            "data": _rows(5_000),
            "mark": "area",
            "encoding": {"x": {"field": "b", "type": "quantitative"}, "y": _Y, "color": {"field": "a"}},
        },
        "rows that are made up": lambda: {
            "data": {"values": [{"a": f"n{at}", "b": at, "c": f"m{at}"} for at in range(5_000)]},
            "mark": "line",
            "encoding": {"x": {"field": "c"}, "y": {**_Y, "impute": {"value": 0}}, "color": {"field": "a"}},
        },
        "bins of bins": lambda: {
            "data": _rows(5_000),
            "mark": "rect",
            "encoding": {
                "x": {**_Y, "bin": {"maxbins": 200, "extent": [0, 1e15]}},
                "y": {**_Y, "bin": {"extent": [0, 1e-300]}},
            },
        },
        "numbers without measure": _box(
            data={"values": [{"a": "x", "b": 1e308}, {"a": "y", "b": -1e308}, {"a": "z", "b": 5e-324}]}
        ),
        "an endless domain": _encoded(
            y={**_Y, "scale": {"domain": [-1e15, 1e15], "type": "symlog", "constant": 1e-300}}
        ),
        "letters of a kilometre": _box(mark={"type": "text", "fontSize": 1e6, "dx": -1e6}),
        "symbols of a kilometre": _box(mark={"type": "point", "shape": "M0,0L1,1H9e9V-9e9Z", "size": 1e15}),
        "markup for words": _box(
            title={"text": f"<script>{RUN}</script>", "subtitle": f"</text><image href=x onerror={RUN}>"},
            data={
                "values": [
                    {"a": f"<script>{RUN}</script>&#x41;]]>", "b": 1},
                    {"a": "\u202egnp.exe\x00\x1b[31m", "b": 2},
                ]
            },
        ),
        "a shape with a script": _box(mark={"type": "point", "shape": 'M0,0"/><script>1</script>'}),
        "words of the reader's page": _box(mark={"type": "tick", "color": "var(--text)", "fill": "url(#gradient_0)"}),
    }
