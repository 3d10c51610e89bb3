"""Runs that have ended and can still be read: for so long, and so many bytes of them. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_KEPT: Final = 10_000
"""Maximum number of runs that are kept after their end."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long, and how many bytes, runs are kept after their end."""

    seconds: float
    bytes: int


class KeptRuns:
    """The ids of runs that have ended, each with its tenant, its size and the time of its end.

    Where they take too much, the tenant whose runs take most loses its oldest one: no tenant loses a run, and with it
    the answer to a repeated request, for what another one keeps.
    """

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._ended: OrderedDict[str, tuple[str | None, float]] = OrderedDict()
        self._sizes: dict[str | None, OrderedDict[str, int]] = {}
        self._bytes: Counter[str | None] = Counter()

    def add(self, run_id: str, tenant: str | None, size: int, now: float) -> None:
        """Keep a run that ends now. `now` is in seconds of a monotonic clock, `size` in bytes."""
        self._ended[run_id] = tenant, now
        self._sizes.setdefault(tenant, OrderedDict())[run_id] = size
        self._bytes[tenant] += size

    def ended_ago(self, run_id: str, now: float) -> float | None:
        """Return how many seconds ago a run ended; `None` if it is not among them."""
        kept = self._ended.get(run_id)
        return None if kept is None else now - kept[1]

    def forget(self, now: float) -> Iterator[str]:
        """Take out the runs that are kept no longer, and yield their ids."""
        while self._ended:
            oldest, (_, ended) = next(iter(self._ended.items()))
            if ended < now - self._keeping.seconds:
                yield self._without(oldest)
            elif self._bytes.total() > self._keeping.bytes or len(self._ended) > MAX_KEPT:
                tenant = max(self._bytes, key=self._bytes.__getitem__)
                yield self._without(next(iter(self._sizes[tenant])))
            else:
                return

    def _without(self, run_id: str) -> str:
        tenant, _ = self._ended.pop(run_id)
        sizes = self._sizes[tenant]
        self._bytes[tenant] -= sizes.pop(run_id)
        if not sizes:
            del self._sizes[tenant], self._bytes[tenant]
        return run_id
