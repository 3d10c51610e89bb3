"""A scripted server over HTTP, in both eras of MCP or in the handshake era alone."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import mcp_types
from mcp.server.lowlevel.server import Server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse

from xmcp_conformance.profiles.client.adapter import ConnectionLost, ToolServer
from xmcp_conformance.profiles.client.observer import NEVER
from xmcp_models.registry import EXTENSION_ID

from .hosting import Cut

_ANNOUNCEMENT: Final = {EXTENSION_ID: {"versions": ["1.0"], "wire": "always"}}


def server_app(name: str, server: ToolServer, cut: Cut, *, xmcp: bool, handshake: bool) -> Any:
    """Return an application in which `/mcp` is the server.

    Args:
        name: what it calls itself.
        server: what it does.
        cut: breaks the connection of a client.
        xmcp: whether it announces the extension.
        handshake: whether it is of the era of the handshake, and knows no other.
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
    app = made.streamable_http_app()
    return _OfTheHandshake(app) if handshake else app


class _OfTheHandshake:
    """Refuses requests of the stateless era as servers of before do, which do not know that version of MCP."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"").decode("latin-1")
        if scope["type"] != "http" or not version or version in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._app(scope, receive, send)
            return
        known = ", ".join(HANDSHAKE_PROTOCOL_VERSIONS)
        message = f"Bad Request: Unsupported protocol version: {version}. Supported versions: {known}"
        body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
        await JSONResponse(body, status_code=400)(scope, receive, send)


class _Announcing(Server[Any]):
    """Announces the extension, in the era of the handshake under `experimental`, the only place that it has for it."""

    announces = False

    def get_capabilities(self, *arguments: Any, **named: Any) -> mcp_types.ServerCapabilities:
        capabilities = super().get_capabilities(*arguments, **named)
        if not self.announces:
            return capabilities
        place = "experimental" if named.get("protocol_version") is None else "extensions"
        return capabilities.model_copy(update={place: _ANNOUNCEMENT})
