"""Messages of a conversation and the histories they form: building, checking, ordering. Pure.

A history is a list in the OpenAI chat format. The invariant: every entry of an assistant's `tool_calls` is followed,
before any other message, by exactly one tool message with its id; and no tool message stands anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from xmcp.chat import client_made_errors
from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import ToolCall
from xmcp.chat.json_values import Replacement, as_json, as_text, copied_value, nearest
from xmcp.chat.tool_schemas import legal_name
from xmcp.wire import ToolResponse

Message: TypeAlias = Mapping[str, Any]
"""One message of a conversation in the OpenAI chat format."""

ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})


INSTRUCTIONS: Final = ("system", "developer")
"""The roles of messages that instruct the model."""


def text_of(message: Message) -> str:
    """Return the text of a message, whose content is a text or a list of parts; other parts than texts have none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    texts = (part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def size_of(message: Message) -> int:
    """Return about how many characters the content of a message has, those of pictures and files included."""
    content = message.get("content")
    if isinstance(content, str):
        return len(content)
    size = 0
    for part in content if isinstance(content, list | tuple) else ():
        for member in part.values() if isinstance(part, Mapping) else ():
            inner = member.values() if isinstance(member, Mapping) else (member,)
            size += sum(len(one) for one in inner if isinstance(one, str))
    return size


def user_message(content: str | list[dict[str, Any]]) -> dict[str, Any]:
    """Return the message of the person: a text, or parts in the OpenAI chat format (`user_input.content_of`).

    Half of a surrogate pair in a text cannot be sent and becomes U+FFFD.
    """
    return {"role": "user", "content": as_text(content) if isinstance(content, str) else content}


def assistant_message(text: str, calls: Sequence[ToolCall] = ()) -> dict[str, Any]:
    """Return the message of the model in a form that every vendor accepts: legal names, and objects as arguments.

    Arguments that are not a JSON object become an empty one (XMCP-CLI-007); the tool message quotes the original.
    """
    if not calls:
        return {"role": "assistant", "content": text}
    return {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": legal_name(call.name), "arguments": _object(call)}}
            for call in calls
        ],
    }


def copied(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return copies of the messages that share no mutable part with them."""
    return [copied_value(dict(message)) for message in messages]


def tool_message(call: ToolCall, content: str) -> dict[str, Any]:
    """Return the message that answers a call, for the model to read."""
    return {"role": "tool", "tool_call_id": call.id, "name": legal_name(call.name), "content": content}


def turn_messages(text: str, calls: Sequence[ToolCall], contents: Sequence[str | None]) -> list[dict[str, Any]]:
    """Return a whole turn of calls: the assistant's message and one tool message per call, in call order.

    A content of `None` means that the call has no result yet: its message says so, which keeps the history valid.
    """
    answers = (
        content if content is not None else _unanswered(call) for call, content in zip(calls, contents, strict=True)
    )
    return [assistant_message(text, calls), *map(tool_message, calls, answers)]


def with_results(history: Sequence[Message], results: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the history with texts in place of what it has as the answers to calls; `results` has them by call id.

    Raises:
        ValueError: the history has no such call, or a text is none.
    """
    answered = {message["tool_call_id"] for message in history if message["role"] == "tool"}
    for call_id, text in results.items():
        if call_id not in answered or not isinstance(text, str):
            what = "is not that of a call in the history" if call_id not in answered else "has a result that is no text"
            raise ValueError(f"The call id {call_id!r} {what}: give a text for each of open_calls, by its call_id.")
    return [
        {**message, "content": as_text(results[message["tool_call_id"]])}
        if message["role"] == "tool" and message["tool_call_id"] in results
        else dict(message)
        for message in history
    ]


def begin(history: Sequence[Message], query: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Return a new list: the history and the query, which is not repeated if it is the last message already.

    `None` is no query: the history ends with what the model is to answer, results of tools or a message of the person.

    Raises:
        ValueError: the history breaks the invariant, so any vendor would refuse it; or there is nothing to answer.
    """
    if wrong := problem(history):
        raise ValueError(
            f"The history cannot be continued: {wrong}. Pass the history that chat() returned, or drop that turn."
        )
    messages = _in_call_order(copied(history))
    if query is None:
        if not messages or messages[-1]["role"] not in ("tool", "user"):
            raise ValueError(
                "There is nothing to answer: pass a query; without one, the history must end with results of tools, or "
                "with a message of the person."
            )
        return messages
    message = user_message(query)
    if not messages or any(messages[-1].get(key) != value for key, value in message.items()):
        messages.append(message)
    return messages


def instructed(history: list[dict[str, Any]], system: str | None) -> list[dict[str, Any]]:
    """Return the messages with `system` in place of the system messages at their beginning; `None`: as they are."""
    if system is None:
        return history
    begin = next((place for place, one in enumerate(history) if one["role"] not in INSTRUCTIONS), len(history))
    given = [{"role": "system", "content": as_text(system)}] if system.strip() else []
    return [*given, *history[begin:]]


def _object(call: ToolCall) -> str:
    readable = call.arguments.strip() and isinstance(parse_arguments(call.arguments), dict)
    return call.arguments if readable else "{}"


def _in_call_order(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the history with tool messages in call order; some clients leave them in the order of completion."""
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
    """Return what is wrong with a history, and where; `None` if nothing is."""
    open_ids: dict[str, None] = {}
    for place, message in enumerate(history):
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            return f"history[{place}] is not a message with a role of {', '.join(sorted(ROLES))}"
        if message["role"] == "tool":
            answered = message.get("tool_call_id")
            if not isinstance(answered, str) or answered not in open_ids:
                return f"history[{place}] answers the call {answered!r}, which is not open there"
            del open_ids[answered]
            continue
        if open_ids:
            return f"history[{place}] comes before the answer to the call {next(iter(open_ids))!r}"
        if message["role"] == "assistant":
            calls = message.get("tool_calls") or ()
            if not isinstance(calls, Sequence) or isinstance(calls, str):
                return f"history[{place}] has tool_calls that are not a list"
            ids = (call["id"] for call in calls if isinstance(call, Mapping) and isinstance(call.get("id"), str))
            open_ids = dict.fromkeys(ids)
            if len(open_ids) != len(calls):
                return f"history[{place}] has calls without an id of their own"
    return f"the call {next(iter(open_ids))!r} at its end has no answer" if open_ids else None


def _unanswered(call: ToolCall) -> str:
    return ToolResponse(legal_name(call.name), error=client_made_errors.not_ended()).to_xml()


def call_ids(history: Sequence[Message]) -> set[str]:
    """Return every call id that a history uses."""
    return {call["id"] for message in history for call in message.get("tool_calls") or ()}


def message_to_json(message: Message, replacement: Replacement = nearest) -> dict[str, Any]:
    """Return a message as a JSON object, without members that are `None`, except `content`.

    `replacement` is as for `as_json`.
    """
    known = {name: value for name, value in message.items() if value is not None or name == "content"}
    written: dict[str, Any] = as_json(known, replacement)
    return written
