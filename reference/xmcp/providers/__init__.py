"""Model providers: the protocol, its values and errors, one file per vendor. A vendor's SDK is loaded on first use."""

from xmcp.chat.completions import Completion, ToolCall
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.usage import Usage
from xmcp.providers.anthropic import AnthropicProvider
from xmcp.providers.base import LLMProvider, ModelRequest, Reasoning
from xmcp.providers.chat_complete import ChatComplete
from xmcp.providers.deepseek import DeepSeekProvider
from xmcp.providers.gemini import GeminiProvider
from xmcp.providers.gemini_cli import GeminiCLIProvider
from xmcp.providers.local import LocalProvider
from xmcp.providers.minimax import MiniMaxProvider
from xmcp.providers.mistral import MistralProvider
from xmcp.providers.openai import OpenAIProvider
from xmcp.providers.openai_responses import OpenAIResponsesProvider
from xmcp.providers.scripted import ScriptedProvider, Turn

__all__ = [
    "AnthropicProvider",
    "ChatComplete",
    "Completion",
    "DeepSeekProvider",
    "ErrorCategory",
    "GeminiCLIProvider",
    "GeminiProvider",
    "LLMProvider",
    "LocalProvider",
    "Message",
    "MiniMaxProvider",
    "MistralProvider",
    "ModelRequest",
    "OpenAIProvider",
    "OpenAIResponsesProvider",
    "ProviderError",
    "Reasoning",
    "SamplerConfig",
    "ScriptedProvider",
    "ToolCall",
    "ToolSchemas",
    "Turn",
    "Usage",
]
