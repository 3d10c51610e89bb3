"""How a server is run: `Serving`, the base class with `serve()`, and the checks before it starts."""

from __future__ import annotations

import socket
import sys
from functools import partial
from typing import Any, Literal

from fastmcp import FastMCP
from fastmcp.server.http import HostOriginProtection, StarletteWithLifespan
from mcp.server.lowlevel.server import LifespanResultT
from mcp.server.streamable_http import EventStore
from starlette.middleware import Middleware as ASGIMiddleware

from xmcp.http_listening import served_on
from xmcp.server.errors import ServeError
from xmcp.server.list_changes import LiveLists
from xmcp.server.transports.ending import GRACE
from xmcp.server.transports.http import MAX_BODY_BYTES, HTTPTransport, host_protection, http_app, is_stateless
from xmcp.server.transports.http_server import ReadyServer, listen, run, uvicorn_settings
from xmcp.server.transports.stdio import answering_after_the_end, serve_stdio


class Serving(LiveLists[LifespanResultT]):
    """FastMCP's transports, with the defaults that a server on a network needs.

    Host and Origin headers are checked (`host_origin_protection="auto"`), and HTTP is stateless, because several
    workers behind one address share no sessions. Both can be changed.
    """

    def serve(
        self,
        transport: Literal["stdio"] | HTTPTransport = "http",
        host: str = "127.0.0.1",
        port: int = 3333,
        *,
        grace: float = GRACE,
        **options: Any,
    ) -> None:
        """Run until interrupted: over HTTP on `host` and `port`, or over stdio, which ignores both.

        `options` are those of `http_app`, and `uvicorn_config`, a mapping of uvicorn's settings; for stdio
        `log_level`. Prints one line with the URL to stderr once it accepts connections (port 0 takes a free port);
        nothing is written to stdout. Ctrl-C and SIGTERM end it without a traceback, as does the end of the input of
        stdio; calls that are under way then may take `grace` more seconds. A second signal ends it at once.

        Raises:
            ServeError: `check_tools` failed, the address cannot be listened on, or the server's lifespan failed.
            TypeError: An option is unknown.
        """
        refuse_contradictions(self)
        if transport == "stdio":
            serve_stdio(self, grace=grace, **options)
            return
        uvicorn_config = {"timeout_graceful_shutdown": grace, **options.pop("uvicorn_config", {})}
        with listen(host, port) as listener:
            app = self.http_app(transport=transport, **options)
            line = served_on(self.name, host, listener, app.state.path)
            ready = partial(print, line, file=sys.stderr, flush=True)
            run(ReadyServer(uvicorn_settings(app, uvicorn_config), ready), listener, self.name)

    def check_tools(self) -> None:
        """Check that the tools do not contradict each other. Nothing to check here; `XMCP` overrides this."""

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

    async def run_stdio_async(
        self,
        show_banner: bool = True,
        log_level: str | None = None,
        stateless: bool = False,
    ) -> None:
        """Run over stdio, as FastMCP does; at the end of the input, calls that are under way may finish."""
        with answering_after_the_end(self, GRACE):
            await super().run_stdio_async(show_banner=show_banner, log_level=log_level, stateless=stateless)

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
            stateless_http=is_stateless(stateless if stateless_http is None else stateless_http, transport),
            host_origin_protection=host_protection(host_origin_protection),
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            sockets=sockets,
        )


def refuse_contradictions(server: FastMCP[Any]) -> None:
    """Check the tools of a server before it starts.

    Raises:
        ServeError: `check_tools` failed; the message says why in one sentence.
    """
    if isinstance(server, Serving):
        try:
            server.check_tools()
        except (ValueError, LookupError) as error:
            raise ServeError(f"{server.name} cannot start. {error}") from None
