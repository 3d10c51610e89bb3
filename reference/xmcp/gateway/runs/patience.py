"""The time limits of a running chat. They stand still while a person is asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from xmcp.client.loop.time_limit import TimeLimit

_FOR_EVER: Final = 10 * 365 * 86_400.0
"""Seconds: longer than any process runs, and a time that an event loop can have a timer for."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Time limits of a run, in seconds.

    Attributes:
        deadline: Of the whole run.
        first_event: Until the model has begun to answer, or to call a tool.
        idle: Between two events.
        grace: For which a run without a reader goes on.
        join: Over which pieces of text are joined into one event; 0 joins none.
    """

    deadline: float
    first_event: float
    idle: float
    grace: float
    join: float = 0.0


class Patience:
    """The moment at which a chat is given up. Each wait for its next event is in `with patience.listening()`.

    Args:
        limits: The limits of the run.
        deadline: What the request allows for the whole run, in seconds; `None`: as `limits` has it.
    """

    def __init__(self, limits: RunLimits, deadline: float | None) -> None:
        self._now = asyncio.get_running_loop().time
        self._idle = limits.idle
        self._end = self._now() + min(deadline or limits.deadline, limits.deadline)
        self._next = self._now() + limits.first_event
        self._stopped_at: float | None = None
        self._limit = TimeLimit()

    def listening(self) -> TimeLimit:
        """Return the context of one wait, which raises TimeoutError when it has lasted too long."""
        return self._limit.at(self.until)

    @property
    def is_over(self) -> bool:
        """Whether one of the times is over."""
        return self._now() >= self.until

    @property
    def is_whole(self) -> bool:
        """Whether the time of the whole run is over, and not only that between two events."""
        return self._now() >= self._end

    def heard(self) -> None:
        """Take note that something happened."""
        self._next = self._now() + self._idle

    def stop(self) -> None:
        """Let the time stand still."""
        if self._stopped_at is None:
            self._stopped_at = self._now()
            self._limit.move(self.until)

    def go_on(self) -> None:
        """Let the time go on where it was."""
        if self._stopped_at is not None:
            self._end += self._now() - self._stopped_at
            self._stopped_at = None
            self.heard()
            self._limit.move(self.until)

    def close(self) -> None:
        """Remove the timer."""
        self._limit.close()

    @property
    def until(self) -> float:
        """When the chat is given up, as the event loop counts."""
        return self._now() + _FOR_EVER if self._stopped_at is not None else min(self._end, self._next)
