"""What providers on the openai SDK share: the client, one request, reading its answer, errors, the list of models.

The SDK does authentication, addresses, retries and error classes. Requests go through its transport as bytes that the
formats make, and answers are read here: the SDK's own walk over tools and messages and its model object per delta would
take most of the time of a call.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, cast
from urllib.parse import urlsplit

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.untrusted_text import without_secrets
from xmcp.providers.base import ModelRequest, Received
from xmcp.providers.errors import redact, without_frames
from xmcp.providers.formats import chat_completions
from xmcp.providers.formats.sse import Event, EventReader, EventTooLarge

if TYPE_CHECKING:
    import httpx2
    from openai import APIStatusError, AsyncOpenAI, OpenAIError

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""Maximum size of an answer that comes in one piece."""

MAX_STREAM_BYTES: Final = 512 * 1024 * 1024
"""Maximum size of an answer that comes as a stream. Each piece of its text comes in hundreds of bytes, and a model may
think aloud for long; what a client keeps of it has its own limit (`chat_completions.MAX_ANSWER_CHARACTERS`)."""

MAX_ERROR_BYTES: Final = 64 * 1024
"""What is read of an answer with the status of an error."""

PAGES: Final = ("text/html", "application/xhtml+xml")
"""What a web server answers under an address that is not an API's."""

UNCOMPRESSED: Final = {"Accept-Encoding": "identity"}

DRAIN_SECONDS: Final = 0.5
"""Maximum wait after the last event for the end of the answer: a connection that was read to its end can be reused."""

_PLACEHOLDER: Final = "The {} API key has a character that no key has: was a placeholder such as `sk-…` left in?"


class MissingKey(ProviderError):
    """There is no key, and no address of a server that needs none."""

    def __init__(self, options: str = "", vendor: type[OpenAISDKProvider] | None = None) -> None:
        """`options` is what the names of the caller's options begin with; `vendor` whose key it is."""
        asked = vendor or OpenAISDKProvider
        super().__init__(
            f"No {asked.title} API key: pass {options}api_key=..., set {asked.key_variable}, or {options}base_url=... "
            f"({asked.url_variable}) of a server that needs none.",
            category=ErrorCategory.AUTH,
            provider=asked.name,
        )


class Assembly(Protocol):
    """Builds one completion from the events of a stream."""

    unread: frozenset[str]
    """Names of events that say nothing new; they are not even parsed."""
    ended: bool
    """Whether an event said that it is the last one."""

    def take(self, event: Mapping[str, Any], /) -> str:
        """Add an event; return the text in it, which may be empty."""
        ...

    def rest(self) -> str:
        """Return text that was held back until the stream ended; often empty."""
        ...

    def finish(self, *, done: bool) -> Completion:
        """Return the completion. `done`: the stream was marked as ended (`[DONE]`)."""
        ...


class Format(Protocol):
    """A format of requests and answers: a module of `xmcp.providers.formats`. What it raises is a `ProviderError`."""

    def request_body(
        self, model: str, messages: Sequence[Message], tools: ToolSchemas, sampler: SamplerConfig, /
    ) -> bytes:
        """Return the body of a streaming request."""
        ...

    def parse(self, data: bytes, provider: str, /) -> Mapping[str, Any]:
        """Return an event of a stream, or an answer in one piece."""
        ...

    def whole(self, answer: Mapping[str, Any], provider: str, /) -> Completion:
        """Return the completion in an answer that came in one piece."""
        ...

    def Assembly(self, provider: str, received: Received, /) -> Assembly:
        """Return the assembly of a new stream."""
        ...


