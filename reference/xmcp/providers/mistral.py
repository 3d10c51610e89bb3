"""Mistral, through the mistralai SDK.

The SDK does authentication, addresses, retries and its hooks. Requests go through it as bytes that are made here, and
answers are read here: of the SDK's own way, which makes a class of pydantic for each chunk, a call costs many times as
much, and it loses members that its version does not know.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import orjson

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.untrusted_text import without_secrets
from xmcp.providers.base import ModelRequest, Received
from xmcp.providers.errors import redact, without_frames
from xmcp.providers.formats import chat_completions, mistral
from xmcp.providers.formats.sse import EventTooLarge
from xmcp.providers.openai_sdk import DRAIN_SECONDS, MAX_BODY_BYTES, MAX_ERROR_BYTES, bound_errors, events

if TYPE_CHECKING:
    import httpx2
    from mistralai.client import Mistral
    from mistralai.client.utils import RetryConfig

DEFAULT_MODEL: Final = "mistral-medium-latest"
"""The model if neither the request nor the provider names one."""

FIRST_WAIT_MS: Final = 500
WAIT_GROWTH: Final = 2.0
MAX_WAIT_MS: Final = 8000
RETRIES_END_MS: Final = 1500
"""No retry begins so long after the first try: two of a request that is refused at once. The SDK counts no tries."""

MAX_RETRY_AFTER: Final = 60.0
"""Longest time in seconds that a vendor may ask to wait before a retry. The SDK would wait for an hour, too."""

TIMEOUT: Final = 600.0
CONNECT_TIMEOUT: Final = 5.0
_TIMEOUT_OF_SDK_MS: Final = 300_000

_RETRIED: Final = ["429", "500", "502", "503", "504"]
"""What the SDK retries."""

_MISTRAL: Final = "api.mistral.ai"

_IN_FLIGHT: Final = "xmcp_response"
"""Under this name a request that is being sent has its response."""

_NO_PACKAGE: Final = "The package mistralai is not installed: pip install 'xmcp[mistral]'"

_NO_KEY: Final = (
    "No Mistral API key: pass api_key=... to MistralProvider, set MISTRAL_API_KEY, or pass base_url=... of a server "
    "that needs none."
)

_PLACEHOLDER: Final = "The Mistral API key has a character that no key has: was a placeholder such as `…` left in?"


class MistralProvider:
    """Completions from Mistral's models.

    Args:
        api_key: The key; default `MISTRAL_API_KEY`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, without its `/v1`.
        model: Model for requests that name none (default `mistral-medium-latest`).
        client: A ready `mistralai.client.Mistral` instead of key and address; the caller closes it. It retries only if
            it has a `retry_config`.

    Raises:
        ValueError: `client` together with `api_key` or `base_url`, or a base URL that is none.
        ProviderError: no key anywhere (category `auth`).
    """

    name = mistral.NAME
    supports_tools = True
    max_context_tokens: int | None = None

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        model: str | None = None,
        *,
        client: Mistral | None = None,
    ) -> None:
        if client is not None and (api_key is not None or base_url is not None):
            raise ValueError("Give MistralProvider either a client, or api_key and base_url, not both.")
        self.model = model or DEFAULT_MODEL
        self._client = client
        self._client_is_ours = client is None
        self._http: httpx2.AsyncClient | None = None
        self._base_url = base_url.rstrip("/").removesuffix("/v1") if base_url else None
        self._api_key = api_key or os.environ.get("MISTRAL_API_KEY") or ("none" if self._base_url else None)
        if self._base_url and not self._base_url.startswith(("http://", "https://")):
            shown = without_secrets(f"http://{self._base_url}")
            raise ValueError(f"The base URL of the model begins with neither http:// nor https://: write {shown}")
        if client is None and self._api_key is None:
            raise ProviderError(_NO_KEY, category=ErrorCategory.AUTH, provider=self.name)
        if self._api_key and not self._api_key.isascii():
            raise ProviderError(_PLACEHOLDER, category=ErrorCategory.AUTH, provider=self.name)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        """Ask the model once (see `LLMProvider`)."""
        model = request.model or self.model
        response = await self._post(model, request)
        import httpx2

        from xmcp import http_bodies

        try:
            http_bodies.refuse_compressed(response)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "text/event-stream":
                raise await self._no_stream(response, kind, model)
            async with aclosing(self._read(response, request.received)) as pieces:
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
            if exc.model is not None:
                raise
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
        from mistralai.client.errors import MistralError, ResponseValidationError

        strange = f"{self._called} answered something that is no list of models: check the base URL."
        try:
            # The class of the models is in a module that takes long to import.
            models = await asyncio.to_thread(getattr, client, "models")
            listed = await models.list_async()
            return sorted(str(one.id) for one in listed.data or ())
        except ResponseValidationError:
            raise self._error(strange, ErrorCategory.UNKNOWN, self.model) from None
        except MistralError as exc:
            if exc.status_code < 400:
                raise self._error(strange, ErrorCategory.UNKNOWN, self.model) from None
            raise self._status_error(exc.status_code, exc.body.encode(), self.model) from None
        except AttributeError:
            raise self._error(strange, ErrorCategory.UNKNOWN, self.model) from None
        except Exception as exc:
            raise self._failure(exc, self.model) from without_frames(exc)

    async def aclose(self) -> None:
        """Close the connections, unless the SDK client came from the caller."""
        if self._client is not None and self._client_is_ours:
            (client, self._client), (http, self._http) = (self._client, None), (self._http, None)
            _close(client)
            if http is not None:
                await http.aclose()

    async def _post(self, model: str, request: ModelRequest) -> httpx2.Response:
        """Send the request with the SDK's retries; return as soon as the headers of an answer have arrived."""
        client = await self._sdk()
        from mistralai.client import utils
        from mistralai.client._hooks import HookContext

        config = client.sdk_configuration
        try:
            body = mistral.request_body(model, request.messages, request.tools, request.sampler)
        except (TypeError, KeyError, AttributeError) as exc:
            message = f"The messages cannot be written as JSON: {type(exc).__name__}: {exc}."
            raise self._error(message, ErrorCategory.CONTENT, model) from exc
        sent: httpx2.Request | None = None
        try:
            # What `chat.stream_async` does, with our body in the place of its model of the request.
            base_url, _ = config.get_server_details()
            sent = client._build_request_async(
                method="POST",
                path="/v1/chat/completions#stream",
                base_url=base_url,
                url_variables=None,
                request=None,
                request_body_required=True,
                request_has_path_params=False,
                request_has_query_params=False,
                user_agent_header="user-agent",
                accept_header_value="text/event-stream",
                security=config.security,
                timeout_ms=config.timeout_ms or (None if self._client_is_ours else _TIMEOUT_OF_SDK_MS),
                get_serialized_body=lambda: utils.SerializedRequestBody("application/json", content=body),
                http_headers=_UNCOMPRESSED,
            )
            context = HookContext(
                config=config,
                base_url=base_url,
                operation_id="stream_chat",
                oauth2_scopes=None,
                security_source=config.security,
                tags=["chat"],
                extensions=None,
            )
            retries = config.retry_config
            response = await client.do_request_async(
                hook_ctx=context,
                request=sent,
                is_error_status_code=lambda status: status >= 400,
                stream=True,
                retry_config=(retries, _RETRIED) if isinstance(retries, utils.RetryConfig) else None,
            )
        except Exception as exc:
            raise self._failure(exc, model) from without_frames(exc)
        except BaseException:
            # The SDK leaves an answer open if it is cancelled between its arrival and the end of the hooks.
            if sent is not None and (arrived := sent.extensions.get(_IN_FLIGHT)) is not None:
                await arrived.aclose()
            raise
        finally:
            if sent is not None:
                sent.extensions.pop(_IN_FLIGHT, None)
        if response.status_code >= 300:
            raise await self._refused(response, model)
        return response

    async def _refused(self, response: httpx2.Response, model: str) -> ProviderError:
        import httpx2

        try:
            body = await _beginning(response)
        except (httpx2.HTTPError, httpx2.StreamError):
            body = b""  # the status says enough
        finally:
            await response.aclose()
        return self._status_error(response.status_code, body, model)

    async def _no_stream(self, response: httpx2.Response, kind: str, model: str) -> ProviderError:
        """Return what an answer of another kind means: an error without its status, or a server that is not Mistral."""
        if kind == "application/json":
            try:
                mistral.parse(await _beginning(response), self._called)
            except ProviderError as exc:
                return self._error(exc.message, exc.category, model, exc.status)
        address = without_secrets(str(response.url)).partition("#")[0]
        message = f"{address} answers {kind or 'without a type'}, which is no stream of Mistral's chat completions API."
        return self._error(message, ErrorCategory.UNKNOWN, model)

    def _failure(self, exc: Exception, model: str) -> ProviderError:
        """Return what an exception means that was raised before there was an answer."""
        import httpx2

        from xmcp.http_bodies import BodyRefused

        if isinstance(exc, BodyRefused):
            return self._error(f"{self._called}: {exc}.", ErrorCategory.UNKNOWN, model)
        if not isinstance(exc, httpx2.HTTPError):
            return self._error(f"{self.name}: {type(exc).__name__}: {exc}", ErrorCategory.UNKNOWN, model)
        address = self._base_url or self._address()
        said = str(exc) or type(exc).__name__
        message = f"The model at {without_secrets(address).rstrip('/')} cannot be reached: {said}"
        error = self._error(message, ErrorCategory.NETWORK, model)
        error.unanswered = isinstance(exc, httpx2.ReadTimeout)
        return error

    async def _sdk(self) -> Mistral:
        if self._client is None:
            # The import takes most of a second, and the SDK opens certificates, which would block the event loop.
            client, http = await asyncio.to_thread(self._made)
            if self._client is None:
                self._client, self._http = client, http
            else:  # another request was faster
                _close(client)
                await http.aclose()
        return self._client

    def _made(self) -> tuple[Mistral, httpx2.AsyncClient]:
        try:
            from mistralai.client import Mistral
        except ImportError:
            raise ProviderError(_NO_PACKAGE, provider=self.name, model=self.model) from None
        import httpx2

        http = httpx2.AsyncClient(
            event_hooks={"response": [_on_response]},
            follow_redirects=True,
            timeout=httpx2.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
        )
        client = Mistral(
            api_key=self._api_key, server_url=self._base_url, async_client=http, retry_config=_retry_config()
        )
        return client, http

    async def _read(self, response: httpx2.Response, received: Received) -> AsyncGenerator[str | Completion, None]:
        called = self._called
        assembly, done = mistral.Assembly(called, received), False
        async with aclosing(events(response)) as arriving:
            async for event in arriving:
                if event.data == b"[DONE]":
                    done = True
                    break
                # A coroutine for each piece of text would cost more than the reading.
                short = len(event.data) <= chat_completions.MANY_CONTAINERS
                if text := assembly.take(mistral.parse(event.data, called) if short else await self._parse(event.data)):
                    yield text
            if done:
                with suppress(TimeoutError):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        async for _ in arriving:
                            pass
        yield assembly.finish(done=done)

    async def _parse(self, data: bytes) -> Mapping[str, Any]:
        if chat_completions.takes_long(data):
            return await asyncio.to_thread(mistral.parse, data, self._called)
        return mistral.parse(data, self._called)

    def _address(self) -> str:
        return str(self._client.sdk_configuration.get_server_details()[0]) if self._client is not None else ""

    @property
    def _called(self) -> str:
        """The name for messages: of another server with Mistral's format, its host."""
        host = urlsplit(self._base_url or self._address()).netloc.rpartition("@")[2]
        return host if host and host != _MISTRAL else self.name

    def _status_error(self, status: int, body: bytes, model: str) -> ProviderError:
        facts: Any = None
        with suppress(orjson.JSONDecodeError):
            facts = orjson.loads(body)
        if not isinstance(facts, dict):  # the page of some proxy: do not show it
            facts = {"message": f"HTTP status {status}"}
        reported = mistral.reported(facts, self._called, status=status)
        return self._error(reported.message, reported.category, model, status)

    def _error(
        self, message: str, category: ErrorCategory, model: str, status: int | None = None, *, began: bool = False
    ) -> ProviderError:
        safe = redact(message, self._api_key if self._api_key != "none" else None)
        return ProviderError(safe, category=category, provider=self.name, model=model, status=status, began=began)


