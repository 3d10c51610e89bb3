"""Sections 5.1, 5.2 and 11.3 without the values: the order of the calls of a turn, and what one failure does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from xmcp_conformance.client_trace import Asked, Called, Tool
from xmcp_conformance.observation import quoted

from . import handover
from .finding import Findings, broken, check, either, obeyed
from .grounds import grounds, misfits
from .meanings import Place, could_mean
from .messages import function_of, parameters_of
from .parts import INSTANT, Attempt, Call
from .story import Story


@check("XMCP-TOL-012")
def _dependencies_end_first(story: Story) -> Findings:
    for call in story.calls:
        for attempt in call.sent:
            for other in handover.needed(call):
                if other.sent:
                    late = any(a.at > attempt.at or a.ended_at > attempt.at for a in other.sent)
                    seen = f"{call} began before {other} had ended"
                    yield either("XMCP-TOL-012", attempt.at, not late, seen, "dependencies first")


def in_order(call: Call, attempt: Attempt) -> bool:
    """Whether what a call depends on had ended when it went out; else nobody knows what was handed on."""
    return all(a.ended_at < attempt.at for other in handover.needed(call) for a in other.sent)


@check("XMCP-CLI-020")
def _independent_calls_run_at_the_same_time(story: Story) -> Findings:
    """Where there was a free slot all the time, and nothing else to wait for."""
    if story.setup.approval or story.setup.cache or story.setup.breaker_threshold is not None:
        return
    for turn in story.turns:
        free = [call for call in turn.calls if call.sent and call.tool is not None and not handover.needed(call)]
        for call in free[1:]:
            first = call.sent[0]
            # What was answered at once cannot be overlapped.
            earlier = [o for o in free if o.sent[0].at < first.at and o.sent[0].ended - o.sent[0].begun > INSTANT]
            for other in earlier[:1]:
                waited = other.sent[0].ended_at < first.at and _slot_free(story, other.sent[0], first)
                seen = f"{call} began only after {other} had ended"
                yield either("XMCP-CLI-020", first.at, not waited, seen, "both at the same time")


def _slot_free(story: Story, first: Attempt, then: Attempt) -> bool:
    between = [at for at in range(first.at, then.at) if isinstance(story.records[at], Called)]
    return max((story.running(at) + 1 for at in between), default=1) < story.setup.max_concurrency


@check("XMCP-CLI-021")
def _no_more_at_the_same_time(story: Story) -> Findings:
    limit = story.setup.max_concurrency
    for attempt in story.attempts:
        if attempt.called is not None:
            running = story.running(attempt.at) + 1
            if running >= limit:
                seen = f"{running} calls at the same time"
                yield either("XMCP-CLI-021", attempt.at, running <= limit, seen, f"at most {limit}")


@check("XMCP-CLI-022")
def _a_failure_keeps_back_its_dependants_only(story: Story) -> Findings:
    for turn in story.turns:
        for call in turn.calls:
            others = [other for other in turn.calls if other is not call and handover.failed(other)]
            if not others or call.tool is None or call.meta or call.content is None:
                continue
            if not call.attempts and (call.succeeded or story.may_share(call) or call.code in grounds(story, call)):
                continue
            seen = f"{call}, which does not depend on {others[0]}, was not made: {call.code}"
            yield either("XMCP-CLI-022", turn.next_at, bool(call.attempts), seen, "a call of its server")


@check("XMCP-CLI-035")
def _what_depends_on_failures_fails(story: Story) -> Findings:
    for call in story.calls:
        if lost := handover.failed_tools(call):
            why = f"which depends on `{quoted(', '.join(lost))}`, of which each call failed"
            yield from _dependency_failed(story, call, "XMCP-CLI-035", why)


@check("XMCP-CLI-036")
def _what_does_not_fit_is_not_handed_on(story: Story) -> Findings:
    for call in story.calls:
        if not handover.failed_tools(call) and (names := misfits(story, call)):
            why = f"for which the value of `{quoted(', '.join(names))}` does not fit"
            yield from _dependency_failed(story, call, "XMCP-CLI-036", why)


def _dependency_failed(story: Story, call: Call, id_: str, why: str) -> Findings:
    if call.sent:
        yield broken(id_, call.sent[0].at, f"a server was called for {call}, {why}", "DEPENDENCY_FAILED, and no call")
    elif call.content is not None:
        seen = f"{call}, {why}, is answered by {call.code or 'a result'}"
        yield either(id_, call.turn.next_at, call.code in grounds(story, call), seen, "DEPENDENCY_FAILED")


@check("XMCP-CLI-037")
def _what_is_provided_is_not_required(story: Story) -> Findings:
    for at, tool, schema in _offered(story):
        provided = _provided(story, tool, at)
        required = schema.get("required") or ()
        asked = [name for name in provided if name in (schema.get("properties") or {})]
        if asked:
            listed = [name for name in asked if name in required]
            seen = f"`{quoted(', '.join(listed))}` of `{tool.name}` under `required`"
            yield either("XMCP-CLI-037", at, not listed, seen, "no parameter that a dependency provides")


def _provided(story: Story, tool: Tool, at: int) -> list[str]:
    """By `provides`, and by what an output schema promises."""
    names: list[str] = []
    for other in story.tools_at(at):
        if other.server == tool.server and other.name in tool.depends_on and other.name != tool.name:
            schema = other.output_schema or {}
            names += [other.provides] if other.provides else []
            names += [n for n in schema.get("required") or () if n in (schema.get("properties") or {})]
    return [name for name in dict.fromkeys(names) if name not in handover.NEVER_HANDED_ON]


def _offered(story: Story) -> Iterator[tuple[int, Tool, Mapping[str, Any]]]:
    """Each tool of a server as it was offered, with the schema that the model saw."""
    for at, asked in _asks(story):
        for offered in asked.tools:
            name = str(function_of(offered).get("name"))
            meant = [tool for tool in story.tools_at(at) if could_mean(story.setup, name, tool)]
            if len(meant) == 1:
                yield at, meant[0], parameters_of(offered)


def _asks(story: Story) -> Iterator[tuple[int, Asked]]:
    for chat in story.chats.values():
        yield from chat.asks


@check("XMCP-CLI-038")
def _no_start_with_a_circle(story: Story) -> Findings:
    tools = [tool for tool in story.setup.tools if story.setup.servers[tool.server].reachable]
    circle = _circle(tools)
    if not circle:
        return
    first = next((at for at, _ in _asks(story)), None)
    seen = f"a model was asked, and `{quoted(' and '.join(circle))}` depend on each other"
    if first is not None:
        yield broken("XMCP-CLI-038", first, seen, "a client that does not start")
    else:
        yield obeyed("XMCP-CLI-038", max(len(story.records) - 1, 0))


def _circle(tools: list[Tool]) -> list[str]:
    """The tools that are among their own dependencies."""
    before = {(t.server, t.name): {(t.server, n) for n in t.depends_on if n != t.name} for t in tools}
    found = []
    for start in before:
        reached: set[Place] = set()
        queue = [start]
        for place in queue:
            new = before.get(place, set()) - reached
            reached |= new
            queue += new
        if start in reached:
            found.append(start[1])
    return found
