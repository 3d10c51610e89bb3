"""Checks of the history that a client sends to the model and returns to the application (section 11.1)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.histories import calls_of, fault_of_history
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import arguments_of, function_of, same, text_of
from xmcp_conformance.profiles.client.permitted_codes import CUT_SHORT, permitted_codes
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import ModelCall


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
            if call.arguments is None and arguments_of(written):  # what is no object at all is blamed above
                seen = f"{call} has the arguments {quoted(written)}, and the model wrote {quoted(call.written)}"
                yield broken("XMCP-CLI-007", seen, "`{}`", where=turn.next_at)


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
        if ended_by_client:
            seen = f"{call}, which was ended before there was a result, is answered by {call.came_to}"
            yield either("XMCP-CLI-004", call.code in codes, seen, "CANCELLED or TIMEOUT", where=call.turn.next_at)


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


@check("XMCP-CLI-006", profile="client")
def _text_beside_calls_kept(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        if turn.said.text.strip() and turn.at is not None:
            kept = text_of(turn.messages[turn.at])
            seen = f"the message with the calls has the text `{quoted(kept)}`"
            yield either(
                "XMCP-CLI-006", turn.said.text.strip() in kept, seen, f"`{quoted(turn.said.text)}`", where=turn.next_at
            )
