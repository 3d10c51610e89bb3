"""A scripted server over HTTP, in both eras of MCP or in the handshake era alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import mcp_types
from mcp import MCPError
from mcp.server.lowlevel.server import Server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse, PlainTextResponse

from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.adapter import (
    ConnectionLost,
    Declaration,
    Json,
    OutsideProtocol,
    ProtocolError,
    ToolServer,
)
from xmcp_conformance.profiles.client.observer import NEVER
from xmcp_models.registry import EXTENSION_ID, VERSION

from .hosting import Cut

_REFUSED: Final = 400
"""The least HTTP status of a refusal."""
_KEPT: Final = 65_536
"""Bytes of a request, and of its answer, that are looked at."""


_INSTEAD: Final = "xmcp.instead"
"""The member of the scope of a request with what is answered in place of the result."""
_PAGE: Final = 3
"""Number of tools in a page of a list."""


def server_app(
    name: str, server: ToolServer, cut: Cut, refused: Callable[[str], None], *, wire: str | None, handshake: bool
) -> Any:
    """Return an application in which `/mcp` is the server.

    Args:
        name: what it calls itself.
        server: what it does.
        cut: breaks the connection of a client.
        refused: is told which request was refused, and why.
        wire: the wire that it announces, or empty where the announcement says nothing; `None` where there is none.
        handshake: whether it is of the era of the handshake, and knows no other.
    """

    async def list_tools(context: Any, params: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        server.learn(_declaration(context))
        tools = await server.list_tools()
        cursor = (params.cursor if params is not None else None) or "0"
        if cursor not in map(str, range(0, len(tools) + 1, _PAGE)):
            raise MCPError(mcp_types.INVALID_PARAMS, f"There is no page {quoted(cursor)} of this list.")
        begin = int(cursor)
        page: Json = {"tools": tools[begin : begin + _PAGE]}
        if begin + _PAGE < len(tools):
            page["nextCursor"] = str(begin + _PAGE)
        return mcp_types.ListToolsResult.model_validate(page)

    async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        server.learn(_declaration(context))
        report = context.session.report_progress if "progress_token" in (context.meta or {}) else None
        try:
            result = await server.call_tool(params.name, params.arguments or {}, report)
            return mcp_types.CallToolResult.model_validate(result)
        except ProtocolError as error:
            raise MCPError(error.code, str(error)) from error
        except OutsideProtocol as answered:
            context.request.scope[_INSTEAD].append(answered)
            return mcp_types.CallToolResult(content=[])
        except ConnectionLost:
            cut(context.request.scope["client"])
            await asyncio.sleep(NEVER)
            raise

    made = _Announcing(name, version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    # Else the library lists the tools itself at each call, which would count as a list that the client asked for.
    made.get_tool_input_schema = lambda _name: None
    made.wire = wire
    app: Any = _TellsRefusals(made.streamable_http_app(), refused)
    if server.answers_outside:
        app = _AnswersOutside(app)
    return _OfTheHandshake(app) if handshake else app


def _declaration(context: Any) -> Declaration:
    """Return what the client of a request declares."""
    capabilities = context.session.client_capabilities
    extensions, experimental = (
        (getattr(capabilities, place, None) or {}).get(EXTENSION_ID) for place in ("extensions", "experimental")
    )
    return Declaration(
        stateless=context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS,
        extensions=extensions,
        experimental=experimental,
        accept_encoding=context.request.headers.get("accept-encoding"),
    )


class _TellsRefusals:
    """Tells which requests are answered with an HTTP status from 400 on, such as one with `[]` in the place of `{}`.

    No sentence is about them, and their sender may not look at them: what is seen is that nothing follows.
    """

    def __init__(self, app: Any, refused: Callable[[str], None]) -> None:
        self._app, self._refused = app, refused

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request, answer, status = bytearray(), bytearray(), 0

        async def heard() -> Any:
            message = await receive()
            request.extend(message.get("body", b"")[: _KEPT - len(request)])
            return message

        async def said(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            answer.extend(message.get("body", b"")[: _KEPT - len(answer)])
            await send(message)

        await self._app(scope, heard, said)
        if status >= _REFUSED:
            method, error = _members(request).get("method"), _members(answer).get("error")
            why = error.get("message") if isinstance(error, dict) else answer.decode("utf-8", "replace")
            what = f"`{quoted(method)}`" if isinstance(method, str) else "a request"
            self._refused(f"{what} (HTTP {status}): {quoted(str(why))}")


def _members(body: bytearray) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(body), dict):
            return found
    return {}


class _AnswersOutside:
    """Answers a call with an HTTP status and a page where the server does so, in place of the result it would send.

    So the beginning of the answer to each request waits for the first piece of it, which other servers' do not.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        instead: list[OutsideProtocol] = []
        begin: Any = None
        replaced = False

        async def said(message: Any) -> None:
            nonlocal begin, replaced
            if replaced:
                return
            if message["type"] == "http.response.start":
                begin = message
                return
            if begin is not None and (message.get("body") or not message.get("more_body")):
                replaced = bool(instead)
                if replaced:
                    page = PlainTextResponse(instead[0].page, status_code=instead[0].status)
                    await page(scope, receive, send)
                    return
                await send(begin)
                begin = None
            if begin is None:
                await send(message)

        await self._app({**scope, _INSTEAD: instead}, receive, said)


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

    wire: str | None = None

    def get_capabilities(self, *arguments: Any, **named: Any) -> mcp_types.ServerCapabilities:
        capabilities = super().get_capabilities(*arguments, **named)
        if self.wire is None:
            return capabilities
        place = "experimental" if named.get("protocol_version") is None else "extensions"
        # Whatever the value of the entry is, the server has announced the extension (section 6.1).
        said = {"versions": [VERSION], "wire": self.wire} if self.wire else {}
        return capabilities.model_copy(update={place: {EXTENSION_ID: said}})
