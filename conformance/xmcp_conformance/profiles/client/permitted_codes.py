"""The error codes that a client may use when it answers a call itself, without asking a server (chapter 11)."""

from __future__ import annotations

from . import expected_injections
from .messages import is_beyond_a_double, required_names
from .trace_index import TraceIndex
from .trace_model import Attempt, ModelCall

CUT_SHORT = ("CANCELLED", "TIMEOUT")
"""The codes of calls that did not finish because the chat was cut off."""


def permitted_codes(trace: TraceIndex, call: ModelCall) -> set[str]:
    """Return the error codes that the specification allows for a call that the client does not send to a server.

    Several codes can be allowed for one call. A code is included if the trace has a reason for it. `CIRCUIT_OPEN` is
    allowed where a circuit breaker can have held back the call, or another attempt of it: whether one is open at this
    moment is not examined.
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
    given = {**trace.setup.params, **call.turn.chat.began.params}
    if any(name in required and value is None for name, value in given.items()):
        codes.add("MISSING_SERVER_PARAM")
    if has_unusable_dependency(trace, call) or call.turn.is_open:
        codes.add("DEPENDENCY_FAILED")
    if may_be_held_back(trace, call):
        codes.add("CIRCUIT_OPEN")
    if trace.setup.quota_tokens:
        codes.add("QUOTA_EXCEEDED")
    if call.turn.cut:
        codes.update(CUT_SHORT)
    return codes


def had_to_be_refused(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether a client must not make a call, by what the trace shows of the call, whatever the model got for it.

    What the model got instead is judged by the sentence that forbids the call.
    """
    approved = trace.approval_of(call)
    denied = trace.setup.approval and approved is not None and not approved.answer
    unusable = call.arguments is None or not call.offered or is_above_limit(trace, call)
    return unusable or denied or has_unusable_dependency(trace, call)


def may_be_held_back(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether an open circuit breaker can have answered a call, in the place of an attempt that was allowed."""
    if trace.setup.breaker_threshold is None:
        return False
    last = call.attempts[-1] if call.attempts else None
    return last is None or (len(call.attempts) < trace.setup.max_attempts and may_follow(call, last))


def may_follow(call: ModelCall, before: Attempt) -> bool:
    """Return whether a client can make another attempt of a call by itself after this one (XMCP-ERR-040)."""
    harmless = call.tool is not None and (call.tool.read_only or call.tool.idempotent)
    if before.outcome == "unreachable":
        return True
    if before.outcome == "error":
        return before.error.get("retryable") is True and (harmless or before.error.get("side_effects") == "none")
    # The client decides what error a lost call is; a result is not an error.
    is_result = before.outcome == "ok" and before.answered is not None and before.answered.readable
    return harmless and not is_result


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
