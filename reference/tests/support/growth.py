"""Whether work takes time in proportion to its size, on any machine and however busy it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

TIMES: Final = 4
_LIMIT: Final = 9
"""In proportion, four times the work takes four times as long; if each piece costs all of it, sixteen times."""
_TRIES: Final = 8
"""What else a machine does only adds to a time: one try in which it added little is enough."""


def is_linear(work: Callable[[int], Callable[[], Any]]) -> bool:
    """Return whether `work(TIMES)` takes about `TIMES` as long as `work(1)`, and not the square of that."""
    small, large = work(1), work(TIMES)
    small()  # what is made once, such as a compiled pattern, is no part of it
    return any(_seconds(large) < _LIMIT * _seconds(small) for _ in range(_TRIES))


def _seconds(work: Callable[[], Any]) -> float:
    """Return the processor time of the best of three."""

    def once() -> float:
        begun = time.thread_time()
        work()
        return time.thread_time() - begun

    return min(once() for _ in range(3))
