"""How to take back what was added to a FastMCP server, which has no way to remove it."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware
from fastmcp.server.providers import FastMCPProvider


def remove_provider(server: FastMCP[Any], mounted: FastMCP[Any]) -> None:
    """Remove the server `mounted` from `server`; nothing happens if it is not mounted there."""
    server.providers[:] = [
        provider
        for provider in server.providers
        if not (isinstance(provider, FastMCPProvider) and provider.server is mounted)
    ]


def remove_middleware(server: FastMCP[Any], middleware: Middleware) -> None:
    """Remove a middleware from `server`; nothing happens if it does not have it."""
    server.middleware[:] = [one for one in server.middleware if one is not middleware]


def remove_extension(server: FastMCP[Any], identifier: str) -> None:
    """Remove an extension from `server`, which announces it no longer; nothing happens if it does not have it."""
    server._extensions.pop(identifier, None)
