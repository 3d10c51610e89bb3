"""uvicorn as MCP needs it: one line when it accepts, calls that may finish, heads of requests that must arrive."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final

import uvicorn
from fastmcp.server.http import StarletteWithLifespan
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp, Receive, Scope, Send

from xmcp.http_connections import with_head_timeout
from xmcp.http_listening import CannotListen
from xmcp.http_listening import listen as bound
from xmcp.server.errors import ServeError
from xmcp.server.list_changes import LiveLists
from xmcp.server.transports.ending import AT_ONCE, CLEANUP, GRACE, Ending
from xmcp.server.transports.http import calls_in_sessions

_STREAMS_END: Final = 2.0  # seconds for open streams to end regularly before they are cut off
_ON_THE_WAY: Final = 0.05  # seconds for what was sent before the signal to arrive
_STEP: Final = 0.05  # seconds


def listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, so that a port in use is known before anything starts.

    Raises:
        ServeError: The address cannot be listened on.
    """
    try:
        return bound(host, port)
    except CannotListen as error:
        raise ServeError(str(error)) from None


def uvicorn_settings(app: Any, settings: Mapping[str, Any]) -> uvicorn.Config:
    """Return uvicorn's configuration for `app`: an ASGI application, or its factory with `factory=True`.

    `timeout_graceful_shutdown` is the grace of the calls in seconds (None: they have all the time they need).
    """
    # MCP has no websockets.
    defaults = {"lifespan": "on", "ws": "none", "log_level": "warning", "timeout_graceful_shutdown": GRACE}
    return uvicorn.Config(app, **{**defaults, **settings})


def run(server: ReadyServer, listener: socket.socket, name: str) -> None:
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
    """A uvicorn server that calls `ready` when it accepts connections, and lets calls finish before it ends.

    The first signal (Ctrl-C, SIGTERM) closes the port, ends subscriptions, and gives the calls that are under way the
    time that `timeout_graceful_shutdown` says. Streams that only wait for news end with the last call. A second signal
    ends the server at once.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = Ending()
        self._streams: _OpenStreams | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Run until interrupted; a thread that a tool blocks does not keep the process."""
        try:
            super().run(sockets)
        finally:
            self._ending.returned()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until interrupted; log messages about streams that were open then are dropped."""
        log = logging.getLogger("uvicorn.error")
        log.addFilter(self._is_worth_logging)
        drained = AppStatus.enable_automatic_graceful_drain
        # Else every event stream is cut off within half a second of the signal, and with it the answers to calls.
        AppStatus.enable_automatic_graceful_drain = False
        try:
            await super().serve(sockets)
        finally:
            AppStatus.enable_automatic_graceful_drain = drained
            log.removeFilter(self._is_worth_logging)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to end; at the second signal, end at once."""
        if self.should_exit:
            self.force_exit = True
            self._ending.within(AT_ONCE)
            return
        self.should_exit = True
        if (grace := self.config.timeout_graceful_shutdown) is not None:
            self._ending.within(grace + CLEANUP)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `ready`."""
        path = _application(self.config.loaded_app).state.path
        self.config.loaded_app = self._streams = _OpenStreams(self.config.loaded_app, path)
        self.config.http_protocol_class = with_head_timeout(self.config.http_protocol_class)
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, let calls finish, then end the streams that wait for news."""
        # Connections that were made before the signal are accepted, then what was sent on them is read.
        await asyncio.sleep(_ON_THE_WAY)
        for listening in self.servers:
            listening.close()
        await asyncio.sleep(_ON_THE_WAY)
        server = _application(self.config.loaded_app).state.fastmcp_server
        if isinstance(server, LiveLists):
            server.end_subscriptions()
        ending = asyncio.create_task(self._end_streams_after_calls())
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()

    async def _end_streams_after_calls(self) -> None:
        app = _application(self.config.loaded_app)
        # uvicorn has no event for the end of a request.
        while len(self.server_state.tasks) > self._open_streams or calls_in_sessions(app):  # noqa: ASYNC110
            await asyncio.sleep(_STEP)
        AppStatus.enable_automatic_graceful_drain = True  # ends them regularly, within half a second
        await asyncio.sleep(_STREAMS_END)
        for task in self.server_state.tasks:
            task.cancel()

    @property
    def _open_streams(self) -> int:
        return 0 if self._streams is None else self._streams.number

    def _is_worth_logging(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        text = f"{record.getMessage()} {error or ''}"
        is_about_streams = isinstance(error, asyncio.CancelledError) or any(
            words in text for words in _OPEN_STREAM_MESSAGES
        )
        return not (self.should_exit and is_about_streams)


_OPEN_STREAM_MESSAGES: Final = (
    "Cancel 0 running task(s)",  # a grace of 0 is over even if nobody needs it
    "ASGI callable returned without completing response",
    "Expected ASGI message 'http.response.body', but got 'http.response.start'",  # how FastMCP ends an SSE stream
)


class _OpenStreams:
    """An ASGI application that counts the streams on which clients wait for news: the GET requests of its endpoint."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self.app = app
        self.number = 0
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or the lifespan."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != self._path:
            await self.app(scope, receive, send)
            return
        self.number += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.number -= 1


def _application(app: Any) -> StarletteWithLifespan:
    while not isinstance(app, StarletteWithLifespan):
        app = app.app  # a wrapper of uvicorn's, or the one above
    return app
