"""MiniMax, through the openai SDK: it speaks the chat-completions format, with members of its own."""

from __future__ import annotations

from typing import ClassVar

from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.providers.base import ModelRequest
from xmcp.providers.formats import chat_completions, minimax
from xmcp.providers.openai import OpenAIProvider
from xmcp.providers.streamed_answers import Written


class MiniMaxProvider(OpenAIProvider):
    """Completions from MiniMax's models. The arguments are those of `OpenAIProvider`, with other defaults.

    The key is `MINIMAX_API_KEY`, the address `MINIMAX_BASE_URL` or MiniMax's own, the model `MiniMax-M3`.
    """

    name = minimax.NAME
    title: ClassVar[str] = "MiniMax"
    default_model: ClassVar[str] = "MiniMax-M3"
    key_variables: ClassVar[tuple[str, ...]] = ("MINIMAX_API_KEY",)
    url_variable: ClassVar[str | None] = "MINIMAX_BASE_URL"
    default_url: ClassVar[str | None] = "https://api.minimax.io/v1"
    host: ClassVar[str] = "api.minimax.io"

    def written(self, model: str, request: ModelRequest) -> Written:
        """See `StreamingProvider.written`."""
        return Written(minimax.request_body(model, request.messages, request.tools, request.sampler))

    def takes_schema(self, model: str | None, tools: ToolSchemas) -> bool:  # noqa: ARG002 - it does not matter
        """Return whether the vendor takes the schema of an answer; see `LLMProvider`."""
        return minimax.takes_schema(model or self.model)

    def assembly(self, request: ModelRequest) -> chat_completions.Assembly:
        """See `StreamingProvider.assembly`."""
        return minimax.Assembly(self._called, request.received)
