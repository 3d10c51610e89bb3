"""Checks of the members of events (sections 10.1 and 10.2), and of what an error says after an attempt (11.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.event_order import TYPES
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import is_beyond_a_double, same
from xmcp_conformance.profiles.client.name_resolution import is_legal
from xmcp_conformance.profiles.client.trace import INSTANT
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, ModelCall
from xmcp_conformance.reader.schemas import validator

from .displays import display_of

_BEFORE_ITS_REQUEST: Final = ("retry", "failed", "warning", "done")
"""Events that can be of a request which was not sent: one that a quota refused, or that reached no vendor."""


@check("XMCP-REC-001", profile="client")
def _valid_events(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for at, told in chat.received:
            fault = _fault_of(told.event)
            if fault is None:
                yield obeyed("XMCP-REC-001", where=at)
                continue
            place = "".join(f"/{part}" for part in fault.instance_path)
            seen = f"{_name(told.event)} that is not valid{f' at `{quoted(place)}`' if place else ''}: "
            expected = "what schemas/chat_event.schema.json allows"
            yield broken("XMCP-REC-001", seen + quoted(fault.message), expected, where=at)


def _fault_of(event: Mapping[str, Any]) -> Any:
    return next(validator("chat_event").iter_errors(dict(event)), None)


def _name(event: Mapping[str, Any]) -> str:
    return f"an event `{quoted(str(event.get('type')))}`"


@check("XMCP-REC-006", profile="client")
def _members_say_what_happened(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        before = _Before(_calls_by_id(chat))
        for at, told in chat.received:
            if _fault_of(told.event) is not None or told.event["type"] not in TYPES:
                continue  # another check says that, or it is a type of the client's own
            faults = list(_faults(chat, at, told.event, before))
            for seen, expected in faults:
                yield broken("XMCP-REC-006", f"{_name(told.event)} with {seen}", expected, where=at)
            if not faults:
                yield obeyed("XMCP-REC-006", where=at)


@dataclass(slots=True)
class _Before:
    """What the events of a chat were so far, as far as those that come next depend on it."""

    calls: Mapping[str, ModelCall]
    retries: Counter[tuple[Any, Any]] = field(default_factory=Counter)
    usages: int = 0


def _calls_by_id(chat: Chat) -> dict[str, ModelCall]:
    """Return the calls of a chat whose events are surely theirs, by their ids."""
    calls = [call for turn in chat.turns for call in turn.calls]
    number = Counter(id_ for call in calls for id_ in {call.id, call.raw_id})
    return {call.id: call for call in calls if call.id and number[call.id] == 1}


def _faults(chat: Chat, at: int, event: Mapping[str, Any], before: _Before) -> Iterator[tuple[str, str]]:
    """Yield what is seen and what is expected for each member of an event that says something else."""
    kind, id_ = event["type"], event.get("call_id")
    call = before.calls.get(str(id_))
    if id_ is None or call is not None:  # else the turn of a call is not known
        turns = {call.turn.number} if call is not None else _turns(chat, at, kind)
        if event["turn"] not in turns:
            yield f"`turn` {event['turn']}", " or ".join(map(str, sorted(turns)))
    if kind == "retry":
        yield from _of_retry(at, event, call, before)
    before.usages += kind == "usage"
    if kind == "done" and chat.ended is not None and chat.ended.result is not None and at == chat.received[-1][0]:
        yield from _of_done(chat, event["result"], chat.ended.result, before.usages)
    if call is not None:
        yield from _of_call(kind, event, call)


def _of_retry(at: int, event: Mapping[str, Any], call: ModelCall | None, before: _Before) -> Iterator[tuple[str, str]]:
    id_ = event.get("call_id")
    of = (id_, event["turn"])
    before.retries[of] += 1
    if event["attempt"] != before.retries[of]:
        yield f"`attempt` {event['attempt']}", f"{before.retries[of]}, how many have failed so far"
    least = event["error"].get("retry_after_ms", 0)
    if id_ is None or event["wait_ms"] >= least - _ROUNDED:  # the wait before another model is the client's own
        return
    attempts = call.attempts if call is not None else []
    last, after = next((pair for pair in pairwise(attempts) if pair[1].at > at), (None, None))
    if last is not None and after is not None:
        asked = last.error.get("retry_after_ms", 0)
        if (after.begun - last.ended) * 1000 < asked - INSTANT * 1000:
            return  # the wait was that short, and the event tells the truth: XMCP-ERR-041
    yield f"`wait_ms` {event['wait_ms']}", f"at least the {least} that its error asks for"


_WHITE_SPACE: Final = " \t\r\n"
_SHORT: Final = 1_000
"""Number of characters of a message of which no client leaves out a part for the model."""
_ROUNDED: Final = 1
"""Milliseconds."""


def _of_call(kind: str, event: Mapping[str, Any], call: ModelCall) -> Iterator[tuple[str, str]]:
    if is_legal(call.name) and event.get("tool_name") != call.name:
        yield f"`tool_name` `{quoted(str(event.get('tool_name')))}`", f"`{call.name}`"
    if kind == "tool_started" and call.succeeded and not call.attempts and not call.unclear:
        yield "a call that an earlier or an equal one answered", "no `tool_started`, which is of an attempt"
    if kind == "tool_call":
        if event.get("text") not in (None, call.written):
            yield f"`text` `{quoted(str(event.get('text')))}`", f"`{quoted(call.written)}`, as the model wrote it"
        told, written = event["arguments"], call.arguments
        if not is_beyond_a_double(written) and not same(told, written):
            yield f"`arguments` {quoted(str(told))}", quoted(str(written))
    if kind == "tool_result" and (said := _text_of_result(call)) is not None and event["text"] != said:
        changed = call.reply is None or call.reply.truncated or "llm_output" in call.reply.lossy
        # What a client has read wrongly, and tells as it tells the model, is judged by the sentences about reading.
        if changed or call.reply is None or event["text"] != (call.reply.llm_output or ""):
            yield f"`text` `{quoted(event['text'])}`", f"`{quoted(said)}`, the text of the result"
    told = call.reply.error if kind == "tool_error" and call.reply is not None else None
    if told is not None and event["error"]["code"] != told.code:
        yield f"the code {quoted(event['error']['code'])}", f"{told.code}, as in the document for the model"
    elif told is not None and told.category is not None and event["error"].get("category") != told.category:
        category = quoted(str(event["error"].get("category")))
        yield f"the category {category}", f"{quoted(told.category)}, as in the document for the model"
    elif told is not None and call.reply is not None and "error" not in call.reply.lossy:
        message, words = str(event["error"].get("message")), told.message.strip(_WHITE_SPACE)
        if message != words and len(message) <= _SHORT:
            yield f"the message `{quoted(message)}`", f"`{quoted(words)}`, as in the document for the model"


def _turns(chat: Chat, at: int, kind: str) -> set[int]:
    """Return the turns of which an event that is not of a call can be, at a record."""
    done = [turn for turn in chat.turns if turn.said_at < at]
    last = done[-1].said_at if done else -1
    asked = any(last < asked_at < at for asked_at, _ in chat.asks)
    now = len(done) + asked
    return {now, now + 1} if not asked and kind in _BEFORE_ITS_REQUEST else {now}


def _text_of_result(call: ModelCall) -> str | None:
    """Return the text of the server's answer to a call; `None` where it is not known for sure."""
    answer = call.answer if call.attempts else None
    if answer is None or not answer.readable or answer.for_user is not None or answer.outcome != "ok":
        return None
    if answer.text is None and answer.structured is not None:
        return None
    return answer.text or ""


