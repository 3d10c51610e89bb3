"""Measure the suite with the tool of section 1.7: the rate of judged responses against the rate of bare calls.

Both make the same calls of the same server over stdio. The floor makes one after the other and looks at no answer.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import tracemalloc
from itertools import islice
from typing import Final

from tools.bench.figure import Figure
from xmcp_conformance.core.events import Event
from xmcp_conformance.generators.responses import responses
from xmcp_conformance.profiles.server.checks.required_form import required_form
from xmcp_conformance.profiles.server.exchange import ToolCall
from xmcp_conformance.profiles.server.fixture.run import NAME, Fixture, check_fixture, tool_of
from xmcp_conformance.profiles.server.pace import Pace
from xmcp_conformance.profiles.server.peers import StdioPeer
from xmcp_conformance.profiles.server.server_under_test import Session, connect

SERVER: Final = "xmcp.samples.conformance:mcp"
RESPONSES: Final = 1_000
MOST: Final = 10_000
_SEED: Final = 20261121
_RATE: Final = 0.6
_GROWTH: Final = 16.0
"""Bytes: what caches and counters grow by; a response that is kept has hundreds."""


def figures(rounds: int) -> list[Figure]:
    """Return the rate of judged responses, and the memory that ten times as many need."""
    return asyncio.run(_figures(max(1, rounds // 5)))


async def _figures(rounds: int) -> list[Figure]:
    peer = StdioPeer((sys.executable, "-m", "xmcp", "serve", SERVER, "--transport", "stdio"))
    async with connect(peer, "newest", connect_timeout=60, call_timeout=60) as session:
        fixture = await _fixture(session)
        await _judged(session, fixture, 100)
        pairs = [(await _bare(session, fixture), await _judged(session, fixture, RESPONSES)) for _ in range(rounds)]
        bare, judged = min(one for one, _ in pairs), min(other for _, other in pairs)
        rest = f"{RESPONSES / judged:7.0f} judged responses a second, {RESPONSES / bare:.0f} bare calls"
        kept = await _kept(session, fixture)
    growth = (kept[1] - kept[0]) / (MOST - RESPONSES)
    return [
        Figure("suite: judged responses to bare calls", bare / judged, _RATE, rest, at_least=True),
        Figure("suite: bytes kept for one more response", growth, _GROWTH, f"{kept[1] / 1e6:7.1f} MB in all"),
    ]


async def _fixture(session: Session) -> Fixture:
    catalogue = await session.catalogue()
    tool = tool_of(catalogue)
    if tool is None:
        raise LookupError(f"{SERVER} does not offer {NAME}")
    return Fixture("bench", tool, ["1.0"], required_form(catalogue, declared=True, known=True), declared=True)


async def _bare(session: Session, fixture: Fixture) -> float:
    calls: list[ToolCall] = list(map(fixture.call, islice(responses(_SEED), RESPONSES)))
    begun = time.perf_counter()
    for call in calls:
        await session.call(call)
    return time.perf_counter() - begun


async def _judged(session: Session, fixture: Fixture, count: int) -> float:
    begun = time.perf_counter()
    await check_fixture(session, fixture, examples=count, seed=_SEED, emit=_counted, note=_refused, pace=Pace())
    return time.perf_counter() - begun


async def _kept(session: Session, fixture: Fixture) -> list[int]:
    """Return the bytes that are still there when so many responses were judged; the peak is that of the largest one."""
    kept = []
    for count in (RESPONSES, MOST):
        tracemalloc.start()
        await _judged(session, fixture, count)
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    return kept


def _counted(_event: Event) -> None:
    """Take an event; a report keeps what it needs of it."""


def _refused(note: str) -> None:
    raise AssertionError(note)
