"""When a worker that has ended is started again, and how its end is told. Pure."""

from __future__ import annotations

import signal
from typing import Final

FIRST_DELAY: Final = 1.0
"""Seconds before the first new start; each one after it waits twice as long as the one before."""

LONGEST_DELAY: Final = 30.0
"""Seconds that are never exceeded."""

LONG_LIFE: Final = 60.0
"""Seconds of serving after which what went wrong before is forgotten."""


def next_delay(last: float, served: float) -> float:
    """Return the seconds to wait before the next start.

    Args:
        last: Seconds that were waited before the start before; 0 if there was none.
        served: Seconds for which the worker that has ended had served; 0 if it never did.
    """
    if last == 0 or served >= LONG_LIFE:
        return FIRST_DELAY
    return min(2 * last, LONGEST_DELAY)


def way_of_ending(exit_code: int) -> str:
    """Return how a process ended; a code below 0 is that of a signal."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"signal {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"signal {-exit_code}"
