"""HTTP by hand, on sockets of the loopback: what a hostile client sends and no library would."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import httptools

ANSWER_SECONDS: Final = 60.0
"""How long an answer is waited for, or the end of a connection."""


@dataclass(frozen=True, slots=True)
class Told:
    """What came back on a connection: the statuses of the answers in their order, and all bytes.

    `closed`: whether the server has closed the connection.
    """

    statuses: Sequence[int]
    data: bytes
    closed: bool


class _Statuses:
    """Counts the answers in a stream of bytes; `whole` are those that have come to their end."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self.whole = 0
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        with contextlib.suppress(httptools.HttpParserError):
            self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        self.found.append(self._parser.get_status_code())

    def on_message_complete(self) -> None:
        self.whole += 1


def port_of(url: str) -> int:
    """Return the port of a server's address."""
    return int(url.rpartition(":")[2])


def head(method: str, target: str, *lines: str) -> bytes:
    """Return the head of a request with a `Host`."""
    return "\r\n".join([f"{method} {target} HTTP/1.1", "host: localhost", *lines, "", ""]).encode("latin-1")


def post(target: str, body: bytes, *lines: str) -> bytes:
    """Return a whole request with a JSON body."""
    return head("POST", target, "content-type: application/json", f"content-length: {len(body)}", *lines) + body


@contextlib.asynccontextmanager
async def connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect; at the end the connection is cut."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(url))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def told(url: str, pieces: Iterable[bytes], *, answers: int = 1) -> Told:
    """Send pieces on a connection of their own, and return what comes back.

    That is as much as comes until the server closes, or until so many answers are whole.
    """
    counted, data, closed = _Statuses(), b"", False
    async with connected(url) as (reader, writer):

        async def send() -> None:
            with contextlib.suppress(ConnectionError):
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()

        sending = asyncio.create_task(send())
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while counted.whole < answers:
                    try:
                        piece = await reader.read(65_536)
                    except ConnectionError:
                        piece = b""
                    if not piece:
                        closed = True
                        break
                    data += piece
                    counted.feed(piece)
        finally:
            sending.cancel()
            await asyncio.wait({sending})
    return Told(counted.found, data, closed)
