"""One worker as its parent sees it: a process, and a channel on which each says something once.

The parent says what to serve; the worker, that it serves or why it cannot. The end of the channel tells a worker that
its parent is gone, however it ended.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

_LONGEST_WORD: Final = 4 * 1024 * 1024
"""Bytes of what a worker says; it has the names of all models, which come from a file of 1 MB at most."""


class WorkerProcess:
    """A process that was started. Make it with `start`."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(cls, command: Sequence[str], told: Mapping[str, Any], listener: socket.socket) -> WorkerProcess:
        """Start a process that inherits a listener, and tell it what to serve.

        Args:
            command: The program; the number of the worker's end of the channel is added to it. Nothing else that the
                worker has to know stands there, since everybody on the machine can read it.
            told: What the worker reads first, besides the number of the listener: JSON.
            listener: Stays open in this process, too.

        Raises:
            OSError: no process can be started.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    str(theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), listener.fileno()),
                    # A terminal sends Ctrl-C to all processes of the command; to a worker it is its parent that does.
                    start_new_session=True,
                )
            reader, writer = await asyncio.open_connection(sock=ours, limit=_LONGEST_WORD)
        except BaseException:
            ours.close()  # which ends a process that has begun
            raise
        writer.write(json.dumps({**told, "listener": [listener.fileno(), listener.family]}).encode() + b"\n")
        return cls(process, reader, writer)

    async def first_word(self) -> Mapping[str, Any] | None:
        """Return what the worker says when it serves or cannot; `None` if it ends without a word."""
        try:
            said: Mapping[str, Any] = json.loads(await self._reader.readline())
        except (ConnectionError, ValueError):  # it ended before it had read all, or in the middle of its word
            return None
        return said

    def stop(self, *, at_once: bool) -> None:
        """Ask the worker to drain, or to end at once.

        By two signals: systemd sends SIGTERM to all processes of a service, so that a worker can get it twice.
        """
        self._send(signal.SIGINT if at_once else signal.SIGTERM)

    def kill(self) -> None:
        """End the worker without asking."""
        self._send(signal.SIGKILL)

    async def end(self, seconds: float | None = None) -> int:
        """Wait for the end, and return its exit code; after some seconds the worker is killed."""
        try:
            return await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            self.kill()
            return await self._process.wait()

    def close(self) -> None:
        """Give up the channel."""
        self._writer.close()

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
