"""Measure the audit store: what recording costs the event loop, and how fast the writer's thread is.

floor   the same chats, of which the same events are made and encoded, without an audit store. A chat is a question, two
        calls of a tool that answers at once, and an answer in pieces; a scripted model answers at once, too.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from tools.bench.figure import Figure
from xmcp.chat.json_values import encode_json
from xmcp.client import AIClient
from xmcp.gateway.audit import AuditLog, AuditMiddleware, RunOutcome, RunStart, uuid7
from xmcp.gateway.runs.events import RunEvent
from xmcp.providers import ScriptedProvider
from xmcp.providers.scripted import Turn
from xmcp.server import XMCP

CHATS_PER_SECOND: Final = 25
"""A chat has about 20 records, so that these are about 500 records a second."""

SECONDS: Final = 1.0
ANSWER: Final = " ".join(["and so it goes"] * 8)


def figures(rounds: int) -> Iterator[Figure]:
    """Yield what recording costs, for SQLite and, where `POSTGRES_URL` names one, for an empty PostgreSQL database."""
    with tempfile.TemporaryDirectory() as folder:
        databases = {"SQLite": str(Path(folder) / "audit.db")}
        if url := os.environ.get("POSTGRES_URL"):
            databases["PostgreSQL"] = url
        for name, database in databases.items():
            yield asyncio.run(_put(name, database))
            yield asyncio.run(_writes(name, database))
            yield asyncio.run(_chats(name, database, rounds))


async def _put(name: str, database: str) -> Figure:
    """Measure each put at about 2,000 records a second, with the writer at work."""
    log = await AuditLog.open(database)
    run = uuid7()
    log.begin(RunStart(id=run))
    data = {"step": 1, "text": "x" * 400}
    events = [RunEvent(run, 1, seq, "notice", data, encode_json(data)) for seq in range(6000)]
    taken = []
    for place in range(0, len(events), 10):
        for event in events[place : place + 10]:
            begun = time.perf_counter()
            log.take(run, event)
            taken.append(time.perf_counter() - begun)
        await asyncio.sleep(0.005)
    log.end(run, RunOutcome("finished"))
    await log.aclose()
    p50, p99 = (statistics.quantiles(taken, n=100)[place] * 1e6 for place in (49, 98))
    return Figure(f"audit, {name}: one record, p99 in µs", p99, 50, f"p50 {p50:.1f} µs, most {max(taken) * 1e6:.0f} µs")


async def _writes(name: str, database: str) -> Figure:
    log = await AuditLog.open(database)
    run = uuid7()
    log.begin(RunStart(id=run))
    data = {"step": 1, "text": "x" * 400}
    encoded = encode_json(data)
    await log.flush()
    begun = time.perf_counter()
    for seq in range(15_000):
        log.take(run, RunEvent(run, 1, seq, "notice", data, encoded))
    await log.flush(60)
    seconds = time.perf_counter() - begun
    log.end(run, RunOutcome("finished"))
    await log.aclose()
    return Figure(f"audit, {name}: 1,000 rows a second", 15 / seconds, 5, "rows of 400 bytes", at_least=True)


async def _chats(name: str, database: str, rounds: int) -> Figure:
    """Compare chats with and without an audit store in pairs, each in turn the first."""
    log = await AuditLog.open(database)
    pairs, records = [], 0
    async with _client([]) as without, _client([AuditMiddleware(log)]) as audited:
        for number in range(rounds + 1):
            taken: dict[bool, float] = {}
            for on in (True, False)[:: 1 if number % 2 else -1]:
                rows = log.statistics.rows
                taken[on] = await _median(audited if on else without, log if on else None)
                records = max(records, log.statistics.rows - rows)
            pairs.append((taken[True], taken[False]))
    await log.aclose()
    if log.statistics.dropped:
        raise AssertionError(f"records were lost: {log.statistics.dropped}")
    ratios = sorted(on / off for on, off in pairs[1:])  # the first round warms up
    on, off = (statistics.median(column) * 1000 for column in zip(*pairs[1:], strict=True))
    spread = f"from {ratios[0]:.2f} to {ratios[-1]:.2f}"
    rest = f"{on:.2f} ms, without {off:.2f}; {spread}; about {records / SECONDS:.0f} rows a second"
    return Figure(f"audit, {name}: a chat, x without", statistics.median(ratios), 1.05, rest)


@asynccontextmanager
async def _client(middleware: list[Any]) -> AsyncIterator[AIClient]:
    server = XMCP("bench")

    @server.tool
    def look_up(name: str) -> str:
        """Look something up."""
        return f"{name} is 42"

    call = ("look_up", {"name": "x"})
    model = ScriptedProvider([Turn("I look.", [call]), Turn("", [call]), ANSWER])
    async with AIClient([server], llm_provider=model, middleware=middleware) as client:
        yield client


async def _median(client: AIClient, log: AuditLog | None) -> float:
    """Return the median seconds of a chat, where they begin at a steady rate."""
    begun = time.perf_counter()
    tasks = []
    for number in range(round(CHATS_PER_SECOND * SECONDS)):
        await asyncio.sleep(max(0.0, begun + number / CHATS_PER_SECOND - time.perf_counter()))
        tasks.append(asyncio.create_task(_chat(client, log)))
    return statistics.median(await asyncio.gather(*tasks))


async def _chat(client: AIClient, log: AuditLog | None) -> float:
    run = uuid7()
    begun = time.perf_counter()
    if log is not None:
        log.begin(RunStart(id=run, tenant="t", session=run))
    seq = 0
    async with aclosing(client.stream_chat("What is x?", [])) as stream:
        async for chunk in stream:
            seq += 1
            data = chunk.to_json()
            event = RunEvent(
                run, 1, seq, "text.delta" if chunk.type == "llm_delta" else "notice", data, encode_json(data)
            )
            if log is not None:
                log.take(run, event)
    if log is not None:
        log.end(run, RunOutcome("finished"))
    return time.perf_counter() - begun
