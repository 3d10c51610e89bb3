"""One HTTP transport for model and tool traffic: httpx2 in front, aiohttp beneath it.

A request through it costs half of what it costs through httpx2's own transport, whose pool asks every idle connection
at each request whether it has expired. HTTP/1.1 only. Nothing is decompressed, no redirect is followed and no cookie is
kept here: that is the business of the `httpx2.AsyncClient` in front. httpx2's own transport serves the proxies.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import aiohttp
import httpx2
from aiohttp.client_exceptions import ServerDisconnectedError
from aiohttp.client_proto import ResponseHandler
from httpx2._utils import get_environment_proxies
from yarl import URL

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

MAX_HEADER_BYTES: Final = 64 * 1024
"""Maximum size of one header of an answer."""

IDLE_SECONDS: Final = 15.0
"""How long an idle connection is kept. Servers close them after some time; uvicorn does so after 5 s."""

_KNOWN_AIOHTTP: Final = "3.14."
"""The releases of aiohttp whose inner parts this module knows. With any other, httpx2's own transport is used."""


def client_options(verify: ssl.SSLContext | str | bool = True) -> dict[str, Any]:
    """Return what an `httpx2.AsyncClient` of ours is made with: a transport that limits no number of connections.

    What goes through a proxy that the environment names goes through httpx2's own transport, and so does everything
    with a release of aiohttp that this module does not know.

    Args:
        verify: As for `httpx2.AsyncClient`: a context, the path of a file with certificates, or whether to verify.

    Raises:
        ImportError: the environment names a SOCKS proxy, and the package socksio is not installed.
    """
    context = verify if isinstance(verify, ssl.SSLContext) else httpx2.create_ssl_context(verify)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    if not aiohttp.__version__.startswith(_KNOWN_AIOHTTP):
        return {"verify": context, "limits": limits}
    options: dict[str, Any] = {"transport": AiohttpTransport(context)}
    proxies = get_environment_proxies()
    if any(proxies.values()):
        options["mounts"] = {
            pattern: None if url is None else httpx2.AsyncHTTPTransport(verify=context, proxy=url, limits=limits)
            for pattern, url in proxies.items()
        }
    return options


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Sends requests of an `httpx2.AsyncClient` through one `aiohttp.ClientSession` for each event loop."""

    def __init__(self, context: ssl.SSLContext) -> None:
        """Create a transport without connections, whose TLS offers HTTP/1.1 only."""
        context.set_alpn_protocols(["http/1.1"])
        self._ssl = context
        self._sessions: dict[asyncio.AbstractEventLoop, _Session] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; return when the headers of the answer have arrived.

        Raises:
            httpx2.TransportError: of the class that httpx2's own transport raises in that phase.
        """
        session = await self._session()
        limits = request.extensions.get("timeout", {})
        upload = _upload(request)
        with _as_of_httpx(request, upload):
            try:
                answer = await session.client.request(
                    request.method,
                    _url(request),
                    headers=[*_headers(request)],
                    data=(upload or None) if isinstance(upload, bytes) else aiter(upload),
                    timeout=_Limits(
                        connect=_seconds(limits.get("connect")),
                        read=_seconds(limits.get("read")),
                        write=_seconds(limits.get("write")),
                    ),
                    allow_redirects=False,
                    server_hostname=request.extensions.get("sni_hostname"),
                )
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if session.client.closed and task is not None and not task.cancelling():
                    raise aiohttp.ClientConnectionError from None  # aiohttp cancels what looks up a name
                raise
        version = answer.version or aiohttp.HttpVersion11
        return httpx2.Response(
            answer.status,
            headers=list(answer.raw_headers),
            stream=_Body(answer, request, upload),
            request=request,
            extensions={
                "http_version": b"HTTP/%d.%d" % version,
                "reason_phrase": (answer.reason or "").encode("utf-8", "surrogateescape"),
            },
        )

    async def aclose(self) -> None:
        """Close the connections. Those of another event loop that goes on are closed there, without a wait for that."""
        here = asyncio.get_running_loop()
        for loop, session in [*self._sessions.items()]:
            if loop is here:
                await session.lease.aclose()
            elif not loop.is_closed():
                asyncio.run_coroutine_threadsafe(_end(session.lease), loop)

    async def _session(self) -> _Session:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            for other in [*self._sessions]:
                if other.is_closed():  # and had no time to end its generators
                    self._sessions.pop(other).drop()
            session = self._sessions[loop] = _Session(self._ssl)
            # An event loop closes such a generator before it ends itself, and so do we.
            session.lease = self._leased(loop, session)
            await anext(session.lease)
        return session

    async def _leased(self, loop: asyncio.AbstractEventLoop, session: _Session) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._sessions.pop(loop, None)
            await session.client.close()


async def _end(lease: AsyncGenerator[None]) -> None:
    await lease.aclose()


