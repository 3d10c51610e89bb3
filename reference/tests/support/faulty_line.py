"""Peers on the wire that break: an HTTP line whose answers are damaged, and a witness inside a tool that hangs.

Both are handlers for `http_host.listening`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from support.http_host import HttpHost, http_host, listening, never_answer
from support.mcp_servers import (
    DIGITS,
    MARK,
    UNREADABLE,
    Program,
    forged_document,
    stdio_command,
)

__all__ = [
    "DIGITS",
    "MARK",
    "UNREADABLE",
    "Answer",
    "HttpHost",
    "Line",
    "Program",
    "Witness",
    "forged_document",
    "http_host",
    "is_peers_task",
    "listening",
    "never_answer",
    "stdio_command",
]

HERE = Path(__file__)

TOO_MUCH = 40 << 20
"""Bytes; above the 32 MiB that a message may have."""


class Witness:
    """Learns from inside the tool `hang` that it began, and whether it was `cancelled` or just gone (empty)."""

    def __init__(self) -> None:
        self.port = 0
        self.began = asyncio.Event()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One run of the tool."""
        words = b""
        try:
            with suppress(ConnectionError):
                await reader.readline()
                self.began.set()
                words = await reader.read()
        finally:
            writer.close()
            if not self.ended.done():
                self.ended.set_result(words.decode())


@dataclass(frozen=True)
class Answer:
    """An HTTP answer of the server behind a `Line`, its body in one piece."""

    status: str
    headers: dict[str, str]
    body: bytes

    def written(self, *, status: str = "", body: bytes | None = None, **headers: str) -> bytes:
        """The answer as bytes, framed by its length, or with what is given in its place."""
        body = self.body if body is None else body
        fields = {**self.headers, "content-length": str(len(body))}
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "\r\n".join([f"HTTP/1.1 {status or self.status}", *(f"{k}: {v}" for k, v in fields.items()), "", ""])
        return head.encode() + body

    def event(self) -> bytes:
        """The body as one server-sent event, also where it was JSON."""
        streamed = self.headers.get("content-type", "").startswith("text/event-stream")
        return self.body if streamed else b"event: message\ndata: " + self.body + b"\n\n"


Fault: TypeAlias = Callable[[Answer], bytes | None]
"""What is sent in the place of an answer before the connection is closed; `None`: nothing, and it stays open."""


