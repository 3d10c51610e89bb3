"""Measure how long one very large event of a model's answer holds up the event loop, for each vendor's format.

The server (canned_answers.py, in a process of its own) sends the event at once. A heartbeat of one millisecond in the
loop of the provider notes what the process did since the one before: also a worker thread holds it up, while it keeps
the interpreter to itself. Of the rounds the best counts. The time for each byte is compared with that of an event of
100 kB. All times are processor time of the process, since other processes hold it up, too.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Iterator
from typing import Any, Final

from tools.bench.canned_answers import LARGE
from tools.bench.figure import Figure
from tools.bench.processes import START_SECONDS, Process
from tools.bench.providers import FEW, VENDORS, ours, schemas
from xmcp.providers import ProviderError

SMALL_BYTES, LARGE_BYTES = 100_000, 8_000_000
BEAT: Final = 0.001

MOST_BLOCK_MS: Final = 50
MOST_GROWTH: Final = 3


def figures(rounds: int) -> Iterator[Figure]:
    """Measure every kind of event with every vendor: the longest block in ms, and the growth of the time per byte."""
    with Process("tools.bench.canned_answers") as server:
        url = f"http://127.0.0.1:{int(server.line(START_SECONDS))}"
        for vendor in VENDORS:
            for kind in LARGE:
                yield from asyncio.run(_measured(vendor, kind, url, rounds))


async def _measured(vendor: Any, kind: str, url: str, rounds: int) -> list[Figure]:
    blocks, seconds, outcome = [], {SMALL_BYTES: [0.0], LARGE_BYTES: [0.0]}, ""
    for size in seconds:
        provider, _, close = vendor(f"{url}/{size}-{kind}", schemas(FEW), stream=True)
        ask = ours(provider, schemas(FEW))
        try:
            seconds[size] = []
            for number in range(rounds + 1):
                gc.collect()
                begun = time.process_time()
                outcome, block = await _held_up(ask())
                if number:  # the first round warms up, and the server makes its answer
                    seconds[size].append((time.process_time() - begun) / size)
                    blocks += [block] if size == LARGE_BYTES else []
        finally:
            await provider.aclose()
            await close()
    small, large = (statistics.median(seconds[size]) for size in (SMALL_BYTES, LARGE_BYTES))
    name = f"{vendor.__name__}, 8 MB of {kind}"
    rest = f"ms at a stretch; in the median {statistics.median(blocks) * 1000:.0f}; {outcome}"
    return [
        Figure(name, min(blocks) * 1000, MOST_BLOCK_MS, rest),
        Figure("  time for each byte, x that of 100 kB", large / small, MOST_GROWTH, f"{large * 1e9:.1f} ns"),
    ]


async def _held_up(work: Any) -> tuple[str, float]:
    """Await `work`; return how it ended, and the most seconds between two heartbeats."""
    late, over = 0.0, False

    async def beat() -> None:
        nonlocal late
        while not over:
            begun = time.process_time()
            await asyncio.sleep(BEAT)
            late = max(late, time.process_time() - begun)

    beating = asyncio.create_task(beat())
    try:
        await work
        outcome = "read"
    except ProviderError as exc:
        outcome = f"refused: {exc.message.partition(': ')[2][:60]}"
    over = True
    await beating
    return outcome, late
