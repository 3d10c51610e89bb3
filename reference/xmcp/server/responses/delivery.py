"""What the client is sent for a response: a document (spec section 6.2) or plain MCP (section 6.3).

Pure functions. Which of the two a client reads is decided in `capability`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from fastmcp.tools.base import ToolResult
from mcp_types import AudioContent, ContentBlock, EmbeddedResource, ImageContent, TextContent

from xmcp.server.call_state import ServedCall
from xmcp.server.error_repairs import sendable_error
from xmcp.server.errors import XMCPError
from xmcp.server.lone_surrogates import sendable, sendable_block, without_lone_surrogates
from xmcp.server.responses.capability import Reader
from xmcp.server.responses.display_text import DATA, DISPLAY_TEXT, read_by
from xmcp.server.responses.failures import carried_tool_name
from xmcp.server.responses.listed_data import is_in_text, is_unlisted
from xmcp.server.responses.mcp_results import (
    MAX_ALTERNATIVE,
    PERHAPS_NOT_SHOWN,
    alternative_block,
    attributes_of,
    document_in,
    is_about_values,
    is_document,
    is_for_the_user,
    is_models_text,
    other_blocks,
    others_meta,
    response_from,
    result_of,
    text_block,
)
from xmcp.server.responses.relayed_results import as_if_ours
from xmcp.wire import (
    ErrorInfo,
    ToolResponse,
    check_error,
    check_server_populated,
    display_faults,
    dump_json,
    encode,
)
from xmcp_models.registry import (
    DISPLAY_META_KEY,
    ERROR_META_KEY,
    POPULATED_META_KEY,
    RESULT_META_KEY,
    VERSION,
)

MAX_MESSAGE: Final = 2000  # characters of the message of an error that was raised
MAX_RESULT_MESSAGE: Final = 50_000  # characters of the message of an error that is a tool's result
_JSON: Final = "application/json"
_FORMATS_OF_DATA: Final = frozenset({_JSON, "application/xml"})
_SHORT_MEMBERS: Final = ("error_id", "side_effects", "recovery")
SHORT_MESSAGE: Final = 500  # characters of the message of an error that is larger than the client reads
MAX_VALUE: Final = 1_300  # characters of a value that a model is told, as JSON: 200 of a text, all escaped, and more


def deliver(call: ServedCall, result: ToolResult, reader: Reader) -> tuple[ToolResult, ErrorInfo | None]:
    """Return what the client is sent for `result`, made by a tool or by any middleware, and the error in it.

    The document of a proxied XMCP server is passed on as it is to a client that reads documents; if the tool has
    another name here, it is written anew.

    Raises:
        XMCPError: `INVALID_XML`: the result claims to be a document, and cannot be decoded. `RESULT_TOO_LARGE`: the
            document is larger than the client accepts (XMCP-RSP-081, XMCP-MCP-014).
        ValueError: The author built an error, a display or the like that a server must not send.
    """
    tool_name = carried_tool_name(call.tool_name)
    result = as_if_ours(result)
    if call.wants_display:
        result = read_by(result, declared=reader.declared)
    response = response_from(tool_name, result)
    if is_document(result):
        if response.tool_name == tool_name and reader.documents:
            return _with_document(document_in(result), response, result, reader)
        response = replace(response, tool_name=tool_name)
    else:
        response = _without_unrequested_display(response, call)
    if response.display is not None and response.llm_output is not None and not reader.declared:
        response = _perhaps_not_shown(response)
    if not reader.documents:
        return _plain(response, result, reader), response.error
    if not is_document(result):
        response = _with_note(response, [block for block in other_blocks(result) if not is_for_the_user(block)])
    # A document of another server is not checked against the rules for emitters.
    return _with_document(encode(response, check=not is_document(result)), response, result, reader)


def deliver_error(
    call: ServedCall, error: ErrorInfo, server_populated: Mapping[str, Any] | None, reader: Reader
) -> tuple[ToolResult, ErrorInfo | None]:
    """Return what the client is sent for a call that failed with `error`, and that error as it is sent.

    `server_populated` is the object about the parameters that the server had filled in.

    Raises:
        ValueError, TypeError: As `deliver`.
    """
    response = ToolResponse(
        carried_tool_name(call.tool_name), error=_cut(error, MAX_MESSAGE), server_populated=server_populated
    )
    native = ToolResult(content=[])
    if not reader.documents:
        return _plain(response, native, reader), response.error
    return _with_document(encode(response), response, native, reader)


def _without_unrequested_display(response: ToolResponse, call: ServedCall) -> ToolResponse:
    """Return `response` without a display that the caller did not ask for (XMCP-DSP-021), wherever it comes from."""
    if response.error is not None:
        response = replace(response, error=_cut(response.error, MAX_RESULT_MESSAGE))
    if response.display is None or call.wants_display:
        return response
    return replace(response, display=None, llm_output="" if _is_empty(response) else response.llm_output)


def _perhaps_not_shown(response: ToolResponse) -> ToolResponse:
    """Return `response` with the truth for a model whose client did not say that it shows displays (XMCP-DSP-025)."""
    if PERHAPS_NOT_SHOWN in (response.llm_output or ""):  # in the document of a server behind this one
        return response
    format_ = None if response.format in _FORMATS_OF_DATA else response.format
    return replace(response, llm_output=f"{response.llm_output}\n{PERHAPS_NOT_SHOWN}", format=format_)


def _is_empty(response: ToolResponse) -> bool:
    return response.llm_output is None and response.error is None


def _with_note(response: ToolResponse, blocks: Sequence[ContentBlock]) -> ToolResponse:
    """Return `response` with a sentence for the model that says which content is attached: many hosts show it none.

    A client that declared the extension gets it too: no check looks at what it tells its model (XMCP-CLI-131).
    """
    counted = Counter(map(_kind, blocks))
    if not counted or response.error is not None:
        return response
    listed = ", ".join(f"{n} × {kind}" for kind, n in counted.items())
    note = f"Attached: {listed}. {'It' if counted.total() == 1 else 'They'} may not be visible to you."
    return replace(response, llm_output="\n\n".join(filter(None, [response.llm_output, note])), format=None)


def _kind(block: ContentBlock) -> str:
    match block:
        case ImageContent() | AudioContent():
            return f"{block.type} ({block.mime_type})"
        case EmbeddedResource():
            return "resource" + (f" ({block.resource.mime_type})" if block.resource.mime_type else "")
        case _:
            return "resource link"


def _cut(error: ErrorInfo, most: int) -> ErrorInfo:
    error = sendable_error(error)
    if len(error.message) <= most:
        return error
    return replace(error, message=f"{error.message[: most - 1]}…")


def _with_document(
    document: str, response: ToolResponse, native: ToolResult, reader: Reader
) -> tuple[ToolResult, ErrorInfo | None]:
    most = reader.max_bytes
    if len(document) * 4 > most and (size := len(document.encode())) > most:  # a character has at most four bytes
        if response.error is not None:
            # The client must learn what failed, however little it reads (XMCP-MCP-051): this always fits.
            response = ToolResponse(response.tool_name, error=_shortened(response.error))
            return _with_document(encode(response), response, ToolResult(content=[]), Reader(documents=True))
        message = f"The result has {size:,} bytes as a document; {most:,} can be sent. Ask for less of it at once."
        raise XMCPError("RESULT_TOO_LARGE", message, meta={"params": {"bytes": size, "limit": most}})
    content = [text_block(document), *map(sendable_block, other_blocks(native))]
    mark = {RESULT_META_KEY: {"version": VERSION, "form": "document"}}
    return _result(content, response, native, reader, mark), response.error


def _shortened(error: ErrorInfo) -> ErrorInfo:
    """Return an error with the beginning of its message, and of its `meta` what is short and a client acts on."""
    kept = {name: value for name, value in (error.meta or {}).items() if name in _SHORT_MEMBERS}
    if not isinstance(kept.get("error_id", ""), str) or len(kept.get("error_id", "")) > SHORT_MESSAGE // 4:
        del kept["error_id"]
    return _cut(replace(error, meta=kept or None), SHORT_MESSAGE)


def _plain(response: ToolResponse, native: ToolResult, reader: Reader) -> ToolResult:
    """Return plain MCP, with error, display and server-filled parameters in `_meta`."""
    error, display, server_populated = response.error, response.display, response.server_populated
    meta: dict[str, Any] = {}
    if error is not None:
        check_error(error)
        members = {name: value for name, value in asdict(error).items() if value is not None}
        meta[ERROR_META_KEY] = _json(members, "error")
    if display is not None:
        envelope = display.to_dict()
        if fault := next(display_faults(envelope), None):
            raise ValueError(f"display: {fault}")
        meta[DISPLAY_META_KEY] = _json(envelope, "display")
    if server_populated is not None:
        check_server_populated(server_populated)
        meta[POPULATED_META_KEY] = _json(dict(server_populated), "server_populated")
    marks: dict[str, Any] = {name: True for name in ("truncated", "lossy") if getattr(response, name)}
    if error is not None:
        content = _error_content(error, native)
    elif is_document(native):
        content = [text_block(response.llm_output or ""), *map(sendable_block, other_blocks(native))]
    else:
        given = [block for block in native.content if not is_about_values(block)]
        content = [*map(sendable_block, given)]  # already plain MCP, in the author's order
        if any(sent is not block for sent, block in zip(content, given, strict=True)):
            marks["lossy"] = True
        if display is not None and not reader.declared:
            content.append(text_block(PERHAPS_NOT_SHOWN))
            if attributes_of(native).get(DISPLAY_TEXT) == DATA:
                marks[DISPLAY_TEXT] = DATA  # a server that passes the result on may know a client that shows displays
    # What goes from `_meta` into the content is taken as it is sent there: without lone surrogates.
    if error is None and server_populated is not None:
        content.append(_values_block(meta[POPULATED_META_KEY]))
    if (alt := meta.get(DISPLAY_META_KEY, {}).get("alt")) and not _says(content, alt):
        content.append(alternative_block(alt))
    if response.format == _JSON and is_in_text(native) and not reader.declared:
        # A client that declared the extension is not known over HTTP without sessions: it finds the data in the text.
        marks["format"] = _JSON
    meta[RESULT_META_KEY] = {"version": VERSION, "form": "plain", **marks}
    return _result(content, response, native, reader, meta)


def _says(content: Sequence[ContentBlock], alternative: str) -> bool:
    """Tell whether the text for the model, or a block for the user, says what the `alt` of a display says."""
    for_the_user = (block.text for block in content if isinstance(block, TextContent) and is_for_the_user(block))
    own = "\n".join(block.text for block in content if is_models_text(block))
    return alternative in own or any(text.startswith(alternative[:MAX_ALTERNATIVE]) for text in for_the_user)


def _values_block(server_populated: Mapping[str, Any]) -> TextContent:
    """Return the block that tells a model what the server filled in (XMCP-MCP-048)."""
    values = {
        name: dump_json(value, "server_populated")[0] for name, value in server_populated.get("values", {}).items()
    }
    told = [f"{name} = {_cut_value(value)}" for name, value in values.items()]
    told += [f"{name} (not disclosed)" for name in server_populated.get("redacted", ())]
    told += [f"{name} (what you sent was not used)" for name in server_populated.get("overridden", ())]
    text = f"Filled in by the server: {', '.join(told)}."
    return TextContent(type="text", text=text, _meta={POPULATED_META_KEY: True})


def _cut_value(value: str) -> str:
    return value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}…"


def _error_content(error: ErrorInfo, native: ToolResult) -> list[ContentBlock]:
    """Return the content of `native` in its order, with the error in the place of its first text."""
    text = text_block(without_lone_surrogates(_error_text(error)))
    texts = [at for at, block in enumerate(native.content) if is_models_text(block)]
    if not texts or is_document(native):
        return [text, *map(sendable_block, other_blocks(native))]
    before, after = native.content[: texts[0]], native.content[texts[0] :]
    others = (block for block in after if not is_models_text(block))
    return [*map(sendable_block, before), text, *map(sendable_block, others)]


def _error_text(error: ErrorInfo) -> str:
    """Return an error as text for a model, for clients that read no documents."""
    after = "" if error.retry_after_ms is None else f", after {error.retry_after_ms / 1000:g} s"
    error_id = (error.meta or {}).get("error_id")
    reference = f" (error id {error_id})" if error_id is not None else ""
    return f"{error.code}{f' (retryable{after})' if error.retryable else ''}: {error.message}{reference}"


def _json(value: dict[str, Any], where: str) -> Any:
    """Return `value` in the types that JSON has, as the document would carry it (spec section 2.4)."""
    return json.loads(dump_json(value, where)[0])


def _result(
    content: list[ContentBlock], response: ToolResponse, native: ToolResult, reader: Reader, meta: dict[str, Any]
) -> ToolResult:
    structured = None if is_unlisted(native) and not reader.declared else native.structured_content
    # What is in the result of a failure came from its author: the server itself adds no data (XMCP-MCP-004).
    return result_of(
        content,
        sendable(structured),
        {**sendable(others_meta(native)), **meta},
        is_error=response.error is not None,
    )
