"""Caches of tool results: the protocol, the statistics, and the cache in the memory of this process."""

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
    """The interface for `AIClient(cache=...)`: any object with these two methods.

    A value is a text, an XML document or JSON, and must be returned unchanged. The arguments are passed by position.
    The client treats an exception of either method as a miss, logs one warning and continues.
    """

    async def get(self, key: str, /) -> str | None:
        """Return the value of `key`; None if there is none or it has expired."""
        ...

    # Whole seconds, because caches that pass the number on (`EX` in Redis) accept no fractions. The result is ignored,
    # so it may be any `object`.
    async def set(self, key: str, value: str, ttl: int, /) -> object:
        """Store `value` under `key` for `ttl` seconds, replacing an earlier value."""
        ...


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """The counts of one cache object since it was created, in this process only."""

    hits: int = 0
    misses: int = 0
    """Calls of `get` without a value, or with an expired one; a failed call counts as an error instead."""
    writes: int = 0
    evictions: int = 0
    """Values dropped or not stored because of the limits; expired or cleared values do not count."""
    errors: int = 0
    """Operations that failed."""

    @property
    def hit_rate(self) -> float:
        """The share of hits in hits and misses, 0.0 to 1.0; 0.0 before the first call."""
        return self.hits / (self.hits + self.misses) if self.hits else 0.0


class _Entry(NamedTuple):
    value: str
    expires: float
    size: int


class MemoryCache:
    """A cache in the memory of this process; the least recently used values are dropped first.

    No method awaits anything, so the tasks of one event loop share it without a lock. It is not thread-safe.

    Args:
        max_entries: Maximum number of values.
        max_bytes: Maximum memory for keys and values together, in bytes as counted by `sys.getsizeof`. A single value
            that is larger is not stored.
        ttl: Default time-to-live in seconds.
        clock: Returns seconds that never decrease; for tests.

    Raises:
        ValueError: A limit or the ttl is not above 0.
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
        """Default time-to-live in seconds."""
        return self._ttl

    @property
    def statistics(self) -> CacheStatistics:
        """The counts so far."""
        return CacheStatistics(**self._counts)

    async def get(self, key: str) -> str | None:
        """Return the value of `key`, or None."""
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
        """Store `value` under `key` for `ttl` seconds; None is the default time-to-live.

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
        """Drop every value whose key begins with `prefix`, by default all, and return their number."""
        keys = [key for key in self._entries if key.startswith(prefix)]
        for key in keys:
            self._drop(key)
        return len(keys)

    def _drop(self, key: str) -> None:
        self._bytes -= self._entries.pop(key).size


def checked_ttl(ttl: float) -> float:
    """Return `ttl` itself.

    Raises:
        ValueError: `ttl` is not a finite number above 0.
    """
    if not 0 < ttl < math.inf:
        raise ValueError(f"ttl must be a number of seconds above 0, not {ttl!r}.")
    return ttl
