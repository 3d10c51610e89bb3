"""One reader of a run, such as an HTTP response. A reader that is stuck is dropped; the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from xmcp.client.loop.time_limit import TimeLimit
from xmcp.gateway.runs.events import RunEvent
from xmcp.gateway.runs.state import RunState

MAX_BEHIND_BYTES: Final = 256 * 1024
"""How much may wait for a reader that has not taken what it got before."""


class EventSource(Protocol):
    """What a reader needs of a run."""

    state: RunState

    @property
    def ended(self) -> bool:
        """Whether the last event was published."""

    def events_after(self, seq: int) -> Sequence[RunEvent]:
        """Return the events after a place."""

    def left(self, reader: Reader) -> None:
        """Take note that a reader has left."""


class Reader:
    """Gets the events of a run after a place, then each new one.

    Between two calls of `take` the reader is busy with what it got: sending it. A busy reader for which too much waits
    is dropped, and `on_drop` is called, which must end the sending.
    """

    def __init__(self, run: EventSource, after: int) -> None:
        self._run = run
        self._after = after
        self.on_drop: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        self._wait = TimeLimit()
        self._woken: asyncio.Future[None] | None = None
        self._busy = False
        self._waiting_bytes = 0
        self.closed = False
        """Whether nothing will come any more: the last event was taken, or the reader left or was dropped."""
        self.dropped = False

    def published(self, event: RunEvent) -> None:
        """Take note of a new event; for the run."""
        self._waiting_bytes += event.size
        if self._busy and self._waiting_bytes > MAX_BEHIND_BYTES:
            self.drop()
        else:
            self._wake()

    def drop(self) -> None:
        """End the reading, because nothing of what was sent is taken. The run goes on for a reader that comes back."""
        self.dropped = True
        self.close()
        self.on_drop()

    async def take(self, wait: float) -> Sequence[RunEvent]:
        """Return what has happened since the last call; nothing if nothing happened within `wait` seconds.

        If events are not kept any more, `stream.gap` and `snapshot` stand in their place.
        """
        self._busy = False
        if not self.closed and self._run.state.seq <= self._after:
            self._woken = self._loop.create_future()
            try:
                with self._wait.at(self._loop.time() + wait):
                    await self._woken
            except TimeoutError:
                return ()
        if self.closed:
            return ()
        events = self._run.events_after(self._after)
        self._after, self._waiting_bytes, self._busy = self._run.state.seq, 0, True
        if self._run.ended:
            self.close()
        return events

    def close(self) -> None:
        """Leave. If no reader is left, the run may be cancelled after its grace."""
        if not self.closed:
            self.closed = True
            self._wait.close()
            self._wake()
            self._run.left(self)

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)
