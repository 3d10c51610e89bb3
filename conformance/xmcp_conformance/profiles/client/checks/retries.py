"""Checks of attempts, waits, time-outs and cancellation (sections 4.2, 4.5, 8.6 and 11.4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import Observation, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.permitted_codes import (
    may_be_held_back,
    may_follow,
    permitted_codes,
    was_cut_short,
)
from xmcp_conformance.profiles.client.trace import INSTANT, INVALID_PARAMS, Called
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Attempt, Chat, ModelCall, is_error_by_flag_alone
from xmcp_models.registry import ERROR_CATEGORIES

LONGEST_WAIT = 120.0
"""The longest time, in seconds, that a client waits for another attempt."""
SLACK = 1.0
"""The time, in seconds, that a cancellation can take to reach the server, besides a tenth of the time-out."""


def _retries(trace: TraceIndex) -> Iterator[tuple[ModelCall, Attempt, Attempt]]:
    """Yield each attempt that followed another, with its call and the attempt before it."""
    for call in trace.calls:
        for before, after in pairwise(call.attempts):
            yield call, before, after


@check("XMCP-CLI-125", profile="client")
def _code_of_a_lost_connection(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        lost = bool(call.attempts) and call.attempts[-1].outcome in ("unreachable", "lost")
        if not lost or call.unclear or call.reply is None or was_cut_short(call):
            continue
        seen = f"{call}, whose server could not be reached or was lost, is answered by {call.came_to}"
        ok = call.code == "CONNECTION_FAILED" or call.code in permitted_codes(trace, call)
        yield either("XMCP-CLI-125", ok, seen, "CONNECTION_FAILED", where=call.turn.next_at)


@check("XMCP-ERR-040", profile="client")
def _only_safe_retries(trace: TraceIndex) -> Observations:
    for call, before, after in _retries(trace):
        seen = f"{call} was made again after {before.outcome} {quoted(str(before.error.get('code', '')))}"
        yield either("XMCP-ERR-040", may_follow(call, before), seen, "no other attempt", where=after.at)
    for call in trace.calls:
        # The requirement also applies to a call that failed and was not repeated.
        if len(call.attempts) == 1 and call.attempts[0].outcome in ("error", "lost", "late", "outside"):
            yield obeyed("XMCP-ERR-040", where=call.attempts[0].at)


@check("XMCP-ERR-041", profile="client")
def _retry_after_respected(trace: TraceIndex) -> Observations:
    for call, before, after in _retries(trace):
        wait = before.error.get("retry_after_ms")
        if wait is not None:
            waited = (after.begun - before.ended) * 1000
            seen = f"{call} was made again after {waited:.0f} ms"
            # By a real clock too: a client gets an answer after it was sent, and so waits a little longer.
            yield either("XMCP-ERR-041", waited >= wait - INSTANT * 1000, seen, f"{wait} ms at least", where=after.at)


@check("XMCP-ERR-042", profile="client")
def _error_reaches_the_model(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        last = call.attempts[-1] if call.attempts else None
        if last is None or call.reply is None:
            continue
        if (
            not (last.transport_failed or last.outcome in ("error", "too_large", "outside"))
            or not _readable(last)
            or (last.answered is not None and is_error_by_flag_alone(last.answered))  # XMCP-MCP-052
            or _undefined_category(last) is not None
        ):
            continue
        if any(callback.fails for _, callback in call.turn.chat.callbacks) or call.code in permitted_codes(trace, call):
            continue
        code = last.error.get("code")
        refused = last.answered is not None and last.answered.protocol_error == INVALID_PARAMS  # XMCP-MCP-041
        known = last.outcome == "error" and trace.sends_documents(last) and not refused
        reported = call.code is not None and (not known or call.code == code or was_cut_short(call))
        seen = f"{call} failed with {quoted(str(code or last.outcome))} and is answered by {call.came_to}"
        yield either("XMCP-ERR-042", reported, seen, "the error, for the model", where=call.turn.next_at)


def _readable(attempt: Attempt) -> bool:
    return attempt.answered is None or attempt.answered.readable


def _undefined_category(attempt: Attempt) -> str | None:
    """Return the category of a server's error where the specification does not define it, else `None`."""
    category = attempt.error.get("category")
    return str(category) if category is not None and category not in ERROR_CATEGORIES else None


