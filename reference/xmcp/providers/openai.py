"""OpenAI, and everything with its chat-completions format under another base URL (vLLM, Ollama, proxies, Azure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from xmcp.chat.completions import Completion
from xmcp.providers.base import ModelRequest
from xmcp.providers.formats import chat_completions
from xmcp.providers.stainless import StainlessProvider
from xmcp.providers.streamed_answers import Written

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


class OpenAIProvider(StainlessProvider["AsyncOpenAI"]):
    """Completions from OpenAI and compatible servers.

    A vendor with the same format is a subclass, which says what differs: its names and addresses, and if need be how a
    request is written and how an answer is read.

    Args:
        api_key: The key; default `OPENAI_API_KEY`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, with its path (`http://localhost:8000/v1`); default
            `OPENAI_BASE_URL`.
        model: Model for requests that name none (default `gpt-4o`).
        client: A ready `openai.AsyncOpenAI` or `AsyncAzureOpenAI` instead of key and address; the caller
            closes it.
        http_client: An `httpx2.AsyncClient` that sends the requests, with its proxies, certificates and hooks; the
            caller closes it.

    Raises:
        TypeError: `http_client` is of another class.
        ValueError: `client` together with `api_key`, `base_url` or `http_client`, or a base URL that is none.
        ProviderError: no key anywhere (category `auth`).
    """

    name = "openai"
    title: ClassVar[str] = "OpenAI"
    api: ClassVar[str] = "OpenAI's chat completions API"
    package: ClassVar[str] = "openai"
    default_model: ClassVar[str] = "gpt-4o"
    key_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    url_variable: ClassVar[str | None] = "OPENAI_BASE_URL"
    default_url: ClassVar[str | None] = "https://api.openai.com/v1"
    host: ClassVar[str] = "api.openai.com"

    def path(self, client: AsyncOpenAI, model: str) -> str:
        """See `StainlessProvider.path`."""
        import openai

        path = "/chat/completions"
        if isinstance(client, openai.AsyncAzureOpenAI) and "/deployments" not in client.base_url.path:
            # The SDK takes the deployment from the body, which it sees only as bytes here.
            return f"/deployments/{model}{path}"
        return path

    def written(self, model: str, request: ModelRequest) -> Written:
        """See `StreamingProvider.written`; what the vendor wants back with its answers is in the messages."""
        return Written(
            chat_completions.request_body(model, request.messages, request.tools, request.sampler, vendor=self.name)
        )

    def parse(self, data: bytes, called: str) -> Mapping[str, Any]:
        """See `StreamingProvider.parse`."""
        return chat_completions.parse(data, called)

    def assembly(self, request: ModelRequest) -> chat_completions.Assembly:
        """See `StreamingProvider.assembly`."""
        return chat_completions.Assembly(self._called, request.received)

    def whole(self, answer: Mapping[str, Any], request: ModelRequest) -> tuple[str, Completion]:
        """See `StreamingProvider.whole`."""
        return chat_completions.whole(answer, self._called, self.assembly(request))

    def _made(self, sdk: Any, http: httpx2.AsyncClient) -> AsyncOpenAI:
        client: AsyncOpenAI = sdk.AsyncOpenAI(api_key=self._api_key, base_url=self._base_url, http_client=http)
        if self.host != OpenAIProvider.host:  # another vendor has no use for them, and they are not its business
            client.organization = client.project = None
        return client
