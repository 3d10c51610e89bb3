"""Checks of whose an event `tool_display` or `warning` is (section 10.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import compact, same
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, ModelCall

from .displays import display_of, known_members
from .events import calls_by_id


@check("XMCP-REC-006", profile="client")
def _displays_are_of_their_calls(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        calls = calls_by_id(chat)
        for at, told in chat.received:
            call = calls.get(str(told.event.get("call_id")))
            if told.event.get("type") != "tool_display" or call is None or call.unclear:
                continue
            if call.answer is None and call.succeeded:
                continue  # nobody knows whose answer it got
            envelope = told.event.get("envelope")
            others = (other for other in calls.values() if other is not call)
            # Of a call with a block for the person, the trace has the first: another one can be what another call has.
            has_block = call.answer is not None and call.answer.for_user is not None
            may_be = _has if has_block else _is_of
            owner = None if _is_of(call, envelope) else next((one for one in others if may_be(one, envelope)), None)
            seen = f"an event `tool_display` of {call} with `{quoted(compact(envelope))}`"
            yield either("XMCP-REC-006", owner is None, seen, f"the `call_id` of {owner}", where=at)


def _has(call: ModelCall, envelope: Any) -> bool:
    """Return whether an envelope is the display in a call's answer."""
    display = display_of(call)
    return display is not None and same(known_members(display), known_members(envelope))


def _is_of(call: ModelCall, envelope: Any) -> bool:
    """Return whether an envelope is the display in a call's answer, or has the text of its block for the person."""
    text = ((call.answer.for_user if call.answer is not None else None) or "").strip()
    return _has(call, envelope) or (bool(text) and compact(text)[1:-1] in compact(envelope))


@check("XMCP-REC-006", profile="client")
def _warnings_are_of_their_calls(trace: TraceIndex) -> Observations:
    """Judge the warning of the only display that was dropped in a chat that gives no other reason for a warning."""
    if trace.setup.max_tools_per_server is not None or trace.starts_incomplete:
        return
    for chat in trace.chats.values():
        dropped = [*_dropped_a_display(chat)]
        warnings = [(at, one.event) for at, one in chat.received if one.event.get("type") == "warning"]
        if len(dropped) == 1 and warnings and dropped[0].id and not dropped[0].unclear:
            ids = [event.get("call_id") for _, event in warnings]
            seen = f"a `warning` without `call_id`, and none of {dropped[0]}, whose display was dropped"
            ok = dropped[0].id in ids or None not in ids
            yield either("XMCP-REC-006", ok, seen, "`call_id` and `tool_name`", where=warnings[0][0])


def _dropped_a_display(chat: Chat) -> Iterator[ModelCall]:
    for call in (call for turn in chat.turns for call in turn.calls):
        answers = [attempt.answered for attempt in call.attempts] or [call.source]
        if any(answer is not None and answer.bad_display and answer.readable for answer in answers):
            yield call
