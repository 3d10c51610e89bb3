"""Mistral, through the mistralai SDK.

The SDK does authentication, addresses, retries and its hooks. Requests go through it as bytes that are made here, and
answers are read here: of the SDK's own way, which makes a class of pydantic for each chunk, a call costs many times as
much, and it loses members that its version does not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

import orjson

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.providers import streamed_answers
from xmcp.providers.base import ModelRequest
from xmcp.providers.errors import without_frames
from xmcp.providers.formats import chat_completions, mistral
from xmcp.providers.streamed_answers import StreamingProvider, Written

if TYPE_CHECKING:
    import httpx2
    from mistralai.client import Mistral
    from mistralai.client.utils import RetryConfig

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

_IN_FLIGHT: Final = "xmcp_response"
"""Under this name a request that is being sent has its response."""


class MistralProvider(StreamingProvider["Mistral"]):
    """Completions from Mistral's models.

    Args:
        api_key: The key; default `MISTRAL_API_KEY`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, without its `/v1`.
        model: Model for requests that name none (default `mistral-medium-latest`).
        client: A ready `mistralai.client.Mistral` instead of key and address; the caller closes it. It retries only if
            it has a `retry_config`.
        http_client: An `httpx2.AsyncClient` that sends the requests, with its proxies, certificates and hooks; the
            caller closes it.

    Raises:
        TypeError: `http_client` is of another class.
        ValueError: `client` together with `api_key`, `base_url` or `http_client`, or a base URL that is none.
        ProviderError: no key anywhere (category `auth`).
    """

    name = mistral.NAME
    title: ClassVar[str] = "Mistral"
    api: ClassVar[str] = "Mistral's chat completions API"
    default_model: ClassVar[str] = "mistral-medium-latest"
    key_variables: ClassVar[tuple[str, ...]] = ("MISTRAL_API_KEY",)
    version_path: ClassVar[str] = "/v1"
    host: ClassVar[str] = "api.mistral.ai"
    sample_key: ClassVar[str] = "…"

    _http: httpx2.AsyncClient | None = None

    def written(self, model: str, request: ModelRequest) -> Written:
        """See `StreamingProvider.written`."""
        return Written(mistral.request_body(model, request.messages, request.tools, request.sampler))

    def parse(self, data: bytes, called: str) -> Mapping[str, Any]:
        """See `StreamingProvider.parse`."""
        return mistral.parse(data, called)

    def assembly(self, request: ModelRequest) -> mistral.Assembly:
        """See `StreamingProvider.assembly`."""
        return mistral.Assembly(self._called, request.received)

    def whole(self, answer: Mapping[str, Any], request: ModelRequest) -> tuple[str, Completion]:
        """See `StreamingProvider.whole`."""
        return chat_completions.whole(answer, self._called, self.assembly(request))

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
        written = await self._written(model, request)
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
                get_serialized_body=lambda: utils.SerializedRequestBody("application/json", content=written.body),
                http_headers=streamed_answers.UNCOMPRESSED,
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

    def _failure(self, exc: Exception, model: str) -> ProviderError:
        """Return what an exception means that was raised before there was an answer."""
        import httpx2

        from xmcp.http_bodies import BodyRefused

        if isinstance(exc, BodyRefused):
            return self._error(f"{self._called}: {exc}.", ErrorCategory.UNKNOWN, model)
        if not isinstance(exc, httpx2.HTTPError):
            return self._error(f"{self.name}: {type(exc).__name__}: {exc}", ErrorCategory.UNKNOWN, model)
        said = str(exc) or type(exc).__name__
        return self._not_reached(exc, said, model, unanswered=isinstance(exc, httpx2.ReadTimeout))

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
            message = "MistralProvider needs the package mistralai: pip install 'xmcp[mistral]'"
            raise self._error(message, ErrorCategory.UNKNOWN, self.model) from None
        import httpx2

        from xmcp import http_clients

        http = http_clients.new_client(
            httpx2.AsyncClient,
            self._http_client,
            event_hooks={"response": [_on_response]},
            follow_redirects=True,
            timeout=httpx2.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
        )
        client = Mistral(
            api_key=self._api_key, server_url=self._base_url, async_client=http, retry_config=_retry_config()
        )
        return client, http

    def _address_of(self, client: Mistral) -> str:
        return str(client.sdk_configuration.get_server_details()[0])

    def _keys_of(self, client: Mistral) -> Iterable[object]:
        return (getattr(client.sdk_configuration.security, "api_key", None),)

    def _status_error(self, status: int, body: bytes, model: str) -> ProviderError:
        facts: Any = None
        with suppress(orjson.JSONDecodeError):
            facts = orjson.loads(body)
        if not isinstance(facts, dict):  # the page of some proxy: do not show it
            facts = {"message": f"HTTP status {status}"}
        return self._with_advice(mistral.reported(facts, self._called, status=status), model)


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
    await streamed_answers.bound_errors(response)
    if response.status_code < 300 and response.request.method == "GET":
        http_bodies.refuse_compressed(response)
        http_bodies.limit(response, streamed_answers.MAX_BODY_BYTES)


async def _beginning(response: httpx2.Response) -> bytes:
    """Return the beginning of a body, up to what tells an error."""
    body = bytearray()
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) >= streamed_answers.MAX_ERROR_BYTES:
                break
    return bytes(body)
