"""The one scripted model of the tests, in the same process (`ScriptedModel`) or as a loopback server (`ChatServer`).

The product has a scripted provider of its own for demonstrations. This one also records what it is asked, fails,
hangs, and breaks off in the middle; as a server it speaks the chat-completions format, so that the real SDK asks it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xmcp.providers import Completion, ModelRequest, ToolCall

Answer: TypeAlias = Any
"""What a model says when it is asked once.

- a `Completion`: its text in one piece, and the completion; a text: the same of a completion with this text;
- an exception: it is raised at once;
- a list of pieces: texts and a `Completion`, sent as they are; an exception among them is raised at its place, and an
  async function without parameters (`clock.never`) is awaited there;
- a function of the `ModelRequest`, sync or async: any of the above; or an async generator of pieces.
"""


class ScriptedModel:
    """A provider that says one answer after the other, and from then on `then`; it keeps all requests."""

    max_context_tokens: int | None = None

    def __init__(
        self, *answers: Answer, then: Answer = "end", name: str = "model", supports_tools: bool = True
    ) -> None:
        self.answers = list(answers)
        self.then = then
        self.name = name
        self.supports_tools = supports_tools
        self.requests: list[ModelRequest] = []
        self.asked = asyncio.Event()

    def __repr__(self) -> str:  # what a failing property test shows
        return f"ScriptedModel(*{self.answers})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        """See `LLMProvider.stream`."""
        self.requests.append(request)
        self.asked.set()
        answer = self.answers.pop(0) if self.answers else self.then
        while callable(answer):
            answer = answer(request)
            if inspect.isawaitable(answer):
                answer = await answer
        if isinstance(answer, AsyncGenerator):
            async with aclosing(answer):
                async for piece in answer:
                    yield piece
            return
        for piece in _pieces(answer):
            if isinstance(piece, Exception):
                raise piece
            if callable(piece):
                await piece()
            else:
                yield piece


def _pieces(answer: Answer) -> list[Any]:
    if isinstance(answer, list):
        return answer
    if isinstance(answer, str):
        answer = Completion(answer)
    return [answer.text, answer] if isinstance(answer, Completion) and answer.text else [answer]


def asks(*calls: tuple[str, Mapping[str, Any] | str] | str, text: str = "") -> Completion:
    """Return a completion with calls: names, or pairs of a name and arguments. Their ids are c0, c1, ..."""
    pairs = [(call, {}) if isinstance(call, str) else call for call in calls]
    return Completion(
        text,
        tuple(
            ToolCall(f"c{i}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
            for i, (name, arguments) in enumerate(pairs)
        ),
        "tool_calls",
    )


Call = tuple[str, str, str]
"""Id, name and arguments of a tool call, as a model writes them."""


@dataclass
class Reply:
    """One HTTP answer. Each piece is a chunk; None breaks the connection at its place, an event is waited for."""

    pieces: list[bytes | asyncio.Event | None] = field(default_factory=list)
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


class Replies:
    """Answers in the chat-completions format."""

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
        """Return a stream: text in two deltas, each call's arguments in two, usage, `[DONE]`."""
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
        """Return one JSON document, as a server answers that does not stream."""
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
    """A model behind HTTP: the nth request gets the nth reply, or the last one; or what a function of it returns."""

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
        """Answer the requests of one connection; a handler for `HttpHost.accept`."""
        self.connections += 1
        while True:
            await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.paths.append(head[0].split(" ")[1])
        self.headers.append(headers)
        self.bodies.append(body)
        self.requests.append(json.loads(body) if body else {})
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
            await asyncio.wait({hung_up})  # or the next request on this connection could not be read
            return
        self.left.set()
        raise ConnectionError
