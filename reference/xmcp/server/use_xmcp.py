"""`use_xmcp`: tool responses from a FastMCP server that stays what it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool
from fastmcp.utilities.tasks import TASKS_EXTENSION_ID

from xmcp.server.display_view import DisplayView
from xmcp.server.fastmcp_internals.components import local_tools
from xmcp.server.fastmcp_internals.dispatch import add_dispatch_middleware
from xmcp.server.fastmcp_internals.removal import (
    has_extension,
    is_running,
    remove_dispatch_middleware,
    remove_extension,
    remove_middleware,
    remove_tools,
)
from xmcp.server.middleware import ResponseMiddleware
from xmcp.server.responses.capability import ToolResponseExtension, Wire
from xmcp.server.server import XMCP, check_formatter
from xmcp.server.tool import XMCPTool
from xmcp.xml_formatters import XMLFormatter


class UsedXMCP(XMCP):
    """A FastMCP server's use of XMCP, as `use_xmcp` began it.

    `tool`, `display_tool`, `param_provider` and `add_xml_formatter` are those of `XMCP`; the tools that they register
    are tools of the server. `remove` ends the use. It is not itself a server to run: resources, prompts and everything
    else belong to the FastMCP server.
    """

    def __init__(self, server: FastMCP[Any], *, apps: bool, **options: Any) -> None:
        super().__init__(server.name, apps=False, **options)
        self._server = server
        self._added: list[Tool] = []
        self._is_removed = False
        self._responses = ResponseMiddleware(self.wire, self.masking)
        self._extension = _CheckedExtension(self)
        server.add_extension(self._extension)
        server.middleware.insert(0, self._responses)
        self._views = [DisplayView()] if apps else []
        for view in self._views:
            server.middleware.insert(1, view)
            add_dispatch_middleware(server, view.dispatch)

    @property
    def server(self) -> FastMCP[Any]:
        """The server that uses XMCP: the one to run."""
        return self._server

    def add_tool(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Add a tool to the server.

        Raises:
            ValueError: The server has a tool of that name and version, or as `XMCP.add_tool`.
            RuntimeError: `remove` was called.
        """
        if self._is_removed:
            raise RuntimeError(f"XMCP was removed from the server {self._server.name!r}. Call use_xmcp again.")
        added = super().add_tool(tool)
        if any(there.key == added.key for there in local_tools(self._server)):
            self.local_provider.remove_tool(added.name, added.version)
            raise ValueError(f"The server {self._server.name!r} has a tool {added.name!r} already.")
        self._added.append(self._server.add_tool(added))
        return added

    def check_tools(self) -> None:
        """Check the tools that were added here; done whenever the server starts.

        Raises:
            LookupError: A tool names an unknown formatter.
        """
        for tool in self._added:
            if isinstance(tool, XMCPTool):
                check_formatter(tool)

    def remove(self) -> None:
        """Make the server again what it was: no announcement, FastMCP's errors, none of the tools added here.

        Raises:
            RuntimeError: The server runs; its clients know what it announced.
        """
        if self._is_removed:
            return
        if is_running(self._server):
            raise RuntimeError(f"The server {self._server.name!r} runs. End it before you take XMCP back.")
        remove_tools(self._server, self._added)
        for middleware in (self._responses, *self._views):
            remove_middleware(self._server, middleware)
        for view in self._views:
            remove_dispatch_middleware(self._server, view.dispatch)
        remove_extension(self._server, self._extension)
        self._added.clear()
        self._is_removed = True


class _CheckedExtension(ToolResponseExtension):
    """The announcement of a server that uses XMCP; it does not start if a tool cannot work."""

    def __init__(self, used: UsedXMCP) -> None:
        super().__init__(used.wire)
        self._used = used

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        self._used.check_tools()
        yield


def _of_the_server(name: str) -> Callable[..., Any]:
    def refused(used: UsedXMCP, *_: Any, **__: Any) -> None:
        raise TypeError(f"{name}: use_xmcp adds tools only. Use the FastMCP server {used.name!r} itself.")

    return refused


# What an XMCP has for servers of its own, and what would have no effect here.
for _name in (
    "resource",
    "prompt",
    "add_resource",
    "add_template",
    "add_prompt",
    "add_middleware",
    "mount",
    "custom_route",
    "http_app",
    "run",
    "run_async",
    "run_stdio_async",
    "run_http_async",
    "serve",
):
    setattr(UsedXMCP, _name, _of_the_server(_name))


def use_xmcp(
    mcp: FastMCP[Any],
    *,
    wire: Wire = "negotiated",
    apps: bool = True,
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
        apps: As for `XMCP`.
        formatter: As for `XMCP`, for the tools that are registered with what is returned.
        mask_error_details: As for `XMCP`.

    Raises:
        TypeError: `mcp` is no FastMCP server, or it is an XMCP server.
        ValueError: It uses XMCP already, it runs tools as background tasks, which only the class `XMCP` can answer for,
            or `wire` is unknown.
        RuntimeError: It runs already.
    """
    if isinstance(mcp, XMCP) or not isinstance(mcp, FastMCP):
        what = "an XMCP server already" if isinstance(mcp, XMCP) else f"a {type(mcp).__name__}, not a FastMCP server"
        raise TypeError(f"use_xmcp({mcp!r}): that is {what}.")
    if any(isinstance(middleware, ResponseMiddleware) for middleware in mcp.middleware):
        raise ValueError(f"The server {mcp.name!r} uses XMCP already. Call `remove()` on what use_xmcp returned first.")
    if has_extension(mcp, TASKS_EXTENSION_ID):
        raise ValueError(
            f"The server {mcp.name!r} runs tools as background tasks, around every middleware. Make it an XMCP: "
            "`XMCP(...)` in the place of `FastMCP(...)` answers for tasks too."
        )
    return UsedXMCP(mcp, wire=wire, apps=apps, formatter=formatter, mask_error_details=mask_error_details)
