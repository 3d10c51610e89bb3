"""Serve an unseen server over stdio: `python -m unseen NAME`, with `conformance/tests` on the path."""

from __future__ import annotations

import sys

import anyio
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.stdio import stdio_server

from unseen.desk import Desk
from unseen.registry import unseen


async def _serve(desk: Desk) -> None:
    server = desk.server()
    options = server.create_initialization_options(NotificationOptions(tools_changed=desk.changes))
    async with stdio_server() as (read, write):
        await server.run(read, write, options)


def main() -> None:
    """Serve until standard input ends."""
    servers = unseen()
    if len(sys.argv) != 2 or sys.argv[1] not in servers:
        sys.exit(f"usage: python -m unseen [{' | '.join(servers)}]")
    anyio.run(_serve, servers[sys.argv[1]].server())


if __name__ == "__main__":
    main()
