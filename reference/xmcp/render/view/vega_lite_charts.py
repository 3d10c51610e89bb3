"""From a Vega-Lite specification to a chart: bars, lines, areas, points, a circle or a grid, also in layers.

chart_profile.py lists what is understood; a specification with anything else is refused. Nothing is fetched or
evaluated (spec section 3.3).
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

from xmcp.render.view import content
from xmcp.render.view.chart_profile import BY_VALUE, MARKS, SHAPES
from xmcp.render.view.content import CannotShow, Rule
from xmcp.render.view.limits import CATEGORIES, CHART_SERIES
from xmcp.render.view.numerals import as_sent, is_number, quantity, total
from xmcp.render.view.shapes import fault
from xmcp.render.view.timestamps import name_of, seconds_of

Row: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["quantitative", "temporal", "ordinal", "nominal"]
Key: TypeAlias = str | float
"""A value that names a category."""
Cells: TypeAlias = dict[tuple[Key, Key | None], float]
"""One number for each category and colour."""


_COMBINED: Final[Mapping[str | None, Callable[[Sequence[float]], float]]] = {
    None: total,
    "sum": total,
    "count": total,
    "mean": lambda values: total(values) / len(values),
    "average": lambda values: total(values) / len(values),
    "median": statistics.median,
    "min": min,
    "max": max,
}
_FIRST_OF_MONTH: Final = re.compile(r"\d{4}-\d\d(-01)?", re.ASCII)
_DRAWN_OVER_BARS: Final = ("line", "point")


@dataclass(frozen=True, slots=True)
class _Unit:
    """One mark with its data and its encoding."""

    mark: str
    hole: bool
    encoding: Mapping[str, Any]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class _Channel:
    field: str
    kind: Kind
    title: str
    aggregate: str | None
    sort: object
    from_zero: bool
    stack: object

    def key(self, row: Row) -> Key | None:
        """Return the category of a row, None if its value names none."""
        value = row.get(self.field)
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else _number(value)

    def number(self, row: Row) -> float | None:
        """Return the number of a row, None if it has none: then it is left out, as in Vega-Lite."""
        return 1.0 if self.aggregate == "count" else _number(row.get(self.field))

    def sorted(self, keys: Iterable[Key]) -> list[Key]:
        """Return the distinct keys in the order of Vega-Lite: ascending by default, or as in `sort`."""
        distinct = list(dict.fromkeys(keys))
        if self.sort is None:
            return distinct
        if isinstance(self.sort, list):
            named = [_key_name(value) for value in self.sort if value is not None]
            rank = {name: i for i, name in reversed([*enumerate(named)])}
            return sorted(distinct, key=lambda key: rank.get(_key_name(key), len(rank)))
        order = _by_time if self.kind == "temporal" else _natural
        return sorted(distinct, key=order, reverse=self.sort == "descending")

    def names(self, keys: Sequence[Key]) -> tuple[str, ...]:
        """Return the names of keys: of moments those of timestamps.py, or months where each is the first of one."""
        if self.kind != "temporal":
            return tuple(map(_key_name, keys))
        times = [seconds_of(key) for key in keys]
        names = [_key_name(key) if time is None else name_of(key, time) for key, time in zip(keys, times, strict=True)]
        monthly = len(names) > 1 and all(map(_FIRST_OF_MONTH.fullmatch, names))
        return tuple(name[:7] if monthly else name for name in names)

    @property
    def by_value(self) -> bool:
        """Tell whether the categories are in the order of their values."""
        return self.sort in BY_VALUE if isinstance(self.sort, str) else False


def read_chart(payload: object) -> content.Chart:
    """Return the chart that `payload` describes.

    Raises:
        CannotShow: It has a part that chart_profile.py does not list, or parts that do not fit together.
    """
    if not isinstance(payload, Mapping):
        raise CannotShow("the specification is not an object")
    if wrong := fault(SHAPES, "chart", payload):
        raise CannotShow(wrong)
    units = _units(payload)
    charts = [unit for unit in units if unit.mark != "rule"]
    if not charts:
        raise CannotShow("mark is missing")
    rules = tuple(rule for unit in units if unit.mark == "rule" for rule in _rules(unit, charts[0]))
    if len(rules) > CHART_SERIES:
        raise CannotShow(f"{len(rules)} rules are too many; at most {CHART_SERIES} are drawn")
    if all(unit.mark in ("line", "area", "point") for unit in charts):
        return _plot(charts, rules)
    if charts[0].mark == "bar" and all(unit.mark in _DRAWN_OVER_BARS for unit in charts[1:]):
        return _bars(charts[0], charts[1:], rules)
    if len(units) > 1:
        raise CannotShow("these layers are not drawn together")
    return _pie(charts[0]) if charts[0].mark == "arc" else _heat(charts[0])


def chart_title(payload: object) -> str | None:
    """Return the title inside the specification, None if it has none or not as text."""
    title = payload.get("title") if isinstance(payload, Mapping) else None
    title = title.get("text") if isinstance(title, Mapping) else title
    return title if isinstance(title, str) else None


def _units(spec: Mapping[str, Any]) -> list[_Unit]:
    layers = spec.get("layer")
    if layers is not None and "mark" in spec:
        raise CannotShow("mark beside layer is not drawn")
    units = []
    for layer in [spec] if layers is None else layers:
        mark = layer.get("mark")
        if mark is None:
            raise CannotShow("mark is missing")
        name = mark["type"] if isinstance(mark, Mapping) else mark
        hole = isinstance(mark, Mapping) and bool(_number(mark.get("innerRadius")))
        encoding = {**spec.get("encoding", {}), **layer.get("encoding", {})}
        units.append(_Unit(MARKS[name], hole, encoding, _rows(spec, layer.get("data", spec.get("data")))))
    return units


def _rows(spec: Mapping[str, Any], data: Mapping[str, Any] | None) -> Sequence[Row]:
    if data is None:
        raise CannotShow("data is missing")
    values = data.get("values")
    if values is None:
        values = spec.get("datasets", {}).get(data.get("name", ""))
    if values is None:
        raise CannotShow("data.values is missing")
    return cast("Sequence[Row]", values)


def _channel(unit: _Unit, name: str) -> _Channel:
    channel = unit.encoding.get(name)
    if channel is None:
        raise CannotShow(f"encoding.{name} is missing")
    aggregate, field = channel.get("aggregate"), channel.get("field")
    if aggregate == "count":
        field = ""
    elif field is None:
        raise CannotShow(f"encoding.{name} names no field")
    kind = channel.get("type", "quantitative" if aggregate else _guess(row.get(field) for row in unit.rows))
    return _Channel(
        field=field,
        kind=kind,
        title=_title(channel, _default_title(field, aggregate)),
        aggregate=aggregate,
        sort=channel.get("sort", "ascending"),
        from_zero=(channel.get("scale") or {}).get("zero") is not False,
        stack=channel.get("stack", "zero"),
    )


def _title(channel: Mapping[str, Any], default: str) -> str:
    """Return the title of a channel or of its axis or legend, which can be none at all."""
    guide = channel.get("axis") or channel.get("legend") or {}
    title = channel.get("title", guide.get("title", default))
    return title or ""


def _default_title(field: str, aggregate: str | None) -> str:
    if aggregate is None:
        return field
    return "Count" if aggregate == "count" else f"{aggregate.capitalize()} of {field}"


def _guess(values: Iterable[object]) -> Kind:
    present = [value for value in values if value is not None]
    return "quantitative" if present and all(map(is_number, present)) else "nominal"


def _color(unit: _Unit) -> _Channel | str | None:
    """Return the channel of colours, the name of the only series, or None."""
    color = unit.encoding.get("color")
    if color is None or not {"field", "aggregate", "datum"} & color.keys():
        return None
    if "datum" in color:
        return _key_name(color["datum"])
    channel = _channel(unit, "color")
    if channel.aggregate or channel.kind == "quantitative":
        raise CannotShow("a colour scale is drawn only in a grid")
    return channel


def _number(value: object) -> float | None:
    if not is_number(value):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return value if abs(number) < 1e300 else None


def _natural(key: Key) -> tuple[int, Any]:
    return (1, key) if isinstance(key, str) else (0, key)


def _by_time(key: Key) -> tuple[int, Any]:
    time = seconds_of(key)
    return (1 + _natural(key)[0], key) if time is None else (0, time)


def _key_name(value: object) -> str:
    """Return the name of a category, or the text of a value that stands for one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not is_number(value):
        return str(value)
    return as_sent(value) if isinstance(value, int) or value.is_integer() else quantity(value)


