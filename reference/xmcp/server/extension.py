"""The MCP extension by which a server says that its results are tool responses (spec chapter 1).

Only the announcement lives here; FastMCP sends it on modern connections, and the middleware adds it
to the answer of the handshake, from which the SDK strips extensions.
"""

from __future__ import annotations

from typing import Any

from fastmcp.server.extensions import ServerExtension

from xmcp_models.registry import EXTENSION_ID, VERSION


class ToolResponseExtension(ServerExtension):
    """Announces `capabilities.extensions[EXTENSION_ID]`.

    A server that mounts this one announces for itself or not at all: only it knows whether all its
    results are responses.
    """

    identifier = EXTENSION_ID

    def settings(self) -> dict[str, Any]:
        """Return what is announced: the versions of the format this server writes."""
        return {"versions": [VERSION]}
