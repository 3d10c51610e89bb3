"""The one host of the tests: serves an ASGI application, or raw connections, on a port of the loopback.

It knows nothing of XMCP, so the tests of the conformance suite use it too.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeAlias

import uvicorn

Handler: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
"""Serves one raw connection; its task is cancelled when the host stops."""

START_SECONDS = 30.0
"""Maximum wait for an application to start; a host that hangs fails its own test, not the whole run."""


class HttpHost:
    """A port of the loopback that stays reserved from the construction to `close`, served or not.

    While nothing is served, connections are refused. No other process can take the port in the meantime, so a server
    can come, go and come back under the same URL, and a test can name an address where certainly nobody listens: as
    long as it has a name for the object, which gives the port back when it is collected.
    """

    def __init__(self, port: int = 0) -> None:
        # Bound and never listening: that keeps the port without accepting a connection.
        self._reservation = _bound(port)
        self.port: int = self._reservation.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._asgi: tuple[_Uvicorn, asyncio.Task[None]] | None = None
        self._raw: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, app: Any, *, drain: int = 0, **config: Any) -> None:
        """Serve an ASGI application; return once it answers.

        Args:
            app: The application; its lifespan runs in a task of its own.
            drain: Seconds that `stop` waits for requests under way.
            config: Further options of `uvicorn.Config`.
        """
        options = {"log_level": "critical", "ws": "none", "lifespan": "on", "timeout_graceful_shutdown": drain}
        server = _Uvicorn(uvicorn.Config(app, **{**options, **config}))
        self._asgi = server, asyncio.create_task(server.serve(sockets=[_bound(self.port)]))
        started = asyncio.create_task(server.up.wait())
        await asyncio.wait({self._asgi[1], started}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            started.cancel()
            await self.stop()
            raise RuntimeError("the application did not start")

    async def accept(self, handler: Handler) -> None:
        """Hand each connection to `handler`, for peers that no HTTP library would play."""

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async def handle() -> None:
                try:
                    with suppress(ConnectionError, asyncio.IncompleteReadError):
                        await handler(reader, writer)
                finally:
                    writer.close()

            task = asyncio.create_task(handle())
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        self._raw = await asyncio.start_server(accepted, sock=_bound(self.port))

    def refuse(self) -> None:
        """Take no new connections and go on with those that are open, as a server does that drains."""
        listeners = [*self._asgi[0].servers] if self._asgi is not None else []
        for listener in [*listeners, *([self._raw] if self._raw is not None else [])]:
            listener.close()

    async def stop(self) -> None:
        """Serve no more; return when the port refuses connections. The port stays reserved."""
        if self._asgi is not None:
            (server, task), self._asgi = self._asgi, None
            server.should_exit = True
            await task
        if self._raw is not None:
            self._raw.close()
            self._raw = None
            open_connections = [*self._connections]
            for connection in open_connections:
                connection.cancel()
            await asyncio.gather(*open_connections, return_exceptions=True)

    async def close(self) -> None:
        """Stop, and give the port back."""
        await self.stop()
        self._reservation.close()


@asynccontextmanager
async def http_host() -> AsyncIterator[HttpHost]:
    """Reserve a free port until the block ends."""
    host = HttpHost()
    try:
        yield host
    finally:
        await host.close()


@asynccontextmanager
async def hosted(app: Any, **options: Any) -> AsyncIterator[str]:
    """Serve an ASGI application while the block runs; yield the URL, without a path."""
    async with http_host() as host:
        await host.serve(app, **options)
        yield host.url


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[int]:
    """Serve raw connections while the block runs; yield the port."""
    async with http_host() as host:
        await host.accept(handler)
        yield host.port


@contextmanager
def in_thread(handler: Handler) -> Iterator[str]:
    """Serve raw connections from a thread, for tests that block; yield the URL, without a path."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(main: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(main, loop).result(START_SECONDS)

    host = HttpHost()
    try:
        run(host.accept(handler))
        yield host.url
    finally:
        run(host.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(START_SECONDS)
        loop.close()


async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accept and read, and send nothing until the other side leaves."""
    while await reader.read(65536):
        pass


class _Uvicorn(uvicorn.Server):
    """Uvicorn that says when it listens; its own `started` has to be polled."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.up.set()


def _bound(port: int) -> socket.socket:
    """Return a TCP socket bound to a port of the loopback, or to a free one, that does not listen yet."""
    # With the protocol named: else asyncio leaves Nagle's algorithm on, and each request takes 40 ms more.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    return sock
