"""The axes of a chart: lines at the round values, and the names of categories beside their bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from xmcp.render.markup import Markup, number
from xmcp.render.svg.drawing import FONT_SIZE, LINE, WIDTH, Place, faint, fitted, stroke, width_of, words_at
from xmcp.render.view import content
from xmcp.render.view.charts import rule_label
from xmcp.render.view.numerals import quantity

_TILTED: Final = 104
"""Longest name that stands at an angle below its band."""
_LEAST_BAND: Final = 14.0
"""Width of a band that has room for a name at an angle."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Places on the screen for the values from `low` to `high`; `start` can be beyond `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Bands:
    """Places on the screen for `count` categories next to each other."""

    count: int
    start: float
    end: float

    @property
    def size(self) -> float:
        """How wide a band is."""
        return (self.end - self.start) / max(self.count, 1)

    def begin(self, at: int) -> float:
        """Return where the band of this index begins."""
        return self.start + at * self.size

    def middle(self, at: int) -> float:
        """Return the middle of a band."""
        return self.start + (at + 0.5) * self.size


def names_width(values: Sequence[float]) -> float:
    """Return the room that the names of these values need at the left of the chart."""
    return max(map(width_of, map(quantity, values))) + 10


def values_left(values: Sequence[float], scale: Scale, left: float, right: float) -> list[Markup]:
    """Return a line across the chart for each value of an upright axis, and its name at the left."""
    parts: list[Markup] = []
    for value in values:
        y = scale.at(value)
        parts.append(stroke(f"M{number(left)} {number(y)}H{number(right)}", _strength(value, values)))
        parts.append(faint(quantity(value), left - 8, y, "end"))
    return parts


def values_above(values: Sequence[float], scale: Scale, top: float, bottom: float) -> list[Markup]:
    """Return a line down the chart for each value of a level axis, and its name above; as many names as fit."""
    parts = [
        stroke(f"M{number(scale.at(value))} {number(top)}V{number(bottom)}", _strength(value, values))
        for value in values
    ]
    return parts + spaced([(scale.at(value), quantity(value)) for value in values], top - 11)


def _strength(value: float, values: Sequence[float]) -> float:
    """Return the opacity of a line: the one on which the chart stands is the strongest."""
    ground = min(max(0.0, values[0]), values[-1])
    return 0.45 if value == ground else 0.14


def spaced(places: Sequence[tuple[float, str]], y: float) -> list[Markup]:
    """Return names centred below places: every first, second, third … one, as many as fit."""
    named = [(x, fitted(name, WIDTH / 5)) for x, name in places]
    step = 1
    while True:
        chosen = [(*_span(x, name), name) for x, name in named[::step]]
        if all(before[1] + 10 <= after[0] for before, after in pairwise(chosen)):
            return [faint(name, (begin + end) / 2, y, "middle") for begin, end, name in chosen]
        step += max(1, len(named) // 200)


def _span(x: float, name: str) -> Place:
    """Return where a name below `x` begins and ends; it never leaves the picture."""
    width = width_of(name)
    begin = max(min(x - width / 2, WIDTH - width), 0.0)
    return begin, begin + width


def names_below(names: Sequence[str], bands: Bands, bottom: float) -> tuple[list[Markup], float]:
    """Return the names of categories below their bands, level or at an angle, and their height."""
    if max(map(width_of, names), default=0.0) <= bands.size - 6:
        return [words_at(name, bands.middle(at), bottom + 12, "middle") for at, name in enumerate(names)], LINE + 2
    short = [fitted(name, _TILTED) for name in names]
    parts = []
    for at, name in enumerate(short):
        x, y = bands.middle(at) + 4, bottom + 8
        parts.append(words_at(name, x, y, "end", transform=f"rotate(-40 {number(x)} {number(y)})"))
    return parts, max(map(width_of, short)) * 0.65 + FONT_SIZE


def fit_below(names: Sequence[str], room: float) -> bool:
    """Tell whether the names of categories can stand below bands that share this room, level or at an angle."""
    band = room / max(len(names), 1)
    return band >= _LEAST_BAND and max(map(width_of, names), default=0.0) <= max(band - 6, _TILTED)


def rule_across(rule: content.Rule, y: float, left: float, right: float) -> list[Markup]:
    """Return a dashed line across the chart with its words above its end."""
    line = stroke(f"M{number(left)} {number(y)}H{number(right)}", 0.8, stroke_dasharray="5 4")
    return [line, words_at(fitted(rule_label(rule), right - left), right - 2, y - 9, "end")]


def rule_down(rule: content.Rule, x: float, top: float, bottom: float) -> list[Markup]:
    """Return a dashed line down the chart with its words beside its top."""
    line = stroke(f"M{number(x)} {number(top)}V{number(bottom)}", 0.8, stroke_dasharray="5 4")
    words, turned = fitted(rule_label(rule), WIDTH / 3), x > WIDTH * 0.6
    return [line, words_at(words, x - 5 if turned else x + 5, top + 8, "end" if turned else "start")]
