"""The adapter of `examples/client_adapter`, for the clients that this process changed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "examples" / "client_adapter"))
from adapter import FEATURES, Adapter
from program import Application, Json, serve

__all__ = ["Application", "Json", "main"]


def main() -> None:
    """Let the suite drive `AIClient`."""
    serve(Adapter(), "xmcp.client.AIClient", FEATURES)
