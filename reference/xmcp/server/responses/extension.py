"""The MCP extension by which a server says that its results are tool responses (spec chapter 1).

Only the announcement lives here; FastMCP sends it on modern connections, and the middleware adds it
to the answer of the handshake, from which the SDK strips extensions.
"""

from __future__ import annotations

from typing import Any

from fastmcp.server.extensions import ServerExtension

from xmcp.server.responses.capability import Wire
from xmcp_models.registry import EXTENSION_ID, VERSION


def announcement(wire: Wire) -> dict[str, Any]:
    """Return what a server announces: the versions of the format it writes, and its wire (spec 1.3, 6.1)."""
    return {"versions": [VERSION], **({} if wire == "always" else {"wire": wire})}


class ToolResponseExtension(ServerExtension):
    """Announces `capabilities.extensions[EXTENSION_ID]`.

    A server that mounts this one announces for itself or not at all: only it knows whether all its
    results are responses.
    """

    identifier = EXTENSION_ID

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def settings(self) -> dict[str, Any]:
        """Return what is announced."""
        return announcement(self._wire)
