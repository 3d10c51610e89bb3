"""Start a command for the runs to come while a run is judged: a program can take seconds until it answers."""

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
        if held is not None:
            try:
                if (session := await held.session()) is not None:
                    yield session
                    return
            finally:
                await held.close()
        async with connect() as session:
            yield session

    async def close(self) -> None:
        """Close the connections that were not needed."""
        for held in self._begun.values():
            await held.close()


class _Held:
    """A connection that is opened, held and closed by a task of its own, as its cancel scopes demand."""

    def __init__(self, connect: Callable[[], Connected]) -> None:
        self._session: Session | None = None
        self._is_ready, self._is_over = anyio.Event(), anyio.Event()
        self._task = asyncio.create_task(self._hold(connect))

    async def _hold(self, connect: Callable[[], Connected]) -> None:
        try:
            async with connect() as self._session:
                self._is_ready.set()
                await self._is_over.wait()
        except PeerUnavailable:
            self._session = None
        finally:
            self._is_ready.set()

    async def session(self) -> Session | None:
        """Return the session; `None` where it could not be opened."""
        await self._is_ready.wait()
        return self._session

    async def close(self) -> None:
        """Close the connection, or stop opening it."""
        if not self._is_ready.is_set():
            self._task.cancel()
        self._is_over.set()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({self._task})
