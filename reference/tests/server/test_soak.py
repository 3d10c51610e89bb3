"""Ten thousand calls, some with faults: each is answered or cancelled, and nothing is left running."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from fastmcp import Client
from mcp import MCPError
from pydantic import Field

from xmcp import XMCP, DisplayEnvelope, ToolResponse, XMCPError

pytestmark = pytest.mark.slow

CALLS = 10_000
AT_A_TIME = 64
FAILING = (ValueError, KeyError, ZeroDivisionError, ExceptionGroup, SystemExit, asyncio.CancelledError, MemoryError)


def server(running: Counter[str]) -> XMCP:
    mcp = XMCP("soak")

    @mcp.display_tool(server_populated=["user"])
    async def works(n: int, user: str) -> Any:
        await asyncio.sleep(0)
        return DisplayEnvelope(type="table", payload=[{"n": n, "user": user}])

    @mcp.tool
    def works_in_a_thread(n: int = Field(ge=0)) -> dict[str, int]:
        return {"n": n}

    @mcp.tool
    async def fails(n: int) -> None:
        kind = FAILING[n % len(FAILING)]
        if n % 3 == 0:
            raise XMCPError("CONFLICT", str(n))
        raise kind("s3cr3t", [ValueError("s3cr3t")]) if kind is ExceptionGroup else kind("s3cr3t")

    @mcp.tool
    async def waits(n: int) -> None:
        running["waits"] += 1
        try:
            await asyncio.Event().wait()
        finally:
            running["waits"] -= 1

    mcp.param_provider("user")(lambda: "u")
    return mcp


async def calls(client: Client[Any], numbers: Any, seen: Counter[str], chance: random.Random) -> None:
    for n in numbers:
        lot = chance.random()
        if lot < 0.05:
            task = asyncio.create_task(client.call_tool_mcp("waits", {"n": n}))
            await asyncio.sleep(0.002)
            task.cancel()
            with pytest.raises((asyncio.CancelledError, MCPError)):
                await task
            seen["cancelled"] += 1
            continue
        if lot < 0.10:
            name, arguments = "fails", {"n": n}
        elif lot < 0.15:
            name, arguments = "works_in_a_thread", {"n": -n}
        else:
            name, arguments = chance.choice(
                [("works_in_a_thread", {"n": n}), ("works", {"n": n, "show_user": n % 2 == 0})]
            )
        response = ToolResponse.from_xml((await client.call_tool_mcp(name, arguments)).content[0].text)
        assert response.tool_name == name
        assert (response.error is not None) == (name == "fails" or arguments["n"] < 0)
        if name == "works":
            shown = response.display.payload if response.display else response.llm_output
            assert str(n) in str(shown)
            assert (response.display is not None) is arguments["show_user"]
        assert "s3cr3t" not in response.to_xml()
        seen[name] += 1


async def rounds(client: Client[Any], amount: int, seen: Counter[str], chance: random.Random) -> int:
    """Make so many calls, and count what is alive after them."""
    numbers = iter(range(1, amount + 1))
    await asyncio.gather(*(calls(client, numbers, seen, chance) for _ in range(AT_A_TIME)))
    await asyncio.sleep(0.05)
    gc.collect()
    return len(gc.get_objects())


@pytest.fixture
def _no_log() -> Iterator[None]:
    """Else pytest keeps a thousand tracebacks, and with them what the calls held."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_no_log")
async def test_ten_thousand_calls_leave_nothing_behind(era: str) -> None:
    running: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    chance = random.Random(4)
    async with Client(server(running), mode=era, timeout=300) as client:
        before = await rounds(client, CALLS // 10, seen, chance)
        tasks = len(asyncio.all_tasks())
        after = await rounds(client, CALLS * 9 // 10, seen, chance)
        assert len(asyncio.all_tasks()) <= tasks
        assert running["waits"] == 0
    assert seen.total() == CALLS
    assert min(seen["cancelled"], seen["fails"]) > CALLS * 0.04
    assert after - before < 2_000, "objects stay alive: one call in five leaves one"
