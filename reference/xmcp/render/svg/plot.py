"""Charts of lines, areas and points: the y axis at the left, the x axis below, names where lines end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from xmcp.render.markup import Markup, element, number
from xmcp.render.svg.axes import Scale, names_width, rule_across, rule_down, spaced, values_left
from xmcp.render.svg.drawing import (
    LINE,
    WIDTH,
    Drawing,
    Place,
    color_of,
    faint,
    fitted,
    key_of,
    line_path,
    mark_path,
    stroke,
    through,
    width_of,
    words_at,
)
from xmcp.render.view import content
from xmcp.render.view.charts import is_scatter, series_label, x_axis, y_ticks
from xmcp.render.view.untrusted import label

_HEIGHT: Final = 240
_FEW: Final = 30
"""A line of at most so many points shows each of them."""
_BAND: Final = 16
"""Between the names at the ends of two lines."""


def draw_plot(plot: content.Plot) -> Drawing:
    """Return the drawing of a chart of lines, areas and points."""
    names = [(nth, series_label(series)) for nth, series in enumerate(plot.series) if series.name is not None]
    at_end = not is_scatter(plot) and len(names) * _BAND <= _HEIGHT and not plot.stacked
    key, top = key_of([] if at_end else [(nth, name, _is_mark(plot, nth)) for nth, name in names])
    ends = [(nth, fitted(name, WIDTH / 4)) for nth, name in names] if at_end else []
    ticks = y_ticks(plot, stacked=True)
    left = names_width(ticks)
    right = WIDTH - (max(width_of(name) for _, name in ends) + 22 if ends else 12)
    parts = [*key, faint(label(plot.y_title, 60), 0, top + 8)]
    top += LINE + 8
    bottom = top + _HEIGHT
    across, places = x_axis(plot)
    x_scale, y_scale = Scale(across.low, across.high, left, right), Scale(ticks[0], ticks[-1], bottom, top)
    if across.low == across.high:  # one place: in the middle
        x_scale = Scale(across.low - 1, across.high + 1, left, right)

    parts += values_left(ticks, y_scale, left, right)
    parts += _x_axis([(x_scale.at(x), name) for x, name in places], bottom)
    grounds: dict[float, float] = {}
    last: dict[int, float] = {}
    for nth, series in enumerate(plot.series):
        grounded = plot.stacked and series.mark == "area"
        points = [(x, grounds.get(x, 0.0) if grounded else 0.0, y) for x, y in series.points]
        drawn = [(x_scale.at(x), y_scale.at(ground + y)) for x, ground, y in points]
        floor = [(x_scale.at(x), y_scale.at(ground)) for x, ground, _ in points]
        grounds |= {x: ground + y for x, ground, y in points} if grounded else {}
        last[nth] = drawn[-1][1]
        parts += _series(plot, nth, drawn, floor)
    for rule in plot.rules:
        if rule.axis == "y":
            parts += rule_across(rule, y_scale.at(rule.value), left, right)
        else:
            parts += rule_down(rule, x_scale.at(rule.value), top, bottom)
    parts += _ends(ends, last, right, (top, bottom))
    height = bottom + LINE + 4
    if title := label(plot.x_title, 60):
        parts.append(faint(title, (left + right) / 2, height + 6, "middle"))
        height += LINE
    return parts, height


def _is_mark(plot: content.Plot, nth: int) -> bool:
    return plot.series[nth].mark == "point"


def _x_axis(places: Sequence[tuple[float, str]], bottom: float) -> list[Markup]:
    names = spaced(places, bottom + 15)
    ticks = "".join(f"M{number(x)} {number(bottom)}v5" for x, _ in places) if len(places) <= _FEW else ""
    return [stroke(ticks, 0.45), *names] if ticks else names


def _series(plot: content.Plot, nth: int, drawn: Sequence[Place], floor: Sequence[Place]) -> list[Markup]:
    """Return the drawing of one series."""
    mark = plot.series[nth].mark
    if mark == "point" or len(drawn) == 1:
        return [mark_path(nth, _distinct(drawn))]
    line = _thinned(drawn)
    parts: list[Markup] = []
    if mark == "area":
        closed = f"{through(line)}L{through(_thinned(floor)[::-1])[1:]}Z"
        opacity = 0.45 if plot.stacked else 0.25 if len(plot.series) == 1 else 0.12
        parts.append(element("path", d=closed, fill=color_of(nth), fill_opacity=opacity))
    parts.append(line_path(nth, line))
    return [*parts, mark_path(nth, drawn)] if len(drawn) <= _FEW and mark == "line" else parts


def _distinct(places: Sequence[Place]) -> list[Place]:
    """Return the places without those that would be drawn over another one."""
    return list({(round(x), round(y)): (x, y) for x, y in places}.values())


def _thinned(places: Sequence[Place]) -> list[Place]:
    """Return at most four places for each unit of width: the first, the lowest, the highest and the last.

    The line looks the same, and its length in bytes does not grow with the data.
    """
    if len(places) <= 2 * WIDTH:
        return list(places)
    kept: list[Place] = []
    begin = 0
    for nth in range(1, len(places) + 1):
        if nth == len(places) or int(places[nth][0]) != int(places[begin][0]):
            column = places[begin:nth]
            heights = [y for _, y in column]
            chosen = {0, heights.index(min(heights)), heights.index(max(heights)), len(column) - 1}
            kept += [column[at] for at in sorted(chosen)]
            begin = nth
    return kept


def _ends(names: Sequence[tuple[int, str]], last: Mapping[int, float], right: float, sides: Place) -> list[Markup]:
    """Return the names of the series beside the ends of their lines."""
    parts: list[Markup] = []
    heights = spread([last[nth] for nth, _ in names], *sides)
    for (nth, name), y in zip(names, heights, strict=True):
        path = f"M{number(right + 3)} {number(last[nth])}L{number(right + 9)} {number(y)}h5"
        parts.append(element("path", d=path, fill="none", stroke=color_of(nth), stroke_width=2.5))
        parts.append(words_at(name, right + 19, y))
    return parts


def spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return a height for each name, near the wanted one, so that no two names lie on each other."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    heights = list(wanted)
    for before, nth in pairwise([-1, *order]):
        heights[nth] = max(wanted[nth], top if before < 0 else heights[before] + _BAND)
    for after, nth in pairwise([-1, *order[::-1]]):
        heights[nth] = min(heights[nth], bottom if after < 0 else heights[after] - _BAND)
    return heights
