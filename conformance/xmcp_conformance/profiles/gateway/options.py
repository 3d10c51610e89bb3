"""What a user says of a gateway: where it is, what chats it is asked for, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

PROMPT: Final = "PROMPT"
"""The word in the body of a request in whose place the prompt of a chat comes."""
RUN: Final = "RUN"
"""The word in a path in whose place the id of a run comes."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The addresses of a gateway, beside its URL; each is a gateway's own affair."""

    chat: str = "/chat"
    resume: str = f"/runs/{RUN}/events"
    cancel: str = f"/runs/{RUN}/cancel"
    openai: str = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the gateway's model is asked. Where a list is empty, what it would show is not judged."""

    calling: tuple[str, ...] = ()
    """Lead to calls of tools."""
    failing: tuple[str, ...] = ()
    """Lead to runs that fail."""
    long: str = ""
    """Leads to an answer that takes so long that it can be cancelled."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a gateway is judged. `seconds` is the time of one chat, `cancel_seconds` that of a run that was cancelled."""

    url: str
    prompts: Prompts
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    paths: Paths = Paths()
    body: Any = field(default_factory=lambda: {"input": PROMPT})
    model: str = ""
    """The model that is asked over the API of OpenAI; empty: the first that the gateway lists."""
    seconds: float = 60.0
    cancel_seconds: float = 2.0
    strict: bool = False


def with_word(value: Any, word: str, text: str) -> Any:
    """Return a JSON value with a text in the place of a word, in each of its texts."""
    if isinstance(value, str):
        return value.replace(word, text)
    if isinstance(value, list):
        return [with_word(item, word, text) for item in value]
    if isinstance(value, dict):
        return {name: with_word(item, word, text) for name, item in value.items()}
    return value
