"""Checks of the order of the calls of a turn and of the effect of a failure (sections 5.2 and 11.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client import expected_injections
from xmcp_conformance.profiles.client.messages import function_of, parameters_of
from xmcp_conformance.profiles.client.permitted_codes import had_to_be_refused, permitted_codes, unfit_parameters
from xmcp_conformance.profiles.client.trace import Asked, Called, Tool
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Attempt, ModelCall, wrapper_of

from .arguments import is_kept_from_its_server

_DIALECT = "json-schema.org/draft/2020-12"


@check("XMCP-TOL-012", profile="client")
def _dependencies_end_first(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        for attempt in call.sent:
            for other in expected_injections.dependencies_of(call):
                if other.sent and not other.unclear:
                    late = any(a.at > attempt.at or trace.goes_on(a, attempt.at) for a in other.sent)
                    seen = f"{call} began before {other} had ended"
                    yield either("XMCP-TOL-012", not late, seen, "dependencies first", where=attempt.at)


def in_order(call: ModelCall, attempt: Attempt) -> bool:
    """Return whether all dependencies had ended when an attempt began; else the injected values are not known."""
    others = expected_injections.dependencies_of(call)
    return all(not other.unclear and a.ended_at < attempt.at for other in others for a in other.sent)


@check("XMCP-CLI-020", profile="client")
def _independent_calls_concurrent(trace: TraceIndex) -> Observations:
    """Judge calls that had a free slot all the time, and nothing else to wait for than what they depend on."""
    if trace.setup.approval or any(attempt.transport_failed for attempt in trace.attempts):
        return  # a call can wait for its approval, or for an open circuit breaker
    for turn in trace.turns:
        free = [
            call
            for call in turn.calls
            if call.sent[:1] == call.attempts[:1] != []  # else it began with an attempt that reached nobody
            and not (call.unclear or call.tool is None or trace.may_share(call))
        ]
        for call in free:
            first, before = call.sent[0], _all_before(call)
            if any(not other.sent or other.unclear for other in before):
                continue
            ready = max([turn.said.time, *(other.sent[-1].ended for other in before)])
            # No other call can overlap one that was answered immediately, or before this one could begin.
            others = [other for other in free if other is not call and other not in before]
            earlier = [o for o in others if o.sent[0].at < first.at and o.sent[0].ended - ready > trace.instant]
            for other in [o for o in earlier if o.sent[0].ended - o.sent[0].begun > trace.instant][:1]:
                waited = other.sent[0].ended_at < first.at and _slot_free(trace, other.sent[0], first)
                seen = f"{call} began only after {other} had ended"
                yield either("XMCP-CLI-020", not waited, seen, "both at the same time", where=first.at)


def _all_before(call: ModelCall) -> list[ModelCall]:
    """Return the calls of a turn on which a call depends, also through others."""
    found: list[ModelCall] = []
    waiting = list(expected_injections.dependencies_of(call))
    for other in waiting:
        if other is not call and other not in found:
            found.append(other)
            waiting.extend(expected_injections.dependencies_of(other))
    return found


def _slot_free(trace: TraceIndex, first: Attempt, then: Attempt) -> bool:
    between = [at for at in range(first.at, then.at) if isinstance(trace.records[at], Called)]
    return max((trace.running(at) + 1 for at in between), default=1) < trace.setup.max_concurrency


@check("XMCP-CLI-021", profile="client")
def _concurrency_limit(trace: TraceIndex) -> Observations:
    limit = trace.setup.max_concurrency
    for attempt in trace.attempts:
        if attempt.called is not None:
            running = trace.running(attempt.at) + 1
            if running >= limit:
                seen = f"{running} calls at the same time"
                yield either("XMCP-CLI-021", running <= limit, seen, f"at most {limit}", where=attempt.at)


@check("XMCP-CLI-022", profile="client")
def _failure_affects_dependants_only(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        for call in turn.calls:
            others = [other for other in turn.calls if other is not call and expected_injections.failed(other)]
            if not others or call.tool is None or call.meta or call.content is None or call.unclear:
                continue
            if expected_injections.waited_at_the_end(call):
                continue  # XMCP-CLI-004 judges it
            if not call.attempts and (had_to_be_refused(trace, call) or is_kept_from_its_server(trace, call)):
                continue  # the sentence that forbids the call judges it, or XMCP-CLI-012
            allowed = call.succeeded or trace.may_share(call) or call.code in permitted_codes(trace, call)
            if not call.attempts and allowed and not _refused_unasked(trace, call):
                continue
            seen = f"{call}, which does not depend on {others[0]}, was not made: the model got {call.came_to}"
            yield either("XMCP-CLI-022", bool(call.attempts), seen, "a call of its server", where=turn.next_at)


def _refused_unasked(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether a call got `FORBIDDEN` without a question, as if the refusal of another call were for both."""
    if call.code != "FORBIDDEN" or call.turn.cut or trace.approval_of(call) is not None:
        return False
    answers = [trace.approval_of(other) for other in call.turn.calls]
    return any(one is not None and not one.answer for one in answers)


