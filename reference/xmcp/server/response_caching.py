"""FastMCP's cache of responses, kept from answering one caller with what a tool made for another."""

from __future__ import annotations

import sys
from typing import Any, Final

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.utilities.versions import VersionSpec

from xmcp.server.tool_metadata import metadata_of

_CACHING: Final = "fastmcp.server.middleware.caching"


def for_every_caller(middleware: Middleware) -> Middleware:
    """Return `middleware`; if it is FastMCP's cache, wrapped so that it leaves out tools that the server fills in."""
    caching = sys.modules.get(_CACHING)  # imported here, it would slow down every server without a cache
    if caching is not None and isinstance(middleware, caching.ResponseCachingMiddleware):
        return CacheForEveryCaller(middleware)
    return middleware


class CacheForEveryCaller(Middleware):
    """A cache that is not asked about calls of tools with parameters that the server fills in (spec section 5.3).

    Its key has only what the caller sent, and these values differ from one caller to the next.
    """

    def __init__(self, cache: Middleware) -> None:
        self.cache = cache

    async def __call__(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Pass the message to the cache, or past it."""
        if context.method == "tools/call" and await _is_filled_in(context):
            return await call_next(context)
        return await self.cache(context, call_next)


async def _is_filled_in(context: MiddlewareContext[Any]) -> bool:
    """Tell whether the server fills in parameters of the called tool, or this caller may not see the tool."""
    if context.fastmcp_context is None:
        return True
    chosen = (context.message.meta or {}).get("fastmcp")
    version = chosen.get("version") if isinstance(chosen, dict) else None
    tool = await context.fastmcp_context.fastmcp.get_tool(
        context.message.name, VersionSpec(eq=str(version)) if version is not None else None
    )
    return tool is None or bool(metadata_of(tool.meta).get("server_populated"))
