"""The body of a request, before the SDK reads it: how long it may be, how long it may take, and whether it is JSON."""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import dataclass, field
from typing import Final, Never

import anyio.to_thread
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmcp.server.transports.http_headers import refusal

BODY_SECONDS: Final = 20.0
"""Seconds within which a body must arrive, besides those that its size allows."""
BODY_RATE: Final = 16 * 1024
"""Bytes for which a body gets another second."""
ARRIVING: Final = 16
"""The bodies that arrive at the same time hold at most as many bytes as this number of the longest allowed."""
_INLINE: Final = 64 * 1024  # bytes; a longer body is not looked at on the event loop

_SUSPECT: Final = re.compile(rb"NaN|Infinity|[eE]\+?0*[1-9][0-9]{2}|(?<![0-9])[0-9]{200}")
"""What stands in every text with a number that is not finite; also in some others. The largest float has 309 digits
before the point: as many digits, or fewer and an exponent, of which two digits can stand for 99 more.
"""
_WIDEST: Final = 400  # bytes; no suspect is wider, but for zeros before an exponent


def number_fault(body: bytes) -> str | None:
    """Return what is wrong with the numbers of a JSON text: NaN and infinity, which JSON does not have.

    Python's readers accept them, and make infinity of a number such as 1e400. Other faults are not looked for.
    """
    if not _is_suspect(body):
        return None
    try:
        json.loads(body, parse_constant=_refuse, parse_float=_finite)
    except _NotFiniteError as error:
        return str(error)
    except (ValueError, RecursionError):
        return None  # the SDK refuses it
    return None


def _is_suspect(body: bytes) -> bool:
    # Piece by piece: one search holds the interpreter's lock, and the event loop, to its end.
    pieces = range(0, max(len(body), 1), _INLINE - _WIDEST)
    return any(_SUSPECT.search(body, start, start + _INLINE) is not None for start in pieces)


class _NotFiniteError(Exception):
    """A number that is not finite; not a ValueError, so that it is told from other faults of the text."""


def _refuse(word: str) -> Never:
    raise _NotFiniteError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _NotFiniteError(f"the number {digits[:20]} is too large")
    return value


@dataclass(eq=False)
class _Arriving:
    """A body of which the end has not come."""

    wait: asyncio.Timeout
    data: bytearray = field(default_factory=bytearray)
    given_up: bool = False


class BodyGuard:
    """An ASGI application that gets a request only with a whole body that is short, fast and finite enough.

    Where the bodies that arrive hold too much memory together, the one that began first is given up: one that drips.

    Args:
        app: The application.
        max_body_bytes: Maximum size of a body.
        seconds: Time for a body, besides a second for each `BODY_RATE` bytes that have arrived.
    """

    def __init__(self, app: ASGIApp, max_body_bytes: int, seconds: float = BODY_SECONDS) -> None:
        self.app = app
        self.max_body_bytes = max_body_bytes
        self._seconds = seconds
        self._arriving: dict[_Arriving, None] = {}  # the oldest first
        self._held = 0  # bytes in all of them

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose body can be accepted, and refuse any other."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        received = await self._received(_declared_length(scope), receive)
        if isinstance(received, JSONResponse):
            await received(scope, receive, send)
            return
        body = received[0]["body"]
        is_short = len(body) <= _INLINE
        fault = number_fault(body) if is_short else await anyio.to_thread.run_sync(number_fault, body)
        if fault is not None:
            await refusal(400, PARSE_ERROR, f"Parse error: {fault}.")(scope, receive, send)
            return
        messages = iter(received)

        async def replay() -> Message:
            return next(messages, None) or await receive()

        await self.app(scope, replay, send)

    async def _received(self, declared: bytes, receive: Receive) -> list[Message] | JSONResponse:
        """Return the body as one message, with what came instead of its end; or the refusal."""
        if declared.isdigit() and (len(declared) > 20 or int(declared) > self.max_body_bytes):
            return self._too_long()
        begun = asyncio.get_running_loop().time()
        body = _Arriving(asyncio.timeout_at(begun + self._seconds))
        self._arriving[body] = None
        try:
            async with body.wait:
                return await self._whole(body, begun, receive)
        except TimeoutError:
            if not body.wait.expired():  # not of this body
                raise
            if body.given_up:
                return _given_up()
            text = f"The request body did not arrive in time: {len(body.data):,} bytes in {self._seconds:g} seconds."
            return _closing(refusal(408, INVALID_REQUEST, text))
        finally:
            self._forget(body)

    async def _whole(self, body: _Arriving, begun: float, receive: Receive) -> list[Message] | JSONResponse:
        while True:
            message = await receive()
            if body.wait.expired():
                raise TimeoutError  # `receive` returned in spite of the cancellation
            if body.given_up:
                return _given_up()
            if message["type"] != "http.request":
                return [{"type": "http.request", "body": bytes(body.data), "more_body": True}, message]
            chunk = message.get("body", b"")
            if not body.data and len(chunk) <= self.max_body_bytes and not message.get("more_body", False):
                return [{"type": "http.request", "body": chunk, "more_body": False}]
            body.data += chunk
            self._held += len(chunk)
            if len(body.data) > self.max_body_bytes:
                return self._too_long()
            if not message.get("more_body", False):
                return [{"type": "http.request", "body": bytes(body.data), "more_body": False}]
            while self._held > self.max_body_bytes * ARRIVING:
                self._give_up(next(iter(self._arriving)))
            if body.given_up:
                return _given_up()
            body.wait.reschedule(begun + self._seconds + len(body.data) / BODY_RATE)

    def _give_up(self, body: _Arriving) -> None:
        self._forget(body)
        body.given_up = True
        if not body.wait.expired():
            body.wait.reschedule(0)

    def _forget(self, body: _Arriving) -> None:
        if body in self._arriving:
            del self._arriving[body]
            self._held -= len(body.data)
            body.data = bytearray()

    def _too_long(self) -> JSONResponse:
        text = f"The request body is longer than the {self.max_body_bytes:,} bytes this server accepts."
        return refusal(413, INVALID_REQUEST, text)


def _declared_length(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"content-length"), b"")


def _given_up() -> JSONResponse:
    text = "The server receives too many long request bodies at once. Send the request again later, and without pauses."
    response = refusal(503, INTERNAL_ERROR, text)
    response.headers["retry-after"] = "5"
    return _closing(response)


def _closing(response: JSONResponse) -> JSONResponse:
    response.headers["connection"] = "close"  # the rest of the body is not read
    return response
