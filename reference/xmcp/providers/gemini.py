"""Gemini, by the google-genai SDK: it does authentication, addresses, retries, and the reading of streams.

The body of a request is the vendor's JSON, made here (`formats.gemini`), and goes through the SDK as its `extra_body`:
its own walk over messages and tools would copy them several times.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar, cast

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_values import containers
from xmcp.providers.base import ModelRequest, Piece
from xmcp.providers.errors import is_a_page, without_frames
from xmcp.providers.formats import gemini
from xmcp.providers.formats.chat_completions import too_large
from xmcp.providers.sdk_provider import SDKProvider
from xmcp.providers.streamed_answers import PAGES, UNCOMPRESSED, bound_errors

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client
    from google.genai.types import GenerateContentResponse

_T = TypeVar("_T")

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""Maximum size of an answer that comes in one piece."""

MAX_STREAM_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of an answer that comes as a stream. Its pieces are larger than other vendors', and fewer."""

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of one event; a vendor that sends more is broken or hostile."""

MAX_CONTAINERS: Final = 30_000
"""Maximum number of arrays and objects in one event, or in an answer in one piece; brackets in its texts count, too.
The SDK makes an object of a class of each, in the event loop, which takes about 0.07 ms."""

MAX_MODELS: Final = 10_000
"""Maximum number of models that are read of a list."""

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 600.0
"""Maximum wait for the next bytes of an answer. The SDK itself would wait for ever."""

_ATTEMPTS: Final = {"attempts": 3, "initial_delay": 0.5, "max_delay": 8.0, "jitter": 0.25}
"""The SDK retries nothing unless it is told to. These are the retries that other vendors' SDKs do by themselves."""

_REPLACED: Final = "-"
"""The SDK wants contents of its own; those of the body replace them."""

_TRANSPORTS: Final = frozenset({"httpx2", "httpcore2", "httpx", "httpcore", "aiohttp", "anyio", "ssl", "socket"})
"""Packages whose exceptions tell of a connection. A client of the caller may use another than ours does."""

_opened: ContextVar[list[httpx2.Response] | None] = ContextVar("_opened", default=None)
"""Where the transport notes the responses of the request that is being made, which the SDK does not show."""


