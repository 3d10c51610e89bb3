"""The server of the tools that run inside the gateway, for `tools.front_ends`."""

from __future__ import annotations

from xmcp import XMCP

mcp = XMCP("front-ends")


@mcp.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    mcp.run(show_banner=False)
