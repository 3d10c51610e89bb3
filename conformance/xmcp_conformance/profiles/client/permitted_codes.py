"""The error codes with which a client may answer a call itself (chapter 11). Several reasons can apply to one call."""

from __future__ import annotations

from . import injection
from .trace_index import TraceIndex
from .trace_model import INSTANT, ModelCall

CUT_SHORT = ("CANCELLED", "TIMEOUT")


def permitted_codes(trace: TraceIndex, call: ModelCall) -> set[str]:
    """Return the codes with which the specification allows a client to answer a call without making it.

    Only reasons that a trace shows count. Whether a circuit breaker can be open is not examined.
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


def depends_in_vain(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether a dependency failed, or its value does not fit, so that the call cannot be made."""
    return bool(injection.failed_dependencies(call)) or bool(unfit_parameters(trace, call))


def unfit_parameters(trace: TraceIndex, call: ModelCall) -> list[str]:
    """Return the parameters for which no value of a dependency fits the schema."""
    values = injection.expected_values(trace, call)
    return injection.without_fitting_value(call, values) if values else []


def was_cut_short(call: ModelCall) -> bool:
    """Return whether the chat was cut off before the client could use the last answer of the server."""
    if not call.turn.cut or call.code not in CUT_SHORT:
        return False
    last = call.attempts[-1] if call.attempts else None
    if last is None or not last.was_answered or last.error.get("retryable") is True:
        return True
    return last.ended >= call.turn.chat.over - INSTANT
