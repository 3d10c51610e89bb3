"""How many runs there are at the same time, in all and for a tenant; and the short queue before them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from xmcp.client.slots import Slots


class Overloaded(Exception):
    """There is no place for another run. `retry_after`: seconds after which asking again may help."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """At most so many runs, so many of a tenant, and so many that wait for a place, for so many seconds."""

    runs: int
    runs_per_tenant: int
    waiting: int
    wait: float


class Admission(Slots):
    """Places for runs. Tenants that wait get the next free place in turn."""

    def __init__(self, limits: AdmissionLimits) -> None:
        super().__init__(limits.runs)
        self._limits = limits
        self._taken: Counter[str | None] = Counter()
        self._in_queue: Counter[str | None] = Counter()
        self._waits: set[asyncio.Timeout] = set()

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return self._in_queue.total()

    @property
    def running(self) -> int:
        """How many places are taken."""
        return self._taken.total()

    async def enter(self, tenant: str | None) -> None:
        """Wait for a place, not long; `give_back` must follow.

        Raises:
            Overloaded: too many wait already, or no place became free in time.
        """
        if not self._may_take(tenant):
            # Half of the queue at most, so that no tenant keeps the others out of it.
            share = max(1, self._limits.waiting // 2)
            if self.waiting >= self._limits.waiting or self._in_queue[tenant] >= share:
                raise Overloaded("Too many chats are running and waiting.", self._limits.wait)
            self._in_queue[tenant] += 1
            wait = asyncio.timeout(self._limits.wait)
            self._waits.add(wait)
            try:
                async with wait:
                    await self.take(tenant)
            except TimeoutError:
                whose = "Too many chats of this tenant" if self._has_most(tenant) else "Too many chats"
                raise Overloaded(f"{whose} are running.", max(1.0, self._limits.wait)) from None
            finally:
                self._waits.discard(wait)
                self._in_queue[tenant] -= 1
                if not self._in_queue[tenant]:
                    del self._in_queue[tenant]
            return
        await self.take(tenant)

    def end_waiting(self) -> None:
        """Let `enter` raise at once for whoever waits."""
        for wait in [*self._waits]:
            if not wait.expired():
                wait.reschedule(0)

    def give_back(self, tenant_id: str | None = None) -> None:
        """Give a place back; it may be another tenant's turn now."""
        self._taken[tenant_id] -= 1
        if not self._taken[tenant_id]:
            del self._taken[tenant_id]
        super().give_back(tenant_id)

    def _has_most(self, tenant_id: str | None) -> bool:
        return self._taken[tenant_id] >= self._limits.runs_per_tenant

    def _may_take(self, tenant_id: str | None) -> bool:
        return super()._may_take(tenant_id) and not self._has_most(tenant_id)

    def _take(self, tenant_id: str | None) -> None:
        super()._take(tenant_id)
        self._taken[tenant_id] += 1
