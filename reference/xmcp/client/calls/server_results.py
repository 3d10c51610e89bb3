"""Reading what a server returned as one `ToolResponse` (spec chapter 6). Pure.

Only the text of a server that announced the extension is read as a document, unless `_meta` says that the result
is plain. The text of any other server stays text, and its `_meta` is not read. `content_blocks` says which blocks are
for the model, whatever the server is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic_core import from_json, to_json

from xmcp.chat import client_made_errors
from xmcp.chat.json_schemas import validator
from xmcp.chat.json_values import object_as_json
from xmcp.client.calls import content_blocks
from xmcp.client.calls.foreign_errors import error_in
from xmcp.client.calls.worker_threads import rough_size_of
from xmcp.wire import (
    XML_WHITE_SPACE,
    DecodeError,
    DisplayEnvelope,
    ErrorInfo,
    ToolResponse,
    check_error,
    decode,
    encode,
)
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_FAULT: Final = 200
"""Maximum number of characters of a fault that a warning quotes: it has names that a server chose."""

ServerResult: TypeAlias = "CallToolResult"
"""What a server returned, before it is read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A response, the document it was read from if there was a readable one, and MCP's structured content."""

    response: ToolResponse
    document: str | None = None
    structured: Any = None


def read(result: ServerResult, tool_name: str, *, speaks_xmcp: bool) -> Reading:
    """Read a result. Nothing of a document that cannot be read is passed on but the kind of fault and its place."""
    meta = result.meta or {}
    member = meta.get(RESULT_META_KEY) if speaks_xmcp else None
    mark: Mapping[str, Any] = member if isinstance(member, Mapping) else {}
    plain = mark.get("form") == "plain"
    parts = content_blocks.divide([block for block in result.content if not (plain and _is_about_values(block))])
    if not speaks_xmcp:
        reading = Reading(_read_plain(result, tool_name, parts.text))
    elif plain:
        reading = Reading(_read_members(result, tool_name, parts.text, meta))
    else:
        reading = _read_document(result, tool_name)
    response, data = reading.response, result.structured_content
    response.for_person = tuple(shown for shown in parts.displays if not _repeats(shown, response.display))
    response.warnings += parts.warnings
    if data is None and mark.get("format") == _JSON:
        data = _object_in(parts.text)
    return replace(reading, structured=None if response.error else data)


_JSON: Final = "application/json"


def _is_about_values(block: ContentBlock) -> bool:
    """Return whether a block tells what the server filled in, which the response has anyway (XMCP-MCP-048)."""
    return (block.meta or {}).get(POPULATED_META_KEY) is True


def _object_in(text: str) -> dict[str, Any] | None:
    """Return the object in a text that a plain result calls JSON (spec section 6.3)."""
    try:
        data = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def rough_length(result: ServerResult) -> int:
    """Return about how many characters a result has: its blocks, and the data, the display and the like beside them.

    It counts data no further than `LARGE`.
    """
    blocks = sum(len(content_blocks.held(block)) for block in result.content)
    return blocks + rough_size_of([result.structured_content, result.meta])


def rough_size(reading: Reading) -> int:
    """Return about how many characters a response has for the model; as `rough_length`."""
    response = reading.response
    details = response.error and response.error.meta
    display = response.display and response.display.to_dict()
    text = len(reading.document or response.llm_output or "")
    return text + rough_size_of([display, details, response.server_populated])


def failed(tool_name: str, error: ErrorInfo) -> Reading:
    """Return the response to a call that failed on the client's side."""
    return Reading(ToolResponse(tool_name, error=error))


def _repeats(shown: DisplayEnvelope, display: DisplayEnvelope | None) -> bool:
    """Return whether a text for the person only repeats the display, whose `alt` other hosts are sent as a block."""
    alt = display.alt if display is not None else None
    return alt is not None and shown.type == "text" and alt.startswith(str(shown.payload))


def _read_document(result: CallToolResult, tool_name: str) -> Reading:
    first = result.content[0] if result.content else None
    if first is None or first.type != "text" or content_blocks.is_for_user_alone(first):
        return failed(tool_name, client_made_errors.no_document())
    try:
        response = decode(first.text, bad_display="drop")
    except DecodeError as exc:
        return failed(tool_name, client_made_errors.unreadable_document(str(exc.kind), exc.line, exc.column))
    if response.llm_output is None and response.error is None and response.display is None:
        # Only its display was left out, and without any part it could not be written for the model (XMCP-RSP-072).
        response.llm_output = ""
    if result.is_error and response.error is None:
        error = client_made_errors.tool_failed(response.llm_output or "")
        # `warnings` may say that a display was left out (XMCP-RSP-072).
        # Its text may have lost characters (XMCP-RSP-029).
        failure = ToolResponse(tool_name, error=error, display=response.display, lossy=response.lossy)
        return Reading(replace(failure, warnings=response.warnings))
    # The text still has a display that was dropped; the model must get the response without it.
    left_out = response.display is None and "<display" in first.text
    return Reading(response, None if left_out else first.text)


