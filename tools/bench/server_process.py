"""A server for the bench, in a process of its own: `python -m tools.bench.server_process xmcp|fastmcp TOOLS`.

It prints its port on standard output and serves streamable HTTP without sessions until it is killed.
"""

from __future__ import annotations

import json
import socket
import sys
from functools import cache
from typing import Any

ROWS = 52_000


@cache
def rows() -> list[dict[str, Any]]:
    """Return a table of about 5 MB as JSON."""
    return [
        {"id": n, "name": f"customer {n}", "city": "Ottawa", "revenue": n * 1.5, "open": n % 2 == 0}
        for n in range(ROWS)
    ]


@cache
def text() -> str:
    """Return the table as JSON text."""
    return json.dumps(rows(), separators=(",", ":"))


def build(kind: str, tools: int) -> Any:
    """Return a server with `add`, `table` and other tools, `tools` in all.

    The process of the floor must not import XMCP, because its memory is measured.
    """
    if kind == "xmcp":
        import xmcp

        server: Any = xmcp.XMCP("bench", wire="always")  # the wire that costs more
    else:
        import fastmcp

        server = fastmcp.FastMCP("bench")

    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async def display() -> Any:
        """Show a table."""
        return xmcp.DisplayEnvelope(type="table", alt="a table", payload=rows())

    async def plain() -> str:
        """Return the same bytes as text."""
        return text()

    async def other(query: str, limit: int = 10) -> list[str]:
        """Look something up."""
        return [query] * limit

    server.tool(add)
    if kind == "xmcp":
        server.display_tool(display, name="table")
    else:
        server.tool(plain, name="table", output_schema=None)
    for number in range(tools - 2):
        server.tool(other, name=f"tool_{number}")
    return server


def main() -> None:
    """Serve until the process is killed."""
    import uvicorn

    kind, tools = sys.argv[1], int(sys.argv[2])
    app = build(kind, tools).http_app(stateless_http=True, host_origin_protection="auto")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", timeout_keep_alive=600)).run(sockets=[listener])


if __name__ == "__main__":
    main()
