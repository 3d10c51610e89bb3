"""What a server writes for people, in the log of the client: its log notifications, its stderr, the SDK's complaints.

All of it is text of a peer. It reaches the log in bounded lines and a bounded number of them, and nothing else; what is
left out is counted. `EventLog` makes control characters visible.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from xmcp.chat.untrusted_text import printable, without_secrets
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.telling_lines import MOST, telling_lines

if TYPE_CHECKING:
    from mcp_types import LoggingMessageNotificationParams

MAX_LINE: Final = 1000
"""Maximum number of characters of a line; of stderr, of bytes."""

MAX_LINES: Final = 100
"""Maximum number of lines that one connection writes to the log in `PERIOD`, from each of its sources."""

PERIOD: Final = 10.0
"""Seconds."""

TAIL_BYTES: Final = 16384
"""Bytes of stderr that are kept for `telling_lines`: a stack trace is long, and the error stands at its beginning."""

_READ_BYTES: Final = 65536

_LEVELS: Final = {"debug": "debug", "info": "info", "notice": "info"}
"""Levels of a server's notifications as levels of the log. All others are warnings: a server's failure is no error of
the client. The field `severity` has the server's word."""


class LineQuota:
    """Admits at most `MAX_LINES` in a `PERIOD` and counts the others. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends = 0.0
        self._left = 0
        self._refused = 0

    def room(self) -> int:
        """Return how many lines can be written now."""
        now = self._clock()
        if now >= self._ends:
            self._ends, self._left = now + PERIOD, MAX_LINES
        return self._left

    def take(self) -> bool:
        """Return whether one more line can be written now; it is counted either way."""
        if self.room():
            self._left -= 1
            return True
        self._refused += 1
        return False

    def refuse(self, lines: int) -> None:
        """Count lines that are left out."""
        self._refused += lines

    def refused(self) -> int:
        """Return how many lines were left out since the last time, once there is room again."""
        if not self.room():
            return 0
        return self.refused_at_the_end()

    def refused_at_the_end(self) -> int:
        """Return how many lines were left out since the last time."""
        refused, self._refused = self._refused, 0
        return refused


class ServerLog:
    """The log of one connection to a server. All of it is written on the event loop.

    Args:
        log: Of the server.
        clock: Returns seconds.
    """

    def __init__(self, log: EventLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._quotas = {"notifications": LineQuota(clock), "sdk": LineQuota(clock)}
        self._stderr: list[ChildStderr] = []

    async def notification(self, params: LoggingMessageNotificationParams) -> None:
        """Write a log notification: the level of the server, its name for the logger, and the data as text or JSON."""
        if self._admits("notifications"):
            write = getattr(self._log, _LEVELS.get(params.level, "warning"))
            name = None if params.logger is None else shortened(params.logger)
            write("server_log", severity=params.level, logger=name, text=shortened(as_line(params.data)))

    def sdk_record(self, record: logging.LogRecord) -> None:
        """Write a record of FastMCP or the SDK about this server, without its traceback."""
        if self._admits("sdk"):
            text = record.getMessage()
            if record.exc_info and record.exc_info[1] is not None:
                text = f"{text}: {record.exc_info[1]}"
            self._log.warning("server_sdk_log", logger=record.name, text=shortened(text))

    def child_stderr(self) -> ChildStderr:
        """Return a file for the stderr of a program; what the program writes to it is drained into the log."""
        loop, log = asyncio.get_running_loop(), self._log

        def on_loop(write: Callable[[], None]) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(write)

        lines = StderrLines(
            LineQuota(self._clock),
            lambda text: on_loop(partial(log.info, "server_stderr", text=text)),
            lambda left_out: on_loop(partial(_tell_left_out, log, "stderr", left_out)),
        )
        self._stderr.append(ChildStderr(lines))
        return self._stderr[-1]

    def drained(self, seconds: float) -> None:
        """Wait, after `close`, until all is read that programs wrote to stderr. Blocks: call it in a thread."""
        for stderr in self._stderr:
            stderr.drained(seconds)

    def telling_lines(self) -> str:
        """Return what the programs wrote to stderr about their failure, for an error message; empty if nothing."""
        lines = [line for stderr in self._stderr for line in stderr.telling_lines()]
        return " | ".join(lines[-MOST:])

    @property
    def has_program(self) -> bool:
        """Whether the server is a program whose stderr comes here."""
        return bool(self._stderr)

    def close(self) -> None:
        """Take no more; a program that goes on writing to stderr is still drained."""
        for source, quota in self._quotas.items():
            _tell_left_out(self._log, source, quota.refused_at_the_end())
        for stderr in self._stderr:
            stderr.close()

    def _admits(self, source: str) -> bool:
        quota = self._quotas[source]
        _tell_left_out(self._log, source, quota.refused())
        return quota.take()


class ChildStderr(io.FileIO):
    """The writing end of a pipe whose other end a thread reads until no process has it open any more.

    A thread, because a program that writes must never wait for this process, whatever its event loop is doing.
    """

    def __init__(self, lines: StderrLines) -> None:
        reading, writing = os.pipe()
        super().__init__(writing, "wb")
        self._lines = lines
        self._thread = threading.Thread(target=self._read, args=(reading,), name="xmcp stderr", daemon=True)
        self._thread.start()

    def drained(self, seconds: float) -> bool:
        """Wait for the end of the pipe; return whether it was reached."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def telling_lines(self) -> list[str]:
        """Return the lines written so far that say what went wrong."""
        return self._lines.telling()

    def _read(self, reading: int) -> None:
        try:
            while piece := os.read(reading, _READ_BYTES):
                self._lines.take(piece)
            self._lines.end()
        finally:
            os.close(reading)


