"""How a server is run: the transports with safe defaults, and `serve()`.

Sockets, signals and the one line on stderr live here; nothing about tools or results.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from typing import Any, Literal

import fastmcp
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.http import HostOriginProtection, StarletteWithLifespan
from mcp.server.streamable_http import EventStore
from starlette.middleware import Middleware as ASGIMiddleware

from xmcp.server.errors import ServeError
from xmcp.server.interruptible_stdin import interruptible_stdin

HTTPTransport = Literal["http", "streamable-http", "sse"]


class Serving(FastMCP[Any]):
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
            ServeError: the address cannot be listened on, or the server's lifespan failed.
            TypeError: an unknown option.
        """
        try:
            if transport == "stdio":
                with interruptible_stdin():
                    self.run("stdio", show_banner=False, **{"log_level": "WARNING", **options})
            else:
                uvicorn_config = options.pop("uvicorn_config", {})
                with _listen(host, port) as listener:
                    app = self.http_app(transport=transport, **options)
                    _run(app, listener, host, self.name, uvicorn_config)
        except KeyboardInterrupt:
            return

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
    ) -> StarletteWithLifespan:
        """Return the ASGI application, as FastMCP does, with the defaults of this class."""
        return super().http_app(
            path=path,
            middleware=middleware,
            json_response=json_response,
            stateless_http=_stateless(stateless_http, transport, event_store),
            transport=transport,
            event_store=event_store,
            retry_interval=retry_interval,
            host_origin_protection=_protection(host_origin_protection),
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            session_idle_timeout=session_idle_timeout,
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


def _stateless(asked: bool | None, transport: HTTPTransport, event_store: object = None) -> bool:
    """Say whether HTTP keeps no sessions; SSE needs them, and so does the replay from an event store."""
    return asked if asked is not None else transport != "sse" and event_store is None


def _protection(asked: HostOriginProtection | None) -> HostOriginProtection:
    """Return how Host and Origin are checked; FastMCP's setting may make it stricter, not switch it off."""
    return asked if asked is not None else fastmcp.settings.http_host_origin_protection or "auto"


def _listen(host: str, port: int) -> socket.socket:
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


def _run(
    app: StarletteWithLifespan, listener: socket.socket, host: str, name: str, uvicorn_config: dict[str, Any]
) -> None:
    authority = f"[{host}]" if ":" in host else host
    url = f"http://{authority}:{listener.getsockname()[1]}{app.state.path}"
    # No websockets in MCP; and an open event stream must not hold up Ctrl-C for longer than this.
    defaults = {"lifespan": "on", "ws": "none", "log_level": "warning", "timeout_graceful_shutdown": 2}
    server = _Server(uvicorn.Config(app, **{**defaults, **uvicorn_config}), f"{name} is served on {url}")
    try:
        server.run(sockets=[listener])
    except SystemExit:  # uvicorn's way to say that the application did not start
        raise ServeError(f"{name} could not start: its lifespan failed. The log above says why.") from None


class _Server(uvicorn.Server):
    """A uvicorn server that says one line when it accepts connections."""

    def __init__(self, config: uvicorn.Config, line: str) -> None:
        super().__init__(config)
        self._line = line

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so on stderr."""
        await super().startup(sockets)
        if self.started:
            print(self._line, file=sys.stderr, flush=True)  # noqa: T201 - the line `serve` promises
