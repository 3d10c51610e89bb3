"""What a program under test wrote to standard error last. The rest is dropped, or kept in a file."""

from __future__ import annotations

import io
import os
import re
import threading
from contextlib import suppress
from typing import Final

from .leaks import redacted

KEPT: Final = 16384
"""Bytes."""

DRAIN_SECONDS: Final = 1.0
"""Time limit for reading what a program wrote before it ended."""

_BELOW_AN_ERROR = re.compile(
    r"\s+at |\t|\s*File \"|goroutine \d|main\.|"  # frames
    r"\s+\w+: |\s*[\]})]|"  # members of an error object
    r"Node\.js v\d|Bun v\d|\(Use `node|exit status \d|npm (ERR!|error) A complete log|\s*\^"
)
_ERROR = re.compile(
    r"(Uncaught )?[\w.]*(Error|Exception)\b|panic: |Exception in thread|npm (ERR!|error) (?!code |errno )"
)
_PLACE = re.compile(r"(?:file://)?((?:/|[A-Za-z]:[\\/]).*:\d+)$")
"""File and line, as Node writes them above an error; with other words in it, a line is no place."""


class LastWords(io.FileIO):
    """A file for the standard error of programs: a pipe that a thread reads until no process has it open any more."""

    def __init__(self, log: str | None = None) -> None:
        """Open the pipe.

        Args:
            log: the path of a file to which all of it is added.
        """
        reading, writing = os.pipe()
        self._log = log
        super().__init__(writing, "wb")
        self._tail = b""
        self._thread = threading.Thread(target=self._read, args=(reading,), name="stderr", daemon=True)
        self._thread.start()

    def telling_line(self) -> str:
        """Close the file, and return the written line that says what went wrong; empty if there is none.

        That is the last line, except below a stack trace, whose last lines are frames or the version of the runtime:
        there it is the line of the error, with the file and line that stand above it. Secrets in it are removed.
        """
        self.close()
        self._thread.join(DRAIN_SECONDS)
        return redacted(telling_line(self._tail.decode("utf-8", "replace").splitlines()))

    def _read(self, reading: int) -> None:
        with open(reading, "rb", buffering=0) as pipe, _opened(self._log) as log:
            while piece := pipe.read(65536):
                self._tail = (self._tail + piece)[-KEPT:]
                with suppress(OSError):  # a disk that is full ends no run
                    log.write(piece)


def _opened(log: str | None) -> io.FileIO:
    """Return the file for a log, or one that keeps nothing: whatever becomes of the log, the pipe has to be read."""
    with suppress(OSError):
        if log is not None:
            return open(log, "ab", buffering=0)
    return open(os.devnull, "ab", buffering=0)


def telling_line(lines: list[str]) -> str:
    """Return the line of a program's standard error that says what went wrong; empty if there is none."""
    said = [index for index, line in enumerate(lines) if line.strip()]
    if not said:
        return ""
    errors = [index for index in said if _ERROR.match(lines[index])]
    if not _BELOW_AN_ERROR.match(lines[said[-1]]) or not errors:
        return lines[said[-1]].strip()
    # npm repeats itself below its first line; any other program says its last error last.
    error = errors[0] if lines[errors[0]].startswith("npm ") else errors[-1]
    text = lines[error].strip()
    if text.endswith(":") and error + 1 < len(lines):
        text += f" {lines[error + 1].strip()}"
    place = next((found[1] for line in reversed(lines[:error]) if (found := _PLACE.match(line))), "")
    return f"{text} ({place})" if place else text
