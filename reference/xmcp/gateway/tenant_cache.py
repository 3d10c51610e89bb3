"""The cache of tool results of a gateway, which counts for each tenant: keys begin with a hash of the tenant."""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeAlias

from xmcp.client.calls.cache import tenant_prefix
from xmcp.gateway.shared_cache import SharedCache
from xmcp.storage import MemoryCache

Store: TypeAlias = MemoryCache | SharedCache

_COUNTED: Final = ("hits", "misses", "writes")


class TenantCache:
    """A `Cache` for `AIClient`.

    Args:
        store: Has the values.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts: dict[str, Counter[str]] = {}

    @property
    def ttl(self) -> float:
        """Default time-to-live in seconds."""
        return self._store.ttl

    @property
    def backends(self) -> dict[str, bool]:
        """Whether the store outside of this process is used, if there is one."""
        return {"redis": self._store.up} if isinstance(self._store, SharedCache) else {}

    async def get(self, key: str) -> str | None:
        """Return the value of `key`, or None."""
        value = await self._store.get(key)
        self._count(key, "misses" if value is None else "hits")
        return value

    async def set(self, key: str, value: str, ttl: int) -> None:
        """Store `value` under `key` for `ttl` seconds."""
        await self._store.set(key, value, ttl)
        self._count(key, "writes")

    async def clear(self, prefix: str = "") -> int:
        """Drop every value whose key begins with `prefix`, and return their number.

        Raises:
            CacheError: a store outside of this process does not answer; what it has can come back with it.
        """
        return await self._store.clear(prefix)

    async def aclose(self) -> None:
        """Close the connections of the store, if it has any. Never raises."""
        if isinstance(self._store, SharedCache):
            await self._store.aclose()

    def statistics_of(self, tenant: str | None) -> dict[str, int]:
        """Return the hits, misses and writes of a tenant since the start; `None`: of chats without a tenant."""
        counted = self._counts.get(tenant_prefix(tenant), Counter[str]())
        return {name: counted[name] for name in _COUNTED}

    @property
    def statistics(self) -> dict[str, int]:
        """The hits, misses and writes of all tenants since the start."""
        return {name: sum(counted[name] for counted in self._counts.values()) for name in _COUNTED}

    def _count(self, key: str, what: str) -> None:
        self._counts.setdefault(key.partition(":")[0] + ":", Counter())[what] += 1
