"""Tables drawn by rich.

Numbers stand below each other by their decimal point. Columns that do not fit are named below the table, never silently
left out. Which rows and cells are shown is decided in `view/tables.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from xmcp.render.view import content
from xmcp.render.view.numerals import aligned
from xmcp.render.view.tables import ColumnView, columns_missing, columns_of, rows_missing
from xmcp.render.view.untrusted import visible
from xmcp.render.view.wording import NO_ROWS, NO_VALUE, NOTHING, caption

_NARROWEST: Final = 8
_GAP: Final = 3
"""Cells between two columns: what rich's SIMPLE_HEAD box and a padding of one take."""


def cell(text: str | None) -> Text:
    """Return the drawing of one cell; None is a missing value."""
    return Text(NO_VALUE, style="dim") if text is None else Text(text)


@dataclass(frozen=True, slots=True)
class _DrawnColumn:
    """A column ready to be drawn; `least` is the width below which it would be unreadable."""

    head: Text
    cells: Sequence[Text]
    align: content.Align
    least: int
    rigid: bool
    style: str


def _drawn(column: ColumnView) -> _DrawnColumn:
    head = Text(column.title, style="dim", justify=column.align)
    style = "bold" if column.header else ""
    if column.numeric:
        numbers = iter(aligned([text for text in column.cells if text is not None]))
        texts = [None if text is None else next(numbers) for text in column.cells]
        width = max(max(len(text or NO_VALUE) for text in texts), min(cell_len(head.plain), 2 * _NARROWEST))
        cells = [
            Text(NO_VALUE.rjust(width), style="dim") if text is None else Text(text.rjust(width)) for text in texts
        ]
        return _DrawnColumn(head, cells, "left", width, rigid=True, style=style)
    cells = [cell(text) for text in column.cells]
    natural = max((cell_len(line) for drawn in [head, *cells] for line in drawn.plain.split("\n")), default=0)
    return _DrawnColumn(head, cells, column.align, min(natural, _NARROWEST), rigid=False, style=style)


def fitting(least: Sequence[int], width: int) -> int:
    """Return how many leading columns of at least these widths fit side by side; at least one."""
    used = -_GAP
    for count, need in enumerate(least):
        used += need + _GAP
        if used > width:
            return max(count, 1)
    return len(least)


@dataclass(frozen=True, slots=True)
class TableGrid:
    """Draws a table in the width there is."""

    table: content.Table

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(_NARROWEST, options.max_width), options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self.table
        columns = [_drawn(column) for column in columns_of(table)]
        count = fitting([column.least for column in columns], options.max_width) if columns else 0
        if columns:
            yield _grid(columns[:count])
        if not table.rows or not columns:
            yield Text(NO_ROWS if columns else NOTHING, style="dim")
        if table.caption:
            yield Text(visible(caption(table)), style="italic")
        for words in (rows_missing(table), columns_missing(table, count)):
            if words:
                yield Text(f"note: {words}", style="dim italic")


def _grid(columns: Sequence[_DrawnColumn]) -> RenderableType:
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    for column in columns:
        grid.add_column(
            column.head,
            justify=column.align,
            no_wrap=column.rigid,
            min_width=column.least,
            overflow="fold",
            style=column.style,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        grid.add_row(*cells)
    return grid