def half_a_body(answer: Answer) -> bytes:
    """Says how long the body is and sends half of it."""
    data = answer.written()
    return data[: len(data) - len(answer.body) // 2]


def half_an_event(answer: Answer) -> bytes:
    """A stream that ends in order, in the middle of an event."""
    half = answer.event()[: len(answer.event()) // 2]
    return answer.written(body=half, content_type="text/event-stream")


def broken_stream(answer: Answer) -> bytes:
    """A stream that breaks off in the middle of an event."""
    event = answer.event()
    return answer.written(body=event, content_type="text/event-stream")[: -len(event) // 2]


def nothing_at_all(_: Answer) -> bytes:
    """Closed without a byte."""
    return b""


def no_json(answer: Answer) -> bytes:
    """A success whose body is something else."""
    return answer.written(body=f"<p>{MARK}</p>".encode(), content_type="application/json")


def a_page(answer: Answer) -> bytes:
    """A success that is a page, as captive portals answer."""
    return answer.written(body=f"<p>{MARK}</p>".encode(), content_type="text/html")


def an_event_of_no_json(answer: Answer) -> bytes:
    """A stream in order, whose one event is something else."""
    return answer.written(body=f"event: message\ndata: <p>{MARK}</p>\n\n".encode(), content_type="text/event-stream")


def only_accepted(answer: Answer) -> bytes:
    """Says that no answer will follow."""
    return answer.written(status="202 Accepted", body=b"")


def elsewhere(answer: Answer) -> bytes:
    """Sends the client to another host."""
    return answer.written(status="307 Temporary Redirect", body=b"", location=f"http://{MARK}.invalid/mcp")


def a_gateways_page(answer: Answer) -> bytes:
    """What a proxy says when the server behind it is down."""
    page = f"<html><h1>502 Bad Gateway</h1>{MARK} at /etc/nginx/conf.d</html>".encode()
    return answer.written(status="502 Bad Gateway", body=page, content_type="text/html")


def an_answer_to_another(answer: Answer) -> bytes:
    """In order in every way, but the id is not the request's."""
    return answer.written(body=re.sub(rb'"id": ?[^,}]+', b'"id":987654', answer.body, count=1))


def compressed(answer: Answer) -> bytes:
    """A body of a megabyte that becomes a gigabyte's worth when it is decompressed: here 64 MiB, which is enough."""
    body = gzip.compress(answer.body[:-2] + b" " * (64 << 20) + answer.body[-2:], 9)
    return answer.written(body=body, content_encoding="gzip")


def a_body_without_an_end(answer: Answer) -> bytes:
    """A body of JSON that says no length and has more than anybody reads."""
    return _unframed("application/json") + b'{"jsonrpc":"2.0","id":1,"result":{"x":"' + b"x" * TOO_MUCH


def a_body_that_says_it_is_too_large(answer: Answer) -> bytes:
    """Says a length that nobody reads, and sends nothing of it."""
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n"


def a_body_of_nothing_but_brackets(answer: Answer) -> bytes:
    """A body that is small for its bytes, and has a million arrays."""
    body = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"x":[' + b"[]," * 1_000_000 + b"0]}}}"
    return answer.written(body=body, content_type="application/json")


def an_event_of_nothing_but_brackets(answer: Answer) -> bytes:
    """The same as a server-sent event."""
    event = b"data: " + a_body_of_nothing_but_brackets(answer).partition(b"\r\n\r\n")[2] + b"\n\n"
    return answer.written(body=event, content_type="text/event-stream")


def a_body_of_very_many_blocks(answer: Answer) -> bytes:
    """A result of ten thousand texts."""
    blocks = b",".join([b'{"type":"text","text":"a"}'] * 10_000)
    return answer.written(body=re.sub(rb'"result": ?\{.*\}', b'"result":{"content":[' + blocks + b"]}}", answer.body))


def an_error_without_an_end(answer: Answer) -> bytes:
    """The same with the status of an error."""
    return a_body_without_an_end(answer).replace(b" 200 OK", b" 400 Bad Request", 1)


def an_event_without_an_end(answer: Answer) -> bytes:
    """A stream whose one event has more than anybody reads."""
    return _unframed("text/event-stream") + b'data: {"jsonrpc":"2.0","id":1,"result":{"x":"' + b"x" * TOO_MUCH


def a_flood_of_notifications(answer: Answer) -> bytes:
    """A stream of notifications: also on a slow machine more than are allowed while they are read."""
    one = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n'
    return _unframed("text/event-stream") + one * 200_000


def a_flood_of_comments(answer: Answer) -> bytes:
    """A stream that keeps its reader busy with nothing."""
    return _unframed("text/event-stream") + b":\n" * 200_000


def a_flood_of_requests(answer: Answer) -> bytes:
    """A stream of pings, each of which has to be answered."""
    pings = b"".join(b'data: {"jsonrpc":"2.0","id":"p%d","method":"ping"}\n\n' % n for n in range(2_000))
    return _unframed("text/event-stream") + pings


def _unframed(content_type: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n".encode()


def silence(_: Answer) -> None:
    """No answer, ever."""


@dataclass
class Line:
    """An HTTP line to a server on a port. Answers to the method `at` break by `faults`, one each; `None`: unharmed."""

    upstream: int
    port: int = 0
    at: str = "tools/call"
    faults: deque[Fault | None] = field(default_factory=deque)
    methods: list[str] = field(default_factory=list)
    """MCP methods as they came."""
    reused: list[bool] = field(default_factory=list)
    """For each, whether it came on a connection that had served before."""
    encodings: set[str] = field(default_factory=set)
    """The `Accept-Encoding` of all requests; empty for a request without one."""
    _idle: set[asyncio.StreamWriter] = field(default_factory=set)

    def url(self, which: str = "fragile") -> str:
        """Where a server is, through this line."""
        return f"http://127.0.0.1:{self.port}/{which}/mcp"

    async def close_idle(self) -> int:
        """Close every connection that waits for its next request, as servers do after a while; how many there were."""
        idle = [*self._idle]
        for writer in idle:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in idle), return_exceptions=True)
        return len(idle)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the client's."""
        served = 0
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    if served:
                        self._idle.add(writer)
                    head = await reader.readuntil(b"\r\n\r\n")
                    self._idle.discard(writer)
                    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                    body = await reader.readexactly(int(length[1])) if length else b""
                    method = json.loads(body).get("method", "") if body else head.split(b" ", 1)[0].decode()
                    self.methods.append(method)
                    self.reused.append(served > 0)
                    accepted = re.search(rb"(?i)\r\naccept-encoding: *([^\r]*)", head)
                    self.encodings.add(accepted[1].decode() if accepted else "")
                    served += 1
                    fault = self.faults.popleft() if method == self.at and self.faults else None
                    if head.startswith(b"GET"):
                        # The stream of the handshake era is optional, and answers are all this line carries.
                        answer = Answer("405 Method Not Allowed", {"allow": "POST, DELETE"}, b"")
                    else:
                        answer = await self._ask(head, body)
                    if fault is None:
                        writer.write(answer.written())
                        await writer.drain()
                        continue
                    if (data := fault(answer)) is None:
                        await reader.read()
                        return
                    writer.write(data)
                    await writer.drain()
                    return
        finally:
            self._idle.discard(writer)
            writer.close()

    async def _ask(self, head: bytes, body: bytes) -> Answer:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        try:
            head = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head)
            writer.write(head[:-2] + b"connection: close\r\n\r\n" + body)
            top, _, rest = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        status, *lines = top.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        if "chunked" in headers.pop("transfer-encoding", ""):
            rest = _dechunked(rest)
        for name in ("content-length", "connection"):
            headers.pop(name, None)
        return Answer(status.partition(" ")[2], headers, rest)


def _dechunked(data: bytes) -> bytes:
    whole = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        whole, data = whole + data[:length], data[length + 2 :]
    return whole


def is_peers_task(task: asyncio.Task[Any]) -> bool:
    """Return whether a task runs a coroutine of this folder, and so is no client's."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and Path(code.co_filename).parent == HERE.parent
