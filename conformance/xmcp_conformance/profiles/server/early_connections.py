"""Start a command for the runs to come while a run is judged, and let it end meanwhile: both can take seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import anyio

from .server_under_test import PeerUnavailable, Session

Connected: TypeAlias = AbstractAsyncContextManager[Session]


class EarlyConnections:
    """Connections that are opened before they are needed, each for the run of one client.

    One that does not come about is opened again when it is needed, and then it is told why.
    """

    def __init__(self) -> None:
        self._begun: dict[Hashable, _Held] = {}
        self._ending: list[_Held] = []

    def begin(self, client: Hashable, connect: Callable[[], Connected]) -> None:
        """Begin to open the connection of a client."""
        self._begun[client] = _Held(connect)

    @asynccontextmanager
    async def connected(self, client: Hashable, connect: Callable[[], Connected]) -> AsyncIterator[Session]:
        """Yield the session of a client; open it, if that was not begun or did not succeed.

        Raises:
            PeerUnavailable: as `connect`.
        """
        held = self._begun.pop(client, None)
        if held is None or not await held.is_open():
            for other in self._ending:  # this one may be alone in the world
                await other.closed()
            held = _Held(connect)
        try:
            yield await held.session()
        finally:
            held.end()
            self._ending.append(held)

    async def close(self) -> None:
        """Wait until all connections are closed, those that were not needed too."""
        for held in (*self._ending, *self._begun.values()):
            await held.closed()


class _Held:
    """A connection that is opened, held and closed by a task of its own, as its cancel scopes demand."""

    def __init__(self, connect: Callable[[], Connected]) -> None:
        self._session: Session | PeerUnavailable | None = None
        self._is_ready, self._is_over = anyio.Event(), anyio.Event()
        self._task = asyncio.create_task(self._hold(connect))

    async def _hold(self, connect: Callable[[], Connected]) -> None:
        try:
            async with connect() as self._session:
                self._is_ready.set()
                await self._is_over.wait()
        except PeerUnavailable as error:
            self._session = error
        finally:
            self._is_ready.set()

    async def is_open(self) -> bool:
        """Wait until the connection is open or cannot be opened, and return which."""
        await self._is_ready.wait()
        return self._session is not None and not isinstance(self._session, PeerUnavailable)

    async def session(self) -> Session:
        """Wait for the session.

        Raises:
            PeerUnavailable: it cannot be opened.
        """
        await self._is_ready.wait()
        if isinstance(self._session, PeerUnavailable):
            raise self._session
        if self._session is None:
            await self._task  # it raises what ended it
            raise RuntimeError("a connection ended before it was open")
        return self._session

    def end(self) -> None:
        """Begin to close the connection, or stop opening it."""
        if not self._is_ready.is_set():
            self._task.cancel()
        self._is_over.set()

    async def closed(self) -> None:
        """Close the connection, and wait until that is done."""
        self.end()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({self._task})
