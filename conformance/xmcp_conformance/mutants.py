"""Serve a wrong server or the miniature over stdio: `python -m xmcp_conformance.mutants [REQUIREMENT | negotiated]`."""

from __future__ import annotations

import sys

import anyio
from mcp.server.stdio import stdio_server

from xmcp_conformance.wrong.registry import server_mutants
from xmcp_conformance.wrong.servers.miniature import Miniature, Negotiated


async def _serve(miniature: Miniature) -> None:
    server = miniature.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve until standard input ends."""
    mutants = {**server_mutants(), "negotiated": Negotiated}
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and sys.argv[1] not in mutants):
        sys.exit(f"usage: python -m xmcp_conformance.mutants [{' | '.join(mutants)}]")
    mutant = mutants[sys.argv[1]] if len(sys.argv) == 2 else Miniature
    anyio.run(_serve, mutant())


if __name__ == "__main__":
    main()
