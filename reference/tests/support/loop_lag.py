"""How long the event loop is held up while something runs, in CPU time of its thread, and whether that is allowed."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

MIB: Final = 1024 * 1024
BASE: Final = 0.050
"""Seconds of CPU that any input of up to 2 MiB may take at a stretch."""
PER_MIB: Final = 0.015
"""Seconds more for each further MiB."""
RUNS: Final = 6


async def longest_block(work: Awaitable[Any]) -> float:
    """Await `work`, and return the most CPU seconds of this thread between two rounds of the event loop."""
    longest, over = 0.0, False

    async def beat() -> None:
        nonlocal longest
        last = time.thread_time()
        while not over:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, last = max(longest, now - last), now

    beating = asyncio.create_task(beat())
    await asyncio.sleep(0)
    try:
        await work
    finally:
        over = True
        await beating
    return longest


REFERENCE: Final = 0.007
"""Seconds that `fixed_work` takes on the processor for which the limits are meant."""


def fixed_work() -> float:
    """Return the CPU seconds of a fixed piece of work: processors differ, and neighbours on a core take its caches."""
    begun = time.thread_time()
    for _ in range(4):
        value = json.loads(FIXED)
        [dict(one) for one in value]
    return time.thread_time() - begun


FIXED: Final = json.dumps([{"name": str(n), "count": n} for n in range(4_000)])


async def assert_never_blocked(size: int, work: Callable[[], Awaitable[Any]]) -> None:
    """Assert that an input of `size` bytes holds up the loop for no longer than it may, in one of a few runs."""
    allowed = BASE + PER_MIB * max(0.0, size / MIB - 2)
    measured: list[float] = []
    while len(measured) < RUNS and min(measured, default=allowed) >= allowed:
        before = fixed_work()
        with no_collection():
            block = await longest_block(work())
        slower = max(1.0, (before + fixed_work()) / 2 / REFERENCE)
        measured.append(block / slower)
    assert min(measured) < allowed, f"{[round(1000 * one) for one in measured]} ms, allowed {round(1000 * allowed)} ms"


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage of other tests from being collected in the middle of a measurement."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
