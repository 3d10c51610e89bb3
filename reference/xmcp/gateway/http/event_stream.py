"""The response that follows a run: it sends what happens until the run ends, the client leaves, or it is too slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

from starlette.types import Receive, Scope, Send

from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.client.loop.time_limit import TimeLimit
from xmcp.gateway.encoders.framing import PING, Encoder
from xmcp.gateway.runs.events import RunEvent
from xmcp.gateway.runs.reader import Reader
from xmcp.gateway.runs.run import Run

T = TypeVar("T")

HEADERS: Final[Mapping[str, str]] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",  # nginx hands each event on at once
}

PIECE_BYTES: Final = 64 * 1024
"""How much is sent at once: a client has the time that it may take for each such piece, and not for all that waits."""

Abort = Callable[[Any], None]
"""Cuts the connection of a client, given `scope["client"]`, without waiting for what it has not read."""


class EventStream:
    """An ASGI response with the events of a run.

    Args:
        run: The run.
        reader: A reader of it, which the response closes.
        encoder: Encodes its events.
        headers: Further headers.
        pause: What is sent last when the run waits for a person, in a format whose clients answer by another request;
            else the stream waits with the run.
        ping: Seconds without an event after which a comment is sent.
        send_timeout: Seconds after which a client that takes nothing is dropped.
        abort: Cuts the connection of a client that is dropped.
    """

    def __init__(
        self,
        run: Run,
        reader: Reader,
        encoder: Encoder,
        *,
        headers: Mapping[str, str],
        pause: bytes,
        ping: float,
        send_timeout: float,
        abort: Abort,
    ) -> None:
        self._run = run
        self._reader = reader
        self._encoder = encoder
        self._headers = {**HEADERS, **headers}
        self._pause = pause
        self._ping = ping
        self._send_timeout = send_timeout
        self._abort = abort

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, and say in `scope["state"]["stream_dropped"]` whether the client took nothing."""
        reader, client = self._reader, scope.get("client")
        reader.on_drop = lambda: self._abort(client)
        leaving = asyncio.create_task(until_gone(receive))
        leaving.add_done_callback(lambda _: reader.close())
        patience = TimeLimit()
        try:
            await self._send_all(reader, send, patience)
        except TimeoutError:
            reader.drop()
            await asyncio.sleep(0)  # the server has seen by then that the connection is cut
        finally:
            patience.close()
            reader.close()
            leaving.cancel()
            scope.setdefault("state", {})["stream_dropped"] = reader.dropped

    async def _send_all(self, reader: Reader, send: Send, patience: TimeLimit) -> None:
        now = asyncio.get_running_loop().time

        async def send_in_time(body: bytes, *, more: bool = True) -> None:
            with patience.at(now() + self._send_timeout):
                await send({"type": "http.response.body", "body": body, "more_body": more})

        headers = [(name.encode(), value.encode()) for name, value in self._headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while not reader.closed:
            body, is_last = await self._next(reader)
            for place in range(0, len(body), PIECE_BYTES):
                await send_in_time(body[place : place + PIECE_BYTES])
            if is_last:
                self._run.was_shown = True
            if self._pause and self._run.state.waits_for_person and (body or not reader.closed):
                await send_in_time(self._pause, more=False)
                return
        if self._run.ended and not reader.dropped:
            await send_in_time(b"", more=False)

    async def _next(self, reader: Reader) -> tuple[bytes, bool]:
        """Return what is to be sent next, and whether it has the last event; the events need not be kept with it."""
        events = await reader.take(self._ping)
        if not events:
            return b"" if reader.closed else PING, False
        body = await in_worker_if_large(sum(event.size for event in events), self._encoded, events)
        return body, events[-1].is_last

    def _encoded(self, events: Sequence[RunEvent]) -> bytes:
        return b"".join(map(self._encoder.encode, events))


async def until_gone(receive: Receive) -> None:
    """Return when the client has left. The body of the request must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


class ClientGone(Exception):
    """The client has left."""


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; it is cancelled when the client leaves. The body of the request must have been read.

    Raises:
        ClientGone: it has left before.
    """
    leaving, working = asyncio.create_task(until_gone(receive)), asyncio.create_task(work)
    try:
        await asyncio.wait({leaving, working}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        leaving.cancel()
        working.cancel()
