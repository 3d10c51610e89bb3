"""What a model answers: text, the tool calls it asks for, and the tokens it used. Values only."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from xmcp.chat.usage import Usage

MAX_ID: Final = 40
"""Longest id of a call that all vendors take."""

_LEGAL_ID: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_ID}}}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for. `arguments` is the text the model wrote, untouched: it may be anything but JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    """The end of one model call: everything it said.

    `finish_reason` is the vendor's in OpenAI's words (`stop`, `tool_calls`, `length`, `content_filter`).
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str | None = None


def unique_ids(calls: Iterable[ToolCall], taken: Collection[str] = ()) -> tuple[ToolCall, ...]:
    """The same calls with ids that every vendor takes and that differ from each other and from `taken`.

    Some vendors give no ids, some give the same ones in every turn, some give ids that others refuse; a history needs
    them to tell results apart.
    """
    seen = set(taken)
    out = []
    for call in calls:
        given = call.id if isinstance(call.id, str) and _LEGAL_ID.fullmatch(call.id) else ""
        base = given[: MAX_ID - 5] or "call"
        unique, number = given or "call_0", 1
        while unique in seen:
            unique, number = f"{base}_{number}", number + 1
        seen.add(unique)
        out.append(call if unique == call.id else replace(call, id=unique))
    return tuple(out)
