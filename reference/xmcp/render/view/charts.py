"""What a chart shows: which bars and how many, the ticks and scale of each axis, the places on the x axis with a name.

Pure functions over the charts of content.py. Pixels, cells and colours are the renderer's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from xmcp.render.view import content
from xmcp.render.view.numerals import quantity, tenths, ticks, total
from xmcp.render.view.untrusted import label

MAX_BARS: Final = 60
_TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `category` is empty where it is that of the bar above; `series` counts from 0."""

    category: str
    name: str | None
    series: int
    value: float


def bars_of(bars: content.Bars) -> tuple[list[Bar], int]:
    """Return the first `MAX_BARS` bars in drawing order, category by category, and how many are left out."""
    found: list[Bar] = []
    for at, category in enumerate(bars.categories):
        present = [(nth, one) for nth, one in enumerate((*bars.series, *bars.lines)) if one.values[at] is not None]
        found += [
            Bar(category if first == 0 else "", one.name, nth, one.values[at] or 0.0)
            for first, (nth, one) in enumerate(present)
        ]
    return found[:MAX_BARS], max(len(found) - MAX_BARS, 0)


def bars_of_pie(pie: content.Pie) -> content.Bars:
    """Return the slices as bars, for a renderer that draws no circles."""
    return content.Bars(
        categories=tuple(name for name, _ in pie.slices),
        series=(content.CategorySeries(None, tuple(value for _, value in pie.slices)),),
        category_title=pie.category_title,
        value_title=pie.value_title,
        total_categories=len(pie.slices),
    )


def shares_of(pie: content.Pie) -> list[str]:
    """Return the share of each slice in percent."""
    whole = total(value for _, value in pie.slices)
    return [f"{quantity(tenths(value / whole * 100))} %" for _, value in pie.slices]


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `low` to `high`."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return how far `value` lies from the low end, from 0 to 1."""
        span = self.high - self.low
        return min(max((value - self.low) / span, 0.0), 1.0) if span else 0.5


def y_ticks(plot: content.Plot, stacked: bool = False) -> list[float]:
    """Return the round values on the y axis; the axis goes from the first to the last.

    Args:
        plot: What is drawn.
        stacked: Whether the renderer draws the areas on top of each other, if the plot asks for it.
    """
    values = [y for series in plot.series for _, y in series.points]
    if stacked and plot.stacked:
        totals: dict[float, float] = {}
        for series in plot.series:
            for x, y in series.points if series.mark == "area" else ():
                totals[x] = totals.get(x, 0.0) + y
        values += totals.values()
    values += [rule.value for rule in plot.rules if rule.axis == "y"]
    if plot.from_zero or any(series.mark == "area" for series in plot.series):
        values.append(0.0)
    return ticks(min(values), max(values), _TICKS)


def bar_ticks(bars: content.Bars) -> list[float]:
    """Return the round values on the axis of values; the axis goes from the first to the last, and has zero on it."""
    heaps = [_heaps(bars, at) for at in range(len(bars.categories))]
    values = [0.0, *(rule.value for rule in bars.rules), *(value for heap in heaps for value in heap)]
    values += [value for line in bars.lines for value in line.values if value is not None]
    return ticks(min(values), max(values), _TICKS)


def _heaps(bars: content.Bars, at: int) -> Iterable[float]:
    """Return how far the bars of a category reach: below and above zero together, or each alone."""
    values = [value for one in bars.series if (value := one.values[at]) is not None]
    return values if bars.grouped else (total(v for v in values if v < 0), total(v for v in values if v > 0))


def x_axis(plot: content.Plot) -> tuple[Axis, list[tuple[float, str]]]:
    """Return the x axis and the places on it that have a name."""
    values = [x for series in plot.series for x, _ in series.points]
    values += [rule.value for rule in plot.rules if rule.axis == "x"]
    if plot.x_labels:
        return Axis(min(values), max(values)), [(x, label(name, 24)) for x, name in plot.x_labels]
    steps = ticks(min(values), max(values), _TICKS)
    return Axis(steps[0], steps[-1]), [(x, quantity(x)) for x in steps]


def is_scatter(plot: content.Plot) -> bool:
    """Tell whether a plot has nothing but points."""
    return all(series.mark == "point" for series in plot.series)


def series_label(series: content.Series) -> str:
    """Return the name of a series, followed by its last value if it is a line or an area."""
    last = "" if series.mark == "point" else quantity(series.points[-1][1])
    return " ".join(filter(None, (label(series.name or "", 40), last)))


def rule_label(rule: content.Rule) -> str:
    """Return the words of a rule: what it marks and its value."""
    value = quantity(rule.value) if rule.moment is None else rule.moment
    return " ".join(filter(None, (label(rule.label or "", 40), value)))


def chart_table(chart: content.Chart) -> content.Table:
    """Return the numbers of a chart as a table, for everyone who cannot see it."""
    if isinstance(chart, content.Bars):
        series = (*chart.series, *chart.lines)
        return _table(
            chart.category_title,
            [one.name or chart.value_title for one in series],
            [(name, *(one.values[at] for one in series)) for at, name in enumerate(chart.categories)],
        )
    if isinstance(chart, content.Plot):
        names = dict(chart.x_labels)
        places: dict[float, list[list[float]]] = {}
        for nth, one in enumerate(chart.series):
            for x, y in one.points:
                places.setdefault(x, [[] for _ in chart.series])[nth].append(y)
        # A place has as many rows as its series with the most points there.
        rows = [(x, values) for x, columns in sorted(places.items()) for values in zip_longest(*columns)]
        return _table(
            chart.x_title,
            [one.name or chart.y_title for one in chart.series],
            [(names.get(x, x), *values) for x, values in rows],
        )
    if isinstance(chart, content.Pie):
        shares = shares_of(chart)
        rows_of_pie = [(name, value, share) for (name, value), share in zip(chart.slices, shares, strict=True)]
        return _table(chart.category_title, [chart.value_title, "%"], rows_of_pie)
    rows_of_heat = [(name, *values) for name, values in zip(chart.rows, chart.values, strict=True)]
    return _table(chart.y_title, chart.columns, rows_of_heat)


def _table(first: str, others: Sequence[str], rows: Sequence[tuple[object, ...]]) -> content.Table:
    columns = [content.Column(first, "left", header=True)]
    columns += [content.Column(title, "right", grouped=True) for title in others]
    return content.Table(tuple(columns), tuple(rows))
