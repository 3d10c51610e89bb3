"""Work on large results runs in a worker thread, so that no other chat waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

LARGE: Final = 256 * 1024
"""Size of a result, in characters, above which work on it runs in a worker thread. A thread costs 0.1 ms by itself."""

T = TypeVar("T")


async def in_worker_if_large(size: int, work: Callable[..., T], *args: Any) -> T:
    """Return `work(*args)`, called in a worker thread if `size` is above `LARGE`. Raises what `work` raises."""
    return work(*args) if size <= LARGE else await asyncio.to_thread(work, *args)
