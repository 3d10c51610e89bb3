"""What every model provider looks like: the protocol and the values that cross it.

Messages are in the OpenAI chat format; a provider for another vendor translates. Nothing here does I/O or knows one.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import orjson

Message: TypeAlias = Mapping[str, Any]
"""One message of a conversation in the OpenAI chat format."""


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
class Usage:
    """Tokens of one model call as the vendor counted them; `None` where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None


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


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ToolSchemas:
    """The tools offered to a model, made once per version of the catalogue and shared by all its requests.

    `tools` are objects of the OpenAI chat format, `json` their JSON array in bytes. Equal means the same object, so a
    provider that needs another shape can keep it in a `WeakKeyDictionary`.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    version: int = 0
    json: bytes = b"[]"

    @classmethod
    def of(cls, tools: Iterable[Mapping[str, Any]], version: int = 0) -> ToolSchemas:
        """Serialise `tools` now, so that no request has to."""
        listed = tuple(tools)
        return cls(listed, version, encode_json(listed))


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. `model=None` means the provider's own default."""

    messages: Sequence[Message]
    tools: ToolSchemas = field(default_factory=ToolSchemas)
    model: str | None = None


@runtime_checkable
class LLMProvider(Protocol):
    """A source of completions. Implement it to bring your own model; `AIClient(llm_provider=...)` takes it.

    One object serves any number of calls at once. `stream` yields pieces of text as they arrive and then exactly one
    `Completion`, whose text is all of them together. It raises `ProviderError` for every failure, also for an answer
    that breaks off; when it is closed or cancelled it lets go of its connection.
    """

    name: str
    supports_tools: bool
    max_context_tokens: int | None

    def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        """Ask the model once."""
        ...


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


def encode_json(value: Any) -> bytes:
    """JSON bytes of what came from JSON; integers beyond 64 bits and lone surrogates take the slower, tolerant way.

    Raises:
        TypeError: `value` holds something JSON has no word for.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()
