"""OpenAI, and everything with its chat-completions format under another base URL (vLLM, Ollama, proxies, Azure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from xmcp.providers.formats import chat_completions
from xmcp.providers.openai_sdk import Format, OpenAISDKProvider

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_MODEL: Final = "gpt-4o"
"""The model if neither the request nor the provider names one."""


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
    _default_model = DEFAULT_MODEL

    def _path(self, client: AsyncOpenAI, model: str) -> str:
        import openai

        path = "/chat/completions"
        if isinstance(client, openai.AsyncAzureOpenAI) and "/deployments" not in client.base_url.path:
            # The SDK takes the deployment from the body, which it sees only as bytes here.
            return f"/deployments/{model}{path}"
        return path
