"""The parent of a gateway's processes: starts them, passes signals on, and starts those again that end.

It serves no request and holds no state of one, so that little can make it end.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from xmcp.gateway.workers.process import WorkerProcess
from xmcp.gateway.workers.restarts import next_delay, way_of_ending

_FAILED_SECONDS: Final = 30.0
"""Seconds in which a worker that cannot serve must have ended."""

_KILLED_SECONDS: Final = 30.0
"""Seconds in which the system must have ended a process that was killed."""

_NO_WORD: Final = "Worker {} of the gateway could not start ({}). The log above says why."

_log: Final = logging.getLogger("xmcp.gateway.workers")


class CannotStart(Exception):
    """A worker ended before it ever served; the message says why."""


class _Life(NamedTuple):
    """The seconds for which a worker served, how it ended, and why it could not serve, if it said so."""

    seconds: float
    end: str
    why: str


class Supervisor:
    """Keeps so many workers running until it is told to stop.

    Args:
        count: How many there are.
        start: Starts the worker with a number.
        patience: Seconds that workers have to end after the first signal.
        stopping: Is called when no worker will be started any more.

    Attributes:
        restarts: How often each was started again. Any thread may read it.
    """

    def __init__(
        self,
        count: int,
        start: Callable[[int], Awaitable[WorkerProcess]],
        patience: float,
        stopping: Callable[[], None],
    ) -> None:
        self.restarts = [0] * count
        self._start = start
        self._patience = patience
        self._stopping = stopping
        self._running: dict[int, WorkerProcess] = {}
        self._asked = 0
        self._stop = asyncio.Event()
        self._kept: list[asyncio.Task[None]] = []

    async def run(self, ready: Callable[[Mapping[str, Any]], None]) -> None:
        """Start the workers, and keep them running until a signal; return when all have ended.

        The first starts alone, so that what it does once for all (the tables of a database) is done when the others
        start, and that what keeps all of them from starting is said once. `ready` gets what it said.

        Raises:
            CannotStart: a worker ended before it served.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # `nohup` has it ignored, and so do its children.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self.stop)
        try:
            first = await self._all_serve(range(1))
            if first and await self._all_serve(range(1, len(self.restarts))) is not None:
                ready(first[0])
                await self._stop.wait()
        finally:
            await self._end()

    def stop(self) -> None:
        """Ask all workers to drain; the second time, to end at once."""
        self._asked += 1
        if not self._stop.is_set():
            self._stop.set()
            self._stopping()
        for worker in self._running.values():
            worker.stop(at_once=self._asked > 1)

    async def _all_serve(self, numbers: Sequence[int]) -> list[Mapping[str, Any]] | None:
        """Start workers and return what they say when all of them serve; `None` if it was told to stop before."""
        serve: list[asyncio.Future[Mapping[str, Any]]] = [asyncio.get_running_loop().create_future() for _ in numbers]
        self._kept += [
            asyncio.create_task(self._keep(number, first), name=f"xmcp worker {number}")
            for number, first in zip(numbers, serve, strict=True)
        ]
        all_serve: asyncio.Future[list[Mapping[str, Any]]] = asyncio.gather(*serve)
        stop = asyncio.create_task(self._stop.wait(), name="xmcp workers stop")
        try:
            both: set[asyncio.Future[Any]] = {all_serve, stop}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return None if self._stop.is_set() else all_serve.result()
        finally:
            stop.cancel()
            all_serve.cancel()
            await asyncio.gather(all_serve, return_exceptions=True)

    async def _keep(self, number: int, serves: asyncio.Future[Mapping[str, Any]]) -> None:
        """Start a worker, and again whenever it ends; `serves` is what it says the first time, or why it cannot."""
        delay = 0.0
        while not self._stop.is_set():
            life = await self._life(number, serves)
            if self._stop.is_set():
                return
            if not serves.done():
                serves.set_exception(CannotStart(life.why or _NO_WORD.format(number, life.end)))
                return
            delay = next_delay(delay, life.seconds)
            how = f"{life.end}: {life.why}" if life.why else life.end
            _log.warning("worker %d ended (%s) and is started again in %g s", number, how, delay)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), delay)
                return
            self.restarts[number] += 1

    async def _life(self, number: int, serves: asyncio.Future[Mapping[str, Any]]) -> _Life:
        """Start a worker, and wait for its end."""
        try:
            worker = await self._start(number)
        except OSError as error:
            return _Life(0.0, "not started", f"No process can be started: {error}.")
        self._running[number] = worker
        try:
            if self._asked:  # while it was started
                worker.stop(at_once=self._asked > 1)
            said = await worker.first_word()
            if said is None or "failed" in said:
                end = way_of_ending(await worker.end(_FAILED_SECONDS))
                return _Life(0.0, end, "" if said is None else str(said["failed"]))
            begun = time.monotonic()
            if serves.done():
                _log.info("worker %d serves again", number)
            else:
                serves.set_result(said)
            end = way_of_ending(await worker.end())
            return _Life(time.monotonic() - begun, end, "")
        finally:
            del self._running[number]
            worker.close()

    async def _end(self) -> None:
        """Wait for the end of all workers, and kill those that take too long."""
        if not self._stop.is_set():
            self.stop()
        if not self._kept:
            return
        _, left = await asyncio.wait(self._kept, timeout=self._patience)
        if left:
            for number, worker in self._running.items():
                _log.error("worker %d had not ended after %g s and was killed", number, self._patience)
                worker.kill()
            await asyncio.wait(left, timeout=_KILLED_SECONDS)
