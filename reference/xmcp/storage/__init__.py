"""Storage beyond one chat: caches of tool results, and the state of circuit breakers.

Each either in the memory of one process, or in Redis for several processes (the extra `redis`). The Redis client is
loaded when it is first used, not when this package is imported (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from xmcp.storage.breakers import Admitted, BreakerState, BreakerStore, MemoryBreakers, Outcome, Refused
from xmcp.storage.cache import Cache, CacheStatistics, MemoryCache
from xmcp.storage.errors import CacheError, StoreError

if TYPE_CHECKING:
    from xmcp.storage.redis_breakers import RedisBreakers
    from xmcp.storage.redis_cache import RedisCache

_HOME: Final[dict[str, str]] = {
    "RedisBreakers": "xmcp.storage.redis_breakers",
    "RedisCache": "xmcp.storage.redis_cache",
}

__all__ = [
    "Admitted",
    "BreakerState",
    "BreakerStore",
    "Cache",
    "CacheError",
    "CacheStatistics",
    "MemoryBreakers",
    "MemoryCache",
    "Outcome",
    "RedisBreakers",
    "RedisCache",
    "Refused",
    "StoreError",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'xmcp.storage' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
