"""Anthropic's Claude, by the Messages API.

The anthropic SDK does authentication, addresses, retries and error classes. As with OpenAI, requests go through its
transport as bytes that are made here, and answers are read here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.untrusted_text import without_secrets
from xmcp.providers.base import ModelRequest, Received
from xmcp.providers.errors import redact, without_frames
from xmcp.providers.formats import anthropic_messages
from xmcp.providers.formats.chat_completions import MANY_CONTAINERS, reported, takes_long, too_large
from xmcp.providers.formats.sse import EventTooLarge
from xmcp.providers.openai_sdk import DRAIN_SECONDS, MAX_BODY_BYTES, PAGES, UNCOMPRESSED, bound_errors, events

if TYPE_CHECKING:
    import httpx2
    from anthropic import AnthropicError, APIStatusError, AsyncAnthropic
    from anthropic._types import RequestOptions

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
"""The model if neither the request nor the provider names one."""

MAX_MODELS: Final = 10_000
"""Maximum number of models that are read of a list."""

_ANTHROPIC: Final = "api.anthropic.com"


class AnthropicProvider:
    """Completions from Claude. It needs `pip install 'xmcp[anthropic]'`.

    Temperature, `top_p` and `seed` are left out, since the vendor refuses them. A model that thinks keeps its signed
    thinking in the history, and gets it back.

    Args:
        api_key: The key; default `ANTHROPIC_API_KEY`, else `ANTHROPIC_AUTH_TOKEN`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, without `/v1`; default `ANTHROPIC_BASE_URL`.
        model: Model for requests that name none (default `claude-sonnet-5-5`).
        client: A ready `anthropic.AsyncAnthropic` instead of key and address; the caller closes it.

    Raises:
        ValueError: `client` together with `api_key` or `base_url`, or a `base_url` without a scheme.
        ProviderError: no key anywhere (category `auth`).
    """

    name = anthropic_messages.VENDOR
    supports_tools = True
    max_context_tokens: int | None = None

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        model: str | None = None,
        *,
        client: AsyncAnthropic | None = None,
    ) -> None:
        if client is not None and (api_key is not None or base_url is not None):
            raise ValueError("Give AnthropicProvider either a client, or api_key and base_url, not both.")
        self.model = model or DEFAULT_MODEL
        self._client = client
        self._client_is_ours = client is None
        address = base_url or os.environ.get("ANTHROPIC_BASE_URL") or None
        self._base_url = address.rstrip("/").removesuffix("/v1") if address else None
        keys = (api_key, os.environ.get("ANTHROPIC_API_KEY"), os.environ.get("ANTHROPIC_AUTH_TOKEN"))
        known = ((key or "").strip() for key in keys)  # one that comes from a file often ends with a line break
        self._api_key = next(filter(None, known), "none" if self._base_url else None)
        if self._base_url and not self._base_url.startswith(("http://", "https://")):
            shown = without_secrets(f"http://{self._base_url}")
            raise ValueError(f"The base URL of the model begins with neither http:// nor https://: write {shown}")
        if client is None and self._api_key is None:
            raise ProviderError(
                "No Anthropic API key: pass api_key=..., set ANTHROPIC_API_KEY, or pass base_url=... "
                "(ANTHROPIC_BASE_URL) of a server that needs none.",
                category=ErrorCategory.AUTH,
                provider=self.name,
            )
        if self._api_key and not self._api_key.isascii():
            raise ProviderError(
                "The Anthropic API key has a character that no key has: was a placeholder such as `sk-ant-…` left in?",
                category=ErrorCategory.AUTH,
                provider=self.name,
            )

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
            message = f"{address} answers {kind}, which is not Anthropic's Messages API."
            raise self._error(message, ErrorCategory.UNKNOWN, model)
        try:
            http_bodies.refuse_compressed(response)
            if kind == "application/json":
                http_bodies.limit(response, MAX_BODY_BYTES)
                answer = await self._parse(await response.aread())
                completion = anthropic_messages.Assembly(self._called, request.received).take_whole(answer)
                if completion.text:
                    yield completion.text
                yield completion
            else:
                async with aclosing(self._read(response, request.received)) as pieces:
                    async for piece in pieces:
                        yield piece
        except (http_bodies.BodyTooLarge, EventTooLarge) as exc:
            large = too_large(self._called)
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
        import anthropic

        try:
            names: set[str] = set()
            async for model in client.models.list(limit=1000):
                if not isinstance(model.id, str):  # the SDK checks no types
                    raise TypeError
                names.add(model.id)
                if len(names) == MAX_MODELS:
                    break
            return sorted(names)
        except anthropic.APIStatusError as exc:
            raise self._status_error(exc, self.model) from None
        except anthropic.AnthropicError as exc:
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
        import anthropic
        import httpx2

        try:
            sampler = _with_strict_schema(request.sampler)
            written = anthropic_messages.write(model, request.messages, request.tools, sampler, self.name)
        except (AttributeError, KeyError, TypeError) as exc:
            message = f"The messages cannot be written as Anthropic's ({type(exc).__name__}: {exc})."
            raise self._error(message, ErrorCategory.CONTENT, model) from exc
        # Ours has the first header already; options cost the SDK time at each request.
        headers = {} if self._client_is_ours else dict(UNCOMPRESSED)
        if written.beta is not None:
            headers["anthropic-beta"] = written.beta
        options: RequestOptions = {"headers": headers} if headers else {}
        try:
            # With the transport's own class as `cast_to`, a streamed answer is returned unread (_process_response).
            answer: object = await client.post(
                "/v1/messages",
                content=written.body,
                cast_to=httpx2.Response,
                options=options,
                stream=True,
                stream_cls=anthropic.AsyncStream[object],
            )
            return cast("httpx2.Response", answer)
        except anthropic.APIStatusError as exc:
            raise self._status_error(exc, model) from None
        except anthropic.AnthropicError as exc:
            raise self._failure(exc, model) from without_frames(exc)
        except TypeError as exc:  # the caller's client has no key
            raise self._error(f"{self.name}: {exc}", ErrorCategory.AUTH, model) from without_frames(exc)

    def _failure(self, exc: AnthropicError, model: str) -> ProviderError:
        """Return what an exception of the SDK means that has no status of the vendor."""
        import anthropic
        import httpx2

        if not isinstance(exc, anthropic.APIConnectionError):
            return self._error(f"{self.name}: {exc}", ErrorCategory.UNKNOWN, model)
        address = without_secrets(str(self._client.base_url if self._client else "")).rstrip("/")
        message = f"The model at {address} cannot be reached: {str(exc.__cause__ or '') or exc.message}"
        error = self._error(message, ErrorCategory.NETWORK, model)
        error.unanswered = isinstance(exc.__cause__, httpx2.ReadTimeout)
        return error

    async def _sdk(self) -> AsyncAnthropic:
        if self._client is not None:
            return self._client
        try:
            # The import takes most of a second, which would block the event loop.
            await asyncio.to_thread(import_module, "anthropic")
        except ModuleNotFoundError as exc:
            message = "AnthropicProvider needs the package anthropic: pip install 'xmcp[anthropic]'"
            raise self._error(message, ErrorCategory.UNKNOWN, self.model) from exc
        import anthropic

        if self._client is None:
            from xmcp import http_transport

            http = anthropic.DefaultAsyncHttpxClient(
                event_hooks={"response": [bound_errors]}, headers=UNCOMPRESSED, **http_transport.client_options()
            )
            self._client = anthropic.AsyncAnthropic(api_key=self._api_key, base_url=self._base_url, http_client=http)
        return self._client

    async def _read(self, response: httpx2.Response, received: Received) -> AsyncGenerator[str | Completion, None]:
        called = self._called
        assembly = anthropic_messages.Assembly(called, received, self.name)
        async with aclosing(events(response)) as arriving:
            async for event in arriving:
                # A coroutine for each piece of text would cost more than the reading.
                short = len(event.data) <= MANY_CONTAINERS
                said = anthropic_messages.parse(event.data, called) if short else await self._parse(event.data)
                if text := assembly.take(said):
                    yield text
                if assembly.done:
                    break
            if assembly.done:
                with suppress(TimeoutError):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        async for _ in arriving:
                            pass
        yield assembly.finish()

    async def _parse(self, data: bytes) -> Mapping[str, Any]:
        if takes_long(data):
            return await asyncio.to_thread(anthropic_messages.parse, data, self._called)
        return anthropic_messages.parse(data, self._called)

    @property
    def _called(self) -> str:
        """The name for messages: of another server with Anthropic's format, its host."""
        base_url = self._base_url or (str(self._client.base_url) if self._client is not None else "")
        host = urlsplit(base_url).netloc.rpartition("@")[2]
        return host if host and host != _ANTHROPIC else self.name

    def _status_error(self, exc: APIStatusError, model: str) -> ProviderError:
        if isinstance(exc.body, dict):
            told = anthropic_messages.reported(exc.body, self._called, status=exc.status_code)
        else:
            # A body that is not the API's own is the page of some proxy: do not show it.
            told = reported(f"HTTP status {exc.status_code}", self._called, status=exc.status_code)
        return self._error(told.message, told.category, model, exc.status_code)

    def _error(
        self, message: str, category: ErrorCategory, model: str, status: int | None = None, *, began: bool = False
    ) -> ProviderError:
        safe = redact(message, self._api_key if self._api_key != "none" else None)
        return ProviderError(safe, category=category, provider=self.name, model=model, status=status, began=began)


def _with_strict_schema(sampler: SamplerConfig) -> SamplerConfig:
    """Return the options with the schema of the answer in the form that the vendor takes, where the SDK knows one.

    It allows no members that are not named, and makes constraints that the vendor refuses a part of the description.
    """
    if sampler.response_format is None:
        return sampler
    import anthropic

    try:
        return replace(sampler, response_format=anthropic.transform_schema(dict(sampler.response_format)))
    except (ValueError, TypeError, AttributeError, AssertionError):
        return sampler  # the vendor says what is wrong with it, if anything is
