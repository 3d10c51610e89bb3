"""How fast, and for how long, a server is called: what its owner allows, over all runs."""

from __future__ import annotations

import math

import anyio


class Pace:
    """Holds calls back to a rate, and ends a check when its time is over."""

    def __init__(self, rate: float | None = None, seconds: float | None = None) -> None:
        """Begin now.

        Args:
            rate: maximum number of calls in a second; `None`: any.
            seconds: the time after which no other call is made; `None`: none.
        """
        self._between = 1 / rate if rate else 0.0
        self._next = 0.0
        self._until = anyio.current_time() + seconds if seconds else math.inf
        self.held_back = False
        """Whether something was not done because the time was over."""

    async def turn(self) -> None:
        """Wait until the next call can be made."""
        if self._between:
            at = max(anyio.current_time(), self._next)
            self._next = at + self._between
            await anyio.sleep_until(at)

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return anyio.current_time() >= self._until

    def holds_back(self) -> bool:
        """Return whether the time is over, where something is still to be done: it is not done then."""
        self.held_back = self.held_back or self.is_over
        return self.is_over
