"""What tests of a server need, and production does not: the tool of the conformance suite (spec section 1.7)."""

from __future__ import annotations

from typing import Any, Final

from fastmcp.tools import ToolResult
from mcp_types import Annotations, TextContent, ToolAnnotations

from xmcp.server import XMCP, UsedXMCP
from xmcp.wire import ErrorInfo, ToolResponse

__all__ = ["add_conformance_tool"]

CONFORMANCE_TOOL: Final = "xmcp_conformance_emit"
"""The name of the tool."""

_ERROR_MEMBERS: Final = ("code", "message", "retryable", "retry_after_ms", "category", "meta")


def add_conformance_tool(mcp: XMCP[Any] | UsedXMCP) -> None:
    """Add the tool `xmcp_conformance_emit`, which returns what its caller says.

    With it `xmcp check server` compares what it reads with what a tool returned. Add it in tests only.

    Args:
        mcp: an `XMCP`, or what `use_xmcp` returned.
    """
    mcp.display_tool(name=CONFORMANCE_TOOL, annotations=ToolAnnotations(readOnlyHint=True))(_emit)


def _emit(
    response: dict[str, Any],
    structured_content: dict[str, Any] | None = None,
    for_user: str | None = None,
    show_user: bool = False,  # noqa: ARG001 - the server obeys it
) -> Any:
    """Return the response that the caller describes. For the conformance suite alone."""
    text = response.get("llm_output")
    if isinstance(text, dict):
        units = "".join(chr(int(unit, 16)) for unit in text["$surrogates"])
        text = units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if structured_content is not None or for_user is not None:
        blocks = [TextContent(type="text", text=text or "")]
        if for_user is not None:
            blocks.append(TextContent(type="text", text=for_user, annotations=Annotations(audience=["user"])))
        return ToolResult(content=blocks, structured_content=structured_content)
    error = response.get("error")
    return ToolResponse(
        CONFORMANCE_TOOL,
        text,
        response.get("display"),
        ErrorInfo(**{name: error[name] for name in _ERROR_MEMBERS if name in error}) if error is not None else None,
        format=response.get("format"),
        truncated=response.get("truncated", False),
        lossy=response.get("lossy", False),
    )
