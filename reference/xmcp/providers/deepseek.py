"""DeepSeek, through the openai SDK: it speaks the chat-completions format, with members of its own."""

from __future__ import annotations

from typing import ClassVar

from xmcp.providers.base import ModelRequest
from xmcp.providers.formats import chat_completions, deepseek
from xmcp.providers.openai import OpenAIProvider


class DeepSeekProvider(OpenAIProvider):
    """Completions from DeepSeek's models. The arguments are those of `OpenAIProvider`, with other defaults.

    The key is `DEEPSEEK_API_KEY`, the address `DEEPSEEK_BASE_URL` or DeepSeek's own, the model `deepseek-flash`.
    """

    name = deepseek.NAME
    title: ClassVar[str] = "DeepSeek"
    default_model: ClassVar[str] = "deepseek-flash"
    key_variable: ClassVar[str | None] = "DEEPSEEK_API_KEY"
    url_variable: ClassVar[str | None] = "DEEPSEEK_BASE_URL"
    default_url: ClassVar[str | None] = "https://api.deepseek.com"
    host: ClassVar[str] = "api.deepseek.com"

    def body(self, model: str, request: ModelRequest) -> bytes:
        """See `OpenAIProvider.body`."""
        return deepseek.request_body(model, request.messages, request.tools, request.sampler)

    def assembly(self, request: ModelRequest) -> chat_completions.Assembly:
        """See `OpenAIProvider.assembly`."""
        return deepseek.Assembly(self._called, request.received, request.messages, request.tools)
