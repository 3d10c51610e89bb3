"""A server's connections, with a fake MCP client: who shares them, when they end, and how states are reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from xmcp.chat.errors import CallFailed
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import connection, mcp_server
from xmcp.client.servers.errors import ConnectFailed
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.targets import Source
from xmcp_models.registry import EXTENSION_ID


class _Session:
    """A session whose methods the client replaces."""

    async def send_request(self) -> None:
        """Do nothing: requests go to the double of the client."""


class StandIn:
    """What `fastmcp.Client` is for a connection. Notes what happens to it in `made`, shared by all of one test."""

    def __init__(self, made: list[StandIn], **behaviour: Any) -> None:
        made.append(self)
        self.behaviour = behaviour
        self.left = False
        self.listed = 0
        self.entered_in: Any = None
        self.left_in: Any = None
        self.session = _Session()
        self.server_info = SimpleNamespace(name="stand_in")
        self.transport: Any = None
        self._session_kwargs: dict[str, Any] = {}
        self.protocol_version = "2025-11-25"
        self.server_capabilities = SimpleNamespace(
            extensions={EXTENSION_ID: {}},
            experimental=None,
            tools=None if behaviour.get("offers_no_tools") else SimpleNamespace(list_changed=False),
        )

    async def __aenter__(self) -> StandIn:
        self.entered_in = asyncio.current_task()
        if enter := self.behaviour.get("enter"):
            await enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.left, self.left_in = True, asyncio.current_task()
        if "leave" in self.behaviour:
            raise self.behaviour["leave"]

    async def list_tools_mcp(self, **_: Any) -> Any:
        self.listed += 1
        lists = self.behaviour.get("lists")
        return SimpleNamespace(tools=list(await lists(self)) if lists else [], next_cursor=None)

    async def call_tool_mcp(self, tool: str, arguments: dict[str, Any], progress_handler: Any = None) -> Any:
        return await self.behaviour["tools"][tool]()


Make = Callable[..., tuple[Any, list[StandIn]]]


@pytest.fixture
async def make() -> Any:
    servers: list[Server] = []

    def make(**behaviour: Any) -> tuple[Server, list[StandIn]]:
        made: list[StandIn] = []
        source = Source("http://host/mcp", lambda _: StandIn(made, **behaviour))  # type: ignore[arg-type, return-value]
        servers.append(Server(source, None, 5.0, EventLog()))
        return servers[-1], made

    yield make
    await asyncio.gather(*(server.close() for server in servers))


async def never() -> None:
    await asyncio.Event().wait()


async def breaks() -> None:
    await asyncio.sleep(0)
    raise OSError("pipe to http://me:pass@host/mcp?token=t broke")


async def test_a_call_that_is_under_way_survives_the_break_another_call_met(make: Make) -> None:
    gate = asyncio.Event()

    async def steady() -> str:
        await gate.wait()
        return "fine"

    async def quick() -> str:
        return "new"

    server, made = make(tools={"steady": steady, "breaks": breaks, "quick": quick})
    under_way = asyncio.create_task(server.execute_tool_call("steady", {}))
    await server.open()
    with pytest.raises(CallFailed):
        await server.execute_tool_call("breaks", {})
    assert not made[0].left
    assert await server.execute_tool_call("quick", {}) == "new"
    assert (len(made), made[0].left) == (2, False)
    gate.set()
    assert await under_way == "fine"
    await made[0].entered_in
    assert made[0].left
    assert not made[1].left


async def test_arguments_that_no_line_can_hold_are_not_sent_and_cost_no_connection(make: Make) -> None:
    sent: list[str] = []

    async def quick() -> str:
        sent.append("call")
        return "ok"

    server, made = make(tools={"quick": quick})
    for value in ("half of a pair: \ud800", object()):
        with pytest.raises(CallFailed) as caught:
            await server.execute_tool_call("quick", {"x": [value]})
        assert (caught.value.error.code, caught.value.cause) == ("INTERNAL", "client")
    assert await server.execute_tool_call("quick", {}) == "ok"
    assert (sent, len(made)) == (["call"], 1)


async def test_callers_that_find_no_connection_make_one_together(make: Make) -> None:
    async def quick() -> str:
        return "ok"

    server, made = make(tools={"quick": quick})
    assert await asyncio.gather(*(server.execute_tool_call("quick", {}) for _ in range(9))) == ["ok"] * 9
    assert len(made) == 1


async def test_a_caller_that_is_cancelled_leaves_the_connecting_to_the_others(make: Make) -> None:
    gate = asyncio.Event()
    server, made = make(enter=gate.wait)
    first, second = asyncio.create_task(server.open()), asyncio.create_task(server.open())
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert await second == []
    assert first.cancelled()
    assert len(made) == 1


async def test_the_task_that_enters_a_connection_also_leaves_it_and_is_nobody_elses(make: Make) -> None:
    server, made = make(leave=RuntimeError("the transport broke long ago"))
    await server.open()
    await server.close()
    assert made[0].left
    assert made[0].entered_in is made[0].left_in is not asyncio.current_task()
    assert made[0].entered_in.done()


async def test_what_broke_a_connection_is_logged_for_people_without_secrets_and_not_told_the_model(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server, _ = make(tools={"breaks": breaks})
    with pytest.raises(CallFailed) as caught:
        await server.execute_tool_call("breaks", {})
    error = caught.value.error
    assert (error.code, error.meta) == ("CONNECTION_FAILED", {"side_effects": "unknown"})
    assert caught.value.transport
    assert "pipe" not in error.message
    (lost,) = [record.getMessage() for record in caplog.records if "server_lost" in record.getMessage()]
    assert "pipe to http://host/mcp broke" in lost


async def test_whether_a_server_speaks_xmcp_is_remembered_while_it_is_lost(make: Make) -> None:
    server, _ = make(tools={"breaks": breaks})
    await server.open()
    with pytest.raises(CallFailed):
        await server.execute_tool_call("breaks", {})
    assert (server.speaks_xmcp, server.name) == (True, "stand_in")


async def test_a_closed_server_stays_closed(make: Make) -> None:
    server, made = make(tools={"breaks": breaks})
    await server.open()
    await server.close()
    with pytest.raises(CallFailed) as caught:
        await server.execute_tool_call("breaks", {})
    assert caught.value.error.meta == {"side_effects": "none"}
    with pytest.raises(ConnectFailed, match="closed"):
        await server.open()
    assert len(made) == 1


async def test_closing_while_connecting_does_not_wait_for_the_server(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (mcp_server, connection):
        monkeypatch.setattr(module, "CLOSE_SECONDS", 3600)
    entering = asyncio.Event()

    async def enter() -> None:
        entering.set()
        await never()

    server, made = make(enter=enter)
    opening = asyncio.create_task(server.open())
    await entering.wait()
    await asyncio.wait_for(server.close(), 5)
    with pytest.raises(ConnectFailed, match="closed"):
        await opening
    assert made[0].entered_in.done()


async def test_a_connection_that_does_not_close_is_cancelled(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn(StandIn):
        async def __aexit__(self, *_: object) -> None:
            await never()

    for module in (mcp_server, connection):
        monkeypatch.setattr(module, "CLOSE_SECONDS", 0.2)
    made: list[StandIn] = []
    server = Server(Source("s", lambda _: Stubborn(made)), None, 5.0, EventLog())  # type: ignore[arg-type, return-value]
    await server.open()
    await server.close()
    assert made[0].entered_in.done()


@pytest.mark.parametrize(
    ("code", "message", "lost"),
    [
        (-32000, "Connection closed", True),
        (-32000, "Connection closed: the connection broke", True),
        (-32000, "SSE stream ended without a response", True),
        (-32000, "SSE stream ended and reconnection attempts were exhausted", True),
        (-32000, "SSE stream failed: it broke", True),
        (-32600, "Session terminated", True),
        (-32600, "Session not found", True),
        (-32001, "Session not found", True),
        (-32603, "Server returned an error response", True),
        (-32000, "Tool 'x' execution timed out after 1s", False),
        (-32602, "Invalid params: session must be a number", False),
        (-32000, "", False),
        # What a tool says of its own sessions and connections.
        (-32000, "Your session at the bank has expired", False),
        (-32603, "Session terminated", False),
        (-32600, "Session terminated by the bank", False),
        (-32000, "The database said: connection closed", False),
        (-32000, "Connection closed by the bank", False),
        (-32000, "Failed to parse JSON response: of the bank", False),
    ],
)
async def test_a_protocol_error_ends_a_connection_only_if_it_is_what_the_sdk_says(
    make: Make, code: int, message: str, lost: bool
) -> None:
    from mcp import MCPError

    async def refuses() -> None:
        raise MCPError(code=code, message=message)

    server, made = make(tools={"refuses": refuses})
    codes = []
    for _ in range(2):
        with pytest.raises(CallFailed) as caught:
            await server.execute_tool_call("refuses", {})
        codes.append(caught.value.error.code)
        assert caught.value.error.message
        assert caught.value.transport is lost
    answered = "VALIDATION_FAIL" if code == -32602 else "TOOL_ERROR"  # XMCP-MCP-041
    assert codes == ["CONNECTION_FAILED" if lost else answered] * 2
    assert len(made) == (2 if lost else 1)


async def test_a_listing_that_meets_a_broken_connection_is_made_on_a_new_one(make: Make) -> None:
    async def lists(client: StandIn) -> list[str]:
        if client is made[0] and client.listed > 1:
            raise OSError("broken")
        return ["a", "b"] if client is not made[0] else ["a"]

    server, made = make(lists=lists)
    assert await server.open() == ["a"]
    assert await server.discover_tools() == ["a", "b"]
    await made[0].entered_in
    assert made[0].left
    assert [client.listed for client in made] == [2, 1]


async def test_a_listing_that_is_refused_or_takes_too_long_costs_no_connection(make: Make) -> None:
    from mcp import MCPError

    async def lists(client: StandIn) -> list[str]:
        if client.listed == 2:
            raise MCPError(code=-32603, message="not now")
        if client.listed == 3:
            await never()
        return ["a"]

    server, made = make(lists=lists)
    server._connect_timeout = 0.2
    await server.open()
    with pytest.raises(ConnectFailed, match="not now"):
        await server.discover_tools()
    with pytest.raises(ConnectFailed, match=r"within 0\.2 s"):
        await server.discover_tools()
    assert await server.discover_tools() == ["a"]
    assert (len(made), server.connected) == (1, True)


async def test_no_tools_are_what_a_server_has_that_offers_none_and_not_one_that_lost_its_way(make: Make) -> None:
    from mcp import MCPError

    async def lists(_: StandIn) -> list[str]:
        raise MCPError(code=-32601, message="Not Found")

    server, _ = make(lists=lists)
    with pytest.raises(ConnectFailed, match="Not Found"):
        await server.open()
    server, _ = make(lists=lists, offers_no_tools=True)
    assert await server.open() == []


async def test_who_watches_is_told_of_connections_and_losses_in_order(make: Make) -> None:
    told: list[Any] = []
    server, _ = make(tools={"breaks": breaks})
    server._observer = SimpleNamespace(connected=told.append, lost=told.append)
    await server.open()
    for _ in range(2):
        with pytest.raises(CallFailed):
            await server.execute_tool_call("breaks", {})
    assert told == [[], "pipe to http://host/mcp broke", [], "pipe to http://host/mcp broke"]