def _cells(unit: _Unit, category: _Channel, value: _Channel, color: _Channel | None) -> Cells:
    """Return one number for each category and colour; without an aggregate, the bars of one place are added up."""
    found: dict[tuple[Key, Key | None], list[float]] = {}
    for row in unit.rows:
        key, name, number = category.key(row), color.key(row) if color else None, value.number(row)
        if key is not None and number is not None and (color is None or name is not None):
            found.setdefault((key, name), []).append(number)
    if not found:
        raise CannotShow("the chart has no data")
    return {place: float(_COMBINED[value.aggregate](numbers)) for place, numbers in found.items()}


def _series(cells: Cells, keys: Sequence[Key], color: _Channel | str | None) -> tuple[content.CategorySeries, ...]:
    if not isinstance(color, _Channel):
        return (content.CategorySeries(color, tuple(cells.get((key, None)) for key in keys)),)
    names = color.sorted(name for _, name in cells if name is not None)
    if len(names) > CHART_SERIES:
        raise CannotShow(f"{len(names):,} series are too many; at most {CHART_SERIES} are drawn")
    return tuple(
        content.CategorySeries(words, tuple(cells.get((key, name)) for key in keys))
        for name, words in zip(names, color.names(names), strict=True)
    )


# ---- bars ----


def _bars(unit: _Unit, over: Sequence[_Unit], rules: tuple[Rule, ...]) -> content.Bars:
    x, y, color = _channel(unit, "x"), _channel(unit, "y"), _color(unit)
    horizontal = x.kind == "quantitative" and y.kind != "quantitative"
    category, value = (y, x) if horizontal else (x, y)
    if value.kind != "quantitative" or category.aggregate:
        raise CannotShow("a bar chart needs one axis of numbers")
    offset = _offset(unit, "yOffset" if horizontal else "xOffset")
    if offset and isinstance(color, _Channel) and color.field not in (offset.field, category.field):
        raise CannotShow("an offset and a colour of different fields are not drawn")
    color = offset or color
    if isinstance(color, _Channel) and color.field == category.field:
        color = None
    cells = _cells(unit, category, value, color if isinstance(color, _Channel) else None)
    keys = category.sorted(key for key, _ in cells)
    if category.by_value:
        heights = dict.fromkeys(keys, 0.0)
        for (key, _), number in cells.items():
            heights[key] += number
        keys.sort(key=heights.__getitem__, reverse=str(category.sort).startswith("-"))
    shown = keys[:CATEGORIES]
    series = _series(cells, shown, color)
    if len(series) > 1 and not offset and value.stack in (None, False):
        raise CannotShow("bars that hide each other are not drawn")
    if any(rule.axis != ("x" if horizontal else "y") for rule in rules) or (over and horizontal):
        raise CannotShow("these layers are not drawn together")
    return content.Bars(
        categories=category.names(shown),
        series=series,
        category_title=category.title,
        value_title=value.title,
        horizontal=horizontal,
        grouped=offset is not None,
        lines=tuple(line for one in over for line in _line_over_bars(one, category, shown)),
        rules=tuple(replace(rule, axis="y") for rule in rules),
        total_categories=len(keys),
    )


