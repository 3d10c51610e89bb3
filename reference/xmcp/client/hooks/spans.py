"""OpenTelemetry spans of a chat, its model calls and its tool calls, by the GenAI semantic conventions.

Without an SDK in the process they cost next to nothing. No prompt, argument or result is ever an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

_tracer = trace.get_tracer("xmcp.client")


def tool_span(parent: Span | None, tool: str, call_id: str, server: str | None) -> AbstractContextManager[Span] | None:
    """Return the span of one tool call, retries included, to be entered; `None` if the chat is not traced.

    It is the current span in its block, so that the spans of MCP's SDK become its children.
    """
    if _untraced(parent):
        return None
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": call_id}
    return _tracer.start_as_current_span(
        f"execute_tool {tool}",
        context=_under(parent),
        kind=SpanKind.INTERNAL,
        attributes={**attributes, "xmcp.server.name": server or ""},
        record_exception=False,
        set_status_on_exception=False,
    )


def end_tool_span(span: Span, code: str | None, attempts: int, *, cached: bool) -> None:
    """Set the outcome of the call before its block ends; `code` is the code of its error."""
    if not span.is_recording():
        return
    span.set_attributes({"xmcp.call.attempts": attempts, "xmcp.call.cached": cached})
    if code is not None:
        span.set_attribute("error.type", code)
        span.set_status(Status(StatusCode.ERROR))


def chat_span(tenant_id: str | None, session_id: str | None) -> Span:
    """Begin the span of a chat; the caller ends it. It is never the current one: application code runs between."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "xmcp.tenant_id": tenant_id, "xmcp.session_id": session_id}
    attributes["gen_ai.conversation.id"] = session_id
    return _tracer.start_span("invoke_agent", attributes=_given(attributes))


def llm_span(parent: Span | None, provider: str, model: str | None, turn: int) -> Span:
    """Begin the span of one attempt to ask a model; the caller ends it."""
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
    """End a span with those attributes that are not `None`; `error` is the kind of failure."""
    if span.is_recording():
        span.set_attributes(_given(attributes))
        if error is not None:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR))
    span.end()


def _untraced(parent: Span | None) -> bool:
    """Return whether this chat is not traced: there is neither an SDK nor a span of the application."""
    return parent is not None and not parent.get_span_context().is_valid


def _under(parent: Span | None) -> Any:
    return None if parent is None else trace.set_span_in_context(parent)


def _given(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
