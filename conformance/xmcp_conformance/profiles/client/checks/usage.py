"""Checks of the usage records of requests to a model (section 10.3), by the events that tell them."""

from __future__ import annotations

from typing import Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat

_CLOSING: Final = ("done", "failed")


@check("XMCP-REC-011", profile="client")
def _one_record_for_each_request(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        types = [told.event.get("type") for _, told in chat.received]
        if chat.cancelled is not None or not any(one in types for one in _CLOSING):
            continue  # not all of its events were told
        least, most = _records(chat, trace.instant)
        told = types.count("usage")
        expected = str(least) if least == most else f"{least} to {most}"
        seen = f"{told} events `usage` of {len(chat.asks)} requests to the model"
        yield either("XMCP-REC-011", least <= told <= most, seen, expected, where=chat.ended_at)


def _records(chat: Chat, instant: float) -> tuple[int, int]:
    """Return how many records a chat has at least and at most: of some requests nobody knows what the client got."""
    ended_by_client = [said for _, said in chat.failed if said.stalls and chat.over - said.time > instant]
    least = len(chat.turns) + len(ended_by_client)
    return least, max(least, len(chat.asks))
