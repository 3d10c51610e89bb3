"""What a table shows: the text of each cell, which columns are numbers, how many rows, and what was left out.

Pure functions over `content.Table`. How many columns fit is decided by the renderer, which knows its width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xmcp.render.view import content
from xmcp.render.view.numerals import are_numbers, as_sent, quantity
from xmcp.render.view.untrusted import label
from xmcp.render.view.wording import first_of, scalar

MAX_ROWS: Final = 200
"""Rows that are shown where the renderer names no other number."""


@dataclass(frozen=True, slots=True)
class ColumnView:
    """The shown cells of one column, None where there is no value.

    A `numeric` column holds nothing but numbers and is aligned right: its decimal points belong below each other.
    """

    title: str
    align: content.Align
    header: bool
    numeric: bool
    cells: tuple[str | None, ...]


def columns_of(table: content.Table, most_rows: int = MAX_ROWS) -> tuple[ColumnView, ...]:
    """Return the columns of a table with the cells of its first `most_rows` rows."""
    rows = table.rows[:most_rows]
    return tuple(_column(column, [row[i] for row in rows]) for i, column in enumerate(table.columns))


def _column(column: content.Column, values: Sequence[object]) -> ColumnView:
    numeric = column.align == "right" and are_numbers(values)
    return ColumnView(
        title=label(column.title, 80),
        align=column.align,
        header=column.header,
        numeric=numeric,
        cells=tuple(_numbers(values, column.grouped) if numeric else map(scalar, values)),
    )


def _numbers(values: Sequence[Any], grouped: bool) -> Iterator[str | None]:
    written = quantity if grouped else as_sent
    return (None if value is None else written(value) for value in values)


def rows_missing(table: content.Table, most_rows: int = MAX_ROWS) -> str:
    """Return the sentence about rows that are not shown; empty if all are."""
    shown = min(len(table.rows), most_rows)
    total = max(table.total_rows or 0, len(table.rows))
    if shown < len(table.rows):
        return first_of(shown, total, "rows")
    if total > shown:
        return f"{shown:,} of {total:,} rows shown"
    return "the server cut this table; there are more rows" if table.truncated else ""


def columns_missing(table: content.Table, shown: int) -> str:
    """Return the sentence about columns beyond the first `shown`, which have no room; empty if there are none."""
    titles = [*(column.title for column in table.columns[shown:]), *table.further]
    if not titles:
        return ""
    named = ", ".join(label(title, 40) or "(unnamed)" for title in titles[:12])
    more = f" and {len(titles) - 12:,} more" if len(titles) > 12 else ""
    return f"no room for {len(titles):,} more column{'s' if len(titles) > 1 else ''}: {named}{more}"
