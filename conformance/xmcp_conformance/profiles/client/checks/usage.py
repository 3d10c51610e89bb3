"""Checks of the usage records of requests to a model (section 10.3), by the events that tell them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, Turn
from xmcp_conformance.reader.schemas import validator

_CLOSING: Final = ("done", "failed")
_COUNTS: Final = ("input", "output", "cached", "reasoning")
_FIGURES: Final = (*(f"{name}_tokens" for name in _COUNTS), "cost_usd")


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


@check("XMCP-REC-006", "XMCP-REC-010", profile="client")
def _counts_are_the_vendors(trace: TraceIndex) -> Observations:
    """Judge the counts of answers that came to their end, of which the trace says what the vendor counted."""
    for chat in trace.chats.values():
        for turn in chat.turns:
            at, usage = _record_of(turn)
            counts = turn.said.counts
            if usage is None or counts is None or usage.get("estimated") is True:
                continue
            wrong = [name for name in _COUNTS if name not in counts and usage.get(f"{name}_tokens") is not None]
            expected = "`null`, because the vendor did not count them"
            yield either("XMCP-REC-010", not wrong, _in_words(usage, wrong), expected, where=at)
            if counts:
                wrong = [name for name in _COUNTS if name in counts and usage.get(f"{name}_tokens") != counts[name]]
                expected = ", ".join(f"{counts[name]}" for name in wrong) + ", what the vendor counted"
                yield either("XMCP-REC-006", not wrong, _in_words(usage, wrong), expected, where=at)


def _in_words(usage: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"`{name}_tokens` {quoted(str(usage.get(f'{name}_tokens')))}" for name in names)


def _record_of(turn: Turn) -> tuple[int, Mapping[str, Any] | None]:
    """Return the usage record of the answer of a turn, the last of that turn, and the index of its event."""
    for at, told in reversed(turn.chat.received):
        usage = told.event.get("usage")
        if told.event.get("type") == "usage" and told.event.get("turn") == turn.number and isinstance(usage, Mapping):
            return at, usage
    return -1, None


@check("XMCP-REC-006", profile="client")
def _sum_of_the_records(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        closing = [(at, told.event) for at, told in chat.received if told.event.get("type") == "done"]
        if len(closing) != 1 or not all(validator("chat_event").is_valid(dict(one.event)) for _, one in chat.received):
            continue
        records = [told.event["usage"] for _, told in chat.received if told.event.get("type") == "usage"]
        at, total = closing[0][0], closing[0][1]["result"]["usage"]
        if total["llm_calls"] != len(records):
            continue  # another check says that
        for name in _FIGURES:
            known = [record[name] for record in records if record.get(name) is not None]
            expected = sum(known) if known else None
            ok = name not in total or _is_sum(total[name], expected)
            seen = f"the `{name}` {total.get(name)} in the result of the chat"
            yield either("XMCP-REC-006", ok, seen, f"{expected}, the sum of its records", where=at)


def _is_sum(told: float | None, expected: float | None) -> bool:
    """Return whether a figure is a sum; that of prices depends on the order in which they are added."""
    if told is None or expected is None:
        return told is expected
    return math.isclose(told, expected, rel_tol=1e-9, abs_tol=1e-12)


@check("XMCP-REC-006", profile="client")
def _records_come_before_the_calls(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        called: set[int] = set()
        for at, told in chat.received:
            kind, turn = told.event.get("type"), told.event.get("turn")
            if not isinstance(turn, int):
                continue  # XMCP-REC-001
            if kind == "tool_call":
                called.add(turn)
            if kind == "usage":
                seen = f"an event `usage` of turn {turn} after a `tool_call` of that turn"
                yield either("XMCP-REC-006", turn not in called, seen, "`usage` before the first of them", where=at)


def _records(chat: Chat, instant: float) -> tuple[int, int]:
    """Return how many records a chat has at least and at most: of some requests nobody knows what the client got."""
    ended_by_client = [said for _, said in chat.failed if said.stalls and chat.over - said.time > instant]
    least = len(chat.turns) + len(ended_by_client)
    return least, max(least, len(chat.asks))