def _offset(unit: _Unit, name: str) -> _Channel | None:
    return _channel(unit, name) if name in unit.encoding else None


def _line_over_bars(unit: _Unit, category: _Channel, keys: Sequence[Key]) -> tuple[content.CategorySeries, ...]:
    x, y, color = _channel(unit, "x"), _channel(unit, "y"), _color(unit)
    if x.field != category.field or y.kind != "quantitative":
        raise CannotShow("these layers are not drawn together")
    cells = _cells(unit, x, y, color if isinstance(color, _Channel) else None)
    return tuple(line if line.name is not None else replace(line, name=y.title) for line in _series(cells, keys, color))


# ---- lines, areas, points ----


@dataclass(frozen=True, slots=True)
class _Layer:
    """The points of one unit before they have a place on the x axis."""

    mark: content.Mark
    y: _Channel
    color: _Channel | str | None
    points: Sequence[tuple[Key, Key | None, float]]


def _plot(units: Sequence[_Unit], rules: tuple[Rule, ...]) -> content.Plot:
    x = _channel(units[0], "x")
    layers = [_layer(unit, x) for unit in units]
    position, labels = _positions(x, [key for layer in layers for key, _, _ in layer.points])
    if x.kind not in ("quantitative", "temporal") and any(rule.axis == "x" for rule in rules):
        raise CannotShow("a rule across names is not drawn")
    series: list[content.Series] = []
    for layer in layers:
        known = {(one.name, one.points) for one in series}
        found = _lines(layer, position, len(layers) > 1)
        series += [one for one in found if one.mark != "point" or (one.name, one.points) not in known]
    if not series:
        raise CannotShow("the chart has no data")
    if len(series) > CHART_SERIES:
        raise CannotShow(f"{len(series):,} series are too many; at most {CHART_SERIES} are drawn")
    areas = [layer for layer in layers if layer.mark == "area"]
    return content.Plot(
        series=tuple(series),
        x_labels=labels,
        x_title=x.title,
        y_title=", ".join(dict.fromkeys(layer.y.title for layer in layers if layer.y.title)),
        from_zero=any(layer.y.from_zero for layer in layers),
        stacked=len(areas) == 1 and isinstance(areas[0].color, _Channel) and areas[0].y.stack not in (None, False),
        rules=rules,
        temporal=x.kind == "temporal",
    )


