"""What XMCP needs of FastMCP and the MCP SDK beyond their public interface.

Every reliance on a private name or on an unwritten fact stands here, one function each, and
`tests/server/test_fastmcp_hooks.py` has a test per function that fails when an upgrade changes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp.shared.inbound import X_MCP_HEADER_KEY

if TYPE_CHECKING:
    from fastmcp import FastMCP

_TIMEOUT_CODE: Final = -32000


def raised_by_fastmcp(error: BaseException, module: str = "fastmcp") -> bool:
    """Say whether `error` was raised by FastMCP's own code, and not by a tool or a middleware.

    FastMCP wraps whatever a tool raises in a `ToolError` of the same class that authors raise
    themselves; only the place where it was raised tells the two apart. An error without a
    traceback counts as FastMCP's: then its text is not shown.
    """
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name == module or name.startswith(f"{module}.")


def is_tool_timeout(error: BaseException) -> bool:
    """Say whether `error` is how FastMCP reports that a tool overran its `timeout=`."""
    return (
        isinstance(error, MCPError)
        and error.error.code == _TIMEOUT_CODE
        and raised_by_fastmcp(error, "fastmcp.tools.function_tool")
    )


def skip_listing_before_calls(server: FastMCP[Any]) -> None:
    """Tell the SDK that no tool mirrors a parameter into an HTTP header.

    Else it runs the whole tools/list, middleware included, before every modern call over HTTP, only
    to find that out (toolchain.md 1.7).
    """
    server._mcp_server.get_tool_input_schema = _no_schema


def list_before_calls(server: FastMCP[Any]) -> None:
    """Undo `skip_listing_before_calls`: some tool may declare `x-mcp-header`, which must be checked."""
    low_level = getattr(server, "_mcp_server", None)
    if low_level is not None:  # FastMCP adds transforms before it has made its low-level server
        low_level.get_tool_input_schema = None


def mirrors_into_header(input_schema: Mapping[str, Any]) -> bool:
    """Say whether the schema declares `x-mcp-header` anywhere."""
    return f'"{X_MCP_HEADER_KEY}"' in json.dumps(input_schema, default=str)


def _no_schema(_name: str) -> None:
    return None
