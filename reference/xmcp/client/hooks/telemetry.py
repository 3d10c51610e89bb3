"""One observer for what operators see of a chat: it writes the log lines and the spans of its events.

`log` and `spans` say how either is written; metrics will be a third. No prompt, argument or result is in them; log
lines have the metadata of the chat.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from xmcp.chat.errors import QuotaExceeded
from xmcp.client.hooks.spans import chat_span, end_tool_span, finish, llm_span, tool_span

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from opentelemetry.trace import Span

    from xmcp.chat.completions import Completion
    from xmcp.chat.errors import ProviderError
    from xmcp.chat.events import StopReason
    from xmcp.chat.usage import UsageRecord
    from xmcp.client.hooks.log import EventLog
    from xmcp.client.hooks.middleware import ChatContext, LLMState, ToolState


class ChatTelemetry:
    """Observes one chat. `log` adds the fields of the chat; `span` is the chat's own, `None` if it has none."""

    __slots__ = ("_stop_reason", "log", "span")

    def __init__(self, log: EventLog, span: Span | None = None) -> None:
        self.log = log
        self.span = span
        self._stop_reason: StopReason | None = None

    @classmethod
    def begin(cls, log: EventLog, chat: ChatContext) -> Self:
        """Return the observer of a chat that begins now; `ended` must be called."""
        ids = {"tenant_id": chat.tenant_id, "session_id": chat.session_id, "chat_id": chat.chat_id}
        bound = log.bind(**ids, metadata=chat.metadata or None)
        return cls(bound, chat_span(chat.tenant_id, chat.session_id))

    def answered(self, turn: int, stop_reason: StopReason, *, displays: int) -> None:
        """Observe that the chat has its result; `displays`: how many it showed."""
        self._stop_reason = stop_reason
        self.log.info("chat_done", turn=turn, stop_reason=stop_reason, displays=displays)

    def ended(self, failed: str) -> None:
        """Observe that the chat is over; `failed`: why, if it has no result."""
        if self.span is not None:
            failure = None if self._stop_reason else failed
            finish(self.span, failure, **{"xmcp.stop_reason": self._stop_reason})

    def model_call(self, state: LLMState) -> ModelCallObserver:
        """Return the observer of one attempt to ask a model, which begins now."""
        return ModelCallObserver(self, state)

    def model_failed(self, turn: int, error: ProviderError) -> None:
        """Observe that a request to a model failed; another attempt may follow."""
        facts = {"provider": error.provider, "model": error.model, "status": error.status, "message": error.message}
        self.log.warning("llm_failed", turn=turn, category=error.category.value, **facts)

    def tool_call(self, state: ToolState) -> ToolCallObserver:
        """Return the observer of one tool call, retries included, to be entered."""
        return ToolCallObserver(self, state)


class ModelCallObserver:
    """The span of one attempt to ask a model, and its log line if the model answered. Call one of its methods."""

    __slots__ = ("_chat", "_span", "_turn")

    def __init__(self, chat: ChatTelemetry, state: LLMState) -> None:
        self._chat = chat
        self._turn = state.turn
        self._span = llm_span(chat.span, state.provider, state.model, state.turn)

    def answered(self, completion: Completion, usage: UsageRecord) -> None:
        """Observe that the model answered, and what the call used."""
        used = completion.usage
        counts: dict[str, Any] = {
            "gen_ai.usage.input_tokens": used.input_tokens,
            "gen_ai.usage.output_tokens": used.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": used.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": used.reasoning_tokens,
            "gen_ai.response.model": completion.model,
            "gen_ai.response.finish_reasons": (completion.finish_reason,),
        }
        finish(self._span, **counts)
        logged = {name: value for name, value in usage.items() if name in _LOGGED}
        self._chat.log.info("llm_call", turn=self._turn, finish_reason=completion.finish_reason, **logged)

    def failed(self, kind: str) -> None:
        """Observe that the call ended without an answer; `kind` says why."""
        finish(self._span, kind)


_LOGGED: Final = frozenset({"provider", "model", "input_tokens", "output_tokens", "cached_tokens"})
"""The members of a usage record that the log line of a model call has."""


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
