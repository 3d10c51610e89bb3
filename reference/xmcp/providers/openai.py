"""OpenAI, and everything with its chat-completions format under another base URL (vLLM, Ollama, proxies, Azure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from xmcp.chat.completions import Completion
from xmcp.providers.base import ModelRequest
from xmcp.providers.formats import chat_completions
from xmcp.providers.openai_sdk import Format, OpenAISDKProvider

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIProvider(OpenAISDKProvider):
    """Completions from OpenAI and compatible servers.

    Args:
        api_key: The key; default `OPENAI_API_KEY`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, with its path (`http://localhost:8000/v1`); default
            `OPENAI_BASE_URL`.
        model: Model for requests that name none (default `gpt-4o`).
        client: A ready `openai.AsyncOpenAI` or `AsyncAzureOpenAI` instead of key and address; the caller
            closes it.

    Raises:
        ValueError: `client` together with `api_key` or `base_url`, or a base URL that is none.
        ProviderError: no key anywhere (category `auth`).
    """

    name = "openai"

    _format: ClassVar[Format] = chat_completions
    _api = "OpenAI's chat completions API"
    default_model: ClassVar[str] = "gpt-4o"

    def body(self, model: str, request: ModelRequest) -> bytes:
        """See `OpenAISDKProvider.body`; what the vendor wants back with its answers is in the messages."""
        return chat_completions.request_body(model, request.messages, request.tools, request.sampler, vendor=self.name)

    def assembly(self, request: ModelRequest) -> chat_completions.Assembly:
        """See `OpenAISDKProvider.assembly`."""
        return chat_completions.Assembly(self._called, request.received)

    def whole(self, answer: Mapping[str, Any], request: ModelRequest) -> Completion:
        """See `OpenAISDKProvider.whole`."""
        return chat_completions.whole(answer, self._called, self.assembly(request))

    def _path(self, client: AsyncOpenAI, model: str) -> str:
        import openai

        path = "/chat/completions"
        if isinstance(client, openai.AsyncAzureOpenAI) and "/deployments" not in client.base_url.path:
            # The SDK takes the deployment from the body, which it sees only as bytes here.
            return f"/deployments/{model}{path}"
        return path
