"""Middleware around every message, and a transport's streams. Red means: FastMCP has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.middleware import Middleware
from mcp import MCPError
from mcp.server.connection import Connection

from xmcp import XMCP
from xmcp.server.fastmcp_internals.dispatch import (
    add_dispatch_middleware,
    count_requests,
    join_dispatch,
    streams_replaced,
    wrap_dispatch,
)
from xmcp.server.fastmcp_internals.outgoing_messages import connection_of


async def test_the_middleware_that_joins_sees_every_message_and_its_connection() -> None:
    mcp: FastMCP[Any] = FastMCP("plain")
    seen: list[tuple[str, Connection]] = []

    async def note(ctx: Any, call_next: Any) -> Any:
        seen.append((ctx.method, connection_of(ctx.session)))
        return await call_next(ctx)

    async def listen(ctx: Any, params: Any) -> Any:
        raise NotImplementedError

    join_dispatch(mcp, note, listen)
    async with Client(mcp, mode="legacy") as client:
        await client.ping()
        assert client.session.server_capabilities.tools.list_changed is True
    assert [method for method, _ in seen] == ["initialize", "notifications/initialized", "ping"]
    assert len({id(connection) for _, connection in seen}) == 1
    assert all(isinstance(connection, Connection) and connection.has_standalone_channel for _, connection in seen)
    async with Client(mcp, mode="auto") as client:
        assert client.session.server_capabilities.tools.list_changed is True


async def test_a_middleware_of_every_message_sees_the_answer_as_a_json_object_and_can_replace_it() -> None:
    mcp = XMCP("joined")
    seen = []

    @mcp.tool
    def double(x: int) -> int:
        return 2 * x

    async def doubled(ctx: Any, call_next: Any) -> Any:
        answer = await call_next(ctx)
        seen.append(ctx.method)
        if ctx.method != "tools/call":
            return answer
        assert isinstance(answer, dict)
        return {**answer, "structuredContent": {"result": 99}}

    add_dispatch_middleware(mcp, doubled)
    async with Client(mcp, mode="auto") as client:
        assert (await client.call_tool_mcp("double", {"x": 1})).structured_content == {"result": 99}
    assert "tools/call" in seen


async def test_the_outermost_middleware_sees_every_message_and_what_other_middleware_raises() -> None:
    class Fails(Middleware):
        async def on_list_resources(self, context: Any, call_next: Any) -> Any:
            raise LookupError

    plain: FastMCP[Any] = FastMCP("plain", middleware=[Fails()])
    seen = []

    async def outermost(ctx: Any, call_next: Any) -> Any:
        try:
            return await call_next(ctx)
        except Exception as error:
            seen.append((ctx.method, type(error).__name__))
            raise

    wrap_dispatch(plain, outermost)
    async with Client(plain, mode="legacy", timeout=300) as client:
        with pytest.raises(MCPError):
            await client.list_resources()
    assert seen == [("resources/list", "LookupError")]


async def test_the_streams_of_a_transport_can_be_replaced_once() -> None:
    mcp = FastMCP("plain")
    seen: list[Any] = []

    def replacing(name: str) -> Callable[[Any, Any], tuple[Any, Any]]:
        def replace(read: Any, write: Any) -> tuple[Any, Any]:
            seen.append(name)
            return read, write

        return replace

    with streams_replaced(mcp, replacing("outer")), streams_replaced(mcp, replacing("inner")):
        incoming, source = anyio.create_memory_object_stream[Any](1)
        sink, _outgoing = anyio.create_memory_object_stream[Any](1)
        incoming.close()
        await mcp._mcp_server.run(source, sink, mcp._mcp_server.create_initialization_options())
    assert seen == ["outer"]
    assert "run" not in vars(mcp._mcp_server)


async def test_requests_are_counted_while_they_are_answered(era: str) -> None:
    mcp = FastMCP("plain")
    count = count_requests(mcp)
    assert count_requests(mcp) is count
    seen: list[int] = []

    @mcp.tool
    async def look() -> None:
        seen.append(count.number)

    async with Client(mcp, mode=era) as client:
        await client.call_tool("look")
    assert (seen, count.number) == ([1], 0)
