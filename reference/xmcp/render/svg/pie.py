"""A circle cut into slices, with a key that has the value and the share of each."""

from __future__ import annotations

import math
from typing import Final

from xmcp.render.markup import Markup, element, number
from xmcp.render.svg.drawing import LINE, WIDTH, Drawing, color_of, faint, fitted, words_at
from xmcp.render.view import content
from xmcp.render.view.charts import shares_of
from xmcp.render.view.numerals import quantity
from xmcp.render.view.untrusted import label

_RADIUS: Final = 108.0
_HOLE: Final = 62.0
_MOST_NAMES: Final = 24
_GAP: Final = 40.0


def draw_pie(pie: content.Pie) -> Drawing:
    """Return the drawing of a circle."""
    lines = min(len(pie.slices), _MOST_NAMES) + 1 + (len(pie.slices) > _MOST_NAMES)
    height = max(2 * _RADIUS + 8, lines * LINE + 8)
    middle = (_RADIUS + 4, height / 2)
    whole = math.fsum(value for _, value in pie.slices)
    parts: list[Markup] = []
    begin = 0.0
    for nth, (name, value) in enumerate(pie.slices):
        end = begin + value / whole
        tip = element("title", f"{label(name, 120)}: {quantity(value)}")
        path = _slice(begin, min(end, 1.0), middle, _HOLE if pie.hole else 0.0)
        if value:
            parts.append(element("path", tip, d=path, fill=color_of(nth), stroke="Canvas", stroke_width=1.5))
        begin = end
    left = 2 * _RADIUS + _GAP
    y = (height - lines * LINE) / 2 + LINE / 2
    heading = " · ".join(filter(None, (label(pie.category_title, 40), label(pie.value_title, 40))))
    parts.append(faint(fitted(heading, WIDTH - left), left, y))
    for nth, ((name, value), share) in enumerate(zip(pie.slices, shares_of(pie), strict=True)):
        y += LINE
        if nth == _MOST_NAMES:
            parts.append(faint(f"… {len(pie.slices) - _MOST_NAMES} more", left, y))
            break
        numbers = f"{quantity(value)} · {share}"
        parts.append(element("rect", x=left, y=y - 6, width=12, height=12, rx=2, fill=color_of(nth)))
        parts.append(words_at(fitted(f"{label(name, 60)}  {numbers}", WIDTH - left - 18), left + 18, y))
    return parts, height


def _slice(begin: float, end: float, middle: tuple[float, float], hole: float) -> str:
    """Return the path of the part of the circle from `begin` to `end`, shares of the whole, clockwise from the top."""
    if end - begin > 0.9999:  # an arc cannot end where it begins
        return _slice(0.0, 0.5, middle, hole) + _slice(0.5, 1.0, middle, hole)
    large = int(end - begin > 0.5)
    outer = [_place(share, _RADIUS, middle) for share in (begin, end)]
    arc = f"M{outer[0]}A{number(_RADIUS)} {number(_RADIUS)} 0 {large} 1 {outer[1]}"
    if not hole:
        return f"{arc}L{number(middle[0])} {number(middle[1])}Z"
    inner = [_place(share, hole, middle) for share in (begin, end)]
    return f"{arc}L{inner[1]}A{number(hole)} {number(hole)} 0 {large} 0 {inner[0]}Z"


def _place(share: float, radius: float, middle: tuple[float, float]) -> str:
    angle = 2 * math.pi * share
    return f"{number(middle[0] + radius * math.sin(angle))} {number(middle[1] - radius * math.cos(angle))}"
