"""Which of a gateway's processes this one is, and where the others are."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

MAX_WORKERS: Final = 64
"""Maximum number of processes of a gateway."""


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """The place of one process among those of a gateway.

    Attributes:
        number: Which process this is, from 0.
        count: How many there are.
        folder: Has the Unix sockets of all; only this user can enter it.
    """

    number: int
    count: int
    folder: Path

    def home_of(self, name: str) -> int:
        """Return the number of the process to which what has this name belongs: a run, a session, a request."""
        return int.from_bytes(sha256(name.encode()).digest()[:8]) % self.count

    def is_home_of(self, name: str) -> bool:
        """Return whether what has this name belongs to this process."""
        return self.home_of(name) == self.number

    def socket_of(self, number: int) -> Path:
        """Return where a process answers the requests that others hand on to it."""
        return self.folder / f"{number}.sock"

    def metrics_socket_of(self, number: int) -> Path:
        """Return where a process tells its metrics."""
        return self.folder / f"{number}.metrics.sock"
