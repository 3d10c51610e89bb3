"""Serve a server of the set over stdio: `python -m unseen_twelfth NAME`, with `conformance/tests` on the path."""

from __future__ import annotations

import sys

import anyio
from mcp.server.stdio import stdio_server

from unseen_twelfth.registry import unseen_twelfth
from unseen_twelfth.theatre import Theatre


async def _serve(theatre: Theatre) -> None:
    server = theatre.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve until standard input ends."""
    servers = unseen_twelfth()
    if len(sys.argv) != 2 or sys.argv[1] not in servers:
        sys.exit(f"usage: python -m unseen_twelfth [{' | '.join(servers)}]")
    anyio.run(_serve, servers[sys.argv[1]].server())


if __name__ == "__main__":
    main()
