"""`use_xmcp`: tool responses from a FastMCP server that stays what it is."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP

from xmcp.server.fastmcp_internals.removal import remove_extension, remove_middleware, remove_provider
from xmcp.server.middleware import ResponseMiddleware
from xmcp.server.responses.capability import ToolResponseExtension, Wire
from xmcp.server.server import XMCP
from xmcp.xml_formatters import XMLFormatter
from xmcp_models.registry import EXTENSION_ID


class UsedXMCP:
    """A FastMCP server's use of XMCP, as `use_xmcp` began it.

    `tool`, `display_tool` and `param_provider` are those of `XMCP`; the tools that they register are tools of the
    server. `remove` ends the use.
    """

    def __init__(self, server: FastMCP[Any], beside: XMCP, middleware: ResponseMiddleware) -> None:
        self._server = server
        self._beside = beside
        self._middleware = middleware
        self.tool = beside.tool
        self.display_tool = beside.display_tool
        self.param_provider = beside.param_provider

    def remove(self) -> None:
        """Make the server again what it was: no announcement, FastMCP's errors, no display tools."""
        remove_provider(self._server, self._beside)
        remove_middleware(self._server, self._middleware)
        remove_extension(self._server, EXTENSION_ID)


def use_xmcp(
    mcp: FastMCP[Any],
    *,
    wire: Wire = "negotiated",
    formatter: XMLFormatter | type[XMLFormatter] | str | None = None,
    mask_error_details: bool | None = None,
) -> UsedXMCP:
    """Let a FastMCP server answer with tool responses (spec chapters 3 to 6), and return what registers display tools.

    The server announces the extension. Every failure of a tool has a code, says whether a retry can help, and tells
    nothing of an exception that its author did not foresee. The results of its tools are those of FastMCP, text and
    data; a client that declares the extension gets documents. Nothing else of the server changes, and `remove()` takes
    it back.

    Args:
        mcp: Any FastMCP server that does not run yet; an `XMCP` needs no `use_xmcp`.
        wire: As for `XMCP`.
        formatter: As for `XMCP`, for the tools that are registered with what is returned.
        mask_error_details: As for `XMCP`.

    Raises:
        TypeError: `mcp` is no FastMCP server, or it is an XMCP server.
        ValueError: It uses XMCP already, or `wire` is unknown.
        RuntimeError: It runs already.
    """
    if isinstance(mcp, XMCP) or not isinstance(mcp, FastMCP):
        what = "an XMCP server already" if isinstance(mcp, XMCP) else f"a {type(mcp).__name__}, not a FastMCP server"
        raise TypeError(f"use_xmcp({mcp!r}): that is {what}.")
    if any(isinstance(middleware, ResponseMiddleware) for middleware in mcp.middleware):
        raise ValueError(f"The server {mcp.name!r} uses XMCP already. Call `remove()` on what use_xmcp returned first.")
    beside = XMCP(mcp.name, wire=wire, formatter=formatter, mask_error_details=mask_error_details)
    middleware = ResponseMiddleware(beside.wire, beside.masking)
    mcp.add_extension(ToolResponseExtension(beside.wire))
    mcp.middleware.insert(0, middleware)
    mcp.mount(beside)
    return UsedXMCP(mcp, beside, middleware)
