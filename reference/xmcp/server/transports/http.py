"""MCP over HTTP: the ASGI application of a server, with safe defaults. `http_server.py` runs it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Literal

import fastmcp
from fastmcp import FastMCP
from fastmcp.server.http import HostOriginProtection, StarletteWithLifespan
from mcp.server.streamable_http import EventStore

from xmcp.server.fastmcp_internals.dispatch import count_requests
from xmcp.server.fastmcp_internals.http_endpoints import guard_bodies
from xmcp.server.transports.challenge import challenge_every_method
from xmcp.server.transports.http_bodies import BodyGuard
from xmcp.server.transports.http_headers import HeaderGuard

HTTPTransport = Literal["http", "streamable-http", "sse"]

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Default of `max_body_bytes`: the maximum size of a request's body, in bytes."""


def http_app(
    server: FastMCP[Any],
    *,
    transport: HTTPTransport = "http",
    stateless_http: bool | None = None,
    event_store: EventStore | None = None,
    host_origin_protection: HostOriginProtection | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    **options: Any,
) -> StarletteWithLifespan:
    """Return the ASGI application of any FastMCP server with the defaults of `Serving`.

    Raises:
        ValueError: `max_body_bytes` is not positive, or FastMCP refuses an option.
    """
    if max_body_bytes <= 0:
        raise ValueError(f"max_body_bytes must be a positive number of bytes, not {max_body_bytes}.")
    app = FastMCP.http_app(
        server,
        transport=transport,
        stateless_http=is_stateless(stateless_http, transport, event_store),
        event_store=event_store,
        host_origin_protection=host_protection(host_origin_protection),
        **options,
    )
    guard_bodies(app, partial(BodyGuard, max_body_bytes=max_body_bytes))
    challenge_every_method(app)
    app.add_middleware(HeaderGuard)  # outermost: also before authentication
    if transport == "sse":  # whose calls are answered on the stream of their session, not in their own requests
        app.state.calls_in_sessions = count_requests(server)
    return app


def calls_in_sessions(app: StarletteWithLifespan) -> int:
    """Return how many calls of SSE sessions are under way; those of streamable HTTP are requests of their own."""
    count = getattr(app.state, "calls_in_sessions", None)
    return 0 if count is None else count.number


def is_stateless(asked: bool | None, transport: HTTPTransport, event_store: object = None) -> bool:
    """Tell whether HTTP keeps no sessions; SSE needs them, and so does the replay from an event store."""
    return asked if asked is not None else transport != "sse" and event_store is None


def host_protection(asked: HostOriginProtection | None) -> HostOriginProtection:
    """Return how Host and Origin are checked; FastMCP's setting can make the check stricter, not switch it off."""
    return asked if asked is not None else fastmcp.settings.http_host_origin_protection or "auto"
