"""Shared by several parts: a loopback server that speaks the chat-completions format from a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

Call = tuple[str, str, str]
"""Id, name and arguments of a tool call, as a model writes them."""


@dataclass
class Reply:
    """One HTTP answer. `pieces` go out one chunk each; `None` breaks the connection there, an event is waited for."""

    pieces: list[bytes | asyncio.Event | None] = field(default_factory=list)
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


class Replies:
    """Ways to answer, by the format's own words."""

    @staticmethod
    def usage(prompt: int = 10, completion: int = 5, cached: int = 2) -> dict[str, Any]:
        details = {"cached_tokens": cached}
        return {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details}

    @staticmethod
    def event(value: Any) -> bytes:
        return b"data: " + json.dumps(value).encode() + b"\n\n"

    @classmethod
    def delta(cls, finish: str | None = None, **delta: Any) -> bytes:
        return cls.event({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    @classmethod
    def streamed(cls, text: str = "", calls: Iterable[Call] = (), finish: str | None = None) -> Reply:
        """A stream: text in two deltas, each call's arguments in two, usage, `[DONE]`."""
        calls, half = list(calls), len(text) // 2
        pieces = [cls.delta(role="assistant", content="")]
        pieces += [cls.delta(content=part) for part in (text[:half], text[half:]) if part]
        for index, (id_, name, arguments) in enumerate(calls):
            cut = len(arguments) // 2
            function = {"name": name, "arguments": arguments[:cut]}
            pieces.append(cls.delta(tool_calls=[{"index": index, "id": id_, "type": "function", "function": function}]))
            pieces.append(cls.delta(tool_calls=[{"index": index, "function": {"arguments": arguments[cut:]}}]))
        pieces.append(cls.delta(finish or ("tool_calls" if calls else "stop")))
        pieces.append(cls.event({"model": "m-1", "choices": [], "usage": cls.usage()}))
        return Reply([*pieces, b"data: [DONE]\n\n"])

    @classmethod
    def whole(cls, text: str | None = None, calls: Iterable[Call] = (), finish: str | None = None) -> Reply:
        """One JSON document, as a server answers that does not stream."""
        listed = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls
        ]
        message = {"role": "assistant", "content": text} | ({"tool_calls": listed} if listed else {})
        choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if listed else "stop")}
        return cls.json({"model": "m-1", "choices": [choice], "usage": cls.usage()})

    @classmethod
    def json(cls, value: Any, status: int = 200, **headers: str) -> Reply:
        return Reply([json.dumps(value).encode()], status, "application/json", headers)

    @classmethod
    def error(cls, status: int, message: str, code: str | None = None) -> Reply:
        # The header keeps the SDK from waiting between its retries.
        error = {"message": message, "type": "error", "code": code}
        return cls.json({"error": error}, status, **{"retry-after-ms": "1"})


class ChatServer:
    """Answers the nth request with the nth reply, the last one from then on; or as a function of the request says."""

    reply = Replies

    def __init__(self) -> None:
        self.replies: list[Reply] | Callable[[dict[str, Any]], Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.connections = 0
        self.left = asyncio.Event()
        """Set when a client hangs up in the middle of a reply that waits."""
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    await self._answer(reader, writer)
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.paths.append(head[0].split(" ")[1])
        self.headers.append(headers)
        self.bodies.append(body)
        self.requests.append(json.loads(body))
        if callable(self.replies):
            reply = self.replies(self.requests[-1])
        else:
            reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        lines = [f"HTTP/1.1 {reply.status} X", f"content-type: {reply.content_type}", "transfer-encoding: chunked"]
        lines += [f"{key}: {value}" for key, value in reply.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for piece in reply.pieces:
            if piece is None:
                writer.transport.abort()
                raise ConnectionError
            if isinstance(piece, asyncio.Event):
                await self._wait(piece, reader)
                continue
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _wait(self, event: asyncio.Event, reader: asyncio.StreamReader) -> None:
        hung_up, went_on = asyncio.create_task(reader.read(1)), asyncio.create_task(event.wait())
        await asyncio.wait({hung_up, went_on}, return_when=asyncio.FIRST_COMPLETED)
        went_on.cancel()
        if hung_up.cancel():
            return
        self.left.set()
        raise ConnectionError


@pytest.fixture
async def chat_server() -> AsyncIterator[ChatServer]:
    """A `ChatServer` on a free port; its `url` is what `base_url` takes."""
    server = ChatServer()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(server.serve(reader, writer)))

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    yield server
    listener.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
