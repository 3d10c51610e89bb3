"""Checks of when a chat goes on or ends, and of its stop reason or failure (sections 11.6 and 11.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.histories import calls_of, fault_of_history
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client import expected_injections
from xmcp_conformance.profiles.client.messages import text_of
from xmcp_conformance.profiles.client.name_resolution import is_legal
from xmcp_conformance.profiles.client.trace import Said
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import IN_FAILED, Chat, ModelCall, Turn

from .displays import display_of

CLARIFY, SUMMARIZE, THINK = "__clarify__", "__summarize__", "__think__"


def said_to(turn: Turn, name: str, parameter: str) -> list[str]:
    """Return the texts that the model gave to one of the client's own tools in a turn."""
    texts = [(call.arguments or {}).get(parameter) for call in turn.calls if call.meta and call.name == name]
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def shows_everything(turn: Turn) -> bool:
    """Return whether each call succeeded, and each call on which no other depends has a display."""
    last = [call for call in turn.calls if expected_injections.is_last(call)]
    return all(call.succeeded for call in turn.calls) and all(display_of(call) is not None for call in last)


def is_known(turn: Turn) -> bool:
    """Return whether the tool and the result of each call of a turn are known."""
    calls = [call for call in turn.calls if not call.meta and call.offered]
    if any(call.unclear or call.reply is None for call in turn.calls):
        return False
    return all(call.tool is not None for call in calls)


def may_end(trace: TraceIndex, turn: Turn) -> bool:
    """Return whether a requirement other than those about displays allows the chat to end after a turn."""
    chat = turn.chat
    reason = chat.stop_reason
    failure = chat.ended.failure if chat.ended else None
    if (
        chat.cancelled is not None
        or failure in ("quota", "cancelled")
        or (failure == "provider" and (chat.failed or is_unanswered(chat)))
        or any(call.meta and call.name == CLARIFY and call.succeeded for call in turn.calls)
    ):
        return True
    return reason in ("max_turns", "timeout") and _limit_is_met(trace, turn, reason)


def _limit_is_met(trace: TraceIndex, turn: Turn, reason: str) -> bool:
    if reason == "max_turns":
        return turn.number >= trace.setup.max_turns
    limit = trace.setup.chat_timeout
    return limit is None or trace.time(turn.next_at) >= turn.chat.began.time + limit - trace.instant


