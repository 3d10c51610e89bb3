"""All stand-ins that speak HTTP, for tests of what every vendor's provider does."""

from __future__ import annotations

from typing import Final

from support.vendors.anthropic_messages import AnthropicMessages
from support.vendors.chat_completions import ChatCompletions
from support.vendors.gemini import Gemini
from support.vendors.mistral import Mistral
from support.vendors.presets import DeepSeek, MiniMax, Ollama
from support.vendors.responses import Responses
from support.vendors.stand_in import StandIn

EVERY: Final[tuple[type[StandIn], ...]] = (
    ChatCompletions,
    Responses,
    AnthropicMessages,
    Gemini,
    Mistral,
    Ollama,
    DeepSeek,
    MiniMax,
)
