"""MCP over HTTP: the ASGI application with safe defaults, and uvicorn, which serves it."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import fastmcp
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.http import HostOriginProtection, StarletteWithLifespan
from mcp.server.streamable_http import EventStore

from xmcp.server._fastmcp_hooks import limit_request_bodies
from xmcp.server.errors import ServeError
from xmcp.server.list_changes import LiveLists
from xmcp.server.transports.challenge import challenge_every_method

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
    limit_request_bodies(app, max_body_bytes)
    challenge_every_method(app)
    return app


def is_stateless(asked: bool | None, transport: HTTPTransport, event_store: object = None) -> bool:
    """Tell whether HTTP keeps no sessions; SSE needs them, and so does the replay from an event store."""
    return asked if asked is not None else transport != "sse" and event_store is None


def host_protection(asked: HostOriginProtection | None) -> HostOriginProtection:
    """Return how Host and Origin are checked; FastMCP's setting can make the check stricter, not switch it off."""
    return asked if asked is not None else fastmcp.settings.http_host_origin_protection or "auto"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, so that a port in use is known before anything starts.

    Raises:
        ServeError: The address cannot be listened on.
    """
    if not 0 <= port <= 65535:  # getaddrinfo would take it modulo 65536
        raise ServeError(f"Cannot listen on {host}:{port}: a port must be from 0 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With the protocol: asyncio sets TCP_NODELAY only on sockets that say they are TCP; without it a request takes
        # 40 ms longer.
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ServeError(f"Cannot listen on {host}:{port}: {error}.") from None
    try:
        if os.name == "posix":  # on other systems the option would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ServeError(_refusal(host, port, error)) from None
    return listener


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use. Stop the program that uses it, or choose another port."
    if error.errno == errno.EACCES:
        return f"Port {port} on {host} is not allowed for this user. Choose a port above 1023."
    return f"Cannot listen on {host}:{port}: {error}."


def served_on(name: str, host: str, listener: socket.socket, path: str) -> str:
    """Return the line with the URL of the server called `name`."""
    authority = f"[{host}]" if ":" in host else host
    return f"{name} is served on http://{authority}:{listener.getsockname()[1]}{path}"


def uvicorn_settings(app: Any, settings: Mapping[str, Any]) -> uvicorn.Config:
    """Return uvicorn's configuration for `app`: an ASGI application, or its factory with `factory=True`."""
    # MCP has no websockets. An open event stream delays Ctrl-C by at most `timeout_graceful_shutdown` seconds.
    defaults = {"lifespan": "on", "ws": "none", "log_level": "warning", "timeout_graceful_shutdown": 2}
    return uvicorn.Config(app, **{**defaults, **settings})


def run(server: uvicorn.Server, listener: socket.socket, name: str) -> None:
    """Run `server` until interrupted.

    Raises:
        ServeError: The server could not start.
    """
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        return
    except SystemExit:  # raised by uvicorn when the application did not start
        raise ServeError(f"{name} could not start: its lifespan failed. The log above says why.") from None


class ReadyServer(uvicorn.Server):
    """A uvicorn server that calls `ready` when it accepts connections, and ends open streams before it stops."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until interrupted; log messages about streams that were open then are dropped."""
        log = logging.getLogger("uvicorn.error")
        log.addFilter(self._is_worth_logging)
        try:
            await super().serve(sockets)
        finally:
            log.removeFilter(self._is_worth_logging)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `ready`."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop. Open `subscriptions/listen` streams are ended first: uvicorn would wait for them, then cut them off."""
        app = self.config.loaded_app
        while not isinstance(app, StarletteWithLifespan):
            app = app.app  # a wrapper of uvicorn's
        if isinstance(app.state.fastmcp_server, LiveLists):
            app.state.fastmcp_server.end_subscriptions()
        await super().shutdown(sockets)

    def _is_worth_logging(self, record: logging.LogRecord) -> bool:
        text = f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}"
        return not (self.should_exit and any(words in text for words in _OPEN_STREAM_MESSAGES))


_OPEN_STREAM_MESSAGES: Final = (
    "ASGI callable returned without completing response",
    "Expected ASGI message 'http.response.body', but got 'http.response.start'",  # how FastMCP ends an SSE stream
    "timeout graceful shutdown exceeded",
)
