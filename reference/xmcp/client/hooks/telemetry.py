"""One observer for what operators see of a chat: it writes the log lines, spans and metrics of its events.

`log`, `spans` and `meters` say how each is written. No prompt, argument or result is in them; log lines have the
metadata of the chat.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from xmcp.chat.errors import QuotaExceeded
from xmcp.client.hooks.meters import meters
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

    __slots__ = ("_begun", "_models", "_stop_reason", "_tools", "log", "span")

    def __init__(self, log: EventLog, span: Span | None = None) -> None:
        self.log = log
        self.span = span
        self._stop_reason: StopReason | None = None
        self._begun = time.perf_counter()
        self._models = self._tools = 0

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
            meters.chat(time.perf_counter() - self._begun, models=self._models, tools=self._tools, error=failure)

    def model_call(self, state: LLMState) -> ModelCallObserver:
        """Return the observer of one attempt to ask a model, which begins now."""
        self._models += 1
        return ModelCallObserver(self, state)

    def model_failed(self, turn: int, error: ProviderError) -> None:
        """Observe that a request to a model failed; another attempt may follow."""
        facts = {"provider": error.provider, "model": error.model, "status": error.status, "message": error.message}
        self.log.warning("llm_failed", turn=turn, category=error.category.value, **facts)

    def tool_call(self, state: ToolState) -> ToolCallObserver:
        """Return the observer of one tool call, retries included, to be entered."""
        self._tools += 1
        return ToolCallObserver(self, state)


class ModelCallObserver:
    """One attempt to ask a model: its span and metrics, and its log line if the model answered.

    Call `answered` or `failed` at its end.
    """

    __slots__ = ("_begun", "_chat", "_first", "_of", "_span", "_turn")

    def __init__(self, chat: ChatTelemetry, state: LLMState) -> None:
        self._chat = chat
        self._turn = state.turn
        self._of = state.provider, state.model
        self._span = llm_span(chat.span, state.provider, state.model, state.turn)
        self._begun = time.perf_counter()
        self._first: float | None = None

    def arrived(self) -> None:
        """Observe that a piece of the answer has arrived."""
        if self._first is None:
            self._first = time.perf_counter() - self._begun

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
        meters.model_call(*self._of, time.perf_counter() - self._begun, first=self._first, usage=used)
        logged = {name: value for name, value in usage.items() if name in _LOGGED}
        self._chat.log.info("llm_call", turn=self._turn, finish_reason=completion.finish_reason, **logged)

    def failed(self, kind: str) -> None:
        """Observe that the call ended without an answer; `kind` says why."""
        finish(self._span, kind)
        meters.model_call(*self._of, time.perf_counter() - self._begun, first=self._first, error=kind)


_LOGGED: Final = frozenset({"provider", "model", "input_tokens", "output_tokens", "cached_tokens"})
"""The members of a usage record that the log line of a model call has."""


class ToolCallObserver:
    """A tool call: its span, which is the current one in the block; its metrics and log line when the block ends.

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
        state, code = self._state, self.code
        if exc is not None:
            code = "QUOTA_EXCEEDED" if isinstance(exc, QuotaExceeded) else "CANCELLED"
        if self._open is not None and self._span is not None:
            end_tool_span(self._span, code, state.attempts, cached=state.cached)
            self._open.__exit__(kind, exc, traceback)
        seconds = time.perf_counter() - self._begun
        meters.tool_call(state.tool_name, seconds, code)
        self.duration_ms = round(seconds * 1000, 1)
        if exc is None:
            fields: dict[str, Any] = {"turn": state.turn, "tool_name": state.tool_name}
            fields |= {"duration_ms": self.duration_ms, "outcome": self.code or "ok"}
            self._chat.log.info("tool_call", **fields, attempts=state.attempts, cached=state.cached)
