"""Bodies of HTTP answers, limited before anything decompresses or parses them. For httpx2, without I/O of its own.

A compressed body of one megabyte can become gigabytes, so no body is decompressed: none is asked for in that form, and
an answer that comes in it all the same is refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from inspect import isawaitable
from typing import Any

import httpx2


class BodyRefused(httpx2.RemoteProtocolError):
    """The body of an answer is not read: it is compressed, or more than its reader accepts. The message says which."""


class BodyTooLarge(BodyRefused):
    """The body is larger than its limit."""


async def ask_uncompressed(request: httpx2.Request) -> None:
    """Ask for a body without compression, whatever the request asked for; a request hook of an `AsyncClient`."""
    request.headers["accept-encoding"] = "identity"


def refuse_compressed(response: httpx2.Response) -> None:
    """Refuse an answer whose body is compressed.

    Raises:
        BodyRefused: it is.
    """
    if "content-encoding" not in response.headers:
        return
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise BodyRefused(
            f"the answer is compressed ({encoding[:20]}), which was not asked for and is not accepted; "
            "switch compression off at the server or the proxy before it",
            request=response.request,
        )


def too_large(request: httpx2.Request, most: int) -> BodyTooLarge:
    """Return the error of a body with more than `most` bytes."""
    return BodyTooLarge(f"the answer is larger than {most} bytes", request=request)


def limit(response: httpx2.Response, most: int, check: Callable[[bytes], None] | None = None) -> None:
    """Have the body of an unread `response` end with an error after `most` bytes; `check` is as for `watch`.

    Raises:
        BodyTooLarge: its header says already that it is larger; otherwise the reading raises it.
    """
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and len(declared) < 20 and int(declared) > most:
        raise too_large(response.request, most)
    # Not the response: one that its own body refers to would stay in memory until the next garbage collection.
    request, taken = response.request, 0

    def count(piece: bytes) -> None:
        nonlocal taken
        taken += len(piece)
        if taken > most:
            raise too_large(request, most)
        if check is not None:
            check(piece)

    watch(response, count)


def truncate(response: httpx2.Response, most: int) -> None:
    """Have the body of an unread `response` end after the piece that brings it to `most` bytes."""
    response.stream = _Truncated(response.stream, most)


def watch(response: httpx2.Response, check: Callable[[bytes], None]) -> None:
    """Have `check` see each piece of the body of an unread `response` as it arrives; what it raises ends the body.

    `check` must not refer to the response: both would stay in memory until the next garbage collection.
    """
    response.stream = _Watched(response.stream, check)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream) -> None:
        assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - the answer of an AsyncClient
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Watched(_Body):
    def __init__(self, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream, check: Callable[[bytes], None]) -> None:
        super().__init__(stream)
        self._check = check

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._check(piece)
            yield piece


class _Truncated(_Body):
    def __init__(self, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream, most: int) -> None:
        super().__init__(stream)
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for piece in self._stream:
            taken += len(piece)
            yield piece
            if taken >= self._most:
                return


def as_httpx2(answer: Any) -> httpx2.Response:
    """Return an answer with the status 200 that an SDK left unread: one of httpx2, of httpx or of aiohttp.

    Raises:
        AttributeError: it is of another library.
    """
    if isinstance(answer, httpx2.Response):
        return answer
    of_httpx = hasattr(answer, "aiter_raw")
    pieces = answer.aiter_raw() if of_httpx else answer.content.iter_any()
    stream = _OfAnotherLibrary(pieces, answer.aclose if of_httpx else answer.close)
    headers = answer.headers.raw if of_httpx else answer.raw_headers
    return httpx2.Response(200, headers=headers, stream=stream, request=httpx2.Request("POST", str(answer.url)))


def with_faults_of_httpx2(stream: httpx2.SyncByteStream | httpx2.AsyncByteStream) -> httpx2.AsyncByteStream:
    """Return the body of an unread answer that a transport of any kind got; what goes wrong with it is of httpx2."""
    assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - the answer of an AsyncClient
    return _OfAnotherLibrary(aiter(stream), stream.aclose)


class _OfAnotherLibrary(httpx2.AsyncByteStream):
    """A body that need not raise exceptions of httpx2; they become those."""

    def __init__(self, pieces: AsyncIterator[bytes], close: Callable[[], Any]) -> None:
        self._pieces, self._close = pieces, close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._pieces:
                yield piece
        except httpx2.HTTPError:
            raise
        except Exception as exc:
            kind = httpx2.ReadTimeout if isinstance(exc, TimeoutError) else httpx2.ReadError
            raise kind(type(exc).__name__) from exc

    async def aclose(self) -> None:
        closing = self._close()
        if isawaitable(closing):
            await closing
