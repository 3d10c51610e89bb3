"""Whatever a client writes to a server's standard input, the server lives and answers the next call."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.fuzzing import ANY_JSON, SECONDS, as_bytes, damaged, damaged_bytes, fuzzing
from support.served_app import VERSIONS, called

SERVER = """
from xmcp import XMCP
mcp = XMCP("fuzzed")
@mcp.tool
def look(where: str, deep: dict | None = None) -> str:
    return f"seen {where}"
mcp.serve("stdio")
"""
HONEST = {"where": "here", "deep": {"a": [1, 2.5, None]}}

LINES = st.one_of(
    *(damaged(st.just(called(era, "look", HONEST))).map(as_bytes) for era in VERSIONS),
    *(damaged_bytes(st.just(as_bytes(called(era, "look", HONEST)))) for era in VERSIONS),
    ANY_JSON.map(as_bytes),
    st.binary(max_size=40),
)


class Program:
    """A server that runs until the block ends, and the messages that it writes."""

    def __init__(self, era: str) -> None:
        self._era, self._number = era, 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._said: list[bytes] = []
        for stream, keep in ((self.process.stdout, self._lines.put), (self.process.stderr, self._said.append)):
            assert stream is not None
            threading.Thread(target=self._read, args=(stream, keep), daemon=True).start()
        if era == "handshake":
            client = {
                "protocolVersion": VERSIONS[era],
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }
            self.write(as_bytes({"jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": client}))
            self._answer_to("begin")
            self.write(as_bytes({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def _read(self, stream: Any, keep: Any) -> None:
        for line in stream:
            keep(line)

    @property
    def said(self) -> str:
        """What it wrote to standard error."""
        return b"".join(self._said).decode(errors="replace")

    def write(self, line: bytes) -> None:
        """Write a line, or several if there are line ends in it."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def _answer_to(self, number: str) -> Any:
        while True:
            message = json.loads(self._lines.get(timeout=SECONDS))  # each line it writes is a message
            if message.get("id") == number:
                return message

    def honest_call(self) -> Any:
        """Return the answer to a call as the specification wants it."""
        self._number += 1
        number = f"honest {self._number}"
        self.write(as_bytes(called(self._era, "look", HONEST, number)))
        return self._answer_to(number)


@pytest.fixture(scope="module", params=list(VERSIONS))
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    running = Program(request.param)
    try:
        yield running
    finally:
        assert running.process.stdin is not None
        running.process.stdin.close()
        running.process.wait(SECONDS)
        assert "Traceback" not in running.said


@pytest.mark.slow
@given(LINES)
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b'{"jsonrpc": "2.0", "id": 1' + b"0" * 5000 + b', "method": "tools/call"}')
@fuzzing(40)
def test_whatever_a_client_writes_the_next_call_is_answered(program: Program, line: bytes) -> None:
    program.write(line)
    assert "seen here" in str(program.honest_call()["result"]), program.said
