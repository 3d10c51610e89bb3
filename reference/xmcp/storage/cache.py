"""Caches of tool results: the protocol, what every cache counts, and the one in the memory of this process."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable


@runtime_checkable
class Cache(Protocol):
    """What `AIClient(cache=...)` takes (requirement C15): any object with these two methods.

    A value is a text, an XML document or JSON, and comes back as it went in. The arguments are passed by position. An
    exception of either method is a miss for the client, which logs one warning and goes on.
    """

    async def get(self, key: str, /) -> str | None:
        """The value under `key`; `None` where there is none, or it has expired."""
        ...

    # Whole seconds, since caches that hand the number on as it is (`EX` in Redis) take no others. `object`, since what
    # a cache returns here is of no interest.
    async def set(self, key: str, value: str, ttl: int, /) -> object:
        """Keep `value` under `key` for `ttl` seconds, in the place of what was there."""
        ...


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """What one cache object has done since it was made: counts, of this process only."""

    hits: int = 0
    misses: int = 0
    """Gets that found nothing, an expired value included; a failed get is an error instead."""
    writes: int = 0
    evictions: int = 0
    """Values dropped, or not taken, for lack of room; what expired or was cleared does not count."""
    errors: int = 0
    """Operations that failed."""

    @property
    def hit_rate(self) -> float:
        """Hits among the gets that were answered, 0.0 to 1.0; 0.0 before the first."""
        return self.hits / (self.hits + self.misses) if self.hits else 0.0


class _Entry(NamedTuple):
    value: str
    expires: float
    size: int


class MemoryCache:
    """A cache in the memory of this process: what was not used for the longest time goes first.

    No method waits for anything, so that tasks of one event loop share it without a lock. It is not made for threads.

    Args:
        max_entries: Most values at once.
        max_bytes: Most memory for keys and values together, in bytes as `sys.getsizeof` tells. A value that alone is
            larger is not kept.
        ttl: Seconds that a value lives where `set` is not told.
        clock: Seconds that only grow; for tests.

    Raises:
        ValueError: a limit or a ttl that is not above 0.
    """

    def __init__(
        self,
        max_entries: int = 1024,
        max_bytes: int = 64 * 1024 * 1024,
        ttl: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for option, limit in (("max_entries", max_entries), ("max_bytes", max_bytes)):
            if not limit > 0:
                raise ValueError(f"{option} must be above 0, not {limit!r}.")
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._ttl = checked_ttl(ttl)
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0
        self._counts: Counter[str] = Counter()

    @property
    def ttl(self) -> float:
        """Seconds that a value lives where `set` is not told."""
        return self._ttl

    @property
    def statistics(self) -> CacheStatistics:
        """The counts until now."""
        return CacheStatistics(**self._counts)

    async def get(self, key: str) -> str | None:
        """The value under `key`, or `None`."""
        entry = self._entries.get(key)
        if entry is not None and entry.expires <= self._clock():
            self._drop(key)
            entry = None
        if entry is None:
            self._counts["misses"] += 1
            return None
        self._entries.move_to_end(key)
        self._counts["hits"] += 1
        return entry.value

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        """Keep `value` under `key` for `ttl` seconds; for those of the constructor where it is `None`.

        Raises:
            ValueError: `ttl` is not above 0.
        """
        expires = self._clock() + (self._ttl if ttl is None else checked_ttl(ttl))
        size = sys.getsizeof(key) + sys.getsizeof(value)
        if key in self._entries:
            self._drop(key)
        if size > self._max_bytes:
            self._counts["evictions"] += 1
            return
        while len(self._entries) >= self._max_entries or self._bytes + size > self._max_bytes:
            self._drop(next(iter(self._entries)))
            self._counts["evictions"] += 1
        self._entries[key] = _Entry(value, expires, size)
        self._bytes += size
        self._counts["writes"] += 1

    async def clear(self, prefix: str = "") -> int:
        """Drop every value whose key begins with `prefix`, by default all; how many there were."""
        keys = [key for key in self._entries if key.startswith(prefix)]
        for key in keys:
            self._drop(key)
        return len(keys)

    def _drop(self, key: str) -> None:
        self._bytes -= self._entries.pop(key).size


def checked_ttl(ttl: float) -> float:
    """`ttl` itself.

    Raises:
        ValueError: it is not a finite number above 0.
    """
    if not 0 < ttl < math.inf:
        raise ValueError(f"ttl must be a number of seconds above 0, not {ttl!r}.")
    return ttl
