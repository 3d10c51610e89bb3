"""Histories in the format of OpenAI's chat completions: their calls, and the messages that answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .untrusted_text import quoted

Message: TypeAlias = Mapping[str, Any]


def calls_of(message: Message) -> list[Mapping[str, Any]]:
    """Return the calls of an assistant message; empty for any other message."""
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    return list(calls) if isinstance(calls, Sequence) else []


def answers_after(messages: Sequence[Message], place: int) -> list[Message]:
    """Return the tool messages that directly follow the message at index `place`."""
    found = []
    for message in messages[place + 1 :]:
        if message.get("role") != "tool":
            break
        found.append(message)
    return found


def fault_of_history(messages: Sequence[Message]) -> tuple[int, str] | None:
    """Return the first fault for which a vendor would refuse a history: the index of the message, and what it is.

    `None`: it has no fault.
    """
    due = 0  # messages up to this index are the answers to an assistant message
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            if due == 0:
                return place, f"message {place} answers a call that is not there"
            due -= 1
            continue
        asked = [call.get("id") for call in calls_of(message)]
        answered = [answer.get("tool_call_id") for answer in answers_after(messages, place)]
        if asked and asked != answered:
            said = f"the calls {quoted(str(asked))}, and what follows answers {quoted(str(answered))}"
            return place, f"message {place} has {said}"
        due = len(asked)
    return None
