"""What a program under test wrote to standard error last. The rest is read and dropped, however much it is."""

from __future__ import annotations

import io
import os
import threading
from typing import Final

KEPT: Final = 4096
"""Bytes."""

DRAIN_SECONDS: Final = 1.0
"""Time limit for reading what a program wrote before it ended."""


class LastWords(io.FileIO):
    """A file for the standard error of programs: a pipe that a thread reads until no process has it open any more."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        super().__init__(writing, "wb")
        self._tail = b""
        self._thread = threading.Thread(target=self._read, args=(reading,), name="stderr", daemon=True)
        self._thread.start()

    def last_line(self) -> str:
        """Close the file, and return the last line of all that was written; empty if there is none."""
        self.close()
        self._thread.join(DRAIN_SECONDS)
        lines = [line.strip() for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def _read(self, reading: int) -> None:
        with open(reading, "rb", buffering=0) as pipe:
            while piece := pipe.read(65536):
                self._tail = (self._tail + piece)[-KEPT:]
