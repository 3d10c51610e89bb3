"""Checks of the history that a client sends to the model and returns to the application (section 11.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.histories import Message, answers_after, calls_of, fault_of_history
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import (
    arguments_of,
    compact,
    function_of,
    is_beyond_a_double,
    same,
    says_the_same,
    text_of,
)
from xmcp_conformance.profiles.client.permitted_codes import CUT_SHORT, permitted_codes
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Attempt, ModelCall, Turn

from .stop_reasons import SUMMARIZE, said_to


@check("XMCP-CLI-001", profile="client")
def _given_history_unchanged(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is not None and chat.ended.given is not None:
            before, after = chat.began.history, chat.ended.given
            seen = f"the list of {len(before)} messages has {len(after)} now, or others"
            yield either(
                "XMCP-CLI-001", same(list(before), list(after)), seen, "the list as it was given", where=chat.ended_at
            )


@check("XMCP-CLI-002", profile="client")
def _one_tool_message_per_call(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for at, to, messages in chat.histories:
            if any(calls_of(m) or m.get("role") == "tool" for m in messages):
                fault = fault_of_history(messages)
                seen = f"in the history for {to}, {fault[1] if fault else ''}"
                expected = "after each call, in their order, one tool message with its id"
                yield either("XMCP-CLI-002", fault is None, seen, expected, where=at)


@check("XMCP-CLI-007", profile="client")
def _arguments_are_an_object(trace: TraceIndex) -> Observations:
    """Judge the messages that the client wrote; those that the application passed in are not its own."""
    for chat in trace.chats.values():
        for at, to, messages in chat.histories:
            own = [message for message in messages if message not in chat.began.history]
            for written in (function_of(call).get("arguments") for message in own for call in calls_of(message)):
                ok = isinstance(written, str) and bool(written.strip()) and arguments_of(written) is not None
                seen = f"in the history for {to}, the arguments {quoted(str(written))}"
                yield either("XMCP-CLI-007", ok, seen, "one JSON object", where=at)
    for turn in trace.turns:
        for call, entry in zip(turn.calls, [] if turn.at is None else calls_of(turn.messages[turn.at]), strict=False):
            written = str(function_of(entry).get("arguments"))
            kept = arguments_of(written)
            if kept is None:
                continue  # blamed above
            wanted = {} if call.arguments is None else call.arguments
            if not same(kept, wanted) and not is_beyond_a_double(wanted):
                seen = f"{call} has the arguments {quoted(written)}, and the model wrote {quoted(call.written)}"
                yield broken("XMCP-CLI-007", seen, quoted(compact(wanted)), where=turn.next_at)


@check("XMCP-CLI-003", "XMCP-CLI-006", "XMCP-CLI-007", profile="client")
def _turns_stay_as_they_were(trace: TraceIndex) -> Observations:
    """Judge the later histories of a chat, which have the same turns, where no summary took their place."""
    for turn in trace.turns:
        if turn.at is None or any(said_to(one, SUMMARIZE, "summary") for one in turn.chat.turns):
            continue
        first = turn.messages[turn.at]
        for at, to, messages in turn.chat.histories:
            place = _place_of(turn, messages) if at > turn.next_at else None
            if place is None:
                continue
            later = messages[place]
            seen = f"in the history for {to}, the text `{quoted(text_of(later))}` beside earlier calls"
            ok = text_of(later) == text_of(first)
            yield either("XMCP-CLI-006", ok, seen, f"`{quoted(text_of(first))}`, as before", where=at)
            for call, now, then in zip(turn.calls, calls_of(later), calls_of(first), strict=True):
                given, before = (str(function_of(one).get("arguments")) for one in (now, then))
                seen = f"in the history for {to}, {call} has the arguments {quoted(given)}"
                ok = same(arguments_of(given), arguments_of(before))
                yield either("XMCP-CLI-007", ok, seen, f"{quoted(before)}, as before", where=at)
            contents = {message.get("tool_call_id"): text_of(message) for message in answers_after(messages, place)}
            for call in turn.calls:
                content = contents.get(call.id)
                if content is not None and call.content is not None:
                    seen = f"in the history for {to}, {call} is answered by `{quoted(content)}`"
                    ok = says_the_same(content, call.content)
                    yield either("XMCP-CLI-003", ok, seen, "the answer that it had before", where=at)


def _place_of(turn: Turn, messages: Sequence[Message]) -> int | None:
    """Return the index of the message with the calls of a turn in a later history, if their ids tell which it is."""
    ids = [call.id for call in turn.calls]
    places = [i for i, m in enumerate(messages) if {c.get("id") for c in calls_of(m)} & set(ids)]
    unique = len(places) == 1 and [c.get("id") for c in calls_of(messages[places[0]])] == ids
    return places[0] if unique and len(set(ids)) == len(ids) else None


@check("XMCP-CLI-005", "XMCP-CLI-010", "XMCP-CLI-011", "XMCP-CLI-123", profile="client")
def _no_call_left_out(trace: TraceIndex) -> Observations:
    """Judge whether the history after a turn has its calls; each of them is answered there, also one that is wrong."""
    for turn in trace.turns:
        ended = turn.chat.ended
        if turn.next is None or turn.cut or (ended is not None and ended.failure is not None):
            continue
        if turn.at is not None:
            yield obeyed("XMCP-CLI-123", where=turn.next_at)
            continue
        query = max((i for i, m in enumerate(turn.messages) if m.get("role") == "user"), default=-1)
        written = [calls_of(m) for m in turn.messages[query + 1 :] if calls_of(m)]
        # Of this turn, not of one before: that has the calls which the request for this turn had.
        before = [calls_of(m) for m in turn.asked.messages if calls_of(m)]
        kept = [] if not written or written[-1] in before else written[-1]
        left_out = _left_out(turn, kept)
        if left_out and len(kept) < len(turn.calls):
            seen = f"a history without {left_out[0]}"
            yield broken(_why_left_out(turn, left_out), seen, "the call, and its answer", where=turn.next_at)


def _left_out(turn: Turn, kept: Sequence[Mapping[str, Any]]) -> list[ModelCall]:
    """Return the calls of a turn that are not among those of a message, each of which is one of them at most."""
    entries = [function_of(entry) for entry in kept]
    left_out = []
    for call in turn.calls:
        found = next((e for e in entries if e.get("name") == call.name and _has_arguments_of(e, call)), None)
        if found is None:
            left_out.append(call)
        else:
            entries.remove(found)
    return left_out


def _has_arguments_of(entry: Mapping[str, Any], call: ModelCall) -> bool:
    return same(arguments_of(str(entry.get("arguments"))), call.arguments or {})


def _why_left_out(turn: Turn, left_out: Sequence[ModelCall]) -> str:
    """Return the sentence about what the calls that were left out have in common."""
    if all(not call.offered for call in left_out):
        return "XMCP-CLI-011"
    if all(call.arguments is None for call in left_out):
        return "XMCP-CLI-010"
    older = {str(c.get("id")) for m in turn.asked.messages for c in calls_of(m)}
    ids = [call.raw_id for call in turn.calls]
    if all(not c.raw_id or c.raw_id in older or ids.count(c.raw_id) > 1 for c in left_out):
        return "XMCP-CLI-005"
    return "XMCP-CLI-123"


@check("XMCP-CLI-004", profile="client")
def _cut_short_call_is_marked(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.content is None or call.reply is None or call.meta:
            continue
        last = call.attempts[-1] if call.attempts else None
        ended_by_client = last is not None and last.outcome == "cancelled"
        codes = {*CUT_SHORT}
        if last is None and call.turn.cut and not call.succeeded and not _shares_a_request(trace, call):
            ended_by_client, codes = True, codes | permitted_codes(trace, call)
            if len(call.turn.calls) == 1 and trace.approval_of(call) is None:
                codes.discard("FORBIDDEN")  # the model would have been asked again
        if last is not None and call.turn.cut and _waits_for_another_attempt(call, last):
            ended_by_client, codes = True, codes | {"CIRCUIT_OPEN"}
        if ended_by_client:
            seen = f"{call}, which was ended before there was a result, is answered by {call.came_to}"
            yield either("XMCP-CLI-004", call.code in codes, seen, "CANCELLED or TIMEOUT", where=call.turn.next_at)


def _waits_for_another_attempt(call: ModelCall, last: Attempt) -> bool:
    """Return whether the application was told that a call is made again, and no attempt followed."""
    told = [at for at, event in call.turn.chat.events(call) if event.get("type") == "retry"]
    return (
        bool(told) and last.ended_at < told[-1] < call.turn.chat.cancelled_at and call.turn.chat.cancelled is not None
    )


def _shares_a_request(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether an equal call was attempted: what came of it, also an error, may be the answer of both."""
    equal = (other for other in trace.all_calls if other.tool is call.tool and other.arguments == call.arguments)
    return any(other is not call and other.attempts for other in equal)


