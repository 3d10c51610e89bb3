"""A thread with one connection to a database, for questions that somebody waits for: each has a time, none blocks."""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from xmcp.gateway.audit.database import reason_of

if TYPE_CHECKING:
    from xmcp.gateway.audit.drivers import Driver, Execute

T = TypeVar("T")

REST_SECONDS: Final = 1.0
"""How long a database that failed is not asked again."""

CLOSE_SECONDS: Final = 5.0
"""How long the thread may take to end."""

_log: Final = logging.getLogger("xmcp.gateway")


class DatabaseDown(Exception):
    """The database did not answer, or not in time.

    Attributes:
        retry_after: Seconds after which it is asked again.
        may_be_done: Whether what was asked may have been done all the same, or may yet be.
    """

    retry_after: Final = REST_SECONDS

    def __init__(self, *, may_be_done: bool = False) -> None:
        super().__init__()
        self.may_be_done = may_be_done


@dataclass(slots=True)
class _Job:
    work: Callable[[Execute], Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    asked_at: float


class DatabaseThread:
    """Runs transactions one after the other. It connects at the first, and again after a failure.

    Args:
        make: Makes a driver without a connection, when it is needed first.
        name: Of the thread.
        seconds: Maximum time for a transaction with the wait for those before it.
        waiting: Maximum number of transactions that wait.
    """

    def __init__(self, make: Callable[[], Driver], name: str, *, seconds: float = 3.0, waiting: int = 256) -> None:
        self._make = make
        self._made: Driver | None = None
        self._seconds = seconds
        self._jobs: queue.Queue[_Job | None] = queue.Queue(waiting)
        self._down_until = 0.0
        self._stuck_since: float | None = None
        self._connected = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._started = False

    @property
    def up(self) -> bool:
        """Whether the database answered when it was asked last, and is not taking too long now."""
        return self._down_until == 0.0 and not self._is_stuck(time.monotonic())

    async def run(self, work: Callable[[Execute], T]) -> T:
        """Return what `work` returns, which runs in a transaction in the thread. It may run twice.

        Raises:
            DatabaseDown: the database cannot be reached, or does not answer in time.
            Exception: what `work` raises itself, and what the database says of a statement that it will never take.
        """
        if not self._started:
            self._started = True
            self._thread.start()
        now = time.monotonic()
        if now < self._down_until or self._is_stuck(now):
            raise DatabaseDown
        loop = asyncio.get_running_loop()
        job = _Job(work, loop, loop.create_future(), now)
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            raise DatabaseDown from None
        try:
            async with asyncio.timeout(self._seconds):
                return await job.answer  # type: ignore[no-any-return]
        except TimeoutError:
            raise DatabaseDown(may_be_done=True) from None

    def _is_stuck(self, now: float) -> bool:
        since = self._stuck_since  # the thread writes it
        return since is not None and now - since > self._seconds

    async def aclose(self) -> None:
        """End the thread and close the connection; what still waits is not run."""
        if not self._started:
            return
        while True:
            try:
                self._jobs.put_nowait(None)
                break
            except queue.Full:
                with suppress(queue.Empty):
                    self._jobs.get_nowait()
        await asyncio.to_thread(self._thread.join, CLOSE_SECONDS)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.answer.done() or time.monotonic() - job.asked_at > self._seconds:
                continue  # nobody waits for it any more
            self._stuck_since = time.monotonic()
            try:
                answer, error = self._answer(job.work), None
            except Exception as failure:
                answer, error = None, failure
            self._stuck_since = None
            with suppress(RuntimeError):  # the loop has ended
                job.loop.call_soon_threadsafe(_give, job.answer, answer, error)
        self._driver.close()

    def _answer(self, work: Callable[[Execute], Any]) -> Any:
        if time.monotonic() < self._down_until:
            raise DatabaseDown
        try:
            try:
                return self._in_transaction(work)
            except Exception as error:
                if not self._connected or not self._is_failure(error):
                    raise
                # It was the connection perhaps, which the server has closed since.
                self._connected = False
                return self._in_transaction(work)
        except Exception as error:
            if not self._is_failure(error):
                raise
            if self._down_until == 0.0:
                _log.warning("the database of keys and quotas does not answer: %s", reason_of(error))
            self._connected = False
            self._driver.close()
            self._down_until = time.monotonic() + REST_SECONDS
            raise DatabaseDown(may_be_done=True) from error

    @property
    def _driver(self) -> Driver:
        if self._made is None:
            self._made = self._make()
        return self._made

    def _is_failure(self, error: Exception) -> bool:
        """Return whether the database failed, and not the work, nor one statement of it."""
        return is_failure_of_database(error) and not self._driver.refuses(error)

    def _in_transaction(self, work: Callable[[Execute], Any]) -> Any:
        if not self._connected:
            self._driver.connect()
            self._connected = True
        with self._driver.transaction() as execute:
            answer = work(execute)
        self._down_until = 0.0
        return answer


def is_failure_of_database(error: Exception) -> bool:
    """Return whether the driver of a database has raised an exception."""
    psycopg = sys.modules.get("psycopg")
    kinds = (sqlite3.Error, OSError, *(() if psycopg is None else (psycopg.Error,)))
    return isinstance(error, kinds)


def _give(future: asyncio.Future[Any], answer: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)
