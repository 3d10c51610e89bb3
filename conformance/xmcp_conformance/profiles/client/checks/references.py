"""Checks of displays before the model, and of the references in the place of large ones (section 3.5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.histories import Message
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import compact, document_of, text_of
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat
from xmcp_conformance.reader.schemas import validator

from .documents import answered_calls

REFERENCE: Final = "x-xmcp-reference"
_FRACTION: Final = re.compile(r"\d[.eE][-+]?\d")
"""A number that programs write in different ways; a text can have one, too."""


@check("XMCP-DSP-040", profile="client")
def _display_budget(trace: TraceIndex) -> Observations:
    budget = trace.setup.display_budget
    for chat in trace.chats.values():
        for at, asked in chat.asks:
            for message in asked.messages:
                document = document_of(text_of(message)) if message.get("role") == "tool" else None
                # One that is no envelope stays as it is (section 3.5).
                if (
                    document is not None
                    and document.has_display
                    and validator("display_envelope").is_valid(document.display)
                ):
                    size = len(compact(document.display).encode("utf-8", "replace"))
                    seen = f"a display of {size} bytes before the model"
                    yield either("XMCP-DSP-040", size <= budget, seen, f"at most {budget}", where=at)


def _least_reference(display: Mapping[str, Any]) -> int:
    """Return the length, in bytes, of the shortest reference that can stand for a display."""
    length = len(compact(display).encode("utf-8", "replace"))
    titled = {"title": display["title"]} if "title" in display else {}
    shortest = {"type": REFERENCE, **titled, "payload": {"type": display.get("type"), "bytes": length}}
    return len(compact(shortest).encode("utf-8", "replace"))


@check("XMCP-DSP-041", profile="client")
def _reference_for_large_display(trace: TraceIndex) -> Observations:
    for call, _, answer, reply in answered_calls(trace):
        display = answer.display
        if display is None or not call.turn.went_on:
            continue
        fault = _fault_of_reference(display, reply.display if reply.has_display else None, trace.setup.display_budget)
        if fault is not None:
            seen = f"in the place of the display of {call}: `{quoted(fault)}`"
            expected = f"a reference titled {quoted(str(display.get('title')))}"
            yield either("XMCP-DSP-041", fault == "", seen, expected, where=call.turn.next_at)


def _fault_of_reference(display: Mapping[str, Any], shown: Any, budget: int) -> str | None:
    """Return what is in the place of a reference, empty where it is right; `None` where there is to be none."""
    large = len(compact(display).encode("utf-8", "replace")) > budget
    told = shown if isinstance(shown, Mapping) else {}
    if not large or (shown is not None and told.get("type") == display.get("type") != REFERENCE):
        return None
    if shown is None and _least_reference(display) > budget:
        return None  # even the reference is too long
    ok = told.get("type") == REFERENCE and told.get("title") == display.get("title")
    return "" if ok and _says_what_it_stands_for(told.get("payload"), display) else compact(shown)


def _says_what_it_stands_for(payload: Any, display: Mapping[str, Any]) -> bool:
    """Return whether a reference has the type of a display, and its length: with a fraction, that is the client's."""
    if not isinstance(payload, Mapping) or payload.get("type") != display.get("type"):
        return False
    length = len(compact(display).encode("utf-8", "replace"))
    return payload.get("bytes") == length or _FRACTION.search(compact(display)) is not None


@check("XMCP-DSP-041", profile="client")
def _reference_in_a_given_history(trace: TraceIndex) -> Observations:
    """Judge the messages that the application passed in, where they are surely those in a request."""
    for chat in trace.chats.values():
        given = dict(_large_displays(chat, trace.setup.display_budget))
        for at, asked in chat.asks if given else ():
            ids = Counter(message.get("tool_call_id") for message in asked.messages)
            for message in asked.messages:
                id_ = message.get("tool_call_id")
                display, reply = given.get(id_), document_of(text_of(message))
                if display is None or ids[id_] > 1 or reply is None:
                    continue
                shown = reply.display if reply.has_display else None
                fault = _fault_of_reference(display, shown, trace.setup.display_budget)
                if fault is not None:
                    seen = f"in the place of a display in the history that was passed in: `{quoted(fault)}`"
                    expected = f"a reference titled {quoted(str(display.get('title')))}"
                    yield either("XMCP-DSP-041", fault == "", seen, expected, where=at)


def _large_displays(chat: Chat, budget: int) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield each display above a budget in the history that the application passed in, by the id of its call."""
    tools: list[Message] = [message for message in chat.began.history if message.get("role") == "tool"]
    ids = Counter(message.get("tool_call_id") for message in tools)
    for message in tools:
        document, id_ = document_of(text_of(message)), message.get("tool_call_id")
        if document is None or not document.has_display or ids[id_] > 1:
            continue
        if not validator("display_envelope").is_valid(document.display):
            continue
        if len(compact(document.display).encode("utf-8", "replace")) > budget:
            yield id_, document.display
