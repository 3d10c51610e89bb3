"""The checks of the text and of the reasoning that the events of a turn tell (section 10.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import WHITE_SPACE, text_of
from xmcp_conformance.profiles.client.trace import Said
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, Turn

from .stop_reasons import THINK, said_to


@check("XMCP-REC-006", profile="client")
def _deltas_are_the_text(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for turn in chat.turns:
            if not _all_is_told(turn) or not _retries_are_told(turn):
                continue
            told, said = _told(turn, "llm_delta"), turn.said.text
            if told is None:
                continue  # XMCP-REC-001
            if not said.isascii() and any("\ud800" <= one <= "\udfff" for one in said):
                continue  # what takes the place of half of a surrogate pair is open (section 11.11)
            if any(thought in told and thought not in said for thought in said_to(turn, THINK, "thought")):
                continue  # XMCP-CLI-084
            if any(thought in told and thought not in said for thought in _thoughts(chat)):
                continue  # XMCP-REC-007
            ok = told.strip(WHITE_SPACE) == said.strip(WHITE_SPACE)
            seen = f"the events `llm_delta` of turn {turn.number} tell `{quoted(told)}`"
            yield either("XMCP-REC-006", ok, seen, f"`{quoted(said)}`, what the model wrote", where=turn.next_at)


@check("XMCP-REC-006", profile="client")
def _told_reasoning_is_the_model_s(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for turn in chat.turns:
            told, said = _told(turn, "llm_reasoning"), turn.said.reasoning
            if not told or not _all_is_told(turn) or not _retries_are_told(turn):
                continue
            ok = told.strip(WHITE_SPACE) == said.strip(WHITE_SPACE)
            seen = f"the events `llm_reasoning` of turn {turn.number} tell `{quoted(told)}`"
            yield either("XMCP-REC-006", ok, seen, f"`{quoted(said)}`, the model's reasoning", where=turn.next_at)


@check("XMCP-REC-007", profile="client")
def _reasoning_is_no_text(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        thoughts, said = _thoughts(chat), _answers(chat)
        texts = list(_texts_given(chat)) if thoughts else []
        for thought in thoughts:
            if any(thought in one.text for one in said):
                continue  # the model wrote it as text, too
            where = next(((at, what) for at, what, text in texts if thought in text), None)
            at, what = where or (chat.ended_at, "")
            yield either("XMCP-REC-007", where is None, f"`{quoted(thought)}` in {what}", "no reasoning", where=at)


def _answers(chat: Chat) -> list[Said]:
    """Return all answers of the model in a chat, those that broke off too."""
    return [*(turn.said for turn in chat.turns), *(said for _, said in chat.failed)]


def _thoughts(chat: Chat) -> list[str]:
    """Return what the model wrote as its reasoning."""
    return [thought for said in _answers(chat) if (thought := said.reasoning.strip(WHITE_SPACE))]


def _texts_given(chat: Chat) -> Iterator[tuple[int, str, str]]:
    """Yield what a client gave as text of the model: the index of the record, what it stands in, and the text."""
    told: dict[Any, list[str]] = defaultdict(list)
    last = {}
    for at, received in chat.received:
        event = received.event
        if event.get("type") == "llm_delta" and isinstance(event.get("text"), str):
            told[event.get("turn")].append(event["text"])
            last[event.get("turn")] = at
    for turn, pieces in told.items():
        yield last[turn], f"the events `llm_delta` of turn {quoted(str(turn))}", "".join(pieces)
    if chat.ended is not None and chat.ended.result is not None:
        yield chat.ended_at, "the `answer`", str(chat.ended.result.get("answer"))
    for at, to, messages in chat.histories:
        for message in messages:
            if message.get("role") == "assistant":
                yield at, f"a message for {to}", text_of(message)


def _all_is_told(turn: Turn) -> bool:
    """Return whether all events of a turn's text were told; which come at the end of a chat can be open."""
    chat = turn.chat
    if not chat.received or turn.next is None:
        return False
    if turn.went_on:
        return True
    types = [told.event.get("type") for _, told in chat.received]
    is_met = chat.cut and chat.over - turn.said.time <= chat.instant
    return chat.cancelled is None and ("done" in types or "failed" in types) and not is_met


def _retries_are_told(turn: Turn) -> bool:
    """Return whether what broke off before the answer was declared void; else XMCP-CLI-075 is broken."""
    chat = turn.chat
    earlier = max((one.said_at for one in chat.turns if one.number < turn.number), default=-1)
    broken_off = [said for at, said in chat.failed if earlier < at < turn.said_at and (said.text or said.begun)]
    return len(broken_off) <= sum(_is_retry(told.event, turn) for _, told in chat.received)


def _told(turn: Turn, kind: str) -> str | None:
    """Return the text that counts of events of a type; `None` where an event has none."""
    pieces: list[str] = []
    for _, told in turn.chat.received:
        if _is_retry(told.event, turn):
            pieces.clear()
        elif told.event.get("type") == kind and told.event.get("turn") == turn.number:
            piece = told.event.get("text")
            if not isinstance(piece, str):
                return None
            pieces.append(piece)
    return "".join(pieces)


def _is_retry(event: object, turn: Turn) -> bool:
    return (
        isinstance(event, dict)
        and event.get("type") == "retry"
        and event.get("call_id") is None
        and event.get("turn") == turn.number
    )
