"""Model providers: the protocol, its values and errors, one file per vendor. No vendor's SDK is loaded before use."""

from xmcp.providers.base import Completion, LLMProvider, Message, ModelRequest, ToolCall, ToolSchemas, Usage
from xmcp.providers.errors import ErrorCategory, ProviderError
from xmcp.providers.openai import OpenAIProvider
from xmcp.providers.scripted import ScriptedProvider, Turn

__all__ = [
    "Completion",
    "ErrorCategory",
    "LLMProvider",
    "Message",
    "ModelRequest",
    "OpenAIProvider",
    "ProviderError",
    "ScriptedProvider",
    "ToolCall",
    "ToolSchemas",
    "Turn",
    "Usage",
]
