"""Checks of section 11.2: the calls that the model wrote, their arguments, and the handling of invalid ones."""

from __future__ import annotations

from typing import Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client import expected_injections
from xmcp_conformance.profiles.client.checks.cache import is_cacheable
from xmcp_conformance.profiles.client.messages import compact, is_beyond_a_double, same
from xmcp_conformance.profiles.client.permitted_codes import had_to_be_refused, is_above_limit, permitted_codes
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import ModelCall


@check("XMCP-CLI-010", profile="client")
def _invalid_arguments_refused(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.arguments is None:
            yield from _refused(
                trace, call, "XMCP-CLI-010", "VALIDATION_FAIL", "whose arguments are not one JSON object"
            )


@check("XMCP-CLI-011", profile="client")
def _unknown_tool_refused(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if not call.offered:
            yield from _refused(trace, call, "XMCP-CLI-011", "UNKNOWN_TOOL", "which was not offered")


@check("XMCP-CLI-105", profile="client")
def _calls_above_the_limit_refused(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if is_above_limit(trace, call):
            why = f"which is above the limit of {trace.setup.max_calls_per_turn} calls in a turn"
            yield from _refused(trace, call, "XMCP-CLI-105", "RATE_LIMIT", why)


def _refused(trace: TraceIndex, call: ModelCall, id_: str, code: str, why: str) -> Observations:
    """Judge that a call was not made and that the model got one of the permitted error codes."""
    if call.sent:
        yield broken(id_, f"a server was called for {call}, {why}", f"{code}, and no call", where=call.sent[0].at)
    elif call.reply is not None:  # what is no document is blamed by XMCP-CLI-003
        seen = f"{call}, {why}, is answered by {call.came_to}"
        yield either(id_, call.code in permitted_codes(trace, call), seen, code, where=call.turn.next_at)


_FOR_ITS_CONTENTS = ("VALIDATION_FAIL", "DEPENDENCY_FAILED", "FORBIDDEN", "MISSING_SERVER_PARAM", "RATE_LIMIT")
"""Codes with which a client refuses a call for what is in it."""


def is_kept_from_its_server(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether a client refused a call by itself because its arguments do not fit the schema of the tool.

    They do not, and the error is one for arguments, or one that says nothing of its cause. The server has to judge them
    (section 11.2), also where other calls of the turn failed.
    """
    if call.attempts or call.tool is None or call.code not in _FOR_MISFITS or call.turn.cut:
        return False
    if expected_injections.values_that_lack(trace, call):
        return False  # XMCP-CLI-083
    return call.code not in permitted_codes(trace, call) and not expected_injections.fit_the_schema(trace, call)


_FOR_MISFITS: Final = ("VALIDATION_FAIL", "TOOL_ERROR")


@check("XMCP-CLI-012", profile="client")
def _misfits_are_sent(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.code not in _FOR_ITS_CONTENTS and call.source is None and is_kept_from_its_server(trace, call):
            seen = (
                f"{call}, whose arguments do not fit the schema, is answered by {call.came_to}, and no server was asked"
            )
            yield broken(
                "XMCP-CLI-012", seen, "a call of its server, which judges the arguments", where=call.turn.next_at
            )


@check("XMCP-CLI-012", "XMCP-CLI-030", "XMCP-CLI-031", profile="client")
def _not_refused_without_a_cause(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.tool is None or call.meta or call.attempts or call.source is not None or call.code is None:
            continue
        if call.code not in _FOR_ITS_CONTENTS or call.code in permitted_codes(trace, call) or call.turn.cut:
            continue
        if trace.may_share(call) or any(_waited_for(trace, call, other) for other in call.turn.calls if other.attempts):
            continue
        if call.code == "DEPENDENCY_FAILED" and not expected_injections.can_be_checked(call.tool):
            continue  # a client that can check the schema does
        if call.code == "DEPENDENCY_FAILED" and any(map(expected_injections.failed, call.turn.calls[: call.place])):
            continue  # XMCP-CLI-022
        seen = f"{call} is answered by {call.came_to}, and no server was asked"
        values = (expected_injections.expected_values(trace, call) or {}) if call.code == "DEPENDENCY_FAILED" else {}
        of_members = [value.right.member for value in values.values()]
        blamed = "XMCP-CLI-012" if not values else "XMCP-CLI-030" if any(of_members) else "XMCP-CLI-031"
        yield broken(blamed, seen, "a call of its server, which judges the arguments", where=call.turn.next_at)


@check("XMCP-CLI-123", profile="client")
def _calls_of_last_and_cut_answers_made(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        is_last = turn.number >= trace.setup.max_turns and not turn.went_on
        failed = turn.chat.ended is not None and turn.chat.ended.failure is not None
        if turn.next is None or turn.cut or failed or not (is_last or turn.said.finish):
            continue
        answer = "the last answer" if is_last else f"an answer that ended with `{turn.said.finish}`"
        for call in turn.calls:
            if not (call.meta or call.unclear):
                made = bool(call.attempts) or call.source is not None or call.code in permitted_codes(trace, call)
                made = made or had_to_be_refused(trace, call) or is_kept_from_its_server(trace, call)
                made = made or any(_waited_for(trace, call, other) for other in turn.calls if other.attempts)
                seen = f"{call}, in {answer}, was not made"
                yield either("XMCP-CLI-123", made, seen, "its calls, as those of any other", where=turn.next_at)


def _waited_for(trace: TraceIndex, call: ModelCall, other: ModelCall) -> bool:
    """Return whether a call can have got the failure of an equal one that was made (section 11.5)."""
    if not trace.setup.cache or call.tool is None or call.tool != other.tool or not is_cacheable(trace, call.tool):
        return False
    equal = bool(call.tag) and call.tag == other.tag and same(call.arguments, other.arguments)
    return equal and call.code == other.code


@check("XMCP-CLI-012", profile="client")
def _arguments_sent_unchanged(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.tool is None or call.arguments is None or is_beyond_a_double(call.arguments):
            continue
        elsewhere = {*trace.setup.params, *_injectable_parameters(trace, call)}
        written = {name: value for name, value in call.arguments.items() if name not in elsewhere}
        for attempt in call.sent:
            given = {name: value for name, value in attempt.arguments.items() if name not in elsewhere}
            seen = f"{call} went out with {quoted(compact(given))}"
            yield either("XMCP-CLI-012", same(given, written), seen, quoted(compact(written)), where=attempt.at)


def _injectable_parameters(trace: TraceIndex, call: ModelCall) -> set[str]:
    """Return the parameters that can be injected from a dependency."""
    values = expected_injections.expected_values(trace, call)
    if values is not None:
        return set(values)
    return (
        set(expected_injections.fillable_parameters(trace, call.tool))
        if call.tool and expected_injections.dependencies_of(call)
        else set()
    )
