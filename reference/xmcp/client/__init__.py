"""The client: `AIClient`, the events of a chat and its result, and what an application can put around them.

The names are loaded when they are first used (PEP 562): the protocols and records need nothing of the machinery.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xmcp.chat.errors import CallFailed, CircuitOpenError, QuotaExceeded
    from xmcp.chat.events import (
        CallReport,
        ChatChunk,
        ChatFailed,
        ChatResult,
        ChatWarning,
        Done,
        LLMDelta,
        LLMReasoning,
        LLMRetry,
        LLMUsage,
        StopReason,
        ToolDisplay,
        ToolError,
        ToolEvent,
        ToolProgress,
        ToolRequested,
        ToolResult,
        ToolRetry,
        ToolStarted,
        ToolWarning,
    )
    from xmcp.chat.usage import ChatUsage, UsageRecord
    from xmcp.chat.user_input import FilePart, ImagePart, TextPart, UserInput
    from xmcp.client.ai_client import AIClient
    from xmcp.client.calls.retry_policy import RetryPolicy
    from xmcp.client.chat_options import ChatOptions
    from xmcp.client.chat_stream import ChatStream, EventStream
    from xmcp.client.conversation import Conversation, ConversationReply, SnapshotError
    from xmcp.client.hooks.middleware import ChatContext, LLMState, Middleware, ToolState
    from xmcp.client.hooks.quotas import Quota, TenantQuotas
    from xmcp.client.loop.typed_answer import AnswerInvalid
    from xmcp.client.server_sent_events import SSE_HEADERS
    from xmcp.client.servers.pool import ServersUnavailable, ToolChanges
    from xmcp.client.servers.pool_member import ServerStatus
    from xmcp.client.servers.sampling import SamplingRequest
    from xmcp.client.servers.server_protocols import MCPClient, ResourceManager, ToolClient
    from xmcp.client.servers.targets import ServerTarget
    from xmcp.client.sync import SyncAIClient, SyncEventStream

_HOME: Final[dict[str, str]] = {
    name: module
    for module, names in {
        "xmcp.chat.errors": ("CallFailed", "CircuitOpenError", "QuotaExceeded"),
        "xmcp.chat.events": (
            "CallReport",
            "ChatChunk",
            "ChatResult",
            "ChatFailed",
            "ChatWarning",
            "Done",
            "LLMDelta",
            "LLMReasoning",
            "LLMRetry",
            "LLMUsage",
            "StopReason",
            "ToolDisplay",
            "ToolError",
            "ToolEvent",
            "ToolProgress",
            "ToolRequested",
            "ToolResult",
            "ToolRetry",
            "ToolStarted",
            "ToolWarning",
        ),
        "xmcp.chat.usage": ("ChatUsage", "UsageRecord"),
        "xmcp.chat.user_input": ("FilePart", "ImagePart", "TextPart", "UserInput"),
        "xmcp.client.ai_client": ("AIClient",),
        "xmcp.client.calls.retry_policy": ("RetryPolicy",),
        "xmcp.client.chat_options": ("ChatOptions",),
        "xmcp.client.chat_stream": ("ChatStream", "EventStream"),
        "xmcp.client.conversation": ("Conversation", "ConversationReply", "SnapshotError"),
        "xmcp.client.hooks.middleware": ("ChatContext", "LLMState", "Middleware", "ToolState"),
        "xmcp.client.hooks.quotas": ("Quota", "TenantQuotas"),
        "xmcp.client.loop.typed_answer": ("AnswerInvalid",),
        "xmcp.client.servers.server_protocols": ("MCPClient", "ResourceManager", "ToolClient"),
        "xmcp.client.servers.sampling": ("SamplingRequest",),
        "xmcp.client.servers.pool": ("ServersUnavailable", "ToolChanges"),
        "xmcp.client.servers.pool_member": ("ServerStatus",),
        "xmcp.client.servers.targets": ("ServerTarget",),
        "xmcp.client.server_sent_events": ("SSE_HEADERS",),
        "xmcp.client.sync": ("SyncAIClient", "SyncEventStream"),
    }.items()
    for name in names
}

__all__ = [
    "SSE_HEADERS",
    "AIClient",
    "AnswerInvalid",
    "CallFailed",
    "CallReport",
    "ChatChunk",
    "ChatContext",
    "ChatFailed",
    "ChatOptions",
    "ChatResult",
    "ChatStream",
    "ChatUsage",
    "ChatWarning",
    "CircuitOpenError",
    "Conversation",
    "ConversationReply",
    "Done",
    "EventStream",
    "FilePart",
    "ImagePart",
    "LLMDelta",
    "LLMReasoning",
    "LLMRetry",
    "LLMState",
    "LLMUsage",
    "MCPClient",
    "Middleware",
    "Quota",
    "QuotaExceeded",
    "ResourceManager",
    "RetryPolicy",
    "SamplingRequest",
    "ServerStatus",
    "ServerTarget",
    "ServersUnavailable",
    "SnapshotError",
    "StopReason",
    "SyncAIClient",
    "SyncEventStream",
    "TenantQuotas",
    "TextPart",
    "ToolChanges",
    "ToolClient",
    "ToolDisplay",
    "ToolError",
    "ToolEvent",
    "ToolProgress",
    "ToolRequested",
    "ToolResult",
    "ToolRetry",
    "ToolStarted",
    "ToolState",
    "ToolWarning",
    "UsageRecord",
    "UserInput",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'xmcp.client' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
