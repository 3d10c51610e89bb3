"""`timeout=` holds for synchronous tools too, and the threads that it leaves behind are bounded."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from fastmcp import Client, Context
from fastmcp.dependencies import Depends
from fastmcp.server.providers import Provider
from fastmcp.tools import Tool

from xmcp import XMCP
from xmcp.server import worker_threads

LIMIT = 0.4  # seconds: a thread has begun by then, on a busy machine too
LONG = 30.0  # seconds: a test that waits for the thread to end fails


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """What the threads wait for."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def slow(held: threading.Event) -> XMCP:
    mcp = XMCP()

    @mcp.tool(timeout=LIMIT)
    def plain() -> str:
        held.wait(LONG)
        return "late"

    @mcp.tool(timeout=LIMIT)
    def generator() -> Iterator[str]:
        yield "early"
        held.wait(LONG)

    @mcp.tool(timeout=LIMIT)
    def with_context(ctx: Context) -> str:
        held.wait(LONG)
        return "late"

    @mcp.tool(timeout=LIMIT)
    def with_dependency(n: int = Depends(lambda: 1)) -> str:
        held.wait(LONG)
        return "late"

    @mcp.tool(timeout=LIMIT, server_populated=["value"])
    async def with_provider(value: str) -> str:
        return value

    @mcp.param_provider("value")
    def value() -> str:
        held.wait(LONG)
        return "late"

    return mcp


@pytest.mark.parametrize("name", ["plain", "generator", "with_context", "with_dependency", "with_provider"])
async def test_a_synchronous_tool_is_answered_in_time(slow: XMCP, name: str, call: Any) -> None:
    begun = time.monotonic()
    reply = await call(slow, name)
    assert time.monotonic() - begun < LONG / 2
    assert (reply.code, reply.retryable, reply.meta["side_effects"]) == ("TIMEOUT", True, "unknown")
    assert name == "with_provider" or reply.message == f"Tool {name!r} execution timed out after 0.4s."


async def test_left_threads_are_bounded_for_each_tool(
    slow: XMCP, held: threading.Event, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_threads, "MAX_LEFT", 2)
    assert [(await call(slow, "plain")).code for _ in range(2)] == ["TIMEOUT", "TIMEOUT"]
    refused = await call(slow, "plain")
    assert (refused.code, refused.retryable) == ("UPSTREAM_UNAVAILABLE", True)
    assert refused.message.startswith("2 earlier calls took longer than they were allowed to and still run.")
    assert refused.meta["side_effects"] == "none"
    assert (await call(slow, "generator")).code == "TIMEOUT"
    held.set()
    with anyio.fail_after(LONG):
        while (await call(slow, "plain")).code == "UPSTREAM_UNAVAILABLE":  # noqa: ASYNC110 - a thread ends
            await asyncio.sleep(0.01)


async def test_what_did_not_begin_in_time_is_not_begun_later(call: Any) -> None:
    mcp = XMCP()
    ran = []

    @mcp.tool(timeout=LIMIT)
    def writes() -> None:
        ran.append(1)

    free, limiter = threading.Event(), anyio.to_thread.current_default_thread_limiter()
    async with anyio.create_task_group() as others:
        for _ in range(int(limiter.total_tokens)):
            others.start_soon(anyio.to_thread.run_sync, free.wait, LONG)
        await asyncio.sleep(0)
        assert (await call(mcp, "writes")).code == "TIMEOUT"
        free.set()
    await anyio.to_thread.run_sync(lambda: None)
    assert ran == []


async def test_what_a_left_thread_depends_on_stays_open_until_it_ends(held: threading.Event, call: Any) -> None:
    mcp = XMCP()
    happened = []

    @asynccontextmanager
    async def connection() -> AsyncIterator[None]:
        yield
        happened.append("closed")

    @mcp.tool(timeout=LIMIT)
    def uses(connected: None = Depends(connection)) -> None:
        held.wait(LONG)
        happened.append("used")

    async with Client(mcp, timeout=300) as client:
        assert "TIMEOUT" in (await client.call_tool_mcp("uses", {})).content[0].text
        assert happened == []
        held.set()
        with anyio.fail_after(LONG):
            while len(happened) < 2:  # noqa: ASYNC110 - a thread ends
                await asyncio.sleep(0.01)
    assert happened == ["used", "closed"]


async def test_left_threads_take_no_room_from_other_tools(
    slow: XMCP, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow.tool(lambda: "fine", name="works")
    limiter = anyio.to_thread.current_default_thread_limiter()
    monkeypatch.setattr(limiter, "total_tokens", 2)
    async with Client(slow, timeout=300) as client:
        for name in ("plain", "generator"):
            await client.call_tool_mcp(name, {})
        assert (limiter.total_tokens, limiter.borrowed_tokens) == (4, 2)
        assert "fine" in (await client.call_tool_mcp("works", {})).content[0].text
        held.set()
        with anyio.fail_after(LONG):
            while (limiter.total_tokens, limiter.borrowed_tokens) != (2, 0):  # noqa: ASYNC110 - a thread ends
                await asyncio.sleep(0.01)


async def test_within_its_time_a_synchronous_tool_works_as_without(era: str, reply: Any) -> None:
    mcp = XMCP()

    async def later() -> str:
        return "awaited"

    @mcp.tool(timeout=LONG)
    def awaitable() -> Any:
        return later()

    @mcp.tool(timeout=LONG)
    def generator(n: int) -> list[int]:  # type: ignore[misc]
        yield from range(n)

    @mcp.tool(timeout=LONG)
    def speaks(ctx: Context) -> str:
        anyio.from_thread.run(ctx.report_progress, 1, 2, "half")
        return threading.current_thread().name

    told = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with Client(mcp, mode=era, progress_handler=on_progress, timeout=300) as client:
        assert reply(await client.call_tool_mcp("awaitable", {})).llm_output == "awaited"
        assert reply(await client.call_tool_mcp("generator", {"n": 3})).structured == {"result": [0, 1, 2]}
        assert "worker thread" in reply(await client.call_tool_mcp("speaks", {})).llm_output
        assert reply(await client.call_tool_mcp("generator", {"n": "x"})).code == "VALIDATION_FAIL"
    assert told == ["half"]


async def test_a_call_that_is_cancelled_leaves_its_thread_too(held: threading.Event) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    mcp = XMCP()

    @mcp.tool(timeout=LONG)
    def waits() -> None:
        loop.call_soon_threadsafe(begun.set)
        held.wait(LONG)

    tool = await mcp.get_tool("waits")
    assert tool is not None
    running = asyncio.create_task(tool.run({}))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError), anyio.fail_after(LONG / 2):
        await running
    assert not held.is_set()


async def test_the_limit_holds_for_a_tool_that_its_provider_makes_anew_for_each_call(
    held: threading.Event, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_threads, "MAX_LEFT", 1)

    def waits() -> None:
        held.wait(LONG)

    class Making(Provider):
        async def _list_tools(self) -> list[Tool]:
            return [Tool.from_function(waits, timeout=LIMIT)]

    mcp = XMCP(providers=[Making()])
    assert [(await call(mcp, "waits")).code for _ in range(2)] == ["TIMEOUT", "UPSTREAM_UNAVAILABLE"]
