"""Drawing primitives of charts: lines of exact width, the colours of series, a grid of dots.

Nothing here knows about data. The colours are those of the terminal's theme; colour is never the only sign of
anything in a chart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.text import Text

_HUES = ("cyan", "magenta", "yellow", "green", "blue", "red")
PALETTE = (*_HUES, *(f"bright_{hue}" for hue in _HUES))
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


@dataclass(slots=True)
class _Cell:
    dots: int
    series: int


class Canvas:
    """A grid of `columns` by `rows` cells; without `marks` each cell has 2 by 4 dots (braille), else one mark."""

    _DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))

    def __init__(self, columns: int, rows: int, marks: str) -> None:
        self.columns = columns
        self._marks = marks
        self._across, self._down = (1, 1) if marks else (2, 4)
        self._width, self._height = columns * self._across, rows * self._down
        self._cells: dict[tuple[int, int], _Cell] = {}

    def place(self, x: float, y: float) -> Dot:
        """Return the dot for the fractions `x` from the left and `y` from the bottom."""
        return round(x * (self._width - 1)), round((1 - y) * (self._height - 1))

    def dot(self, at: Dot, series: int) -> None:
        """Set one dot; where two series meet, the later one sets the colour."""
        (column, dx), (row, dy) = divmod(at[0], self._across), divmod(at[1], self._down)
        cell = self._cells.setdefault((column, row), _Cell(0, series))
        cell.dots |= self._DOTS[dx][dy]
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
        glyph = self._marks[cell.series % len(self._marks)] if self._marks else chr(0x2800 + cell.dots)
        return glyph, color_of(cell.series)