class StderrLines:
    """Divides bytes into lines. A piece may end anywhere.

    Args:
        quota: How many lines are written.
        write: Called with each line that is.
        tell: Called with the number of lines that were left out since the last time, when there is room again.
    """

    def __init__(self, quota: LineQuota, write: Callable[[str], None], tell: Callable[[int], None]) -> None:
        self._quota = quota
        self._write = write
        self._tell = tell
        self._line = b""
        self._size = 0
        self._tail = b""

    def take(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._tail = (self._tail + piece[-TAIL_BYTES:])[-TAIL_BYTES:]
        if left_out := self._quota.refused():
            self._tell(left_out)
        *ended, rest = piece.split(b"\n", self._quota.room())
        for line in ended:
            self._add(line)
            self._end_line()
        if (last := rest.rfind(b"\n")) >= 0:  # more lines than there is room for
            self._quota.refuse(rest.count(b"\n"))
            self._line, self._size, rest = b"", 0, rest[last + 1 :]
        self._add(rest)

    def end(self) -> None:
        """Write the last line, even if it has no end."""
        self._end_line()
        if left_out := self._quota.refused_at_the_end():
            self._tell(left_out)

    def telling(self) -> list[str]:
        """Return the lines that say what went wrong: printable, short, and without credentials of URLs."""
        lines = telling_lines(self._tail.decode("utf-8", "replace").splitlines())
        return [printable(shortened(without_secrets(line.strip()), _QUOTED)) for line in lines]

    def _add(self, piece: bytes) -> None:
        self._line += piece[: MAX_LINE - len(self._line)]
        self._size += len(piece)

    def _end_line(self) -> None:
        line, size, self._line, self._size = self._line, self._size, b"", 0
        text = line.decode("utf-8", "replace").rstrip()
        if text and self._quota.take():
            cut = f" … ({size - len(line)} bytes left out)" if size > len(line) else ""
            self._write(text + cut)


_QUOTED: Final = 300


def shortened(text: str, limit: int = MAX_LINE) -> str:
    """Return `text`, or its beginning with a note of how much was left out."""
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text) - limit} characters left out)"


def as_line(data: Any) -> str:
    """Return what a server logs: a string as it is, anything else as the beginning of its JSON."""
    if isinstance(data, str):
        return data
    match data:
        case {"msg": str(text), "extra": None} if len(data) == 2:
            return text  # the form that FastMCP gives to every text, so also what a server of `xmcp` logs
    # Piece by piece, so that a large value costs no more than its beginning.
    return "".join(_until(json.JSONEncoder(ensure_ascii=False, default=str).iterencode(data), MAX_LINE))


def _until(pieces: Iterator[str], limit: int) -> Iterator[str]:
    """Yield pieces up to the one that exceeds `limit` characters."""
    size = 0
    for piece in pieces:
        yield piece
        size += len(piece)
        if size > limit:
            return


def _tell_left_out(log: EventLog, source: str, lines: int) -> None:
    if lines:
        log.warning("server_log_left_out", source=source, lines=lines, seconds=PERIOD)


# ---- records of FastMCP and the SDK ----

CURRENT: Final[ContextVar[ServerLog | None]] = ContextVar("xmcp_server_log", default=None)
"""The log of the connection that the running task belongs to."""


def instead_of(record: logging.LogRecord) -> bool:
    """Move a record about a server of a client to the log of that server: a filter of a library's logger.

    It returns whether the library's own handlers get the record: those that other users of the library cause, and
    those below a warning, which somebody asked for.
    """
    log = CURRENT.get()
    if log is None or record.levelno < logging.WARNING:
        return True
    log.sdk_record(record)
    return False


def of_nobody(_: logging.LogRecord) -> bool:
    """Drop a record about a server of a client, which repeats what is in its log: a filter of a library's logger."""
    return CURRENT.get() is None
