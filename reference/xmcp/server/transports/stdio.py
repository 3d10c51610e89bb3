"""Standard input that Ctrl-C can end.

The SDK reads stdin in a thread, and a thread that waits for a terminal keeps the process alive: Ctrl-C
on a stdio server does nothing until somebody presses return. So a pipe stands in for stdin, and the
signal ends the pipe: to the server that is its client hanging up, and it ends in good order.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

STDIN: Final = 0
CHUNK: Final = 64 * 1024  # bytes; what a pipe holds


@contextmanager
def interruptible_stdin() -> Iterator[None]:
    """For the duration, read file descriptor 0 through a pipe that the first Ctrl-C closes.

    A second Ctrl-C interrupts as usual. Without a stdin of its own (an embedding program, a test), or
    outside the main thread, where no signal arrives, nothing is changed.
    """
    if not _owns_stdin() or threading.current_thread() is not threading.main_thread():
        yield
        return
    source = os.dup(STDIN)
    reader, writer = os.pipe()
    os.dup2(reader, STDIN)
    os.close(reader)
    # A daemon: it waits for the terminal for ever, and must not be waited for.
    threading.Thread(target=_pump, args=(source, writer), name="xmcp stdin", daemon=True).start()

    def hang_up(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _hang_up(writer)

    before = signal.signal(signal.SIGINT, hang_up)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        os.dup2(source, STDIN)


def _owns_stdin() -> bool:
    try:
        return sys.stdin.fileno() == STDIN
    except (AttributeError, OSError, ValueError):
        return False


def _pump(source: int, writer: int) -> None:
    with suppress(OSError):
        while chunk := os.read(source, CHUNK):
            while chunk:
                chunk = chunk[os.write(writer, chunk) :]
    _hang_up(writer)


def _hang_up(writer: int) -> None:
    """End the pipe by putting the null device in its place.

    Closing the descriptor would let another file get its number while the pump still writes to it.
    """
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, writer)
        os.close(nowhere)
