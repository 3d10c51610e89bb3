"""The last events of a run, in memory: at most so many, and so many bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final

from xmcp.gateway.runs.events import RunEvent

MAX_EVENTS: Final = 2_048
MAX_BYTES: Final = 1024 * 1024
"""Maximum size of the events together; the newest one is always kept, however large it is."""


class EventRing:
    """Keeps the newest events, whose `seq` have no gaps."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self._events: deque[RunEvent] = deque()
        self._max_events = max_events
        self._max_bytes = max_bytes
        self.size = 0
        """Bytes of all events that are kept."""

    @property
    def oldest(self) -> int:
        """The `seq` of the first event that is kept; 1 if there was none yet."""
        return self._events[0].seq if self._events else 1

    @property
    def newest(self) -> int:
        """The `seq` of the last event; 0 if there was none yet."""
        return self._events[-1].seq if self._events else 0

    def append(self, event: RunEvent) -> None:
        """Keep one more event, and as few less as the limits demand."""
        self._events.append(event)
        self.size += event.size
        while len(self._events) > 1 and (len(self._events) > self._max_events or self.size > self._max_bytes):
            self.size -= self._events.popleft().size

    def after(self, seq: int) -> Sequence[RunEvent] | None:
        """Return the events that follow `seq`; `None` if some of them are not kept any more."""
        first = seq + 1 - self.oldest
        if first < 0:
            return None
        return list(islice(self._events, first, None))
