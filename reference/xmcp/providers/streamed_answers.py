"""Providers whose requests are bytes of ours, sent through the SDK's transport, and whose answers are read here.

The SDK does authentication, addresses and retries. Its own walk over tools and messages and its model object for each
delta would take most of the time of a call.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, TypeVar

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_pieces import PIECE
from xmcp.chat.messages import size_of
from xmcp.providers.base import ModelRequest, Piece, Reasoning
from xmcp.providers.errors import is_a_page
from xmcp.providers.formats.chat_completions import takes_long, too_large
from xmcp.providers.formats.sse import Event, EventReader, EventTooLarge
from xmcp.providers.sdk_provider import ClientT, SDKProvider

if TYPE_CHECKING:
    import httpx2

_T = TypeVar("_T")
_R = TypeVar("_R")

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""Maximum size of an answer that comes in one piece."""

MAX_STREAM_BYTES: Final = 512 * 1024 * 1024
"""Maximum size of an answer that comes as a stream. Each piece of its text comes in hundreds of bytes, and a model may
think aloud for long; what a client keeps of it has its own limit (`chat_completions.MAX_ANSWER_CHARACTERS`)."""

MAX_ERROR_BYTES: Final = 64 * 1024
"""What is read of an answer with the status of an error."""

PAGES: Final = ("text/html", "application/xhtml+xml")
"""What a web server answers under an address that is not an API's."""

LARGE_REQUEST: Final = 1024 * 1024
"""Characters of content above which a request is written in a worker thread: pictures and files take milliseconds."""

UNCOMPRESSED: Final = {"Accept-Encoding": "identity"}

DRAIN_SECONDS: Final = 0.5
"""Maximum wait after the last event for the end of the answer: a connection that was read to its end can be reused."""


class Written(NamedTuple):
    """A request as it is sent."""

    body: bytes
    headers: Mapping[str, str] = {}


class Assembly(Protocol):
    """Builds one completion from the events of a stream."""

    unread: frozenset[str]
    """Names of events that say nothing new; they are not even parsed."""
    ended: bool
    """Whether an event said that it is the last one."""

    def take(self, event: Mapping[str, Any], /) -> Sequence[Piece]:
        """Add an event; return the pieces in it, none of which is empty; often there is none."""
        ...

    def rest(self) -> Sequence[Piece]:
        """Return what was held back until the stream ended; often nothing."""
        ...

    def finish(self, *, done: bool) -> Completion:
        """Return the completion. `done`: the stream was marked as ended (`[DONE]`)."""
        ...


