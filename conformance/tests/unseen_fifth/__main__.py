"""Serve a server of the fifth set over stdio: `python -m unseen_fifth NAME`, with `conformance/tests` on the path."""

from __future__ import annotations

import sys

import anyio
from mcp.server.stdio import stdio_server

from unseen_fifth.observatory import Observatory
from unseen_fifth.registry import unseen_fifth


async def _serve(observatory: Observatory) -> None:
    server = observatory.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve until standard input ends."""
    servers = unseen_fifth()
    if len(sys.argv) != 2 or sys.argv[1] not in servers:
        sys.exit(f"usage: python -m unseen_fifth [{' | '.join(servers)}]")
    anyio.run(_serve, servers[sys.argv[1]].server())


if __name__ == "__main__":
    main()
