"""Checks of the cache (section 11.5): what may be answered without a call, and with which answer."""

from __future__ import annotations

from collections.abc import Iterator

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client import expected_injections
from xmcp_conformance.profiles.client.messages import same
from xmcp_conformance.profiles.client.name_resolution import key_of
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes
from xmcp_conformance.profiles.client.trace import INSTANT, Tool
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Attempt, ModelCall, gives_text
from xmcp_conformance.reader import Document

UNCACHED = "health_check"


def _answered_without_attempt(trace: TraceIndex) -> Iterator[tuple[ModelCall, Tool, Document]]:
    """Yield each call of a server's tool that was answered without an attempt, its tool, and the result."""
    for call in trace.calls:
        if call.tool is not None and not call.attempts and call.reply is not None:
            yield call, call.tool, call.reply


def is_cacheable(trace: TraceIndex, tool: Tool) -> bool:
    """Return whether a cache can have answers of a tool, if there is a cache."""
    if tool.name == UNCACHED:
        return False
    return tool.cacheable or (tool.read_only and trace.setup.cache_read_only)


@check("XMCP-CLI-050", profile="client")
def _only_cacheable_tools_cached(trace: TraceIndex) -> Observations:
    for call, tool, _ in _answered_without_attempt(trace):
        if call.succeeded:
            seen = f"{call} was answered without a call"
            yield either(
                "XMCP-CLI-050", is_cacheable(trace, tool), seen, "a call of the server", where=call.turn.next_at
            )
    for call in _repeated_calls(trace):
        if call.tool is not None and call.attempts and not is_cacheable(trace, call.tool):
            yield obeyed("XMCP-CLI-050", where=call.attempts[0].at)


def _repeated_calls(trace: TraceIndex) -> list[ModelCall]:
    """Return the calls with the tag of an earlier call: a cache can answer them where the rest is equal too."""
    return [
        call for place, call in enumerate(trace.calls) if call.tag and call.tag in [c.tag for c in trace.calls[:place]]
    ]


@check("XMCP-CLI-051", profile="client")
def _cached_answer_of_equal_call(trace: TraceIndex) -> Observations:
    for call, tool, reply in _answered_without_attempt(trace):
        if not call.succeeded or not is_cacheable(trace, tool):
            continue
        given = _answers_before(trace, call, reply)
        why = [other for attempt in given if (other := _difference(trace, call, attempt))]
        if given and len(why) < len(given):
            why = []
        elif not given:
            why = ["nobody's"]
        seen = f"{call} was answered with `{quoted(reply.llm_output or '')}`, {why[0] if why else ''}"
        yield either("XMCP-CLI-051", not why, seen, "the answer to an equal call", where=call.turn.next_at)
    for call in _repeated_calls(trace):
        if trace.setup.cache and call.attempts:
            others = [
                a for a in _answers_before(trace, call) if a.call is not call and a.call and a.call.tag == call.tag
            ]
            if others and all(_difference(trace, call, attempt) for attempt in others):
                yield obeyed("XMCP-CLI-051", where=call.attempts[0].at)


def _answers_before(trace: TraceIndex, call: ModelCall, like: Document | None = None) -> list[Attempt]:
    """Return the results that came before the model got that of a call; with `like` only those with the same text."""
    found = [a for a in trace.attempts if a.outcome == "ok" and a.ended_at < call.turn.next_at]
    return [a for a in found if like is None or (a.answered is not None and gives_text(a.answered, like.llm_output))]


def _difference(trace: TraceIndex, call: ModelCall, attempt: Attempt) -> str | None:
    """Return how an attempt differs from a call that got its answer; `None` where no difference is certain."""
    if call.tool is None or attempt.server != call.tool.server:
        return "another server's"
    if attempt.tool != call.tool.name:
        return "that of another tool"
    other = attempt.call if attempt.call is not None and not attempt.call.unclear else None
    if other is not None and other.turn.chat.began.tenant != call.turn.chat.began.tenant:
        return "that of another tenant"
    expected = expected_injections.expected_arguments(trace, call)
    if expected is not None and not same(attempt.arguments, expected):
        return "that to other arguments"
    # The calls of a turn are made with the tools as they were when the model was asked (XMCP-CLI-096).
    at_first = attempt.call.tool if attempt.call is not None else None
    then = [tool for tool in (at_first, *trace.tools_at(attempt.at)) if tool is not None]
    return None if call.tool in then else "from when the tool was described differently"


@check("XMCP-CLI-052", profile="client")
def _errors_not_cached(trace: TraceIndex) -> Observations:
    for call, _, reply in _answered_without_attempt(trace):
        if reply.error is None or call.code in permitted_codes(trace, call) or call.turn.made_for(call) is not None:
            continue
        told = (call.code, reply.error.message)
        of_servers = [(a.error.get("code"), a.error.get("message")) for a in _failures_before(trace, call)]
        if told in of_servers or told in _errors_of_equal_calls(trace, call):
            seen = f"{call} was answered with the error {call.code} of an earlier call"
            yield broken("XMCP-CLI-052", seen, "a call of the server", where=call.turn.next_at)
    for call in _repeated_calls(trace):
        if trace.setup.cache and call.sent and _failures_before(trace, call):
            yield obeyed("XMCP-CLI-052", where=call.sent[0].at)


def _failures_before(trace: TraceIndex, call: ModelCall) -> list[Attempt]:
    """Return the attempts of the same tool that failed before the model asked for this call."""
    return [
        a
        for a in trace.attempts
        if a.outcome not in ("ok", "cancelled", None) or (a.answered is not None and not a.answered.readable)
        if a.ended_at < call.turn.said_at
        if call.tool is not None and (a.server, a.tool) == key_of(call.tool)
    ]


