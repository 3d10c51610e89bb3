"""How a process of the gateway asks another one: HTTP over the Unix socket of that one."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from xmcp.gateway.workers.place import WorkerPlace

CONNECT_SECONDS: Final = 5.0
"""How long a process may take to accept a connection."""

AWAY_SECONDS: Final = 1.0
"""How long a process that accepted no connection counts as one that is not there."""

_HEAD_BYTES: Final = 64 * 1024
_NO_HEADERS: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that aiohttp would add."""

_log: Final = logging.getLogger("xmcp.gateway")


class PeerGone(Exception):
    """Another process does not answer, or broke off. The message says which, for the log.

    Attributes:
        was_asked: Whether it may have begun what was asked of it.
    """

    def __init__(self, message: str, *, was_asked: bool = True) -> None:
        super().__init__(message)
        self.was_asked = was_asked


class PeerAnswer:
    """The answer of another process, as it arrives.

    Attributes:
        status: Of HTTP.
        headers: As they came.
    """

    def __init__(self, worker: int, answer: aiohttp.ClientResponse) -> None:
        self.status = answer.status
        self.headers: Sequence[tuple[bytes, bytes]] = answer.raw_headers
        self._worker = worker
        self._answer = answer

    async def piece(self) -> bytes:
        """Return what has arrived of the body, as soon as something has; nothing after its end.

        Raises:
            PeerGone: it broke off, or nothing comes any more.
        """
        try:
            return await self._answer.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise PeerGone(f"worker {self._worker} broke off its answer: {_told(error)}") from error

    async def value(self) -> Any:
        """Return the JSON value of the body.

        Raises:
            PeerGone: it broke off, or the status is not 200.
        """
        pieces = []
        while piece := await self.piece():
            pieces.append(piece)
        if self.status != 200:
            raise PeerGone(f"worker {self._worker} answered {self.status}")
        return orjson.loads(b"".join(pieces))


class Peers:
    """The other processes of a gateway, in the event loop in which the first one is asked.

    Args:
        place: The place of this process among them.
        seconds: How long another one may take to begin its answer, and between two pieces of it.
    """

    def __init__(self, place: WorkerPlace, seconds: float) -> None:
        self.place = place
        self._seconds = seconds
        self._sessions: dict[int, aiohttp.ClientSession] = {}
        self._away_until: dict[int, float] = {}
        self._handed_on = 0
        self._none_left = asyncio.Event()

    @asynccontextmanager
    async def asked(
        self, worker: int, method: str, target: str, headers: Sequence[tuple[str, str]] = (), body: bytes = b""
    ) -> AsyncIterator[PeerAnswer]:
        """Send a request; `target` is its path with the query, as it stands in a request. Left, it closes the answer.

        Raises:
            PeerGone: the process does not answer.
        """
        answer = None
        try:
            # Also for the time that the process takes no more of the body.
            async with asyncio.timeout(self._seconds):
                answer = await self._session(worker).request(
                    method,
                    URL(f"http://worker{target}", encoded=True),
                    headers=headers,
                    data=body or None,
                    allow_redirects=False,
                )
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            was_asked = not isinstance(error, aiohttp.ClientConnectorError)
            if not was_asked:
                self._away_until[worker] = time.monotonic() + AWAY_SECONDS
            raise PeerGone(f"worker {worker} does not answer: {_told(error)}", was_asked=was_asked) from error
        body = b""  # it can be large, and the answer can take long
        try:
            yield PeerAnswer(worker, answer)
        finally:
            answer.close()

    def is_away(self, worker: int) -> bool:
        """Return whether a process was not there a moment ago."""
        return time.monotonic() < self._away_until.get(worker, 0.0)

    async def value_of(
        self,
        worker: int,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        *,
        seconds: float,
    ) -> Any:
        """Return the JSON value that a process answers with within `seconds`.

        Raises:
            PeerGone: it does not.
        """
        try:
            async with asyncio.timeout(seconds), self.asked(worker, method, target, headers, body) as answer:
                return await answer.value()
        except TimeoutError:
            raise PeerGone(f"worker {worker} does not answer within {seconds:g} s") from None

    async def values_of_all(
        self,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        *,
        seconds: float,
    ) -> list[Any]:
        """Return the JSON values that all others answer with. Who does not within `seconds` is left out, and logged."""
        asking = [
            self.value_of(worker, method, target, headers, body, seconds=seconds)
            for worker in range(self.place.count)
            if worker != self.place.number
        ]
        values = await asyncio.gather(*asking, return_exceptions=True)
        found = []
        for value in values:
            if isinstance(value, PeerGone):
                _log.warning("%s %s is not answered by all workers: %s", method, target.partition("?")[0], value)
            elif isinstance(value, BaseException):
                raise value
            else:
                found.append(value)
        return found

    @contextmanager
    def handing_on(self) -> Iterator[None]:
        """Count what is handed on while the block runs."""
        self._handed_on += 1
        self._none_left.clear()
        try:
            yield
        finally:
            self._handed_on -= 1
            if not self._handed_on:
                self._none_left.set()

    async def idle(self, seconds: float) -> int:
        """Wait until nothing is handed on any more; return how many requests still are after `seconds`."""
        if self._handed_on:
            try:
                async with asyncio.timeout(seconds):
                    await self._none_left.wait()
            except TimeoutError:
                return self._handed_on
        return 0

    async def aclose(self) -> None:
        """Close the connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    def _session(self, worker: int) -> aiohttp.ClientSession:
        session = self._sessions.get(worker)
        if session is None:
            # A connection for each request: one that is kept could be closed by the other end just when it is used,
            # and a chat must not be sent twice.
            connector = aiohttp.UnixConnector(str(self.place.socket_of(worker)), limit=0, force_close=True)
            session = self._sessions[worker] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=_NO_HEADERS,
                max_line_size=_HEAD_BYTES,
                max_field_size=_HEAD_BYTES,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._seconds),
            )
        return session


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
