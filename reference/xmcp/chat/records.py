"""A chat as JSON for other programs (spec chapter 10): its events, and the records that are kept of it. Pure.

`event` writes one `ChatChunk`; a `Trace` makes the audit records of a chat from its chunks. What is written is JSON
whatever a model, a server or an application put into it.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import jsonschema_rs

from xmcp.chat.errors import ProviderError, QuotaExceeded
from xmcp.chat.events import CallReport, ChatChunk, ChatResult
from xmcp.chat.messages import Message
from xmcp.wire import DecodeError, DisplayEnvelope, ErrorInfo, ToolResponse, jsonvalue
from xmcp_models import DATA

MAX_DEPTH: Final = 128
"""Levels of JSON that a record has at most; what a document may hold (64) fits into it twice."""

MAX_BITS: Final = 1024
"""A larger integer is infinite to a reader that has doubles only, and many of those refuse the whole text."""

_SURROGATES: Final = re.compile("[\ud800-\udfff]")

Odd: TypeAlias = Callable[[Any, tuple[str | int, ...]], Any]
"""What to write in place of a value that is no JSON, from the value and where it stands."""


def event(chunk: ChatChunk) -> dict[str, Any]:
    """One event of a chat as the JSON object of spec section 10.2; what the chunk does not have is left out.

    Besides the members of that table, `tool_result` and `tool_error` have those of the chunk's `report`: `server`,
    `attempts`, `duration_ms`, `cached`, `handed_on`.
    """
    written: dict[str, Any] = {"type": chunk.type, "turn": chunk.turn, **_REQUIRED.get(chunk.type, {})}
    for name, write in _MEMBERS.items():
        value = getattr(chunk, name)
        if value is not None:
            written[name] = write(value)
    if chunk.report is not None:
        written |= _report(chunk.report)
    return written


def error(info: ErrorInfo) -> dict[str, Any]:
    """An error as the JSON object of the schemas, without members of its `meta` that spec chapter 4 does not allow."""
    written: dict[str, Any] = {
        "code": info.code,
        "message": _text(info.message) or info.code,
        "retryable": info.retryable,
        "category": info.category,
    }
    if info.retry_after_ms is not None:
        written["retry_after_ms"] = info.retry_after_ms
    if info.meta:
        allowed = validator("error_meta").is_valid
        meta = {name: value for name, value in _lenient(info.meta).items() if allowed({name: value})}
        if meta:
            written["meta"] = meta
    return written


def message(one: Message, odd: Odd | None = None) -> dict[str, Any]:
    """A message as JSON: members that are `None` are left out, as they say nothing, but for `content`."""
    known = {name: value for name, value in one.items() if value is not None or name == "content"}
    written: dict[str, Any] = as_json(known, odd or _note)
    return written


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One call of a tool, with everything that was tried for it.

    `arguments` as the model wrote them, `None` where they are no JSON object. `outcome` is `cancelled` until there is
    another. `attempts`: how often the server was asked, 0 where the answer came from elsewhere. Of a call that was cut
    short `duration_ms` is the time from when the model asked for it, and `attempts` what was seen of it.
    """

    call_id: str
    tool_name: str
    server: str | None = None
    arguments: Mapping[str, Any] | None = None
    outcome: Literal["ok", "error", "cancelled"] = "cancelled"
    error: ErrorInfo | None = None
    duration_ms: float = 0.0
    attempts: int = 0
    cached: bool = False
    displayed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The call as the member `tool_call` of an audit record (spec section 10.4)."""
        code = {} if self.error is None else {"error_code": self.error.code}
        return {
            "call_id": _text(self.call_id),
            "tool_name": _text(self.tool_name),
            "server": _lenient(self.server),
            "arguments": _lenient(self.arguments),
            "outcome": self.outcome,
            **code,
            "duration_ms": self.duration_ms,
            "attempts": self.attempts,
            "cached": self.cached,
            "displayed": self.displayed,
        }


class Trace:
    """What is kept of one chat (spec section 10.4): give it each chunk as it comes, and `end` it once.

    The records are one `chat_started`, then `tool_call` and `usage` as they end, then one `message` for each message
    of the history that the chat returned, then one `chat_ended`. The messages come last because only then they are
    final: a model that summarises replaces older ones.
    """

    def __init__(
        self, chat_id: str | None = None, *, session_id: str | None = None, tenant_id: str | None = None
    ) -> None:
        """Begins the chat; without a `chat_id` it gets one."""
        self.chat_id = chat_id or uuid.uuid4().hex
        self.session_id = session_id
        self.tenant_id = tenant_id
        self._calls: dict[str, ToolCallRecord] = {}
        self._open: dict[str, float] = {}
        # As values, made JSON when asked for: all traces of a conversation share its messages.
        self._entries: list[tuple[str, str, dict[str, Any]]] = []
        self._stop_reason: str | None = None
        self._ended = False
        self._add("chat_started")

    @property
    def calls(self) -> list[ToolCallRecord]:
        """The calls of tools by turn and in call order."""
        return list(self._calls.values())

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records so far, as JSON values."""
        return self.records_from(0)

    def records_from(self, sequence: int) -> list[dict[str, Any]]:
        """The records so far that have this `sequence` or a later one, for who has written the others already."""
        return [self._record(number) for number in range(sequence, len(self._entries))]

    def to_jsonl(self) -> str:
        """The records as JSON Lines: ASCII, each line one record and ended by a line feed."""
        return "".join(json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n" for record in self.records)

    def take(self, chunk: ChatChunk) -> None:
        """The chat went on."""
        if chunk.call_id is not None:
            self._take_call(chunk.call_id, chunk)
        if chunk.usage is not None:
            self._add("usage", usage=chunk.usage)
        if chunk.result is not None:
            self._stop_reason = chunk.result["stop_reason"]

    def end(self, history: Sequence[Message], failure: BaseException | None = None) -> None:
        """The chat ended with this history; `failure` is what it raised, if it did. Only the first time counts."""
        if self._ended:
            return
        self._ended = True
        if self._open:
            answers = {one.get("tool_call_id"): one for one in history if one.get("role") == "tool"}
            for call_id, begun in list(self._open.items()):
                self._end_call(call_id, _answer(answers.get(call_id)), _since(begun))
        for one in history:
            self._add("message", message=one)
        if self._stop_reason is not None:
            self._add("chat_ended", stop_reason=self._stop_reason)
        else:
            self._add("chat_ended", stop_reason=None, error=reason(failure))

    def _take_call(self, call_id: str, chunk: ChatChunk) -> None:
        call = self._calls.get(call_id)
        if call is None:
            call = ToolCallRecord(call_id=call_id, tool_name=chunk.tool_name or "", arguments=chunk.arguments)
            self._open[call_id] = time.perf_counter()
        if chunk.report is not None:
            call = replace(call, server=chunk.report.server, attempts=chunk.report.attempts, cached=chunk.report.cached)
        elif chunk.type in ("tool_started", "retry"):
            call = replace(call, attempts=max(call.attempts, chunk.attempt or 1))
        self._calls[call_id] = call
        if chunk.response is not None and call_id in self._open:
            duration = chunk.report.duration_ms if chunk.report is not None else _since(self._open[call_id])
            self._end_call(call_id, chunk.response, duration)

    def _end_call(self, call_id: str, response: ToolResponse, duration_ms: float) -> None:
        del self._open[call_id]
        code = response.error.code if response.error is not None else None
        self._calls[call_id] = call = replace(
            self._calls[call_id],
            outcome=_OUTCOMES.get(code, "error"),
            error=response.error,
            duration_ms=duration_ms,
            displayed=response.display is not None,
        )
        self._add("tool_call", tool_call=call)

    def _add(self, kind: str, **members: Any) -> None:
        self._entries.append((datetime.now(UTC).isoformat(timespec="milliseconds"), kind, members))

    def _record(self, number: int) -> dict[str, Any]:
        timestamp, kind, members = self._entries[number]
        return {
            "kind": kind,
            "chat_id": _text(self.chat_id),
            "sequence": number,
            "timestamp": timestamp,
            "session_id": _lenient(self.session_id),
            "tenant_id": _lenient(self.tenant_id),
            **{name: _AUDITED[name](value) for name, value in members.items()},
        }


def reason(failure: BaseException | None) -> ErrorInfo:
    """Why a chat ended without a result, in the one shape that errors have. Nothing of our insides is in it."""
    match failure:
        case ProviderError():
            return failure.to_error_info()
        case QuotaExceeded():
            return ErrorInfo("QUOTA_EXCEEDED", str(failure))
        case Exception():
            return ErrorInfo("INTERNAL", f"The chat failed: {type(failure).__name__}.")
        case _:
            return ErrorInfo("CANCELLED", "The chat was cancelled before it ended.")


def as_json(value: Any, odd: Odd, path: tuple[str | int, ...] = ()) -> Any:
    """A copy in nothing but JSON's own types; half of a surrogate pair becomes U+FFFD.

    `odd` says what stands in place of everything else: of values and keys of other types, of numbers that are not
    finite as a double, and of what is more than `MAX_DEPTH` levels deep.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and value.bit_length() < MAX_BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, dict | list | tuple) and len(path) < MAX_DEPTH:
        if not isinstance(value, dict):
            return [as_json(member, odd, (*path, index)) for index, member in enumerate(value)]
        return {
            _text(name if isinstance(name, str) else str(odd(name, path))): as_json(member, odd, (*path, name))
            for name, member in value.items()
        }
    return odd(value, path)


@lru_cache
def validator(name: str) -> jsonschema_rs.Validator:
    """What judges JSON values by `schemas/{name}.schema.json`. Its errors do not repeat the values."""
    return jsonschema_rs.validator_for(
        _schema(f"{name}.schema.json"),
        retriever=lambda uri: _schema(uri.rpartition("/")[2]),
        validate_formats=True,
        mask="the value",
    )


def _schema(file: str) -> Any:
    return json.loads((DATA / file).read_text(encoding="utf-8"))


def _note(value: Any, path: tuple[str | int, ...]) -> Any:
    """A record must not fail for what somebody put into a message: the nearest JSON there is."""
    if isinstance(value, float):
        return None
    if isinstance(value, dict | list | tuple):
        return "(nested too deep)"
    try:
        return as_json(jsonvalue.plain(value), _note, path)
    except TypeError:
        return f"({type(value).__name__})"


def _lenient(value: Any) -> Any:
    return as_json(dict(value) if isinstance(value, Mapping) else value, _note)


def _text(text: str) -> str:
    plain = str.__str__(text)
    return plain if plain.isascii() else _SURROGATES.sub("\ufffd", plain)


def _envelope(envelope: DisplayEnvelope) -> Any:
    return _lenient(envelope.to_dict())


def _report(report: CallReport) -> dict[str, Any]:
    written: dict[str, Any] = {
        "attempts": report.attempts,
        "duration_ms": report.duration_ms,
        "cached": report.cached,
    }
    if report.server is not None:
        written["server"] = _text(report.server)
    if report.handed_on:
        written["handed_on"] = _lenient(report.handed_on)
    return written


def _result(result: ChatResult) -> dict[str, Any]:
    displays = [_envelope(display) for display in result["displays"]]
    return {
        "answer": _lenient(result["answer"]),
        "display": displays[0] if displays else None,
        "displays": displays,
        "history": [message(one) for one in result["history"]],
        "usage": _lenient(result["usage"]),
        "stop_reason": result["stop_reason"],
    }


def _answer(tool_message: Message | None) -> ToolResponse:
    """What the history says that a call answered whose end nobody was told of, such as why it was not made."""
    if tool_message is not None:
        try:
            return ToolResponse.from_xml(tool_message["content"])
        except (DecodeError, TypeError, KeyError):
            pass
    return ToolResponse("", error=ErrorInfo("CANCELLED", "The call was cancelled before it ended."))


def _since(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 1)


_OUTCOMES: Final[dict[str | None, Literal["ok", "error", "cancelled"]]] = {None: "ok", "CANCELLED": "cancelled"}

_REQUIRED: Final[dict[str, dict[str, Any]]] = {"tool_call": {"arguments": None}, "tool_result": {"text": ""}}
"""Members that events of a type have even where the chunk has nothing to say."""

_MEMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "call_id": _text,
    "tool_name": _text,
    "text": _text,
    "arguments": _lenient,
    "envelope": _envelope,
    "error": error,
    "attempt": int,
    "wait_ms": int,
    "usage": _lenient,
    "result": _result,
}
"""How each member of a chunk is written. Its response is not: the events have what is in it."""

_AUDITED: Final[dict[str, Callable[[Any], Any]]] = {
    "message": message,
    "tool_call": ToolCallRecord.to_dict,
    "usage": _lenient,
    "stop_reason": lambda value: value,
    "error": error,
}