class _Session:
    """A session of aiohttp for one event loop, and what closes it."""

    lease: AsyncGenerator[None]

    def __init__(self, context: ssl.SSLContext) -> None:
        self._connector = _Connector(
            limit=0,
            ssl=context,
            keepalive_timeout=IDLE_SECONDS,
            resolver=aiohttp.ThreadedResolver(),  # the one of the system, also where aiodns is installed
        )
        self.client = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
        )
        self.client._retry_connection = False

    def drop(self) -> None:
        """Forget the connections of an event loop that is closed; their sockets go with them."""
        self.client.detach()
        self._connector._close()


class _Limits(aiohttp.ClientTimeout):
    """Time limits of a request, in seconds; `None`: without. `write`: how long a server may take no more of it."""

    write: float | None

    def __init__(self, *, connect: float | None, read: float | None, write: float | None) -> None:
        super().__init__(connect=connect, sock_read=read)
        object.__setattr__(self, "write", write)


class _Connector(aiohttp.TCPConnector):
    """A pool of connections that gives none to a request on which something has arrived meanwhile."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = partial(_Protocol, loop=self._loop)  # type: ignore[assignment]

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        cast("_Protocol", connection.protocol).begin(cast("_Limits", timeout).write)
        req._continue = None  # with `Expect: 100-continue` too, a body is sent at once
        return connection

    def _release(self, key: ConnectionKey, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        cast("_Protocol", protocol).idle = True
        super()._release(key, protocol, should_close=should_close)


class _Stalled(aiohttp.ClientError):
    """The server takes no more of a request."""


class _Protocol(ResponseHandler):
    """A connection. Closed, it waits for nothing: not for the server to take what is still to be sent, either."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.idle = False
        self._write_seconds: float | None = None
        self._write_watch: asyncio.TimerHandle | None = None

    def begin(self, write_seconds: float | None) -> None:
        """Serve a request, whose server may take no more of it for so long."""
        self.idle, self._write_seconds = False, write_seconds

    def is_connected(self) -> bool:
        """Return whether a request may be sent: nothing has arrived since the last answer, not even the end."""
        if super().is_connected() and not (self.idle and self._is_stale()):
            return True
        self.close()
        return False

    def _is_stale(self) -> bool:
        if self.should_close or self.transport is None:
            return True
        try:
            # The parser has begun another answer, which came in one piece with the end of the last one.
            if self._parser is not None and self._parser.feed_eof() is not None:
                return True
        except Exception:
            return True
        # With TLS this may be a new key only, and the connection is lost for nothing. That is rare: asyncio reads
        # them when they arrive, and only those count here that have arrived since the event loop looked.
        return _is_readable(self.transport.get_extra_info("socket").fileno())

    def data_received(self, data: bytes) -> None:
        if self.idle and data:  # no request is under way that it could answer
            self.close()
            return
        super().data_received(data)
        if self.exception() is not None:  # aiohttp tells only who waits for the headers
            self._fail_body(aiohttp.ClientPayloadError())

    def close(self) -> None:
        self._fail_body(aiohttp.ClientConnectionError())
        self._watch_writing(None)
        self.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._watch_writing(None)
        if exc is not None:
            # aiohttp would take it for the end of a body that lasts until the connection ends.
            self._fail_body(aiohttp.ClientOSError(*exc.args))
            self._payload = None
        super().connection_lost(exc)

    def _fail_body(self, exc: BaseException) -> None:
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing(self.transport)

    def resume_writing(self) -> None:
        self._watch_writing(None)
        super().resume_writing()

    def _watch_writing(self, transport: asyncio.Transport | None) -> None:
        if self._write_watch is not None:
            self._write_watch.cancel()
            self._write_watch = None
        if transport is not None and self._write_seconds is not None:
            left = transport.get_write_buffer_size()
            self._write_watch = self._loop.call_later(self._write_seconds, self._see_whether_less, transport, left)

    def _see_whether_less(self, transport: asyncio.Transport, left: int) -> None:
        if transport.get_write_buffer_size() != left:  # it may have become more meanwhile
            self._watch_writing(transport)
        else:
            self._fail_body(_Stalled())
            self.set_exception(_Stalled())


def _is_readable(descriptor: int) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([descriptor], [], [], 0)[0])
    polling = select.poll()
    polling.register(descriptor, select.POLLIN)
    return bool(polling.poll(0))


class _Upload:
    """The pieces of the body of a request, for the task in which aiohttp sends them."""

    def __init__(self, pieces: AsyncIterator[bytes], length: int | None, request: httpx2.Request) -> None:
        self._pieces, self._length, self._request = pieces, length, request
        self.over = False
        self.failure: Exception | None = None
        self.answer: aiohttp.ClientResponse | None = None

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        sent = 0
        try:
            async for piece in self._pieces:
                sent += len(piece)
                if self._length is not None and sent > self._length:
                    raise _refused("the body is longer than its header says", self._request)
                yield piece
            if self._length is not None and sent < self._length:
                raise _refused("the body is shorter than its header says", self._request)
        except Exception as exc:
            self.failure = exc  # aiohttp makes another one of it
            if self.answer is not None:
                self.answer.close()
            raise
        self.over = True


_PIECE: Final = 64 * 1024


