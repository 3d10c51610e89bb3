"""The check of the text that the events `llm_delta` of a turn tell (section 10.2)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import WHITE_SPACE
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Turn

from .stop_reasons import THINK, said_to


@check("XMCP-REC-006", profile="client")
def _deltas_are_the_text(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        for turn in chat.turns:
            if not _all_is_told(turn) or not _retries_are_told(turn):
                continue
            told, said = _told_text(turn), turn.said.text
            if told is None:
                continue  # XMCP-REC-001
            if not said.isascii() and any("\ud800" <= one <= "\udfff" for one in said):
                continue  # what takes the place of half of a surrogate pair is open (section 11.11)
            if any(thought in told and thought not in said for thought in said_to(turn, THINK, "thought")):
                continue  # XMCP-CLI-084
            ok = told.strip(WHITE_SPACE) == said.strip(WHITE_SPACE)
            seen = f"the events `llm_delta` of turn {turn.number} tell `{quoted(told)}`"
            yield either("XMCP-REC-006", ok, seen, f"`{quoted(said)}`, what the model wrote", where=turn.next_at)


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


def _told_text(turn: Turn) -> str | None:
    """Return the text that counts; `None` where an event has none."""
    pieces: list[str] = []
    for _, told in turn.chat.received:
        if _is_retry(told.event, turn):
            pieces.clear()
        elif told.event.get("type") == "llm_delta" and told.event.get("turn") == turn.number:
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
