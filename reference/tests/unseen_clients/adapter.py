"""The adapter of `examples/client_adapter`, for the clients that this process changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unseen_clients.entries import Entry

sys.path.append(str(Path(__file__).parents[3] / "examples" / "client_adapter"))
from adapter import FEATURES, Adapter
from program import Application, Json, serve

__all__ = ["Application", "Json", "main"]


def main(entries: Sequence[Entry]) -> None:
    """Let the suite drive the client that the command line names: `AIClient`, changed as its entry says."""
    named = {entry.name: entry for entry in entries}
    if len(sys.argv) != 2 or sys.argv[1] not in named:
        sys.exit(f"give the NAME of a client, one of: {', '.join(named)}")
    named[sys.argv[1]].change()
    serve(Adapter(), "xmcp.client.AIClient", FEATURES)
