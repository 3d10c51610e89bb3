"""The answer of a model: text, tool calls, token usage, and opaque state of the vendor. Values only."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from xmcp.chat.usage import Usage

MAX_ID: Final = 40
"""Maximum length of a call's id that all vendors accept."""

NUMBER_LENGTH: Final = 8
"""Characters at the end of an id for an underscore and a number that makes it unique."""

_LEGAL_ID: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_ID}}}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for. `arguments` is the text that the model wrote, unchanged; it may not be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class VendorState:
    """State that a vendor needs back unchanged with an earlier answer of its model, such as signed thinking blocks.

    It is stored in the assistant message of the history (see `xmcp.chat.vendor_state`), and is never sent to another
    vendor. `value` can refer to a tool call by its position among the calls, but not by its id, because the client
    replaces ids that occur twice.
    """

    vendor: str
    """The `name` of the provider that wrote it."""
    value: Any
    """A JSON value that only that provider interprets."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One complete answer of a model; a provider yields it last.

    `finish_reason` is the vendor's reason in OpenAI's terms (`stop`, `tool_calls`, `length`, `content_filter`).
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    vendor_state: VendorState | None = None


def fault(completion: Completion) -> str | None:
    """Return what of a provider's completion is of a wrong type, as a phrase; `None` if nothing is.

    Providers are also written by applications, and copy what a vendor sent. Ids may be anything (see `unique_ids`).
    """
    if not isinstance(completion.text, str):
        return "text is not a string"
    if not isinstance(completion.finish_reason, str):
        return "finish_reason is not a string"
    if not isinstance(completion.model, str | None):
        return "model is not a string"
    if not isinstance(completion.usage, Usage):
        return "usage is not a Usage"
    for call in completion.tool_calls:
        if not isinstance(call, ToolCall) or not isinstance(call.name, str) or not isinstance(call.arguments, str):
            return "tool_calls has a call whose name and arguments are not both strings"
    return None


def unique_ids(calls: Iterable[ToolCall], taken: Collection[str] = ()) -> tuple[ToolCall, ...]:
    """Return the calls with ids that every vendor accepts and that differ from each other and from `taken`.

    Some vendors have no ids, some repeat the same ids in every turn, some have ids that others refuse. A history needs
    unique ids to match results with calls.
    """
    seen = set(taken)
    tried: dict[str, int] = {}
    """For each base the last number that was tried: all up to it are taken, and none is tried twice."""
    out = []
    for call in calls:
        given = call.id if isinstance(call.id, str) and _LEGAL_ID.fullmatch(call.id) else ""
        base = given[: MAX_ID - NUMBER_LENGTH] or "call"
        unique = given or "call_0"
        while unique in seen:
            tried[base] = tried.get(base, 0) + 1
            unique = f"{base}_{tried[base]}"
        seen.add(unique)
        out.append(call if unique == call.id else ToolCall(unique, call.name, call.arguments))
    return tuple(out)
