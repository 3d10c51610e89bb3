"""One HTTP transport for model and tool traffic: httpx2 in front, aiohttp beneath it.

A request through it costs half of what it costs through httpx2's own transport, whose pool asks every idle connection
at each request whether it has expired. HTTP/1.1 only. Nothing is decompressed, no redirect is followed and no cookie is
kept here: that is the business of the `httpx2.AsyncClient` in front.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from aiohttp.client_exceptions import ServerDisconnectedError
from yarl import URL

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_HEADER_BYTES: Final = 64 * 1024
"""Maximum size of one header of an answer."""

IDLE_SECONDS: Final = 15.0
"""How long an idle connection is kept. Servers close them after some time; uvicorn does so after 5 s."""

_PHASES: Final[tuple[tuple[type[BaseException], type[httpx2.TransportError]], ...]] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.SocketTimeoutError, httpx2.ReadTimeout),
    (aiohttp.ClientProxyConnectionError, httpx2.ProxyError),
    (aiohttp.ClientHttpProxyError, httpx2.ProxyError),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (ServerDisconnectedError, httpx2.RemoteProtocolError),
    (aiohttp.ClientPayloadError, httpx2.RemoteProtocolError),
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError),
    (aiohttp.NonHttpUrlClientError, httpx2.UnsupportedProtocol),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.ClientOSError, httpx2.ReadError),
    (aiohttp.ClientError, httpx2.ReadError),
    (TimeoutError, httpx2.ReadTimeout),
    (OSError, httpx2.ReadError),
)
"""What an exception of aiohttp is in httpx2; the first one that fits counts."""


def client_options(verify: ssl.SSLContext | str | bool = True) -> dict[str, Any]:
    """Return what an `httpx2.AsyncClient` of ours is made with: httpx2's own transport, without limits of connections.

    `transport` costs half, and is not the default yet: aiohttp gives a connection to the next request without a look at
    what arrived on it meanwhile, and keeps one whose server takes no more of a request.
    """
    return {"verify": verify, "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=None)}


def transport(verify: ssl.SSLContext | str | bool = True) -> httpx2.AsyncBaseTransport:
    """Return a transport for an `httpx2.AsyncClient` that limits no number of connections.

    It goes through the proxies that the environment names, as httpx2's own does: that one is returned where they speak
    SOCKS, which this one does not.

    Args:
        verify: As for `httpx2.AsyncClient`: a context, the path of a file with certificates, or whether to verify.
    """
    proxies = getproxies()
    if any(url.startswith("socks") for url in proxies.values()):
        return httpx2.AsyncHTTPTransport(verify=verify, limits=httpx2.Limits(max_connections=None))
    return AiohttpTransport(verify, proxies)


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Sends requests of an `httpx2.AsyncClient` through one `aiohttp.ClientSession` of the running event loop."""

    def __init__(self, verify: ssl.SSLContext | str | bool = True, proxies: Mapping[str, str] | None = None) -> None:
        """`proxies` are URLs by scheme (`http`, `https`, `all`), as `urllib.request.getproxies` returns them."""
        self._ssl = verify if isinstance(verify, ssl.SSLContext) else httpx2.create_ssl_context(verify)
        self._proxies = dict(proxies or {})
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; return when the headers of the answer have arrived.

        Raises:
            httpx2.TransportError: of the class that httpx2's own transport raises in that phase.
        """
        timeouts = request.extensions.get("timeout", {})
        # The client in front has made a header of the credentials in a URL.
        url = request.url.copy_with(userinfo=b"") if request.url.userinfo else request.url
        raw = [(_text(name), _text(value)) for name, value in request.headers.raw if name.lower() != _CODING]
        with _as_of_httpx(request):
            try:
                async with asyncio.timeout(None) as writing:
                    answer = await self._sessions().request(
                        request.method,
                        URL(str(url), encoded=True),
                        headers=raw,
                        data=_content(request, writing, timeouts.get("write")),
                        timeout=aiohttp.ClientTimeout(
                            sock_connect=timeouts.get("connect"), sock_read=timeouts.get("read")
                        ),
                        allow_redirects=False,
                        server_hostname=request.extensions.get("sni_hostname"),
                        proxy=self._proxy(url) if self._proxies else None,
                    )
            except TimeoutError as exc:
                if writing.expired():
                    raise httpx2.WriteTimeout("the server takes no more of the request", request=request) from exc
                raise
        reason = (answer.reason or "").encode("latin-1", "replace")
        return httpx2.Response(
            answer.status,
            headers=list(answer.raw_headers),
            stream=_Body(answer, request),
            request=request,
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": reason},
        )

    async def aclose(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _sessions(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            # Connections belong to the loop in which they were opened; those of a loop that has ended are gone.
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._ssl, keepalive_timeout=IDLE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                max_line_size=MAX_HEADER_BYTES,
                max_field_size=MAX_HEADER_BYTES,
            )
        return self._session

    def _proxy(self, url: httpx2.URL) -> str | None:
        found = self._proxies.get(url.scheme) or self._proxies.get("all")
        return None if found is None or proxy_bypass(f"{url.host}:{url.port}" if url.port else url.host) else found


_CODING: Final = b"transfer-encoding"
"""The header that says that a body comes in pieces, which aiohttp writes."""

_PIECE: Final = 64 * 1024


def _content(request: httpx2.Request, writing: asyncio.Timeout, seconds: float | None) -> Any:
    """Return the body of a request; `writing` ends it when the server takes no more of it for so long.

    aiohttp has no limit for that. A short body goes into the buffers of this machine.
    """
    try:
        content = request.content
    except httpx2.RequestNotRead:
        assert isinstance(request.stream, httpx2.AsyncByteStream)  # noqa: S101 - the request of an AsyncClient
        return _limited(aiter(request.stream), writing, seconds)
    return content or None if len(content) <= _PIECE else _limited(_slices(content), writing, seconds)


async def _limited(
    pieces: AsyncIterator[bytes], writing: asyncio.Timeout, seconds: float | None
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()

    def allow(until: float | None) -> None:
        with suppress(RuntimeError):  # it is over: the answer came, or the limit was reached
            writing.reschedule(until)

    try:
        async for piece in pieces:
            if seconds is not None:
                allow(loop.time() + seconds)
            yield piece
    finally:
        allow(None)


async def _slices(content: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(content), _PIECE):
        yield content[begin : begin + _PIECE]


def _text(header: bytes) -> str:
    return header.decode("utf-8", "surrogateescape")


class _Body(httpx2.AsyncByteStream):
    """The body of an answer. Closed before its end, it closes the connection."""

    def __init__(self, answer: aiohttp.ClientResponse, request: httpx2.Request) -> None:
        self._answer, self._request = answer, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_of_httpx(self._request):
            async for piece in self._answer.content.iter_any():
                yield piece

    async def aclose(self) -> None:
        if self._answer.content.at_eof():
            self._answer.release()
        else:
            self._answer.close()


@contextmanager
def _as_of_httpx(request: httpx2.Request) -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, OSError) as exc:
        kind = next(of_httpx for of_aiohttp, of_httpx in _PHASES if isinstance(exc, of_aiohttp))
        raise kind(_reason(exc), request=request) from exc


def _reason(exc: BaseException) -> str:
    """Return what failed, without the address, which everybody who reports it has."""
    cause = getattr(exc, "os_error", exc)
    if isinstance(cause, OSError) and cause.errno is not None:
        return os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
    return str(cause) or type(cause).__name__
