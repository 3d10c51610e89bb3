"""Bar charts: bars upwards or to the right, on top of each other or side by side, with lines over them.

Where the names of the categories have no room below upright bars, the bars run to the right, each beside its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from xmcp.render.markup import Markup, element
from xmcp.render.svg.axes import (
    Bands,
    Scale,
    fit_below,
    names_below,
    names_width,
    rule_across,
    rule_down,
    values_above,
    values_left,
)
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
    width_of,
    words_at,
)
from xmcp.render.view import content
from xmcp.render.view.charts import bar_ticks
from xmcp.render.view.numerals import quantity
from xmcp.render.view.untrusted import label
from xmcp.render.view.wording import categories_missing

_HEIGHT: Final = 240
_ROW: Final = 26.0
_LOW_ROW: Final = 16.0
"""Height of a category if there are many."""
_MANY: Final = 40
_LEAST: Final = 1.5
"""A value that is not zero can be seen."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A bar from `begin` to `end` on the axis of values, in the part from `start` to `start + thick` of its band."""

    category: int
    series: int
    value: float
    begin: float
    end: float
    start: float
    thick: float


def draw_bars(bars: content.Bars) -> Drawing:
    """Return the drawing of a bar chart."""
    names = [label(name, 120) for name in bars.categories]
    ticks = bar_ticks(bars)
    named = [(nth, one.name) for nth, one in enumerate((*bars.series, *bars.lines)) if one.name is not None]
    key, top = key_of([(nth, label(name, 60), nth >= len(bars.series)) for nth, name in named])
    sideways = bars.horizontal or not fit_below(names, WIDTH - names_width(ticks))
    parts, height = (_sideways if sideways else _upright)(bars, names, ticks, top)
    if missing := categories_missing(bars):
        parts.append(faint(missing, 0, height + 8))
        height += LINE
    return [*key, *parts], height


def _upright(bars: content.Bars, names: list[str], ticks: list[float], top: float) -> Drawing:
    left = names_width(ticks)
    parts = [faint(label(bars.value_title, 60), 0, top + 8)]
    top += LINE + 6
    bottom = top + _HEIGHT
    scale, bands = Scale(ticks[0], ticks[-1], bottom, top), Bands(len(names), left, WIDTH)
    parts += values_left(ticks, scale, left, WIDTH)
    for piece in _pieces(bars):
        x, thick = bands.begin(piece.category) + piece.start * bands.size, piece.thick * bands.size
        ends = sorted((scale.at(piece.begin), scale.at(piece.end)))
        parts.append(_bar(bars, piece, (x, ends[0]), (thick, ends[1] - ends[0])))
        words = quantity(piece.value)
        if _is_written(bars) and width_of(words) <= thick + 8:
            y = ends[1] + 10 if piece.value < 0 else ends[0] - 9
            parts.append(words_at(words, x + thick / 2, y, "middle"))
    for at, one in enumerate(bars.lines, len(bars.series)):
        parts += _line(at, [(bands.middle(n), scale.at(v)) for n, v in enumerate(one.values) if v is not None])
    for rule in bars.rules:
        parts += rule_across(rule, scale.at(rule.value), left, WIDTH)
    below, height = names_below(names, bands, bottom)
    title = label(bars.category_title, 60)
    foot = [faint(title, (left + WIDTH) / 2, bottom + height + 8, "middle")] if title else []
    return [*parts, *below, *foot], bottom + height + (LINE if title else 0)


def _sideways(bars: content.Bars, names: list[str], ticks: list[float], top: float) -> Drawing:
    heads = label(bars.category_title, 60), label(bars.value_title, 60)
    left = min(max(map(width_of, (*names, heads[0])), default=0.0), WIDTH / 3)
    parts = [faint(fitted(heads[0], left), left, top + 8, "end"), faint(heads[1], left + 10, top + 8)]
    top += 2 * LINE + 2
    row = _ROW if len(names) <= _MANY else _LOW_ROW
    if bars.grouped:
        row = max(row, 11.0 * len(bars.series) + 8)
    bottom = top + row * len(names)
    room = _room_at_the_end(bars)
    low = left + 10 + (room if ticks[0] < 0 else 0)
    scale, bands = Scale(ticks[0], ticks[-1], low, WIDTH - room), Bands(len(names), top, bottom)
    parts += values_above(ticks, scale, top - 4, bottom)
    parts += [words_at(fitted(name, left), left, bands.middle(at), "end") for at, name in enumerate(names)]
    for piece in _pieces(bars):
        y, thick = bands.begin(piece.category) + piece.start * row, piece.thick * row
        begin, end = sorted((scale.at(piece.begin), scale.at(piece.end)))
        parts.append(_bar(bars, piece, (begin, y), (end - begin, thick)))
        if _is_written(bars) and thick >= 10:
            behind = (begin - 6, "end") if piece.value < 0 else (end + 6, "start")
            parts.append(words_at(quantity(piece.value), behind[0], y + thick / 2, behind[1]))
    for at, one in enumerate(bars.lines, len(bars.series)):
        parts += _line(at, [(scale.at(v), bands.middle(n)) for n, v in enumerate(one.values) if v is not None])
    for rule in bars.rules:
        parts += rule_down(rule, scale.at(rule.value), top - 4, bottom)
    return parts, bottom + 4


def _room_at_the_end(bars: content.Bars) -> float:
    """Return the room for the values behind the longest bars."""
    values = [quantity(value) for one in bars.series for value in one.values if value is not None]
    return max(map(width_of, values), default=0.0) + 10 if _is_written(bars) else 12.0


def _is_written(bars: content.Bars) -> bool:
    """Tell whether each bar has its value beside it; on top of each other they would hide it."""
    return bars.grouped or len(bars.series) == 1


def _pieces(bars: content.Bars) -> Iterator[_Piece]:
    """Yield the bars: side by side, or upwards and downwards from zero on top of each other."""
    side_by_side = len(bars.series) if bars.grouped else 1
    thick = 0.76 / side_by_side
    for category in range(len(bars.categories)):
        above = below = 0.0
        for series, one in enumerate(bars.series):
            value = one.values[category]
            if value is None:
                continue
            start = 0.12 + (series * thick if bars.grouped else 0.0)
            begin = 0.0 if bars.grouped else above if value >= 0 else below
            yield _Piece(category, series, value, begin, begin + value, start, thick * (0.92 if bars.grouped else 1))
            above, below = above + max(value, 0.0), below + min(value, 0.0)


def _bar(bars: content.Bars, piece: _Piece, at: Place, size: tuple[float, float]) -> Markup:
    name = bars.series[piece.series].name
    series = "" if name is None else f" · {label(name, 60)}"
    tip = element("title", f"{label(bars.categories[piece.category], 120)}{series}: {quantity(piece.value)}")
    width, height = (max(side, _LEAST) if piece.value else side for side in size)
    return element("rect", tip, x=at[0], y=at[1], width=width, height=height, rx=1.5, fill=color_of(piece.series))


def _line(series: int, places: list[Place]) -> list[Markup]:
    return [line_path(series, places), mark_path(series, places)] if places else []
