"""The one clock of the tests: an event loop in virtual time, a clock that only the test moves, and injected sleeps.

The loop is the one that drives clients in the conformance scenarios.
"""

from __future__ import annotations

import asyncio

from xmcp_conformance.profiles.client.virtual_time import Stuck, VirtualTimeLoop, run

__all__ = ["Clock", "Sleeps", "Stuck", "VirtualTimeLoop", "at_once", "never", "run", "scaled"]


class Clock:
    """Seconds that pass only when the test adds to `now`; called, it returns them."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def at_once(_: float) -> None:
    """Sleep for no longer than others take for their turn."""
    await asyncio.sleep(0)


async def never(*_: object) -> None:
    """Sleep, or run as any other hook, until cancelled."""
    await asyncio.Event().wait()


async def scaled(seconds: float) -> None:
    """Sleep for a hundredth of the time."""
    await asyncio.sleep(seconds / 100)


class Sleeps:
    """A sleep that takes no time and notes how long each would have been.

    Args:
        until: The sleep of this number does not end any more, and sets `reached`.
    """

    def __init__(self, until: int | None = None) -> None:
        self.seconds: list[float] = []
        self.reached = asyncio.Event()
        self._until = until

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if len(self.seconds) == self._until:
            self.reached.set()
            await never()
        await asyncio.sleep(0)