@check("XMCP-ERR-012", profile="client")
def _unknown_category_is_internal(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        last = call.attempts[-1] if call.attempts else None
        if last is None or (category := _undefined_category(last)) is None or call.reply is None:
            continue
        seen = f"{call} failed with the category `{quoted(category)}` and is answered by {call.came_to}"
        ok = call.code == last.error.get("code") or was_cut_short(call)
        yield either(
            "XMCP-ERR-012", ok, seen, f"the error {quoted(str(last.error.get('code')))}", where=call.turn.next_at
        )


@check("XMCP-SEC-040", profile="client")
def _attempts_bounded(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if len(call.attempts) > 1 or any(
            a.transport_failed or a.outcome in ("error", "outside") for a in call.attempts
        ):
            made, most = len(call.attempts), trace.setup.max_attempts
            seen = f"{made} attempts of {call}"
            yield either("XMCP-SEC-040", made <= most, seen, f"at most {most}", where=call.attempts[-1].at)


@check("XMCP-CLI-040", profile="client")
def _waits_bounded(trace: TraceIndex) -> Observations:
    for call, before, after in _retries(trace):
        waited, most = after.begun - before.ended, _remaining_seconds(trace, call, before.ended)
        busy = any(
            trace.running(at) + 1 >= trace.setup.max_concurrency
            for at in range(before.ended_at, after.at + 1)
            if isinstance(trace.records[at], Called)
        )
        if not busy:
            seen = f"{waited:.1f} s before the next attempt of {call}"
            yield either("XMCP-CLI-040", waited <= most + trace.instant, seen, f"{most:g} s at most", where=after.at)
    for call in trace.calls:
        for at, event in call.turn.chat.events(call):
            if event.get("type") == "retry":
                wait, most = event.get("wait_ms", 0) / 1000, _remaining_seconds(trace, call, trace.time(at))
                seen = f"a wait of {wait:.1f} s announced for {call}"
                yield either("XMCP-CLI-040", wait <= most + trace.instant, seen, f"{most:g} s at most", where=at)
        if call.attempts:
            last = call.attempts[-1]
            wait = (last.error.get("retry_after_ms") or 0) / 1000
            if wait > _remaining_seconds(trace, call, last.ended):  # the next attempt was not made, as required
                yield obeyed("XMCP-CLI-040", where=last.at)


def _remaining_seconds(trace: TraceIndex, call: ModelCall, now: float) -> float:
    """Return the seconds that a client can still wait."""
    limit = trace.setup.chat_timeout
    left = LONGEST_WAIT if limit is None else call.turn.chat.began.time + limit - now
    return min(LONGEST_WAIT, left)


@check("XMCP-CLI-041", profile="client")
def _timed_out_call_cancelled(trace: TraceIndex) -> Observations:
    limit = trace.setup.tool_timeout
    most = limit * 1.1 + SLACK
    now = trace.records[-1].time if trace.records else 0.0
    for attempt in trace.attempts:
        took = min(attempt.ended, now) - attempt.begun
        if attempt.called is not None and (attempt.outcome == "late" or took > most):
            seen = f"`{attempt.tool}` was at work for {took:.1f} s"
            yield either("XMCP-CLI-041", took <= most, seen, f"{limit:g} s at most", where=attempt.at)
    for call in trace.calls:
        if call.attempts and call.attempts[-1].outcome == "late" and call.reply is not None:
            seen = f"{call}, which got no answer, is answered by {call.came_to}"
            held_back = call.code == "CIRCUIT_OPEN" and may_be_held_back(trace, call)
            ok = call.code == "TIMEOUT" or was_cut_short(call) or held_back
            yield either("XMCP-CLI-041", ok, seen, "TIMEOUT", where=call.turn.next_at)
        if call.code == "TIMEOUT" and not call.turn.cut and not trace.may_share(call):
            yield from _had_its_time(trace, call)


def _had_its_time(trace: TraceIndex, call: ModelCall) -> Observations:
    """Judge whether each attempt that the client gave up had a time of its own: waits and other attempts do not count.

    A client can open a connection in that time, before its server sees the call.
    """
    least, time_of_chat = trace.setup.tool_timeout - SLACK - trace.instant, trace.setup.chat_timeout
    for attempt in call.sent:
        took, left = attempt.ended - attempt.begun, _remaining_seconds(trace, call, attempt.ended)
        out_of_time = time_of_chat is not None and left < SLACK + trace.instant
        if attempt.outcome == "cancelled" and took < least and not out_of_time:
            seen = f"an attempt of {call} was given up after {took:.1f} s, as one without an answer in time"
            yield broken("XMCP-CLI-041", seen, f"{least:g} s at least", where=attempt.at)


@check("XMCP-CLI-046", profile="client")
def _cancelled_chat_cancels_calls(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.cancelled is not None:
            at, over, what = chat.cancelled_at, chat.cancelled.time, "was cancelled"
        elif chat.ended is not None and chat.stop_reason == "timeout":
            at, over, what = chat.ended_at, chat.ended.time, "had ended at its time limit"
        else:
            continue
        for call in (call for turn in chat.turns for call in turn.calls if not call.unclear):
            if not call.sent and call.tool is not None and call.turn.next is chat.ended:
                yield obeyed("XMCP-CLI-046", where=at)
            for attempt in call.sent:
                if attempt.at > at and attempt.begun > over + trace.instant:
                    seen = f"{call} went out after its chat {what}"
                    yield either("XMCP-CLI-046", False, seen, "no call", where=attempt.at)
                elif _was_under_way(attempt, at, over) and not _is_waited_for_elsewhere(trace, call, over):
                    yield _is_cancelled(call, attempt, over, what)


def _was_under_way(attempt: Attempt, at: int, over: float) -> bool:
    """Return whether an attempt had no answer when its chat was over. At a time limit, it can be cancelled before."""
    ended_with_it = attempt.outcome == "cancelled" and attempt.ended >= over - SLACK
    return attempt.at < at and (at < attempt.ended_at or ended_with_it)


def _is_cancelled(call: ModelCall, attempt: Attempt, when: float, what: str) -> Observation:
    soon = attempt.ended - when <= (call.turn.chat.instant if attempt.was_answered else SLACK)
    seen = f"{call} was {attempt.outcome or 'at work'} after its chat {what}"
    return either("XMCP-CLI-046", soon, seen, "a cancellation at the server", where=attempt.at)


def _was_cancelled_by(chat: Chat, time: float) -> bool:
    return chat.cancelled is not None and chat.cancelled.time <= time


def _is_waited_for_elsewhere(trace: TraceIndex, call: ModelCall, over: float) -> bool:
    """Return whether another chat, which goes on after `over`, has an equal call that can wait for the same answer."""
    return any(
        other.turn.chat is not call.turn.chat and not _was_cancelled_by(other.turn.chat, over)
        for other in trace.calls
        if other.tag == call.tag and other.name == call.name and other.arguments == call.arguments
    )
