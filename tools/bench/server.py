"""Measure an XMCP server against the floor, a bare FastMCP server with the same tools, in one run.

Both run in processes of their own, over streamable HTTP without sessions, and are called in turns. A figure is the
median, over the rounds, of our time divided by the time of the floor.
"""

from __future__ import annotations

import asyncio
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


async def _ratio(rounds: int, ours: Measure, floor: Measure) -> tuple[float, float]:
    """Return the median ratio of ours to the floor, measured in turns after a warm-up, and our median in ms."""
    await ours(), await floor()
    pairs = [(await ours(), await floor()) for _ in range(rounds)]
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs) * 1000


async def in_memory(rounds: int, calls: int = 200) -> Figure:
    """Measure tools/call without a transport."""
    async with Client(server_process.build("xmcp", 3)) as ours, Client(server_process.build("fastmcp", 3)) as floor:
        times, ms = await _ratio(rounds, partial(_sequential, ours, calls), partial(_sequential, floor, calls))
    return Figure("tools/call in memory, p50", times, 1.3, f"{ms:8.2f} ms")


async def over_http(rounds: int) -> AsyncIterator[Figure]:
    """Measure tools/call over HTTP, in both eras of the protocol."""
    for name, era in ERAS.items():
        async with AsyncExitStack() as stack:
            (ours, pid), (floor, floor_pid), (many, _) = [
                await stack.enter_async_context(served(kind, tools, era))
                for kind, tools in (("xmcp", 3), ("fastmcp", 3), ("xmcp", 300))
            ]
            times, ms = await _ratio(rounds, partial(_sequential, ours, 60), partial(_sequential, floor, 60))
            yield Figure(f"tools/call over HTTP, p50, {name}", times, 1.15, f"{ms:8.2f} ms")
            times, ms = await _ratio(rounds, partial(_concurrent, ours, 320), partial(_concurrent, floor, 320))
            yield Figure(
                f"  {CONCURRENT} at a time, calls a second", 1 / times, 0.9, f"{1000 / ms:8.0f} /s", at_least=True
            )
            times, ms = await _ratio(rounds, partial(_sequential, many, 60), partial(_sequential, ours, 60))
            yield Figure("  300 tools against 3", times, 1.2, f"{ms:8.2f} ms")
            more = (_rss(pid) - _rss(floor_pid)) / 1024
            yield Figure("  memory above the floor's, MB", more, 15, f"{_rss(pid) / 1024:8.0f} MB")


async def of_5_mb(rounds: int) -> AsyncIterator[Figure]:
    """Measure a display with a table of 5 MB against the same bytes as plain text from a bare server."""
    # By default the SDK's client refuses server-sent events of more than 1 MiB; the table is one event of 5 MB.
    transports.http.streamable_http_client = partial(
        mcp.client.streamable_http.streamable_http_client, max_sse_event_size=64 << 20
    )
    async with served("xmcp", 3, "auto") as (ours, _), served("fastmcp", 3, "auto") as (floor, _):
        times, ms = await _ratio(rounds, partial(_table, ours, True), partial(_table, floor, False))
        size = len(server_process.text()) / 1e6
        yield Figure(f"table of {size:.1f} MB against its bytes as text", times, 1.5, f"{ms:8.1f} ms")


def _rss(pid: int) -> int:
    """Return the resident memory of a process in KB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise LookupError("VmRSS")
