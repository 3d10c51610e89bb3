"""OpenTelemetry spans of a chat, its model calls and its tool calls, by the GenAI semantic conventions.

Without an SDK in the process they cost next to nothing. No prompt, argument or result is ever an attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

_tracer = trace.get_tracer("xmcp.client")


class ToolSpan:
    """The span of one tool call, retries included; the current one while the call runs, so that MCP's lie under it."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def ended(self, code: str | None, attempts: int, *, cached: bool) -> None:
        """How it went; `code` is that of its error."""
        if not self._span.is_recording():
            return
        self._span.set_attributes({"xmcp.call.attempts": attempts, "xmcp.call.cached": cached})
        if code is not None:
            self._span.set_attribute("error.type", code)
            self._span.set_status(Status(StatusCode.ERROR))


@contextmanager
def tool_span(parent: Span | None, tool: str, call_id: str, server: str | None) -> Iterator[ToolSpan]:
    """The span of a tool call, in a task of its own."""
    if _untraced(parent):
        yield ToolSpan(trace.INVALID_SPAN)
        return
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": call_id}
    with _tracer.start_as_current_span(
        f"execute_tool {tool}",
        context=_under(parent),
        kind=SpanKind.INTERNAL,
        attributes={**attributes, "xmcp.server.name": server or ""},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield ToolSpan(span)


def chat_span(tenant_id: str | None, session_id: str | None) -> Span:
    """The span of a chat, for the caller to end. It is never made the current one: the caller's code runs between."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "xmcp.tenant_id": tenant_id, "xmcp.session_id": session_id}
    return _tracer.start_span("xmcp chat", attributes=_given(attributes))


def llm_span(parent: Span | None, provider: str, model: str | None, turn: int) -> Span:
    """The span of one attempt to ask a model, for the caller to end."""
    if _untraced(parent):
        return trace.INVALID_SPAN
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "xmcp.turn": turn,
    }
    name = f"chat {model}" if model else "chat"
    return _tracer.start_span(name, context=_under(parent), kind=SpanKind.CLIENT, attributes=_given(attributes))


def finish(span: Span, error: str | None = None, **attributes: Any) -> None:
    """End a span with what is known; `error` is the kind of failure."""
    if span.is_recording():
        span.set_attributes(_given(attributes))
        if error is not None:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR))
    span.end()


def _untraced(parent: Span | None) -> bool:
    """Whether nobody traces this chat: there is no SDK, and no span of the application's either."""
    return parent is not None and not parent.get_span_context().is_valid


def _under(parent: Span | None) -> Any:
    return None if parent is None else trace.set_span_in_context(parent)


def _given(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
