"""Checks of the values that a client injects: from dependencies (section 11.3) and from the application (11.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client import expected_injections
from xmcp_conformance.profiles.client.expected_injections import Expected, Value
from xmcp_conformance.profiles.client.messages import compact, parameter_names, required_names, same
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import ModelCall

from .dependencies import in_order

_MEMBER, _WHOLE, _NEAREST = "XMCP-CLI-030", "XMCP-CLI-031", "XMCP-CLI-032"
_REPLACES, _LAST, _UNNAMED = "XMCP-CLI-033", "XMCP-CLI-034", "XMCP-CLI-120"
# Injected is a member of a result (_MEMBER) or the whole result (_WHOLE), by a name, or the whole result of the only
# dependency (_UNNAMED). The nearest dependency (_NEAREST) and the last call of a tool (_LAST) have priority. The value
# replaces the argument that the model wrote (_REPLACES).
_MISSING = object()


@check(_MEMBER, _WHOLE, _NEAREST, _REPLACES, _LAST, _UNNAMED, profile="client")
def _injected_values(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        values = expected_injections.expected_values(trace, call)
        for attempt in call.sent:
            if values is None or not in_order(call, attempt) or expected_injections.failed_dependencies(call):
                continue
            for name, entry in values.items():
                if name not in expected_injections.without_fitting_value(call, {name: entry}):
                    given = attempt.arguments.get(name, _MISSING)
                    yield from _judged_parameter(call, attempt.at, name, given, entry)


def _judged_parameter(call: ModelCall, at: int, name: str, given: Any, entry: Expected) -> Observations:
    """Judge the value that one parameter got; a wrong value breaks the requirement that best explains it."""
    from_model = (call.arguments or {}).get(name, _MISSING)
    requirements = [_UNNAMED if entry.unnamed else _MEMBER if entry.by_member else _WHOLE]
    if entry.other_tools:
        requirements.append(_NEAREST)
    if entry.earlier_calls:
        requirements.append(_LAST)
    if from_model is not _MISSING and not same(from_model, entry.right.value):
        requirements.append(_REPLACES)
    if _is_among(given, [entry.right]):
        yield from (obeyed(id_, where=at) for id_ in requirements)
        return
    broken_id = requirements[0]
    if given is not _MISSING:
        if _REPLACES in requirements and same(given, from_model):
            broken_id = _REPLACES
        elif _is_among(given, entry.earlier_calls):
            broken_id = _LAST
        elif _is_among(given, entry.other_tools):
            broken_id = _NEAREST
    seen = f"`{name}` of {call} is {_shown(given)}"
    yield broken(broken_id, seen, f"{_shown(entry.right.value)}, from {entry.right.source}", where=at)


def _is_among(given: Any, values: Sequence[Value]) -> bool:
    return given is not _MISSING and any(same(given, value.value) for value in values)


def _shown(value: Any) -> str:
    return "absent" if value is _MISSING else f"`{quoted(compact(value))}`"


@check("XMCP-CLI-083", profile="client")
def _application_values_win(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        missing = _required_and_missing(trace, call)
        if missing and call.reply is not None and not call.sent:
            seen = f"{call}, whose tool requires `{missing[0]}`, is answered by {call.came_to}"
            ok = call.code in permitted_codes(trace, call)
            yield either("XMCP-CLI-083", ok, seen, "MISSING_SERVER_PARAM", where=call.turn.next_at)
        for attempt in call.sent:
            for name in _not_taken(trace, call) & attempt.arguments.keys():
                seen = f"`{name}` of {call} is {_shown(attempt.arguments[name])}"
                expected = "no value, for the application fills it in and the tool does not take it"
                yield broken("XMCP-CLI-083", seen, expected, where=attempt.at)
            for name in expected_injections.values_that_lack(trace, call):
                seen = f"`{name}` of {call} is {_shown(attempt.arguments.get(name))}"
                ok = name not in attempt.arguments
                yield either("XMCP-CLI-083", ok, seen, "no value, for the application has none", where=attempt.at)
            for name in missing:
                seen = f"{call} was made without `{name}`, which its tool requires and the application has no value for"
                yield broken("XMCP-CLI-083", seen, "MISSING_SERVER_PARAM, and no call", where=attempt.at)
            for name, value in expected_injections.application_values(trace, call).items():
                given = attempt.arguments.get(name, _MISSING)
                ok = given is not _MISSING and same(given, value)
                yield either(
                    "XMCP-CLI-083",
                    ok,
                    f"`{name}` of {call} is {_shown(given)}",
                    f"the application's {_shown(value)}",
                    where=attempt.at,
                )


def _required_and_missing(trace: TraceIndex, call: ModelCall) -> list[str]:
    """Return the parameters without a value of the application that a call's tool requires, whatever the others are."""
    required = required_names(call.tool.input_schema) if call.tool is not None else set()
    return [name for name in expected_injections.values_that_lack(trace, call) if name in required]


def _not_taken(trace: TraceIndex, call: ModelCall) -> set[str]:
    """Return the parameters that the application fills in and that the tool of a call does not have."""
    taken = set(parameter_names(call.tool.input_schema)) if call.tool is not None else set(trace.setup.params)
    return set(trace.setup.params) - taken
