"""A server whose list of tools changes when it is asked to. Run as a script it speaks stdio."""

from __future__ import annotations

import threading

from xmcp import XMCP

mcp = XMCP("live", wire="always")


def made(name: str) -> None:
    """Add a tool that does nothing."""
    mcp.tool(lambda: name, name=name)


@mcp.tool
def grow(prefix: str, count: int = 1) -> str:
    """Add tools, from a thread of FastMCP's."""
    for number in range(count):
        made(f"{prefix}{number}")
    return threading.current_thread().name


@mcp.tool
async def grow_on_the_loop(prefix: str) -> None:
    """Add a tool, from the loop."""
    made(f"{prefix}0")


@mcp.tool
def shrink(name: str) -> None:
    """Remove a tool."""
    mcp.remove_tool(name)


if __name__ == "__main__":
    mcp.serve("stdio")
