"""Work on large results runs in a worker thread, so that no other chat waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

LARGE: Final = 256 * 1024
"""Size of a result, in characters, above which work on it runs in a worker thread. A thread costs 0.1 ms by itself."""

_PART_LENGTH: Final = 50
"""About how many characters a part of a payload has, such as a row of a table."""

T = TypeVar("T")


async def in_worker_if_large(size: int, work: Callable[..., T], *args: Any) -> T:
    """Return `work(*args)`, called in a worker thread if `size` is above `LARGE`. Raises what `work` raises."""
    return work(*args) if size <= LARGE else await asyncio.to_thread(work, *args)


def rough_size_of(value: Any) -> int:
    """Return about how many characters JSON values have; it counts no further than `LARGE`."""
    # Each part counts, so that after at most `LARGE / _PART_LENGTH` of them it is known to be large, wherever it is so.
    size, parts = 0, [value]
    while parts and size <= LARGE:
        part = parts.pop()
        if isinstance(part, str):
            size += len(part)
        elif isinstance(part, Mapping | list | tuple):
            size += _PART_LENGTH * len(part)
            if size <= LARGE:
                parts += (*part, *part.values()) if isinstance(part, Mapping) else part
    return size
