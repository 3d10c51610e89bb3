"""The window of a history: its newest whole turns that fit. Pure.

A turn is what a person says, with the calls, results and answers that follow. Instructions directly before it belong to
it; those at the beginning of a history are no turn, and stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xmcp.chat.messages import INSTRUCTIONS, Message

MESSAGE_BYTES: Final = 100
"""What a message takes beside its texts, in bytes, rounded up."""


@dataclass(frozen=True, slots=True)
class Window:
    """How much of a history is kept: so many messages, and so many bytes of UTF-8, the instructions included."""

    messages: int
    bytes: int


def within(history: Sequence[Message], window: Window) -> list[Message]:
    """Return the instructions at the beginning and the newest turns that fit; the newest turn in any case.

    A turn is never split, so that no result is without its call.
    """
    instructions, turns = turns_of(history)
    messages, size = len(instructions), sum(map(size_of, instructions))
    first = len(turns)
    while first > 0:
        turn = turns[first - 1]
        messages, size = messages + len(turn), size + sum(map(size_of, turn))
        if first < len(turns) and (messages > window.messages or size > window.bytes):
            break
        first -= 1
    return [*instructions, *(message for turn in turns[first:] for message in turn)]


def settled(history: Sequence[Message]) -> Sequence[Message]:
    """Return a history without its last turn if calls of that one are left to the client, which has not answered yet.

    The client answers them with the whole turn, so that the turn comes back with the next request.
    """
    answered = {message.get("tool_call_id") for message in history if message["role"] == "tool"}
    for message in history:
        if any(call["id"] not in answered for call in message.get("tool_calls") or ()):
            instructions, turns = turns_of(history)
            return [*instructions, *(message for turn in turns[:-1] for message in turn)] if turns[1:] else []
    return history


def turns_of(history: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """Return the instructions at the beginning of a history, and the turns after them."""
    head = next((place for place, one in enumerate(history) if one["role"] not in INSTRUCTIONS), len(history))
    turns: list[list[Message]] = []
    instructed = False
    for message in history[head:]:
        opens = message["role"] == "user" or message["role"] in INSTRUCTIONS
        if not turns or (opens and not instructed):
            turns.append([])
        turns[-1].append(message)
        instructed = message["role"] in INSTRUCTIONS
    return list(history[:head]), turns


def size_of(message: Message) -> int:
    """Return about how many bytes a message has: its texts in UTF-8, whatever they are in."""
    size, parts = MESSAGE_BYTES, list[Any](message.values())
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            size += len(part) if part.isascii() else len(part.encode("utf-8", "surrogatepass"))
        elif isinstance(part, Mapping):
            parts += part.values()
        elif isinstance(part, list | tuple):
            parts += part
    return size
