"""A response in the lanes of MCP's tools/call result (wire.md 7.5).

Inside the server, below the outermost middleware, a result stands in the lanes any MCP client knows:
the model's text is the text content, display and error are in `_meta`. So the middleware of others
(caching, limiting, redacting) works on plain text and loses nothing. On the way out `outgoing` turns
those lanes into what the client is sent. Pure functions only; no decision about failures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from fastmcp.tools.base import ToolResult
from mcp_types import ContentBlock, TextContent
from pydantic import ValidationError

from xmcp.server.errors import XMCPError
from xmcp.wire import DecodeError, DisplayEnvelope, ErrorInfo, ToolResponse, decode
from xmcp_models.registry import (
    DISPLAY_META_KEY,
    ERROR_META_KEY,
    PLAIN_META_KEY,
    POPULATED_META_KEY,
    PREFIX,
    VERSION_META_KEY,
)

ATTRIBUTES_KEY: Final = f"{PREFIX}attributes"
_OWN_KEYS: Final = frozenset(
    {DISPLAY_META_KEY, ERROR_META_KEY, POPULATED_META_KEY, PLAIN_META_KEY, VERSION_META_KEY, ATTRIBUTES_KEY}
)
_ATTRIBUTES: Final = ("format", "truncated", "lossy", "call_id")


def in_lanes(response: ToolResponse, native: ToolResult) -> ToolResult:
    """Return `response` as an MCP result, with the other content blocks, data and `_meta` of `native`."""
    error = response.error
    text = response.llm_output if error is None else f"{error.code}: {error.message}"
    lanes = {
        DISPLAY_META_KEY: response.display and response.display.to_dict(),
        ERROR_META_KEY: error and asdict(error),
        POPULATED_META_KEY: response.server_populated,
        ATTRIBUTES_KEY: {name: value for name in _ATTRIBUTES if (value := getattr(response, name))},
    }
    return result_of(
        [*([] if text is None else [text_block(text)]), *other_blocks(native)],
        native.structured_content if error is None else None,
        {**others_meta(native), **{key: lane for key, lane in lanes.items() if lane}} or None,
        is_error=error is not None,
    )


def result_of(
    content: list[ContentBlock], structured: dict[str, Any] | None, meta: dict[str, Any] | None, *, is_error: bool
) -> ToolResult:
    """Return a result of what FastMCP has converted already; its constructor would walk all the data again."""
    result = ToolResult(content=content, meta=meta, is_error=is_error)
    result.structured_content = structured
    return result


def is_document(result: ToolResult) -> bool:
    """Say whether the text of `result` is a document. Only `_meta` says so, whatever a text looks like."""
    return VERSION_META_KEY in (result.meta or {})


def document_in(result: ToolResult) -> str:
    """Return the document that `result` carries."""
    first = result.content[0] if result.content else None
    return first.text if isinstance(first, TextContent) else ""


def response_in(tool_name: str, result: ToolResult) -> ToolResponse:
    """Return the response that `result` stands for: the document it carries, else what is in its lanes.

    Raises:
        XMCPError: `INVALID_XML`, when a result says that it is a document and is none.
    """
    if not is_document(result):
        return _from_lanes(tool_name, result)
    try:
        return decode(document_in(result))
    except DecodeError as fault:
        raise XMCPError("INVALID_XML", f"The server behind this tool sent no valid response ({fault.kind}).") from fault


def _from_lanes(tool_name: str, result: ToolResult) -> ToolResponse:
    meta = result.meta or {}
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    filled, attributes = meta.get(POPULATED_META_KEY), meta.get(ATTRIBUTES_KEY)
    response = ToolResponse(
        tool_name,
        display=_display(meta.get(DISPLAY_META_KEY)),
        server_populated=filled if isinstance(filled, Mapping) else None,
        **{name: attributes[name] for name in _ATTRIBUTES if isinstance(attributes, Mapping) and name in attributes},
    )
    if result.is_error:
        said = "\n".join(texts).strip() or "The tool reports a failure without saying more."
        return replace(response, error=_error(meta.get(ERROR_META_KEY)) or ErrorInfo("TOOL_ERROR", said))
    if response.display is not None and not texts:
        return response
    return replace(response, llm_output="\n".join(texts))


# Whoever stands between a tool and the client can write into the lanes: what is none of ours is not read.


def _display(lane: object) -> DisplayEnvelope | None:
    try:
        return DisplayEnvelope.model_validate(lane) if isinstance(lane, Mapping) else None
    except ValidationError:
        return None


def _error(lane: object) -> ErrorInfo | None:
    try:
        return ErrorInfo(**lane) if isinstance(lane, Mapping) else None
    except (TypeError, ValueError):
        return None


def others_meta(result: ToolResult) -> dict[str, Any]:
    """Return the `_meta` of `result` that is not about the response."""
    return {key: part for key, part in (result.meta or {}).items() if key not in _OWN_KEYS}


def other_blocks(result: ToolResult) -> list[ContentBlock]:
    """Return the content of `result` that is no text."""
    return [block for block in result.content if not isinstance(block, TextContent)]


def text_block(text: str) -> TextContent:
    """Return `text` as a content block."""
    return TextContent(type="text", text=text)
