"""Serve an ASGI application on a port of this machine, refuse connections there, or break one that is open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import uvicorn

Cut: TypeAlias = Callable[[tuple[str, int] | None], None]
"""Breaks the connection of a client; see `Host.cut`."""
_START_SECONDS: Final = 30.0
_IDLE_SECONDS: Final = 3600
"""How long an idle connection stays open: no scenario is to end one."""
_END_SECONDS: Final = 10.0


class Host:
    """A port of the loopback that belongs to this process until `close`. Until `serve` it refuses connections.

    Args:
        port: the port; 0 for a free one.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, port: int = 0) -> None:
        self._reservation = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if port:  # one that was in use a moment ago, by the run before
            self._reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._reservation.bind(("127.0.0.1", port))
        except OSError:
            self._reservation.close()
            raise
        self._port: int = self._reservation.getsockname()[1]
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._port}"

    async def serve(self, app: Any) -> None:
        """Serve an application; return once it answers.

        Raises:
            RuntimeError: it did not start.
        """
        config = uvicorn.Config(
            app,
            http="h11",  # httptools loses the body of a request that offers to go over to HTTP/2
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=0,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._reservation]))
        started = asyncio.create_task(self._server.up.wait())
        await asyncio.wait({self._serving, started}, timeout=_START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            started.cancel()
            raise RuntimeError("the host of the suite's own servers did not start")

    def cut(self, client: tuple[str, int] | None) -> None:
        """Break the connection of a client, whose address is in the scope of its request."""
        for connection in self._server.server_state.connections if self._server is not None else ():
            if getattr(connection, "client", None) == client and connection.transport is not None:
                connection.transport.abort()

    async def close(self) -> None:
        """Break all connections, and give the port back."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            for connection in list(self._server.server_state.connections):
                if connection.transport is not None:
                    connection.transport.abort()
            await asyncio.wait({self._serving}, timeout=_END_SECONDS)
            self._serving.cancel()
        self._reservation.close()


class _Server(uvicorn.Server):
    """Says when it is up, and leaves the signals of the process alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
