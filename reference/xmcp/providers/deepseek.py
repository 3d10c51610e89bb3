"""DeepSeek, through the openai SDK: it speaks the chat-completions format, with members of its own."""

from __future__ import annotations

from typing import ClassVar

from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.providers.base import ModelRequest
from xmcp.providers.formats import chat_completions, deepseek
from xmcp.providers.openai import OpenAIProvider
from xmcp.providers.streamed_answers import Written


class DeepSeekProvider(OpenAIProvider):
    """Completions from DeepSeek's models. The arguments are those of `OpenAIProvider`, with other defaults.

    The key is `DEEPSEEK_API_KEY`, the address `DEEPSEEK_BASE_URL` or DeepSeek's own, the model `deepseek-flash`.
    """

    name = deepseek.NAME
    title: ClassVar[str] = "DeepSeek"
    default_model: ClassVar[str] = "deepseek-flash"
    key_variables: ClassVar[tuple[str, ...]] = ("DEEPSEEK_API_KEY",)
    url_variable: ClassVar[str | None] = "DEEPSEEK_BASE_URL"
    default_url: ClassVar[str | None] = "https://api.deepseek.com"
    host: ClassVar[str] = "api.deepseek.com"

    def written(self, model: str, request: ModelRequest) -> Written:
        """See `StreamingProvider.written`."""
        return Written(deepseek.request_body(model, request.messages, request.tools, request.sampler))

    def takes_schema(self, model: str | None, tools: ToolSchemas) -> bool:  # noqa: ARG002 - no model does
        """Return whether the vendor takes the schema of an answer; see `LLMProvider`."""
        return False

    def assembly(self, request: ModelRequest) -> chat_completions.Assembly:
        """See `StreamingProvider.assembly`."""
        return deepseek.Assembly(self._called, request.received, request.messages, request.tools)
