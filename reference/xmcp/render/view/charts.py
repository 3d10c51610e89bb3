"""What a chart shows: which bars and how many, the ticks and scale of each axis, the places on the x axis with a name.

Pure functions over `content.Bars` and `content.Plot`. Pixels, cells and colours are the renderer's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xmcp.render.view import content
from xmcp.render.view.numerals import quantity, ticks
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
    series_of = {name: i for i, (name, _) in enumerate(bars.series)}
    found: list[Bar] = []
    for at, category in enumerate(bars.categories):
        present = [(name, value) for name, values in bars.series if (value := values[at]) is not None]
        found += [
            Bar(category if nth == 0 else "", name, series_of[name], value) for nth, (name, value) in enumerate(present)
        ]
    return found[:MAX_BARS], max(len(found) - MAX_BARS, 0)


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `low` to `high`."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return how far `value` lies from the low end, from 0 to 1."""
        span = self.high - self.low
        return min(max((value - self.low) / span, 0.0), 1.0) if span else 0.5


def y_ticks(plot: content.Plot) -> list[float]:
    """Return the round values on the y axis; the axis goes from the first to the last."""
    values = [y for series in plot.series for _, y in series.points]
    if plot.from_zero or plot.mark == "area":
        values.append(0.0)
    return ticks(min(values), max(values), _TICKS)


def x_axis(plot: content.Plot) -> tuple[Axis, list[tuple[float, str]]]:
    """Return the x axis and the places on it that have a name."""
    values = [x for series in plot.series for x, _ in series.points]
    if plot.x_labels:
        return Axis(min(values), max(values)), [(x, label(name, 24)) for x, name in plot.x_labels]
    steps = ticks(min(values), max(values), _TICKS)
    return Axis(steps[0], steps[-1]), [(x, quantity(x)) for x in steps]


def series_label(plot: content.Plot, series: content.Series) -> str:
    """Return the name of a series, followed by its last value in a line or area chart."""
    last = "" if plot.mark == "point" else quantity(series.points[-1][1])
    return " ".join(filter(None, (label(series.name or "", 40), last)))
