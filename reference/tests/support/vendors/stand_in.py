"""What all stand-ins have in common: they answer a script over HTTP, and keep what they were asked.

A subclass knows the wire format of its vendor: it reads a request, and writes an answer or a refusal.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, ClassVar, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from support.http_host import HttpHost
from xmcp.chat.errors import ErrorCategory
from xmcp.providers import LLMProvider
from xmcp.providers.contract import SECRET, Answer, Asked, BreaksOff, Feature, Hangs, Raw, Refusal, Scripted

PIECE: Final = 7
"""Bytes of a piece of a stream: characters and events are split across pieces."""

Words = Mapping[ErrorCategory, tuple[int, Any]]
"""The status and the body with which a vendor refuses."""


class StandIn:
    """A vendor (`xmcp.providers.contract.Vendor`), as an async context manager."""

    lacks: frozenset[Feature] = frozenset()
    models: tuple[str, ...] = ()
    malformed: tuple[Raw, ...] = ()
    provider: LLMProvider

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.bodies: list[Any] = []
        """The requests as they arrived."""
        self.headers: list[dict[str, str]] = []
        self.clients: set[Any] = set()
        """The addresses from which requests came: one for each connection."""
        self.left = 0
        self._script: list[Scripted] = [Answer("ok")]
        self._faults: list[Exception] = []
        self._host = HttpHost()
        self._closing = AsyncExitStack()

    # What a subclass knows.

    def make(self, url: str) -> LLMProvider:
        """Return a provider with the key `SECRET` that asks this address."""
        raise NotImplementedError

    def read(self, path: str, body: Any) -> Asked:
        """Return what a request says."""
        raise NotImplementedError

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """Return the status and the body with which the vendor refuses."""
        raise NotImplementedError

    def streamed(self, answer: Answer) -> bytes:
        """Return an answer as the vendor streams it."""
        raise NotImplementedError

    def begun(self, text: str) -> bytes:
        """Return the beginning of a stream, with this text."""
        raise NotImplementedError

    content_type: ClassVar[str] = "text/event-stream"

    # What all of them do.

    def answers(self, *answers: Scripted) -> None:
        """Say these from now on, one for each request; the last one is repeated."""
        self._script = list(answers)

    async def __aenter__(self) -> StandIn:
        await self._host.serve(self, lifespan="off")
        self._closing.push_async_callback(self._host.close)
        self.provider = self.make(self._host.url)
        if (close := getattr(self.provider, "aclose", None)) is not None:
            self._closing.push_async_callback(close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()
        if self._faults:
            raise ExceptionGroup("requests that the vendor does not understand", self._faults)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        body = await request.body()
        try:
            response = self._answer(request, json.loads(body) if body else None)
        except Exception as exc:
            self._faults.append(exc)
            response = JSONResponse({"error": {"message": "the stand-in does not understand this request"}}, 400)
        await response(scope, receive, send)

    def _answer(self, request: Request, body: Any) -> Response:
        if request.method == "GET":
            return JSONResponse(self.listed(request.url.path))
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.clients.add(request.client)
        self.asked.append(asked := self.read(request.url.path, body))
        scripted = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        match scripted:
            case Answer():
                return StreamingResponse(_in_pieces(self.streamed(scripted)), media_type=self.content_type)
            case Refusal():
                status, words = self.refused(scripted.category, asked.model)
                return JSONResponse(words, status, {"x-should-retry": "false"})
            case Raw():
                return Response(scripted.body, scripted.status, media_type=scripted.content_type)
            case BreaksOff() | Hangs():
                return StreamingResponse(self._unfinished(scripted), media_type=self.content_type)

    def listed(self, path: str) -> Any:
        """Return the models that the vendor has, in its format."""
        raise NotImplementedError(path)

    async def _unfinished(self, scripted: BreaksOff | Hangs) -> AsyncIterator[bytes]:
        yield self.begun(scripted.text)
        if isinstance(scripted, BreaksOff):
            await asyncio.sleep(0.05)
            raise ConnectionError("the contract breaks this connection")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.left += 1
            raise


async def _in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(body), PIECE):
        yield body[begin : begin + PIECE]
        if begin % 140 == 0:
            await asyncio.sleep(0)


def event(data: Any, name: str | None = None) -> bytes:
    """Return a server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return (
        head
        + b"data: "
        + (data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode())
        + b"\n\n"
    )


def halves(text: str) -> list[str]:
    """Return a text in two parts, without empty ones."""
    return [part for part in (text[: len(text) // 2], text[len(text) // 2 :]) if part]


QUOTED_KEY: Final = f"Incorrect API key provided: {SECRET}."
