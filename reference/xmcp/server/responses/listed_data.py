"""Which clients get a tool's data as structured content (XMCP-MCP-049).

Several hosts give the model `structuredContent` in the place of the text. So a client that did not declare the
extension gets data only of a tool that lists an output schema to it, and a schema that FastMCP derived from a return
type is not listed to it where a formatter writes what the model reads. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult

from xmcp.server.responses.mcp_results import attributes_of
from xmcp_models.registry import PREFIX, RESULT_META_KEY

_DERIVED_KEY: Final = f"{PREFIX}derived_schema"
"""Member of the `_meta` of a tool with a formatter inside the server: the output schema that FastMCP derived for it.

Mounted and transformed tools take it over with the rest of `_meta`. One that has another schema has that of its author.
"""
_UNLISTED: Final = "unlisted"
_IN_TEXT: Final = "in_text"


def with_derived_schema(meta: Mapping[str, Any] | None, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of a tool with a formatter whose output `schema` is derived."""
    return {**(meta or {}), _DERIVED_KEY: schema}


def lists_schema(tool: Tool) -> bool:
    """Tell whether a tool lists an output schema to a client that did not declare the extension."""
    return tool.output_schema is not None and tool.output_schema != (tool.meta or {}).get(_DERIVED_KEY)


def as_listed_to(tools: Sequence[Tool], *, declared: bool) -> Sequence[Tool]:
    """Return `tools` as a client gets them that declared the extension, or did not."""
    return [_as_listed_to(tool, declared) if _DERIVED_KEY in (tool.meta or {}) else tool for tool in tools]


def _as_listed_to(tool: Tool, declared: bool) -> Tool:
    meta = {key: member for key, member in (tool.meta or {}).items() if key != _DERIVED_KEY}
    return tool.model_copy(
        update={"meta": meta, "output_schema": tool.output_schema if declared or lists_schema(tool) else None}
    )


def mark_unlisted(result: ToolResult, *, is_in_text: bool) -> None:
    """Note in a result of a tool that it has data which the tool does not list to every client.

    `is_in_text` tells that the text is this data as JSON.
    """
    mark = {**attributes_of(result), _UNLISTED: True, _IN_TEXT: is_in_text}
    result.meta = {**(result.meta or {}), RESULT_META_KEY: mark}


def unmark(result: ToolResult) -> None:
    """Remove that note: the tool that the client called lists an output schema of its own."""
    kept = {name: value for name, value in attributes_of(result).items() if name not in (_UNLISTED, _IN_TEXT)}
    result.meta = {**(result.meta or {}), RESULT_META_KEY: kept}


def is_unlisted(result: object) -> bool:
    """Tell whether a result has data which its tool does not list to every client."""
    return isinstance(result, ToolResult) and attributes_of(result).get(_UNLISTED) is True


def is_in_text(result: ToolResult) -> bool:
    """Tell whether a client that does not get such data finds it in the text, as JSON."""
    return is_unlisted(result) and attributes_of(result).get(_IN_TEXT) is True