@check("XMCP-CLI-005", profile="client")
def _unique_call_ids(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        if turn.at is None:
            continue
        written = calls_of(turn.messages[turn.at])
        older = [str(c.get("id")) for m in turn.messages[: turn.at] for c in calls_of(m)]
        ids = [str(entry.get("id") or "") for entry in written]
        for call, id_ in zip(turn.calls, ids, strict=True):
            used = [*older, *(other for place, other in enumerate(ids) if place != call.place)]
            taken = call.raw_id in older or [c.raw_id for c in turn.calls].count(call.raw_id) > 1
            if not call.raw_id or taken or id_ in used or not id_:
                seen = f"{call} has the id `{quoted(id_)}`{', as another call has' if id_ in used else ''}"
                yield either(
                    "XMCP-CLI-005", bool(id_) and id_ not in used, seen, "an id of its own", where=turn.next_at
                )


@check("XMCP-CLI-005", profile="client")
def _an_id_that_is_taken_ends_no_chat(trace: TraceIndex) -> Observations:
    """Judge a chat that ended with an exception before any call of a turn was made, in which ids alone are odd."""
    for turn in trace.turns:
        chat, lacking = turn.chat, turn.without_own_id
        crashed = turn.next is chat.ended and chat.ended is not None and chat.ended.failure == "crashed"
        if not crashed or not lacking or turn.at is not None or chat.cancelled is not None:
            continue
        others = any(one.fails for _, one in chat.callbacks)
        for call in turn.calls:
            others = others or bool(call.attempts) or not call.offered or call.arguments is None
        if not others:
            having = f"the id `{quoted(lacking[0].raw_id)}`, as another call has" if lacking[0].raw_id else "no id"
            seen = f"{lacking[0]} has {having}, and the chat ended ({chat.how_it_ended}) before a call was made"
            yield broken("XMCP-CLI-005", seen, "an id of its own, and a chat that goes on", where=turn.next_at)


@check("XMCP-CLI-006", profile="client")
def _text_beside_calls_kept(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        if turn.said.text.strip() and turn.at is not None:
            kept = text_of(turn.messages[turn.at])
            seen = f"the message with the calls has the text `{quoted(kept)}`"
            yield either(
                "XMCP-CLI-006",
                turn.said.text.strip() == kept.strip(),
                seen,
                f"`{quoted(turn.said.text)}`",
                where=turn.next_at,
            )


@check("XMCP-CLI-005", profile="client")
def _the_first_keeps_its_id(trace: TraceIndex) -> Observations:
    """Judge where calls of a turn have one id, and one of them has it in the history: that has to be the first."""
    for turn in trace.turns:
        if turn.at is None:
            continue
        older = {str(c.get("id")) for m in turn.messages[: turn.at] for c in calls_of(m)}
        for call in turn.calls:
            first = next(one for one in turn.calls if one.raw_id == call.raw_id)
            if call.raw_id and first is not call and call.raw_id not in older:
                ok = call.id != call.raw_id
                seen = f"{call} has the id `{quoted(call.raw_id)}`, which the model gave {first} first"
                yield either("XMCP-CLI-005", ok, seen, "an id of its own", where=turn.next_at)
