"""The cache of tool results of a gateway, which counts for each tenant: keys begin with a hash of the tenant."""

from __future__ import annotations

from collections import Counter
from typing import Final

from xmcp.client.calls.cache import tenant_prefix
from xmcp.storage import MemoryCache

_COUNTED: Final = ("hits", "misses", "writes")


class TenantCache:
    """A `Cache` for `AIClient`, in the memory of this process.

    Args:
        store: Has the values.
    """

    def __init__(self, store: MemoryCache) -> None:
        self._store = store
        self._counts: dict[str, Counter[str]] = {}

    @property
    def ttl(self) -> float:
        """Default time-to-live in seconds."""
        return self._store.ttl

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
        """Drop every value whose key begins with `prefix`, and return their number."""
        return await self._store.clear(prefix)

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
