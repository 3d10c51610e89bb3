"""The audit records of a chat (spec section 10.4): a `Trace` makes them from the chat's events. Pure.

The records can be written as JSON for every content of models, servers and applications.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

from xmcp.chat import client_made_errors
from xmcp.chat.errors import error_of_chat, error_to_json
from xmcp.chat.events import (
    ChatChunk,
    ChatFailed,
    ChatWarning,
    Done,
    LLMDelta,
    LLMReasoning,
    LLMRetry,
    LLMUsage,
    ToolError,
    ToolEvent,
    ToolProgress,
    ToolRequested,
    ToolResult,
    ToolRetry,
    ToolStarted,
)
from xmcp.chat.json_values import as_json, as_text, object_as_json
from xmcp.chat.messages import Message, message_to_json
from xmcp.wire import DecodeError, ErrorInfo, ToolResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One call of a tool, with everything that was tried for it.

    `outcome` is `cancelled` until there is another. If the call was cut short, `duration_ms` counts from the moment
    when the model asked for it, and `attempts` are those that were seen in events.
    """

    call_id: str
    tool_name: str
    server: str | None = None
    arguments: Mapping[str, Any] | None = None
    """`None` where what the model wrote is not a JSON object."""
    outcome: Literal["ok", "error", "cancelled"] = "cancelled"
    error: ErrorInfo | None = None
    duration_ms: float = 0.0
    attempts: int = 0
    """Number of attempts that were begun, with or without an answer."""
    cached: bool = False
    displayed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the member `tool_call` of an audit record (spec section 10.4)."""
        code = {} if self.error is None else {"error_code": self.error.code}
        return {
            "call_id": as_text(self.call_id),
            "tool_name": as_text(self.tool_name),
            "server": as_json(self.server),
            "arguments": None if self.arguments is None else object_as_json(self.arguments),
            "outcome": self.outcome,
            **code,
            "duration_ms": self.duration_ms,
            "attempts": self.attempts,
            "cached": self.cached,
            "displayed": self.displayed,
        }


class Trace:
    """The audit records of one chat (spec section 10.4): `take` each event as it comes, and `end` it once.

    The records are one `chat_started`, then `tool_call` and `usage` as they end, then one `message` for each message
    of the history that the chat returned, then one `chat_ended`. The messages come last because only then they are
    final: a model that summarises replaces older ones.
    """

    def __init__(
        self, chat_id: str | None = None, *, session_id: str | None = None, tenant_id: str | None = None
    ) -> None:
        """Begin the trace; without a `chat_id` one is made."""
        self.chat_id = chat_id or uuid.uuid4().hex
        self.session_id = session_id
        self.tenant_id = tenant_id
        self._calls: dict[str, ToolCallRecord] = {}
        self._open: dict[str, float] = {}
        # Values, turned into JSON on request: all traces of a conversation share its messages.
        self._entries: list[tuple[str, str, dict[str, Any]]] = []
        self._stop_reason: str | None = None
        self._error: ErrorInfo | None = None
        self._ended = False
        self._add("chat_started")

    @property
    def calls(self) -> list[ToolCallRecord]:
        """The calls of tools, by turn and in call order."""
        return list(self._calls.values())

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records so far, as JSON values."""
        return self.records_from(0)

    def records_from(self, sequence: int) -> list[dict[str, Any]]:
        """Return the records so far that have this `sequence` or a later one, to write only what is new."""
        return [self._record(number) for number in range(sequence, len(self._entries))]

    def to_jsonl(self) -> str:
        """Return the records as JSON Lines: ASCII, one record a line, each ended by a line feed."""
        return "".join(json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n" for record in self.records)

    def take(self, chunk: ChatChunk) -> None:
        """Record an event."""
        match chunk:
            case LLMDelta() | LLMReasoning() | LLMRetry() | ChatWarning() | ToolProgress():
                pass
            case ChatFailed(error=error):
                self._error = error  # who reads the stream can stop here, before the exception
            case LLMUsage(usage=usage):
                self._add("usage", usage=usage)
            case Done(result=result):
                self._stop_reason = result["stop_reason"]
            case _:
                self._take_call(chunk)

    def end(self, history: Sequence[Message], failure: BaseException | None = None) -> None:
        """Record the end of the chat; `failure` is its exception, if any. Only the first call has an effect."""
        if self._ended:
            return
        self._ended = True
        if self._open:
            answers = {message.get("tool_call_id"): message for message in history if message.get("role") == "tool"}
            for call_id, begun in list(self._open.items()):
                self._end_call(call_id, _answer(answers.get(call_id)), _since(begun))
        for message in history:
            self._add("message", message=message)
        if self._stop_reason is not None:
            self._add("chat_ended", stop_reason=self._stop_reason)
        else:
            self._add("chat_ended", stop_reason=None, error=self._error or error_of_chat(failure))

    def _take_call(self, event: ToolEvent) -> None:
        call_id = event.call_id
        call = self._calls.get(call_id)
        if call is None:
            arguments = event.arguments if isinstance(event, ToolRequested) else None
            call = ToolCallRecord(call_id=call_id, tool_name=event.tool_name, arguments=arguments)
            self._open[call_id] = time.perf_counter()
        match event:
            case ToolStarted(report=report) | ToolResult(report=report) | ToolError(report=report):
                # The error of a call that the end of its chat met has no report of its attempts.
                attempts = max(call.attempts, report.attempts)
                call = replace(call, server=report.server, attempts=attempts, cached=report.cached)
            case ToolRetry(attempt=attempt):
                call = replace(call, attempts=max(call.attempts, attempt))
        self._calls[call_id] = call
        if isinstance(event, ToolResult | ToolError) and call_id in self._open:
            self._end_call(call_id, event.response, event.report.duration_ms or _since(self._open[call_id]))

    def _end_call(self, call_id: str, response: ToolResponse, duration_ms: float) -> None:
        del self._open[call_id]
        code = response.error.code if response.error is not None else None
        self._calls[call_id] = call = replace(
            self._calls[call_id],
            outcome=_OUTCOMES.get(code, "error"),
            error=response.error,
            duration_ms=duration_ms,
            displayed=bool(response.displays),
        )
        self._add("tool_call", tool_call=call)

    def _add(self, kind: str, **members: Any) -> None:
        self._entries.append((datetime.now(UTC).isoformat(timespec="milliseconds"), kind, members))

    def _record(self, number: int) -> dict[str, Any]:
        timestamp, kind, members = self._entries[number]
        return {
            "kind": kind,
            "chat_id": as_text(self.chat_id),
            "sequence": number,
            "timestamp": timestamp,
            "session_id": as_json(self.session_id),
            "tenant_id": as_json(self.tenant_id),
            **{name: _MEMBERS[name](value) for name, value in members.items()},
        }


def _answer(tool_message: Message | None) -> ToolResponse:
    """Return the history's text for a call without a final event, such as the reason why the call was not made."""
    if tool_message is not None:
        try:
            return ToolResponse.from_xml(tool_message["content"])
        except (DecodeError, TypeError, KeyError):
            pass
    return ToolResponse("", error=client_made_errors.unrecorded())


def _since(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 1)


_OUTCOMES: Final[dict[str | None, Literal["ok", "error", "cancelled"]]] = {None: "ok", "CANCELLED": "cancelled"}

_MEMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "message": message_to_json,
    "tool_call": ToolCallRecord.to_dict,
    "usage": object_as_json,
    "stop_reason": as_json,
    "error": error_to_json,
}
"""How each member of a record is written."""
