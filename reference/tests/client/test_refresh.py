"""All servers of a client over time: late ones, lost ones, changed ones, and the resulting catalogue."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import fastmcp
import mcp_types as mt
import pytest
from mcp import MCPError
from support.clock import Sleeps, never, run, scaled
from support.http_host import HttpHost, listening, never_answer
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer, in_turn

from xmcp import XMCP, AIClient
from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed
from xmcp.client.calls.attempt import says_that_the_tool_is_missing
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import connection
from xmcp.client.servers.backoff import reconnect_delays
from xmcp.client.servers.pool import QUIET_SECONDS, Servers, ServersUnavailable, ToolChanges
from xmcp.client.servers.pool_member import RELIST_SECONDS
from xmcp.client.servers.targets import ServerTarget
from xmcp.dependency_graph import DependencyError
from xmcp.wire import ErrorInfo
from xmcp_models.registry import TOOL_META_KEY

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
BOUND = 60.0
"""Seconds after which a test that waits for an event has failed."""


class Place(HttpHost):
    """An HTTP port where a server can come and go."""

    async def up(self, server: Any) -> None:
        await self.serve(server.http_app(stateless_http=False))

    down = HttpHost.stop


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    made = Place()
    yield made
    await made.close()


@dataclass
class Happened:
    """A logger that keeps events, and lets a test wait for one."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def _note(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields))
        self._more.set()

    debug = info = warning = exception = _note

    def of(self, event: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.events if name == event]

    async def until(self, event: str, count: int = 1) -> dict[str, Any]:
        """The fields of the `count`th such event, once it has happened."""
        async with asyncio.timeout(BOUND):
            while len(self.of(event)) < count:
                self._more.clear()
                await self._more.wait()
        return self.of(event)[count - 1]


@asynccontextmanager
async def opened(*targets: Any, log: Happened | None = None, **options: Any) -> AsyncIterator[Servers]:
    """Servers of these targets, open; afterwards no task of theirs is left."""
    before = asyncio.all_tasks()
    pairs = [target if isinstance(target, tuple) else (None, target) for target in targets]
    servers = Servers(pairs, **{"connect_timeout": BOUND, "log": EventLog(log), "sleep": scaled, **options})
    try:
        await servers.open()
        yield servers
    finally:
        await asyncio.wait_for(servers.close(), BOUND)
    assert not [task for task in asyncio.all_tasks() - before if task.get_name().startswith("xmcp")]


def server(*names: str, title: str = "srv", make: Any = XMCP, **metadata: Any) -> Any:
    """An XMCP server whose tools are called so and answer with their name."""
    mcp = make(title)
    for name in names:
        add(mcp, name, **metadata)
    return mcp


def add(mcp: Any, tool: str, **metadata: Any) -> None:
    def answer() -> str:
        return f"I am {tool}"

    mcp.tool(answer, name=tool, description=f"Says that it is {tool}.", **metadata)


def names(servers: Servers) -> list[str]:
    return [*servers.catalogue.entries]


async def call(servers: Servers, name: str, **arguments: Any) -> str:
    entry = servers.catalogue.entries[name]
    result = await entry.server.execute_tool_call(entry.tool, arguments)
    (text,) = result.content
    assert isinstance(text, mt.TextContent)
    return text.text


# ---- servers that come, go and come back ----


@MODES
async def test_a_server_that_is_down_at_the_start_is_picked_up_without_a_call(place: Place, mode: str) -> None:
    log = Happened()
    async with opened(server("here"), ServerTarget(target=place.url, mode=mode), log=log) as servers:
        assert names(servers) == ["here"]
        assert place.url in servers.catalogue.warnings[0]
        assert [status.connected for status in servers.status()] == [True, False]
        assert servers.status()[1].error
        await place.up(server("late"))
        assert (await log.until("tools_changed"))["added"] == ["late"]
        assert names(servers) == ["here", "late"]
        assert servers.catalogue.version == 2
        assert servers.catalogue.warnings == ()
        assert "I am late" in await call(servers, "late")


@MODES
async def test_a_server_that_restarts_with_other_tools_is_found_with_them(place: Place, mode: str) -> None:
    await place.up(server("stays", "goes", make=fastmcp.FastMCP))
    log = Happened()
    async with opened(ServerTarget(target=place.url, mode=mode), log=log, sleep=never) as servers:
        first = servers.catalogue
        await place.down()
        await place.up(server("stays", "comes", make=fastmcp.FastMCP))
        changes = await servers.refresh()
        assert changes == ToolChanges(("comes",), ("goes",), (), 2)
        assert names(servers) == ["stays", "comes"]
        assert [*first.entries] == ["stays", "goes"]
        assert log.of("tools_changed")[0]["removed"] == ["goes"]


