"""How many connections each process of a gateway has open, in memory that all of them share."""

from __future__ import annotations

import mmap
import os
from typing import Final

from xmcp.gateway.workers.place import WorkerPlace

_BYTES: Final = 4
"""Of each number; it is written and read at once."""


class ConnectionCounts:
    """The numbers of all processes, of which each writes its own.

    That of a process that has died or is stuck stays as it was: it is a hint, and no more.
    """

    def __init__(self, place: WorkerPlace) -> None:
        self._number = place.number
        file = os.open(place.folder / "connections", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(file, place.count * _BYTES)
            self._counts = memoryview(mmap.mmap(file, place.count * _BYTES)).cast("I")
        finally:
            os.close(file)

    def is_more_than_least(self, own: int) -> bool:
        """Note how many connections this process has, and return whether another has fewer."""
        self._counts[self._number] = own
        return own > min(self._counts)
