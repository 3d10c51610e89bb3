"""A scripted server over HTTP, in both eras of MCP."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import mcp_types
from mcp.server.lowlevel.server import Server

from xmcp_conformance.profiles.client.adapter import ConnectionLost, ToolServer
from xmcp_conformance.profiles.client.observer import NEVER
from xmcp_models.registry import EXTENSION_ID

from .hosting import Cut

_ANNOUNCEMENT: Final = {EXTENSION_ID: {"versions": ["1.0"], "wire": "always"}}


def server_app(name: str, server: ToolServer, cut: Cut, *, xmcp: bool) -> Any:
    """Return an application in which `/mcp` is the server.

    Args:
        name: what it calls itself.
        server: what it does.
        cut: breaks the connection of a client.
        xmcp: whether it announces the extension.
    """

    async def list_tools(_context: Any, _params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult.model_validate({"tools": await server.list_tools()})

    async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        try:
            return mcp_types.CallToolResult.model_validate(await server.call_tool(params.name, params.arguments or {}))
        except ConnectionLost:
            cut(context.request.scope["client"])
            await asyncio.sleep(NEVER)
            raise

    made = _Announcing(name, version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    made.announces = xmcp
    return made.streamable_http_app()


class _Announcing(Server[Any]):
    """Announces the extension, in the era of the handshake under `experimental`, the only place that it has for it."""

    announces = False

    def get_capabilities(self, *arguments: Any, **named: Any) -> mcp_types.ServerCapabilities:
        capabilities = super().get_capabilities(*arguments, **named)
        if not self.announces:
            return capabilities
        place = "experimental" if named.get("protocol_version") is None else "extensions"
        return capabilities.model_copy(update={place: _ANNOUNCEMENT})