def _layer(unit: _Unit, shared: _Channel) -> _Layer:
    x, y, color = _channel(unit, "x"), _channel(unit, "y"), _color(unit)
    if y.kind != "quantitative" or x.aggregate or x.by_value:
        raise CannotShow("a line, area or point chart needs numbers on its y axis")
    if x.kind != shared.kind:
        raise CannotShow("these layers are not drawn together")
    by_color = color if isinstance(color, _Channel) else None
    mark = cast("content.Mark", unit.mark)
    if y.aggregate or mark == "area":
        cells = _cells(unit, x, y, by_color)
        return _Layer(mark, y, color, [(key, name, number) for (key, name), number in cells.items()])
    points = []
    for row in unit.rows:
        key, name, number = x.key(row), by_color.key(row) if by_color else None, y.number(row)
        if key is not None and number is not None and (by_color is None or name is not None):
            points.append((key, name, number))
    return _Layer(mark, y, color, points)


def _lines(layer: _Layer, position: Mapping[Key, float], several: bool) -> list[content.Series]:
    points: dict[Key | None, list[tuple[float, float]]] = {}
    for key, name, number in layer.points:
        if key in position:
            points.setdefault(name, []).append((position[key], number))
    color = layer.color
    if isinstance(color, _Channel):
        names = color.sorted(name for name in points if name is not None)
        return [
            content.Series(words, tuple(sorted(points[name])), layer.mark)
            for name, words in zip(names, color.names(names), strict=True)
        ]
    only = color if isinstance(color, str) else layer.y.title if several else None
    return [content.Series(only, tuple(sorted(line)), layer.mark) for line in points.values()]


