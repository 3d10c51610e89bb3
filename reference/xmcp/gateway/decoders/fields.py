"""Members of a JSON body, read with the type that they must have."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from xmcp.chat import messages
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.user_input import FilePart, ImagePart, TextPart, UserInput
from xmcp.chat.user_input import check as check_input
from xmcp.client.tools.external import ExternalTools

MAX_MESSAGES: Final = 10_000
"""Maximum number of messages of a request."""

MAX_REASON: Final = 1_000
"""Maximum number of characters of a person's reason."""

T = TypeVar("T")

_NAMES: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


class BadRequest(ValueError):
    """A body that cannot be answered. `param` is the member that is wrong, `code` a word for programs."""

    def __init__(self, message: str, param: str | None = None, code: str = "invalid_value") -> None:
        super().__init__(message)
        self.param = param
        self.code = code


def member(body: Mapping[str, Any], name: str, kind: type[T], default: T | None = None) -> T | None:
    """Return a member; the default if it is absent or null.

    Raises:
        BadRequest: it has another type.
    """
    value = body.get(name)
    if value is None:
        return default
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)  # type: ignore[return-value]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise BadRequest(f"{name} must be {_NAMES[kind]}, not {_type(value)}.", name, "invalid_type")
    return value


def needed(body: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """Return a member that must be there.

    Raises:
        BadRequest: it is absent, null, or has another type.
    """
    value = member(body, name, kind)
    if value is None:
        raise BadRequest(f"{name} is missing: it must be {_NAMES[kind]}.", name, "missing_required_parameter")
    return value


def sampler(body: Mapping[str, Any], **others: Any) -> SamplerConfig | None:
    """Return the options of the model that a body sets, by the names that OpenAI gives them; `others` are read already.

    Raises:
        BadRequest: one has a value that no vendor takes.
    """
    stop = [body["stop"]] if isinstance(body.get("stop"), str) else member(body, "stop", list)
    set_ = {
        "temperature": member(body, "temperature", float),
        "top_p": member(body, "top_p", float),
        "max_tokens": member(body, "max_completion_tokens", int, member(body, "max_tokens", int)),
        "stop": stop,
        "seed": member(body, "seed", int),
        "reasoning_effort": member(body, "reasoning_effort", str),
        **others,
    }
    given: dict[str, Any] = {name: value for name, value in set_.items() if value is not None}
    try:
        return SamplerConfig(**given) if given else None
    except (TypeError, ValueError) as error:
        name = next((name for name in given if str(error).startswith(name)), None)
        raise BadRequest(str(error), name) from error


def client_tools(listed: Sequence[Any], name: str) -> ExternalTools | None:
    """Return the client's own tools, in the OpenAI format; `None` if there are none. `name` is the member for messages.

    Raises:
        BadRequest: they are no tools.
    """
    try:
        return ExternalTools.of(listed) if listed else None
    except (TypeError, ValueError) as error:
        raise BadRequest(str(error).replace("external_tools", name), name) from error


def conversation(listed: Sequence[Any], name: str = "messages") -> tuple[UserInput | None, list[Message]]:
    """Return what the person says, which is the last message, and the messages before it.

    If the last message is the result of a tool of the client's own, the person says nothing, and all are before it.
    `name` is the member that has them, for messages.

    Raises:
        BadRequest: they are no messages in the OpenAI chat format, or the last one is neither.
    """
    if not listed:
        raise BadRequest(f"{name} is empty: it must have at least the message of the user.", name)
    if len(listed) > MAX_MESSAGES:
        raise BadRequest(f"{name} has more than {MAX_MESSAGES:,} messages.", name)
    for place, message in enumerate(listed):
        _check_message(message, f"{name}[{place}]")
    listed = [_with_text(message) if message["role"] == "tool" else message for message in listed]
    if wrong := messages.problem(listed):
        raise BadRequest(f"{wrong.replace('history[', f'{name}[')}.", name)
    *history, last = listed
    if last["role"] == "tool":
        return None, listed
    if last["role"] != "user":
        raise BadRequest(
            f"{name} must end with a message of the role user or tool, not {last['role']}.",
            f"{name}[{len(history)}].role",
        )
    return said(last["content"], f"{name}[{len(history)}].content"), history


def said(content: Any, place: str) -> UserInput:
    """Return what the person says, from a text or a list of parts in the OpenAI chat format.

    Raises:
        BadRequest: it has parts that no model takes.
    """
    query: UserInput = (
        content if isinstance(content, str) else [_part(p, f"{place}[{i}]") for i, p in enumerate(content)]
    )
    try:
        check_input(query)
    except (TypeError, ValueError) as error:
        raise BadRequest(str(error).replace("user_query", place), place) from error
    return query


def _check_message(message: Any, place: str) -> None:
    if not isinstance(message, dict):
        raise BadRequest(f"{place} must be an object, not {_type(message)}.", place, "invalid_type")
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in messages.ROLES:
        roles = ", ".join(sorted(messages.ROLES))
        raise BadRequest(f"{place}.role must be one of {roles}.", f"{place}.role")
    if role == "assistant":
        _check_calls(message.get("tool_calls"), f"{place}.tool_calls")
    if content is None and role == "assistant":
        return
    if not isinstance(content, str) and not (isinstance(content, list) and all(isinstance(p, dict) for p in content)):
        raise BadRequest(f"{place}.content must be a text or a list of parts.", f"{place}.content", "invalid_type")


def _check_calls(calls: Any, place: str) -> None:
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        match call:
            case {"id": str(), "function": {"name": str(), "arguments": str()}}:
                pass
            case _:
                told = f"{place}[{number}] must have an id, and a function with name and arguments, which are texts."
                raise BadRequest(told, f"{place}[{number}]", "invalid_type")


def _with_text(message: Message) -> Message:
    """Return the result of a tool with a text as its content: some vendors take no parts there."""
    return {**message, "content": messages.text_of(message)}


def _part(part: Mapping[str, Any], place: str) -> TextPart | ImagePart | FilePart:
    match part:
        case {"type": "text", "text": str(text)}:
            return TextPart(text)
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return ImagePart(url)
        case {"type": "file", "file": {"file_data": str(url), **more}}:
            return _file(url, more.get("filename"), place)
        case _:
            raise BadRequest(f"{place} must be a part of the type text, image_url, or file with file_data.", place)


def _file(url: str, name: Any, place: str) -> FilePart:
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise BadRequest(f"{place}.file.file_data must be a data: URL in base64.", place)
    try:
        return FilePart(b64decode(data, validate=True), head[len("data:") : -len(";base64")], name)
    except ValueError as error:
        raise BadRequest(f"{place}.file.file_data is not base64.", place) from error


def _type(value: Any) -> str:
    return next((name for kind, name in _NAMES.items() if type(value) is kind), "null")
