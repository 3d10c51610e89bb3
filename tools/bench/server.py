"""Measure an XMCP server against the floor, a bare FastMCP server with the same tools, in one run.

Both run in processes of their own, over streamable HTTP without sessions, and are called in turns. A figure is the
median, over the rounds, of our time divided by the time of the floor. The rounds are spread over several starts of the
processes, because two starts of one program differ by up to a tenth.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcp.client.streamable_http
from fastmcp import Client
from fastmcp.client import transports

from tools import ROOT
from tools.bench import server_process
from tools.bench.figure import Figure

CONCURRENT = 64
STARTS = 3
ERAS = {"stateless era": "auto", "handshake era": "legacy"}


@asynccontextmanager
async def served(kind: str, tools: int, era: str) -> AsyncIterator[tuple[Client[Any], int]]:
    """Start a server in a process of its own; yield a client of it, and the process id."""
    command = [sys.executable, "-m", server_process.__name__, kind, str(tools)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        port = int(await process.stdout.readline())  # type: ignore[union-attr]
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=era, timeout=60) as client:
            yield client, process.pid
    finally:
        process.kill()
        await process.wait()


async def _sequential(client: Client[Any], calls: int) -> float:
    times = []
    for n in range(calls):
        begun = time.perf_counter()
        await client.call_tool_mcp("add", {"a": n, "b": 1})
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


async def _concurrent(client: Client[Any], calls: int) -> float:
    """Return the seconds for each of `calls` calls, CONCURRENT at a time."""
    waiting = iter(range(calls))

    async def worker() -> None:
        for n in waiting:
            await client.call_tool_mcp("add", {"a": n, "b": 1})

    begun = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(CONCURRENT)))
    return (time.perf_counter() - begun) / calls


async def _table(client: Client[Any], shown: bool) -> float:
    begun = time.perf_counter()
    await client.call_tool_mcp("table", {"show_user": True} if shown else {})
    return time.perf_counter() - begun


Measure = Callable[[], Coroutine[Any, Any, float]]


Pairs = list[tuple[float, float]]
"""Our time and that of the floor, in seconds, of each round."""


async def _pairs(rounds: int, ours: Measure, floor: Measure) -> Pairs:
    """Measure both in turns, after a warm-up."""
    await ours(), await floor()
    return [(await ours(), await floor()) for _ in range(rounds)]


def _ratio(pairs: Pairs) -> tuple[float, float]:
    """Return the median ratio of ours to the floor, and our median in ms."""
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs) * 1000


async def in_memory(rounds: int, calls: int = 200) -> Figure:
    """Measure tools/call without a transport."""
    async with Client(server_process.build("xmcp", 3)) as ours, Client(server_process.build("fastmcp", 3)) as floor:
        times, ms = _ratio(await _pairs(rounds, partial(_sequential, ours, calls), partial(_sequential, floor, calls)))
    return Figure("tools/call in memory, p50", times, 1.3, f"{ms:8.2f} ms")


async def over_http(rounds: int) -> AsyncIterator[Figure]:
    """Measure tools/call over HTTP, in both eras of the protocol."""
    for name, era in ERAS.items():
        one, many_at_once, many_tools = Pairs(), Pairs(), Pairs()
        memory, more = 0.0, []
        for _ in range(STARTS):
            async with AsyncExitStack() as stack:
                (ours, pid), (floor, floor_pid), (many, _) = [
                    await stack.enter_async_context(served(kind, tools, era))
                    for kind, tools in (("xmcp", 3), ("fastmcp", 3), ("xmcp", 300))
                ]
                share = math.ceil(rounds / STARTS)
                one += await _pairs(share, partial(_sequential, ours, 60), partial(_sequential, floor, 60))
                many_at_once += await _pairs(share, partial(_concurrent, ours, 320), partial(_concurrent, floor, 320))
                many_tools += await _pairs(share, partial(_sequential, many, 60), partial(_sequential, ours, 60))
                memory = _rss(pid) / 1024
                more.append(memory - _rss(floor_pid) / 1024)
        times, ms = _ratio(one)
        yield Figure(f"tools/call over HTTP, p50, {name}", times, 1.15, f"{ms:8.2f} ms")
        times, ms = _ratio(many_at_once)
        yield Figure(f"  {CONCURRENT} at a time, calls a second", 1 / times, 0.9, f"{1000 / ms:8.0f} /s", at_least=True)
        times, ms = _ratio(many_tools)
        yield Figure("  300 tools against 3", times, 1.2, f"{ms:8.2f} ms")
        yield Figure("  memory above the floor's, MB", statistics.median(more), 15, f"{memory:8.0f} MB")


async def of_5_mb(rounds: int) -> AsyncIterator[Figure]:
    """Measure a display with a table of 5 MB against the same bytes as plain text from a bare server."""
    # By default the SDK's client refuses server-sent events of more than 1 MiB; the table is one event of 5 MB.
    large = partial(mcp.client.streamable_http.streamable_http_client, max_sse_event_size=64 << 20)
    setattr(transports.http, "streamable_http_client", large)  # noqa: B010 - the module does not export the name
    async with served("xmcp", 3, "auto") as (ours, _), served("fastmcp", 3, "auto") as (floor, _):
        times, ms = _ratio(await _pairs(rounds, partial(_table, ours, True), partial(_table, floor, False)))
        size = len(server_process.text()) / 1e6
        yield Figure(f"table of {size:.1f} MB against its bytes as text", times, 1.5, f"{ms:8.1f} ms")


def _rss(pid: int) -> int:
    """Return the resident memory of a process in KB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise LookupError("VmRSS")
