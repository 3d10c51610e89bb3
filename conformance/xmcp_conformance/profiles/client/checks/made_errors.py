"""The check of what an error that the client makes says of the call: what changed, and whether a retry helps (11.4)."""

from __future__ import annotations

from typing import Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import ModelCall

_UNMADE: Final = {
    "VALIDATION_FAIL": "XMCP-CLI-010",
    "UNKNOWN_TOOL": "XMCP-CLI-011",
    "DEPENDENCY_FAILED": "XMCP-CLI-035",
    "FORBIDDEN": "XMCP-CLI-081",
    "MISSING_SERVER_PARAM": "XMCP-CLI-083",
    "RATE_LIMIT": "XMCP-CLI-105",
}
"""The code of a call that was not made, and the sentence about it."""
_UNANSWERED: Final = {
    ("late", "TIMEOUT"): "XMCP-CLI-041",
    ("lost", "CONNECTION_FAILED"): "XMCP-CLI-125",
}
"""The outcome and the code of a call of which nobody knows what it changed, and the sentence about it."""
_FINAL: Final = ("INVALID_XML", *(code for code in _UNMADE if code != "RATE_LIMIT"))
"""Codes for which the registry has that a retry does not help."""


@check(*_UNMADE.values(), *_UNANSWERED.values(), "XMCP-MCP-012", profile="client")
def _what_a_made_error_says(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        reply = call.reply
        id_ = _sentence(trace, call)
        if id_ is None or reply is None or reply.error is None:
            continue
        meta = reply.error.meta if isinstance(reply.error.meta, dict) else {}
        said, made = meta.get("side_effects"), bool(call.attempts)
        wrong = said == "none" if made else said not in (None, "none")
        if id_ != "XMCP-MCP-012":
            seen = f"{call}, which {'was made' if made else 'was not made'}, is answered by {call.code} with {said}"
            yield either(id_, not wrong, seen, "`unknown`" if made else "`none`", where=call.turn.next_at)
        if call.code in _FINAL:
            seen = f"{call} is answered by {call.code} as an error that is retryable"
            yield either(id_, reply.error.retryable is not True, seen, "one that is not", where=call.turn.next_at)


def _sentence(trace: TraceIndex, call: ModelCall) -> str | None:
    """Return the sentence about an error that the client surely made itself; `None` where nobody knows."""
    code, last = call.code or "", call.attempts[-1] if call.attempts else None
    if call.meta or call.turn.cut or trace.may_share(call):
        return None
    if last is None:
        return _UNMADE.get(code) if call.source is None and code in permitted_codes(trace, call) else None
    if last.answered is not None and not last.answered.readable and code == "INVALID_XML":
        return "XMCP-MCP-012"
    return _UNANSWERED.get((last.outcome or "", code))