def _upload(request: httpx2.Request) -> bytes | _Upload:
    stated = request.headers.get("content-length")
    if stated is not None and not (stated.isascii() and stated.isdecimal()):
        raise _refused("the header content-length is no number", request)
    length = None if stated is None else int(stated)
    try:
        content = request.content
    except httpx2.RequestNotRead:
        return _Upload(aiter(cast("httpx2.AsyncByteStream", request.stream)), length, request)
    if len(content) <= _PIECE and length in (None, len(content)):
        return content
    return _Upload(_slices(content), length, request)


async def _slices(content: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(content), _PIECE):
        yield content[begin : begin + _PIECE]


def _url(request: httpx2.Request) -> URL:
    # The client in front has made a header of the credentials in a URL.
    url = request.url.copy_with(userinfo=b"") if request.url.userinfo else request.url
    try:
        if url.scheme in ("http", "https"):
            return URL(str(url), encoded=True)
    except ValueError:
        pass
    raise httpx2.UnsupportedProtocol("the URL is not one of HTTP", request=request) from None


_NAME: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")


def _headers(request: httpx2.Request) -> Iterator[tuple[str, str]]:
    for name, value in request.headers.raw:
        if _NAME.fullmatch(name) is None:
            raise _refused("the name of a header is not valid", request)
        if name.lower() != b"transfer-encoding":  # aiohttp writes it
            try:
                yield name.decode("ascii"), value.decode()
            except UnicodeDecodeError:
                raise _refused("a header is not UTF-8", request) from None


def _seconds(limit: float | None) -> float | None:
    """Return a time limit for aiohttp, for which 0 is none."""
    return None if limit is None else max(limit, 0.001)


def _refused(message: str, request: httpx2.Request) -> httpx2.LocalProtocolError:
    return httpx2.LocalProtocolError(message, request=request)


class _Body(httpx2.AsyncByteStream):
    """The body of an answer. Closed before its end, it closes the connection."""

    def __init__(self, answer: aiohttp.ClientResponse, request: httpx2.Request, upload: bytes | _Upload) -> None:
        self._answer, self._request, self._upload = answer, request, upload
        self._limit = _seconds(request.extensions.get("timeout", {}).get("read"))
        if isinstance(upload, _Upload):
            upload.answer = answer
        if answer.connection is not None and (protocol := answer.connection.protocol) is not None:
            # Its limit counts while nobody reads, too, and what has arrived is lost when it is reached.
            protocol.read_timeout = None
            protocol.start_timeout()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        content = self._answer.content
        with _as_of_httpx(self._request, self._upload):
            while not content.at_eof():
                if content._buffer:
                    yield content._read_nowait(-1)
                elif (fault := content.exception()) is not None:
                    raise fault
                else:
                    await self._arrival()
            if (fault := content.exception()) is not None:
                raise fault

    async def _arrival(self) -> None:
        try:
            async with asyncio.timeout(self._limit):
                await self._answer.content._wait("read")
        except TimeoutError:
            if isinstance(self._upload, bytes) or self._upload.over:
                raise

    async def aclose(self) -> None:
        self._answer.close()


_CUT: Final = "the server closed the connection before its answer was complete"
_CLOSED: Final = "the connection was closed"

_FAULTS: Final[tuple[tuple[type[BaseException], type[httpx2.TransportError], str], ...]] = (
    (_Stalled, httpx2.WriteTimeout, "the server takes no more of the request"),
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout, "there was no connection in time"),
    (TimeoutError, httpx2.ReadTimeout, "the server sent nothing in time"),
    (aiohttp.ClientConnectorError, httpx2.ConnectError, "no connection could be opened"),
    (ServerDisconnectedError, httpx2.RemoteProtocolError, _CUT),
    (aiohttp.ClientPayloadError, httpx2.RemoteProtocolError, _CUT),
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError, "the answer is not valid HTTP"),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol, "the URL is not one of HTTP"),
    (aiohttp.ClientError, httpx2.ReadError, _CLOSED),
    (OSError, httpx2.ReadError, _CLOSED),
    (UnicodeError, httpx2.ConnectError, "the host has no valid name"),
    (ValueError, httpx2.LocalProtocolError, "the request cannot be written as HTTP"),
)
"""What an exception of aiohttp is in httpx2, and says; the first one that fits counts. What aiohttp says may quote the
URL, with keys, and what the server sent."""


@contextmanager
def _as_of_httpx(request: httpx2.Request, upload: bytes | _Upload) -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError) as exc:
        if isinstance(upload, _Upload) and upload.failure is not None:
            raise upload.failure from None
        kind, text = next((kind, text) for fault, kind, text in _FAULTS if isinstance(exc, fault))
        raise kind(_system_message(exc) or text, request=request) from None


def _system_message(exc: BaseException) -> str | None:
    """Return what the operating system, or TLS, says of a fault."""
    cause = getattr(exc, "os_error", exc)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return f"TLS: {(cause.reason or 'failed').replace('_', ' ').lower()}"
    if isinstance(cause, socket.gaierror):
        return cause.strerror
    return os.strerror(cause.errno) if isinstance(cause, OSError) and cause.errno is not None else None