class GeminiProvider(SDKProvider["Client"]):
    """Completions from Google's Gemini API, and from Vertex AI with a client that is made for it.

    Args:
        api_key: The key; default `GOOGLE_API_KEY`, then `GEMINI_API_KEY`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, without the version of the API; default
            `GOOGLE_GEMINI_BASE_URL`.
        model: Model for requests that name none (default `gemini-3.8-flash`).
        client: A ready `google.genai.Client` instead of key and address; the caller closes it.

    Raises:
        ValueError: `client` together with `api_key` or `base_url`.
        ProviderError: no key anywhere (category `auth`).
    """

    name = gemini.VENDOR
    title: ClassVar[str] = "Gemini"
    default_model: ClassVar[str] = "gemini-3.8-flash"
    key_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    url_variable: ClassVar[str | None] = "GOOGLE_GEMINI_BASE_URL"
    default_url: ClassVar[str | None] = "https://generativelanguage.googleapis.com"
    host: ClassVar[str] = "generativelanguage.googleapis.com"
    sample_key: ClassVar[str] = "AIza…"

    _http: httpx2.AsyncClient | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece | Completion, None]:
        """Ask the model once; see `LLMProvider`."""
        model = request.model or self.model
        client = await self._sdk()
        assembly = gemini.Assembly(self._called, request.received, gemini.own_names(request.tools))
        opened: list[httpx2.Response] = []
        began = ended = False
        try:
            body = gemini.request_body(model, request.messages, request.tools, request.sampler)
            answer = await client.aio.models.generate_content_stream(
                model=model,
                contents=_REPLACED,
                # The SDK would run tools by itself if it could.
                config={"automatic_function_calling": {"disable": True}, "http_options": {"extra_body": body}},
            )
            # The SDK says less of its type.
            async with aclosing(cast("AsyncGenerator[GenerateContentResponse]", answer)) as chunks:
                try:
                    while (chunk := await _next(chunks, opened)) is not None:
                        began = True
                        for piece in assembly.take(chunk):
                            yield piece
                    ended = True
                finally:
                    if not (ended or opened):  # the transport is not ours
                        await _abandon(chunks)
            yield assembly.finish()
        except ProviderError as exc:
            # Not `from exc`: the vendor's message may quote the key, and tracebacks print the cause.
            raise self._with_advice(exc, model, began=began) from None
        except Exception as exc:  # the SDK lets through what its transport and its models raise
            status = opened[-1].status_code if opened else 200
            failure = self._failure(exc, model, began=began or (bool(opened) and status == 200), status=status)
            raise failure from failure.__cause__
        finally:
            for response in opened:
                await response.aclose()

    async def list_models(self) -> list[str]:
        """Return the names of the models that the vendor has for this key and that answer in text, sorted.

        Raises:
            ProviderError: it does not say.
        """
        client = await self._sdk()
        names: list[str] = []
        read = 0
        try:
            async for model in await client.aio.models.list(config={"page_size": 1000}):
                actions = model.supported_actions
                if model.name and (not actions or "generateContent" in actions):
                    names.append(model.name.removeprefix("models/"))
                read += 1  # not the names: a list without end may have none
                if read >= MAX_MODELS:
                    break
        except ProviderError as exc:
            raise self._error(exc.message, exc.category, self.model) from None
        except Exception as exc:
            failure = self._failure(exc, self.model, began=False, what="list of models")
            raise failure from failure.__cause__
        return sorted(names)

    async def aclose(self) -> None:
        """Close the connections, unless the SDK client came from the caller."""
        if self._client is not None and self._client_is_ours:
            client, http, self._client, self._http = self._client, self._http, None, None
            client.close()
            await client.aio.aclose()
            if http is not None:
                await http.aclose()

    async def _sdk(self) -> Client:
        if self._client is None:
            # Import and construction take most of a second, which would block the event loop.
            client, http = await asyncio.to_thread(self._made)
            if self._client is None:
                self._client, self._http = client, http
            else:  # another request was quicker
                client.close()
                await http.aclose()
        return self._client

    def _made(self) -> tuple[Client, httpx2.AsyncClient]:
        try:
            import_module("google.genai")
        except ImportError as exc:
            message = "GeminiProvider needs the package google-genai: pip install 'xmcp[gemini]'."
            raise ProviderError(message, provider=self.name) from exc
        import httpx2
        from google import genai

        from xmcp import http_transport

        http = httpx2.AsyncClient(
            event_hooks={"request": [_set_timeouts], "response": [_bound]},
            headers=UNCOMPRESSED,
            # A redirect would take the key along to wherever it leads.
            follow_redirects=False,
            **http_transport.client_options(),
        )
        options = genai.types.HttpOptions(
            base_url=self._base_url,
            httpx_async_client=http,
            retry_options=genai.types.HttpRetryOptions(**_ATTEMPTS),
        )
        # `vertexai=False`: the environment may ask for Vertex AI, which this key is not for.
        return genai.Client(api_key=self._api_key, vertexai=False, http_options=options), http

    def _address_of(self, client: Client) -> str:  # noqa: ARG002 - the SDK does not show it
        return ""

    def _keys_of(self, client: Client) -> Iterable[object]:
        return (getattr(getattr(client, "_api_client", None), "api_key", None),)

    def _failure(
        self, exc: Exception, model: str, *, began: bool, status: int = 200, what: str = "answer of Gemini"
    ) -> ProviderError:
        """Return what an exception of the SDK, of its transport or of its models means.

        `status` is that of the last answer, as far as it is known.
        """
        import httpx2
        from google.genai import errors

        from xmcp import http_bodies

        called = self._called
        if isinstance(exc, errors.APIError):
            code = exc.code if isinstance(exc.code, int) and 100 <= exc.code <= 599 else None
            told = gemini.reported(exc.details, called, status=code)
            return self._with_advice(told, model, began=began)
        if isinstance(exc, http_bodies.BodyTooLarge):
            large = too_large(called)
            return self._error(large.message, large.category, model, began=True)
        if isinstance(exc, http_bodies.BodyRefused):
            return self._error(f"{called}: {exc}.", ErrorCategory.UNKNOWN, model, began=began)
        root = type(exc).__module__.partition(".")[0]
        if isinstance(exc, OSError) or root in _TRANSPORTS:  # TimeoutError is an OSError
            if began:
                message = f"The connection to {called} broke in the middle of its answer ({type(exc).__name__})."
                error = self._error(message, ErrorCategory.NETWORK, model, began=True)
                error.unanswered = isinstance(exc, httpx2.ReadTimeout)
            else:
                said = str(exc) or type(exc).__name__
                error = self._not_reached(exc, said, model, unanswered=isinstance(exc, httpx2.ReadTimeout))
        elif root == "google" and "auth" in type(exc).__module__:
            error = self._error(f"{called}: no access to Google Cloud: {exc}", ErrorCategory.AUTH, model)
        elif status != 200:  # the SDK could not read the error
            told = gemini.reported(None, called, status=status)
            return self._with_advice(told, model)
        elif "JSON serializable" in str(exc):
            error = self._error(f"The request cannot be written as JSON: {exc}.", ErrorCategory.CONTENT, model)
        elif type(exc) is ValueError and not began:  # the others tell of an answer, and quote it
            error = self._error(f"{called}: {exc}", ErrorCategory.UNKNOWN, model)
        else:
            message = f"{called} answered something that is no {what}: check the base URL and the service behind it."
            return self._error(message, ErrorCategory.UNKNOWN, model, began=began)
        error.__cause__ = without_frames(exc)
        return error


