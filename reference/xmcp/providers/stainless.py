"""Providers on the SDKs of OpenAI and of Anthropic, which one generator, Stainless, makes: their parts are the same."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.providers.base import ModelRequest
from xmcp.providers.errors import without_frames
from xmcp.providers.formats import chat_completions
from xmcp.providers.sdk_provider import ClientT
from xmcp.providers.streamed_answers import UNCOMPRESSED, StreamingProvider, bound_errors

if TYPE_CHECKING:
    import httpx2

MAX_MODELS: Final = 10_000
"""Maximum number of models that are read of a list."""


class StainlessProvider(StreamingProvider[ClientT]):
    """A provider on such an SDK."""

    package: ClassVar[str]
    """The package of the SDK."""
    extra: ClassVar[str | None] = None
    """The extra of our package that installs it; `None`: it always is."""

    list_options: ClassVar[Mapping[str, int]] = {}
    """What the SDK is given when it lists models."""

    @abstractmethod
    def _made(self, sdk: Any, http: httpx2.AsyncClient) -> ClientT:
        """Return a client of the SDK for our key and address."""

    @abstractmethod
    def path(self, client: ClientT, model: str) -> str:
        """Return the path of a request, after the base URL."""

    def reported(self, body: Mapping[str, Any], status: int) -> ProviderError:
        """Return the failure that the body of a refusal describes."""
        return chat_completions.reported(body, self._called, status=status)

    def _asks_again(self, refusal: Any, model: str) -> bool:  # noqa: ARG002 - for subclasses
        """Learn from a refusal; return whether the next body may be another one, to which it does not apply."""
        return False

    async def list_models(self) -> list[str]:
        """Return the names of the models that the vendor has for this key, sorted.

        Raises:
            ProviderError: it does not say.
        """
        client: Any = await self._sdk()
        names: set[str] = set()
        read = 0
        try:
            async for model in client.models.list(**self.list_options):
                if not isinstance(model.id, str):  # the SDK checks no types
                    raise TypeError
                names.add(model.id)
                read += 1  # not the names: a server may answer the same page for ever
                if read >= MAX_MODELS:
                    break
        except (AttributeError, TypeError, ValueError):
            message = f"{self._called} answered something that is no list of models: check the base URL."
            raise self._error(message, ErrorCategory.UNKNOWN, self.model) from None
        except Exception as exc:
            raise self._failure(exc, self.model) from _shown(exc)
        return sorted(names)

    async def aclose(self) -> None:
        """Close the connections, unless the SDK client came from the caller."""
        if self._client is not None and self._client_is_ours:
            client: Any = self._client
            self._client = None
            await client.close()

    def _address_of(self, client: ClientT) -> str:
        return str(cast("Any", client).base_url)

    def _keys_of(self, client: ClientT) -> Iterable[object]:
        return (getattr(client, name, None) for name in ("api_key", "auth_token", "_azure_ad_token"))

    async def _post(self, model: str, request: ModelRequest) -> httpx2.Response:
        client: Any = await self._sdk()
        import httpx2

        sdk = import_module(self.package)
        written = await self._written(model, request)
        # Ours has the first header already; options cost the SDK time at each request.
        headers = {**({} if self._client_is_ours else UNCOMPRESSED), **written.headers}
        try:
            # With the transport's own class as `cast_to`, a streamed answer is returned unread (_process_response).
            answer: object = await client.post(
                self.path(client, model),
                content=written.body,
                cast_to=httpx2.Response,
                options={"headers": headers} if headers else {},
                stream=True,
                stream_cls=sdk.AsyncStream[object],
            )
            return cast("httpx2.Response", answer)
        except sdk.APIStatusError as exc:
            if not self._asks_again(exc, model) or await self._written(model, request) == written:
                raise self._failure(exc, model) from None
        except Exception as exc:  # without a key, some clients raise a TypeError
            raise self._failure(exc, model) from without_frames(exc)
        return await self._post(model, request)

    def _failure(self, exc: Exception, model: str) -> ProviderError:
        """Return what an exception of the SDK means."""
        import httpx2

        sdk = import_module(self.package)
        if isinstance(exc, sdk.APIStatusError):
            status = exc.status_code
            # A body that is not the API's own is the page of some proxy: do not show it.
            own = isinstance(exc.body, dict)
            told = (
                self.reported(exc.body, status)
                if own
                else chat_completions.reported(f"HTTP status {status}", self._called, status=status)
            )
            return self._with_advice(told, model)
        if isinstance(exc, sdk.APIConnectionError):
            said = str(exc.__cause__ or "") or exc.message
            return self._not_reached(exc, said, model, unanswered=isinstance(exc.__cause__, httpx2.ReadTimeout))
        category = ErrorCategory.AUTH if isinstance(exc, TypeError) else ErrorCategory.UNKNOWN
        return self._error(f"{self.name}: {exc}", category, model)

    async def _sdk(self) -> ClientT:
        if self._client is not None:
            return self._client
        try:
            # The import takes most of a second, which would block the event loop.
            sdk: Any = await asyncio.to_thread(import_module, self.package)
        except ModuleNotFoundError as exc:
            message = f"{type(self).__name__} needs the package {self.package}: pip install 'xmcp[{self.extra}]'"
            raise self._error(message, ErrorCategory.UNKNOWN, self.model) from exc
        if self._client is None:
            from xmcp import http_clients

            http: httpx2.AsyncClient = http_clients.new_client(
                sdk.DefaultAsyncHttpxClient,
                self._http_client,
                event_hooks={"response": [bound_errors]},
                headers=UNCOMPRESSED,
            )
            self._client = self._made(sdk, http)
        return self._client


def _shown(exc: BaseException) -> BaseException | None:
    """Return the cause to show: a refusal quotes what was sent."""
    return None if hasattr(exc, "status_code") else without_frames(exc)
