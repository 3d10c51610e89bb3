"""Messages in the format of OpenAI's chat completions, arguments and JSON values: what is read out of them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from xmcp_conformance.reader import Document, read

Message = Mapping[str, Any]

_TAG = re.compile(r'"tag"\s*:\s*"([^"\\]*)"')


def text_of(message: Message) -> str:
    """The text of a message, whether its content is a text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def calls_of(message: Message) -> list[Mapping[str, Any]]:
    """The calls of an assistant message; none of any other."""
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    return list(calls) if isinstance(calls, Sequence) else []


def answers_after(messages: Sequence[Message], place: int) -> list[Message]:
    """The tool messages that follow the message at `place`, before any other kind."""
    found = []
    for message in messages[place + 1 :]:
        if message.get("role") != "tool":
            break
        found.append(message)
    return found


def function_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Name, description and parameters of an offered tool, whether or not they stand in a member `function`."""
    inner = tool.get("function")
    return inner if isinstance(inner, Mapping) else tool


def parameters_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a model sees of an offered tool."""
    schema = function_of(tool).get("parameters") or {}
    return schema if isinstance(schema, Mapping) else {}


def arguments_of(written: str) -> dict[str, Any] | None:
    """What a model wrote as arguments; `None` where it is not one JSON object. An empty text is an empty object."""
    if not written.strip():
        return {}
    try:
        value = json.loads(written, parse_constant=_refuse)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def tag_of(written: str, arguments: Mapping[str, Any] | None) -> str | None:
    """The tag of a call, also where the rest of its arguments is no JSON."""
    if arguments is not None:
        tag = arguments.get("tag")
        return tag if isinstance(tag, str) else None
    found = _TAG.search(written)
    return found[1] if found else None


@lru_cache(1024)
def document_of(content: str) -> Document | None:
    """The document in the content of a tool message; `None` where it is none."""
    return read(content).document


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON values: `true` is no number, and the order of members says nothing."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


def compact(value: Any) -> str:
    """JSON without white space between its tokens and without escapes that it can do without."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def strings_of(messages: Sequence[Message]) -> Iterator[str]:
    """Every text in messages that somebody wrote: contents, and arguments of calls."""
    for message in messages:
        yield text_of(message)
        for call in calls_of(message):
            yield str((call.get("function") or {}).get("arguments", ""))


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