def _read_members(result: CallToolResult, tool_name: str, text: str, meta: Mapping[str, Any]) -> ToolResponse:
    """Read a plain result of an XMCP server: everything but its text is in `_meta` (spec section 6.3)."""
    response, filled, warnings = _read_plain(result, tool_name, text), meta.get(POPULATED_META_KEY), []
    error = response.error
    if (given := meta.get(ERROR_META_KEY)) is not None:  # a failure also where `isError` got lost on the way
        try:
            error = _with_writable_meta(_error_of(given))
        except (TypeError, ValueError) as fault:
            warnings.append(f"the error in `_meta` is not valid: {str(fault)[:MAX_FAULT]}")
    display = meta.get(DISPLAY_META_KEY)
    try:
        if display is not None:
            display = _writable(ToolResponse(tool_name, display=display)).display
    except (TypeError, ValueError):
        display = None
        warnings.append("the display was dropped: it is no display envelope")
    populated = None
    try:
        if filled is not None:
            populated = _writable(ToolResponse(tool_name, "", server_populated=filled)).server_populated
    except (TypeError, ValueError):
        warnings.append("the parameters that the server filled in were dropped: no document can hold them")
    return ToolResponse(
        tool_name,
        # Beside a display, an empty text counts as none (spec section 6.4).
        llm_output=None if error is not None else response.llm_output or (None if display is not None else ""),
        error=error,
        display=display,
        server_populated=populated,
        warnings=tuple(warnings),
    )


def _error_of(given: Any) -> ErrorInfo:
    """Return the error in `_meta`: without a code there is none, and any other member that is wrong counts as absent.

    So does one that no emitter may write, such as another category than that of the code (XMCP-ERR-010).

    Raises:
        TypeError, ValueError: it has no code of the form of spec section 4.1.
    """
    if not isinstance(given, Mapping):
        raise TypeError("it must be an object")
    code, said = given.get("code"), given.get("message")
    if not isinstance(code, str):
        raise TypeError("code must be a string")
    # A document has no error without words.
    error = ErrorInfo(code, said if isinstance(said, str) and said.strip(XML_WHITE_SPACE) else code, retryable=False)
    for name in ("category", "retryable", "retry_after_ms", "meta"):
        if given.get(name) is not None:
            with suppress(TypeError, ValueError):
                changed = replace(error, **{name: given[name]})
                if name != "meta":  # what is kept of that is decided member by member
                    check_error(changed)
                error = changed
    return error


def _with_writable_meta(error: ErrorInfo) -> ErrorInfo:
    """Return an error without the members of its `meta` that no document may have (spec section 6.4)."""

    def is_writable(meta: Mapping[str, Any]) -> bool:
        try:
            encode(ToolResponse("tool", error=replace(error, meta=meta)), check=False)
        except (TypeError, ValueError):
            return False
        return validator("error_meta").is_valid(object_as_json(meta))

    meta = error.meta or {}
    if is_writable(meta):
        return error
    return replace(error, meta={name: value for name, value in meta.items() if is_writable({name: value})})


def _writable(response: ToolResponse) -> ToolResponse:
    """Return a response from parts that came as JSON, if a document can hold it: the model reads one.

    Raises:
        TypeError, ValueError: it is nested too deeply, or has a number that JSON does not have.
    """
    encode(response, check=False)
    return response


def _read_plain(result: CallToolResult, tool_name: str, text: str) -> ToolResponse:
    structured = result.structured_content
    described = error_in(structured) if result.is_error else None
    if result.is_error and not text.strip(XML_WHITE_SPACE):
        text = ""  # white space is no message
    if not text and structured is not None:
        message = described.message if described is not None else ""
        if not _repeat_what_is_for_the_user(message or structured, result.content):
            text = message or _as_text(structured)
    if result.is_error:
        failure = client_made_errors.tool_failed(text)
        return ToolResponse(
            tool_name, error=failure if described is None else replace(described, message=failure.message)
        )
    return ToolResponse(tool_name, llm_output=text)


def _repeat_what_is_for_the_user(data: Any, blocks: Sequence[ContentBlock]) -> bool:
    """Return whether data contain what a block for the user alone says: MCP recommends to send data as text, too.

    If there are more such blocks than are shown, the answer is yes: each of them is looked for in all of the data.
    """
    alone = [content_blocks.held(block).strip() for block in blocks if content_blocks.is_for_user_alone(block)]
    if len(alone) > content_blocks.MAX_SHOWN:
        return True
    text = _comparable(json.loads(_as_text(data))) if any(alone) else ""
    return any(said and _is_said_in(text, said) for said in alone)


def _is_said_in(text: str, said: str) -> bool:
    """Return whether comparable JSON has `said` as a part of a text, or as an object or a list, however written."""
    if _comparable(said)[1:-1] in text:
        return True
    try:
        value = from_json(said)
    except ValueError:
        return False
    return isinstance(value, dict | list) and _comparable(value) in text  # a number can stand there by chance


def _comparable(value: Any) -> str:
    """Return a JSON value as text: the same text for equal values, and a part of it for a part of a text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _as_text(structured: Any) -> str:
    try:
        return to_json(structured).decode()  # takes a fifth of the time of `json.dumps`
    except ValueError:
        return json.dumps(structured)  # half of a surrogate pair, from a server in this process
