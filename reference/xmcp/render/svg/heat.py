"""A grid of cells, the darker the larger their value; values below zero have another colour."""

from __future__ import annotations

from typing import Final

from xmcp.render.markup import Attribute, Markup, element, number
from xmcp.render.svg.axes import Bands, names_below
from xmcp.render.svg.drawing import LINE, WIDTH, Drawing, faint, fitted, width_of, words_at
from xmcp.render.view import content
from xmcp.render.view.numerals import quantity
from xmcp.render.view.untrusted import label

_ABOVE: Final = "#3a80c8"
_BELOW: Final = "#cf6a17"
_LEVELS: Final = 8
"""Shades that a person can tell from each other."""
_FAINTEST: Final = 0.1
_DARKEST: Final = 0.75
"""How much a shade covers what is below it. Black on any of them can be read on white, and white on black."""
_ROW: Final = 26.0
_LOW_ROW: Final = 12.0
_MANY: Final = 30


def draw_heat(heat: content.Heat) -> Drawing:
    """Return the drawing of a grid."""
    names = [label(name, 80) for name in heat.rows]
    heads = label(heat.y_title, 60), label(heat.value_title, 60)
    left = min(max(map(width_of, (*names, heads[0])), default=0.0), WIDTH / 3)
    parts, top = _key(heat, heads[1])
    parts.append(faint(fitted(heads[0], left), left, top + 8, "end"))
    top += LINE
    row = _ROW if len(names) <= _MANY else _LOW_ROW
    bottom = top + row * len(names)
    across, down = Bands(len(heat.columns), left + 10, WIDTH), Bands(len(names), top, bottom)
    parts += [
        words_at(fitted(name, left), left, down.middle(at), "end")
        for at, name in enumerate(names)
        if row >= _ROW or at % 2 == 0
    ]
    parts += _cells(heat, across, down)
    titles = [label(name, 80) for name in heat.columns]
    if across.size < 14:  # no room for a name below each
        step = int(14 / across.size) + 1
        titles = [name if at % step == 0 else "" for at, name in enumerate(titles)]
    below, height = names_below(titles, across, bottom)
    parts += below
    height += bottom
    if title := label(heat.x_title, 60):
        parts.append(faint(title, (left + WIDTH) / 2, height + 8, "middle"))
        height += LINE
    return parts, height


def _extent(heat: content.Heat) -> float:
    return max((abs(value) for row in heat.values for value in row if value is not None), default=0.0) or 1.0


def _level(value: float, extent: float) -> int:
    """Return the shade of a value, from 1 to `_LEVELS`; below zero for a value below zero."""
    level = min(int(abs(value) / extent * _LEVELS) + 1, _LEVELS)
    return -level if value < 0 else level


def _shade(level: int) -> dict[str, Attribute]:
    opacity = _FAINTEST + (_DARKEST - _FAINTEST) * (abs(level) - 1) / (_LEVELS - 1)
    return {"fill": _BELOW if level < 0 else _ABOVE, "fill_opacity": opacity}


def _cells(heat: content.Heat, across: Bands, down: Bands) -> list[Markup]:
    """Return one path for the cells of each shade, and the values where there is room for them."""
    extent = _extent(heat)
    paths: dict[int, list[str]] = {}
    words: list[Markup] = []
    widest = max((width_of(quantity(v)) for row in heat.values for v in row if v is not None), default=0.0)
    written = widest + 4 <= across.size and down.size >= _ROW
    width, height = number(across.size - 1), number(down.size - 1)
    for y, row in enumerate(heat.values):
        for x, value in enumerate(row):
            if value is not None:
                start = f"M{number(across.begin(x))} {number(down.begin(y))}"
                paths.setdefault(_level(value, extent), []).append(f"{start}h{width}v{height}h-{width}z")
                if written:
                    words.append(words_at(quantity(value), across.middle(x), down.middle(y), "middle"))
    shapes = [element("path", d="".join(paths[level]), **_shade(level)) for level in sorted(paths)]
    return [*shapes, *words]


def _key(heat: content.Heat, title: str) -> Drawing:
    """Return the shades with the least and the greatest value at their ends."""
    values = [value for row in heat.values for value in row if value is not None] or [0.0]
    least, greatest = min(values), max(values)
    extent = _extent(heat)
    levels = sorted({_level(least + (greatest - least) * step / 40, extent) for step in range(41)})
    head = fitted(" ".join(filter(None, (title, quantity(least)))), WIDTH / 2)
    parts, x = [words_at(head, 0, LINE / 2)], width_of(head) + 8
    for level in levels:
        parts.append(element("rect", x=x, y=LINE / 2 - 6, width=16, height=12, **_shade(level)))
        x += 16
    return [*parts, words_at(quantity(greatest), x + 8, LINE / 2)], LINE + 8
