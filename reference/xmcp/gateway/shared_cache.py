"""Answers of tools in Redis, for all processes of a gateway; in the memory of this one while Redis does not answer."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

from xmcp.storage import CacheError, MemoryCache
from xmcp.storage.redis_cache import RedisCache
from xmcp.storage.redis_connection import MAX_CONNECTIONS

PREFIX: Final = "xmcp:gateway:cache:"

ANSWER_SECONDS: Final = 0.05
"""How long a chat waits for Redis. After that no chat asks it, until it has answered to `ping` in this time."""

PATIENT_SECONDS: Final = 1.0
"""How long Redis may take where no chat waits."""

REST_SECONDS: Final = 1.0
"""After so long a Redis that did not answer is asked again."""

QUIET_SECONDS: Final = 60.0
"""How long a Redis that answers with errors is not said again."""

LARGEST: Final = 512 * 1024
"""Maximum number of characters of an answer that is kept: a larger one takes too long on its way."""

_log: Final = logging.getLogger("xmcp.gateway")


class SharedCache:
    """A `Cache` with a circuit: it is open from the first failure of Redis until Redis answers to `ping` again.

    Args:
        url: As for `RedisCache`; it connects at the first use.
        memory: Has the values while the circuit is open. Its `ttl` is that of both.

    Raises:
        ModuleNotFoundError: redis-py is not installed.
        ValueError: `url` cannot be parsed.
    """

    def __init__(self, url: str, memory: MemoryCache) -> None:
        self._redis = RedisCache(url, ttl=memory.ttl, prefix=PREFIX, timeout=ANSWER_SECONDS)
        self._memory = memory
        self._waiting: asyncio.Task[None] | None = None
        self._quiet_until = 0.0

    @property
    def ttl(self) -> float:
        """Default time-to-live in seconds."""
        return self._memory.ttl

    @property
    def up(self) -> bool:
        """Whether Redis is used."""
        return self._waiting is None

    async def get(self, key: str) -> str | None:
        """Return the value of `key`, or None."""
        if self.up:
            try:
                return await self._redis.get(key)
            except CacheError as error:
                self._open(error)
        return await self._memory.get(key)

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        """Store `value` under `key` for `ttl` seconds; one that is too large is left out."""
        if len(value) > LARGEST:
            return
        if self.up:
            try:
                await self._redis.set(key, value, ttl)
            except CacheError as error:
                self._open(error)
        if not self.up:
            await self._memory.set(key, value, ttl)

    async def clear(self, prefix: str = "") -> int:
        """Drop every value whose key begins with `prefix`, and return their number.

        Raises:
            CacheError: Redis does not answer; what it has can come back with it.
        """
        dropped = await self._memory.clear(prefix)
        return dropped + await self._redis.clear(prefix, timeout=PATIENT_SECONDS)

    async def aclose(self) -> None:
        """Close the connections. Never raises."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.wait({self._waiting})
        await self._redis.aclose()

    def _open(self, error: CacheError) -> None:
        if self.up:  # else another call was faster
            self._waiting = asyncio.create_task(self._wait(error), name="xmcp wait for Redis")

    async def _wait(self, error: CacheError) -> None:
        """Close the circuit when Redis answers. At once, if it was only slow for a moment: that is not worth a line."""
        told = False
        while (failure := await self._failure()) is not None:
            if not told:
                _log.warning("answers of tools are kept in memory until Redis answers: %s", failure)
                told = True
            await asyncio.sleep(REST_SECONDS)
        if told:
            _log.warning("Redis answers again, and has the answers of tools")
        elif not isinstance(error.__cause__, TimeoutError) and time.monotonic() >= self._quiet_until:
            # Such as one that is full, or only to be read: it answers to `ping`, and nothing else would say so.
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            _log.warning("Redis answers, but not to all that chats ask: %s", error)
        # Another process may have cleared what is here, and nobody will ask for it before the next outage.
        await self._memory.clear()
        self._waiting = None

    async def _failure(self) -> CacheError | None:
        try:
            await self._redis.ping(PATIENT_SECONDS)  # it may have to connect
            # Also the connections of chats that ask at the same time: to make one can take longer than a chat waits.
            further = (self._redis.ping(PATIENT_SECONDS) for _ in range(MAX_CONNECTIONS))
            await asyncio.gather(*further, return_exceptions=True)  # Redis may allow fewer
            await self._redis.ping()  # and a Redis that is always slow is none that chats can wait for
        except CacheError as error:
            return error
        return None
