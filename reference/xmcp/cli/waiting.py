"""The line that says what a command waits for, where that takes longer than a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

import click
from rich.console import Console
from rich.status import Status
from rich.text import Text

PATIENCE: Final = 3.0
"""Seconds after which a line says what is being waited for."""
PACE: Final = 30.0
"""Seconds between two lines that say how far the command is, where there is no terminal."""


class Waiting:
    """Says what a command waits for: at once in the status line of a terminal, elsewhere on stderr after `PATIENCE`.

    What it does then is in that status line, too, and elsewhere on stderr, at most every `PACE` seconds: in the log of
    a job, minutes without a line look as if it hung.

    Args:
        command: The name of the command, with which the line begins.
        console: Where the command writes; if it is a terminal, it gets a status line.
        quiet: Do not write to stderr.
        clock: The time, in seconds.
    """

    def __init__(
        self, command: str, console: Console, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._command = command
        self._quiet = quiet
        self._status: Status | None = console.status("", spinner="line") if console.is_terminal else None
        self._timer: threading.Timer | None = None
        self._clock = clock
        self._said_at = clock()

    def __enter__(self) -> Waiting:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()
        if self._status is not None:
            self._status.stop()

    def begin(self, what: str, limit: float) -> None:
        """Begin to wait for `what`, such as "`server.py` to start", for at most `limit` seconds."""
        self.end()
        line = f"waiting for {what}, at most {limit:g} s …"
        if self._status is not None:
            self._status.update(Text(line))
        elif not self._quiet:
            self._timer = threading.Timer(PATIENCE, click.echo, (f"{self._command}: {line}",), {"err": True})
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """Wait no longer; a line that was not yet written is not written."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def show(self, text: str) -> None:
        """Show what the command does now; the waiting is over."""
        self.end()
        if self._status is not None:
            self._status.update(Text(text))
        elif not self._quiet and self._clock() - self._said_at >= PACE:
            self._said_at = self._clock()
            click.echo(f"{self._command}: {text}", err=True)
