"""What the client needs of FastMCP and the MCP SDK beyond their public interface.

Every reliance on a private name or on an unwritten fact stands here, one function each, and
`tests/client/test_fastmcp_internals.py` has a test per function that fails when an upgrade changes it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import wraps
from types import FunctionType
from typing import Any, Final

import fastmcp
import httpx2
from fastmcp.client.transports import ClientTransport, StreamableHttpTransport
from mcp.client import ClientExtension
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED

from xmcp.client.servers.targets import Hear

SSE_EVENT_BYTES: Final = 64 * 1024 * 1024
"""Longest server-sent event that is read. The SDK's own limit is 1 MiB, and FastMCP does not pass one on."""

CONNECT_SECONDS: Final = 30.0
"""For making a connection and for sending, as in the SDK. What is waited for an answer is the caller's to say."""

NEVER_SENT: Final = "dev.xmcp/never_sent"
"""In the data of a protocol error that `roomy` makes: the request cannot have reached the server."""


def roomy(transport: ClientTransport) -> ClientTransport:
    """Return a copy of a streamable HTTP transport that takes long events, and whose requests fail one by one.

    It has as many connections as it has calls, and waits for their answers as long as the caller does: by default
    there are a hundred connections, and an answer or an idle listening stream that takes five minutes is cut. In the
    SDK one POST that cannot be sent ends the session and with it every other request on it. Transports of other
    classes, derived ones included, are returned as they are.
    """
    if type(transport) is not StreamableHttpTransport:
        return transport
    made = copy.copy(transport)
    made.__class__ = _RoomyTransport
    if made.httpx_client_factory is None:
        made.httpx_client_factory = _client_factory(made.verify)
    return made


def _client_factory(verify: Any) -> Any:
    def make(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **_: object,
    ) -> httpx2.AsyncClient:
        # Redirects are the transport's: it follows them within the origin only.
        return httpx2.AsyncClient(
            headers=headers,
            auth=auth,
            verify=True if verify is None else verify,
            timeout=timeout or httpx2.Timeout(CONNECT_SECONDS, read=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )

    return make


def _streams(url: str, *, http_client: httpx2.AsyncClient, **options: Any) -> AbstractAsyncContextManager[Any]:
    vars(http_client)["send"] = _failing_alone(http_client.send)
    return streamable_http_client(url, http_client=http_client, max_sse_event_size=SSE_EVENT_BYTES, **options)


def _failing_alone(send: Callable[..., Awaitable[httpx2.Response]]) -> Callable[..., Awaitable[httpx2.Response]]:
    @wraps(send)
    async def sending(request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return await send(request, **options)
        except httpx2.TransportError as exc:
            # What opens a connection fails as ever: the SDK would take an answer for a sign of an older era.
            if request.method != "POST" or json.loads(request.content).get("method") in _OPENING:
                raise
            never_sent = isinstance(exc, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
            message = f"Connection closed: {str(exc) or type(exc).__name__}"
            error = {"code": CONNECTION_CLOSED, "message": message, "data": {NEVER_SENT: never_sent}}
            return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)

    return sending


_OPENING: Final = ("initialize", "server/discover")

_plain: Any = StreamableHttpTransport.connect_session.__wrapped__  # type: ignore[attr-defined]
_connect = FunctionType(_plain.__code__, {**_plain.__globals__, "streamable_http_client": _streams})
_connect.__kwdefaults__ = _plain.__kwdefaults__


class _RoomyTransport(StreamableHttpTransport):
    """FastMCP's own `connect_session`, with another `streamable_http_client` where it looks that name up."""

    connect_session = asynccontextmanager(_connect)


def equipped(client: fastmcp.Client[Any], hear: Hear, extensions: list[ClientExtension]) -> fastmcp.Client[Any]:
    """Return a fresh copy of an application's client that tells `hear` what it hears and advertises `extensions`.

    What it heard itself it goes on hearing, and an extension that it advertises itself stays as it has it.
    """
    made = client.new()
    own = list(made._extensions_arg or ())
    known = {extension.identifier for extension in own}
    made._extensions_arg = [*own, *(extension for extension in extensions if extension.identifier not in known)]
    made._session_kwargs.update(made._build_extension_kwargs())
    before = made._session_kwargs.get("message_handler")

    async def both(message: Any) -> None:
        await hear(message)
        if before is not None:
            await before(message)

    made._session_kwargs["message_handler"] = both
    made.transport = roomy(made.transport)
    return made


def leave_results_unchecked(session: ClientSession) -> None:
    """Have `session` hand on results that break the tool's output schema, without looking schemas up for the check."""

    async def accept(_name: str, _result: Any) -> None:
        """Stands in for the session's check of results."""

    vars(session)["validate_tool_result"] = accept