class StreamingProvider(SDKProvider[ClientT]):
    """A provider that reads the streams of its vendor. What the abstract methods raise is a `ProviderError`."""

    api: ClassVar[str]
    """The name of the vendor's API for messages."""

    @abstractmethod
    def written(self, model: str, request: ModelRequest) -> Written:
        """Return a request in the vendor's format.

        Raises:
            TypeError, ValueError, KeyError, AttributeError: the messages hold something that JSON cannot, or lack a
                member.
            ProviderError: they hold a file that the vendor does not take.
        """

    @abstractmethod
    async def _post(self, model: str, request: ModelRequest) -> httpx2.Response:
        """Send what `_written` returns, with the SDK's retries; return once the headers of an answer have arrived."""

    @abstractmethod
    def parse(self, data: bytes, called: str) -> Mapping[str, Any]:
        """Return an event of a stream, or an answer in one piece. `called`: the vendor's name for messages."""

    @abstractmethod
    def assembly(self, request: ModelRequest) -> Assembly:
        """Return what builds the completion of an answer to the request."""

    @abstractmethod
    def whole(self, answer: Mapping[str, Any], request: ModelRequest) -> tuple[str, Completion]:
        """Return the reasoning, often empty, and the completion in an answer that came in one piece."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece | Completion, None]:
        """Ask the model once (see `LLMProvider`). An answer that comes in one piece, not as a stream, is read too."""
        model = request.model or self.model
        response = await self._post(model, request)
        import httpx2

        from xmcp import http_bodies

        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in PAGES:
            await response.aclose()
            raise self._error(is_a_page(str(response.url), kind, self.api), ErrorCategory.UNKNOWN, model)
        try:
            http_bodies.refuse_compressed(response)
            if kind == "application/json":
                http_bodies.limit(response, MAX_BODY_BYTES)
                reasoning, completion = await _aside(self._whole, await response.aread(), request)
                if reasoning:
                    yield Reasoning(reasoning)
                if completion.text:
                    yield completion.text
                yield completion
            else:
                async with aclosing(self._read(response, self.assembly(request))) as pieces:
                    async for piece in pieces:
                        yield piece
        except (http_bodies.BodyTooLarge, EventTooLarge) as exc:
            large = too_large(self._called, f": {exc}" if isinstance(exc, EventTooLarge) else "")
            raise self._error(large.message, large.category, model, began=True) from exc
        except http_bodies.BodyRefused as exc:
            message = f"{self.name} at {response.url.host}: {exc}."
            raise self._error(message, ErrorCategory.UNKNOWN, model, began=True) from exc
        except (httpx2.HTTPError, httpx2.StreamError) as exc:
            message = f"The connection to {self._called} broke in the middle of its answer ({type(exc).__name__})."
            error = self._error(message, ErrorCategory.NETWORK, model, began=True)
            error.unanswered = isinstance(exc, httpx2.ReadTimeout)
            raise error from exc
        except ProviderError as exc:
            # Not `from exc`: the vendor's message may quote the key, and tracebacks print the cause.
            raise self._with_advice(exc, model, began=True) from None
        finally:
            await response.aclose()

    async def _written(self, model: str, request: ModelRequest) -> Written:
        try:
            large = sum(map(size_of, request.messages)) > LARGE_REQUEST
            return await asyncio.to_thread(self.written, model, request) if large else self.written(model, request)
        except ProviderError as exc:
            raise self._error(exc.message, exc.category, model) from None
        except (TypeError, ValueError, KeyError, AttributeError) as exc:
            missing = " is missing" if isinstance(exc, KeyError) else ""
            message = f"The messages cannot be written as JSON: {exc}{missing}."
            raise self._error(message, ErrorCategory.CONTENT, model) from exc

    async def _read(self, response: httpx2.Response, assembly: Assembly) -> AsyncGenerator[Piece | Completion, None]:
        take, done = partial(self._take, self._called), False
        async with aclosing(events(response)) as arriving:
            async for event in arriving:
                if event.name in assembly.unread:
                    continue
                if event.data == b"[DONE]":
                    done = True
                    break
                # A coroutine for each piece of text would cost more than the reading.
                short = len(event.data) <= PIECE
                read = take(event.data, assembly) if short else await _aside(take, event.data, assembly)
                for piece in read:
                    yield piece
                if assembly.ended:
                    break
            if done or assembly.ended:
                with suppress(TimeoutError):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        async for _ in arriving:
                            pass
        for piece in assembly.rest():
            yield piece
        yield assembly.finish(done=done)

    def _take(self, called: str, data: bytes, assembly: Assembly) -> Sequence[Piece]:
        return assembly.take(self.parse(data, called))

    def _whole(self, body: bytes, request: ModelRequest) -> tuple[str, Completion]:
        return self.whole(self.parse(body, self._called), request)


async def _aside(read: Callable[[bytes, _T], _R], data: bytes, more: _T) -> _R:
    """Return what `read` returns; what takes long is read in a worker thread."""
    return await asyncio.to_thread(read, data, more) if takes_long(data) else read(data, more)


async def bound_errors(response: httpx2.Response) -> None:
    """Bound what the SDK reads of an error or a redirect, and have it decompress nothing; a response hook."""
    if response.status_code >= 300:
        from xmcp import http_bodies

        response.headers.pop("content-encoding", None)
        response.encoding = "utf-8"  # the header may name any codec of Python, such as bz2
        http_bodies.truncate(response, MAX_ERROR_BYTES)


async def events(response: httpx2.Response) -> AsyncGenerator[Event, None]:
    """Yield the events of a stream.

    Raises:
        BodyTooLarge: it has more than `MAX_STREAM_BYTES`.
        EventTooLarge: one of them is too large.
    """
    from xmcp.http_bodies import too_large as body_too_large

    reader, taken = EventReader(), 0
    async for piece in response.aiter_bytes():
        taken += len(piece)
        if taken > MAX_STREAM_BYTES:
            raise body_too_large(response.request, MAX_STREAM_BYTES)
        for event in reader.feed(piece):
            yield event
    for event in reader.close():
        yield event
