"""Drawing primitives of charts: lines of exact width, the colours of series, a grid of dots.

Nothing here knows about data. The colours are those of the terminal's theme; colour is never the only sign of
anything in a chart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.text import Text

# Yellow is last because it cannot be seen on white, and blue before it because it can hardly be seen on black.
PALETTE = (
    *("cyan", "magenta", "green", "red", "bright_magenta", "bright_cyan", "bright_green", "bright_red"),
    *("blue", "bright_blue", "yellow", "bright_yellow"),
)
NARROWEST = 24
"""Cells; a narrower chart is unreadable."""

Part: TypeAlias = str | tuple[str, str]
Dot: TypeAlias = tuple[int, int]


def fitted(text: str, width: int) -> str:
    """Return `text` cut or padded to exactly `width` terminal cells."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + "…", width) if width > 1 else " " * width


def line(*parts: Part) -> Text:
    """Return one line of plain texts or (text, style) pairs; it is cut, never wrapped."""
    return Text.assemble(*parts, no_wrap=True, overflow="crop")


def color_of(series: int) -> str:
    """Return the colour of the series with this index."""
    return PALETTE[series % len(PALETTE)]


@dataclass(frozen=True, slots=True)
class Grain:
    """What a cell of a canvas is made of: the bit of each of its dots, and the glyph of the dots that are set."""

    bits: tuple[tuple[int, ...], ...]
    """The bits of the dots by column from the left, and in it from the top."""
    glyph: Callable[[int, int], str]
    """Returns the glyph, given the sum of the bits and the index of the series."""


BRAILLE: Final = Grain(((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80)), lambda dots, _: chr(0x2800 + dots))
BLOCKS: Final = Grain(((1, 2),), lambda dots, _: " ▀▄█"[dots])
"""Halves of a cell. Fonts for terminals have them as wide as letters; braille often comes from another font."""


def marks(signs: str) -> Grain:
    """Return a grain of one dot in a cell, which is the sign of its series."""
    return Grain(((1,),), lambda _, series: signs[series % len(signs)])


@dataclass(slots=True)
class _Cell:
    dots: int
    series: int


class Canvas:
    """A grid of `columns` by `rows` cells."""

    def __init__(self, columns: int, rows: int, grain: Grain) -> None:
        self.columns = columns
        self._grain = grain
        self._across, self._down = len(grain.bits), len(grain.bits[0])
        self._width, self._height = columns * self._across, rows * self._down
        self._cells: dict[tuple[int, int], _Cell] = {}

    def place(self, x: float, y: float) -> Dot:
        """Return the dot for the fractions `x` from the left and `y` from the bottom."""
        return round(x * (self._width - 1)), round((1 - y) * (self._height - 1))

    def dot(self, at: Dot, series: int) -> None:
        """Set one dot; where two series meet, the later one sets the colour."""
        (column, dx), (row, dy) = divmod(at[0], self._across), divmod(at[1], self._down)
        cell = self._cells.setdefault((column, row), _Cell(0, series))
        cell.dots |= self._grain.bits[dx][dy]
        cell.series = series

    @staticmethod
    def between(start: Dot, end: Dot) -> list[Dot]:
        """Return the dots from `start` to `end`."""
        steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        return [
            (round(start[0] + (end[0] - start[0]) * i / steps), round(start[1] + (end[1] - start[1]) * i / steps))
            for i in range(steps + 1)
        ]

    def line(self, start: Dot, end: Dot, series: int) -> list[Dot]:
        """Set the dots from `start` to `end` and return them."""
        dots = self.between(start, end)
        for dot in dots:
            self.dot(dot, series)
        return dots

    def row(self, row: int) -> list[Part]:
        """Return the cells of a row, counted from the top."""
        return [self._glyph(self._cells.get((column, row))) for column in range(self.columns)]

    def _glyph(self, cell: _Cell | None) -> Part:
        if cell is None:
            return " "
        return self._grain.glyph(cell.dots, cell.series), color_of(cell.series)
