"""Checks of the members of events (sections 10.1 and 10.2), and of what an error says after an attempt (11.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.event_order import TYPES
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import is_beyond_a_double, same
from xmcp_conformance.profiles.client.name_resolution import is_legal
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, ModelCall, gives_text
from xmcp_conformance.reader.schemas import validator

from .displays import display_of
from .told_errors import faults_of_error
from .told_progress import faults_of_progress
from .told_retries import faults_of_retry

_BEFORE_ITS_REQUEST: Final = ("retry", "failed", "warning", "done")
"""Events that can be of a request which was not sent: one that a quota refused, or that reached no vendor."""

_UNMADE: Final = ("FORBIDDEN", "DEPENDENCY_FAILED", "MISSING_SERVER_PARAM")
"""Codes with which a client answers a call that it does not make."""


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
        before = _Before(calls_by_id(chat))
        for at, told in chat.received:
            if _fault_of(told.event) is not None or told.event["type"] not in TYPES:
                continue  # another check says that, or it is a type of the client's own
            faults = list(_faults(trace, chat, at, told.event, before))
            for seen, expected in faults:
                yield broken("XMCP-REC-006", f"{_name(told.event)} with {seen}", expected, where=at)
            if not faults:
                yield obeyed("XMCP-REC-006", where=at)


@dataclass(slots=True)
class _Before:
    """What the events of a chat were so far, as far as those that come next depend on it."""

    calls: Mapping[str, ModelCall]
    retries: Counter[tuple[Any, Any]] = field(default_factory=Counter)
    reports: Counter[str | None] = field(default_factory=Counter)
    usages: int = 0


def calls_by_id(chat: Chat) -> dict[str, ModelCall]:
    """Return the calls of a chat whose events are surely theirs, by their ids."""
    calls = [call for turn in chat.turns for call in turn.calls]
    number = Counter(id_ for call in calls for id_ in {call.id, call.raw_id})
    return {call.id: call for call in calls if call.id and number[call.id] == 1}


def _faults(
    trace: TraceIndex, chat: Chat, at: int, event: Mapping[str, Any], before: _Before
) -> Iterator[tuple[str, str]]:
    """Yield what is seen and what is expected for each member of an event that says something else."""
    kind, id_ = event["type"], event.get("call_id")
    call = before.calls.get(str(id_))
    if id_ is None or call is not None:  # else the turn of a call is not known
        turns = {call.turn.number} if call is not None else _turns(chat, at, kind)
        if event["turn"] not in turns:
            yield f"`turn` {event['turn']}", " or ".join(map(str, sorted(turns)))
    if kind == "retry":
        of = (id_, event["turn"])
        before.retries[of] += 1
        yield from faults_of_retry(trace, at, event, call, before.retries[of])
    if kind == "tool_progress" and call is not None and not call.unclear:
        yield from faults_of_progress(at, event, call, before.reports)
    if kind == "failed" and "history" not in event:
        yield "no `history`", "the history of the chat: the reader is the application"
    before.usages += kind == "usage"
    if kind == "done" and chat.ended is not None and chat.ended.result is not None and at == chat.received[-1][0]:
        yield from _of_done(chat, event["result"], chat.ended.result, before.usages)
    if call is not None:
        yield from _of_call(kind, event, call)


def _of_call(kind: str, event: Mapping[str, Any], call: ModelCall) -> Iterator[tuple[str, str]]:
    if is_legal(call.name) and call.offered and event.get("tool_name") != call.name:
        yield f"`tool_name` `{quoted(str(event.get('tool_name')))}`", f"`{call.name}`"
    if kind == "tool_started" and not call.attempts and not call.unclear:
        if call.succeeded:
            yield "a call that an earlier or an equal one answered", "no `tool_started`, which is of an attempt"
        elif call.source is None and (call.code in _UNMADE or call.arguments is None or not call.offered):
            yield f"a call that is answered by {call.came_to} and not made", "no `tool_started`, which is of an attempt"
    if kind == "tool_call":
        if event.get("text") not in (None, call.written):
            yield f"`text` `{quoted(str(event.get('text')))}`", f"`{quoted(call.written)}`, as the model wrote it"
        told, written = event["arguments"], call.arguments
        if not is_beyond_a_double(written) and not same(told, written):
            yield f"`arguments` {quoted(str(told))}", quoted(str(written))
    if kind == "tool_result" and (said := _text_of_result(call)) is not None and event["text"] != said:
        changed = call.reply is None or call.reply.truncated or "llm_output" in call.reply.lossy
        read = call.reply.llm_output if call.reply is not None else None
        is_right = call.answer is not None and gives_text(call.answer, read)  # but for a reference to a block (6.4)
        # What a client has read wrongly, and tells as it tells the model, is judged by the sentences about reading.
        if changed or call.reply is None or is_right or event["text"] != (read or ""):
            yield f"`text` `{quoted(event['text'])}`", f"`{quoted(said)}`, the text of the result"
    if kind == "tool_error":
        yield from faults_of_error(event["error"], call)


def _turns(chat: Chat, at: int, kind: str) -> set[int]:
    """Return the turns of which an event that is not of a call can be, at a record."""
    done = [turn for turn in chat.turns if turn.said_at < at]
    last = done[-1].said_at if done else -1
    asked = any(last < asked_at < at for asked_at, _ in chat.asks)
    now = len(done) + asked
    return {now, now + 1} if not asked and kind in _BEFORE_ITS_REQUEST else {now}


def _text_of_result(call: ModelCall) -> str | None:
    """Return the text of the answer to a call, one of a cache included; `None` where it is not known for sure."""
    answer = call.answer
    if answer is None or not answer.readable or answer.outcome != "ok" or answer.own_words:
        return None
    if not call.attempts and answer.for_user is not None:
        return None  # the reference to that block is in the text which shows whose answer it is
    if not answer.text and (answer.structured is not None or answer.for_user is not None):
        return None
    return answer.text or ""


def _of_done(chat: Chat, told: Mapping[str, Any], result: Mapping[str, Any], usages: int) -> Iterator[tuple[str, str]]:
    """Yield where the result in `done` is not that of the chat, or contradicts its events."""
    own = {name: result[name] for name in ("answer", "stop_reason", "displays") if name in result}
    own["history"] = list(chat.ended.history) if chat.ended is not None else []
    for name, value in own.items():
        if name not in told:
            yield f"no `{name}` in its result", "that of the chat: the reader is the application"
        elif not same(told[name], value):
            yield f"a `{name}` in its result that is not the chat's: {quoted(str(told[name]))}", quoted(str(value))
    if told["usage"]["llm_calls"] != usages:
        yield f"`llm_calls` {told['usage']['llm_calls']}", f"{usages}, how many events `usage` there were"
    calls = [call for turn in chat.turns for call in turn.calls]
    shown = [(call, display) for call in calls if (display := display_of(call))]
    if chat.cut or not all(call.succeeded for call, _ in shown) or not all(map(_is_known, calls)):
        return
    if not shown and any(call.reply is not None and call.reply.has_display for call in calls):
        return  # how that was read is judged by the sentences about reading
    first = shown[0][1] if shown else None
    if not same(told["display"], first):
        expected = f"{quoted(str(first))}, the first that a tool answered with" if shown else "null: no tool had one"
        yield f"the `display` {quoted(str(told['display']))}", expected


def _is_known(call: ModelCall) -> bool:
    """Return whether it is known which display came with the answer that the model got, if any."""
    return not call.unclear and (call.answer is not None or call.meta or call.code is not None)


@check("XMCP-CLI-132", profile="client")
def _unknown_after_an_attempt(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.unclear or call.reply is None or call.reply.error is None:
            continue
        last = call.attempts[-1] if call.attempts else None
        by_protocol = last is not None and last.answered is not None and last.answered.protocol_error is not None
        is_of_server = last is not None and last.outcome == "error" and last.error.get("code") == call.code
        # The last attempt is an earlier one too, unless it brought a result: the error is made when it has ended.
        has_result = last is not None and last.outcome == "ok" and last.answered is not None and last.answered.readable
        earlier = [one for one in call.sent if one is not last or not has_result]
        unharmed = all(one.error.get("side_effects") == "none" for one in earlier)
        if (is_of_server and not by_protocol) or unharmed:
            continue
        said = (call.reply.error.meta or {}).get("side_effects")
        seen = f"{call} is answered by {call.code} with `side_effects` `none`, after an attempt that may have had some"
        yield either("XMCP-CLI-132", said != "none", seen, "`unknown`", where=call.turn.next_at)
