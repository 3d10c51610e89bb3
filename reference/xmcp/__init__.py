"""XMCP: tool results that speak to the model and the person at once.

The public names are loaded when they are first used (PEP 562), so that `from xmcp import
DisplayEnvelope` loads neither FastMCP nor an LLM SDK. Nothing but the names lives here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xmcp.client import AIClient, ChatChunk, CircuitOpenError, Conversation, QuotaExceeded, SyncAIClient
    from xmcp.dependency_graph import DependencyError
    from xmcp.providers import SamplerConfig
    from xmcp.server import XMCP, ParamRequest, XMCPError, use_xmcp
    from xmcp.wire import DecodeError, DisplayEnvelope, ErrorInfo, ToolResponse

    __version__: str

_HOME: Final[dict[str, str]] = {
    "AIClient": "xmcp.client",
    "ChatChunk": "xmcp.client",
    "CircuitOpenError": "xmcp.client",
    "Conversation": "xmcp.client",
    "DecodeError": "xmcp.wire",
    "DependencyError": "xmcp.dependency_graph",
    "DisplayEnvelope": "xmcp.wire",
    "ErrorInfo": "xmcp.wire",
    "ParamRequest": "xmcp.server",
    "QuotaExceeded": "xmcp.client",
    "SamplerConfig": "xmcp.providers",
    "SyncAIClient": "xmcp.client",
    "ToolResponse": "xmcp.wire",
    "XMCP": "xmcp.server",
    "XMCPError": "xmcp.server",
    "use_xmcp": "xmcp.server",
}

__all__ = [
    "XMCP",
    "AIClient",
    "ChatChunk",
    "CircuitOpenError",
    "Conversation",
    "DecodeError",
    "DependencyError",
    "DisplayEnvelope",
    "ErrorInfo",
    "ParamRequest",
    "QuotaExceeded",
    "SamplerConfig",
    "SyncAIClient",
    "ToolResponse",
    "XMCPError",
    "use_xmcp",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("xmcp")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'xmcp' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
