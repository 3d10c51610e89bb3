"""Checks of when a chat goes on or ends, and of its stop reason and answer (sections 11.6 and 11.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.histories import calls_of, fault_of_history
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client import expected_injections
from xmcp_conformance.profiles.client.messages import text_of
from xmcp_conformance.profiles.client.name_resolution import is_legal
from xmcp_conformance.profiles.client.permitted_codes import is_above_limit
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, ModelCall, Turn

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
            seen = f"the chat ended ({turn.chat.stop_reason}) after a turn in which everything was shown"
            yield either("XMCP-CLI-062", turn.went_on, seen, "another request to the model", where=turn.next_at)


@check("XMCP-CLI-013", "XMCP-CLI-061", profile="client")
def _other_turns_go_on(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        chat = turn.chat
        if turn.next is None or not is_known(turn) or shows_everything(turn):
            if dead := _failed_before_a_crash(turn):
                seen = f"{dead} failed, and the chat ended (crashed)"
                yield broken("XMCP-CLI-013", seen, "a chat that goes on", where=turn.next_at)
            continue
        if not turn.went_on and (may_end(trace, turn) or _judged_by_other_checks(trace, turn)):
            continue
        if turn.number >= trace.setup.max_turns and not turn.went_on:
            continue  # another check judges the stop reason of that
        how = chat.stop_reason or (chat.ended.failure if chat.ended else None)
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
    """Return a call that surely failed in a turn whose replies nobody saw, because the chat ended with an exception."""
    chat = turn.chat
    crashed = chat.ended is not None and turn.next is chat.ended and chat.ended.failure == "crashed"
    if not crashed or is_known(turn) or chat.cancelled is not None or any(one.fails for _, one in chat.callbacks):
        return None
    for call in turn.calls:
        last = call.attempts[-1] if call.attempts else None
        unsent = last is None and not call.meta and (not call.offered or call.arguments is None)
        if unsent or (last is not None and (last.outcome == "error" or last.transport_failed)):
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
        yield either("XMCP-CLI-133", ok, f"the chat ended with the failure `{how}`", expected, where=chat.ended_at)


_CODES: Final[Mapping[str, str]] = {
    "auth": "AUTH_REQUIRED",
    "content": "CONTENT_POLICY",
    "context": "CONTEXT_TOO_LARGE",
    "network": "UPSTREAM_UNAVAILABLE",
    "rate_limit": "RATE_LIMIT",
}
"""The code of a failed chat for what became of the last request to a model (section 11.7)."""


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
    for chat in trace.chats.values():
        if chat.ended is None or not chat.turns or chat.cancelled is not None:
            continue
        turn, reason = chat.turns[-1], chat.stop_reason
        if turn.next is not chat.ended or chat.ended.failure in ("provider", "quota", "cancelled"):
            continue
        if turn.said.finish is not None and not turn.calls:
            yield either("XMCP-CLI-071", reason == turn.said.finish, str(reason), turn.said.finish, where=chat.ended_at)
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
        how = reason or (chat.ended.failure if chat.ended else None)
        if late and any(_was_ended(trace, turn, call) for call in turn.calls):
            met = ["timeout"]  # the chat's time was over before the turn was
        ok = reason in met or (reason == "timeout" and limit is None)
        yield either("XMCP-CLI-071", ok, f"the chat ended with {how}", " or ".join(met), where=turn.next_at)


def _was_ended(trace: TraceIndex, turn: Turn, call: ModelCall) -> bool:
    """Return whether a call was surely ended with its chat: it had no answer, and its own time was not over."""
    last = call.attempts[-1] if call.attempts else None
    own_time = math.inf if last is None else last.begun + trace.setup.tool_timeout
    return last is not None and last.outcome == "cancelled" and own_time > trace.time(turn.next_at) + trace.instant


@check("XMCP-CLI-072", profile="client")
def _answer_is_text_of_the_model(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or not chat.ended.result:
            continue
        answer = chat.ended.result.get("answer")
        if not answer or not isinstance(answer, str) or is_unanswered(chat):
            yield obeyed("XMCP-CLI-072", where=chat.ended_at)
            continue
        texts = [turn.said.text for turn in chat.turns]
        own = [*texts, "".join(texts), *(q for turn in chat.turns for q in said_to(turn, CLARIFY, "question"))]
        ok = answer.strip() in [text.strip() for text in own]
        if chat.stop_reason == "timeout":  # what had come by then of an answer that was under way
            ok = ok or any(said.text.strip().startswith(answer.strip()) for _, said in chat.failed)
        yield either("XMCP-CLI-072", ok, f"the answer `{quoted(answer)}`", "a text of the model", where=chat.ended_at)


def _said(answer: str) -> str:
    return f"the answer `{quoted(answer)}`" if answer else "no answer"


def is_unanswered(chat: Chat) -> bool:
    """Return whether a chat ended at a request of which the trace has no answer, so that nobody knows what had come."""
    answered = {said.ask for _, said in chat.failed} | {turn.asked.ask for turn in chat.turns}
    return bool(chat.asks) and chat.asks[-1][1].ask not in answered


@check("XMCP-CLI-124", profile="client")
def _answer_of_the_stop_reason(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or not chat.ended.result or not chat.turns:
            continue
        under_way = chat.turns[-1].next is chat.ended and bool(chat.turns[-1].calls)
        if chat.stop_reason not in _ANSWERS and not (chat.stop_reason == "timeout" and under_way):
            continue
        # Where it is no text of the model at all, another check judges it.
        said = [turn.said.text.strip() for turn in chat.turns]
        given = chat.ended.result.get("answer")
        answer = str(given or "").strip()
        if answer and answer not in said:
            continue
        wanted = said[-1] if _ANSWERS.get(chat.stop_reason) else ""
        if not wanted and not answer:
            yield either("XMCP-CLI-124", given is None, "an empty text as the answer", "`null`", where=chat.ended_at)
            continue
        seen = f"{_said(answer)} of a chat that ended with {chat.stop_reason}"
        expected = f"`{quoted(wanted)}`, the text of the last turn" if wanted else "no answer"
        yield either("XMCP-CLI-124", answer == wanted, seen, expected, where=chat.ended_at)


_ANSWERS = {
    "stop": True,
    "display": False,
    "max_turns": True,
    "length": True,
    "content_filter": True,
    "empty": False,
}
"""Whether the text of the last turn is the `answer`, by the stop reason; other checks judge that of the others."""


@check("XMCP-CLI-073", profile="client")
def _history_after_failure(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or chat.ended.failure not in ("provider", "quota"):
            continue
        history = chat.ended.history
        texts = [text_of(message) for message in history if message.get("role") == "user"]
        wanted = [text_of(m) for m in chat.began.history if m.get("role") == "user"] + [chat.began.query] * bool(
            chat.asks
        )
        shortened = any(said_to(turn, SUMMARIZE, "summary") for turn in chat.turns)
        lost = [] if shortened else [text for text in wanted if not any(text in held for held in texts)]
        asked = [[_name(c) for c in calls_of(m)] for m in history if calls_of(m)]
        turns = [turn.calls for turn in chat.turns if turn.calls]
        kept = asked[len(asked) - len(turns) :]
        missing = not shortened and not (len(kept) == len(turns) and all(map(_has_calls_of_turn, kept, turns)))
        seen = (
            f"a history without `{quoted(lost[0])}`"
            if lost
            else f"a history of {len(history)} messages, without a turn"
        )
        yield either("XMCP-CLI-073", not (lost or missing), seen, "the history up to there", where=chat.ended_at)


def _has_calls_of_turn(names: Sequence[str], calls: Sequence[ModelCall]) -> bool:
    """Return whether a message has these calls; names that no vendor accepts can be others there."""
    same_names = all(name == call.name or not is_legal(call.name) for name, call in zip(names, calls, strict=False))
    return len(names) == len(calls) and same_names


def _name(call: Mapping[str, object]) -> str:
    function = call.get("function")
    return str(function.get("name")) if isinstance(function, Mapping) else ""


@check("XMCP-CLI-085", profile="client")
def _question_ends_the_chat(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        questions = said_to(turn, CLARIFY, "question")
        refused = any(call.meta and call.name == CLARIFY and is_above_limit(trace, call) for call in turn.calls)
        if not questions or refused or turn.cut or not is_known(turn):
            continue
        if turn.went_on:
            yield broken(
                "XMCP-CLI-085",
                "the model was asked again after its question",
                "the end of the chat",
                where=turn.next_at,
            )
        elif turn.chat.ended is not None and turn.chat.ended.result is not None:
            answer = str(turn.chat.ended.result.get("answer") or "")
            ok = any(question in answer for question in questions)
            seen = f"the chat ended with {_said(answer)}"
            yield either("XMCP-CLI-085", ok, seen, f"`{quoted(questions[0])}`", where=turn.next_at)
