"""Around the routes: the span of a request, a child of the caller's own if it sent `traceparent`.

A run is begun in it, so that the spans of the chat are its children. Without an SDK in the process nothing is recorded,
and the caller's trace still goes on to the tool servers. `traceparent` is all that is taken of a caller: no baggage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmcp.gateway.workers.connections import is_from_peer

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_NAMES: Final = ("traceparent", "tracestate")
_tracer = trace.get_tracer("xmcp.gateway")


class Traced:
    """An ASGI application that traces the requests of another one which change something, as chats do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan."""
        # Where an application around this one traces requests, its span is the parent of the chat's.
        if scope["type"] != "http" or scope["method"] != "POST" or trace.get_current_span().get_span_context().is_valid:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = {name: headers[name] for name in _NAMES if name in headers}
        parent = _PROPAGATOR.extract(given, Context())
        if is_from_peer(scope):  # the process that handed it on has a span of it already
            with _current(parent):
                await self._app(scope, receive, send)
            return
        with _tracer.start_as_current_span(
            "POST",
            context=parent,
            kind=SpanKind.SERVER,
            attributes={
                "http.request.method": "POST",
                "url.scheme": scope["scheme"],
                "url.path": scope["path"][:1_000],
            },
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            status = 500

            async def noting(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await self._app(scope, receive, noting)
            finally:
                _end(span, scope, status)


def carried(headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers of a request as they are handed on to another process: with the current span, if there is one,
    as the parent of what begins there."""
    told: dict[str, str] = {}
    _PROPAGATOR.inject(told)
    return [*((name, value) for name, value in headers if not told or name not in _NAMES), *told.items()]


@contextmanager
def _current(context: Context) -> Iterator[None]:
    token = contexts.attach(context)
    try:
        yield
    finally:
        contexts.detach(token)


def _end(span: Span, scope: Scope, status: int) -> None:
    if not span.is_recording():
        return
    if (route := scope.get("route")) is not None:
        span.update_name(f"POST {route.path}")
        span.set_attribute("http.route", route.path)
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_attribute("error.type", str(status))
        span.set_status(Status(StatusCode.ERROR))