class OpenAISDKProvider(ABC):
    """A provider on the openai SDK. A subclass says which format it speaks, and where.

    A vendor with the same format is a subclass, too, which says what differs: its names and addresses, and if need be
    how a request is written (`body`) and how an answer is read (`assembly`).

    Args:
        api_key: The key; default `OPENAI_API_KEY`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, with its path (`http://localhost:8000/v1`); default
            `OPENAI_BASE_URL`.
        model: Model for requests that name none.
        client: A ready `openai.AsyncOpenAI` or `AsyncAzureOpenAI` instead of key and address; the caller
            closes it.

    Raises:
        ValueError: `client` together with `api_key` or `base_url`, or a base URL that is none.
        ProviderError: no key anywhere (category `auth`).
    """

    name = "openai"
    title: ClassVar[str] = "OpenAI"
    """The vendor's name in texts for people."""
    default_model: ClassVar[str]
    """The model if neither the request nor the provider names one."""
    key_variable: ClassVar[str | None] = "OPENAI_API_KEY"
    url_variable: ClassVar[str | None] = "OPENAI_BASE_URL"
    default_url: ClassVar[str | None] = None
    """The vendor's address with its path; `None` is the SDK's."""
    host: ClassVar[str] = "api.openai.com"
    """Messages name the vendor for this host, and each other host by itself."""
    hint: ClassVar[str] = ""
    """A sentence for a server that cannot be reached: what to do."""
    supports_tools = True
    max_context_tokens: int | None = None

    _format: ClassVar[Format]
    _api: ClassVar[str]
    """The name of the format for messages."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        model: str | None = None,
        *,
        client: AsyncOpenAI | None = None,
    ) -> None:
        if client is not None and (api_key is not None or base_url is not None):
            raise ValueError(f"Give {type(self).__name__} either a client, or api_key and base_url, not both.")
        self.model = model or self.default_model
        self._client = client
        self._client_is_ours = client is None
        given = base_url or _variable(self.url_variable)
        self._base_url = given or (self.default_url if client is None else None)
        self._api_key = api_key or _variable(self.key_variable) or ("none" if given else None)
        if self._base_url and not self._base_url.startswith(("http://", "https://")):
            shown = without_secrets(f"http://{self._base_url}")
            raise ValueError(f"The base URL of the model begins with neither http:// nor https://: write {shown}")
        if client is None and self._api_key is None:
            raise MissingKey(vendor=type(self))
        if self._api_key and not self._api_key.isascii():
            raise ProviderError(_PLACEHOLDER.format(self.title), category=ErrorCategory.AUTH, provider=self.name)

    @abstractmethod
    def _path(self, client: AsyncOpenAI, model: str) -> str:
        """Return the path of a request, after the base URL."""

    def body(self, model: str, request: ModelRequest) -> bytes:
        """Return the body of a request.

        Raises:
            TypeError, ValueError, KeyError, AttributeError: the messages hold something that JSON cannot, or lack a
                member.
        """
        return self._format.request_body(model, request.messages, request.tools, request.sampler)

    def assembly(self, request: ModelRequest) -> Assembly:
        """Return what builds the completion of an answer to the request."""
        return self._format.Assembly(self._called, request.received)

    def whole(self, answer: Mapping[str, Any], request: ModelRequest) -> Completion:  # noqa: ARG002 - for subclasses
        """Return the completion in an answer that came in one piece."""
        return self._format.whole(answer, self._called)

    def _asks_again(self, refusal: APIStatusError, model: str) -> bool:  # noqa: ARG002 - for subclasses
        """Learn from a refusal; return whether the next body may be another one, to which it does not apply."""
        return False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        """Ask the model once (see `LLMProvider`). An answer that comes in one piece, not as a stream, is read too."""
        model = request.model or self.model
        response = await self._post(model, request)
        import httpx2

        from xmcp import http_bodies

        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in PAGES:
            await response.aclose()
            address = without_secrets(str(response.url))
            message = f"{address} answers {kind}, which is not {self._api}."
            raise self._error(message, ErrorCategory.UNKNOWN, model)
        try:
            whole = kind == "application/json"
            http_bodies.refuse_compressed(response)
            if whole:
                http_bodies.limit(response, MAX_BODY_BYTES)
                answer = await self._parse(await response.aread())
                completion = self.whole(answer, request)
                if completion.text:
                    yield completion.text
                yield completion
            else:
                async with aclosing(self._read(response, self.assembly(request))) as pieces:
                    async for piece in pieces:
                        yield piece
        except (http_bodies.BodyTooLarge, EventTooLarge) as exc:
            large = chat_completions.too_large(self._called)
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
            raise self._error(exc.message, exc.category, model, exc.status, began=True) from None
        finally:
            await response.aclose()

    async def list_models(self) -> list[str]:
        """Return the names of the models that the vendor has for this key, sorted.

        Raises:
            ProviderError: it does not say.
        """
        client = await self._sdk()
        import openai

        try:
            return sorted([str(model.id) async for model in client.models.list()])
        except openai.APIStatusError as exc:
            raise self._status_error(exc, self.model) from None
        except openai.OpenAIError as exc:
            raise self._failure(exc, self.model) from without_frames(exc)
        except (AttributeError, TypeError, ValueError):
            message = f"{self._called} answered something that is no list of models: check the base URL."
            raise self._error(message, ErrorCategory.UNKNOWN, self.model) from None

    async def aclose(self) -> None:
        """Close the connections, unless the SDK client came from the caller."""
        if self._client is not None and self._client_is_ours:
            client, self._client = self._client, None
            await client.close()

    async def _post(self, model: str, request: ModelRequest) -> httpx2.Response:
        """Send the request with the SDK's retries; return as soon as the answer's headers have arrived."""
        client = await self._sdk()
        import httpx2
        import openai

        body = self._written(model, request)
        try:
            # With the transport's own class as `cast_to`, a streamed answer is returned unread (_process_response).
            answer: object = await client.post(
                self._path(client, model),
                content=body,
                cast_to=httpx2.Response,
                # Ours has the header already; in the options it would cost the SDK time at each request.
                options={} if self._client_is_ours else {"headers": UNCOMPRESSED},
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
            return cast("httpx2.Response", answer)
        except openai.APIStatusError as exc:
            if not self._asks_again(exc, model) or self._written(model, request) == body:
                raise self._status_error(exc, model) from None
        except openai.OpenAIError as exc:
            raise self._failure(exc, model) from without_frames(exc)
        return await self._post(model, request)

    def _written(self, model: str, request: ModelRequest) -> bytes:
        try:
            return self.body(model, request)
        except (TypeError, ValueError, KeyError, AttributeError) as exc:
            missing = " is missing" if isinstance(exc, KeyError) else ""
            message = f"The messages cannot be written as JSON: {exc}{missing}."
            raise self._error(message, ErrorCategory.CONTENT, model) from exc

    def _failure(self, exc: OpenAIError, model: str) -> ProviderError:
        """Return what an exception of the SDK means that has no status of the vendor."""
        import httpx2
        import openai

        if not isinstance(exc, openai.APIConnectionError):
            return self._error(f"{self.name}: {exc}", ErrorCategory.UNKNOWN, model)
        address = without_secrets(str(self._client.base_url if self._client else "")).rstrip("/")
        message = f"The model at {address} cannot be reached: {str(exc.__cause__ or '') or exc.message}"
        if self.hint:
            message = f"{message}. {self.hint}"
        error = self._error(message, ErrorCategory.NETWORK, model)
        error.unanswered = isinstance(exc.__cause__, httpx2.ReadTimeout)
        return error

    async def _sdk(self) -> AsyncOpenAI:
        if self._client is None:
            # The import takes most of a second, which would block the event loop.
            await asyncio.to_thread(import_module, "openai")
        import openai

        if self._client is None:
            from xmcp import http_transport

            http = openai.DefaultAsyncHttpxClient(
                event_hooks={"response": [bound_errors]}, headers=UNCOMPRESSED, **http_transport.client_options()
            )
            self._client = openai.AsyncOpenAI(api_key=self._api_key, base_url=self._base_url, http_client=http)
            if self.default_url:  # another vendor has no use for them, and they are not its business
                self._client.organization = self._client.project = None
        return self._client

    async def _read(self, response: httpx2.Response, assembly: Assembly) -> AsyncGenerator[str | Completion, None]:
        parse, called, done = self._format.parse, self._called, False
        async with aclosing(events(response)) as arriving:
            async for event in arriving:
                if event.name in assembly.unread:
                    continue
                if event.data == b"[DONE]":
                    done = True
                    break
                # A coroutine for each piece of text would cost more than the reading.
                short = len(event.data) <= chat_completions.MANY_CONTAINERS
                if text := assembly.take(parse(event.data, called) if short else await self._parse(event.data)):
                    yield text
                if assembly.ended:
                    break
            if done or assembly.ended:
                with suppress(TimeoutError):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        async for _ in arriving:
                            pass
        if text := assembly.rest():
            yield text
        yield assembly.finish(done=done)

    async def _parse(self, data: bytes) -> Mapping[str, Any]:
        if chat_completions.takes_long(data):
            return await asyncio.to_thread(self._format.parse, data, self._called)
        return self._format.parse(data, self._called)

    @property
    def _called(self) -> str:
        """The name for messages: of another server with OpenAI's format, its host."""
        base_url = self._base_url or (str(self._client.base_url) if self._client is not None else "")
        host = urlsplit(base_url).netloc.rpartition("@")[2]
        return host if host and host != self.host else self.name

    def _status_error(self, exc: APIStatusError, model: str) -> ProviderError:
        if isinstance(exc.body, dict):
            reported = chat_completions.reported(exc.body, self._called, status=exc.status_code)
            return self._error(reported.message, reported.category, model, exc.status_code)
        # A body that is not the API's own is the page of some proxy: do not show it.
        reported = chat_completions.reported(f"HTTP status {exc.status_code}", self._called, status=exc.status_code)
        return self._error(reported.message, reported.category, model, exc.status_code)

    def _error(
        self, message: str, category: ErrorCategory, model: str, status: int | None = None, *, began: bool = False
    ) -> ProviderError:
        safe = redact(message, self._api_key if self._api_key != "none" else None)
        return ProviderError(safe, category=category, provider=self.name, model=model, status=status, began=began)


def _variable(name: str | None) -> str | None:
    return os.environ.get(name) or None if name else None


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
    from xmcp.http_bodies import too_large

    reader, taken = EventReader(), 0
    async for piece in response.aiter_bytes():
        taken += len(piece)
        if taken > MAX_STREAM_BYTES:
            raise too_large(response.request, MAX_STREAM_BYTES)
        for event in reader.feed(piece):
            yield event
    for event in reader.close():
        yield event
