"""How much of a display is read and drawn.

Beyond the first group of limits a display goes down the fallback ladder, in every renderer alike. Of what is longer
than the second group allows the beginning is shown, and a notice says how much that is.
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
MARKDOWN_CELLS: Final = 10_000
"""Cells of the tables of one Markdown text, with those that a short row leaves out."""
TABLE_COLUMNS: Final = 64
TABLE_ROWS_ALIGNED: Final = 1_000
"""Rows by which a column is found to be one of numbers."""
CELL: Final = 2_000
"""Characters."""
ITEMS: Final = 500
"""Facts or metrics."""
CATEGORIES: Final = 200
"""Categories of a bar chart, slices of a circle, rows or columns of a grid."""