@MODES
async def test_a_lost_server_comes_back_with_its_tools_and_no_call_waits_for_the_next_attempt(
    place: Place, mode: str
) -> None:
    """The timer stands still here: the call connects by itself."""
    await place.up(server("one"))
    log = Happened()
    async with opened(ServerTarget(target=place.url, mode=mode), log=log, sleep=never) as servers:
        await place.down()
        with pytest.raises(CallFailed) as caught:
            await call(servers, "one")
        assert (caught.value.error.code, caught.value.transport) == ("CONNECTION_FAILED", True)
        await log.until("server_lost")
        await place.up(server("one", "two"))
        assert "I am one" in await call(servers, "one")
        assert names(servers) == ["one", "two"]
        assert servers.status()[0].error is None


@pytest.mark.slow
async def test_a_program_that_ended_is_started_again_without_a_call(stdio: Any) -> None:
    log = Happened()
    async with opened(stdio("plain"), log=log) as servers:
        before = await call(servers, "pid")
        version = servers.catalogue.version
        with pytest.raises(CallFailed):
            await call(servers, "die")
        await log.until("server_connected", 2)
        assert await call(servers, "pid") != before
        assert servers.catalogue.version == version


@pytest.mark.slow
async def test_a_program_that_ends_while_nothing_is_asked_of_it_is_started_again() -> None:
    """The stream of changes notices; the connection that broke is left although nobody used it."""
    script = (
        "import os, xmcp\n"
        "mcp = xmcp.XMCP('mortal')\n"
        "@mcp.tool\n"
        "def pid() -> int:\n"
        "    return os.getpid()\n"
        "mcp.run(transport='stdio', show_banner=False)\n"
    )
    log = Happened()
    async with opened([sys.executable, "-c", script], log=log, connect_timeout=30.0) as servers:
        pid = int(re.findall(r"\d+(?=<)", await call(servers, "pid"))[0])
        os.kill(pid, signal.SIGKILL)
        await log.until("server_connected", 2)
        assert str(pid) not in await call(servers, "pid")
        kept: Any = servers._members[0].server
        async with asyncio.timeout(BOUND):
            while len(kept._connections) > 1:
                await asyncio.wait([next(iter(kept._connections - {kept._connection})).task])


async def test_after_it_was_there_a_server_is_tried_again_as_soon_as_at_first() -> None:
    sleeps, log = Sleeps(until=6), Happened()
    stub = ScriptedServer({}, listing=in_turn(*[ConnectionError("not yet")] * 5, [{"name": "there"}]))
    async with opened(stub, sleep=sleeps, log=log) as servers:
        await log.until("tools_changed")
        await asyncio.sleep(0)
        servers._members[0].lost("gone again")
        await asyncio.wait_for(sleeps.reached.wait(), BOUND)
    assert sleeps.seconds[4] > 8
    assert sleeps.seconds[5] < 2


async def test_waits_between_attempts_double_up_to_forty_seconds_with_jitter() -> None:
    series = [delay for _, delay in zip(range(9), reconnect_delays(), strict=False)]
    for delay, plain in zip(series, [1, 2, 4, 8, 16, 32, 40, 40, 40], strict=True):
        assert 0.75 * plain <= delay <= 1.25 * plain
    assert len({round(next(reconnect_delays()), 6) for _ in range(9)}) > 1


async def test_a_server_that_stays_away_is_tried_at_growing_intervals(place: Place) -> None:
    sleeps = Sleeps(until=5)
    async with opened(place.url, sleep=sleeps):
        await asyncio.wait_for(sleeps.reached.wait(), BOUND)
    for delay, plain in zip(sleeps.seconds, [1, 2, 4, 8, 16], strict=True):
        assert 0.75 * plain <= delay <= 1.25 * plain


# ---- tools that change while a server runs ----


@MODES
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_a_tool_added_or_removed_at_run_time_is_offered_or_not_without_a_call(
    place: Place, transport: str, mode: str
) -> None:
    mcp = server("first")
    if transport == "http":
        await place.up(mcp)
    told: list[ToolChanges] = []
    log = Happened()
    target = ServerTarget(target=place.url if transport == "http" else mcp, mode=mode)
    async with opened(target, log=log, on_change=told.append) as servers:
        first = servers.catalogue
        await settled_stream(mode, transport)
        add(mcp, "second")
        await log.until("tools_changed")
        assert names(servers) == ["first", "second"]
        mcp.remove_tool("first")
        await log.until("tools_changed", 2)
        assert names(servers) == ["second"]
        assert told == [ToolChanges(("second",), (), (), 2), ToolChanges((), ("first",), (), 1)]
        assert [*first.entries] == ["first"]


