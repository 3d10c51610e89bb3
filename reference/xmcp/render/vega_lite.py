"""A chart as a Vega-Lite specification that is written anew, for programs that draw these, such as notebooks.

What is written is what `view` read of the chart and nothing else. None of the members of the display's own
specification is in it, where an expression, an address or a size of a billion pixels can stand; its strings are data
and titles.
"""

from __future__ import annotations

from typing import Any, Final

from xmcp.render.view import content
from xmcp.render.view.charts import is_scatter
from xmcp.render.view.timestamps import utc
from xmcp.render.view.untrusted import label
from xmcp.render.view.wording import chart_description

MEDIA_TYPE: Final = "application/vnd.vegalite.v6+json"
_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_WIDTH: Final = 480


def vega_lite(chart: content.Chart, title: str | None = None, alt: str | None = None) -> dict[str, Any]:
    """Return a specification with the data of a chart inside."""
    head: dict[str, Any] = {"$schema": _SCHEMA, "description": alt or chart_description(chart), "width": _WIDTH}
    if title:
        head["title"] = label(title)
    match chart:
        case content.Bars():
            return head | _bars(chart)
        case content.Plot():
            return head | _plot(chart)
        case content.Pie():
            return head | _pie(chart)
        case content.Heat():
            return head | _heat(chart)


def _axis(field: str, kind: str, title: str, **more: Any) -> dict[str, Any]:
    return {"field": field, "type": kind, "title": label(title), **more}


def _series(names: list[str | None]) -> dict[str, Any]:
    """Return the encoding of the series by colour, if they have names."""
    if all(name is None for name in names):
        return {}
    return {"color": {"field": "series", "type": "nominal", "title": None, "sort": [_name(name) for name in names]}}


def _name(name: str | None) -> str:
    return label(name or "", 60)


def _bars(chart: content.Bars) -> dict[str, Any]:
    def values(series: tuple[content.CategorySeries, ...]) -> dict[str, Any]:
        rows = [
            {"category": label(category, 120), "value": value, "series": _name(one.name)}
            for one in series
            for category, value in zip(chart.categories, one.values, strict=True)
            if value is not None
        ]
        return {"values": rows}

    along, across = ("y", "x") if chart.horizontal else ("x", "y")
    encoding = {
        along: _axis("category", "nominal", chart.category_title, sort=None),
        across: _axis("value", "quantitative", chart.value_title),
        **_series([one.name for one in (*chart.series, *chart.lines)]),
    }
    beside = {f"{along}Offset": {"field": "series", "sort": None}} if chart.grouped else {}
    layers = [{"mark": "bar", "data": values(chart.series), "encoding": encoding | beside}]
    if chart.lines:
        layers.append({"mark": {"type": "line", "point": True}, "data": values(chart.lines), "encoding": encoding})
    layers += [_rule(across, rule.value) for rule in chart.rules]
    return {"layer": layers}


def _plot(chart: content.Plot) -> dict[str, Any]:
    names = {} if chart.temporal else dict(chart.x_labels)
    if chart.temporal:
        x = _axis("x", "temporal", chart.x_title, scale={"type": "utc"})
    elif names:
        x = _axis("x", "ordinal", chart.x_title, sort=[label(name, 40) for name in names.values()])
    else:
        x = _axis("x", "quantitative", chart.x_title, **({"scale": {"zero": False}} if is_scatter(chart) else {}))
    y = _axis("y", "quantitative", chart.y_title, scale={"zero": chart.from_zero})
    layers: list[dict[str, Any]] = []

    def place(value: float) -> str | float:
        """Return a place on the x axis; a moment that has no ISO 8601 time is milliseconds, as in Vega-Lite."""
        if chart.temporal:
            return utc(value) or value * 1000
        return label(names[value], 40) if names else value

    for mark in dict.fromkeys(series.mark for series in chart.series):
        rows = [
            {"x": place(x_value), "y": y_value, "series": _name(series.name)}
            for series in chart.series
            if series.mark == mark
            for x_value, y_value in series.points
        ]
        stack = {"stack": "zero" if chart.stacked else None} if mark == "area" else {}
        encoding = {"x": x, "y": y | stack, **_series([series.name for series in chart.series])}
        layers.append({"mark": mark, "data": {"values": rows}, "encoding": encoding})
    layers += [_rule("y", rule.value) for rule in chart.rules if rule.axis == "y"]
    layers += [_rule("x", place(rule.value), x["type"]) for rule in chart.rules if rule.axis == "x"]
    return {"layer": layers}


def _rule(axis: str, value: str | float, kind: str = "quantitative") -> dict[str, Any]:
    return {
        "mark": {"type": "rule", "strokeDash": [5, 4]},
        "data": {"values": [{}]},
        "encoding": {axis: {"datum": value, "type": kind}},
    }


def _pie(chart: content.Pie) -> dict[str, Any]:
    rows = [{"category": label(name, 120), "value": value} for name, value in chart.slices]
    encoding = {
        "theta": _axis("value", "quantitative", chart.value_title, stack=True),
        "color": _axis("category", "nominal", chart.category_title, sort=None),
    }
    return {
        "mark": {"type": "arc", "innerRadius": 60 if chart.hole else 0},
        "data": {"values": rows},
        "encoding": encoding,
    }


def _heat(chart: content.Heat) -> dict[str, Any]:
    rows = [
        {"x": label(column, 80), "y": label(row, 80), "value": value}
        for row, values in zip(chart.rows, chart.values, strict=True)
        for column, value in zip(chart.columns, values, strict=True)
        if value is not None
    ]
    encoding = {
        "x": _axis("x", "ordinal", chart.x_title, sort=None),
        "y": _axis("y", "ordinal", chart.y_title, sort=None),
        "color": _axis("value", "quantitative", chart.value_title),
    }
    return {"mark": "rect", "data": {"values": rows}, "encoding": encoding}
