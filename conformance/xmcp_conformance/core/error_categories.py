"""The categories that the registry gives to errors (section 4.2)."""

from __future__ import annotations

from typing import Final

from xmcp_models.registry import ERROR_CODES

CATEGORY_OF: Final[dict[str, str]] = {
    name: row["category"] for code, row in ERROR_CODES.items() for name in (code, *row.get("aliases", ()))
}
"""The category of each registered code and of each alias; that of any other code is `internal` (XMCP-ERR-013)."""
