"""The view for hosts of MCP Apps: a page that shows every display (spec section 6.7).

The page is a file of the package, which the sources in reference/web build. Tools of mounted and proxied servers name
it too: the server that a client talks to is the one that it reads the view from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import anyio.to_thread
import mcp_types
from fastmcp.apps.config import UI_EXTENSION_ID, UI_MIME_TYPE
from fastmcp.resources import ResourceContent, ResourceResult
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp.server.context import CallNext as DispatchNext
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp_types import ClientCapabilities
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from xmcp.server.responses.capability import declared_in
from xmcp.server.tool_metadata import metadata_of
from xmcp_models.registry import VIEW_URI

_UI: Final = {"prefersBorder": False}
_LISTED: Final = {
    "uri": VIEW_URI,
    "name": "xmcp_display",
    "title": "Display",
    "description": "Shows the displays of this server's tools.",
    "mimeType": UI_MIME_TYPE,
    "_meta": {"ui": _UI},
}


@cache
def page() -> str:
    """Return the view, one HTML document that loads nothing."""
    return files("xmcp").joinpath("render", "web", "mcp_app.html").read_text(encoding="utf-8")


class DisplayView(Middleware):
    """Offers the view to clients that announce MCP Apps, and gives it to whoever reads it.

    As a middleware of FastMCP it answers `resources/read`; `dispatch` is one of the SDK, around every message that
    a client sends to this server itself.
    """

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, ResourceResult],
    ) -> ResourceResult:
        """Answer with the view if that is what is read."""
        if str(context.message.uri) != VIEW_URI:
            return await call_next(context)
        html = await anyio.to_thread.run_sync(page)
        return ResourceResult([ResourceContent(html, mime_type=UI_MIME_TYPE, meta={"ui": _UI})])

    async def dispatch(self, ctx: ServerRequestContext[Any, Any], call_next: DispatchNext) -> HandlerResult:
        """Name the view in the answer to `tools/list`, and list it in that to `resources/list`."""
        result = await call_next(ctx)
        if not isinstance(result, dict):
            return result
        capabilities = ctx.session.client_capabilities
        if ctx.method == "tools/list" and may_show_views(capabilities, ctx.protocol_version):
            return {**result, "tools": [naming_the_view(tool) for tool in result["tools"]]}
        if ctx.method == "resources/list" and announces_apps(capabilities) and "nextCursor" not in result:
            return {**result, "resources": with_the_view(result["resources"])}
        return result


def announces_apps(capabilities: ClientCapabilities | None) -> bool:
    """Tell whether a client with these capabilities announces MCP Apps, and the type of the view."""
    announced = declared_in(capabilities, UI_EXTENSION_ID)
    if announced is None:
        return False
    types = announced.get("mimeTypes")
    return not isinstance(types, list) or UI_MIME_TYPE in types


def may_show_views(capabilities: ClientCapabilities | None, protocol_version: str) -> bool:
    """Tell whether a client announces MCP Apps, or did so in an `initialize` that a server without sessions forgot.

    Most hosts of that era reach a server over HTTP, by default without sessions (XMCP-MCP-061).
    """
    if capabilities is None:
        return protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    return announces_apps(capabilities)


def naming_the_view(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a tool, as `tools/list` has it, that names the view if it is a display tool without one of its own."""
    meta = tool.get("_meta")
    if not isinstance(meta, dict) or metadata_of(meta).get("display") is not True:
        return tool
    own = meta.get("ui", {})
    if not isinstance(own, dict) or "resourceUri" in own or "ui/resourceUri" in meta:
        return tool
    return {**tool, "_meta": {**meta, "ui": {**own, "resourceUri": VIEW_URI}}}


def with_the_view(resources: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the resources of a server with the view; that of a proxied server has the same URI."""
    return [*(resource for resource in resources if resource.get("uri") != VIEW_URI), _LISTED]
