"""A program in a terminal of this process: what it writes is drawn, and what stands on the screen can be read."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

import pyte

PATIENCE = 120.0
"""Maximum wait for what a program is to write, in seconds: a busy machine takes long to start Python."""

# Has the terminal as its controlling one, from which Ctrl-C comes: the first that the leader of a session opens. The
# tests may run where a shell ignores Ctrl-C, as for what it runs in the background, and programs inherit that.
_IN_IT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.open(os.ttyname(0), os.O_RDWR)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def drawn(written: str, columns: int = 80, rows: int = 40) -> list[str]:
    """Return the lines that a terminal shows after a program has written this; those that scrolled away are first."""
    screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
    pyte.Stream(screen).feed(re.sub("(?<!\r)\n", "\r\n", written))
    return _lines(screen)


def _lines(screen: pyte.HistoryScreen) -> list[str]:
    above = ["".join(row[column].data for column in range(screen.columns)).rstrip() for row in screen.history.top]
    return [*above, *(line.rstrip() for line in screen.display)]


class Terminal:
    """Runs a program in a terminal until the end of the block.

    Args:
        command: The program and its arguments.
        environment: Variables besides those of this process.
        columns: The width.
        rows: The height.
        encoding: What the terminal understands.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        columns: int = 80,
        rows: int = 40,
        encoding: str = "utf-8",
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
        self.written = ""
        """All that the program wrote, with its escape sequences."""
        self._stream = pyte.Stream(self.screen)
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._encoding = encoding
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _IN_IT, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**kept, "TERM": "xterm-256color", "PYTHONIOENCODING": encoding, **(environment or {})},
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._ours)

    @property
    def lines(self) -> list[str]:
        """What the terminal shows, and what has scrolled away."""
        return _lines(self.screen)

    @property
    def text(self) -> str:
        """The lines, without empty ones."""
        return "\n".join(line for line in self.lines if line)

    def type(self, keys: str) -> None:
        """Press keys; `\\r` is Enter, `\\x03` is Ctrl-C, `\\x04` is Ctrl-D."""
        os.write(self._ours, keys.encode(self._encoding))

    def wait_for(self, words: str) -> str:
        """Return all that is shown once `words`, a regular expression, are there."""
        until = time.monotonic() + PATIENCE
        while re.search(words, self.text) is None:
            self._read(until, words)
        return self.text

    def end(self) -> int:
        """Wait for the end of the program, and return its exit code."""
        until = time.monotonic() + PATIENCE
        while self._process.poll() is None:
            self._read(until, "the end of the program")
        while self._feed():
            pass
        return self._process.returncode

    def _read(self, until: float, wanted: str) -> None:
        if self._feed():
            return
        gone = self._process.poll() is not None and wanted != "the end of the program"
        if gone or time.monotonic() > until:
            raise AssertionError(f"waiting for {wanted!r}, there is\n{self.text}")

    def _feed(self) -> bool:
        if not select.select([self._ours], [], [], 0.1)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # the program has closed its side
            return False
        text = self._decoder.decode(data)
        self.written += text
        self._stream.feed(text)
        return bool(data)
