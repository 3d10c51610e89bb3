"""What the charts are drawn with: colours, the widths of words, marks, and the key of the series.

The colours of series have a contrast of at least 3 to 1 with white and with the dark backgrounds of browsers, notebooks
and editors; everything else is drawn in the colour of the surrounding text. So a chart needs no style sheet, and can be
read wherever it stands. Colour is never the only sign of a series.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from xmcp.render.markup import Attribute, Markup, element, joined, number

Place: TypeAlias = tuple[float, float]
Drawing: TypeAlias = tuple[list[Markup], float]
"""The parts of a drawing, and its height."""

WIDTH: Final = 560
"""Width of a chart in the units of its coordinates; the page scales it."""
FONT_SIZE: Final = 13
LINE: Final = 20
"""Height of a line of words."""
BASE: Final = 4.5
"""From the middle of a line of words down to its base line."""
FONTS: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', sans-serif"
PALETTE: Final = (
    *("#3a80c8", "#cf6a17", "#1a8f7d", "#c04f92", "#7f67cc", "#85801f"),
    *("#cc4a48", "#697f96", "#3f8f3f", "#a5722f", "#5f7ad6", "#b5567a"),
)

# One closed path for each series, drawn about the current point; all of about the same area.
_MARKS: Final = (
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",  # circle
    "m0-4.5l4.2 7.5h-8.4z",  # triangle
    "m-3.1-3.1h6.2v6.2h-6.2z",  # square
    "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",  # diamond
    "m-1.3-4.2h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z",  # plus
    "m0 4.5l4.2-7.5h-8.4z",  # triangle, upside down
    "m-4.6-1.9h9.2v3.8h-9.2z",  # bar
    "m-1.9-4.6h3.8v9.2h-3.8z",  # upright bar
)

_NARROW: Final = frozenset("iljftrI.,:;|'!()[]/ -·")
_BROAD: Final = frozenset("mwMW@%—…")


def color_of(series: int) -> str:
    """Return the colour of the series with this index."""
    return PALETTE[series % len(PALETTE)]


def width_of(words: str) -> float:
    """Return about how wide words are at `FONT_SIZE`; no font is asked, because the reader's is not known."""
    return FONT_SIZE * sum(map(_share, words))


def _share(char: str) -> float:
    if char in _NARROW:
        return 0.36
    if char in _BROAD:
        return 0.92
    if char.isascii():
        return 0.7 if char.isupper() else 0.64 if char.isdecimal() else 0.6
    if unicodedata.combining(char):
        return 0.0
    return 1.02 if unicodedata.east_asian_width(char) in "WF" else 0.64


def fitted(words: str, room: float) -> str:
    """Return `words` cut to about `room`, with an ellipsis where they were cut."""
    if width_of(words) <= room:
        return words
    kept, used = 0, FONT_SIZE * _share("…")
    for char in words:
        used += FONT_SIZE * _share(char)
        if used > room:
            break
        kept += 1
    return f"{words[:kept].rstrip()}…"


def words_at(words: str, x: float, y: float, anchor: str = "start", **attributes: Attribute) -> Markup:
    """Return words on a line whose middle is at `y`; `anchor` says which part of them is at `x`."""
    placed: dict[str, Attribute] = {"x": x, "y": y + BASE, "text_anchor": None if anchor == "start" else anchor}
    return element("text", words, **placed, **attributes)


def faint(words: str, x: float, y: float, anchor: str = "start", **attributes: Attribute) -> Markup:
    """Return words that name a part of the chart."""
    return words_at(words, x, y, anchor, fill_opacity=0.72, **attributes)


def stroke(path: str, opacity: float, **attributes: Attribute) -> Markup:
    """Return a line in the colour of the text."""
    return element("path", d=path, fill="none", stroke="currentColor", stroke_opacity=opacity, **attributes)


def mark_path(series: int, places: Sequence[Place]) -> Markup:
    """Return the marks of a series at these places: its own shape in its own colour."""
    shape = _MARKS[series % len(_MARKS)]
    path = "".join(f"M{number(x)} {number(y)}{shape}" for x, y in places)
    return element("path", d=path, fill=color_of(series), fill_opacity=0.85)


def line_path(series: int, places: Sequence[Place]) -> Markup:
    """Return a line through these places."""
    style: dict[str, Attribute] = {"stroke": color_of(series), "stroke_width": 2, "stroke_linejoin": "round"}
    return element("path", d=through(places), fill="none", stroke_linecap="round", **style)


def through(places: Sequence[Place]) -> str:
    """Return the path through these places."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in places)


def key_of(entries: Sequence[tuple[int, str, bool]]) -> Drawing:
    """Return the key of the series, in as many lines as it takes; its height is 0 if there is none.

    Args:
        entries: The index and the name of each series, and whether its sign is a mark and no square.
    """
    parts: list[Markup] = []
    x, y = 0.0, LINE / 2
    for series, name, is_mark in entries:
        shown = fitted(name, WIDTH / 2)
        room = 18 + width_of(shown)
        if x and x + room > WIDTH:
            x, y = 0.0, y + LINE
        square = element("rect", x=x, y=y - 6.0, width=12, height=12, rx=2, fill=color_of(series))
        parts += [mark_path(series, [(x + 6, y)]) if is_mark else square, words_at(shown, x + 18, y)]
        x += room + 18
    return parts, y + LINE / 2 + 6 if entries else 0.0


def picture(parts: Iterable[Markup], size: tuple[float, float], description: str, color: str | None = None) -> Markup:
    """Return a chart as an `svg` element of this width and height; in this colour, or in that of the text around it."""
    width, height = map(number, size)
    return element(
        "svg",
        joined(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=description,
        font_family=FONTS,
        font_size=FONT_SIZE,
        color=color,
        fill="currentColor",
    )
