"""How much of a display is read and drawn.

Beyond the first group of limits a display goes down the fallback ladder, in every renderer alike. Of what is longer
than the second group allows the beginning is shown, and a notice says how much that is. The third group is about a
whole display: its parts share it, as room.py says.
"""

from __future__ import annotations

from typing import Final

from xmcp_models.registry import ENVELOPE_RULES

FALLBACKS: Final[int] = ENVELOPE_RULES["deepest_fallback"]
GROUP_DEPTH: Final[int] = ENVELOPE_RULES["deepest_group"]
GROUP_ITEMS: Final = 32
CHART_ROWS: Final = 5_000
CHART_SERIES: Final = 12
CHART_SIDE: Final = 4_000
"""Pixels."""
CHART_LAYERS: Final = 8
INLINE_IMAGE: Final = 2_000_000
"""Bytes of a picture inside the message."""
IMAGE_SIDE: Final = 16_384
"""Pixels of a picture inside the message; a small file can unpack to more than a browser's memory."""

CHARACTERS: Final = 200_000
"""Characters of a text, of Markdown, of source text or of JSON."""
MARKDOWN_PIECES: Final = 10_000
"""Lines of a Markdown text, or of its tables the cells, with those that a short row leaves out, and its brackets."""
MESSAGE: Final = 10_000
"""Characters of a notification, of the description of a picture or chart, and of the caption of a table."""
TABLE_ROWS_READ: Final = 100_000
"""Rows that a page scrolls through, and whose members are the columns."""
TABLE_ROWS: Final = 1_000
"""Rows that stand one below the other."""
JSON_NODES: Final = 5_000
"""Values and members of a JSON value, where the renderer names no other number."""
TABLE_COLUMNS: Final = 64
TABLE_ROWS_ALIGNED: Final = 1_000
"""Rows by which a column is found to be one of numbers."""
CELL: Final = 2_000
"""Characters."""
ITEMS: Final = 500
"""Facts or metrics."""
CATEGORIES: Final = 200
"""Categories of a bar chart, slices of a circle, rows or columns of a grid."""

PARTS: Final = 128
"""Displays inside a display, groups among them."""
ROOM: Final = {"characters": CHARACTERS, "values": TABLE_ROWS * TABLE_COLUMNS, "pieces": MARKDOWN_PIECES}
"""Characters of all texts of a display together, values of its tables, facts, charts and JSON, pieces of Markdown."""
LEAST: Final = {"characters": 1_000, "values": 100, "pieces": 20}
"""What each part has of them, however much stands before it."""
