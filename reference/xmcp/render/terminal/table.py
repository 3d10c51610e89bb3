"""Tables in the terminal.

What may live here: the text of a cell, which rows and columns fit, and the drawing of `content.Table`. Numbers stand
below each other by their decimal point; what does not fit is counted or named, never silently left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from xmcp.render.view import content
from xmcp.render.view.numerals import aligned, as_sent, quantity
from xmcp.render.view.outline import outline
from xmcp.render.view.payloads import is_number
from xmcp.render.view.untrusted import label, visible

MAX_ROWS = 200
_MAX_CELL = 1000
_NARROWEST = 8
_GAP = 3
"""Cells between two columns: what rich's SIMPLE_HEAD box and a padding of one take."""


def scalar(value: object) -> Text:
    """Return the text of one JSON value in a cell."""
    if value is None:
        return Text("–", style="dim")
    words = value if isinstance(value, str) else outline(value, indent=None)[0]
    cut = f"{words[:_MAX_CELL]}… ({len(words) - _MAX_CELL} more characters)" if len(words) > _MAX_CELL else words
    return Text(visible(cut))


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A column ready to be drawn; `least` is the width below which it would be unreadable."""

    head: Text
    cells: Sequence[Text]
    align: content.Align
    least: int
    rigid: bool


def _drawn(column: content.Column, values: Sequence[object]) -> _Drawn:
    head = Text(label(column.title, 80), style="dim", justify=column.align)
    present = [value for value in values if is_number(value)]
    if present and column.align == "right" and len(present) + values.count(None) == len(values):
        written = iter(aligned([(quantity if column.grouped else as_sent)(value) for value in present]))
        texts = ["–" if value is None else next(written) for value in values]
        width = max(max(map(len, texts)), min(cell_len(head.plain), 2 * _NARROWEST))
        cells = [Text(text.rjust(width), style="dim" if text == "–" else "") for text in texts]
        return _Drawn(head, cells, "left", width, rigid=True)
    cells = [scalar(value) for value in values]
    natural = max((cell_len(line) for cell in [head, *cells] for line in cell.plain.split("\n")), default=0)
    return _Drawn(head, cells, column.align, min(natural, _NARROWEST), rigid=False)


def fitting(least: Sequence[int], width: int) -> int:
    """Return how many leading columns of at least these widths fit side by side; one always does."""
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
        rows = table.rows[:MAX_ROWS]
        columns = [_drawn(column, [row[i] for row in rows]) for i, column in enumerate(table.columns)]
        count = fitting([column.least for column in columns], options.max_width) if columns else 0
        if columns:
            yield self._grid(columns[:count])
        if not rows or not columns:
            yield Text("(no rows)" if columns else "(nothing to show)", style="dim")
        if table.caption:
            yield Text(visible(table.caption), style="italic")
        left_out = [label(column.title, 40) or "(unnamed)" for column in table.columns[count:]]
        for words in (rows_missing(len(rows), table), columns_missing(left_out)):
            if words:
                yield Text(f"note: {words}", style="dim italic")

    def _grid(self, columns: Sequence[_Drawn]) -> RenderableType:
        grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
        for column, source in zip(columns, self.table.columns, strict=False):
            grid.add_column(
                column.head,
                justify=column.align,
                no_wrap=column.rigid,
                min_width=column.least,
                overflow="fold",
                style="bold" if source.header else "",
            )
        for cells in zip(*(column.cells for column in columns), strict=True):
            grid.add_row(*cells)
        return grid


def rows_missing(shown: int, table: content.Table) -> str:
    """Return the sentence about rows that are not there, or nothing."""
    total = max(table.total_rows or 0, len(table.rows))
    if total > shown:
        return f"{shown:,} of {total:,} rows shown"
    return "the server cut this table; there are more rows" if table.truncated else ""


def columns_missing(titles: Sequence[str]) -> str:
    """Return the sentence about columns for which there is no room, or nothing."""
    if not titles:
        return ""
    named = ", ".join(titles[:12]) + (f" and {len(titles) - 12} more" if len(titles) > 12 else "")
    return f"no room for {len(titles)} more column{'s' if len(titles) > 1 else ''}: {named}"
