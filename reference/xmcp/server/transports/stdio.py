"""MCP over stdio, with a standard input that Ctrl-C can end.

The SDK reads stdin in a thread, and a thread that waits for a terminal keeps the process alive: Ctrl-C on a stdio
server would do nothing until the user presses return. So a pipe replaces stdin, and Ctrl-C closes the pipe. To the
server this looks as if its client hung up, and it ends normally.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from fastmcp import FastMCP

STDIN: Final = 0
CHUNK: Final = 64 * 1024  # bytes; the capacity of a pipe


def serve_stdio(server: FastMCP[Any], **options: Any) -> None:
    """Run any FastMCP server over stdio until its client hangs up or Ctrl-C is pressed."""
    with suppress(KeyboardInterrupt), interruptible_stdin():
        server.run("stdio", show_banner=False, **{"log_level": "WARNING", **options})


@contextmanager
def interruptible_stdin() -> Iterator[None]:
    """Read file descriptor 0 through a pipe that the first Ctrl-C closes, for the duration of the context.

    A second Ctrl-C interrupts as usual. Nothing is changed if the process has no stdin of its own (an embedding
    program, a test), or outside the main thread, where no signal arrives.
    """
    if not _owns_stdin() or threading.current_thread() is not threading.main_thread():
        yield
        return
    source = os.dup(STDIN)
    reader, writer = os.pipe()
    os.dup2(reader, STDIN)
    os.close(reader)
    # A daemon: it may wait for the terminal forever, so the end of the process must not wait for it.
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
    """End the pipe by replacing it with the null device.

    If the descriptor were closed, another file could get its number while the pump still writes to it.
    """
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, writer)
        os.close(null)
