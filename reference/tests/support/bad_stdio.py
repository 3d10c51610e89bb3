"""Stand between a client and the suite's miniature over stdio, and misbehave: `python bad_stdio.py MODE [AFTER]`.

It passes lines on, and after so many `tools/call` requests does what its mode says.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

MODES = ("hangs", "crashes", "floods", "out-of-order", "leaks-descriptors", "ignores-sigterm", "babbles", "notifies")
_FLOOD = 64 * 1024 * 1024


class Line:
    """The line between a client and a server. `calls` counts the calls that went through."""

    def __init__(self, mode: str, after: int) -> None:
        self._mode = mode
        self._after = after
        self._calls = 0
        self._waiting: list[bytes] = []
        self._kept: list[BinaryIO] = []
        self._lock = threading.Lock()

    def to_server(self, line: bytes, pass_on: Callable[[bytes], None]) -> None:
        """Take a line of the client."""
        if b'"tools/call"' in line:
            self._calls += 1
            if self._mode == "leaks-descriptors":
                self._kept.append(open(os.devnull, "rb"))  # noqa: SIM115 - never closed, on purpose
            if self._calls > self._after and self._mode == "hangs":
                return
            if self._calls > self._after and self._mode == "crashes":
                sys.stderr.write("panic: runtime error: the disk is gone\n")
                sys.stderr.flush()
                os._exit(70)
            if self._calls > self._after and self._mode == "floods":
                sys.stdout.buffer.write(b"x" * _FLOOD + b"\n")
        pass_on(line)

    def to_client(self, line: bytes) -> None:
        """Take a line of the server."""
        if self._mode == "out-of-order" and b'"id"' in line:
            with self._lock:
                self._waiting.append(line)
            threading.Timer(0.02, self._send_backwards).start()
            return
        if self._mode == "babbles":
            sys.stdout.buffer.write(b"DEBUG about to answer\n")
        if self._mode == "notifies":
            sys.stdout.buffer.write(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":17}}\n')
        self._send(line)

    def _send_backwards(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
            for line in reversed(waiting):
                self._send(line)

    def _send(self, line: bytes) -> None:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def main() -> None:
    """Run until the client closes the line, or longer, where the mode is to ignore that."""
    mode, after = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    if mode == "ignores-sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server = subprocess.Popen(
        [sys.executable, "-m", "xmcp_conformance.mutants"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    line, to_server, from_server = Line(mode, after), server.stdin, server.stdout

    def pass_on(data: bytes) -> None:
        to_server.write(data)
        to_server.flush()

    def answers() -> None:
        for data in from_server:
            line.to_client(data)

    threading.Thread(target=answers, daemon=True).start()
    for data in sys.stdin.buffer:
        json.loads(data)  # the suite sends one message a line
        line.to_server(data, pass_on)
    if mode == "ignores-sigterm":
        time.sleep(600)
    server.kill()


if __name__ == "__main__":
    main()