@check("XMCP-CLI-060", "XMCP-CLI-062", profile="client")
def _end_after_all_displays(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        if turn.next is None or not is_known(turn) or not shows_everything(turn):
            continue
        if trace.setup.display == "exit":
            seen = "the model was asked again, although the person was shown the answer"
            yield either("XMCP-CLI-060", not turn.went_on, seen, "the end of the chat", where=turn.next_at)
        elif turn.went_on or not (may_end(trace, turn) or _judged_by_other_checks(trace, turn)):
            seen = f"the chat ended ({turn.chat.how_it_ended}) after a turn in which everything was shown"
            yield either("XMCP-CLI-062", turn.went_on, seen, "another request to the model", where=turn.next_at)


@check("XMCP-CLI-013", "XMCP-CLI-061", profile="client")
def _other_turns_go_on(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        chat = turn.chat
        if turn.next is None or not is_known(turn) or shows_everything(turn):
            if dead := _failed_before_a_crash(turn):
                seen = f"{dead} failed, and the chat ended ({chat.how_it_ended})"
                yield broken("XMCP-CLI-013", seen, "a chat that goes on", where=turn.next_at)
            continue
        if not turn.went_on and (may_end(trace, turn) or _judged_by_other_checks(trace, turn)):
            continue
        if turn.number >= trace.setup.max_turns and not turn.went_on:
            continue  # another check judges the stop reason of that
        how = chat.how_it_ended
        if bad := [call for call in turn.calls if expected_injections.failed(call)]:
            yield either(
                "XMCP-CLI-013",
                turn.went_on,
                f"{bad[0]} failed, and the chat ended ({how})",
                "a chat that goes on",
                where=turn.next_at,
            )
        if turn.went_on or not bad:
            seen = f"the chat ended ({how}) after a turn in which not everything was shown"
            yield either("XMCP-CLI-061", turn.went_on, seen, "another request to the model", where=turn.next_at)


def _judged_by_other_checks(trace: TraceIndex, turn: Turn) -> bool:
    """Return whether a limit that was not reached or a failing callback ended the chat: other checks judge that."""
    chat, reason = turn.chat, turn.chat.stop_reason
    if any(one.fails for _, one in chat.callbacks) and chat.ended is not None and chat.ended.failure == "crashed":
        return True
    return reason in ("max_turns", "timeout") and not turn.went_on and not _limit_is_met(trace, turn, reason)


def _failed_before_a_crash(turn: Turn) -> ModelCall | None:
    """Return a call that surely failed in a turn whose replies nobody saw, because the chat ended with an exception.

    A call that no server was to be asked for counts only where the turn has nothing else on which a client can trip,
    such as an id that is taken: then nobody knows of what the chat died.
    """
    chat = turn.chat
    crashed = chat.ended is not None and turn.next is chat.ended and chat.ended.failure == "crashed"
    if not crashed or is_known(turn) or chat.cancelled is not None or any(one.fails for _, one in chat.callbacks):
        return None
    for call in turn.calls:
        last = call.attempts[-1] if call.attempts else None
        unsent = last is None and not call.meta and (not call.offered or call.arguments is None)
        unsent = unsent and not turn.without_own_id
        if unsent or (last is not None and (last.outcome in ("error", "outside") or last.transport_failed)):
            return call
    return None


@check("XMCP-CLI-133", profile="client")
def _ends_as_the_tables_say(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or chat.cancelled is not None or _is_judged_elsewhere(trace, chat):
            continue
        how = chat.ended.failure
        ok = {
            None: True,
            "provider": _last_request_failed(chat) or is_unanswered(chat),
            "quota": chat.began.tenant in trace.setup.quota_tokens,
            "refused": not chat.asks and _can_be_refused(chat.began.history),
        }.get(how, False)
        expected = "a stop_reason, or a model that cannot be asked, or a quota that is used up"
        seen = f"the chat ended with a failure ({chat.how_it_ended})"
        yield either("XMCP-CLI-133", ok, seen, expected, where=chat.ended_at)


_CODES: Final[Mapping[str, str]] = {
    "auth": "AUTH_REQUIRED",
    "content": "CONTENT_POLICY",
    "context": "CONTEXT_TOO_LARGE",
    "network": "UPSTREAM_UNAVAILABLE",
    "rate_limit": "RATE_LIMIT",
}
"""The code of a failed chat for what became of the last request to a model (section 11.7)."""


@check("XMCP-CLI-133", profile="client")
def _stop_reason_is_that_of_its_row(trace: TraceIndex) -> Observations:
    """Judge the rows that no limit, no vendor and no failure is about: those are judged by other sentences."""
    for chat in trace.chats.values():
        reason, asked_last = chat.stop_reason, chat.asks[-1][1].ask if chat.asks else None
        if reason is None or chat.cancelled is not None or is_unanswered(chat):
            continue
        if chat.failed and chat.failed[-1][1].ask == asked_last:
            if not chat.failed[-1][1].stalls:
                seen = f"the chat ended with {quoted(reason)}, and the model could not be asked"
                yield either("XMCP-CLI-133", reason == "timeout", seen, "a failure", where=chat.ended_at)
            continue
        if not chat.turns or chat.turns[-1].next is not chat.ended:
            continue
        turn = chat.turns[-1]
        if turn.said.finish in ("length", "content_filter") and not turn.calls:
            continue  # XMCP-CLI-071
        wanted = _row_of(trace, turn)
        if wanted is not None and not (reason == "timeout" and _limit_is_met(trace, turn, reason)):
            seen = f"the chat ended with {quoted(reason)}, and {_WHY[wanted]}"
            yield either("XMCP-CLI-133", reason == wanted, seen, wanted, where=chat.ended_at)


def _row_of(trace: TraceIndex, turn: Turn) -> str | None:
    """Return the stop reason of a chat that ended after a turn, by what the turn has; `None` where a limit decides."""
    if not turn.calls:
        return "stop" if turn.said.text.strip() else "empty"
    if not is_known(turn) or turn.cut or any(call.meta and call.name == CLARIFY for call in turn.calls):
        return None  # XMCP-CLI-085
    return "display" if trace.setup.display == "exit" and shows_everything(turn) else None


_WHY: Final[Mapping[str, str]] = {
    "stop": "the model had answered",
    "empty": "the model had said nothing",
    "display": "the person was shown the answer",
}
"""What is so where a stop reason is the right one."""


@check("XMCP-CLI-133", profile="client")
def _last_failure_names_the_chat(trace: TraceIndex) -> Observations:
    """Judge the code where several requests failed for different reasons: which statuses are which code is open."""
    for chat in trace.chats.values():
        failures = [said.failure for _, said in chat.failed]
        codes = [told.event["error"].get("code") for _, told in chat.received if told.event.get("type") == "failed"]
        if len(codes) != 1 or not _last_request_failed(chat) or None in failures:
            continue
        *earlier, last = (_CODES[failure] for failure in failures if failure is not None)
        if set(earlier) - {last}:
            seen = f"the chat failed with {quoted(str(codes[0]))}, the reason of an earlier request to a model"
            ok = codes[0] == last or codes[0] not in earlier
            yield either("XMCP-CLI-133", ok, seen, f"{last}, that of the last one", where=chat.ended_at)


def _can_be_refused(history: Sequence[Mapping[str, Any]]) -> bool:
    odd = any(message.get("role") not in ("system", "developer", "user", "assistant", "tool") for message in history)
    return odd or fault_of_history(history) is not None


def _last_request_failed(chat: Chat) -> bool:
    return bool(chat.failed) and (not chat.turns or chat.failed[-1][0] > chat.turns[-1].said_at)


def _is_judged_elsewhere(trace: TraceIndex, chat: Chat) -> bool:
    """Return whether the end of a chat that is none of the tables is judged by another sentence, or is allowed."""
    if not chat.asks and trace.starts_incomplete:
        return True  # XMCP-CLI-038 and XMCP-CLI-094
    if any(one.fails for _, one in chat.callbacks):
        return True  # XMCP-CLI-064
    turn = chat.turns[-1] if chat.turns else None
    if turn is None or turn.next is not chat.ended or not turn.calls:
        return False
    if _failed_before_a_crash(turn) is not None:
        return True  # XMCP-CLI-013
    ends = (trace.setup.display == "exit" and shows_everything(turn)) or said_to(turn, CLARIFY, "question")
    return is_known(turn) and not ends  # XMCP-CLI-013, 061, 062 and 071


@check("XMCP-CLI-070", profile="client")
def _turn_limit(trace: TraceIndex) -> Observations:
    most = trace.setup.max_turns
    for chat in trace.chats.values():
        for at, _ in chat.asks:
            answers = sum(turn.said_at < at for turn in chat.turns)
            if answers >= most - 1:
                seen = f"the model is asked for its answer number {answers + 1}"
                yield either("XMCP-CLI-070", answers < most, seen, f"at most {most}", where=at)


@check("XMCP-CLI-071", profile="client")
def _limit_named(trace: TraceIndex) -> Observations:
    limit = trace.setup.chat_timeout
    for chat in trace.chats.values():
        if chat.stop_reason is not None and stalled_answer(chat) is not None and limit is not None:
            seen = f"the chat ended with {chat.stop_reason} while the model was silent"
            yield either("XMCP-CLI-071", chat.stop_reason == "timeout", seen, "timeout", where=chat.ended_at)
        if chat.ended is None or not chat.turns or chat.cancelled is not None:
            continue
        turn, reason = chat.turns[-1], chat.stop_reason
        if turn.next is not chat.ended or chat.ended.failure in ("provider", "quota", "cancelled"):
            continue
        if turn.said.finish in ("length", "content_filter") and not turn.calls:
            seen = f"the chat ended with {chat.how_it_ended}"
            yield either("XMCP-CLI-071", reason == turn.said.finish, seen, turn.said.finish, where=chat.ended_at)
        elif turn.calls:
            yield from _of_limit(trace, chat, turn)


def _of_limit(trace: TraceIndex, chat: Chat, turn: Turn) -> Observations:
    """Judge the stop reason of a chat that ended after a turn with calls."""
    reason = chat.stop_reason
    if reason in ("max_turns", "timeout") and not _limit_is_met(trace, turn, reason):
        yield broken(
            "XMCP-CLI-071", f"stop_reason {reason}, which was not met", "the limit that was met", where=turn.next_at
        )
        return
    if shows_everything(turn) or not is_known(turn) or said_to(turn, CLARIFY, "question"):
        return
    limit = trace.setup.chat_timeout
    late = limit is not None and trace.time(turn.next_at) >= chat.began.time + limit - trace.instant
    met = ["max_turns"] * (turn.number >= trace.setup.max_turns) + ["timeout"] * late
    if met:
        if late and any(_was_ended(trace, turn, call) for call in turn.calls):
            met = ["timeout"]  # the chat's time was over before the turn was
        ok = reason in met or (reason == "timeout" and limit is None)
        yield either(
            "XMCP-CLI-071", ok, f"the chat ended with {chat.how_it_ended}", " or ".join(met), where=turn.next_at
        )


def _was_ended(trace: TraceIndex, turn: Turn, call: ModelCall) -> bool:
    """Return whether a call was surely ended with its chat: it had no answer, and its own time was not over."""
    last = call.attempts[-1] if call.attempts else None
    own_time = math.inf if last is None else last.begun + trace.setup.tool_timeout
    return last is not None and last.outcome == "cancelled" and own_time > trace.time(turn.next_at) + trace.instant


def stalled_answer(chat: Chat) -> Said | None:
    """Return the answer that was under way when a chat ended, and of which nothing more came; `None`: there is none."""
    if not chat.failed or not chat.asks or chat.cancelled is not None:
        return None
    said = chat.failed[-1][1]
    return said if said.stalls and said.ask == chat.asks[-1][1].ask else None


def is_unanswered(chat: Chat) -> bool:
    """Return whether a chat ended at a request of which the trace has no answer, so that nobody knows what had come."""
    answered = {said.ask for _, said in chat.failed} | {turn.asked.ask for turn in chat.turns}
    return bool(chat.asks) and chat.asks[-1][1].ask not in answered


@check("XMCP-CLI-073", profile="client")
def _history_after_failure(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or chat.ended.failure not in ("provider", "quota"):
            continue
        shortened = any(said_to(turn, SUMMARIZE, "summary") for turn in chat.turns)
        told = [(at, m) for at, to, m in chat.histories if at > chat.began_at and to == IN_FAILED]
        for at, history in [(chat.ended_at, chat.ended.history), *told]:
            lost = None if shortened else _lost(chat, history)
            seen = f"a history of {len(history)} messages, {lost}"
            yield either("XMCP-CLI-073", lost is None, seen, "the history up to there", where=at)


def _lost(chat: Chat, history: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what a history lacks of a chat up to its failure, or has of what broke off; `None`: nothing.

    A client can write messages of the application anew, in parts for example, and can mend calls without an answer.
    """
    query = [{"role": "user", "content": chat.began.query}] * bool(chat.asks)
    for message in [*chat.began.history, *query]:
        role, text = message.get("role"), text_of(message)
        if role != "tool" and not any(m.get("role") == role and text in text_of(m) for m in history):
            return f"without `{quoted(text)}`"
    asked = [[_name(c) for c in calls_of(m)] for m in history if calls_of(m)]
    turns = [turn for turn in chat.turns if turn.calls]
    kept = asked[len(asked) - len(turns) :]
    if not (len(kept) == len(turns) and all(map(_has_calls_of_turn, kept, (turn.calls for turn in turns)))):
        return "without a turn"
    contents = {str(m.get("tool_call_id")): text_of(m) for m in history if m.get("role") == "tool"}
    for call in (call for turn in turns if turn.went_on for call in turn.calls):
        if call.id and call.content is not None and contents.get(call.id, call.content) != call.content:
            return f"with another answer to {call}"
    said = [turn.said.text.strip() for turn in chat.turns]
    own = [text_of(m).strip() for m in history if m.get("role") == "assistant" and m not in chat.began.history]
    void = {failed.text.strip() for _, failed in chat.failed} - {*said, ""}
    left = next((text for text in own if text in void), None)
    return None if left is None else f"with `{quoted(left)}`, which broke off"


def _has_calls_of_turn(names: Sequence[str], calls: Sequence[ModelCall]) -> bool:
    """Return whether a message has these calls; names that no tool has can be others there (section 11.11)."""
    pairs = zip(names, calls, strict=False)
    same_names = all(name == call.name or not (is_legal(call.name) and call.offered) for name, call in pairs)
    return len(names) == len(calls) and same_names


def _name(call: Mapping[str, object]) -> str:
    function = call.get("function")
    return str(function.get("name")) if isinstance(function, Mapping) else ""
