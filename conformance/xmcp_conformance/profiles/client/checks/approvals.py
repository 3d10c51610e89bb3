"""Checks of section 11.8: approvals, parameters that the application fills in, thoughts and summaries."""

from __future__ import annotations

from collections.abc import Sequence

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.histories import Message
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import (
    compact,
    function_of,
    names_in_samples,
    parameter_names,
    parameters_of,
    same,
    says_the_same,
    text_of,
)
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes
from xmcp_conformance.profiles.client.trace import ChatEnded
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat

from .stop_reasons import SUMMARIZE, THINK, said_to

_SHORTEST = 4
"""Number of characters below which a thought can occur in another text by chance."""


@check("XMCP-CLI-080", "XMCP-CLI-081", profile="client")
def _approval_before_call(trace: TraceIndex) -> Observations:
    if not trace.setup.approval:
        return
    for call in trace.calls:
        approved = trace.approval_of(call)
        denied = approved is not None and not approved.answer
        for attempt in call.sent:
            if denied:
                yield either("XMCP-CLI-081", False, f"{call} was made and not approved", "no call", where=attempt.at)
            else:
                asked = [at for at, one in call.turn.chat.approvals if one is approved and at < attempt.at]
                yield either(
                    "XMCP-CLI-080", bool(asked), f"{call} was made unasked", "an approval first", where=attempt.at
                )
        if approved is None and call.succeeded and not call.sent and call.tool is not None:
            seen = f"{call} was answered without a request to the server, and unasked"
            yield broken("XMCP-CLI-080", seen, "an approval first", where=call.turn.next_at)
        if denied and call.reply is not None and not call.sent:
            seen = f"{call}, which was not approved, is answered by {call.came_to}"
            yield either(
                "XMCP-CLI-081", call.code in permitted_codes(trace, call), seen, "FORBIDDEN", where=call.turn.next_at
            )


@check("XMCP-CLI-082", profile="client")
def _application_parameters_hidden(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for at, asked in chat.asks:
            of_servers = [tool for tool in asked.tools if function_of(tool).get("name") not in trace.setup.meta_tools]
            for tool in of_servers if trace.setup.params else ():
                schema = parameters_of(tool)
                named = {*parameter_names(schema), *names_in_samples(schema)}
                shown = sorted(named & set(trace.setup.params))
                name = function_of(tool).get("name")
                seen = f"`{quoted(', '.join(shown))}` in the schema of `{name}`"
                yield either("XMCP-CLI-082", not shown, seen, "no parameter that the application fills in", where=at)


@check("XMCP-CLI-084", profile="client")
def _thoughts_hidden(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for turn in chat.turns:
            for thought in said_to(turn, THINK, "thought"):
                if len(thought) >= _SHORTEST and not _is_said_anyway(trace, chat, thought):
                    where = _shown_in(chat, thought)
                    at = chat.ended_at if chat.ended is not None else turn.said_at
                    seen = f"the thought `{quoted(thought)}` in {where}"
                    yield either("XMCP-CLI-084", where is None, seen, "a thought that nobody sees", where=at)


def _is_said_anyway(trace: TraceIndex, chat: Chat, thought: str) -> bool:
    answers = [attempt.answered.display for attempt in trace.attempts if attempt.answered is not None]
    return any(thought in turn.said.text for turn in chat.turns) or any(thought in compact(shown) for shown in answers)


def _shown_in(chat: Chat, thought: str) -> str | None:
    result = (chat.ended.result if chat.ended else None) or {}
    events = [received.event for _, received in chat.received]
    places = {
        "the answer": str(result.get("answer") or ""),
        "events of text": "".join(str(event.get("text")) for event in events if event.get("type") == "llm_delta"),
        "a display": compact([result.get("displays"), [event.get("envelope") for event in events]]),
    }
    return next((name for name, text in places.items() if thought in text), None)


@check("XMCP-CLI-086", profile="client")
def _summary_keeps_system_and_newest(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        if not said_to(turn, SUMMARIZE, "summary") or turn.next is None:
            continue
        before = turn.chat.began.history if isinstance(turn.next, ChatEnded) else turn.asked.messages
        head = _leading(before)
        newest = max((i for i, m in enumerate(turn.asked.messages) if m.get("role") == "user"), default=None)
        tail = [] if newest is None else turn.asked.messages[newest:]
        kept = _begins_with(turn.messages, head) and _holds_in_order(turn.messages, tail) and turn.at is not None
        seen = f"{len(turn.messages)} messages after the summary, without some of the system's or of the newest"
        expected = f"the first {len(head)} and the last {len(tail)} messages, and the turn"
        yield either("XMCP-CLI-086", kept, seen, expected, where=turn.next_at)


@check("XMCP-CLI-086", profile="client")
def _summary_takes_the_place_of_the_others(trace: TraceIndex) -> Observations:
    """Judge that the last summary of a turn stands below the system's messages, and the newest of the user below it."""
    for turn in trace.turns:
        own = [call for call in turn.calls if call.meta and call.name == SUMMARIZE]
        if not own or turn.next is None or turn.cut or not all(call.succeeded for call in own):
            continue
        head, before = _leading(turn.asked.messages), turn.asked.messages
        newest = max((i for i, m in enumerate(before) if m.get("role") == "user"), default=-1)
        texts = said_to(turn, SUMMARIZE, "summary")
        if newest <= len(head) or not texts or len(turn.messages) < len(head) + 2:
            continue
        summary, then = turn.messages[len(head) : len(head) + 2]
        ok = summary.get("role") == "user" and texts[-1] in text_of(summary) and _alike(then, before[newest])
        seen = f"after the summary, `{quoted(text_of(summary))}` and `{quoted(text_of(then))}`"
        expected = f"`{quoted(texts[-1])}` and the newest message of the user, below those of the system"
        yield either("XMCP-CLI-086", ok, seen, expected, where=turn.next_at)


def _leading(messages: Sequence[Message]) -> list[Message]:
    place = next((i for i, m in enumerate(messages) if m.get("role") not in ("system", "developer")), len(messages))
    return list(messages[:place])


def _begins_with(messages: Sequence[Message], head: Sequence[Message]) -> bool:
    return len(messages) >= len(head) and all(map(_alike, messages, head))


def _holds_in_order(messages: Sequence[Message], tail: Sequence[Message]) -> bool:
    """Return whether `tail` occurs in the messages as one sequence."""
    return not tail or any(
        all(map(_alike, messages[start : start + len(tail)], tail)) for start in range(len(messages) - len(tail) + 1)
    )


def _alike(one: Message, other: Message) -> bool:
    """Return whether two messages are the same; for tool messages by id and text: their displays can be shortened."""
    if one.get("role") != other.get("role"):
        return False
    if one.get("role") == "tool":
        return one.get("tool_call_id") == other.get("tool_call_id") and says_the_same(text_of(one), text_of(other))
    return text_of(one) == text_of(other) and same(one.get("tool_calls"), other.get("tool_calls"))
