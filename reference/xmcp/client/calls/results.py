"""From what a server returned to one `ToolResponse` (semantics 23, spec chapter 6), and our own errors. Pure.

Only the text of a server that announced the extension is read as a document, unless `_meta` says that the result
is plain. From any other server text is text, and `_meta` nothing that is read.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from xmcp.chat.errors import CircuitOpenError, QuotaExceeded
from xmcp.wire import DecodeError, ErrorInfo, ToolResponse, decode
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, PLAIN_META_KEY, POPULATED_META_KEY

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_NAMES: Final = 50
"""So many tool names an error lists for the model."""

MAX_COMPARED: Final = 200
"""So many names are compared with one that there is not."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A response, the document it was read from if there was a readable one, and MCP's structured content."""

    response: ToolResponse
    document: str | None = None
    structured: Any = None


def read(result: CallToolResult, tool_name: str, *, speaks_xmcp: bool) -> Reading:
    """What `result` says. Of a document that cannot be read nothing is passed on but the kind of fault."""
    meta = result.meta or {}
    if not speaks_xmcp:
        reading = Reading(_read_plain(result, tool_name))
    elif PLAIN_META_KEY in meta:
        reading = Reading(_read_members(result, tool_name, meta))
    else:
        reading = _read_document(result, tool_name)
    return replace(reading, structured=None if reading.response.error else result.structured_content)


def failed(tool_name: str, error: ErrorInfo) -> Reading:
    """The response to a call that failed on our side."""
    return Reading(ToolResponse(tool_name, error=error))


def unknown_tool(name: str, known: Collection[str]) -> ErrorInfo:
    """The model named a tool that is not there: what there is, likely ones first."""
    # Comparing takes time for each name: of very many only those are compared that begin alike.
    compared = known if len(known) <= MAX_COMPARED else [n for n in known if n[:2] == name[:2]][:MAX_COMPARED]
    likely = difflib.get_close_matches(name, compared, n=3)
    names = [*likely, *(n for n in known if n not in likely)][:MAX_NAMES]
    offer = f" There are: {', '.join(names)}." if names else " There are no tools."
    return ErrorInfo(
        "UNKNOWN_TOOL",
        f"There is no tool named {name!r}.{offer}",
        meta={"side_effects": "none", "params": {"names": names}},
    )


def timed_out(seconds: float) -> ErrorInfo:
    """The call took longer than the client allows."""
    return ErrorInfo(
        "TIMEOUT",
        f"The call did not end within {seconds:g} s and was cancelled.",
        meta={"side_effects": "unknown", "params": {"seconds": seconds}},
    )


def circuit_open(exc: CircuitOpenError) -> ErrorInfo:
    """The server failed so often that its calls are held back; nothing was sent."""
    return ErrorInfo(
        "CIRCUIT_OPEN",
        f"The server {exc.server} failed several times in a row; calls are held back for {exc.retry_after:.0f} s.",
        retry_after_ms=max(1, round(exc.retry_after * 1000)),
        meta={"side_effects": "none"},
    )


def cancelled(tool_name: str) -> Reading:
    """The call was ended before there was a result."""
    message = "The call was cancelled before it ended."
    return failed(tool_name, ErrorInfo("CANCELLED", message, meta={"side_effects": "unknown"}))


def crashed(tool_name: str, error_id: str, *, made: bool = False) -> Reading:
    """A fault of ours or of a hook: the model learns that it happened, whether the server was asked, and no more."""
    message = "The client failed while it made this call." if made else "The client failed to make this call."
    meta = {"error_id": error_id, "side_effects": "unknown" if made else "none"}
    return failed(tool_name, ErrorInfo("INTERNAL", message, meta=meta))


def chat_timed_out(tool_name: str) -> Reading:
    """The time of the whole chat was over before there was a result."""
    message = "The time for this conversation was over before the call ended; it was cancelled."
    return failed(tool_name, ErrorInfo("TIMEOUT", message, retryable=False, meta={"side_effects": "unknown"}))


def not_made(tool_name: str, quota: QuotaExceeded) -> Reading:
    """A quota of the tenant stopped the chat at this call."""
    message = "The call was not made: a quota is used up."
    params = {"quota": quota.quota} if quota.quota else None
    meta = {"side_effects": "none", **({"params": params} if params else {})}
    return failed(tool_name, ErrorInfo("QUOTA_EXCEEDED", message, meta=meta))


def _read_document(result: CallToolResult, tool_name: str) -> Reading:
    first = result.content[0] if result.content else None
    if first is None or first.type != "text":
        return failed(tool_name, ErrorInfo("INVALID_XML", "The server's response has no document."))
    try:
        response = decode(first.text, bad_display="drop")
    except DecodeError as exc:
        error = ErrorInfo(
            "INVALID_XML",
            f"The server's response could not be read ({exc.kind}).",
            meta={"params": {"kind": str(exc.kind), "line": exc.line, "column": exc.column}},
        )
        return failed(tool_name, error)
    if result.is_error and response.error is None:
        return Reading(ToolResponse(tool_name, error=_told(response.llm_output or ""), display=response.display))
    # A display that was left out stands in the text still; the model is given the response as it was taken.
    left_out = response.display is None and "<display" in first.text
    return Reading(response, None if left_out else first.text)


def _read_members(result: CallToolResult, tool_name: str, meta: Mapping[str, Any]) -> ToolResponse:
    """A plain result of an XMCP server: what text cannot say stands in `_meta` (spec section 6.3)."""
    response, filled, warnings = _read_plain(result, tool_name), meta.get(POPULATED_META_KEY), []
    error = response.error
    if error is not None and isinstance(told := meta.get(ERROR_META_KEY), Mapping):
        known = {name: told[name] for name in ErrorInfo.__dataclass_fields__ if name in told}
        try:
            error = ErrorInfo(**{"retryable": False, **known})
        except (TypeError, ValueError) as fault:
            warnings.append(f"the error in `_meta` is none: {fault}")
    display = meta.get(DISPLAY_META_KEY)
    try:
        ToolResponse(tool_name, display=display)
    except (TypeError, ValidationError):
        display = None
        warnings.append("the display was dropped: it is no display envelope")
    return ToolResponse(
        tool_name,
        llm_output=response.llm_output,
        error=error,
        display=display,
        server_populated=filled if isinstance(filled, Mapping) else None,
        warnings=tuple(warnings),
    )


def _read_plain(result: CallToolResult, tool_name: str) -> ToolResponse:
    text = "\n".join(_block_text(block) for block in result.content)
    if result.is_error:
        return ToolResponse(tool_name, error=_told(text))
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    return ToolResponse(tool_name, llm_output=text)


def _told(text: str) -> ErrorInfo:
    return ErrorInfo("TOOL_ERROR", text.strip() or "The tool reported a failure without saying what.")


def _block_text(block: ContentBlock) -> str:
    """Text as it is; of anything else a note that it was there, since a chat message cannot carry it."""
    if block.type == "text":
        return block.text
    if block.type == "resource":
        resource: Any = block.resource
        return getattr(resource, "text", None) or f"[resource {resource.uri}]"
    if block.type == "resource_link":
        return f"[resource {block.uri}]"
    return f"[{block.type} {block.mime_type}]"
