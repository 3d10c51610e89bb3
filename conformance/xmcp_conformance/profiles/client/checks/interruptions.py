"""Checks of the events of a chat, and of answers of the model that broke off (sections 10.2 and 11.7)."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.event_order import NEXT
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import WHITE_SPACE, text_of
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import NEVER, Chat

_ENDS: Final = ("tool_result", "tool_error")
_PATIENCE: Final = 2.5
"""How long, in seconds, a client surely waits for more of an answer before it takes it for one that broke off."""


@check("XMCP-REC-002", profile="client")
def _event_order_of_a_call(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        calls = [call for turn in chat.turns for call in turn.calls]
        clear = [call for call in calls if call.sent and not call.unclear]
        made = {call.id for call in clear if call.offered and call.arguments is not None}
        # A client can have types of its own.
        told = [r.event for _, r in chat.received if str(r.event.get("type")) in NEXT]
        ids = dict.fromkeys(id_ for event in told if isinstance(id_ := event.get("call_id"), str) and id_)
        for id_ in ids:
            if sum(call.id == id_ for call in calls) > 1:
                continue  # the fault is that calls share an id, and not that their events are mixed
            events = [(at, r.event) for at, r in chat.received if r.event.get("call_id") == id_]
            types = [type_ for _, event in events if (type_ := str(event.get("type"))) in NEXT]
            whole = chat.ended is not None and chat.ended.result is not None
            ok = all(after in NEXT[before] for before, after in pairwise(["", *types]))
            if whole:
                ok = ok and any(type_ in types for type_ in _ENDS) and ("tool_started" in types or id_ not in made)
            seen = f"of `{id_}`: {' '.join(types)}"
            yield either("XMCP-REC-002", ok, seen, "the order of section 10.2", where=events[-1][0])


@check("XMCP-REC-003", profile="client")
def _done_once_and_last(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is not None and chat.ended.result is not None:
            yield from _closed_by(chat, "XMCP-REC-003", "done")


@check("XMCP-REC-005", profile="client")
def _failed_once_and_last(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is not None and chat.ended.failure in ("provider", "quota", "crashed"):
            yield from _closed_by(chat, "XMCP-REC-005", "failed")


def _closed_by(chat: Chat, requirement: str, closing: str) -> Observations:
    """Judge the last event of a chat that has ended.

    A chat that was cancelled may have no closing event, however it ended. One of which nothing was told is judged only
    where the application asked for events.
    """
    types = [r.event.get("type") for _, r in chat.received]
    if chat.cancelled is not None or not (types or chat.began.events):
        return
    ok = types.count(closing) == 1 and types[-1] == closing
    seen = f"{types.count(closing)} events `{closing}`, the last event {types[-1]}" if types else "no event at all"
    where = chat.received[-1][0] if types else chat.ended_at
    yield either(requirement, ok, seen, f"one `{closing}`, as the last", where=where)


@check("XMCP-CLI-075", profile="client")
def _broken_off_text_retried(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for at, said in chat.failed:
            again = next((asked_at for asked_at, _ in chat.asks if asked_at > at), None)
            if again is None or not (said.text or said.begun) or not chat.received:
                continue
            ok = any(
                r.event.get("type") == "retry" and not r.event.get("call_id")
                for received_at, r in chat.received
                if at < received_at < _first_event_after_answer(chat, again)
            )
            seen = f"`{quoted(said.text + said.begun)}` broke off, and the model was asked again"
            yield either("XMCP-CLI-075", ok, seen, "an event `retry` without `call_id`", where=again)


def _first_event_after_answer(chat: Chat, again: int) -> int:
    """Return the index of the first event that follows the model's answer to a request."""
    answers = [turn.said_at for turn in chat.turns] + [at for at, _ in chat.failed]
    answered = min((at for at in answers if at > again), default=again)
    types = ("llm_delta", "tool_call", "done")
    return min((at for at, r in chat.received if at > answered and r.event.get("type") in types), default=1 << 60)


@check("XMCP-CLI-116", profile="client")
def _text_of_an_answer_that_the_client_ended(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or not chat.failed:
            continue
        at, said = chat.failed[-1]
        last_asked = max((asked_at for asked_at, _ in chat.asks), default=0)
        answer = _answer_in_time(chat, said.text)
        silence = chat.over - said.time
        # At a time limit, a client that gave the answer up before that, because nothing more came, has none of it.
        text = said.text if _was_cancelled(chat, at) or silence <= _PATIENCE else answer
        if said.stalls and text.strip(WHITE_SPACE) and last_asked < at and silence > trace.instant:
            own = chat.ended.history[_after_query(chat) :]
            kept = [str(m.get("content")) for m in own if m.get("role") == "assistant"]
            ok = text in kept or (text.strip() == answer.strip() and text.strip() in map(str.strip, kept))
            seen = f"a history without `{quoted(text)}` after the query"
            yield either("XMCP-CLI-116", ok, seen, "the text as the last message", where=chat.ended_at)


def _after_query(chat: Chat) -> int:
    """Return the index of the first message after the query in the history of a chat; 0 where it is not there."""
    history = chat.ended.history if chat.ended else ()
    mine = [i for i, m in enumerate(history) if m.get("role") == "user" and chat.began.query in text_of(m)]
    return mine[-1] + 1 if mine else 0


def _was_cancelled(chat: Chat, at: int) -> bool:
    """Return whether a chat was cancelled after the record `at`, and ended so."""
    return chat.ended is not None and chat.ended.failure == "cancelled" and at < chat.cancelled_at < NEVER


def _answer_in_time(chat: Chat, text: str) -> str:
    """Return what a chat that ran out of time gives as its answer, if it is the beginning of a text.

    Without one, the client took the model's answer for one that broke off, because nothing more came.
    """
    result = chat.ended.result if chat.ended else None
    answer = str((result or {}).get("answer") or "")
    return answer if chat.stop_reason == "timeout" and text.strip().startswith(answer.strip()) else ""