def _of_done(chat: Chat, told: Mapping[str, Any], result: Mapping[str, Any], usages: int) -> Iterator[tuple[str, str]]:
    """Yield where the result in `done` is not that of the chat, or contradicts its events."""
    own = {name: result[name] for name in ("answer", "stop_reason", "displays") if name in result}
    own["history"] = list(chat.ended.history) if chat.ended is not None else []
    for name, value in own.items():
        if not same(told[name], value):
            yield f"a `{name}` in its result that is not the chat's: {quoted(str(told[name]))}", quoted(str(value))
    if told["usage"]["llm_calls"] != usages:
        yield f"`llm_calls` {told['usage']['llm_calls']}", f"{usages}, how many events `usage` there were"
    shown = [(call, display) for turn in chat.turns for call in turn.calls if (display := display_of(call))]
    if shown and not chat.cut and all(call.succeeded and not call.unclear for call, _ in shown):
        first = shown[0][1]
        if not same(told["display"], first):
            seen = f"the `display` {quoted(str(told['display']))}"
            yield seen, f"{quoted(str(first))}, the first that a tool answered with"


@check("XMCP-CLI-132", profile="client")
def _unknown_after_an_attempt(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.unclear or call.reply is None or call.reply.error is None:
            continue
        last = call.attempts[-1] if call.attempts else None
        is_of_server = last is not None and last.error and last.error.get("code") == call.code
        # An attempt that had ended before the chat did, or before a breaker opened, is an earlier one too.
        ended = last is not None and call.code in ("CANCELLED", "TIMEOUT") and last.outcome in ("lost", "error")
        earlier = call.sent if call.was_held_back or ended else [one for one in call.sent if one is not last]
        if is_of_server or all(one.error.get("side_effects") == "none" for one in earlier):
            continue
        said = (call.reply.error.meta or {}).get("side_effects")
        seen = f"{call} is answered by {call.code} with `side_effects` `none`, after an attempt that may have had some"
        yield either("XMCP-CLI-132", said != "none", seen, "`unknown`", where=call.turn.next_at)
