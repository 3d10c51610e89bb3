"""How to take back what was added to a FastMCP server, which has no way to remove it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.extensions import ServerExtension
from fastmcp.server.middleware import Middleware
from fastmcp.tools import Tool
from mcp.server.context import ServerMiddleware


def is_running(server: FastMCP[Any]) -> bool:
    """Tell whether `server` has started."""
    return server._extensions_started or server._lifespan_result_set


def has_extension(server: FastMCP[Any], identifier: str) -> bool:
    """Tell whether `server` announces an extension."""
    return identifier in server._extensions


def remove_extension(server: FastMCP[Any], extension: ServerExtension) -> None:
    """Remove an extension from `server`, which announces it no longer; nothing happens if it does not have it."""
    if server._extensions.get(extension.identifier) is extension:
        del server._extensions[extension.identifier]


def remove_middleware(server: FastMCP[Any], middleware: Middleware) -> None:
    """Remove a middleware from `server`; nothing happens if it does not have it."""
    server.middleware[:] = [one for one in server.middleware if one is not middleware]


def remove_dispatch_middleware(server: FastMCP[Any], middleware: ServerMiddleware[Any]) -> None:
    """Remove a middleware of every message from `server`; nothing happens if it does not have it."""
    server._mcp_server.middleware[:] = [one for one in server._mcp_server.middleware if one != middleware]


def remove_tools(server: FastMCP[Any], tools: Iterable[Tool]) -> None:
    """Remove tools from `server`, each that is still there as it was added."""
    there = server.local_provider._components
    for tool in tools:
        if there.get(tool.key) is tool:
            server.local_provider.remove_tool(tool.name, tool.version)
