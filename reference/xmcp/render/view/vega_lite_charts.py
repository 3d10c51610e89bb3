"""From a Vega-Lite specification to a bar, line, area or point chart.

Only the members in the tables below are understood; a specification with any other member, mark or encoding is refused,
so that a chart is either drawn as Vega-Lite would draw it or left to the fallback ladder. Nothing is fetched or
evaluated (spec section 3.3).
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from xmcp.render.view import content
from xmcp.render.view.content import CannotShow
from xmcp.render.view.numerals import quantity
from xmcp.render.view.payloads import is_number
from xmcp.render.view.timestamps import name_of, seconds_of

Row: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["quantitative", "temporal", "ordinal", "nominal"]

_SPEC = {"$schema", "mark", "encoding", "data", "datasets", "title", "description", "name", "width", "height"}
_CHANNELS = {"x", "y", "color", "tooltip"}
_CHANNEL = {"field", "type", "title", "aggregate", "sort", "axis", "legend", "scale", "stack", "format"}
_KINDS = {"quantitative", "temporal", "ordinal", "nominal"}
_MARKS = {"bar": "bar", "line": "line", "area": "area", "point": "point", "circle": "point", "square": "point"}
_AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": statistics.fmean,
    "average": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}
_FIRST_OF_MONTH = re.compile(r"\d{4}-\d\d(-01)?")
_BY_VALUE = ("x", "y", "-x", "-y")
_MAX_ROWS = 20_000
_MAX_LINES = 8


@dataclass(frozen=True, slots=True)
class _Channel:
    field: str
    kind: Kind
    title: str
    aggregate: str | None
    sort: object
    from_zero: bool

    def sorted(self, values: Iterable[Any]) -> list[Any]:
        """Return the distinct values in the order of Vega-Lite: ascending by default, or as in `sort`."""
        distinct = list(dict.fromkeys(values))
        if self.sort is None:
            return distinct
        if isinstance(self.sort, list):
            rank = {str(value): i for i, value in enumerate(self.sort)}
            return sorted(distinct, key=lambda value: rank.get(str(value), len(rank)))
        return sorted(distinct, key=_natural, reverse=self.sort == "descending")


def read_chart(payload: object) -> content.Bars | content.Plot:
    """Return the chart that `payload` describes.

    Raises:
        CannotShow: It is not a bar, line, area or point chart with its data inside, two axes and at most one colour.
    """
    spec = _object(payload, "the specification")
    _only(spec, _SPEC, "")
    mark = _mark(spec.get("mark"))
    encoding = _object(spec.get("encoding"), "encoding")
    _only(encoding, _CHANNELS, "encoding.")
    rows = _rows(spec)
    x, y = (_channel(encoding.get(name), name, rows) for name in ("x", "y"))
    color = _color(encoding.get("color"), rows)
    if mark == "bar":
        return _bars(rows, x, y, color)
    return _plot(rows, x, y, color, cast("Literal['line', 'area', 'point']", mark))


def chart_title(payload: object) -> str | None:
    """Return the title inside the specification, None if it has none or not as text."""
    title = payload.get("title") if isinstance(payload, Mapping) else None
    title = title.get("text") if isinstance(title, Mapping) else title
    return title if isinstance(title, str) else None


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise CannotShow(f"{what} is not an object")
    return value


def _only(value: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = next((key for key in value if key not in known), None)
    if unknown is not None:
        raise CannotShow(f"{where}{unknown} is not drawn in a terminal")


def _mark(mark: object) -> str:
    name = mark.get("type") if isinstance(mark, Mapping) else mark
    if not isinstance(name, str) or name not in _MARKS:
        raise CannotShow("this mark is not drawn in a terminal")
    return _MARKS[name]


def _rows(spec: Mapping[str, Any]) -> list[Row]:
    data = _object(spec.get("data"), "data")
    _only(data, {"values", "name"}, "data.")
    values = data.get("values")
    if values is None:
        values = _object(spec.get("datasets", {}), "datasets").get(data.get("name", ""))
    if not isinstance(values, list) or not all(isinstance(row, Mapping) for row in values):
        raise CannotShow("data.values is not a list of objects")
    if len(values) > _MAX_ROWS:
        raise CannotShow(f"{len(values)} data rows are too many for a terminal")
    return values


def _channel(value: object, name: str, rows: Sequence[Row]) -> _Channel:
    channel = _object(value, f"encoding.{name}")
    _only(channel, _CHANNEL, f"encoding.{name}.")
    aggregate, field = channel.get("aggregate"), channel.get("field")
    if aggregate not in (None, "count", *_AGGREGATES):
        raise CannotShow(f"encoding.{name}.aggregate is not drawn in a terminal")
    if aggregate == "count":
        field = ""
    elif not isinstance(field, str):
        raise CannotShow(f"encoding.{name} names no field")
    kind = channel.get("type", "quantitative" if aggregate else _guess(row.get(field) for row in rows))
    if kind not in _KINDS:
        raise CannotShow(f"encoding.{name}.type is not drawn in a terminal")
    scale, title = channel.get("scale"), channel.get("title")
    return _Channel(
        field=field,
        kind=cast("Kind", kind),
        title=title if isinstance(title, str) else _default_title(field, aggregate),
        aggregate=aggregate,
        sort=_sort(channel.get("sort", "ascending"), name),
        from_zero=not (isinstance(scale, Mapping) and scale.get("zero") is False),
    )


def _sort(sort: object, name: str) -> object:
    if sort is None or sort in ("ascending", "descending") or isinstance(sort, list):
        return sort
    if sort in _BY_VALUE:
        return sort
    raise CannotShow(f"encoding.{name}.sort is not drawn in a terminal")


def _by_value(channel: _Channel) -> bool:
    return isinstance(channel.sort, str) and channel.sort in _BY_VALUE


def _default_title(field: str, aggregate: str | None) -> str:
    if aggregate is None:
        return field
    return "Count" if aggregate == "count" else f"{aggregate.capitalize()} of {field}"


def _guess(values: Iterable[object]) -> Kind:
    present = [value for value in values if value is not None]
    return "quantitative" if present and all(map(is_number, present)) else "nominal"


def _color(value: object, rows: Sequence[Row]) -> _Channel | None:
    if value is None or (isinstance(value, Mapping) and set(value) <= {"value", "legend"}):
        return None
    color = _channel(value, "color", rows)
    if color.aggregate or color.kind == "quantitative":
        raise CannotShow("a colour scale is not drawn in a terminal")
    return color


def _number(value: object) -> float | None:
    """Return a finite number, else None. A row without one is left out, as in Vega-Lite."""
    if not is_number(value):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) < 1e300 else None


def _natural(value: object) -> tuple[int, Any]:
    return (0, value) if is_number(value) else (1, str(value))


def _name(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return quantity(value) if isinstance(value, float) else str(value)


def _scalar(value: object) -> bool:
    return isinstance(value, (str, int, float, bool)) and (not isinstance(value, float) or math.isfinite(value))


def _bars(rows: Sequence[Row], x: _Channel, y: _Channel, color: _Channel | None) -> content.Bars:
    category, value = (y, x) if x.kind == "quantitative" and y.kind != "quantitative" else (x, y)
    if value.kind != "quantitative" or category.aggregate:
        raise CannotShow("a bar chart needs one axis of numbers")
    cells = _cells(rows, category, value, color)
    if not cells:
        raise CannotShow("the chart has no data")
    categories = category.sorted(key for key, _ in cells)
    names = color.sorted(name for _, name in cells) if color else [None]
    if _by_value(category):
        total = {key: math.fsum(cells.get((key, name), 0.0) for name in names) for key in categories}
        categories.sort(key=total.__getitem__, reverse=str(category.sort).startswith("-"))
    if color and color.field == category.field:
        cells, names = {(key, None): number for (key, _), number in cells.items()}, [None]
    return content.Bars(
        categories=tuple(map(_name, categories)),
        series=tuple(
            (None if name is None else _name(name), tuple(cells.get((key, name)) for key in categories))
            for name in names
        ),
        category_title=category.title,
        value_title=value.title,
    )


def _cells(
    rows: Sequence[Row], category: _Channel, value: _Channel, color: _Channel | None
) -> dict[tuple[Any, Any], float]:
    """Return one number for each category and colour; without an aggregate, the bars of one place are added up."""
    found: dict[tuple[Any, Any], list[float]] = {}
    for row in rows:
        key = row.get(category.field)
        name = row.get(color.field) if color else None
        number = 1.0 if value.aggregate == "count" else _number(row.get(value.field))
        if number is not None and _scalar(key) and (color is None or _scalar(name)):
            found.setdefault((key, name), []).append(number)
    return {place: _combined(numbers, value.aggregate) for place, numbers in found.items()}


def _combined(numbers: Sequence[float], aggregate: str | None) -> float:
    return _AGGREGATES.get(aggregate or "sum", math.fsum)(numbers)


def _plot(
    rows: Sequence[Row], x: _Channel, y: _Channel, color: _Channel | None, mark: Literal["line", "area", "point"]
) -> content.Plot:
    if y.kind != "quantitative" or x.aggregate or _by_value(x):
        raise CannotShow("a line, area or point chart needs numbers on its y axis")
    if y.aggregate or mark == "area":
        points = [(key, name, number) for (key, name), number in _cells(rows, x, y, color).items()]
    else:
        points = [
            (row.get(x.field), row.get(color.field) if color else None, number)
            for row in rows
            if (number := _number(row.get(y.field))) is not None and _scalar(row.get(x.field))
        ]
    position, labels = _positions(x, [key for key, _, _ in points])
    placed = [(position[key], name, number) for key, name, number in points if key in position and _named(name, color)]
    if not placed:
        raise CannotShow("the chart has no data")
    names = color.sorted(name for _, name, _ in placed) if color else [None]
    if len(names) > _MAX_LINES:
        raise CannotShow(f"{len(names)} series are too many for a terminal")
    return content.Plot(
        mark=mark,
        series=tuple(
            content.Series(
                None if name is None else _name(name),
                tuple(sorted((at, number) for at, series, number in placed if series == name)),
            )
            for name in names
        ),
        x_labels=labels,
        x_title=x.title,
        y_title=y.title,
        from_zero=y.from_zero,
    )


def _named(name: object, color: _Channel | None) -> bool:
    return color is None or _scalar(name)


def _positions(x: _Channel, keys: Sequence[Any]) -> tuple[dict[Any, float], tuple[tuple[float, str], ...]]:
    """Return the position of each value on the x axis, and the positions that have a name (none for plain numbers)."""
    if x.kind == "quantitative":
        return {key: number for key in keys if (number := _number(key)) is not None}, ()
    if x.kind == "temporal":
        times = {key: time for key in keys if (time := seconds_of(key)) is not None}
        names = sorted((time, name_of(key, time)) for key, time in times.items())
        if len(names) > 1 and all(_FIRST_OF_MONTH.fullmatch(name) for _, name in names):
            names = [(time, name[:7]) for time, name in names]
        return times, tuple(names)
    places = {key: float(i) for i, key in enumerate(x.sorted(keys))}
    return places, tuple((place, _name(key)) for key, place in places.items())