async def settled_stream(mode: str, transport: str) -> None:
    """The stream of the handshake eras over HTTP is opened behind the client's back: give it the time for that."""
    if (mode, transport) == ("legacy", "http"):
        await asyncio.sleep(0.3)


@MODES
async def test_a_tool_added_at_run_time_by_a_program_is_offered(peers: Any, mode: str) -> None:
    """Over stdio; the server is plain FastMCP, so the word comes with the call that adds the tool."""
    script = (
        "import fastmcp, mcp_types as mt\n"
        "mcp = fastmcp.FastMCP('grower')\n"
        "@mcp.tool\n"
        "async def grow(ctx: fastmcp.Context) -> str:\n"
        "    mcp.tool(lambda: 'fruit', name='pick')\n"
        "    await ctx.send_notification(mt.ToolListChangedNotification())\n"
        "    return 'grown'\n"
        "mcp.run(transport='stdio', show_banner=False)\n"
    )
    log = Happened()
    target = ServerTarget(target=[sys.executable, "-c", script], mode=mode)
    async with opened(target, log=log) as servers:
        assert await call(servers, "grow") == "grown"
        assert (await log.until("tools_changed"))["added"] == ["pick"]


async def test_a_burst_of_changes_is_one_refresh() -> None:
    listed = 0

    class Counting(fastmcp.server.middleware.Middleware):
        async def on_list_tools(self, context: Any, call_next: Any) -> Any:
            nonlocal listed
            listed += 1
            return await call_next(context)

    mcp = server("first")
    mcp.add_middleware(Counting())
    log = Happened()
    async with opened(mcp, log=log, sleep=asyncio.sleep) as servers:
        member = servers._members[0]
        before = listed
        for n in range(50):
            add(mcp, f"tool_{n}")
            member.tools_changed()
        await log.until("tools_changed")
        assert len(names(servers)) == 51
        assert listed - before == 1


async def test_a_single_change_is_asked_for_after_one_short_wait() -> None:
    sleeps = Sleeps()
    mcp = server("first", make=fastmcp.FastMCP)
    asked = asyncio.Event()
    async with opened(mcp, on_change=lambda _: asked.set(), sleep=sleeps) as servers:
        add(mcp, "second")
        servers._members[0].tools_changed()
        await asyncio.wait_for(asked.wait(), BOUND)
    assert sleeps.seconds == [QUIET_SECONDS]


async def test_an_answer_that_was_overtaken_by_a_later_one_is_not_taken() -> None:
    """The slow listing began first: its list, or its failure, says nothing of how things are now."""
    asked: asyncio.Queue[asyncio.Future[list[str]]] = asyncio.Queue()

    async def listed(_: None) -> list[Any]:
        answer: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        asked.put_nowait(answer)
        return [{"name": name} for name in await answer]

    servers = Servers([(None, ScriptedServer({}, listing=listed))], connect_timeout=BOUND, log=EventLog(), sleep=never)
    opening = asyncio.create_task(servers.open())
    (await asked.get()).set_result([])
    await opening
    for late in (["old"], ConnectionError("old")):
        slow = asyncio.create_task(servers.refresh())
        first = await asked.get()
        quick = asyncio.create_task(servers.refresh())
        (await asked.get()).set_result(["new"])
        await quick
        if isinstance(late, list):
            first.set_result(late)
        else:
            first.set_exception(late)
        await slow
        assert names(servers) == ["new"]
        assert servers.catalogue.warnings == ()
    await servers.close()


async def test_changes_that_do_not_stop_are_taken_in_all_the_same() -> None:
    slept = 0
    asked = asyncio.Event()

    async def restless(seconds: float) -> None:
        nonlocal slept
        assert seconds == QUIET_SECONDS
        slept += 1
        servers._members[0].tools_changed()
        await asyncio.sleep(0)

    mcp = server("first", make=fastmcp.FastMCP)
    async with opened(mcp, on_change=lambda _: asked.set(), sleep=restless) as servers:
        add(mcp, "second")
        servers._members[0].tools_changed()
        await asyncio.wait_for(asked.wait(), BOUND)


async def test_a_server_that_offers_no_word_of_changes_costs_no_stream() -> None:
    async with opened(server("a", make=fastmcp.FastMCP)):
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("xmcp listen")]
    async with opened(server("a")):
        assert len([task for task in asyncio.all_tasks() if task.get_name().startswith("xmcp listen")]) == 1


