"""A tool response as a plain MCP result, and back.

Inside the server, below the outermost middleware, a response is a result that every MCP client understands: the model's
text is the text content; display, error and attributes are in `_meta`. So other people's middleware (caching, limiting,
redacting) works on plain text and loses nothing. `delivery` turns such a result into what the client is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final, TypeGuard

from fastmcp.tools.base import ToolResult
from mcp_types import Annotations, ContentBlock, TextContent
from pydantic import ValidationError

from xmcp.server.errors import XMCPError
from xmcp.wire import DecodeError, DisplayEnvelope, ErrorInfo, ToolResponse, decode, is_media_type
from xmcp_models.registry import (
    DISPLAY_META_KEY,
    ERROR_META_KEY,
    POPULATED_META_KEY,
    RESULT_META_KEY,
)

_OWN_KEYS: Final = frozenset({DISPLAY_META_KEY, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY})
_ATTRIBUTES: Final = ("format", "truncated", "lossy", "call_id")
MAX_CALL_ID: Final = 256  # characters
PERHAPS_NOT_SHOWN: Final = "(This client may not be able to show the display to the user.)"
MAX_ALTERNATIVE: Final = 500  # characters of the text that hosts without displays can show the user
_BESIDE_THE_ANSWER: Final = 0.8  # priority of that text: useful, but the answer does not depend on it


def to_mcp_result(response: ToolResponse, native: ToolResult) -> ToolResult:
    """Return `response` as an MCP result, with the other content blocks, data and `_meta` of `native`."""
    error = response.error
    text = response.llm_output if error is None else f"{error.code}: {error.message}"
    members = {
        DISPLAY_META_KEY: response.display and response.display.to_dict(),
        ERROR_META_KEY: error and asdict(error),
        POPULATED_META_KEY: response.server_populated,
        RESULT_META_KEY: {name: value for name in _ATTRIBUTES if (value := getattr(response, name))},
    }
    return result_of(
        [*([] if text is None else [text_block(text)]), *other_blocks(native)],
        native.structured_content if error is None else None,
        {**others_meta(native), **{key: member for key, member in members.items() if member}} or None,
        is_error=error is not None,
    )


def result_of(
    content: list[ContentBlock], structured: dict[str, Any] | None, meta: dict[str, Any] | None, *, is_error: bool
) -> ToolResult:
    """Return a result of converted data; FastMCP's constructor would walk all of it again."""
    result = ToolResult(content=content, meta=meta, is_error=is_error)
    result.structured_content = structured
    return result


def is_document(result: ToolResult) -> bool:
    """Tell whether the text of `result` is a document: `_meta` says so, not the text."""
    return attributes_of(result).get("form") == "document"


def has_error_in_meta(result: ToolResult) -> bool:
    """Tell whether `result` is the plain result of an XMCP server that failed."""
    return ERROR_META_KEY in (result.meta or {})


def document_in(result: ToolResult) -> str:
    """Return the document that `result` carries."""
    first = result.content[0] if result.content else None
    return first.text if isinstance(first, TextContent) else ""


def response_from(tool_name: str, result: ToolResult) -> ToolResponse:
    """Return the response in `result`, which is a document or a plain MCP result.

    Raises:
        XMCPError: `INVALID_XML`: the result claims to be a document, and cannot be decoded.
    """
    if not is_document(result):
        return _from_plain(tool_name, result)
    try:
        return decode(document_in(result))
    except DecodeError as fault:
        raise XMCPError("INVALID_XML", f"The server behind this tool sent no valid response ({fault.kind}).") from fault


def _from_plain(tool_name: str, result: ToolResult) -> ToolResponse:
    meta, attributes = result.meta or {}, attributes_of(result)
    texts = [block.text for block in result.content if is_models_text(block)]
    filled = meta.get(POPULATED_META_KEY)
    valid: dict[str, Any] = {name: attributes[name] for name in _ATTRIBUTES if _is_valid(name, attributes.get(name))}
    response = ToolResponse(
        tool_name,
        display=_display(meta.get(DISPLAY_META_KEY)),
        server_populated=filled if isinstance(filled, Mapping) else None,
        **valid,
    )
    if result.is_error:
        text = "\n".join(texts).strip() or "The tool reports a failure without saying more."
        return replace(response, error=_error(meta.get(ERROR_META_KEY)) or ErrorInfo("TOOL_ERROR", text))
    if response.display is not None and not texts:
        return response
    return replace(response, llm_output="\n".join(texts))


# Any middleware can write into `_meta`: what is not valid there is ignored.


def _is_valid(name: str, value: object) -> bool:
    match name:
        case "format":
            return isinstance(value, str) and is_media_type(value)
        case "call_id":
            return isinstance(value, str) and 0 < len(value) <= MAX_CALL_ID
        case _:
            return value is True


def attributes_of(result: ToolResult) -> Mapping[str, Any]:
    """Return the attributes of the response in a plain `result`; empty if it has none."""
    attributes = (result.meta or {}).get(RESULT_META_KEY)
    return attributes if isinstance(attributes, Mapping) else {}


def _display(member: object) -> DisplayEnvelope | None:
    try:
        return DisplayEnvelope.model_validate(member) if isinstance(member, Mapping) else None
    except ValidationError:
        return None


def _error(member: object) -> ErrorInfo | None:
    try:
        return ErrorInfo(**member) if isinstance(member, Mapping) else None
    except (TypeError, ValueError):
        return None


def display_of(result: ToolResult) -> DisplayEnvelope | None:
    """Return the display in the `_meta` of a plain `result`."""
    return _display((result.meta or {}).get(DISPLAY_META_KEY))


def others_meta(result: ToolResult) -> dict[str, Any]:
    """Return the members of `_meta` of `result` that do not belong to the response."""
    return {key: part for key, part in (result.meta or {}).items() if key not in _OWN_KEYS}


def other_blocks(result: ToolResult) -> list[ContentBlock]:
    """Return the content blocks of `result` that are no part of the text for the model."""
    return [block for block in result.content if not is_models_text(block) and not is_about_values(block)]


def is_models_text(block: ContentBlock) -> TypeGuard[TextContent]:
    """Tell whether a block is a part of the tool's text for the model (spec section 6.3)."""
    return isinstance(block, TextContent) and not is_for_the_user(block) and not is_about_values(block)


def is_for_the_user(block: ContentBlock) -> bool:
    """Tell whether the author of a block meant it for the user alone (XMCP-MCP-044)."""
    return block.annotations is not None and set(block.annotations.audience or ()) == {"user"}


def is_about_values(block: ContentBlock) -> bool:
    """Tell whether a block says what the server filled in (XMCP-MCP-048)."""
    return (block.meta or {}).get(POPULATED_META_KEY) is True


def alternative_block(alt: str) -> TextContent:
    """Return the block that hosts without displays can show the user (XMCP-MCP-047)."""
    for_the_user = Annotations(audience=["user"], priority=_BESIDE_THE_ANSWER)
    return TextContent(type="text", text=alt[:MAX_ALTERNATIVE], annotations=for_the_user)


def text_block(text: str) -> TextContent:
    """Return `text` as a content block."""
    return TextContent(type="text", text=text)
