"""Gemini, by the google-genai SDK: it does authentication, addresses and retries.

The body of a request is the vendor's JSON, made here (`formats.gemini`), and answers are read here: the SDK's own walk
over messages and tools would copy them several times, and it makes an object of a class of each chunk and of its parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_values import containers, encode_json
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.providers.base import ModelRequest, Reasoning
from xmcp.providers.errors import is_a_page, without_frames
from xmcp.providers.formats import gemini
from xmcp.providers.formats.chat_completions import too_large
from xmcp.providers.streamed_answers import PAGES, UNCOMPRESSED, StreamingProvider, Written, bound_errors

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import httpx2
    from google.genai import Client

MAX_LIST_BYTES: Final = 32 * 1024 * 1024
"""Maximum size of a page of a list of models."""

MAX_CONTAINERS: Final = 30_000
"""Maximum number of arrays and objects in a page of a list of models; brackets in its texts count, too. The SDK makes
an object of a class of each, in the event loop, which takes about 0.07 ms."""

MAX_MODELS: Final = 10_000
"""Maximum number of models that are read of a list."""

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 600.0
"""Maximum wait for the next bytes of an answer. The SDK itself would wait for ever."""

_ATTEMPTS: Final = {"attempts": 3, "initial_delay": 0.5, "max_delay": 8.0, "jitter": 0.25}
"""The SDK retries nothing unless it is told to. These are the retries that other vendors' SDKs do by themselves."""

_TRANSPORTS: Final = frozenset({"httpx2", "httpcore2", "httpx", "httpcore", "aiohttp", "anyio", "ssl", "socket"})
"""Packages whose exceptions tell of a connection. A client of the caller may use another than ours does."""

_opened: ContextVar[list[httpx2.Response] | None] = ContextVar("_opened", default=None)
"""Where the transport notes the responses of the request that is being made, which the SDK does not show."""


