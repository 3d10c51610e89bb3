"""One time limit for many waits in a row: a timer for each of a thousand pieces costs more than the pieces."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class TimeLimit:
    """Ends a wait that lasts too long, as `asyncio.timeout_at` does, with one timer for all waits.

    ```python
    limit = TimeLimit()
    try:
        while True:
            with limit.at(until):
                piece = await anext(pieces)
    finally:
        limit.close()
    ```

    Outside of the `with` nothing is ended: who takes the pieces can take any time, and each in a task of its own.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False

    def at(self, until: float) -> Self:
        """Return the limit for one wait of this task, which can last until this time of the event loop."""
        self._until = until
        return self

    def move(self, until: float) -> None:
        """Let the wait that goes on last until another time."""
        self._until = until
        if self._waiting is not None and (self._timer is None or self._timer.when() > until):
            self._arm()

    def close(self) -> None:
        """Remove the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def __enter__(self) -> Self:
        task = self._waiting = asyncio.current_task(self._loop)
        if task is None:
            raise RuntimeError("a time limit is for a task")
        self._cancelling = task.cancelling()
        if self._timer is None or self._timer.when() > self._until:
            self._arm()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # The timer stays, and is set again if it finds a later wait.
        task, self._waiting = self._waiting, None
        if self._is_over and task is not None:
            self._is_over = False
            # Not where the task was cancelled by somebody else, too.
            if task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError):
                raise TimeoutError from error

    def _arm(self) -> None:
        self.close()
        self._timer = self._loop.call_at(self._until, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._until > self._loop.time():
            self._arm()
        else:
            self._is_over = True
            self._waiting.cancel()
