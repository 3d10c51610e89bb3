"""One observer for what operators see of a chat: it writes the log lines and the spans of each event together.

`log` and `spans` say how either is written; metrics will be a third.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from xmcp.chat.errors import QuotaExceeded
from xmcp.client.hooks.spans import end_tool_span, tool_span

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from opentelemetry.trace import Span

    from xmcp.client.hooks.log import EventLog
    from xmcp.client.hooks.middleware import ToolState


class ChatTelemetry:
    """Observes one chat. `log` has the fields of the chat; `span` is the chat's own, `None` outside of a chat."""

    __slots__ = ("log", "span")

    def __init__(self, log: EventLog, span: Span | None = None) -> None:
        self.log = log
        self.span = span

    def tool_call(self, state: ToolState) -> ToolCallObserver:
        """Observe one tool call, retries included, for as long as the `with` block takes."""
        return ToolCallObserver(self, state)


class ToolCallObserver:
    """The span of a tool call, which is the current one in the block, and its log line when the block ends.

    A block that an exception leaves has no log line. Set `code` to the code of the call's error.
    """

    __slots__ = ("_begun", "_chat", "_open", "_span", "_state", "code", "duration_ms")

    def __init__(self, chat: ChatTelemetry, state: ToolState) -> None:
        self._chat = chat
        self._state = state
        self._begun = 0.0
        self._open: AbstractContextManager[Span] | None = None
        self._span: Span | None = None
        self.code: str | None = None
        self.duration_ms = 0.0
        """Set when the block ends."""

    def __enter__(self) -> Self:
        """Begin the span."""
        state = self._state
        self._begun = time.perf_counter()
        self._open = tool_span(self._chat.span, state.tool_name, state.call_id, state.server)
        if self._open is not None:
            self._span = self._open.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the span, then write the log line."""
        state = self._state
        if self._open is not None and self._span is not None:
            code = self.code if exc is None else "QUOTA_EXCEEDED" if isinstance(exc, QuotaExceeded) else "CANCELLED"
            end_tool_span(self._span, code, state.attempts, cached=state.cached)
            self._open.__exit__(kind, exc, traceback)
        self.duration_ms = round((time.perf_counter() - self._begun) * 1000, 1)
        if exc is None:
            fields: dict[str, Any] = {"turn": state.turn, "tool_name": state.tool_name}
            fields |= {"duration_ms": self.duration_ms, "outcome": self.code or "ok"}
            self._chat.log.info("tool_call", **fields, attempts=state.attempts, cached=state.cached)
