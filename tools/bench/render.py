"""Measure the drawing of displays in milliseconds: a table of 1,000 rows and 8 columns, and a chart of 5,000 points.

floor   what any renderer of a table must do: `html.escape` of the text of each cell, and joining them
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from tools.bench.figure import Figure
from tools.bench.wire import medians
from xmcp.render import to_html, to_markdown, to_svg, to_text

ROWS = [
    {
        "order": f"A-{n:05}",
        "customer": "Ada Lovelace & Co",
        "month": f"2026-{n % 12 + 1:02}",
        "items": n * 17 % 1000,
        "amount": n / 7,
        "paid": n % 2 == 0,
        "note": None if n % 3 else "waits for the second delivery",
        "country": "Österreich",
    }
    for n in range(1000)
]
TABLE: dict[str, Any] = {"type": "table", "payload": ROWS, "title": "Orders"}
_AXIS = {"type": "quantitative"}
CHART: dict[str, Any] = {
    "type": "chart",
    "payload": {
        "mark": "line",
        "data": {"values": [{"x": n, "y": n * n % 997} for n in range(5000)]},
        "encoding": {"x": {"field": "x", **_AXIS}, "y": {"field": "y", **_AXIS}},
    },
}


def floor() -> str:
    """Escape and join the cells of the table."""
    cells = [[f"<td>{escape(str(value))}</td>" for value in row.values()] for row in ROWS]
    return "".join(f"<tr>{''.join(row)}</tr>" for row in cells)


def figures(rounds: int) -> Iterator[Figure]:
    """Yield the milliseconds of each form; a report of some displays is to be there at once."""
    html, least = medians(rounds, lambda: to_html(TABLE), floor)
    yield Figure("to_html, table of 1,000 rows", html * 1000, 20, f"{html / least:5.2f} x floor")
    for name, work in (
        ("to_markdown, table of 1,000 rows", lambda: to_markdown(TABLE)),
        ("to_text, table of 1,000 rows", lambda: to_text(TABLE)),
        ("to_html, line of 5,000 points", lambda: to_html(CHART)),
        ("to_svg, line of 5,000 points", lambda: to_svg(CHART)),
    ):
        (seconds,) = medians(rounds, work)
        yield Figure(name, seconds * 1000, None, "")