def _errors_of_equal_calls(trace: TraceIndex, call: ModelCall) -> list[tuple[str | None, str]]:
    """Return the errors, also those of the client's own, that equal calls came to before the model asked for this one.

    A call that a cache cannot answer is none of them.
    """
    if call.tool is None or not trace.setup.cache or not is_cacheable(trace, call.tool):
        return []
    before = [other for other in trace.calls if other.tag == call.tag and other.tool == call.tool and other.attempts]
    replies = [other.reply for other in before if other.turn.next_at < call.turn.said_at]
    return [(r.error.code, r.error.message) for r in replies if r is not None and r.error is not None]


@check("XMCP-CLI-043", profile="client")
def _kept_answers_not_held_back(trace: TraceIndex) -> Observations:
    for call in _repeated_calls(trace):
        if call.tool is None or call.attempts or call.code != "CIRCUIT_OPEN" or not is_cacheable(trace, call.tool):
            continue
        for later in _repeated_calls(trace):
            kept = later.turn.said_at > call.turn.next_at and later.tag == call.tag and not later.attempts
            if not kept or later.reply is None or not later.succeeded:
                continue
            given = _answers_before(trace, later, later.reply)
            if given and all(a.ended_at < call.turn.said_at and _difference(trace, call, a) is None for a in given):
                seen = f"{call} is answered by CIRCUIT_OPEN, and the cache had its answer"
                yield broken("XMCP-CLI-043", seen, "the answer of the cache", where=call.turn.next_at)
                break


@check("XMCP-CLI-053", profile="client")
def _transient_displays_not_cached(trace: TraceIndex) -> Observations:
    def transient(attempt: Attempt) -> bool:
        display = (attempt.answered.display if attempt.answered else None) or {}
        return (display.get("meta") or {}).get("transient") is True

    def earlier(call: ModelCall) -> list[Attempt]:
        before = [a for a in _answers_before(trace, call) if a.ended_at < call.turn.said_at]
        return [a for a in before if _difference(trace, call, a) is None]

    for call, _, reply in _answered_without_attempt(trace):
        given = _answers_before(trace, call, reply)
        if call.succeeded and given and any(transient(a) for a in earlier(call)):
            ok = not all(transient(a) and a.ended_at < call.turn.said_at for a in given)
            seen = f"{call} was answered with a display that goes away by itself"
            yield either("XMCP-CLI-053", ok, seen, "a call of the server", where=call.turn.next_at)
    for call in _repeated_calls(trace):
        if trace.setup.cache and call.sent and any(transient(a) for a in earlier(call)):
            yield obeyed("XMCP-CLI-053", where=call.sent[0].at)


@check("XMCP-CLI-054", profile="client")
def _equal_call_waits(trace: TraceIndex) -> Observations:
    if not trace.setup.cache:
        return
    for call in _repeated_calls(trace):
        if call.tool is None or not is_cacheable(trace, call.tool) or expected_injections.dependencies_of(call):
            continue
        running = [
            a
            for a in trace.attempts
            if a.called is not None and a.call is not None and a.call is not call and a.call.tag == call.tag
            if a.at < call.turn.said_at < a.ended_at or a.call.turn is call.turn
            if _difference(trace, call, a) is None
        ]
        if running and call.turn.next is not None:
            again = [a for a in call.sent if any(_is_beside(a, b) for b in running)]
            at = again[0].at if again else call.turn.next_at
            yield either(
                "XMCP-CLI-054", not again, f"{call} was made besides an equal one", "the answer of that one", where=at
            )


def _is_beside(attempt: Attempt, running: Attempt) -> bool:
    """Return whether an attempt began surely before a running one ended, and before the chat of that one was over.

    By a real clock an answer, or the news of a cancellation, is on its way for a while; and where the chat of one was
    cancelled, an equal call can be made again (section 11.11).
    """
    if not running.at < attempt.at < running.ended_at or running.call is None:
        return False
    chat = running.call.turn.chat
    return attempt.begun < min(running.ended, chat.over) - (chat.instant if chat.instant > INSTANT else 0.0)


@check("XMCP-CLI-055", profile="client")
def _end_of_another_chat(trace: TraceIndex) -> Observations:
    for call in _repeated_calls(trace):
        if call.content is None or call.turn.cut:
            continue
        equal = [other for other in trace.calls if other.tag == call.tag and other.tool is call.tool]
        attempts = [attempt for one in equal for attempt in one.attempts]
        if call.code is not None and any(attempt.error.get("code") == call.code for attempt in attempts):
            continue  # it is the server's own answer
        may_be_late = any(trace.time(call.turn.next_at) - one.begun >= _least_time(trace) for one in attempts)
        for other in equal:
            chat = other.turn.chat
            if chat is call.turn.chat:
                continue
            if chat.cancelled is not None:
                over, end = chat.cancelled.time, "was cancelled"
            elif chat.stop_reason == "timeout" and trace.setup.chat_timeout is not None:
                over, end = chat.began.time + trace.setup.chat_timeout, "ran out of time"
            else:
                continue
            if trace.time(call.turn.said_at) <= over <= trace.time(call.turn.next_at) + trace.instant:
                ok = call.code != "CANCELLED" and (call.code != "TIMEOUT" or may_be_late)
                seen = f"{call} is answered by {call.code}, for the chat of an equal call {end}"
                yield either("XMCP-CLI-055", ok, seen, "an answer", where=call.turn.next_at)


def _least_time(trace: TraceIndex) -> float:
    """Return after what time an attempt may be late: its time began when the client sent it, before a server saw it."""
    return trace.setup.tool_timeout - trace.instant
