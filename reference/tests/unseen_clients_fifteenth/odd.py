"""Clients that are unusual and right. A function changes the reference client in this process, as in `wrong`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from xmcp.chat import events, messages, tool_schemas
from xmcp.chat.completions import ToolCall
from xmcp.chat.messages import Message
from xmcp.client import ai_client
from xmcp.client.loop import turn
from xmcp.client.loop.chat import Chat
from xmcp.client.tools import names
from xmcp.wire import ErrorInfo, ToolResponse, encoder

# Modules and classes as `Any`: their functions are replaced.
_chat: Any = Chat
_encoder: Any = encoder
_messages: Any = messages


def mends_histories() -> None:
    """A history of the application that no vendor accepts is mended in a copy, and not refused."""
    begin = _messages.begin

    def mend_and_begin(history: Sequence[Message], query: str) -> list[dict[str, Any]]:
        if messages.problem(history):
            history = [*_mended(history)]
        begun: list[dict[str, Any]] = begin(history, query)
        return begun

    _messages.begin = mend_and_begin


def _mended(history: Sequence[Message]) -> Iterator[Message]:
    for place, message in enumerate(history):
        if not isinstance(message, Mapping) or message.get("role") != "tool":
            yield message
        if not isinstance(message, Mapping) or message.get("role") != "assistant":
            continue
        answers: dict[Any, Message] = {}
        for later in history[place + 1 :]:
            if not isinstance(later, Mapping) or later.get("role") == "assistant":
                break
            if later.get("role") == "tool":
                answers.setdefault(later.get("tool_call_id"), later)
        calls = message.get("tool_calls") or ()
        for call in calls if isinstance(calls, list | tuple) else ():
            if isinstance(call, Mapping) and isinstance(id_ := call.get("id"), str):
                name = str((call.get("function") or {}).get("name") or "")
                yield answers.get(id_) or messages.turn_messages("", [ToolCall(id_, name, "")], [None])[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEvent(events._Event):
    """An event of a type of the client's own."""

    type: str = field(default="x_acme_heartbeat", init=False)

    def to_json(self) -> dict[str, Any]:
        """Return the event as a JSON object."""
        return {"type": self.type, "turn": self.turn, "x_acme_load": 0.5}


_REPORTED: Final = (
    "LLMDelta",
    "LLMRetry",
    "LLMUsage",
    "ToolRequested",
    "ToolStarted",
    "ToolRetry",
    "ToolResult",
    "ToolError",
    "ToolDisplay",
    "ToolWarning",
    "ChatWarning",
    "Done",
    "ChatFailed",
)
"""The classes of the events of section 10.2."""


def tells_more_than_it_has_to() -> None:
    """Each event has a member of the client's own, and before each that is no text stands an event of an own type."""
    run = _chat.run

    async def run_and_tell(self: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(run(self)) as reported:
            async for event in reported:
                if not isinstance(event, events.LLMDelta):
                    yield OwnEvent(turn=event.turn)
                yield event

    _chat.run = run_and_tell
    for name in _REPORTED:
        _with_own_member(vars(events)[name])


def _with_own_member(kind: Any) -> None:
    to_json = kind.to_json

    def to_json_with_more(self: Any) -> dict[str, Any]:
        return {**to_json(self), "x_acme_trace": {"type": "done", "call_id": None}}

    kind.to_json = to_json_with_more


def writes_documents_at_length() -> None:
    """Documents of the client's own have every default, numeric references, and a line for each child of the root."""
    start_tag, llm_output = _encoder._start_tag, _encoder._llm_output
    error, display = _encoder._error, _encoder._display

    def start_tag_with_version(response: ToolResponse, illegal: Any) -> str:
        tag = str(start_tag(response, illegal))
        return f'{tag[:-1]} version="1.0">' if response.version == "1.0" else tag

    def llm_output_with_defaults(response: ToolResponse, text: str, illegal: Any) -> str:
        written = str(llm_output(response, text, illegal))
        tag, rest = written.split(">", 1)
        defaults = [("format", "text/plain"), ("truncated", "false"), ("lossy", "false")]
        added = "".join(f' {name}="{value}"' for name, value in defaults if f' {name}="' not in tag)
        return f"\n  {tag}{added}>{rest}"

    def error_on_a_line(info: ErrorInfo, illegal: Any, check: bool) -> str:
        return f"\n  {error(info, illegal, check)}"

    def display_on_a_line(envelope: Any, illegal: Any, check: bool) -> str:
        return f"\n  {display(envelope, illegal, check)}"

    def in_numbers(text: str) -> str:
        return re.sub(r"[&<>\r'\"]", lambda character: f"&#{ord(character[0])};", text)

    def attribute_in_numbers(text: str) -> str:
        return in_numbers(text).replace("\t", "&#9;").replace("\n", "&#10;")

    _encoder._start_tag, _encoder._llm_output = start_tag_with_version, llm_output_with_defaults
    _encoder._error, _encoder._display = error_on_a_line, display_on_a_line
    _encoder.escape = _encoder.character_data = in_numbers
    _encoder.escape_attribute = attribute_in_numbers


def spells_names_out() -> None:
    """A character that models do not take in a name is spelt as its number; a long name loses its middle."""

    def legal_name(name: str) -> str:
        clean = re.sub(r"[^A-Za-z0-9_-]", lambda character: f"-{ord(character[0]):x}-", name) or "nameless"
        if len(clean) <= tool_schemas.MAX_NAME:
            return clean
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]
        return f"{clean[:24]}-{digest}-{clean[-24:]}"

    modules: tuple[Any, ...] = (tool_schemas, messages, ai_client, turn, names)
    for module in modules:
        module.legal_name = legal_name
