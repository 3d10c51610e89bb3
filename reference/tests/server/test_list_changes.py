"""Clients of both eras are notified when the lists change, on every transport that supports it."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import mcp_types
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import SSETransport, StdioTransport
from fastmcp.server.transforms import Namespace
from mcp.client.subscriptions import listen
from mcp.server.subscriptions import InMemorySubscriptionBus, ServerEvent, ToolsListChanged

from xmcp import XMCP

LIVE_FILE = Path(__file__).with_name("live.py")
TOOLS_CHANGED = "notifications/tools/list_changed"


@pytest.fixture
def live() -> ModuleType:
    spec = importlib.util.spec_from_file_location("live", LIVE_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Heard:
    """What one client was told, in either era."""

    def __init__(self, client: Client[Any], told: asyncio.Queue[Any]) -> None:
        self.client = client
        self._told = told

    async def next(self) -> str:
        return str(await asyncio.wait_for(self._told.get(), 300))

    @property
    def nothing_more(self) -> bool:
        return self._told.empty()


@asynccontextmanager
async def hearing(target: Any, era: str) -> AsyncIterator[Heard]:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def message_handler(message: Any) -> None:
        if era == "legacy" and isinstance(message, mcp_types.Notification):
            told.put_nowait(message.method)

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(target, mode=era, message_handler=message_handler, timeout=300))
        assert client.session.server_capabilities.tools.list_changed is True
        if era != "legacy":  # the client hands its subscriptions' events to the message handler, too
            subscription = await stack.enter_async_context(listen(client.session, tools_list_changed=True))

            async def forward() -> None:
                async for event in subscription:
                    told.put_nowait(TOOLS_CHANGED if event == ToolsListChanged() else repr(event))

            forwarding = asyncio.create_task(forward())
            stack.callback(forwarding.cancel)
        yield Heard(client, told)


@asynccontextmanager
async def reached(transport: str, live: ModuleType, over_http: Any) -> AsyncIterator[Any]:
    match transport:
        case "memory":
            yield live.mcp
        case "stdio":
            yield StdioTransport(sys.executable, [str(LIVE_FILE)], keep_alive=False)
        case "http":
            async with over_http(live.mcp.http_app()) as url:
                yield f"{url}/mcp"
        case "http with sessions":
            async with over_http(live.mcp.http_app(stateless_http=False)) as url:
                yield f"{url}/mcp"
        case "sse":
            async with over_http(live.mcp.http_app(transport="sse")) as url:
                yield SSETransport(f"{url}/sse")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transport", "era"),
    [
        ("memory", "auto"),
        ("memory", "legacy"),
        ("stdio", "auto"),
        ("stdio", "legacy"),
        ("http", "auto"),
        ("http with sessions", "auto"),
        ("http with sessions", "legacy"),
        ("sse", "legacy"),
    ],
)
async def test_a_client_is_told_of_tools_that_come_and_go(
    transport: str, era: str, live: ModuleType, over_http: Any
) -> None:
    async with reached(transport, live, over_http) as target, hearing(target, era) as heard:
        call = heard.client.call_tool_mcp
        assert "MainThread" not in str((await call("grow", {"prefix": "a"})).content)
        assert await heard.next() == TOOLS_CHANGED
        assert "a0" in [tool.name for tool in await heard.client.list_tools()]
        await call("grow_on_the_loop", {"prefix": "b"})
        assert await heard.next() == TOOLS_CHANGED
        await call("shrink", {"name": "a0"})
        assert await heard.next() == TOOLS_CHANGED
        assert "a0" not in [tool.name for tool in await heard.client.list_tools()]
        assert heard.nothing_more


async def test_many_changes_in_one_go_are_one_announcement(
    live: ModuleType, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xmcp.server.list_changes.QUIET", 0.5)  # a busy machine does not make it two
    async with hearing(live.mcp, era) as heard:
        await heard.client.call_tool_mcp("grow", {"prefix": "c", "count": 100})
        assert await heard.next() == TOOLS_CHANGED
        await heard.client.call_tool_mcp("shrink", {"name": "c0"})
        assert await heard.next() == TOOLS_CHANGED
        assert heard.nothing_more


async def test_changes_that_do_not_stop_are_announced_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xmcp.server.list_changes.LONGEST", 0.1)
    mcp = XMCP("restless", subscription_bus=(bus := Recorder()))
    async with Client(mcp):
        while bus.events.empty():
            mcp.tool(nothing, name="restless")
            await asyncio.sleep(0.001)
        assert await bus.next() == "ToolsListChanged"


async def test_to_stateless_sessions_of_the_handshake_eras_nothing_is_promised(over_http: Any) -> None:
    mcp = XMCP("stateless")

    @mcp.prompt
    def hello() -> str:
        return "hello"

    async with over_http(mcp.http_app()) as url, Client(f"{url}/mcp", mode="legacy", timeout=300) as client:
        declared = client.session.server_capabilities
    assert [part.list_changed for part in (declared.tools, declared.prompts, declared.resources)] == [False] * 3


# ---- what counts as a change ----


class Recorder(InMemorySubscriptionBus):
    """A bus that remembers what was published."""

    def __init__(self) -> None:
        super().__init__()
        self.events: asyncio.Queue[ServerEvent] = asyncio.Queue()

    async def publish(self, event: ServerEvent) -> None:
        self.events.put_nowait(event)
        await super().publish(event)

    async def next(self) -> str:
        return type(await asyncio.wait_for(self.events.get(), 300)).__name__


def nothing() -> None:
    return None


def plain_child() -> FastMCP[Any]:
    child: FastMCP[Any] = FastMCP("child")
    child.tool(nothing)
    return child


CHANGES: dict[str, Callable[[XMCP], object]] = {
    "tool": lambda mcp: mcp.tool(nothing, name="new"),
    "display_tool": lambda mcp: mcp.display_tool(nothing, name="new"),
    "add_tool": lambda mcp: mcp.add_tool(nothing),
    "remove_tool": lambda mcp: mcp.remove_tool("first"),
    "local_provider.remove_tool": lambda mcp: mcp.local_provider.remove_tool("first"),
    "local_provider.disable": lambda mcp: mcp.local_provider.disable(names={"first"}),
    "disable": lambda mcp: mcp.disable(names={"first"}),
    "enable": lambda mcp: mcp.enable(names={"first"}, only=True),
    "add_transform": lambda mcp: mcp.add_transform(Namespace("ns")),
    "mount": lambda mcp: mcp.mount(plain_child()),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_this_changes_the_list_of_tools(change: str) -> None:
    mcp = XMCP("changing", subscription_bus=(bus := Recorder()))
    mcp.tool(nothing, name="first")
    async with Client(mcp):
        CHANGES[change](mcp)
        assert await bus.next() == "ToolsListChanged"


async def test_prompts_and_resources_have_events_of_their_own() -> None:
    mcp = XMCP("changing", subscription_bus=(bus := Recorder()))
    async with Client(mcp):
        mcp.prompt(lambda: "hello", name="hello")
        assert await bus.next() == "PromptsListChanged"
        mcp.resource("file:///x")(lambda: "x")
        assert await bus.next() == "ResourcesListChanged"
        mcp.resource("file:///{y}", name="template")(lambda y: y)
        assert await bus.next() == "ResourcesListChanged"
    assert bus.events.empty()


async def test_changes_in_mounted_servers_are_told_by_those_that_mount_them() -> None:
    top, middle, plain = XMCP("top", subscription_bus=(bus := Recorder())), XMCP("middle"), plain_child()
    inner, late = XMCP("inner"), XMCP("late")
    middle.mount(inner, namespace="inner")
    top.mount(middle)
    top.mount(plain, namespace="plain")
    async with Client(top):
        for change in (
            lambda: middle.tool(nothing),
            lambda: inner.tool(nothing),
            lambda: inner.mount(late),
            lambda: late.tool(nothing),
            lambda: plain.tool(nothing, name="second"),
            lambda: plain.local_provider.remove_tool("second"),
        ):
            change()
            assert await bus.next() == "ToolsListChanged"
            while not bus.events.empty():  # a mount is a change of every list
                bus.events.get_nowait()


async def test_changes_from_a_thread_of_the_authors_are_told() -> None:
    mcp = XMCP("threads", subscription_bus=(bus := Recorder()))
    async with Client(mcp):
        thread = threading.Thread(target=mcp.tool, args=[nothing])
        thread.start()
        assert await bus.next() == "ToolsListChanged"
        thread.join()


# ---- who is not there, and who is ill ----


async def test_before_a_server_runs_nothing_is_announced() -> None:
    @asynccontextmanager
    async def lifespan(server: FastMCP[Any]) -> AsyncIterator[dict[str, Any]]:
        server.tool(nothing, name="of the lifespan")
        yield {"found": True}

    mcp = XMCP("starting", lifespan=lifespan, subscription_bus=(bus := Recorder()))
    mcp.tool(nothing)
    async with Client(mcp) as client:
        assert {tool.name for tool in await client.list_tools()} == {"nothing", "of the lifespan"}
        mcp.prompt(lambda: "hello", name="hello")
        assert await bus.next() == "PromptsListChanged"


async def test_a_session_that_has_ended_is_forgotten_and_disturbs_nobody() -> None:
    mcp = XMCP("leaving", subscription_bus=(bus := Recorder()))
    async with hearing(mcp, "legacy") as staying:
        async with hearing(mcp, "legacy"), hearing(mcp, "auto"):
            assert len(bus._listeners) == 3
        assert len(bus._listeners) == 1
        mcp.tool(nothing)
        assert await staying.next() == TOOLS_CHANGED
    assert not bus._listeners


async def test_a_session_that_says_twice_that_it_is_initialized_is_told_once() -> None:
    mcp = XMCP("twice", subscription_bus=(bus := Recorder()))
    async with hearing(mcp, "legacy") as heard:
        await heard.client.session.send_notification(mcp_types.InitializedNotification())
        await heard.client.ping()
        assert len(bus._listeners) == 1


async def test_a_bus_that_fails_is_logged_and_the_next_change_is_told(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Recorder):
        async def publish(self, event: ServerEvent) -> None:
            await super().publish(event)
            if self.broken:
                raise ConnectionError("the broker is down")

        broken = True

    mcp = XMCP("broken", subscription_bus=(bus := Failing()))
    async with Client(mcp):
        mcp.tool(nothing, name="one")
        assert await bus.next() == "ToolsListChanged"
        bus.broken = False
        mcp.tool(nothing, name="two")
        assert await bus.next() == "ToolsListChanged"
    assert "The subscription bus refused ToolsListChanged()" in caplog.text


async def test_a_mounted_server_keeps_no_parent_alive() -> None:
    child, parent = XMCP("child"), XMCP("parent")
    parent.mount(child)
    assert parent._announcements is not None
    gone = weakref.ref(parent), weakref.ref(parent._announcements)
    del parent
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    child.tool(nothing)


def test_a_tool_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(KeyError, match="nonsuch"):
        XMCP("empty").remove_tool("nonsuch")


def test_what_changed_as_a_loop_ended_does_not_silence_the_next(era: str) -> None:
    mcp = XMCP("twice")
    mcp.tool(name="first")(lambda: 1)

    async def adds_at_the_very_end() -> None:
        async with Client(mcp, mode=era):
            pass
        mcp.tool(name="second")(lambda: 1)

    async def hears() -> None:
        async with hearing(mcp, era) as ears:
            mcp.tool(name="third")(lambda: 1)
            assert await ears.next() == TOOLS_CHANGED

    asyncio.run(adds_at_the_very_end())
    asyncio.run(hears())