async def _next(chunks: AsyncIterator[_T], opened: list[httpx2.Response]) -> _T | None:
    """Return the next chunk; `None` at the end. The responses that are opened for it are added to `opened`."""
    token = _opened.set(opened)
    try:
        return await anext(chunks, None)
    finally:
        # Before the consumer of the stream goes on, whose context this is.
        _opened.reset(token)


async def _abandon(chunks: AsyncGenerator[GenerateContentResponse]) -> None:
    """Have the SDK let go of its connection.

    Closing its generator does not close those inside it: a circle of references keeps them until a garbage collection.
    A reading that is cancelled goes through all of them.
    """
    for _ in range(_MOST_BUFFERED):
        reading = asyncio.ensure_future(_next(chunks, []))
        await asyncio.sleep(0)
        if reading.cancel():
            await asyncio.wait([reading])
            return
        if reading.exception() is not None or reading.result() is None:
            return


_MOST_BUFFERED: Final = 10_000
"""Chunks that may have arrived and are not read yet."""


async def _set_timeouts(request: httpx2.Request) -> None:
    """Bound the waits of a request; a request hook. The SDK has one option for all of them, and sends it along."""
    request.extensions["timeout"] = {
        "connect": CONNECT_SECONDS,
        "read": ANSWER_SECONDS,
        "write": ANSWER_SECONDS,
        "pool": ANSWER_SECONDS,
    }


async def _bound(response: httpx2.Response) -> None:
    """Bound what the SDK reads of an answer, and have it decompress nothing; a response hook.

    Raises:
        BodyRefused: the answer is compressed, or says that it is too large.
        ProviderError: it is a page.
    """
    from xmcp import http_bodies

    if (opened := _opened.get()) is not None:
        opened.append(response)
    if response.status_code >= 300:
        await bound_errors(response)
        return
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in PAGES:
        raise ProviderError(is_a_page(str(response.url), kind, "Gemini's API"), provider=GeminiProvider.name)
    http_bodies.refuse_compressed(response)
    if kind == "text/event-stream":
        http_bodies.limit(response, MAX_STREAM_BYTES, _EventSizes(response.request))
    else:
        http_bodies.limit(response, MAX_BODY_BYTES, _EventSizes(response.request))


class _EventSizes:
    """Ends a body with an event above `MAX_EVENT_BYTES` or `MAX_CONTAINERS`: the SDK would read it, however large."""

    def __init__(self, request: httpx2.Request) -> None:
        self._request = request
        self._size = 0
        self._containers = 0
        self._tail = b""

    def __call__(self, piece: bytes) -> None:
        from xmcp.http_bodies import too_large as body_too_large

        joined = self._tail + piece
        end = max(joined.rfind(b"\n\n"), joined.rfind(b"\n\r\n"), joined.rfind(b"\r\r"))
        self._size = self._size + len(piece) if end < 0 else len(joined) - end
        self._containers = self._containers + containers(piece) if end < 0 else containers(joined[end:])
        self._tail = joined[-2:]
        if self._containers > MAX_CONTAINERS:
            raise body_too_large(self._request, self._size)
        if self._size > MAX_EVENT_BYTES:
            raise body_too_large(self._request, MAX_EVENT_BYTES)
