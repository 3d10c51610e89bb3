"""Histories: building their messages and finding what is wrong with one (semantics 7 and 8). Pure.

A history is a list in the OpenAI chat format. The invariant: every entry of an assistant's `tool_calls` is followed,
before any other message, by exactly one tool message with its id; and no tool message stands anywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import ToolCall
from xmcp.chat.tool_schemas import legal
from xmcp.wire import ErrorInfo, ToolResponse

Message: TypeAlias = Mapping[str, Any]
"""One message of a conversation in the OpenAI chat format."""

ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})

_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def user_message(text: str) -> dict[str, Any]:
    """What the person said. Half a surrogate pair cannot be sent to anybody and becomes U+FFFD."""
    return {"role": "user", "content": _SURROGATES.sub("\ufffd", text)}


def assistant_message(text: str, calls: Sequence[ToolCall] = ()) -> dict[str, Any]:
    """What the model said, so that every vendor takes it back: with legal names, and objects as arguments.

    Arguments that are no JSON object stand there as an empty one (XMCP-CLI-007); what was written is in the answer.
    """
    if not calls:
        return {"role": "assistant", "content": text}
    return {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": legal(call.name), "arguments": _object(call)}}
            for call in calls
        ],
    }


def copied(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The same messages, sharing nothing that can be changed."""
    return [
        deepcopy(dict(message)) if any(isinstance(v, list | dict) for v in message.values()) else dict(message)
        for message in messages
    ]


def tool_message(call: ToolCall, content: str) -> dict[str, Any]:
    """What a call answered, for the model to read."""
    return {"role": "tool", "tool_call_id": call.id, "name": legal(call.name), "content": content}


def turn_messages(text: str, calls: Sequence[ToolCall], contents: Sequence[str | None]) -> list[dict[str, Any]]:
    """A whole turn of calls: the assistant's message and one tool message per call, in call order.

    A call without a content has no result yet; a message that says so stands in for it, so that the history is valid.
    """
    answers = (
        content if content is not None else _unanswered(call) for call, content in zip(calls, contents, strict=True)
    )
    return [assistant_message(text, calls), *map(tool_message, calls, answers)]


def begin(history: Sequence[Message], query: str) -> list[dict[str, Any]]:
    """A new list: the history and the query, which is not repeated if it is the last message already.

    Raises:
        ValueError: the history breaks the invariant, so that any vendor would refuse it.
    """
    if wrong := problem(history):
        raise ValueError(
            f"The history cannot be continued: {wrong}. Pass the history that chat() returned, or drop that turn."
        )
    messages = _in_call_order(copied(history))
    message = user_message(query)
    if not messages or any(messages[-1].get(key) != value for key, value in message.items()):
        messages.append(message)
    return messages


def _object(call: ToolCall) -> str:
    readable = call.arguments.strip() and isinstance(parse_arguments(call.arguments), dict)
    return call.arguments if readable else "{}"


def _in_call_order(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool messages in the order of their calls, which others leave in the order in which the calls ended."""
    order: dict[Any, int] = {}
    ordered: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for message in [*history, {"role": ""}]:
        if message["role"] == "tool":
            answers.append(message)
            continue
        ordered += sorted(answers, key=lambda answer: order.get(answer.get("tool_call_id"), 0))
        answers = []
        ordered.append(message)
        if message["role"] == "assistant":
            order = {call["id"]: place for place, call in enumerate(message.get("tool_calls") or ())}
    return ordered[:-1]


def problem(history: Sequence[Message]) -> str | None:
    """What is wrong with a history, where; `None` if nothing is."""
    open_ids: list[str] = []
    for place, message in enumerate(history):
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            return f"history[{place}] is not a message with a role of {', '.join(sorted(ROLES))}"
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_ids:
                return f"history[{place}] answers the call {message.get('tool_call_id')!r}, which is not open there"
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            return f"history[{place}] comes before the answer to the call {open_ids[0]!r}"
        if message["role"] == "assistant":
            calls = message.get("tool_calls") or ()
            if not isinstance(calls, Sequence) or isinstance(calls, str):
                return f"history[{place}] has tool_calls that are no list"
            open_ids = [call["id"] for call in calls if isinstance(call, Mapping) and isinstance(call.get("id"), str)]
            if len(set(open_ids)) != len(calls):
                return f"history[{place}] has calls without an id of their own"
    return f"the call {open_ids[0]!r} at its end has no answer" if open_ids else None


def _unanswered(call: ToolCall) -> str:
    error = ErrorInfo("CANCELLED", "There is no result: the call had not ended.", meta={"side_effects": "unknown"})
    return ToolResponse(legal(call.name), error=error).to_xml()


def call_ids(history: Sequence[Message]) -> set[str]:
    """Every call id a history has used."""
    return {call["id"] for message in history for call in message.get("tool_calls") or ()}
