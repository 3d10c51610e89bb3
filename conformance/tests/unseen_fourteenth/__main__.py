"""Serve a server of the set over stdio: `python -m unseen_fourteenth NAME`, with `conformance/tests` on the path."""

from __future__ import annotations

import sys

import anyio
from mcp.server.stdio import stdio_server

from unseen_fourteenth.harbour import Harbour
from unseen_fourteenth.registry import unseen_fourteenth


async def _serve(harbour: Harbour) -> None:
    server = harbour.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve until standard input ends."""
    servers = unseen_fourteenth()
    if len(sys.argv) != 2 or sys.argv[1] not in servers:
        sys.exit(f"usage: python -m unseen_fourteenth [{' | '.join(servers)}]")
    anyio.run(_serve, servers[sys.argv[1]].server())


if __name__ == "__main__":
    main()
