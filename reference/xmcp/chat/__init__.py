"""The vocabulary of a chat: messages, tool schemas, arguments, completions, events, usage, errors and records.

Nothing here does I/O, and nothing here knows a model vendor, an MCP server or the client. The names are loaded when
they are first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xmcp.chat.audit_records import ToolCallRecord, Trace
    from xmcp.chat.completions import Completion, ToolCall, VendorState
    from xmcp.chat.errors import CallFailed, CircuitOpenError, ErrorCategory, ProviderError, QuotaExceeded
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
    from xmcp.chat.messages import Message
    from xmcp.chat.tool_schemas import ToolSchemas
    from xmcp.chat.usage import ChatUsage, Usage, UsageRecord

_HOME: Final[dict[str, str]] = {
    name: module
    for module, names in {
        "xmcp.chat.completions": ("Completion", "ToolCall", "VendorState"),
        "xmcp.chat.errors": ("CallFailed", "CircuitOpenError", "ErrorCategory", "ProviderError", "QuotaExceeded"),
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
        "xmcp.chat.messages": ("Message",),
        "xmcp.chat.audit_records": ("ToolCallRecord", "Trace"),
        "xmcp.chat.tool_schemas": ("ToolSchemas",),
        "xmcp.chat.usage": ("ChatUsage", "Usage", "UsageRecord"),
    }.items()
    for name in names
}

__all__ = [
    "CallFailed",
    "CallReport",
    "ChatChunk",
    "ChatFailed",
    "ChatResult",
    "ChatUsage",
    "ChatWarning",
    "CircuitOpenError",
    "Completion",
    "Done",
    "ErrorCategory",
    "LLMDelta",
    "LLMReasoning",
    "LLMRetry",
    "LLMUsage",
    "Message",
    "ProviderError",
    "QuotaExceeded",
    "StopReason",
    "ToolCall",
    "ToolCallRecord",
    "ToolDisplay",
    "ToolError",
    "ToolEvent",
    "ToolProgress",
    "ToolRequested",
    "ToolResult",
    "ToolRetry",
    "ToolSchemas",
    "ToolStarted",
    "ToolWarning",
    "Trace",
    "Usage",
    "UsageRecord",
    "VendorState",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'xmcp.chat' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
