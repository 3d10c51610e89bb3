"""The bounded transport in the place of any that an application gives."""

from __future__ import annotations

from copy import copy
from typing import Any, cast

import httpx2
from fastmcp.client.transports import ClientTransport, SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.client.transports.config import MCPConfigTransport
from mcp.shared._httpx_utils import create_mcp_http_client

from xmcp.client.servers.fastmcp_internals.http_client import bound, failing_alone, http_client_factory
from xmcp.client.servers.fastmcp_internals.http_transport import ResilientHttpTransport
from xmcp.client.servers.fastmcp_internals.sse_transport import READ_BESIDE, BoundedSSETransport
from xmcp.client.servers.server_protocols import NotificationHandler
from xmcp.client.servers.stdio_transport import BoundedKeptAlive, BoundedStdioTransport


def resilient(transport: ClientTransport, on_fault: NotificationHandler | None = None) -> ClientTransport:
    """Return a transport with the settings of `transport`, which is not changed, that bounds what the server sends.

    That is a `ResilientHttpTransport` for streamable HTTP, and a `BoundedStdioTransport` for a program that ends with
    its connection; they tell `on_fault` why they end a connection. Over HTTP no compressed answer is accepted. The
    servers of a configuration are bounded one by one. Of a class that an application derives from one for HTTP, a copy
    is returned whose HTTP client is bounded, and for a program that its transport keeps alive a `BoundedKeptAlive`.
    Transports of other classes are returned as they are.
    """
    if isinstance(transport, StdioTransport) and type(transport).connect_session is StdioTransport.connect_session:
        bounded_program = BoundedKeptAlive if transport.keep_alive else BoundedStdioTransport.like
        return bounded_program(transport, on_fault)
    if type(transport) is SSETransport:
        return BoundedSSETransport(transport, on_fault)
    if type(transport) is MCPConfigTransport:
        return _BoundedConfigTransport(transport, on_fault)
    if isinstance(transport, ResilientHttpTransport | BoundedSSETransport):
        return transport
    if type(transport) is not StreamableHttpTransport:
        return _bounded_copy(transport) if isinstance(transport, StreamableHttpTransport | SSETransport) else transport
    made = ResilientHttpTransport(transport.url, transport.headers, on_fault)
    made.auth = transport.auth
    made.verify = transport.verify
    made.httpx_client_factory = transport.httpx_client_factory or http_client_factory(transport.verify)
    return made


def _bounded_copy(transport: StreamableHttpTransport | SSETransport) -> ClientTransport:
    """Return a copy of a transport of an application's own class: its session is the class's, its HTTP client bounded.

    A class that gives its session an HTTP client in another way is not bounded by it.
    """
    own: Any = transport.httpx_client_factory
    make: Any = own or transport._make_verify_factory() or create_mcp_http_client

    def factory(**options: Any) -> httpx2.AsyncClient:
        if own is None:
            options.pop("follow_redirects", None)  # which FastMCP passes to a factory of an application only
        client: httpx2.AsyncClient = make(**options)
        bound(client)
        READ_BESIDE[client] = None
        if isinstance(transport, StreamableHttpTransport):
            client.send = failing_alone(client.send)  # type: ignore[method-assign]
        return client

    made = copy(transport)
    made.httpx_client_factory = cast("Any", factory)
    return made


class _BoundedConfigTransport(MCPConfigTransport):
    """The servers of a configuration, each of which is bounded."""

    def __init__(self, given: MCPConfigTransport, on_fault: NotificationHandler | None) -> None:
        super().__init__(given.config, given.name_as_prefix)
        if given._transports:  # of a single server
            self.transport = cast("Any", resilient(given.transport, on_fault))
            self._transports = [self.transport]

    @staticmethod
    def _create_transport(config: Any) -> ClientTransport:
        # Of several servers. The fault of one is not told as one of them all.
        return resilient(MCPConfigTransport._create_transport(config))
