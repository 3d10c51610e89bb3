"""The client: `AIClient`, the events of a chat and its result."""

from xmcp.client.ai_client import AIClient
from xmcp.client.chunks import ChatChunk, ChatResult, ChatUsage

__all__ = ["AIClient", "ChatChunk", "ChatResult", "ChatUsage"]
