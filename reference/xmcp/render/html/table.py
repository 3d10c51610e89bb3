"""Tables as HTML. Which rows and cells are shown is decided in `view/tables.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xmcp.render.markup import Markup, element, escaped, joined
from xmcp.render.view import content
from xmcp.render.view.limits import TABLE_ROWS
from xmcp.render.view.tables import ColumnView, columns_missing, columns_of, rows_missing
from xmcp.render.view.wording import NO_ROWS, NO_VALUE, NOTHING, caption

_LONG: Final = 25
"""Rows; a longer table scrolls below its headings."""
_ALIGNED: Final[Mapping[content.Align, str]] = {"left": "", "right": "r", "center": "c"}
_SHORT: Final = 20
"""Characters of a cell that stays on one line."""
_MISSING: Final = f'<span class="faint">{NO_VALUE}</span>'


def table(shown: content.Table, name: str | None = None, most_rows: int = TABLE_ROWS) -> Markup:
    """Return a table with its notices; `name` tells screen readers what it is."""
    views = columns_of(shown, most_rows)
    notices = [rows_missing(shown, most_rows), columns_missing(shown, len(views))]
    parts = [_grid(views, shown, name) if views else element("p", NOTHING, class_="nothing")]
    if views and not shown.rows:
        parts.append(element("p", NO_ROWS, class_="nothing"))
    parts += [element("p", f"note: {notice}", class_="note") for notice in notices if notice]
    return joined(parts)


def _grid(columns: Sequence[ColumnView], shown: content.Table, name: str | None) -> Markup:
    heads = [element("th", column.title, class_=_class(column) or None, scope="col") for column in columns]
    rows = zip(*(_cells(column) for column in columns), strict=True)
    grid = element(
        "table",
        element("caption", caption(shown)) if shown.caption else None,
        element("thead", element("tr", joined(heads))),
        element("tbody", Markup("".join([f"<tr>{''.join(row)}</tr>\n" for row in rows]))),
    )
    long = " long" if len(shown.rows) > _LONG else ""
    label = name or caption(shown) or "table"
    return element("div", grid, class_=f"scroll{long}", tabindex=0, role="region", aria_label=label)


def _cells(column: ColumnView) -> list[str]:
    """Return the cells of a column as markup; this runs for every value of a table, so it builds no elements."""
    name, classes = ("th", f"name {_class(column)}") if column.header else ("td", _class(column))
    scope = ' scope="row"' if column.header else ""
    start, end = f'<{name} class="{classes.strip()}"{scope}>' if classes else f"<{name}>", f"</{name}>"
    cells = [f"{start}{_MISSING if cell is None else escaped(cell)}{end}" for cell in column.cells]
    lengths = [len(cell or "") for cell in column.cells]
    if not column.numeric and (longest := max(lengths, default=0)):
        # The longest cell keeps its column wide: dates and article numbers are not broken, and texts not squeezed.
        room = "w" if longest <= _SHORT else "b"
        at = lengths.index(longest)
        cells[at] = f'<{name} class="{f"{room} {classes}".strip()}"{scope}>' + cells[at][len(start) :]
    return cells


def _class(column: ColumnView) -> str:
    return "n" if column.numeric else _ALIGNED[column.align]
