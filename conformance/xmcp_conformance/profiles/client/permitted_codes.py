"""Why a client can answer a call itself, and with which code (chapter 11). Several grounds can meet in one call."""

from __future__ import annotations

from . import injection
from .trace_index import TraceIndex
from .trace_model import INSTANT, Call

CUT_SHORT = ("CANCELLED", "TIMEOUT")


def grounds(trace: TraceIndex, call: Call) -> set[str]:
    """The codes with which the specification lets a client answer a call without making it.

    Only grounds that a trace shows are here. Whether a circuit breaker can be open is not looked into.
    """
    codes: set[str] = set()
    if call.arguments is None:
        codes.add("VALIDATION_FAIL")
    if not call.offered:
        codes.add("UNKNOWN_TOOL")
    approved = trace.approval_of(call)
    if trace.setup.approval and (approved is None or not approved.answer):
        codes.add("FORBIDDEN")
    if depends_in_vain(trace, call) or call.turn.is_open:
        codes.add("DEPENDENCY_FAILED")
    if trace.setup.breaker_threshold is not None:
        codes.add("CIRCUIT_OPEN")
    if trace.setup.quota_tokens:
        codes.add("QUOTA_EXCEEDED")
    if call.turn.cut:
        codes.update(CUT_SHORT)
    return codes


def depends_in_vain(trace: TraceIndex, call: Call) -> bool:
    """Whether nothing that a call could be made with was handed on."""
    return bool(injection.failed_tools(call)) or bool(misfits(trace, call))


def misfits(trace: TraceIndex, call: Call) -> list[str]:
    """The parameters for which a predecessor has a value that does not fit."""
    values = injection.due(trace, call)
    return injection.misfits(call, values) if values else []


def was_cut_short(call: Call) -> bool:
    """Whether the chat ended before the client could make anything of what a server had answered last."""
    if not call.turn.cut or call.code not in CUT_SHORT:
        return False
    last = call.attempts[-1] if call.attempts else None
    if last is None or not last.was_answered or last.error.get("retryable") is True:
        return True
    return last.ended >= call.turn.chat.over - INSTANT