def _positions(x: _Channel, keys: Sequence[Key]) -> tuple[dict[Key, float], tuple[tuple[float, str], ...]]:
    """Return the position of each value on the x axis, and the positions that have a name (none for plain numbers)."""
    if x.kind == "quantitative":
        return {key: key for key in keys if not isinstance(key, str)}, ()
    if x.kind == "temporal":
        times = {key: time for key in keys if (time := seconds_of(key)) is not None}
        written = dict(sorted({time: key for key, time in times.items()}.items()))
        return times, tuple(zip(written, x.names([*written.values()]), strict=True))
    places = {key: float(i) for i, key in enumerate(x.sorted(keys))}
    return places, tuple(zip(places.values(), x.names([*places]), strict=True))


# ---- rules, circles, grids ----


def _rules(unit: _Unit, chart: _Unit) -> list[Rule]:
    """Return the lines that a unit draws across the chart, which has the other axis or both."""
    own = [name for name in ("x", "y") if name in unit.encoding and unit.encoding[name] != chart.encoding.get(name)]
    if len(own) != 1:
        raise CannotShow("a rule needs one place, on x or on y")
    axis: Literal["x", "y"] = "x" if own[0] == "x" else "y"
    temporal = axis == "x" and _channel(chart, "x").kind == "temporal"
    place_of = seconds_of if temporal else _number
    encoding = unit.encoding[axis]
    label, channel = encoding.get("title"), None
    if "datum" in encoding:
        written: list[object] = [encoding["datum"]]
    else:
        channel = _channel(unit, axis)
        written = [row.get(channel.field) for row in unit.rows]
    places = [(place, value) for value in written if (place := place_of(value)) is not None]
    if channel and channel.aggregate == "count":
        places = [(float(len(unit.rows)), None)]
    elif channel and channel.aggregate and places:
        places = [(float(_COMBINED[channel.aggregate]([place for place, _ in places])), None)]
    if not places:
        raise CannotShow("a rule needs a number or a time")
    label = channel.title or None if channel and channel.aggregate else label
    return [Rule(axis, at, label, name_of(value, at) if temporal else None) for at, value in dict(places).items()]


def _pie(unit: _Unit) -> content.Pie:
    value, color = _channel(unit, "theta"), _color(unit)
    if {"x", "y"} & unit.encoding.keys() or value.kind != "quantitative" or not isinstance(color, _Channel):
        raise CannotShow("a circle needs numbers in theta and names in color, and nothing else")
    cells = _cells(unit, color, value, None)
    (series,) = _series(cells, keys := color.sorted(key for key, _ in cells), None)
    values = [number or 0.0 for number in series.values]
    if min(values) < 0 or not total(values):
        raise CannotShow("a circle needs values above zero")
    if len(keys) > CHART_SERIES:
        raise CannotShow(f"{len(keys):,} slices are too many; at most {CHART_SERIES} are drawn")
    return content.Pie(tuple(zip(color.names(keys), values, strict=True)), color.title, value.title, unit.hole)


def _heat(unit: _Unit) -> content.Heat:
    x, y = _channel(unit, "x"), _channel(unit, "y")
    value = _channel(unit, "color")
    if "quantitative" in (x.kind, y.kind) or x.aggregate or y.aggregate or value.kind != "quantitative":
        raise CannotShow("a grid needs names on both axes and numbers in color")
    cells = _cells(unit, x, value, y)
    columns, rows = x.sorted(key for key, _ in cells), y.sorted(name for _, name in cells if name is not None)
    if max(len(columns), len(rows)) > CATEGORIES:
        size = f"{len(columns):,} × {len(rows):,}"
        raise CannotShow(f"a grid of {size} cells is too large; at most {CATEGORIES} × {CATEGORIES} are drawn")
    return content.Heat(
        columns=x.names(columns),
        rows=y.names(rows),
        values=tuple(tuple(cells.get((column, row)) for column in columns) for row in rows),
        x_title=x.title,
        y_title=y.title,
        value_title=value.title,
    )
