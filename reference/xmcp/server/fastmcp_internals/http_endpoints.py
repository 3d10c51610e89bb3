"""The endpoint of FastMCP's HTTP application, where request bodies and sessions are guarded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastmcp.server.auth.middleware import RequireAuthMiddleware
from fastmcp.server.http import StarletteWithLifespan, StreamableHTTPASGIApp
from mcp.server.sse import SseServerTransport
from starlette.types import ASGIApp

from xmcp.server.fastmcp_internals.http_sessions import guard_sessions


def guard_bodies(app: StarletteWithLifespan, guard: Callable[[ASGIApp], ASGIApp]) -> None:
    """Have the endpoint of `app` get its requests from `guard` of it, in the place of the SDK's limit of 4 MiB.

    FastMCP has no option for that limit.

    Raises:
        RuntimeError: `app` is not built as by the FastMCP version that this code knows.
    """
    endpoints = [_unguarded(getattr(route, "endpoint", None) or getattr(route, "app", None)) for route in app.routes]
    for endpoint in endpoints:
        transport = getattr(endpoint, "__self__", None)
        if isinstance(transport, SseServerTransport):
            transport._post_message_app = guard(transport._handle_post_message)  # type: ignore[assignment]
            return
        if isinstance(endpoint, StreamableHTTPASGIApp):
            _guard_when_it_starts(app, endpoint, guard)
            return
    raise RuntimeError("FastMCP's application has no endpoint whose request bodies could be limited.")


def _guard_when_it_starts(
    app: StarletteWithLifespan, endpoint: StreamableHTTPASGIApp, guard: Callable[[ASGIApp], ASGIApp]
) -> None:
    inner = app.router.lifespan_context  # which creates a session manager each time it is entered

    @asynccontextmanager
    async def lifespan(scope_app: Any) -> AsyncIterator[Any]:
        async with inner(scope_app) as state:
            manager = endpoint.session_manager
            if manager is None:
                raise RuntimeError("FastMCP's application has no session manager while it runs.")
            manager.asgi_app = guard(manager._handle_request)  # type: ignore[assignment]
            guard_sessions(manager)
            yield state

    app.router.lifespan_context = lifespan


def _unguarded(endpoint: Any) -> Any:
    return endpoint.app if isinstance(endpoint, RequireAuthMiddleware) else endpoint