async def test_a_server_that_never_confirms_that_it_will_tell_of_changes_delays_connecting_a_little_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "LISTEN_SECONDS", 0.1)
    mcp = server("first")

    async def never(_context: Any, _params: Any) -> None:
        await asyncio.Event().wait()

    mcp._mcp_server.add_request_handler("subscriptions/listen", mt.SubscriptionsListenRequestParams, never)
    async with opened(mcp) as servers:
        assert names(servers) == ["first"]


async def test_a_server_that_refuses_to_tell_of_changes_is_asked_once() -> None:
    mcp = server("first")
    asked = 0

    async def refuses(_context: Any, _params: Any) -> None:
        nonlocal asked
        asked += 1
        raise MCPError(code=mt.METHOD_NOT_FOUND, message="Method not found")

    mcp._mcp_server.add_request_handler("subscriptions/listen", mt.SubscriptionsListenRequestParams, refuses)
    async with opened(mcp) as servers:
        assert await call(servers, "first")
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("xmcp listen")]
    assert asked == 1


async def test_a_stream_of_changes_that_ends_is_opened_again_and_nothing_in_between_is_missed() -> None:
    mcp = server("first")
    log = Happened()
    waiting, go = asyncio.Event(), asyncio.Event()

    async def gated(seconds: float) -> None:
        if seconds >= 0.7:
            waiting.set()
            await go.wait()
        await asyncio.sleep(0)

    async with opened(mcp, log=log, sleep=gated) as servers:
        mcp.end_subscriptions()
        await asyncio.wait_for(waiting.wait(), BOUND)
        add(mcp, "second")
        await asyncio.sleep(0.2)  # the server has told whoever listens, which is nobody
        assert names(servers) == ["first"]
        go.set()
        assert (await log.until("tools_changed"))["added"] == ["second"]
        assert not log.of("server_lost")


# ---- refreshing ----


async def test_a_refresh_tells_what_came_went_and_changed_by_the_names_the_model_sees() -> None:
    mcp: fastmcp.FastMCP[Any] = server("same", "goes", "changes", make=fastmcp.FastMCP)
    async with opened(("crm", mcp)) as servers:
        mcp.local_provider.remove_tool("goes")
        mcp.local_provider.remove_tool("changes")

        @mcp.tool
        def changes(other: int) -> int:
            return other

        add(mcp, "comes")
        told = await servers.refresh()
        assert told == ToolChanges(("crm__comes",), ("crm__goes",), ("crm__changes",), 3)
        assert dict(told) == {
            "added": ("crm__comes",),
            "removed": ("crm__goes",),
            "changed": ("crm__changes",),
            "total": 3,
        }
        assert told["added"] == ("crm__comes",)
        assert told.to_dict() == {
            "added": ["crm__comes"],
            "removed": ["crm__goes"],
            "changed": ["crm__changes"],
            "total": 3,
        }
        json.dumps([status.to_dict() for status in servers.status()])
        with pytest.raises(KeyError):
            told["between"]


async def test_a_refresh_that_finds_nothing_new_leaves_the_very_same_catalogue() -> None:
    async with opened(server("a", "b"), server("a")) as servers:
        before = servers.catalogue
        assert await servers.refresh() == ToolChanges(total=3)
        assert servers.catalogue is before


@pytest.mark.parametrize("seconds", [5, Decimal(5)])
async def test_servers_are_refreshed_every_so_often_if_that_is_asked_for(seconds: Any) -> None:
    mcp = server("first", make=fastmcp.FastMCP)
    log = Happened()
    async with opened(mcp, log=log, refresh_interval=seconds) as servers:
        add(mcp, "second")
        await log.until("tools_changed")
        add(mcp, "third")
        await log.until("tools_changed", 2)
        assert names(servers) == ["first", "second", "third"]


