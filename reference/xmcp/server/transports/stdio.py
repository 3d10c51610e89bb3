"""MCP over stdio, with a standard input that a signal can end, and a standard output that nothing else is written to.

The SDK reads stdin in a thread, and a thread that waits for a terminal keeps the process alive: Ctrl-C on a stdio
server would do nothing until the user presses return. So a pipe replaces stdin, and Ctrl-C or SIGTERM closes the pipe.
To the server this looks as if its client hung up: calls get their grace, and it ends normally.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from fastmcp import FastMCP

from xmcp.server.fastmcp_internals.dispatch import streams_replaced
from xmcp.server.transports.ending import AT_ONCE, CLEANUP, GRACE, Ending
from xmcp.server.transports.stdio_streams import watched
from xmcp.server.transports.stop_signals import stop_signals

logger: Final = logging.getLogger("xmcp.server")

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
CHUNK: Final = 64 * 1024  # bytes; the capacity of a pipe


def serve_stdio(server: FastMCP[Any], *, grace: float = GRACE, log_level: str | None = "WARNING") -> None:
    """Run any FastMCP server over stdio until its client hangs up, or Ctrl-C or SIGTERM arrives.

    `grace` is the time in seconds in which calls that are under way may finish then; a second signal ends it at once.
    """
    ending = Ending()
    with stdout_diverted():
        sys.stdout.flush()  # what was printed so far is no message
    try:
        with (
            suppress(KeyboardInterrupt),
            interruptible_stdin(ending),
            answering_after_the_end(server, grace, ending),
        ):
            server.run("stdio", show_banner=False, log_level=log_level)
    finally:
        ending.returned()


@contextmanager
def answering_after_the_end(server: FastMCP[Any], grace: float, ending: Ending | None = None) -> Iterator[None]:
    """Have `server` answer what it has read when its standard input ends, within `grace` seconds.

    A client that is gone, and reads no answer any more, ends the server like any other end.
    """
    own_ending = ending or Ending()
    input_ended = partial(own_ending.within, grace + CLEANUP) if _owns_process() else _nothing
    with streams_replaced(server, partial(watched, grace=grace, ended=input_ended)):
        try:
            yield
        except* BrokenPipeError:
            logger.warning("The client closed its side before it had read every answer.")
        finally:
            if ending is None:
                own_ending.returned()


@contextmanager
def stdout_diverted() -> Iterator[None]:
    """Let everything that is written to file descriptor 1 meanwhile, also by child processes, go to stderr."""
    try:
        kept = os.dup(STDOUT)
    except OSError:  # there is no stdout
        yield
        return
    with suppress(OSError):
        os.dup2(STDERR, STDOUT)
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(kept, STDOUT)
        os.close(kept)


@contextmanager
def interruptible_stdin(ending: Ending) -> Iterator[None]:
    """Read file descriptor 0 through a pipe that the first Ctrl-C or SIGTERM closes, for the duration of the context.

    A second signal interrupts, and `ending` sees to it that this ends the process. Nothing is changed if the process
    is not this server's own.
    """
    if not _owns_process():
        yield
        return
    source = os.dup(STDIN)
    reader, writer = os.pipe()
    os.dup2(reader, STDIN)
    os.close(reader)
    # A daemon: it may wait for the terminal forever, so the end of the process must not wait for it.
    threading.Thread(target=_pump, args=(source, writer), name="xmcp stdin", daemon=True).start()

    try:
        with stop_signals(first=partial(_hang_up, writer), second=partial(ending.within, AT_ONCE)):
            yield
    finally:
        os.dup2(source, STDIN)


def _nothing() -> None:
    pass


def _owns_process() -> bool:
    """Tell whether the process has a stdin (an embedding program or a test may have none), and this its main thread."""
    try:
        has_stdin = sys.stdin.fileno() == STDIN
    except (AttributeError, OSError, ValueError):
        return False
    return has_stdin and threading.current_thread() is threading.main_thread()


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
