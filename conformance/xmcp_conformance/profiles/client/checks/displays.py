"""Checks of displays (sections 3.5 and 11.6): completeness, order, and the effect of a callback that fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import compact, same
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes, was_cut_short
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, ModelCall, error_of

_MEMBERS = ("type", "payload", "title", "alt", "fallback", "id", "meta")
Display = Mapping[str, Any]


def display_of(call: ModelCall) -> Display | None:
    """Return the display in the answer that the model got; `None` if it has no display or cannot be read."""
    answer = None if call.was_held_back else call.answer
    return answer.display if answer is not None and answer.readable and not answer.bad_display else None


def known_members(display: Any) -> Any:
    """Return an envelope without members that the specification does not define."""
    if not isinstance(display, Mapping):
        return display
    return {name: display[name] for name in _MEMBERS if name in display}


def _expected(chat: Chat, before: float | None = None) -> list[Display]:
    """Return the displays of a chat; of one that was cut off, those of answers `before` a time, in seconds."""
    calls = [call for turn in chat.turns for call in turn.calls]
    if chat.cut and before is not None:
        calls = [call for call in calls if call.succeeded and call.attempts and call.attempts[-1].ended < before]
    return [shown for call in calls if (shown := display_of(call)) is not None]


@check("XMCP-CLI-063", profile="client")
def _display_order(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or not chat.ended.result:
            continue
        listed = [known_members(display) for display in chat.ended.result.get("displays") or ()]
        yield from _blocks_in_order(chat, listed)
        expected = [known_members(display) for display in _expected(chat)]
        if len(expected) > 1:
            both = [display for display in listed if _place(display, expected) is not None]
            order = [_place(display, expected) for display in both]
            same_order = all(same(one, other) for one, other in zip(both, expected, strict=False))
            ok = len(both) < len(expected) or same_order
            seen = f"the displays are in the order {order}"
            yield either("XMCP-CLI-063", ok, seen, "by turn, and within a turn in call order", where=chat.ended_at)


@check("XMCP-CLI-063", "XMCP-REC-006", profile="client")
def _only_displays_of_answers(trace: TraceIndex) -> Observations:
    """Judge that a display is shown no more often than answers which the model got had it (section 11.6)."""
    for chat in trace.chats.values():
        calls = [call for turn in chat.turns for call in turn.calls]
        if chat.ended is None or chat.cut or not all(map(_is_known, calls)):
            continue
        expected = [known_members(display) for display in _expected(chat)]
        sent = [a.answered.display for call in calls for a in call.attempts if a.answered is not None]
        listed = [known_members(display) for display in (chat.ended.result or {}).get("displays") or ()]
        told = [t.event.get("envelope") for _, t in chat.received if t.event.get("type") == "tool_display"]
        places = {"XMCP-CLI-063": listed, "XMCP-REC-006": [known_members(envelope) for envelope in told]}
        for display in [known_members(one) for one in sent if one is not None]:
            for id_, shown in places.items():
                times, most = _times(display, shown), _times(display, expected)
                seen = f"`{quoted(compact(display))}` is shown {times} times"
                as_often = f"{most}, as in the answers that the model got"
                yield either(id_, times <= most, seen, as_often, where=chat.ended_at)


def _is_known(call: ModelCall) -> bool:
    """Return whether it is known which answer the model got, or that the client answered itself."""
    return not call.unclear and (bool(call.attempts) or call.meta or call.source is not None or not call.offered)


def _blocks_in_order(chat: Chat, listed: Sequence[Any]) -> Observations:
    """Judge whether what a call had for the person in a block comes after its display, and before those of later calls.

    A text that several calls had does not say whose it is.
    """
    answers = [call.answer for turn in chat.turns for call in turn.calls if call.answer is not None]
    times = Counter(answer.for_user for answer in answers)
    first: int | None = None  # the place of the first display of all later calls
    payloads = [str(one.get("payload")) if isinstance(one, Mapping) else "" for one in listed]
    for call in reversed([call for turn in chat.turns for call in turn.calls if not call.was_held_back]):
        text = (call.answer.for_user if call.answer is not None else None) or ""
        display = display_of(call)
        # A display that is there twice, of a cache, does not say at which place that of this call is.
        once = display is not None and _times(known_members(display), listed) == 1
        place = _place(known_members(display), listed) if once else None
        if text.strip() and times[text] == 1 and not call.unclear:
            at = [number for number, payload in enumerate(payloads) if text in payload]
            if len(at) == 1 and first is not None:
                seen = f"the display of `{quoted(text)}`, of {call}, stands after that of a later call"
                yield either("XMCP-CLI-063", at[0] < first, seen, "the order of the calls", where=chat.ended_at)
            if len(at) == 1 and place is not None and at[0] != place:
                seen = f"the display of `{quoted(text)}`, of {call}, stands before that of its tool"
                yield either("XMCP-CLI-063", place < at[0], seen, "that of the tool first", where=chat.ended_at)
        first = place if first is None else first if place is None else min(first, place)


def _place(display: Any, among: Sequence[Any]) -> int | None:
    return next((place for place, other in enumerate(among) if same(display, other)), None)


def _times(display: Any, among: Sequence[Any]) -> int:
    return sum(same(display, other) for other in among)


@check("XMCP-DSP-042", profile="client")
def _whole_display_shown(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or (chat.cut and chat.stop_reason != "timeout"):
            continue
        in_events = [
            known_members(t.event.get("envelope")) for _, t in chat.received if t.event.get("type") == "tool_display"
        ]
        listed = [known_members(display) for display in (chat.ended.result or {}).get("displays") or ()]
        expected = [known_members(display) for display in _expected(chat, before=chat.over - chat.instant)]
        for display in expected:
            times = _times(display, expected)  # of a cache, the person gets it again
            missing = chat.ended.result is not None and _times(display, listed) < times
            not_in_events = bool(chat.received) and _times(display, in_events) < times
            where = "`displays`" if missing else "an event `tool_display`"
            seen = f"`{quoted(compact(display))}` is not in {where}"
            yield either("XMCP-DSP-042", not (missing or not_in_events), seen, "the whole display", where=chat.ended_at)


@check("XMCP-MCP-046", profile="client")
def _blocks_for_the_user_shown(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or chat.cut:
            continue
        in_events = [t.event.get("envelope") for _, t in chat.received if t.event.get("type") == "tool_display"]
        places = [
            [compact(one) for one in shown] for shown in (in_events, (chat.ended.result or {}).get("displays") or ())
        ]
        calls = [call for turn in chat.turns for call in turn.calls if _has_a_block(call)]
        texts = [(call.answer.for_user if call.answer is not None else None) or "" for call in calls]
        for call, text in zip(calls, texts, strict=True):
            written = compact(text)[1:-1]
            shown = max(sum(written in one for one in displays) for displays in places)
            times = texts.count(text)
            seen = f"{shown} displays with `{quoted(text)}`, which {call} was answered with for the user"
            expected = f"{times}, one for each call" if times > 1 else "a display with that text"
            yield either("XMCP-MCP-046", shown >= times, seen, expected, where=chat.ended_at)


def _has_a_block(call: ModelCall) -> bool:
    """Return whether a call was answered with a block whose text the person is to be shown.

    No display carries a link, whether the person is shown an empty text is open (section 11.11), and a text that only
    repeats the beginning of a display's `alt` need not be shown (section 6.4).
    """
    text = (call.answer.for_user if call.answer is not None else None) or ""
    if call.answer is None or call.answer.link_for_user or not text.strip():
        return False
    alt = (display_of(call) or {}).get("alt")
    return not (was_cut_short(call) or call.was_held_back or (isinstance(alt, str) and alt.startswith(text)))


@check("XMCP-CLI-064", profile="client")
def _failing_callback(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for at, callback in chat.callbacks:
            if not callback.fails:
                continue
            turn = next((turn for turn in reversed(chat.turns) if turn.said_at < at), None)
            if turn is None or turn.next is None:
                continue
            if chat.ended is not None and chat.ended.failure == "crashed" and not turn.went_on:
                yield broken(
                    "XMCP-CLI-064",
                    "the chat ended with the callback's exception",
                    "a chat that continues",
                    where=turn.next_at,
                )
                continue
            changed = [call for call in turn.calls if _differs_from_answer(trace, call)]
            seen = f"the model got {changed[0].came_to} as the answer to {changed[0]}" if changed else ""
            yield either("XMCP-CLI-064", not changed, seen, "the server's answer", where=turn.next_at)


def _differs_from_answer(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether the model got something other than the server's last answer, without a reason in the trace."""
    answer = call.attempts[-1].answered if call.attempts else None
    if answer is None or not answer.readable or call.reply is None or call.unclear or was_cut_short(call):
        return False
    if answer.outcome == "ok":
        return call.reply.error is not None
    code, retryable = error_of(answer).get("code"), error_of(answer).get("retryable") is True
    if answer.outcome != "error" or call.code == code:
        return False
    # A call that is tried again may end otherwise: an open breaker, for example, holds back the next attempt.
    return not (retryable and call.code in permitted_codes(trace, call))
