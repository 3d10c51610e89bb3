"""The chats that every client has with the gateway, and what it must make of each. Data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Key = Literal["front-end", "xmcp", "openwebui", "wrong"]
"""A key of the gateway, by its name there: its profile says what a stream has beside the text. One is no key at all."""

Stop = Literal["drain", "kill"]
"""How the gateway is stopped in the middle of the answer: asked to, or at once."""

MODEL: Final = "assistant"
INNER_TOOL: Final = "adder__add"
"""The tool inside, of `tool_server`, by its name for the model."""

OWN_TOOL: Final = "my_clock"
OWN_TOOL_SAYS: Final = "noon"
"""The tool that a client runs itself, and what it answers."""

USAGE: Final = (10, 5)
"""Tokens that the scripted model reports for each of its answers: read and written."""

HALF: Final = "Half an answer"
"""What a client has seen when the answer ends in its middle."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}
"""Of the answer of the case `structured`; the drivers in Python have it as a model of pydantic."""


@dataclass(frozen=True)
class Failure:
    """An error that a client must show: with this HTTP status, unless the stream had begun, and with `words`, a
    regular expression."""

    words: str
    status: int | None = None


@dataclass(frozen=True)
class Case:
    """Chats of one kind, at the same time.

    Attributes:
        questions: What is asked, one chat each.
        texts: What each answers, as the client has it.
        usage: Tokens read and written; `None` if the case is not about them.
        ran: The tools of its own that the client ran.
        needs: What a client must be able to do for it: it is left out for others.
        failure: The error that ends each.
        stop: How the gateway is stopped once the model has begun.
        streams: In which ways a client asks: in one piece, as a stream.
        cut: Whether the answer does not come from the gateway, but from a proxy that ends it in its middle as if it
            were whole: what no gateway can mend, and a client sees only if it expects a `finish_reason`.
    """

    questions: Sequence[str]
    texts: Sequence[str] = ()
    usage: tuple[int, int] | None = None
    ran: Sequence[str] = ()
    needs: Literal["own tools", "structured", ""] = ""
    failure: Failure | None = None
    key: Key = "front-end"
    model: str = MODEL
    stop: Stop | None = None
    streams: Sequence[bool] = (False, True)
    cut: bool = False


def _fails(question: str, words: str, status: int | None = None, **members: Any) -> Case:
    return Case([question], failure=Failure(words, status), **members)


_ADD: Final = "Add 2 and 3."
_ADDED: Final = "I add.\n\nIt is 5."
_BOTH: Final = (2 * USAGE[0], 2 * USAGE[1])
_NUMBERS: Final = range(1, 21)

CASES: Final[Mapping[str, Case]] = {
    "plain chat": Case(["Say hello."], ["Hello, world."], USAGE),
    "tool inside": Case([_ADD], [_ADDED], _BOTH),
    "events = xmcp": Case([_ADD], [_ADDED], _BOTH, key="xmcp"),
    "events = openwebui": Case([_ADD], [_ADDED], _BOTH, key="openwebui"),
    "tool of its own": Case(
        ["Ask my clock, and add 2 and 3."], ["It is noon, and 5."], ran=[OWN_TOOL], needs="own tools"
    ),
    "structured answer": Case([_ADD], ['{"sum":5}'], needs="structured", streams=[False]),
    "20 at once": Case([f"Add {n} and 1." for n in _NUMBERS], [f"I add.\n\nIt is {n + 1}." for n in _NUMBERS]),
    "wrong key": _fails("Say hello.", "key", 401, key="wrong"),
    "unknown model": _fails("Say hello.", "There is no model", 404, model="nobody"),
    "model refuses": _fails("Fail: too_long", "too long for the AI model", 400),
    "model is busy": _fails("Fail: busy", "too many requests", 429),
    "model is down": _fails("Fail: down", "cannot be reached", 503),
    "model breaks off": _fails("Break off.", "broke off"),
    "gateway drains": _fails("Wait.", "stopping", stop="drain"),
    "gateway is killed": _fails("Wait.", "[Cc]onnection error|Cannot connect|terminated", stop="kill"),
    "proxy cuts": _fails("Say hello.", "finish.reason", streams=[True], cut=True),
}
"""The cases by their names."""
