"""The wires to a server under test, with a bound for everything that comes over them.

A server that is judged may be broken or hostile: one megabyte of compressed body can become gigabytes, a line or a
body may have no end, and a flood of notifications keeps a core busy. What crosses a bound is not read, the connection
ends, and `Bounds.fault` says why.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import anyio
import httpx2
import mcp_types
from mcp.client import stdio as sdk
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from xmcp_conformance.core.untrusted_text import quoted

from .command_process import CommandProcess
from .exchange import LIMITS_RATE

MAX_MESSAGE_BYTES: Final = 32 * 1024 * 1024
"""Maximum size of a message: a body, an event or a line. A document may have 8 MiB (section 2.6), with its data."""

MAX_UNASKED: Final = 10_000
"""Maximum number of messages between two answers to the suite's own requests."""

MAX_STREAM_LINES: Final = 3 * MAX_UNASKED
"""Maximum number of lines in a stream of events, of which one has three."""

_LINE_BYTES: Final = 1_600
"""Bytes of a line that is no message that are kept: more than a report quotes of it."""

LONGEST_WAIT: Final = 30.0
"""Maximum number of seconds that the suite waits at once for an endpoint that limits the rate."""

_MOST_WAITS: Final = 10
"""Maximum number of times that it waits for one request."""

RATE_LIMITED: Final = -32099
"""The code of the error that stands for an answer which an endpoint that limits the rate did not let through."""

_OPENING_METHODS: Final = ("initialize", "server/discover")
_GONE: Final = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)
_FLUSH_SECONDS: Final = 0.5
_DRAIN_BYTES: Final = 16 * 1024 * 1024


@dataclass(slots=True)
class Stray:
    """What a peer sent that answers no call: the number of each kind, and the first of what MCP does not allow."""

    lines: int = 0
    first_line: str = ""
    messages: int = 0
    first_message: str = ""
    limited: int = 0
    """How often the endpoint said that it limits the rate (HTTP 429)."""

    def add_line(self, line: bytes) -> None:
        """Note a line on the standard output of a command that is no message; an empty one is none."""
        if line.strip():
            self.lines += 1
            self.first_line = self.first_line or line[:_LINE_BYTES].decode("utf-8", "replace").strip()

    def add_message(self, method: str, version: str, fault: str) -> None:
        """Note a notification or a request of the server that is not valid in the version of MCP."""
        self.messages += 1
        self.first_message = self.first_message or f"`{quoted(method)}` in MCP {version}, {fault}"

    def notes(self) -> Iterator[str]:
        """Yield what a person should know of them, as sentences."""
        if self.lines:
            lines = (
                f"1 line to stdout that is not MCP: `{quoted(self.first_line)}`"
                if self.lines == 1
                else f"{self.lines} lines to stdout that are not MCP, first `{quoted(self.first_line)}`"
            )
            yield f"The server wrote {lines}; print to stderr."
        if self.messages == 1:
            yield f"The server sent a message that MCP does not allow: {self.first_message}."
        elif self.messages:
            yield f"The server sent {self.messages} messages that MCP does not allow, first {self.first_message}."
        if self.limited:
            times = "once" if self.limited == 1 else f"{self.limited} times"
            yield f"The endpoint limited the rate (HTTP 429) {times}, so the suite waited; --rate N makes fewer calls."


class Bounds:
    """The bounds of one connection, and the first that was crossed."""

    def __init__(self, stray: Stray | None = None) -> None:
        self.stray = stray or Stray()

    asked: int = 0
    """How many requests a command has not answered."""

    sent: int = 0
    """How many requests have left."""

    fault: str = ""
    """What the server did, in words that follow "The server "; empty while it keeps the bounds."""

    limits_rate: bool = False
    """Whether a request was refused (HTTP 429) more often, or for longer, than the suite waits."""

    wants_credentials: bool = False
    """Whether it has answered with status 401, which the SDK does not tell from other refusals."""

    def crossed(self, what: str) -> OutOfBounds:
        """Note that the server crossed a bound; return the exception that ends the connection."""
        self.fault = self.fault or what
        return OutOfBounds(what)

    def too_large(self) -> OutOfBounds:
        """Note a message above `MAX_MESSAGE_BYTES`."""
        return self.crossed(f"sends a message of more than {MAX_MESSAGE_BYTES // 2**20} MiB, which is not read")

    def flood(self) -> OutOfBounds:
        """Note more than `MAX_UNASKED` messages without an answer."""
        return self.crossed("floods the connection with messages that nobody asked for")


class OutOfBounds(httpx2.SSEError):
    """A bound was crossed. Derived from the error that the SDK expects of a stream."""


def http_wire(url: str, bounds: Bounds, headers: Sequence[tuple[str, str]] = ()) -> Any:
    """Return the transport for a streamable HTTP endpoint, with headers that each request has."""

    async def ask_uncompressed(request: httpx2.Request) -> None:
        request.headers["accept-encoding"] = "identity"
        bounds.sent += 1

    async def bound(response: httpx2.Response) -> None:
        bounds.wants_credentials |= response.status_code == 401
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            raise bounds.crossed(
                f"compresses its answers ({encoding[:20]}), although the suite asks for none that are; "
                "switch compression off at the server or the proxy before it"
            )
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        response.encoding = "utf-8"  # as events are; the header may name any codec of Python
        response.stream = _BoundedBody(response.stream, bounds, events=events)

    @asynccontextmanager
    async def streams() -> AsyncIterator[Any]:
        # The time limits of the SDK's own client; the suite limits the wait for an answer.
        client = _Client(timeout=httpx2.Timeout(30, read=300), headers=list(headers))
        client.bounds = bounds
        client.event_hooks["request"].append(ask_uncompressed)
        client.event_hooks["response"].append(bound)
        async with (
            client,
            # The bound of the whole stream comes first and names the fault.
            streamable_http_client(url, http_client=client, max_sse_event_size=2 * MAX_MESSAGE_BYTES) as pair,
        ):
            yield pair

    return streams()


