"""A plain result of another XMCP server, which a proxy passes on, as one that a tool of this server gave. Pure.

That server did not know who reads its answer in the end: it left out data, and said that displays are perhaps not
shown. Here it is known, and `delivery` decides again.
"""

from __future__ import annotations

from typing import Any, Final

from fastmcp.tools.base import ToolResult
from mcp_types import ContentBlock, TextContent
from pydantic_core import from_json

from xmcp.server.responses.display_text import DISPLAY_TEXT
from xmcp.server.responses.listed_data import mark_unlisted
from xmcp.server.responses.mcp_results import (
    PERHAPS_NOT_SHOWN,
    alternative_block,
    attributes_of,
    display_of,
    is_models_text,
    result_of,
)
from xmcp.wire import DisplayEnvelope
from xmcp_models.registry import RESULT_META_KEY

JSON: Final = "application/json"
_RELAYED: Final = frozenset({"format", "truncated", "lossy", DISPLAY_TEXT})


def as_if_ours(result: ToolResult) -> ToolResult:
    """Return `result` without what its server only said because it did not know the reader; any other, unchanged."""
    attributes = attributes_of(result)
    if attributes.get("form") != "plain":
        return result
    display = display_of(result)
    content = [block for block in result.content if not _is_said_in_doubt(block, display)]
    mark = {name: value for name, value in attributes.items() if name in _RELAYED}
    relayed = result_of(
        content,
        result.structured_content,
        {**(result.meta or {}), RESULT_META_KEY: mark},
        is_error=bool(result.is_error),
    )
    if attributes.get("format") == JSON and relayed.structured_content is None and not relayed.is_error:
        relayed.structured_content = _object_in("\n".join(block.text for block in content if is_models_text(block)))
        if relayed.structured_content is not None:
            mark_unlisted(relayed, is_in_text=True)
    return relayed


def _is_said_in_doubt(block: ContentBlock, display: DisplayEnvelope | None) -> bool:
    if display is None or not isinstance(block, TextContent):
        return False
    return block.text == PERHAPS_NOT_SHOWN or block == alternative_block(display.alt or "")


def _object_in(text: str) -> dict[str, Any] | None:
    try:
        data = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
