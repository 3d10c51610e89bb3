"""Checks of the members of events (sections 10.1 and 10.2), and of what an error says after an attempt (11.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import same
from xmcp_conformance.profiles.client.name_resolution import is_legal
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, ModelCall
from xmcp_conformance.reader.schemas import validator

_BEFORE_ITS_REQUEST: Final = ("retry", "failed", "warning", "done")
"""Events that can be of a request which was not sent: one that a quota refused, or that reached no vendor."""


@check("XMCP-REC-001", profile="client")
def _valid_events(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for at, told in chat.received:
            fault = next(validator("chat_event").iter_errors(dict(told.event)), None)
            if fault is None:
                yield obeyed("XMCP-REC-001", where=at)
                continue
            place = "".join(f"/{part}" for part in fault.instance_path)
            what = f"an event `{quoted(str(told.event.get('type')))}`"
            seen = f"{what} that is not valid{f' at `{quoted(place)}`' if place else ''}: {quoted(fault.message)}"
            yield broken("XMCP-REC-001", seen, "what schemas/chat_event.schema.json allows", where=at)


@check("XMCP-REC-006", profile="client")
def _members_say_what_happened(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        calls = _calls_by_id(chat)
        retries: Counter[Any] = Counter()
        for at, told in chat.received:
            event = told.event
            call = calls.get(str(event.get("call_id")))
            faults = list(_faults(chat, at, event, call, retries))
            for seen, expected in faults:
                yield broken("XMCP-REC-006", f"{event.get('type')} with {seen}", expected, where=at)
            if not faults:
                yield obeyed("XMCP-REC-006", where=at)


def _calls_by_id(chat: Chat) -> dict[str, ModelCall]:
    """Return the calls of a chat whose events are surely theirs, by their ids."""
    calls = [call for turn in chat.turns for call in turn.calls if call.id]
    number = Counter(call.id for call in calls)
    return {str(call.id): call for call in calls if number[call.id] == 1}


def _faults(
    chat: Chat, at: int, event: Mapping[str, Any], call: ModelCall | None, retries: Counter[Any]
) -> Iterator[tuple[str, str]]:
    """Yield what is seen and what is expected for each member of an event that says something else."""
    kind = event.get("type")
    turns = _turns(chat, at, str(kind)) if call is None or event.get("call_id") is None else {call.turn.number}
    if event.get("turn") not in turns:
        yield f"`turn` {quoted(str(event.get('turn')))}", " or ".join(map(str, sorted(turns)))
    if kind == "retry":
        of = event.get("call_id") or ("a request", event.get("turn"))
        retries[of] += 1
        if event.get("attempt") != retries[of]:
            yield f"`attempt` {quoted(str(event.get('attempt')))}", f"{retries[of]}, how many have failed so far"
        error = event.get("error")
        least = error.get("retry_after_ms", 0) if isinstance(error, Mapping) else 0
        if isinstance(least, int) and isinstance(wait := event.get("wait_ms"), int) and wait < least:
            yield f"`wait_ms` {wait}", f"at least the {least} that its error asks for"
    if kind == "done" and chat.ended is not None and chat.ended.result is not None:
        yield from _of_done(chat, at, event.get("result"), chat.ended.result)
    if call is None:
        return
    if is_legal(call.name) and event.get("tool_name") != call.name:
        yield f"`tool_name` {quoted(str(event.get('tool_name')))}", f"`{call.name}`"
    if kind == "tool_call" and event.get("text") not in (None, call.written):
        yield f"`text` {quoted(str(event.get('text')))}", f"`{quoted(call.written)}`, as the model wrote it"
    if kind == "tool_call" and not same(event.get("arguments"), call.arguments):
        yield f"`arguments` {quoted(str(event.get('arguments')))}", quoted(str(call.arguments))
    if kind == "tool_result" and (said := _text_of_result(call)) is not None and event.get("text") != said:
        yield f"`text` `{quoted(str(event.get('text')))}`", f"`{quoted(said)}`, the text of the result"
    if kind == "tool_error" and call.reply is not None and call.reply.error is not None:
        told = event.get("error")
        code = told.get("code") if isinstance(told, Mapping) else None
        if code != call.reply.error.code:
            yield f"the code {quoted(str(code))}", f"{call.reply.error.code}, as in the document for the model"


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


def _of_done(chat: Chat, at: int, told: Any, result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield where the result in `done` is not that of the chat, or contradicts its events."""
    if not isinstance(told, Mapping):
        return  # not valid, which another check says
    for name, value in {**{name: result.get(name) for name in _SAME}, "history": list(_history(chat))}.items():
        if not same(told.get(name), value):
            yield f"a `{name}` in its result that is not the chat's: {quoted(str(told.get(name)))}", quoted(str(value))
    usage = told.get("usage")
    records = sum(one.event.get("type") == "usage" for before, one in chat.received if before < at)
    if isinstance(usage, Mapping) and usage.get("llm_calls") != records:
        yield f"`llm_calls` {quoted(str(usage.get('llm_calls')))}", f"{records}, how many events `usage` there were"
    displays = told.get("displays")
    if told.get("display") is not None and isinstance(displays, list) and told["display"] not in displays:
        yield "a `display` that is not among `displays`", "the first that a tool answered with"
    if told.get("display") is None and any(_displayed(chat)):
        yield "no `display`", "the first that a tool answered with"


_SAME: Final = ("answer", "stop_reason", "displays")


def _history(chat: Chat) -> Any:
    return chat.ended.history if chat.ended is not None else ()


def _displayed(chat: Chat) -> Iterator[ModelCall]:
    """Yield the calls that a tool surely answered with a display of its own."""
    for turn in chat.turns:
        for call in turn.calls:
            answer = call.answer if call.attempts else None
            if answer is not None and answer.outcome == "ok" and answer.readable and answer.display is not None:
                yield call


@check("XMCP-CLI-132", profile="client")
def _unknown_after_an_attempt(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.unclear or call.reply is None or call.reply.error is None:
            continue
        last = call.attempts[-1] if call.attempts else None
        is_of_server = last is not None and last.error and last.error.get("code") == call.code
        earlier = call.sent if call.was_held_back else [one for one in call.sent if one is not last]
        if is_of_server or all(one.error.get("side_effects") == "none" for one in earlier):
            continue
        said = (call.reply.error.meta or {}).get("side_effects")
        seen = f"{call} is answered by {call.code} with `side_effects` `none`, after an attempt that may have had some"
        yield either("XMCP-CLI-132", said != "none", seen, "`unknown`", where=call.turn.next_at)
