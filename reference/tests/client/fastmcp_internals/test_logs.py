"""What FastMCP and the SDK write for people is in the log of its server. Red means: they have changed."""

from __future__ import annotations

import logging
from typing import Any

import fastmcp
import pytest
from fastmcp.client.transports import StdioTransport
from support.mcp_servers import ESCAPES
from support.raw_peer import RawPeer

from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import fastmcp_internals
from xmcp.client.servers.fastmcp_internals import prepared
from xmcp.client.servers.fastmcp_internals.logs import _LIBRARY_LOGGERS
from xmcp.client.servers.server_log import ChildStderr, ServerLog, instead_of

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def deaf(_: Any) -> None:
    """Hears nothing."""


def test_the_loggers_whose_warnings_quote_a_server_are_filtered_and_have_names_of_their_own() -> None:
    names = {logger.name for logger in _LIBRARY_LOGGERS}
    assert names > {"mcp.client.stdio", "mcp.client.streamable_http", "fastmcp.client.mixins.tools"}
    assert len(names) == len(_LIBRARY_LOGGERS)
    for logger in _LIBRARY_LOGGERS:
        assert instead_of in logger.filters


async def test_a_notification_that_mcp_does_not_allow_is_in_the_log_of_its_server(capfd: Any) -> None:
    lines: list[Any] = []
    note = ("notifications/message", {"level": f"{ESCAPES}"})
    peer = RawPeer({"tools/list": {"tools": []}}, lambda: [note])

    class Kept(ServerLog):
        def sdk_record(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    client = fastmcp.Client(peer, mode="legacy")
    async with fastmcp_internals.logged(client, Kept(EventLog())), client:
        await client.list_tools()
    assert "Failed to validate notification: notifications/message" in lines
    assert capfd.readouterr().err == ""


def test_fastmcp_logs_each_notification_of_a_server_in_this_process_by_a_logger_of_that_name() -> None:
    from fastmcp.server import context

    assert context.to_client_logger.name == "fastmcp.server.context.to_client"


@MODES
async def test_a_clients_own_log_handler_stays_and_fastmcps_is_replaced(mcp: Any, mode: str) -> None:
    @mcp.tool
    async def tell(ctx: fastmcp.Context) -> None:
        await ctx.warning("hot")

    heard: list[Any] = []

    async def hear(params: Any) -> None:
        heard.append(params.data)

    class Told(ServerLog):
        async def notification(self, params: Any) -> None:
            heard.append("in the log of the server")

    for handler in (hear, None):
        client = prepared(fastmcp.Client(mcp, mode=mode, log_handler=handler), deaf, [])
        async with fastmcp_internals.logged(client, Told(EventLog())), client:
            await client.call_tool_mcp("tell", {})
    assert len(heard) in (0, 2)  # a revision without log notifications sends none
    assert mode == "auto" or ["msg" in str(heard[0]), heard[1]] == [True, "in the log of the server"]


async def test_a_transport_whose_stderr_went_to_a_log_is_afterwards_as_it_was() -> None:
    transport = StdioTransport("program", [])
    async with fastmcp_internals.logged(fastmcp.Client(transport), ServerLog(EventLog())):
        assert isinstance(transport.log_file, ChildStderr)
    assert transport.log_file is None
