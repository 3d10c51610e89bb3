"""How a server is run: the transports with safe defaults, and `serve()`.

Sockets, signals and the one line on stderr live here; what keeps a server from starting is said before there are any.
Nothing about results.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal

import fastmcp
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.http import HostOriginProtection, StarletteWithLifespan
from mcp.server.streamable_http import EventStore
from starlette.middleware import Middleware as ASGIMiddleware

from xmcp.server._fastmcp_hooks import limit_request_bodies
from xmcp.server.errors import ServeError
from xmcp.server.list_changes import LiveLists
from xmcp.server.transports.stdio import interruptible_stdin

HTTPTransport = Literal["http", "streamable-http", "sse"]

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a request's body that are taken unless `max_body_bytes` says otherwise."""


class Serving(LiveLists):
    """FastMCP's transports, with the defaults a server on a network needs.

    Host and Origin headers are checked (`host_origin_protection="auto"`) and HTTP is stateless,
    which is what several workers behind one address need (toolchain.md 1.7). Both can be set.
    """

    def serve(
        self,
        transport: Literal["stdio"] | HTTPTransport = "http",
        host: str = "127.0.0.1",
        port: int = 3333,
        **options: Any,
    ) -> None:
        """Run until interrupted: over HTTP on `host` and `port`, or over stdio, where those mean nothing.

        `options` are those of `http_app` and `uvicorn_config`, a mapping of uvicorn's own; for stdio
        those of `run_stdio_async`. Prints one line with the URL to stderr once it accepts connections
        (port 0 takes a free port); stdout is left alone. Ctrl-C ends it quietly.

        Raises:
            ServeError: its tools contradict each other, the address cannot be listened on, or the server's
                lifespan failed.
            TypeError: an unknown option.
        """
        refuse_contradictions(self)
        if transport == "stdio":
            serve_stdio(self, **options)
            return
        uvicorn_config = options.pop("uvicorn_config", {})
        with listen(host, port) as listener:
            app = self.http_app(transport=transport, **options)
            line = served_on(self.name, host, listener, app.state.path)
            ready = partial(print, line, file=sys.stderr, flush=True)
            run(ReadyServer(uvicorn_settings(app, uvicorn_config), ready), listener, self.name)

    def check_tools(self) -> None:
        """Hold what is said of the tools against each other; there is nothing to be held here."""

    def http_app(
        self,
        path: str | None = None,
        middleware: list[ASGIMiddleware] | None = None,
        json_response: bool | None = None,
        stateless_http: bool | None = None,
        transport: HTTPTransport = "http",
        event_store: EventStore | None = None,
        retry_interval: int | None = None,
        host_origin_protection: HostOriginProtection | None = None,
        allowed_hosts: list[str] | None = None,
        allowed_origins: list[str] | None = None,
        session_idle_timeout: float | Literal["auto"] | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> StarletteWithLifespan:
        """Return the ASGI application, as FastMCP does, with the defaults of this class.

        A request whose body has more than `max_body_bytes` bytes is refused with status 413.

        Raises:
            ValueError: `max_body_bytes` is not positive, or what FastMCP refuses.
        """
        return http_app(
            self,
            path=path,
            middleware=middleware,
            json_response=json_response,
            stateless_http=stateless_http,
            transport=transport,
            event_store=event_store,
            retry_interval=retry_interval,
            host_origin_protection=host_origin_protection,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            session_idle_timeout=session_idle_timeout,
            max_body_bytes=max_body_bytes,
        )

    async def run_http_async(
        self,
        show_banner: bool = True,
        transport: HTTPTransport = "http",
        host: str | None = None,
        port: int | None = None,
        log_level: str | None = None,
        path: str | None = None,
        uvicorn_config: dict[str, Any] | None = None,
        middleware: list[ASGIMiddleware] | None = None,
        json_response: bool | None = None,
        stateless_http: bool | None = None,
        stateless: bool | None = None,
        host_origin_protection: HostOriginProtection | None = None,
        allowed_hosts: list[str] | None = None,
        allowed_origins: list[str] | None = None,
        sockets: list[socket.socket] | None = None,
    ) -> None:
        """Run over HTTP, as FastMCP does, with the defaults of this class."""
        await super().run_http_async(
            show_banner=show_banner,
            transport=transport,
            host=host,
            port=port,
            log_level=log_level,
            path=path,
            uvicorn_config=uvicorn_config,
            middleware=middleware,
            json_response=json_response,
            stateless_http=_stateless(stateless if stateless_http is None else stateless_http, transport),
            host_origin_protection=_protection(host_origin_protection),
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            sockets=sockets,
        )


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
    """Return the ASGI application of any FastMCP server with the defaults of `Serving`."""
    if max_body_bytes <= 0:
        raise ValueError(f"max_body_bytes is a positive number of bytes, not {max_body_bytes}")
    app = FastMCP.http_app(
        server,
        transport=transport,
        stateless_http=_stateless(stateless_http, transport, event_store),
        event_store=event_store,
        host_origin_protection=_protection(host_origin_protection),
        **options,
    )
    limit_request_bodies(app, max_body_bytes)
    return app


def refuse_contradictions(server: FastMCP[Any]) -> None:
    """Say in a sentence what keeps a server from starting, before anything starts.

    Raises:
        ServeError: its `check_tools` failed.
    """
    if isinstance(server, Serving):
        try:
            server.check_tools()
        except (ValueError, LookupError) as error:
            raise ServeError(f"{server.name} cannot start. {error}") from None


def serve_stdio(server: FastMCP[Any], **options: Any) -> None:
    """Run any FastMCP server over stdio until its client hangs up or Ctrl-C."""
    with suppress(KeyboardInterrupt), interruptible_stdin():
        server.run("stdio", show_banner=False, **{"log_level": "WARNING", **options})


def _stateless(asked: bool | None, transport: HTTPTransport, event_store: object = None) -> bool:
    """Say whether HTTP keeps no sessions; SSE needs them, and so does the replay from an event store."""
    return asked if asked is not None else transport != "sse" and event_store is None


def _protection(asked: HostOriginProtection | None) -> HostOriginProtection:
    """Return how Host and Origin are checked; FastMCP's setting may make it stricter, not switch it off."""
    return asked if asked is not None else fastmcp.settings.http_host_origin_protection or "auto"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, so that a port in use is known before anything starts."""
    if not 0 <= port <= 65535:  # the resolver would take it modulo 65536
        raise ServeError(f"Cannot listen on {host}:{port}: a port is from 0 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With the protocol named: asyncio sends at once only on sockets that say they are TCP (40 ms a request).
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ServeError(f"Cannot listen on {host}:{port}: {error}.") from None
    try:
        if os.name == "posix":  # elsewhere the option would let two servers share the port
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
    """Return the line that says where the server called `name` is to be found."""
    authority = f"[{host}]" if ":" in host else host
    return f"{name} is served on http://{authority}:{listener.getsockname()[1]}{path}"


def uvicorn_settings(app: Any, settings: Mapping[str, Any]) -> uvicorn.Config:
    """Return uvicorn's configuration for `app`, an ASGI application or (`factory=True`) what makes one."""
    # No websockets in MCP; and an open event stream must not hold up Ctrl-C for longer than this.
    defaults = {"lifespan": "on", "ws": "none", "log_level": "warning", "timeout_graceful_shutdown": 2}
    return uvicorn.Config(app, **{**defaults, **settings})


def run(server: uvicorn.Server, listener: socket.socket, name: str) -> None:
    """Run `server` until interrupted.

    Raises:
        ServeError: it could not start.
    """
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        return
    except SystemExit:  # uvicorn's way to say that the application did not start
        raise ServeError(f"{name} could not start: its lifespan failed. The log above says why.") from None


class ReadyServer(uvicorn.Server):
    """A uvicorn server that says when it accepts connections, and leaves those who listen in good order."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until interrupted; what is said then of streams that were open is not worth a word."""
        log = logging.getLogger("uvicorn.error")
        log.addFilter(self._is_news)
        try:
            await super().serve(sockets)
        finally:
            log.removeFilter(self._is_news)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop. Open `subscriptions/listen` streams are ended first: they would be waited for, and then cut off."""
        app = self.config.loaded_app
        while not isinstance(app, StarletteWithLifespan):
            app = app.app  # what uvicorn put around it
        if isinstance(app.state.fastmcp_server, LiveLists):
            app.state.fastmcp_server.end_subscriptions()
        await super().shutdown(sockets)

    def _is_news(self, record: logging.LogRecord) -> bool:
        said = f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}"
        return not (self.should_exit and any(words in said for words in _OF_OPEN_STREAMS))


_OF_OPEN_STREAMS: Final = (
    "ASGI callable returned without completing response",
    "Expected ASGI message 'http.response.body', but got 'http.response.start'",  # how FastMCP ends an SSE stream
    "timeout graceful shutdown exceeded",
)
