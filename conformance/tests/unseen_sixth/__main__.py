"""Serve a server of the sixth set over stdio: `python -m unseen_sixth NAME`, with `conformance/tests` on the path."""

from __future__ import annotations

import sys

import anyio
from mcp.server.stdio import stdio_server

from unseen_sixth.registry import unseen_sixth
from unseen_sixth.theatre import Theatre


async def _serve(theatre: Theatre) -> None:
    server = theatre.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve until standard input ends."""
    servers = unseen_sixth()
    if len(sys.argv) != 2 or sys.argv[1] not in servers:
        sys.exit(f"usage: python -m unseen_sixth [{' | '.join(servers)}]")
    anyio.run(_serve, servers[sys.argv[1]].server())


if __name__ == "__main__":
    main()