class GeminiProvider(StreamingProvider["Client"]):
    """Completions from Google's Gemini API, and from Vertex AI with a client that is made for it.

    Args:
        api_key: The key; default `GOOGLE_API_KEY`, then `GEMINI_API_KEY`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, without the version of the API; default
            `GOOGLE_GEMINI_BASE_URL`.
        model: Model for requests that name none (default `gemini-3.8-flash`).
        client: A ready `google.genai.Client` instead of key and address; the caller closes it.
        http_client: An `httpx2.AsyncClient` that sends the requests, with its proxies, certificates and hooks; the
            caller closes it.

    Raises:
        TypeError: `http_client` is of another class.
        ValueError: `client` together with `api_key`, `base_url` or `http_client`.
        ProviderError: no key anywhere (category `auth`).
    """

    name = gemini.VENDOR
    title: ClassVar[str] = "Gemini"
    api: ClassVar[str] = "Gemini's API"
    default_model: ClassVar[str] = "gemini-3.8-flash"
    key_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    url_variable: ClassVar[str | None] = "GOOGLE_GEMINI_BASE_URL"
    default_url: ClassVar[str | None] = "https://generativelanguage.googleapis.com"
    host: ClassVar[str] = "generativelanguage.googleapis.com"
    sample_key: ClassVar[str] = "AIza…"

    _http: httpx2.AsyncClient | None = None

    def takes_schema(self, model: str | None, tools: ToolSchemas) -> bool:
        """Return whether the vendor takes the schema of an answer; see `LLMProvider`."""
        return gemini.takes_schema(model or self.model, tools)

    def written(self, model: str, request: ModelRequest) -> Written:
        """See `StreamingProvider.written`."""
        return Written(encode_json(gemini.request_body(model, request.messages, request.tools, request.sampler)))

    def parse(self, data: bytes, called: str) -> Mapping[str, Any]:
        """See `StreamingProvider.parse`."""
        return gemini.parse(data, called)

    def assembly(self, request: ModelRequest) -> gemini.Assembly:
        """See `StreamingProvider.assembly`."""
        return gemini.Assembly(self._called, request.received, gemini.own_names(request.tools))

    def whole(self, answer: Mapping[str, Any], request: ModelRequest) -> tuple[str, Completion]:
        """See `StreamingProvider.whole`."""
        assembly = self.assembly(request)
        reasoning = "".join(piece.text for piece in assembly.take(answer) if isinstance(piece, Reasoning))
        return reasoning, assembly.finish(done=True)

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
            failure = self._failure(exc, self.model, what="list of models")
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

    async def _post(self, model: str, request: ModelRequest) -> httpx2.Response:
        """Send the request with the SDK's retries; return as soon as the headers of an answer have arrived."""
        client = await self._sdk()
        body = (await self._written(model, request)).body
        opened: list[httpx2.Response] = []
        token = _opened.set(opened)
        try:
            from xmcp import http_bodies

            answered = await self._sent(client, model, body)
            try:
                return http_bodies.as_httpx2(answered.response_stream)
            except AttributeError as exc:
                raise self._other_release(exc, model) from without_frames(exc)
        except BaseException as exc:
            for response in opened:
                await response.aclose()
            if isinstance(exc, ProviderError) or not isinstance(exc, Exception):
                raise
            failure = self._failure(exc, model, status=opened[-1].status_code if opened else 200)
            raise failure from failure.__cause__
        finally:
            _opened.reset(token)

    def _sent(self, client: Client, model: str, body: bytes) -> Awaitable[Any]:
        """Return the request as the SDK sends it: with its address, authentication and retries, and our body.

        Raises:
            ProviderError: the model has no valid name, or the SDK is of a release that sends requests in another way.
        """
        try:
            from google.genai._transformers import t_model

            # What `generate_content_stream` does, with our body in the place of its model of the request.
            sdk = client._api_client
            sent = sdk._build_request("post", f"{t_model(sdk, model)}:streamGenerateContent?alt=sse", {})
            sent.headers.update(UNCOMPRESSED)
            sent.data = body
            return sdk._async_request(sent, stream=True)
        except ValueError as exc:
            raise self._error(f"{self._called}: {exc}", ErrorCategory.UNKNOWN, model) from None
        except (ImportError, AttributeError, TypeError) as exc:
            raise self._other_release(exc, model) from without_frames(exc)

    def _other_release(self, fault: Exception, model: str) -> ProviderError:
        from google.genai import __version__

        return self._error(
            f"google-genai {__version__} sends its requests in another way than GeminiProvider is written for "
            f"({fault}): pip install 'xmcp[gemini]' gets a release that fits. A client that was passed must be a "
            "google.genai.Client.",
            ErrorCategory.UNKNOWN,
            model,
        )

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

        from xmcp import http_clients

        http = http_clients.new_client(
            httpx2.AsyncClient,
            self._http_client,
            event_hooks={"request": [_set_timeouts], "response": [_bound]},
            headers=UNCOMPRESSED,
            # A redirect would take the key along to wherever it leads.
            follow_redirects=False,
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
        self, exc: Exception, model: str, *, status: int = 200, what: str = "answer of Gemini"
    ) -> ProviderError:
        """Return what an exception of the SDK or of its transport means, before there was an answer.

        `status` is that of the last answer, as far as it is known.
        """
        import httpx2
        from google.genai import errors

        from xmcp import http_bodies

        called = self._called
        if isinstance(exc, errors.APIError):
            told = gemini.reported(exc.details, called, status=gemini.status_of(exc.code))
            return self._with_advice(told, model)
        if isinstance(exc, http_bodies.BodyTooLarge):
            large = too_large(called)
            return self._error(large.message, large.category, model, began=True)
        if isinstance(exc, http_bodies.BodyRefused):
            return self._error(f"{called}: {exc}.", ErrorCategory.UNKNOWN, model)
        root = type(exc).__module__.partition(".")[0]
        if isinstance(exc, OSError) or root in _TRANSPORTS:  # TimeoutError is an OSError
            said = str(exc) or type(exc).__name__
            error = self._not_reached(exc, said, model, unanswered=isinstance(exc, httpx2.ReadTimeout))
        elif root == "google" and "auth" in type(exc).__module__:
            error = self._error(f"{called}: no access to Google Cloud: {exc}", ErrorCategory.AUTH, model)
        elif status != 200:  # the SDK could not read the error
            told = gemini.reported(None, called, status=status)
            return self._with_advice(told, model)
        else:  # what the SDK says of an answer quotes it
            message = f"{called} answered something that is no {what}: check the base URL and the service behind it."
            return self._error(message, ErrorCategory.UNKNOWN, model)
        error.__cause__ = without_frames(exc)
        return error


async def _set_timeouts(request: httpx2.Request) -> None:
    """Bound the waits of a request; a request hook. The SDK has one option for all of them, and sends it along."""
    request.extensions["timeout"] = {
        "connect": CONNECT_SECONDS,
        "read": ANSWER_SECONDS,
        "write": ANSWER_SECONDS,
        "pool": ANSWER_SECONDS,
    }


async def _bound(response: httpx2.Response) -> None:
    """Bound what the SDK reads itself, which is errors and lists of models; a response hook.

    Raises:
        BodyRefused: a list is compressed, or says that it is too large.
        ProviderError: it is a page.
    """
    from xmcp import http_bodies

    if (opened := _opened.get()) is not None:
        opened.append(response)
    if response.status_code >= 300:
        await bound_errors(response)
    elif response.request.method == "GET":
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in PAGES:
            message = is_a_page(str(response.url), kind, GeminiProvider.api)
            raise ProviderError(message, provider=GeminiProvider.name)
        http_bodies.refuse_compressed(response)
        http_bodies.limit(response, MAX_LIST_BYTES, _count_containers(response.request))


def _count_containers(request: httpx2.Request) -> Callable[[bytes], None]:
    """Return what ends a body with more than `MAX_CONTAINERS`."""
    from xmcp import http_bodies

    found = 0

    def count(piece: bytes) -> None:
        nonlocal found
        found += containers(piece)
        if found > MAX_CONTAINERS:
            raise http_bodies.too_large(request, MAX_LIST_BYTES)

    return count
