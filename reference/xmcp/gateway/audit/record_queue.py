"""The bounded queue before the writer's thread. Putting never waits; what has no room is counted."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from xmcp.gateway.ids import now_ms

T = TypeVar("T")

PARK_SECONDS: Final = 1.0
"""After so long without a record the taker sleeps until it is woken, which costs who puts the next one about 50 µs."""


@dataclass(slots=True)
class Loss:
    """Records that were lost for one reason: how many, and from when to when."""

    dropped: int = 0
    from_at: int = field(default_factory=now_ms)
    to_at: int = field(default_factory=now_ms)

    def add(self, dropped: int) -> None:
        """Count some more, lost now."""
        self.dropped += dropped
        self.to_at = now_ms()


class RecordQueue(Generic[T]):
    """Records for one thread that takes them all at once; any thread puts.

    Args:
        max_records: Maximum number of records that wait.
        max_bytes: About how many bytes the records that wait may take.
        batch: The taker is woken before its window is over when so many records wait.
    """

    def __init__(self, max_records: int, max_bytes: int, batch: int) -> None:
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._batch = batch
        # Held for some microseconds at most: nothing is waited for, written or freed under it.
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._records: list[T] = []
        self._bytes = 0
        self._parked = False
        self._urgent = False
        self._busy_at = time.monotonic()
        self._losses: dict[str, Loss] = {}

    @property
    def records(self) -> int:
        """Number of records that wait."""
        return len(self._records)

    @property
    def bytes(self) -> int:
        """About how many bytes they take."""
        return self._bytes

    def put(self, record: T, size: int, *, text: bool = False, mark: bool = False) -> bool:
        """Add a record; return False if there is no room for it. A piece of `text` has room in the first half only.

        A `mark` is no record: it always has room, and the taker takes it at once, with all before it.
        """
        with self._lock:
            waiting, room = len(self._records), 2 if text else 1
            if mark:
                pass
            elif waiting * room >= self._max_records or (self._bytes + size) * room > self._max_bytes:
                self._losses.setdefault("text" if text else "queue_full", Loss()).add(1)
                return False
            self._records.append(record)
            self._bytes += size
            self._urgent |= mark
            wake = self._parked or mark or waiting + 1 == self._batch
            self._parked = False
        if wake:
            self._wake.set()
        return True

    def wait(self, window: float, idle: float) -> None:
        """Wait for records: `window` seconds, or until a mark or a full batch is there.

        If none has come for long, up to `idle` seconds for the first.
        """
        if time.monotonic() - self._busy_at > PARK_SECONDS:
            with self._lock:
                self._parked = not self._records
            if self._parked:
                self._wake.wait(idle)
                with self._lock:
                    self._parked = False
        until = time.monotonic() + min(window, idle)
        while True:
            self._wake.clear()
            if self._urgent or len(self._records) >= self._batch:
                break
            left = until - time.monotonic()
            if left <= 0:
                break
            self._wake.wait(left)
        if self._records:
            self._busy_at = time.monotonic()

    def wake(self) -> None:
        """End the taker's waiting."""
        with self._lock:
            self._urgent = True
        self._wake.set()

    def take(self) -> tuple[list[T], dict[str, Loss]]:
        """Return all records that wait, and what was lost since the last time."""
        with self._lock:
            records, self._records = self._records, []
            losses, self._losses = self._losses, {}
            self._bytes = 0
            self._urgent = False
        return records, losses
