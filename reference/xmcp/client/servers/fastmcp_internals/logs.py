"""What FastMCP, the SDK and a program write for people goes to the log of their server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from inspect import getclosurevars
from typing import Any, Final

import fastmcp
import fastmcp.client.mixins.tools
import fastmcp.client.transports.config
import mcp.client.session
import mcp.client.sse
import mcp.client.stdio
import mcp.client.streamable_http
import mcp.shared.jsonrpc_dispatcher
from fastmcp.client.logging import create_log_callback, default_log_handler
from fastmcp.client.transports import ClientTransport, StdioTransport
from fastmcp.client.transports.config import MCPConfigTransport

from xmcp.client.servers import server_log
from xmcp.client.servers.server_log import ServerLog
from xmcp.client.servers.stdio_transport import BoundedKeptAlive

LAST_WORDS_SECONDS: Final = 0.5
"""Time limit for reading what a program wrote to stderr before it ended."""


_LIBRARY_LOGGERS: Final = tuple(
    module.logger
    for module in (
        mcp.client.session,
        mcp.client.sse,
        mcp.client.stdio,
        mcp.client.streamable_http,
        mcp.shared.jsonrpc_dispatcher,
        fastmcp.client.mixins.tools,
        fastmcp.client.transports.config,
    )
)
"""Loggers of FastMCP and the SDK that quote what a server sent, unescaped and as often as the server likes."""


for _logger in _LIBRARY_LOGGERS:
    _logger.addFilter(server_log.instead_of)


# A server in this process, and FastMCP's proxy of several servers, log each notification on its way to the client.
logging.getLogger("fastmcp.server.context.to_client").addFilter(server_log.of_nobody)


@asynccontextmanager
async def logged(client: fastmcp.Client[Any], log: ServerLog) -> AsyncIterator[None]:
    """Write to `log` what the server of `client` and the libraries would write to the terminal.

    FastMCP's log handler, the stderr of a program, and warnings of the libraries in the running task and those that it
    starts. An application's own log handler, and its own file for stderr, stay.
    """
    if _has_default_log_handler(client):
        client._session_kwargs["logging_callback"] = create_log_callback(log.notification)
    server_log.CURRENT.set(log)
    routed = list(_route_stderr(client.transport, log))
    try:
        yield
    finally:
        for transport in routed:
            transport.log_file = None
        log.close()
        if not any(transport.keep_alive for transport in routed):  # such a program still runs
            await asyncio.to_thread(log.drained, LAST_WORDS_SECONDS)


def _has_default_log_handler(client: fastmcp.Client[Any]) -> bool:
    callback = client._session_kwargs.get("logging_callback")
    return callback is None or getclosurevars(callback).nonlocals.get("handler") is default_log_handler


def _route_stderr(transport: ClientTransport, log: ServerLog) -> Iterator[StdioTransport]:
    """Give every program that `transport` starts a stderr of `log`; yield the transports that were changed."""
    transport = transport.given if isinstance(transport, BoundedKeptAlive) else transport
    if isinstance(transport, StdioTransport):
        if transport.log_file is None:
            # FastMCP passes the file on as the stderr of a process, so any file with a descriptor will do.
            transport.log_file = log.child_stderr()  # type: ignore[assignment]
            yield transport
    elif isinstance(transport, MCPConfigTransport):
        for inner in transport._transports:
            yield from _route_stderr(inner, log)
        create = type(transport)._create_transport

        def create_routed(config: Any) -> ClientTransport:
            made = create(config)
            list(_route_stderr(made, log))
            return made

        # With several servers, the transports are made when it connects.
        transport._create_transport = create_routed  # type: ignore[method-assign]