class _Client(httpx2.AsyncClient):
    """Answers a POST whose answer cannot be read with a JSON-RPC error; the SDK would end the suite's own task.

    A request that is refused because the rate is limited is sent again when the endpoint says: who stands before a
    server, such as a proxy, refuses it with a status and no error of the server.
    """

    bounds: Bounds

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await self._sent(request, **options)
            if response.status_code == httpx2.codes.TOO_MANY_REQUESTS and not _opens(request):
                await response.aclose()
                return _no_answer(request, RATE_LIMITED, LIMITS_RATE)
            json_body = response.headers.get("content-type", "").lower().startswith("application/json")
            if request.method == "POST" and (json_body or response.has_redirect_location):
                await _read(response)
            return response
        except httpx2.TransportError as error:
            # The requests that open a session raise: the SDK would take an answer for that of an older server.
            if _opens(request):
                raise
            return _no_answer(request, mcp_types.CONNECTION_CLOSED, f"{type(error).__name__}: {error}")

    async def _sent(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        for _ in range(_MOST_WAITS):
            response = await super().send(request, **options)
            if response.status_code != httpx2.codes.TOO_MANY_REQUESTS:
                return response
            self.bounds.stray.limited += 1
            wait = retry_after(response.headers.get("retry-after", ""))
            if wait > LONGEST_WAIT:
                break
            await response.aclose()
            await anyio.sleep(wait)
        self.bounds.limits_rate = True
        return response


def _opens(request: httpx2.Request) -> bool:
    """Return whether the request opens a session, or a stream of it, and is no call."""
    return request.method != "POST" or json.loads(request.content).get("method") in _OPENING_METHODS


def _no_answer(request: httpx2.Request, code: int, message: str) -> httpx2.Response:
    reply = {"code": code, "message": message}
    return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": reply}, request=request)


def retry_after(value: str) -> float:
    """Return the seconds of a header `Retry-After`: a number of seconds or a date; 1 where it says neither."""
    if value.isdecimal() and value.isascii():
        return float(value[:9])
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return 1.0
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


async def _read(response: httpx2.Response) -> None:
    try:
        await response.aread()
    except BaseException:
        await response.aclose()
        raise


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer; of `events`, also their number is bounded."""

    def __init__(self, stream: Any, bounds: Bounds, *, events: bool) -> None:
        self._stream = stream
        self._bounds = bounds
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = lines = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MAX_MESSAGE_BYTES:
                raise self._bounds.too_large()
            if self._events:
                lines += max(piece.count(b"\n"), piece.count(b"\r"))
                if lines > MAX_STREAM_LINES:
                    raise self._bounds.flood()
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def stdio_wire(start: Callable[[], Awaitable[CommandProcess]], bounds: Bounds) -> AsyncIterator[tuple[Any, Any]]:
    """Run a command; yield the streams of the messages from it and to it. It has ended when the block has.

    The SDK's client for commands keeps a line of any length, and joins it again for each piece that arrives.

    Raises:
        PeerUnavailable: there is no such program.
        OSError: it cannot be started.
    """
    started = await start()
    process = started.process
    # No `await` until the task group is entered: a cancellation in between would leave the command running.
    arriving, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, leaving = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()

    async def read() -> None:
        async with arriving:
            try:
                await _hand_on(process, arriving, bounds)
            except OutOfBounds:
                await sdk._terminate_process_tree(process)
                return
            except anyio.BrokenResourceError:
                pass  # the session is over
        # So that a command that still writes can end by itself, but not for ever.
        left = _DRAIN_BYTES
        with suppress(*_GONE):
            while left > 0:
                left -= len(await process.stdout.receive())

    async def write() -> None:
        try:
            async with leaving:
                async for message in leaving:
                    if isinstance(message.message, mcp_types.JSONRPCRequest):
                        bounds.asked += 1
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(line.encode() + b"\n")
                    bounds.sent += 1
        except _GONE:
            await arriving.aclose()
        finally:
            written.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                incoming.close()
                outgoing.close()
                with anyio.move_on_after(_FLUSH_SECONDS):
                    await written.wait()
                await started.stop()
                arriving.close()
                leaving.close()
            tasks.cancel_scope.cancel()


async def _hand_on(process: Any, arriving: Any, bounds: Bounds) -> None:
    """Hand on the messages that a command writes, until it ends.

    Raises:
        OutOfBounds: a line is too long, or there are too many between two answers.
        BrokenResourceError: nobody takes the messages any longer.
    """
    begun: list[bytes] = []
    size = unasked = unasked_bytes = 0
    while True:
        try:
            piece = await process.stdout.receive()
        except _GONE:
            return
        *ends, rest = piece.split(b"\n")
        for end in ends:
            begun.append(end)
            line = b"".join(begun)
            begun, size = [], 0
            message = _message(line)
            if isinstance(message, Exception):
                bounds.stray.add_line(line)
            answers = (
                bounds.asked
                and isinstance(message, SessionMessage)
                and isinstance(message.message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError)
            )
            if answers:
                bounds.asked -= 1
            unasked, unasked_bytes = (0, 0) if answers else (unasked + 1, unasked_bytes + len(line))
            if len(line) > MAX_MESSAGE_BYTES:
                raise bounds.too_large()
            if unasked > MAX_UNASKED or unasked_bytes > MAX_MESSAGE_BYTES:
                raise bounds.flood()
            await arriving.send(message)
        begun.append(rest)
        size += len(rest)
        if size > MAX_MESSAGE_BYTES:
            raise bounds.too_large()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
