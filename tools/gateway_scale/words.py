"""What is said in the chats: each word names its tenant, so that one that crosses is found anywhere. Pure.

A question is a line of JSON. The model answers with its word, with the words of earlier questions that it was sent, and
with what the tool returned: the secret of the tenant whose credentials came with the call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

INPUT_TOKENS: Final = 100
OUTPUT_TOKENS: Final = 20
TOKENS: Final = INPUT_TOKENS + OUTPUT_TOKENS
"""What the model says that a request used."""

TOPICS: Final = 3
"""The tool is asked for one of so many topics, so that answers come from the cache, which must know tenants apart."""

Doing: TypeAlias = Literal["call", "say", "linger"]
"""The model calls the tool first; only answers; or writes for longer than anybody listens."""

_MARK: Final = "#scale "
_WORD: Final = re.compile(r"(?:word|secret)-([a-z0-9]+)-[0-9a-z]+")


class Question(NamedTuple):
    """What a user says."""

    tenant: str
    word: str
    do: Doing
    topic: int = 0

    @property
    def text(self) -> str:
        """The message."""
        return _MARK + json.dumps(self._asdict())


def tenant_name(number: int, tag: str) -> str:
    """Return the name of a tenant; the tag is that of the run, since a database may have those of earlier runs."""
    return f"t{number:03}x{tag}"


def token_of(tenant: str, salt: str) -> str:
    """Return the credential of a tenant at the tool server."""
    return f"token-{tenant}-{salt}"


def secret_of(token: str) -> str:
    """Return what the tool tells whoever has a credential."""
    return token.replace("token-", "secret-", 1)


def words_in(text: str) -> set[str]:
    """Return the words of tenants in a text."""
    return {found[0] for found in _WORD.finditer(text)}


def foreign(words: Iterable[str], tenant: str) -> set[str]:
    """Return the words that are not those of a tenant."""
    return {word for word in words if (found := _WORD.fullmatch(word)) is None or found[1] != tenant}


def question_in(messages: Sequence[Mapping[str, Any]]) -> tuple[Question, int]:
    """Return the last question of a conversation, and its place."""
    place = max(n for n, message in enumerate(messages) if message["role"] == "user")
    return Question(**json.loads(str(messages[place]["content"]).removeprefix(_MARK))), place


def answer_to(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return what the model says: all words that it was sent, each once."""
    return "I was told " + " ".join(sorted(words_in(json.dumps(messages))))
