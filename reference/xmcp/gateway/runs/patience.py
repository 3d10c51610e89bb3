"""The time limits of a running chat. They stand still while a person is asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Time limits of a run, in seconds.

    Attributes:
        deadline: Of the whole run.
        first_event: Until the model has begun to answer, or to call a tool.
        idle: Between two events.
        grace: For which a run without a reader goes on.
    """

    deadline: float
    first_event: float
    idle: float
    grace: float


class Patience:
    """The moment at which a chat is given up: `limit` is the context in which it runs.

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
        self.limit = asyncio.timeout_at(min(self._end, self._next))

    @property
    def is_whole(self) -> bool:
        """Whether the time of the whole run is over, and not only that between two events."""
        return self._now() >= self._end

    def heard(self) -> None:
        """Take note that something happened."""
        self._next = self._now() + self._idle
        self._set()

    def stop(self) -> None:
        """Let the time stand still."""
        if self._stopped_at is None:
            self._stopped_at = self._now()
            self._set()

    def go_on(self) -> None:
        """Let the time go on where it was."""
        if self._stopped_at is not None:
            self._end += self._now() - self._stopped_at
            self._stopped_at = None
            self.heard()

    def _set(self) -> None:
        if not self.limit.expired():
            self.limit.reschedule(None if self._stopped_at is not None else min(self._end, self._next))
