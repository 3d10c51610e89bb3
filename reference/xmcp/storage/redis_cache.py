"""The cache in Redis, shared by all processes that use the same prefix of the same Redis."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from xmcp.storage.cache import CacheStatistics, checked_ttl
from xmcp.storage.errors import CacheError
from xmcp.storage.redis_connection import RedisConnection

if TYPE_CHECKING:
    from redis.asyncio import Redis

_BATCH: Final = 500
_SPECIAL_IN_PATTERN: Final = re.compile(r"[\\*?\[\]]")


class RedisCache:
    """A cache in Redis 5 or newer. Values expire there; their memory is limited by Redis' own setting (`maxmemory`).

    ```python
    cache = RedisCache(url="redis://localhost:6379", ttl=300)
    ```

    Args:
        url: See `RedisConnection`; it connects at the first use.
        ttl: Default time-to-live in seconds.
        prefix: The start of all keys; caches that must not share values need different ones.
        client: Your own `redis.asyncio.Redis` instead of `url`. You have to close it.
        timeout: Maximum seconds of an operation, connecting included; of `clear`, for each batch.

    Raises:
        ModuleNotFoundError: redis-py is not installed: `pip install "xmcp[redis]"`.
        TypeError, ValueError: An argument is not valid.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379",
        *,
        ttl: float = 300,
        prefix: str = "xmcp:cache:",
        client: Redis | None = None,
        timeout: float = 1.0,
    ) -> None:
        if not prefix:
            raise ValueError("prefix must not be empty: clear() would drop everything in that Redis.")
        self._ttl = checked_ttl(ttl)
        self._prefix = prefix
        self._redis = RedisConnection(url, client, timeout, CacheError)
        self._counts: Counter[str] = Counter()

    @property
    def ttl(self) -> float:
        """Default time-to-live in seconds."""
        return self._ttl

    @property
    def statistics(self) -> CacheStatistics:
        """The counts of this object so far; Redis does not report evictions."""
        return CacheStatistics(**self._counts)

    async def get(self, key: str) -> str | None:
        """Return the value of `key`, or None.

        Raises:
            CacheError: Redis failed or took too long.
        """
        try:
            async with self._redis.bounded() as redis:
                # A client given by the caller may decode by itself.
                stored: bytes | str | None = await redis.get(self._prefix + key)
                value = stored.decode() if isinstance(stored, bytes) else stored
        except CacheError:
            self._counts["errors"] += 1
            raise
        self._counts["misses" if value is None else "hits"] += 1
        return value

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        """Store `value` under `key` for `ttl` seconds, to the millisecond; None is the default time-to-live.

        Raises:
            ValueError: `ttl` is not above 0.
            CacheError: Redis failed or took too long.
        """
        milliseconds = max(1, round(1000 * (self._ttl if ttl is None else checked_ttl(ttl))))
        try:
            async with self._redis.bounded() as redis:
                await redis.set(self._prefix + key, value, px=milliseconds)
        except CacheError:
            self._counts["errors"] += 1
            raise
        self._counts["writes"] += 1

    async def clear(self, prefix: str = "", *, timeout: float | None = None) -> int:
        """Drop every value whose key begins with `prefix` (after the cache's own prefix), and return their number.

        Only keys under the cache's own prefix are dropped, in batches, so that Redis serves others in between.
        `timeout`: maximum seconds of a batch, in place of the cache's.

        Raises:
            CacheError: Redis failed or took too long; some values may have been dropped.
        """
        pattern = _SPECIAL_IN_PATTERN.sub(r"\\\g<0>", self._prefix + prefix) + "*"
        cursor, dropped = 0, 0
        try:
            while True:
                async with self._redis.bounded(timeout) as redis:
                    cursor, keys = await redis.scan(cursor, match=pattern, count=_BATCH)
                    dropped += await redis.unlink(*keys) if keys else 0
                if not cursor:
                    return dropped
        except CacheError:
            self._counts["errors"] += 1
            raise

    async def ping(self, timeout: float | None = None) -> None:
        """Ask Redis whether it answers; `timeout`: maximum seconds, in place of the cache's. It counts nowhere.

        Raises:
            CacheError: it failed or took too long.
        """
        async with self._redis.bounded(timeout) as redis:
            await redis.ping()

    async def aclose(self) -> None:
        """Close the connections. Never raises."""
        await self._redis.aclose()