_UNCOMPRESSED: Final = {"Accept-Encoding": "identity"}


def _retry_config() -> RetryConfig:
    from mistralai.client.utils import BackoffStrategy, RetryConfig

    backoff = BackoffStrategy(FIRST_WAIT_MS, MAX_WAIT_MS, WAIT_GROWTH, RETRIES_END_MS, jitter_ms=FIRST_WAIT_MS // 4)
    return RetryConfig("backoff", backoff, retry_connection_errors=True)


def _close(client: Mistral) -> None:
    """Close the SDK's client of blocking calls, which it makes at once and which is never used."""
    client.__exit__(None, None, None)  # type: ignore[no-untyped-call]


async def _on_response(response: httpx2.Response) -> None:
    """Bound what the SDK reads and how long it waits, and remember the response; a response hook."""
    from xmcp import http_bodies

    response.request.extensions[_IN_FLIGHT] = response
    headers = response.headers
    # With it, the SDK would read `model` out of a body that has not arrived, and fail.
    headers.pop("x-model-deprecation-timestamp", None)
    headers.pop("retry-after-ms", None)  # it has no lower bound
    try:
        usable = 0 <= float(headers.get("retry-after", "0")) <= MAX_RETRY_AFTER
    except ValueError:  # a date, which the SDK would wait for however far off it is
        usable = False
    if not usable:
        headers.pop("retry-after", None)
    await bound_errors(response)
    if response.status_code < 300 and response.request.method == "GET":
        http_bodies.refuse_compressed(response)
        http_bodies.limit(response, MAX_BODY_BYTES)


async def _beginning(response: httpx2.Response) -> bytes:
    """Return the beginning of a body, up to what tells an error."""
    body = bytearray()
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) >= MAX_ERROR_BYTES:
                break
    return bytes(body)
