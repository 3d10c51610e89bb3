"""What the error in an event says, beside that of the document for the model or what became of a request (10.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.error_categories import CATEGORY_OF
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import SHORT, WHITE_SPACE
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import ModelCall
from xmcp_conformance.reader.checks.error_element import ErrorElement
from xmcp_conformance.reader.schemas import validator

_SIDE_EFFECTS: Final = ("none", "partial", "unknown")
_Fault = tuple[str, str] | None


def faults_of_error(error: Mapping[str, Any], call: ModelCall) -> Iterator[tuple[str, str]]:
    """Yield what is seen and what is expected where an event gives a call another error than its document."""
    told = call.reply.error if call.reply is not None else None
    if told is None or call.reply is None:
        return
    if error["code"] != told.code:
        yield f"the code {quoted(error['code'])}", f"{told.code}, as in the document for the model"
        return
    is_whole = "error" not in call.reply.lossy
    message = _message_besides(str(error.get("message")), told) if is_whole else None
    faults = (_category_besides(error.get("category"), told), message, _hint_besides(error, told))
    yield from (fault for fault in faults if fault is not None)


def _category_besides(category: str | None, told: ErrorElement) -> _Fault:
    if told.category is not None and category != told.category:
        return f"the category {quoted(str(category))}", f"{quoted(told.category)}, as in the document for the model"
    registered = CATEGORY_OF.get(told.code, "internal")
    if told.category is None and category not in (None, registered):
        return f"the category {quoted(str(category))}", f"{registered}, which a `{told.code}` has that says none"
    return None


def _message_besides(message: str, told: ErrorElement) -> _Fault:
    words = told.message.strip(WHITE_SPACE) or told.code
    if message != words and len(message) <= SHORT:
        return f"the message `{quoted(message)}`", f"`{quoted(words)}`, as in the document for the model"
    return None


def _hint_besides(error: Mapping[str, Any], told: ErrorElement) -> _Fault:
    """Return the first hint for a retry that is another one. What chapter 4 forbids can be lacking in the event."""
    if told.retryable is not None and error["retryable"] is not told.retryable:
        return f"`retryable` {error['retryable']}", f"{told.retryable}, as in the document for the model"
    wait = error.get("retry_after_ms")
    if wait != told.retry_after_ms and (told.retryable or wait is not None):
        return f"`retry_after_ms` {wait}", f"{told.retry_after_ms}, as in the document for the model"
    written = told.meta.get("side_effects") if isinstance(told.meta, Mapping) else None
    effects = (error.get("meta") or {}).get("side_effects")
    if effects != (written if written in _SIDE_EFFECTS else None):
        return f"`side_effects` {quoted(str(effects))}", f"{quoted(str(written))}, as in the document for the model"
    return None


@check("XMCP-REC-006", profile="client")
def _failures_name_the_network(trace: TraceIndex) -> Observations:
    """Judge the code of a chat whose model nobody could reach: which statuses are which other row is open."""
    for chat in trace.chats.values():
        closing = [(at, one.event) for at, one in chat.received if one.event.get("type") == "failed"]
        last = chat.turns[-1].said_at if chat.turns else -1
        if len(closing) != 1 or not validator("chat_event").is_valid(dict(closing[0][1])):
            continue
        if chat.ended is None or chat.ended.failure != "provider" or chat.cancelled is not None:
            continue
        kinds = {said.failure for at, said in chat.failed if at > last}
        at, code = closing[0][0], closing[0][1]["error"]["code"]
        if kinds == {"network"}:
            seen = f"an event `failed` with the code {quoted(code)}, after the connection to the model broke"
            ok = code == "UPSTREAM_UNAVAILABLE"
            yield either("XMCP-REC-006", ok, seen, "UPSTREAM_UNAVAILABLE", where=at)
