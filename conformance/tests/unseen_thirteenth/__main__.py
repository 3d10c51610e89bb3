"""Serve a server of the set over stdio: `python -m unseen_thirteenth NAME`, with `conformance/tests` on the path."""

from __future__ import annotations

import sys

import anyio
from mcp.server.stdio import stdio_server

from unseen_thirteenth.printshop import PrintShop
from unseen_thirteenth.registry import unseen_thirteenth


async def _serve(shop: PrintShop) -> None:
    server = shop.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve until standard input ends."""
    servers = unseen_thirteenth()
    if len(sys.argv) != 2 or sys.argv[1] not in servers:
        sys.exit(f"usage: python -m unseen_thirteenth [{' | '.join(servers)}]")
    anyio.run(_serve, servers[sys.argv[1]].server())


if __name__ == "__main__":
    main()
