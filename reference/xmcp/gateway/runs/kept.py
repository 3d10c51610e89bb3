"""What is kept in memory after its use, such as runs that have ended: for so long, and so many bytes of it. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

MAX_KEPT: Final = 10_000
"""Maximum number of things that are kept."""

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long, how many bytes, and how many of a tenant are kept after their use; `None`: as many as of all."""

    seconds: float
    bytes: int
    per_tenant: int | None = None


class Kept(Generic[K]):
    """The names of what is kept, each with its tenant, its size and the time of its last use.

    Where they take too much, the tenant that takes most loses what it has not used for longest: no tenant loses a run,
    and with it the answer to a repeated request, for what another one keeps.
    """

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._used: OrderedDict[K, tuple[str | None, float]] = OrderedDict()
        self._sizes: dict[str | None, OrderedDict[K, int]] = {}
        self._bytes: Counter[str | None] = Counter()
        self._crowded: set[str | None] = set()
        """Tenants of whom more may be kept than `per_tenant`."""

    def add(self, name: K, tenant: str | None, size: int, now: float) -> None:
        """Keep something that is used now, and was not kept. `now`: seconds of a monotonic clock; `size`: bytes."""
        self._used[name] = tenant, now
        self._sizes.setdefault(tenant, OrderedDict())[name] = size
        self._bytes[tenant] += size
        if self._keeping.per_tenant is not None and len(self._sizes[tenant]) > self._keeping.per_tenant:
            self._crowded.add(tenant)

    def remove(self, name: K) -> None:
        """Keep something no longer."""
        self._without(name)

    def of(self, tenant: str | None) -> list[K]:
        """Return what is kept of a tenant; what was used last comes first."""
        return [*reversed(self._sizes.get(tenant, ()))]

    def used_ago(self, name: K, now: float) -> float | None:
        """Return how many seconds ago something was used; `None` if it is not kept."""
        kept = self._used.get(name)
        return None if kept is None else now - kept[1]

    def forget(self, now: float) -> Iterator[K]:
        """Take out what is kept no longer, and yield its names."""
        while self._used:
            oldest, (_, used) = next(iter(self._used.items()))
            if used < now - self._keeping.seconds:
                yield self._without(oldest)
            elif self._bytes.total() > self._keeping.bytes or len(self._used) > MAX_KEPT:
                tenant = max(self._bytes, key=self._bytes.__getitem__)
                yield self._without(next(iter(self._sizes[tenant])))
            elif self._crowded:
                yield from self._thinned(self._crowded.pop())
            else:
                return

    def _thinned(self, tenant: str | None) -> Iterator[K]:
        while len(sizes := self._sizes.get(tenant, OrderedDict())) > (self._keeping.per_tenant or 0):
            yield self._without(next(iter(sizes)))

    def _without(self, name: K) -> K:
        tenant, _ = self._used.pop(name)
        sizes = self._sizes[tenant]
        self._bytes[tenant] -= sizes.pop(name)
        if not sizes:
            del self._sizes[tenant], self._bytes[tenant]
        return name