class Silent(fastmcp.server.middleware.Middleware):
    """Answers the first listings, then no more."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.asked = asyncio.Event()

    async def on_list_tools(self, context: Any, call_next: Any) -> Any:
        if self.answers == 0:
            self.asked.set()
            await asyncio.Event().wait()
        self.answers -= 1
        return await call_next(context)


async def test_a_server_that_never_answers_a_refresh_keeps_its_tools_and_costs_no_more_than_the_timeout() -> None:
    mute, other = server("kept", make=fastmcp.FastMCP), server("first", make=fastmcp.FastMCP)
    mute.add_middleware(Silent(1))
    async with opened(("mute", mute), other, connect_timeout=2.0, sleep=never) as servers:
        before = servers.catalogue
        add(other, "second")
        begun = asyncio.get_running_loop().time()
        changes = await servers.refresh()
        assert asyncio.get_running_loop().time() - begun < 3.5
        assert changes.added == ("second",)
        assert names(servers) == ["mute__kept", "first", "second"]
        (warning,) = servers.catalogue.warnings
        assert "mute" in warning
        assert "within 2 s" in warning
        assert before.warnings == ()
        assert "I am kept" in await call(servers, "mute__kept")


async def test_a_server_that_failed_a_refresh_is_asked_again_by_itself() -> None:
    answers = in_turn([{"name": "a"}], ConnectionError("not now"), [{"name": "a"}, {"name": "b"}])
    log = Happened()
    async with opened(ScriptedServer({}, listing=answers), log=log) as servers:
        await asyncio.sleep(0)
        assert await servers.refresh() == ToolChanges(total=1)
        assert servers.catalogue.warnings
        await log.until("tools_changed")
        assert names(servers) == ["a", "b"]
        assert servers.catalogue.warnings == ()


async def test_a_warning_alone_makes_no_new_version_and_shares_the_serialised_tools() -> None:
    mute = server("kept", make=fastmcp.FastMCP)
    mute.add_middleware(Silent(1))
    async with opened(mute, connect_timeout=5.0, sleep=never) as servers:
        before = servers.catalogue
        await servers.refresh()
        assert servers.catalogue.warnings
        assert servers.catalogue.version == before.version
        assert servers.catalogue.schemas is before.schemas


@MODES
async def test_a_call_that_is_under_way_survives_refreshes_and_the_end_of_its_tool(place: Place, mode: str) -> None:
    mcp: XMCP = server("other")
    started, go = asyncio.Event(), asyncio.Event()

    @mcp.tool
    async def slow() -> str:
        started.set()
        await go.wait()
        return "done in peace"

    await place.up(mcp)
    async with opened(ServerTarget(target=place.url, mode=mode)) as servers:
        under_way = asyncio.create_task(call(servers, "slow"))
        await asyncio.wait_for(started.wait(), BOUND)
        mcp.remove_tool("slow")
        await servers.refresh()
        await servers.refresh()
        assert names(servers) == ["other"]
        go.set()
        assert "done in peace" in await asyncio.wait_for(under_way, BOUND)


@MODES
async def test_a_call_that_is_under_way_survives_that_the_server_takes_no_new_connections(
    place: Place, mode: str
) -> None:
    """As it is with a server that drains before it stops: one request that fails must not take the others along."""
    mcp: fastmcp.FastMCP[Any] = server("other", make=fastmcp.FastMCP)
    started, go = asyncio.Event(), asyncio.Event()

    @mcp.tool
    async def slow() -> str:
        started.set()
        await go.wait()
        return "done in peace"

    await place.up(mcp)
    async with opened(ServerTarget(target=place.url, mode=mode), sleep=never) as servers:
        under_way = asyncio.create_task(call(servers, "slow"))
        await asyncio.wait_for(started.wait(), BOUND)
        place.refuse()
        # The connection that is free may serve one more request.
        ends = await asyncio.gather(*(call(servers, "other") for _ in range(6)), return_exceptions=True)
        failed = [end for end in ends if isinstance(end, CallFailed)]
        assert len(failed) >= 5
        assert failed[-1].error.meta == {"side_effects": "none"}
        await servers.refresh()
        assert servers.catalogue.warnings
        go.set()
        assert "done in peace" in await asyncio.wait_for(under_way, BOUND)


# ---- plain servers, which announce nothing ----


@pytest.mark.parametrize("stateless", [True, False])
@MODES
async def test_a_plain_server_that_was_redeployed_is_noticed_when_it_does_not_know_a_tool(
    place: Place, mode: str, stateless: bool
) -> None:
    await place.serve(server("stays", "goes", make=fastmcp.FastMCP).http_app(stateless_http=stateless))
    log, model = Happened(), ScriptedModel(asks("goes"), "Sorry.")
    target = ServerTarget(target=place.url, mode=mode)
    async with AIClient([target], llm_provider=model, refresh_interval=0, logger=log) as ai:
        await place.down()
        await place.serve(server("stays", "comes", make=fastmcp.FastMCP).http_app(stateless_http=stateless))
        await ai.chat("Go!", [])
        changes = await log.until("tools_changed")
        assert (changes["added"], changes["removed"]) == (["comes"], ["goes"])
        assert [tool["function"]["name"] for tool in ai.tools] == ["stays", "comes"]


@pytest.mark.parametrize("answer", [ErrorInfo("UNKNOWN_TOOL", "There is no such tool."), "protocol error"])
async def test_a_tool_client_that_does_not_know_a_tool_any_more_is_listed_again(answer: Any) -> None:
    log = Happened()
    if answer == "protocol error":
        answer = CallFailed(client_made_errors.refused_by_server("Unknown tool: goes"))
    stub = ScriptedServer({"goes": answer}, listing=in_turn([{"name": "goes"}], [{"name": "comes"}]))
    model = ScriptedModel(asks("goes"), "Sorry.")
    async with AIClient([stub], llm_provider=model, refresh_interval=0, logger=log) as ai:
        await ai.chat("Go!", [])
        assert (await log.until("tools_changed"))["added"] == ["comes"]


def test_answers_that_a_tool_is_unknown_cost_one_listing_in_some_seconds() -> None:
    listed: list[float] = []

    def listing(_: None) -> Any:
        listed.append(asyncio.get_running_loop().time())
        return [{"name": "gone"}]

    async def ask_for_a_minute() -> None:
        error = ErrorInfo("UNKNOWN_TOOL", "There is no such tool.")
        stub, model = ScriptedServer({"gone": error}, listing=listing), ScriptedModel(then=lambda _: asks("gone"))
        async with AIClient([stub], llm_provider=model, max_turns=1, refresh_interval=0) as ai:
            while asyncio.get_running_loop().time() < 60:
                await ai.chat("Go!", [])
                await asyncio.sleep(0.01)

    run(ask_for_a_minute())
    assert 60 / RELIST_SECONDS - 1 <= len(listed) <= 60 / RELIST_SECONDS + 1
    assert listed[1] < 0.2


def test_a_server_that_announces_nothing_is_listed_every_thirty_seconds() -> None:
    async def half_a_minute() -> list[str]:
        stub = ScriptedServer({}, listing=in_turn([{"name": "old"}], [{"name": "new"}]))
        async with AIClient([stub], llm_provider=ScriptedModel()) as ai:
            await asyncio.sleep(29)
            assert [tool["function"]["name"] for tool in ai.tools] == ["old"]
            await asyncio.sleep(2)
            return [tool["function"]["name"] for tool in ai.tools]

    assert run(half_a_minute()) == ["new"]


def test_a_lost_server_is_not_tried_more_often_because_servers_are_listed_regularly() -> None:
    tried: list[float] = []

    def listing(_: None) -> Any:
        tried.append(asyncio.get_running_loop().time())
        return ConnectionError("gone")

    async def an_hour() -> None:
        async with AIClient([ScriptedServer({}, listing=listing)], llm_provider=ScriptedModel(), refresh_interval=5):
            await asyncio.sleep(3600)

    run(an_hour())
    assert len(tried) < 130


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Unknown tool: 'gone'", True),
        ('unknown tool "gone"', True),
        ("MCP error -32602: Tool gone not found", True),
        ("Tool not found: gone", True),
        ("No such tool: gone", True),
        ("The tool 'gone' does not exist.", True),
        ("The order was not found.", False),
        ("Unknown toolbox", False),
        ("x" * 1000 + "Unknown tool: gone", False),
        ("", False),
    ],
)
def test_the_words_of_a_plain_server_for_a_tool_it_does_not_have_are_known(text: str, missing: bool) -> None:
    assert says_that_the_tool_is_missing(ErrorInfo("TOOL_ERROR", text)) is missing
    assert says_that_the_tool_is_missing(ErrorInfo("GONE", text)) is False


# ---- dependencies ----


def depending(**depends_on: list[str]) -> Any:
    """A server that says so of its tools; plain, since XMCP would refuse a circle itself."""
    mcp = fastmcp.FastMCP("srv")
    for name, before in depends_on.items():
        add(mcp, name, meta={TOOL_META_KEY: {"depends_on": before}})
    return mcp


async def test_tools_that_depend_on_each_other_in_a_circle_are_an_error_at_the_start() -> None:
    before = asyncio.all_tasks()
    servers = Servers([("shop", depending(a=["b"], b=["a"], c=[]))], connect_timeout=5, log=EventLog())
    with pytest.raises(DependencyError, match=r"shop .*: (a -> b -> a|b -> a -> b)\."):
        await servers.open()
    assert not [task for task in asyncio.all_tasks() - before if task.get_name().startswith("xmcp")]


@pytest.mark.parametrize("other", ["up", "down"])
async def test_a_server_with_a_circle_is_left_out_with_a_warning_until_it_is_mended_and_the_others_stay(
    other: str,
) -> None:
    mcp = depending(a=["b"], b=["a"])
    target: Any = server("fine") if other == "up" else "http://127.0.0.1:1/mcp"
    async with opened(("shop", mcp), target) as servers:
        assert names(servers) == (["fine"] if other == "up" else [])
        assert any("shop" in told and "circle" in told for told in servers.catalogue.warnings)
        assert "circle" in (servers.status()[0].error or "")
        mcp.local_provider.remove_tool("b")
        await servers.refresh()
        assert "shop__a" in names(servers) or "a" in names(servers)
        assert not any("circle" in told for told in servers.catalogue.warnings)


async def test_a_tool_that_names_itself_is_in_no_circle() -> None:
    async with opened(depending(a=["a"], b=["a", "b"])) as servers:
        assert names(servers) == ["a", "b"]
        assert not servers.catalogue.warnings


async def test_a_server_with_a_circle_is_an_error_at_the_start_if_all_servers_are_required() -> None:
    servers = Servers(
        [(None, depending(a=["a", "b"], b=["a"])), (None, server("fine"))],
        connect_timeout=5,
        log=EventLog(),
        require=True,
    )
    with pytest.raises(DependencyError, match="circle"):
        await servers.open()


@MODES
@pytest.mark.parametrize(("before", "why"), [({"a": "b", "b": "a"}, "circle.*'a' → 'b' → 'a'"), ({"a": "c"}, "'c'")])
async def test_a_server_of_this_process_that_refuses_its_own_tools_is_an_error_at_the_start(
    mode: str, before: dict[str, str], why: str
) -> None:
    """An XMCP server finds the fault first, and then there is no connection to list the tools on."""
    mcp = XMCP("shop")
    for name, needed in before.items():
        add(mcp, name, annotations={"depends_on": [needed]})
    tasks = asyncio.all_tasks()
    servers = Servers([(None, ServerTarget(target=mcp, mode=mode))], connect_timeout=BOUND, log=EventLog())
    with pytest.raises(DependencyError, match=f"shop does not start: .*{why}"):
        await servers.open()
    assert not [task for task in asyncio.all_tasks() - tasks if task.get_name().startswith("xmcp")]


async def test_a_tool_client_that_refuses_its_own_tools_is_an_error_at_the_start() -> None:
    stub = ScriptedServer({}, listing=DependencyError("a depends on itself"))
    servers = Servers([(None, stub)], connect_timeout=BOUND, log=EventLog())
    with pytest.raises(DependencyError, match="a depends on itself"):
        await servers.open()


async def test_a_circle_that_comes_later_is_refused_and_the_last_good_tools_stay(place: Place) -> None:
    mcp = depending(a=[], b=["a"])
    log = Happened()
    async with opened(mcp, ("late", place.url), log=log) as servers:
        mcp.local_provider.remove_tool("a")
        add(mcp, "a", meta={TOOL_META_KEY: {"depends_on": ["b"]}})
        add(mcp, "c")
        assert await servers.refresh() == ToolChanges(total=2)
        assert "circle" in servers.catalogue.warnings[0]
        assert "circle" in (servers.status()[0].error or "")
        await place.up(depending(x=["y"], y=["x"]))
        await log.until("server_connected", 2)
        assert names(servers) == ["b", "a"] or names(servers) == ["a", "b"]
        assert any("x -> y" in warning for warning in servers.catalogue.warnings)
        mcp.local_provider.remove_tool("a")
        assert (await servers.refresh()).removed == ("a",)
        assert not any("a -> b" in warning for warning in servers.catalogue.warnings)


async def test_a_dependency_that_is_no_tool_of_the_server_is_ignored_with_a_warning() -> None:
    async with opened(depending(a=["b", "elsewhere"], b=[]), server("elsewhere")) as servers:
        assert servers.catalogue.entries["a"].depends_on == ("b",)
        (warning,) = servers.catalogue.warnings
        assert "'elsewhere'" in warning
        assert "'a'" in warning


# ---- the start and the end ----


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("401 Unauthorized", '{"error": "no token"}'),
        ("403 Forbidden", "<html>"),
        ("404 Not Found", "{}"),
        ("502 Bad Gateway", ""),
    ],
)
async def test_a_server_that_refuses_the_connection_is_named_with_its_status(status: str, body: str) -> None:
    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        answer = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        writer.write(answer.encode())
        writer.close()

    async with listening(refuses) as port:
        servers = Servers([("shop", f"http://127.0.0.1:{port}/mcp")], connect_timeout=10, log=EventLog(), require=True)
        with pytest.raises(ServersUnavailable, match=f"HTTP {status}"):
            await servers.open()


async def test_required_servers_that_are_down_are_named_with_the_reason_and_without_credentials() -> None:
    targets = [
        ("gone", "http://user:secret@127.0.0.1:1/mcp?key=secret"),
        ("typo", "no-such-program-anywhere --token=secret"),
        ("fine", server("a")),
    ]
    before = asyncio.all_tasks()
    servers = Servers(targets, connect_timeout=10, log=EventLog(), require=True)
    with pytest.raises(ServersUnavailable) as caught:
        await servers.open()
    text = str(caught.value)
    assert "gone (http://127.0.0.1:1/mcp)" in text
    assert "typo (no-such-program-anywhere)" in text
    assert "fine" not in text
    assert "secret" not in text + repr(caught.value.reasons)
    assert isinstance(caught.value, ConnectionError)
    assert not [task for task in asyncio.all_tasks() - before if task.get_name().startswith("xmcp")]


async def test_names_stay_when_the_first_server_comes_late(place: Place) -> None:
    log = Happened()
    async with opened(place.url, server("find", title="second"), log=log) as servers:
        assert names(servers) == ["find"]
        await place.up(server("find", title="first"))
        await log.until("tools_changed")
        assert names(servers) == ["first__find", "find"]
        assert servers.catalogue.entries["find"].server.name == "second"
        await place.down()
        await servers.refresh()
        await place.up(server("find", "more", title="renamed"))
        await log.until("tools_changed", 2)
        assert names(servers) == ["first__find", "more", "find"]


async def test_closing_while_servers_connect_refresh_and_listen_leaves_nothing_behind() -> None:
    mute = server("kept", make=fastmcp.FastMCP)
    quiet = Silent(1)
    mute.add_middleware(quiet)
    async with listening(never_answer) as port:
        before = asyncio.all_tasks()
        servers = Servers(
            [(None, f"http://127.0.0.1:{port}"), (None, mute), (None, server("live"))],
            connect_timeout=1.0,
            log=EventLog(),
            refresh_interval=3600,
            sleep=scaled,
        )
        await servers.open()
        refreshing = asyncio.create_task(servers.refresh())
        await asyncio.wait_for(quiet.asked.wait(), BOUND)
        await asyncio.wait_for(servers.close(), BOUND)
        await asyncio.wait_for(refreshing, BOUND)
    assert not [task for task in asyncio.all_tasks() - before if task.get_name().startswith("xmcp")]


async def test_an_opening_that_is_cancelled_leaves_nothing_behind() -> None:
    connected = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        await never_answer(reader, writer)

    async with listening(silent) as port:
        before = asyncio.all_tasks()
        servers = Servers([(None, f"http://127.0.0.1:{port}")], connect_timeout=30, log=EventLog())
        opening = asyncio.create_task(servers.open())
        await asyncio.wait_for(connected.wait(), BOUND)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert not [task for task in asyncio.all_tasks() - before if task.get_name().startswith("xmcp")]


async def test_servers_can_be_opened_again_after_they_were_closed_and_keep_their_names() -> None:
    first, second = server("find", title="a"), server("find", title="b")
    servers = Servers([(None, first), (None, second)], connect_timeout=5, log=EventLog())
    for _ in range(2):
        await servers.open()
        assert names(servers) == ["find", "b__find"]
        with pytest.raises(RuntimeError, match="open"):
            await servers.open()
        await servers.close()


async def test_a_listener_that_fails_stops_nothing() -> None:
    mcp = server("first")
    log = Happened()

    def fails(_: ToolChanges) -> None:
        raise ZeroDivisionError

    async with opened(mcp, log=log, on_change=fails) as servers:
        add(mcp, "second")
        await log.until("tools_changed")
        add(mcp, "third")
        await log.until("tools_changed", 2)
        assert len(names(servers)) == 3


async def test_what_the_model_is_offered_is_made_once_a_version_and_ends_with_what_is_extra() -> None:
    made: list[str] = []

    def offer(entry: Any, siblings: Any) -> dict[str, Any]:
        made.append(entry.name)
        return {"type": "function", "function": {"name": entry.name, "description": ",".join(sorted(siblings))}}

    extra: list[Any] = [{"type": "function", "function": {"name": "__think__"}}]
    mcp = server("a", "b", make=fastmcp.FastMCP)
    async with opened(mcp, server("c"), offer=offer, extra=extra) as servers:
        await servers.refresh()
        await servers.refresh()
        assert made == ["a", "b", "c"]
        offered = [tool["function"] for tool in servers.catalogue.schemas.tools]
        assert [tool["name"] for tool in offered] == ["a", "b", "c", "__think__"]
        assert offered[0]["description"] == "a,b"
