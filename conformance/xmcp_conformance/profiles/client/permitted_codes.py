"""The error codes that a client may use when it answers a call itself, without asking a server (chapter 11)."""

from __future__ import annotations

from . import expected_injections
from .messages import is_beyond_a_double, required_names
from .trace_index import TraceIndex
from .trace_model import ModelCall

CUT_SHORT = ("CANCELLED", "TIMEOUT")
"""The codes of calls that did not finish because the chat was cut off."""


def permitted_codes(trace: TraceIndex, call: ModelCall) -> set[str]:
    """Return the error codes that the specification allows for a call that the client does not send to a server.

    Several codes can be allowed for one call. A code is included if the trace has a reason for it. `CIRCUIT_OPEN` is
    allowed whenever the client has circuit breakers: whether one is open at this moment is not examined.
    """
    codes: set[str] = set()
    if call.arguments is None or is_beyond_a_double(call.arguments):
        codes.add("VALIDATION_FAIL")
    if not call.offered:
        codes.add("UNKNOWN_TOOL")
    if is_above_limit(trace, call):
        codes.add("RATE_LIMIT")
    approved = trace.approval_of(call)
    if trace.setup.approval and (approved is None or not approved.answer):
        codes.add("FORBIDDEN")
    required = required_names(call.tool.input_schema) if call.tool is not None else set()
    if any(name in required and value is None for name, value in trace.setup.params.items()):
        codes.add("MISSING_SERVER_PARAM")
    if has_unusable_dependency(trace, call) or call.turn.is_open:
        codes.add("DEPENDENCY_FAILED")
    if trace.setup.breaker_threshold is not None:
        codes.add("CIRCUIT_OPEN")
    if trace.setup.quota_tokens:
        codes.add("QUOTA_EXCEEDED")
    if call.turn.cut:
        codes.update(CUT_SHORT)
    return codes


def is_above_limit(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether there are as many calls before this one in its turn as the client makes."""
    limit = trace.setup.max_calls_per_turn
    return limit is not None and call.place >= limit


def has_unusable_dependency(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether the call cannot be made because a dependency failed or its value does not fit the schema."""
    return bool(expected_injections.failed_dependencies(call)) or bool(unfit_parameters(trace, call))


def unfit_parameters(trace: TraceIndex, call: ModelCall) -> list[str]:
    """Return the parameters that should get a value from a dependency, but whose schema allows none of the values."""
    values = expected_injections.expected_values(trace, call)
    return expected_injections.without_fitting_value(call, values) if values else []


def was_cut_short(call: ModelCall) -> bool:
    """Return whether the chat was cut off before the client could use the server's last answer to the call."""
    if not call.turn.cut or call.code not in CUT_SHORT:
        return False
    last = call.attempts[-1] if call.attempts else None
    if last is None or not last.was_answered or last.error.get("retryable") is True:
        return True
    return last.ended >= call.turn.chat.over - call.turn.chat.instant
