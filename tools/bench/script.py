"""The script of a chat: what the model asks for and answers, and whether the messages of a client follow it.

Pure functions and data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

RESULTS: dict[str, Callable[..., str]] = {
    "echo": lambda text: text,
    "pause": lambda ms: f"paused for {ms} ms",
    "report": lambda size: " ".join(str(n) for n in range(size // 6 + 1)).ljust(size, ".")[:size],
    "add": lambda a, b: str(a + b),
    "wait": lambda text: f"waited for {text}",
    "find_order": lambda customer: f"order-of-{customer}",
    "find_invoice": lambda order: f"invoice-of-{order}",
    "send_reminder": lambda invoice: f"reminded of {invoice}",
}
"""The result of each tool: the servers return it, and the model checks that it got all of it."""


class Call(NamedTuple):
    """A call that the model asks for. `filled` holds the parameters that the client fills in from earlier results."""

    name: str
    arguments: dict[str, Any]
    filled: dict[str, Any] = {}  # noqa: RUF012 -- never written to

    @property
    def result(self) -> str:
        """Return the text that the tool message must contain."""
        return RESULTS[self.name](**{**self.arguments, **self.filled})


class Script(NamedTuple):
    """What the model does in a chat: it asks for the calls of each turn, then answers with `words` words.

    `pause` is the time before each answer and `gap` the time between two words, in seconds. `tools` is the number of
    tools that the client must offer at least. With `held`, the model sends its headers at once, but its last answer
    only after a release.
    """

    turns: list[list[Call]]
    words: int = 1
    pause: float = 0
    gap: float = 0
    tools: int = 0
    held: bool = False

    @classmethod
    def of(cls, value: Sequence[Any]) -> Script:
        """Return the script that a JSON array describes."""
        turns, *rest = value
        return cls([[Call(*call) for call in turn] for turn in turns], *rest)

    @property
    def prompt(self) -> str:
        """Return the user message that makes the model follow this script."""
        return f"#script {json.dumps(self)}"

    @property
    def answer(self) -> str:
        """Return the correct last answer."""
        return " ".join(f"word{n}" for n in range(self.words))


def script_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Script, Sequence[Mapping[str, Any]]]:
    """Return the script in the last user message, and the messages after it."""
    place = max(n for n, message in enumerate(messages) if message["role"] == "user")
    return Script.of(json.loads(messages[place]["content"].removeprefix("#script "))), messages[place + 1 :]


def tool_calls(script: Script, turn: int) -> list[dict[str, Any]]:
    """Return the calls of a turn in OpenAI's format."""
    return [
        {
            "id": f"call_{turn}_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for place, call in enumerate(script.turns[turn])
    ]


def fault(script: Script, after: Sequence[Mapping[str, Any]], tools: int) -> str | None:
    """Return what is wrong with the messages after the script or with the number of tools, or None if nothing is."""
    if tools < script.tools:
        return f"{tools} tools on offer, not {script.tools}"
    messages = iter(after)
    for turn, message in enumerate(messages):
        calls = tool_calls(script, turn) if turn < len(script.turns) else []
        sent = [{key: call.get(key) for key in ("id", "type", "function")} for call in message.get("tool_calls") or ()]
        if message["role"] != "assistant" or sent != calls:
            return f"message {turn} of the model came back changed"
        for call, expected in zip(calls, script.turns[turn], strict=True):
            result = next(messages, {})
            if result.get("role") != "tool" or result.get("tool_call_id") != call["id"]:
                return f"the result of {call['id']} is missing or misplaced"
            if expected.result not in result["content"]:
                name, content = expected.name, result["content"][:200]
                return f"the result of {call['id']} ({name}) is not what the tool returned: {content}"
    return None
