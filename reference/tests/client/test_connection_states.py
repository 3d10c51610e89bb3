"""The tables of a connection's states: no dead end, every state can be closed, no event is unexpected."""

from __future__ import annotations

import asyncio
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clock import run

from xmcp.chat.errors import CallFailed
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.connection_states import (
    CONNECTION_TABLE,
    SERVER_TABLE,
    ConnectionAction,
    ConnectionEvent,
    ConnectionState,
    ServerAction,
    ServerEvent,
    ServerState,
    UnexpectedEvent,
    step,
)
from xmcp.client.servers.errors import ConnectFailed
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.targets import Source

TABLES: Any = pytest.mark.parametrize(
    ("table", "first", "last", "closing"),
    [
        (SERVER_TABLE, ServerState.DISCONNECTED, ServerState.CLOSED, [ServerEvent.CLOSE]),
        (
            CONNECTION_TABLE,
            ConnectionState.STARTING,
            ConnectionState.ENDED,
            [ConnectionEvent.CLOSE, ConnectionEvent.ENDED],
        ),
    ],
)


def reachable(table: Any, start: Enum) -> set[Enum]:
    found, queue = {start}, [start]
    for state in queue:
        for (before, _), (after, _) in table.items():
            if before is state and after not in found:
                found.add(after)
                queue.append(after)
    return found


@TABLES
def test_every_state_can_be_reached_and_has_a_way_to_the_last(
    table: Any, first: Enum, last: Enum, closing: Any
) -> None:
    assert reachable(table, first) == set(type(first))
    for state in type(first):
        assert last in reachable(table, state)


@TABLES
def test_closing_ends_in_the_last_state_from_every_state_and_nothing_leaves_that(
    table: Any, first: Enum, last: Enum, closing: Any
) -> None:
    for state in type(first):
        for event in closing:
            state, _ = step(table, state, event)
        assert state is last
    assert reachable(table, last) == {last}


@TABLES
def test_every_event_and_state_has_a_row(table: Any, first: Enum, last: Enum, closing: Any) -> None:
    assert {state for state, _ in table} == set(type(first))
    assert {event for _, event in table} == set(type(closing[0]))


def test_the_events_without_a_row_are_those_that_cannot_happen() -> None:
    server = {(state, event) for state in ServerState for event in ServerEvent} - SERVER_TABLE.keys()
    ends = {ServerEvent.OPENED, ServerEvent.FAILED, ServerEvent.CANCELLED}
    assert server == {
        *((state, end) for state in (ServerState.DISCONNECTED, ServerState.CONNECTED) for end in ends),
        *((state, ServerEvent.LOST) for state in ServerState if state is not ServerState.CONNECTED),
    }
    connection = {(state, event) for state in ConnectionState for event in ConnectionEvent} - CONNECTION_TABLE.keys()
    assert connection == {
        (state, ConnectionEvent.STARTED)
        for state in (ConnectionState.READY, ConnectionState.DRAINING, ConnectionState.ENDED)
    }


def test_an_event_without_a_row_is_an_error_that_names_both() -> None:
    with pytest.raises(UnexpectedEvent, match=r"ServerEvent\.LOST in the state ServerState\.CLOSED"):
        step(SERVER_TABLE, ServerState.CLOSED, ServerEvent.LOST)


def test_a_link_is_asked_to_leave_on_every_way_out_of_its_use() -> None:
    for (state, event), (after, actions) in CONNECTION_TABLE.items():
        if after is ConnectionState.LEAVING and state is not ConnectionState.LEAVING:
            assert ConnectionAction.LEAVE in actions, (state, event)


def test_what_is_opened_is_adopted_or_closed() -> None:
    for state in ServerState:
        if (row := SERVER_TABLE.get((state, ServerEvent.OPENED))) is not None:
            assert {ServerAction.ADOPT, ServerAction.CLOSE_CONNECTIONS} & set(row[1])


class StandIn:
    """A `fastmcp.Client` whose start takes and does what `how` says."""

    def __init__(self, how: str, running: set[Any]) -> None:
        self._how, self._running = how, running
        self.session = SimpleNamespace()
        self.server_info = self.server_capabilities = self.transport = None
        self._session_kwargs: dict[str, Any] = {}
        self.protocol_version = "2025-11-25"

    async def __aenter__(self) -> StandIn:
        await asyncio.sleep({"slow": 3.0, "hangs": 3600.0}.get(self._how, 0.0))
        if self._how == "refuses":
            raise OSError("refused")
        self._running.add(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running.discard(self)
        await asyncio.sleep(0)

    async def list_tools_mcp(self, **_: Any) -> Any:
        return SimpleNamespace(tools=[], next_cursor=None)

    async def call_tool_mcp(self, tool: str, arguments: dict[str, Any]) -> Any:
        await asyncio.sleep(arguments["seconds"])
        if tool == "breaks":
            raise OSError("broken")
        return "ok"


STARTS = st.sampled_from(["fine"] * 4 + ["slow", "hangs", "refuses"])
ACTS = st.tuples(
    st.sampled_from(["call", "call", "breaks", "breaks", "list", "cancelled call", "close"]),
    st.sampled_from([0.0, 1.0, 4.0, 30.0]),
    st.sampled_from([0.0, 0.0, 1.0, 5.0]),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(STARTS, max_size=6), st.lists(ACTS, max_size=12))
def test_whatever_callers_and_servers_do_no_event_is_unexpected_and_nothing_is_left(
    starts: list[str], acts: list[tuple[str, float, float]]
) -> None:
    async def main() -> None:
        running: set[Any] = set()
        left = iter(starts)
        source = Source("s", lambda _: StandIn(next(left, "fine"), running))  # type: ignore[arg-type, return-value]
        server = Server(source, None, 5.0, EventLog())
        tasks: list[asyncio.Task[Any]] = []
        for act, seconds, pause in acts:
            if act == "close":
                tasks.append(asyncio.create_task(server.close()))
            elif act == "list":
                tasks.append(asyncio.create_task(server.discover_tools()))
            else:
                tool = "breaks" if act == "breaks" else "works"
                tasks.append(asyncio.create_task(server.execute_tool_call(tool, {"seconds": seconds})))
            if act == "cancelled call":
                asyncio.get_running_loop().call_later(seconds, tasks[-1].cancel)
            await asyncio.sleep(pause)
            assert server.connected is (server._connection is not None)
        await server.close()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ended:
            if isinstance(end, BaseException):
                assert isinstance(end, CallFailed | ConnectFailed | asyncio.CancelledError), repr(end)
        assert (running, server._connections, server.connected) == (set(), set(), False)
        assert server._state is ServerState.CLOSED

    run(main())
