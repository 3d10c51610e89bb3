"""A response in the lanes of MCP's tools/call result (wire.md 7.5).

Inside the server, below the outermost middleware, a result stands in the lanes any MCP client knows:
the model's text is the text content, display and error are in `_meta`. So the middleware of others
(caching, limiting, redacting) works on plain text and loses nothing. On the way out `answer` turns
those lanes into the one document that XMCP sends. Pure functions only; no decision about failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from fastmcp.tools.base import ToolResult
from mcp_types import AudioContent, ContentBlock, EmbeddedResource, ImageContent, TextContent
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from xmcp.server.errors import XMCPError
from xmcp.wire import DEFAULT_LIMITS, DecodeError, ErrorInfo, ToolResponse, decode, encode
from xmcp.wire.emission import check_error
from xmcp_models.registry import PREFIX, VERSION, VERSION_META_KEY

DISPLAY_KEY: Final = f"{PREFIX}display"
ERROR_KEY: Final = f"{PREFIX}error"
ATTRIBUTES_KEY: Final = f"{PREFIX}attributes"
_OWN_KEYS: Final = frozenset({DISPLAY_KEY, ERROR_KEY, ATTRIBUTES_KEY, VERSION_META_KEY})
MAX_MESSAGE: Final = 2000  # characters of an error's message (wire rule 7)
_ATTRIBUTES: Final = ("format", "truncated", "lossy", "call_id")

_SURROGATES: Final = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def in_lanes(response: ToolResponse, native: ToolResult) -> ToolResult:
    """Return `response` as an MCP result, with the other content blocks, data and `_meta` of `native`."""
    error = response.error
    text = response.llm_output if error is None else f"{error.code}: {error.message}"
    lanes = {
        DISPLAY_KEY: response.display and response.display.to_dict(),
        ERROR_KEY: error and asdict(error),
        ATTRIBUTES_KEY: {name: value for name in _ATTRIBUTES if (value := getattr(response, name))},
    }
    return ToolResult(
        content=[*([] if text is None else [_text(text)]), *_other_blocks(native)],
        structured_content=native.structured_content if error is None else None,
        meta={**_others_meta(native), **{key: lane for key, lane in lanes.items() if lane}} or None,
        is_error=error is not None,
    )


def response_in(tool_name: str, result: ToolResult) -> ToolResponse:
    """Return the response that `result` stands for: the document it carries, else what is in its lanes.

    Only `_meta` says that a text is a document; any other text is text for the model, whatever it looks like.

    Raises:
        XMCPError: `INVALID_XML`, when a result says that it is a response and is none.
    """
    if VERSION_META_KEY in (result.meta or {}):
        return replace(_decoded(_document(result)), tool_name=tool_name)
    return _from_lanes(tool_name, result)


def answer(tool_name: str, result: ToolResult) -> ToolResult:
    """Return what the client is sent for `result`, which a tool or anybody's middleware made.

    A result that already is a response (of a mounted or proxied XMCP server) goes out as it is, or
    written anew if the tool has another name here.

    Raises:
        XMCPError: as `response_in`; `RESULT_TOO_LARGE`, when readers need not take the document (XMCP-RSP-081).
        ValueError: an error that the author built and the spec does not let a server send (`emission`).
    """
    if VERSION_META_KEY in (result.meta or {}):
        document = _document(result)
        response = _decoded(document)
        if response.tool_name != tool_name:
            response = replace(response, tool_name=tool_name)
            document = encode(response, check=False)  # what another server wrote is not ours to judge
    else:
        response = _with_note(_from_lanes(tool_name, result), _other_blocks(result))
        document = encode(response)
    most = DEFAULT_LIMITS.document_bytes
    if len(document) * 4 > most and (size := len(document.encode())) > most:  # a character has four bytes at most
        message = f"The result has {size:,} bytes as a document; {most:,} can be sent. Ask for less of it at once."
        raise XMCPError("RESULT_TOO_LARGE", message, meta={"params": {"bytes": size, "limit": most}})
    return _sent(document, response, result)


def answer_error(tool_name: str, error: ErrorInfo) -> ToolResult:
    """Return what the client is sent for a call that failed with `error`."""
    response = ToolResponse(tool_name, error=_sendable(error))
    return _sent(encode(response), response, ToolResult(content=[]))


def _document(result: ToolResult) -> str:
    first = result.content[0] if result.content else None
    return first.text if isinstance(first, TextContent) else ""


def _decoded(document: str) -> ToolResponse:
    try:
        return decode(document)
    except DecodeError as fault:
        raise XMCPError("INVALID_XML", f"The server behind this tool sent no valid response ({fault.kind}).") from fault


def _from_lanes(tool_name: str, result: ToolResult) -> ToolResponse:
    meta = result.meta or {}
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    response = ToolResponse(tool_name, display=meta.get(DISPLAY_KEY), **meta.get(ATTRIBUTES_KEY, {}))
    if result.is_error:
        lane = meta.get(ERROR_KEY)
        said = "\n".join(texts).strip() or "The tool reports a failure without saying more."
        return replace(response, error=_sendable(ErrorInfo(**lane) if lane else ErrorInfo("TOOL_ERROR", said)))
    if response.display is not None and not texts:
        return response
    return replace(response, llm_output="\n".join(texts))


def _sendable(error: ErrorInfo) -> ErrorInfo:
    check_error(error)
    if len(error.message) <= MAX_MESSAGE:
        return error
    return replace(error, message=f"{error.message[: MAX_MESSAGE - 1]}…")


def _sent(document: str, response: ToolResponse, result: ToolResult) -> ToolResult:
    return ToolResult(
        content=[_text(document), *map(_clean_block, _other_blocks(result))],
        structured_content=_clean(result.structured_content) if response.error is None else None,
        meta={**_clean(_others_meta(result)), VERSION_META_KEY: VERSION},
        is_error=response.error is not None,
    )


def _others_meta(result: ToolResult) -> dict[str, Any]:
    return {key: part for key, part in (result.meta or {}).items() if key not in _OWN_KEYS}


# ---- content blocks ----


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _other_blocks(result: ToolResult) -> list[ContentBlock]:
    return [block for block in result.content if not isinstance(block, TextContent)]


def _with_note(response: ToolResponse, blocks: Sequence[ContentBlock]) -> ToolResponse:
    """Return `response` with a sentence that tells the model what follows the text."""
    counted = Counter(map(_kind, blocks))
    if not counted or response.error is not None:
        return response
    note = f"After this text: {', '.join(f'{n} × {kind}' for kind, n in counted.items())}."
    return replace(response, llm_output="\n\n".join(filter(None, [response.llm_output, note])), format=None)


def _kind(block: ContentBlock) -> str:
    match block:
        case ImageContent() | AudioContent():
            return f"{block.type} ({block.mime_type})"
        case EmbeddedResource():
            return "resource" + (f" ({block.resource.mime_type})" if block.resource.mime_type else "")
        case _:
            return "resource link"


# ---- lone surrogates: no UTF-8 can carry them, and one kills a stdio session (toolchain.md 1.7) ----


def without_lone_surrogates(value: Any) -> Any:
    """Return JSON `value` with every lone surrogate in its strings and keys replaced by U+FFFD."""
    match value:
        case str():
            return value.translate(_SURROGATES)
        case dict():
            return {without_lone_surrogates(key): without_lone_surrogates(part) for key, part in value.items()}
        case list() | tuple():
            return [without_lone_surrogates(part) for part in value]
        case _:
            return value


def _clean(value: Any) -> Any:
    """Return `value` as something that can be sent; most often it is, and to find out is cheap."""
    try:
        to_json(value)
    except PydanticSerializationError:
        return without_lone_surrogates(to_jsonable_python(value, fallback=str))
    return value


def _clean_block(block: ContentBlock) -> ContentBlock:
    try:
        block.model_dump_json()
    except PydanticSerializationError:
        return type(block).model_validate(without_lone_surrogates(block.model_dump(mode="json", by_alias=True)))
    return block
