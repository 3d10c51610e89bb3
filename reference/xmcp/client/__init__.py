"""The client: `AIClient`, the events of a chat and its result, and what an application can put around them.

The names are loaded when they are first used (PEP 562): the protocols and records need nothing of the machinery.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xmcp.client.ai_client import AIClient
    from xmcp.client.chat_stream import ChatStream
    from xmcp.client.chunks import CallReport, ChatChunk, ChatResult, ChatUsage, UsageRecord
    from xmcp.client.conversation import Conversation, ConversationReply, SnapshotError
    from xmcp.client.errors import CallFailed, CircuitOpenError, QuotaExceeded
    from xmcp.client.interfaces import MCPClient, ResourceManager, ToolClient
    from xmcp.client.middleware import ChatContext, LLMState, Middleware, ToolState
    from xmcp.client.quotas import Quota, TenantQuotas
    from xmcp.client.retry import RetryPolicy
    from xmcp.client.servers import ServerStatus, ServersUnavailable, ToolChanges
    from xmcp.client.sync import SyncAIClient
    from xmcp.client.targets import ServerTarget

_HOME: Final[dict[str, str]] = {
    name: f"xmcp.client.{module}"
    for module, names in {
        "ai_client": ("AIClient",),
        "chat_stream": ("ChatStream",),
        "chunks": ("CallReport", "ChatChunk", "ChatResult", "ChatUsage", "UsageRecord"),
        "conversation": ("Conversation", "ConversationReply", "SnapshotError"),
        "errors": ("CallFailed", "CircuitOpenError", "QuotaExceeded"),
        "interfaces": ("MCPClient", "ResourceManager", "ToolClient"),
        "middleware": ("ChatContext", "LLMState", "Middleware", "ToolState"),
        "quotas": ("Quota", "TenantQuotas"),
        "retry": ("RetryPolicy",),
        "servers": ("ServerStatus", "ServersUnavailable", "ToolChanges"),
        "sync": ("SyncAIClient",),
        "targets": ("ServerTarget",),
    }.items()
    for name in names
}

__all__ = [
    "AIClient",
    "CallFailed",
    "CallReport",
    "ChatChunk",
    "ChatContext",
    "ChatResult",
    "ChatStream",
    "ChatUsage",
    "CircuitOpenError",
    "Conversation",
    "ConversationReply",
    "LLMState",
    "MCPClient",
    "Middleware",
    "Quota",
    "QuotaExceeded",
    "ResourceManager",
    "RetryPolicy",
    "ServerStatus",
    "ServerTarget",
    "ServersUnavailable",
    "SnapshotError",
    "SyncAIClient",
    "TenantQuotas",
    "ToolChanges",
    "ToolClient",
    "ToolState",
    "UsageRecord",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'xmcp.client' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