@check("XMCP-CLI-035", profile="client")
def _dependant_of_failure_fails(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if lost := expected_injections.failed_dependencies(call):
            why = f"which depends on `{quoted(', '.join(lost))}`, of which each call failed"
            yield from _dependency_failed(trace, call, "XMCP-CLI-035", why)


@check("XMCP-CLI-036", profile="client")
def _unfit_value_not_injected(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.tool is not None and _DIALECT not in str(call.tool.input_schema.get("$schema", _DIALECT)):
            continue  # a client need not know other dialects
        if not expected_injections.failed_dependencies(call) and (names := unfit_parameters(trace, call)):
            why = f"for which the value of `{quoted(', '.join(names))}` does not fit"
            yield from _dependency_failed(trace, call, "XMCP-CLI-036", why)


def _dependency_failed(trace: TraceIndex, call: ModelCall, id_: str, why: str) -> Observations:
    if call.sent:
        yield broken(
            id_, f"a server was called for {call}, {why}", "DEPENDENCY_FAILED, and no call", where=call.sent[0].at
        )
    elif call.reply is not None:  # what is no document is blamed by XMCP-CLI-003
        seen = f"{call}, {why}, is answered by {call.came_to}"
        yield either(id_, call.code in permitted_codes(trace, call), seen, "DEPENDENCY_FAILED", where=call.turn.next_at)


@check("XMCP-CLI-037", profile="client")
def _provided_parameter_not_required(trace: TraceIndex) -> Observations:
    for at, tool, schema in _offered(trace):
        provided = _provided(trace, tool, at)
        required = schema.get("required") or ()
        asked = [name for name in provided if name in (schema.get("properties") or {})]
        if asked:
            listed = [name for name in asked if name in required]
            seen = f"`{quoted(', '.join(listed))}` of `{tool.name}` under `required`"
            yield either("XMCP-CLI-037", not listed, seen, "no parameter that a dependency provides", where=at)


@check("XMCP-CLI-037", profile="client")
def _what_nothing_provides_stays_required(trace: TraceIndex) -> Observations:
    for at, tool, schema in _offered(trace):
        before = _all_needs(trace, tool, at)
        if not before:
            continue
        filled = {*trace.setup.params, *(name for other in before for name in _provided_by(other))}
        if expected_injections.only_dependency(trace, tool, at) is not None:
            filled.add(expected_injections.only_required_parameter(trace, tool) or "")
        own = tool.input_schema.get("properties") or {}
        kept = [name for name in tool.input_schema.get("required") or () if name in own and name not in filled]
        lacking = [name for name in kept if name not in (schema.get("required") or ())]
        if kept:
            seen = f"`{quoted(', '.join(lacking))}` of `{tool.name}` not under `required`"
            yield either("XMCP-CLI-037", not lacking, seen, "what no dependency is known to provide", where=at)


def _all_needs(trace: TraceIndex, tool: Tool, at: int) -> list[Tool]:
    """Return the tools on which a tool depends, also through others, of those that its server had at a record."""
    found: list[Tool] = []
    for one in (waiting := [tool]):
        for other in trace.tools_at(at):
            if other.server == tool.server and other.name in one.depends_on and other not in (tool, *found):
                found.append(other)
                waiting.append(other)
    return found


def _provided(trace: TraceIndex, tool: Tool, at: int) -> list[str]:
    """Return the parameters that dependencies surely provide, by a name or, if none has one, by XMCP-CLI-120."""
    return _provided_by_name(trace, tool, at) or _provided_without_name(trace, tool, at)


def _provided_without_name(trace: TraceIndex, tool: Tool, at: int) -> list[str]:
    """Return the only required parameter if nothing is said about the results that could fill it, or others."""
    source = expected_injections.only_dependency(trace, tool, at)
    name = expected_injections.only_required_parameter(trace, tool)
    silent = source is not None and not source.depends_on and not source.provides and source.output_schema is None
    return [name] if name is not None and silent else []


def _provided_by_name(trace: TraceIndex, tool: Tool, at: int) -> list[str]:
    """Return the parameters that dependencies provide, by `provides` and by the properties of output schemas."""
    names: list[str] = []
    for other in trace.tools_within_limit_at(at):
        if other.server == tool.server and other.name in tool.depends_on and other.name != tool.name:
            names += _provided_by(other)
    return [name for name in dict.fromkeys(names) if name not in expected_injections.NEVER_INJECTED]


def _provided_by(tool: Tool) -> list[str]:
    """Return what a tool provides by its `provides` and by the properties of its output schema."""
    schema = tool.output_schema or {}
    wrapper = wrapper_of(tool)
    if wrapper is not None:
        schema = (schema.get("properties") or {}).get(wrapper) or {}
    return [*([tool.provides] if tool.provides else []), *(schema.get("properties") or ())]


def _offered(trace: TraceIndex) -> Iterator[tuple[int, Tool, Mapping[str, Any]]]:
    """Yield each tool of a server that was offered, with the schema that the model saw."""
    for at, asked in _asks(trace):
        for offered in asked.tools:
            name = str(function_of(offered).get("name"))
            meant = [tool for tool in trace.tools_at(at) if trace.may_name(name, tool)]
            if len(meant) == 1:
                yield at, meant[0], parameters_of(offered)


def _asks(trace: TraceIndex) -> Iterator[tuple[int, Asked]]:
    for chat in trace.chats.values():
        yield from chat.asks


@check("XMCP-CLI-038", profile="client")
def _no_tools_in_a_circle(trace: TraceIndex) -> Observations:
    if trace.refused_at(len(trace.records)) and not any(_asks(trace)):
        yield obeyed("XMCP-CLI-038", where=max(len(trace.records) - 1, 0))  # it did not start
    for at, asked in _asks(trace):
        refused, used = trace.refused_at(at), trace.tools_at(at)
        offered = {str(function_of(tool).get("name")) for tool in asked.tools} if refused else set()
        for tool in refused:
            names = [name for name in offered if trace.may_name(name, tool)]
            known = any(trace.may_name(name, other) for name in names for other in used)
            seen = f"`{quoted(', '.join(names))}` is offered, of a list in which tools depend on each other in a circle"
            yield either("XMCP-CLI-038", not names or known, seen, "no tool of this list", where=at)
