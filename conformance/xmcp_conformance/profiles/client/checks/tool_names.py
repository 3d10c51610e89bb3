"""Checks of which tools are offered, under which names, and which tool a name calls (sections 5.1 and 11.9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import function_of
from xmcp_conformance.profiles.client.name_resolution import ToolKey, full_name, is_legal, key_of, without_name
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes
from xmcp_conformance.profiles.client.trace import Asked, Tool
from xmcp_conformance.profiles.client.trace_index import TraceIndex


def _offers(trace: TraceIndex) -> Iterator[tuple[int, Asked, list[Tool]]]:
    """Yield for each request the index of its record, the request, and the tools that certainly existed."""
    for chat in trace.chats.values():
        for at, asked in chat.asks:
            yield at, asked, _certainly_existing(trace, chat.began_at, at)


def _names(asked: Asked) -> list[str]:
    return [str(function_of(tool).get("name")) for tool in asked.tools]


def _certainly_existing(trace: TraceIndex, began: int, at: int) -> list[Tool]:
    """Return the tools that existed since the chat began: a chat may learn of new and removed tools later."""
    lists_before = trace.lists_between(0, at)
    settled = [
        trace.used_from[at]
        for at, _ in lists_before
        if at < began and trace.time(at) < trace.time(began) - trace.instant
    ]
    later = [trace.used_from[at] for at, _ in lists_before[len(settled) :]]
    moments = [settled[-1] + 1 if settled else 0, *(one + 1 for one in later)]
    lists = [{key_of(tool): tool for tool in trace.tools_at(moment)} for moment in moments]
    reached = [place for place in lists[0] if trace.setup.servers[place[0]].reachable]
    return [lists[-1][place] for place in reached if all(place in one for one in lists)]


@check("XMCP-TOL-003", "XMCP-CLI-090", "XMCP-CLI-094", profile="client")
def _every_tool_offered(trace: TraceIndex) -> Observations:
    """Judge that each tool is offered; unknown metadata and unreachable servers have requirements of their own."""
    away = trace.starts_incomplete
    for at, asked, tools in _offers(trace):
        kept, names = {key_of(tool) for tool in trace.tools_within_limit_at(at)}, _names(asked)
        within = [tool for tool in tools if key_of(tool) in kept]
        missing = without_name(trace.setup, asked, within, trace.called_by, trace.own_tools)
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            seen = f"`{quoted(', '.join(twice))}` offered more than once"
            yield either("XMCP-CLI-090", False, seen, "a name that no other tool has", where=at)
            continue
        for tool in within:
            id_ = "XMCP-TOL-003" if tool.unknown else "XMCP-CLI-094" if away else "XMCP-CLI-090"
            seen = f"`{tool.name}` of server {tool.server} is not among `{quoted(', '.join(names))}`"
            yield either(id_, tool not in missing, seen, "every tool of every server that can be reached", where=at)
    yield from _start_with_reachable_servers(trace, away)


@check("XMCP-CLI-106", profile="client")
def _left_out_tools_are_told(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        left_out = []
        for at, asked in chat.asks:
            kept = {key_of(tool) for tool in trace.tools_within_limit_at(at)}
            tools = [tool for tool in _certainly_existing(trace, chat.began_at, at) if key_of(tool) not in kept]
            left_out += without_name(trace.setup, asked, tools, trace.called_by)
        if left_out and (chat.began.events or chat.received):
            events = [told.event for _, told in chat.received]
            warned = any(event.get("type") == "warning" and "call_id" not in event for event in events)
            seen = f"`{quoted(left_out[0].name)}` of server {left_out[0].server} is left out, and no event says so"
            yield either("XMCP-CLI-106", warned, seen, "an event `warning` without `call_id`", where=chat.ended_at)


def _start_with_reachable_servers(trace: TraceIndex, away: bool) -> Observations:
    """Judge a client that did not start although some servers are reachable and have a list without a circle."""
    for chat in trace.chats.values():
        failure = chat.ended.failure if chat.ended else None
        if away and not chat.asks and failure in ("refused", "crashed"):
            there = any(trace.setup.servers[tool.server].reachable for tool in trace.tools_at(0))
            yield either(
                "XMCP-CLI-094",
                not there,
                "a chat without the servers that are there",
                "a chat with them",
                where=chat.ended_at,
            )


@check("XMCP-CLI-091", "XMCP-CLI-093", profile="client")
def _name_calls_its_tool(trace: TraceIndex) -> Observations:
    first: dict[str, ToolKey] = {}
    for attempt in trace.attempts:
        call, called = attempt.call, attempt.called
        if call is None or called is None or not call.offered or call.unclear:
            continue
        there = {
            tool.name
            for at in (call.turn.asked_at, attempt.at)
            for tool in trace.tools_at(at)
            if tool.server == called.server
        }
        known = called.tool in there
        seen = f"{call} went to server {called.server} as `{quoted(called.tool)}`"
        yield either("XMCP-CLI-093", known, seen, "the server's own name for a tool", where=attempt.at)
        if known:
            place = (called.server, called.tool)
            meant = first.setdefault(call.name, key_of(call.tool) if call.tool is not None else place)
            yield either("XMCP-CLI-091", place == meant, seen, f"`{meant[1]}` of server {meant[0]}", where=attempt.at)


@check("XMCP-CLI-092", profile="client")
def _names_of_named_servers(trace: TraceIndex) -> Observations:
    full = Counter(full_name(trace.setup, tool) for tool in trace.setup.tools)
    for at, asked, tools in _offers(trace):
        kept, names = {key_of(tool) for tool in trace.tools_within_limit_at(at)}, _names(asked)
        within = [tool for tool in tools if key_of(tool) in kept]
        others = without_name(trace.setup, asked, within, trace.called_by)
        for tool in within:
            name = full_name(trace.setup, tool)
            open_ = not is_legal(name) or full[name] > 1 or tool in others
            if trace.setup.servers[tool.server].given_name and not open_:
                seen = f"`{tool.name}` of server {tool.server} among `{quoted(', '.join(names))}`"
                yield either("XMCP-CLI-092", name in names, seen, f"`{name}`", where=at)


@check("XMCP-CLI-096", profile="client")
def _turn_keeps_its_tools(trace: TraceIndex) -> Observations:
    """Judge turns in which a server listed other tools between the request and the answers to the calls."""
    for turn in trace.turns:
        if turn.next is None:
            continue
        for call in turn.calls:
            changed = [
                at
                for at, listed in trace.lists_between(turn.asked_at, turn.next_at)
                if call.tool and call.tool not in listed.tools and listed.server == call.tool.server
            ]
            if not changed or call.meta or call.reply is None or call.unclear:
                continue
            if call.attempts:
                yield obeyed("XMCP-CLI-096", where=call.attempts[0].at)
            elif not call.succeeded and turn.made_for(call) is None:
                seen = f"{call} is answered by {call.code}, for the tool has changed"
                yield either(
                    "XMCP-CLI-096",
                    call.code in permitted_codes(trace, call),
                    seen,
                    "a call of its server",
                    where=turn.next_at,
                )
