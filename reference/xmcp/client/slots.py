"""What chats share a limited number of, such as the calls at the same time, and whose turn is next (XMCP-CLI-117)."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from itertools import islice
from typing import Final

SHARE: Final = 4
"""A tenant gets another slot of `FairShares` while it has fewer than so many times those that are free."""


class Slots:
    """At most `limit` slots in use. Tenants that wait get the next slot in turn, and each tenant's calls in order.

    So a tenant with many calls uses all slots while it is alone, and delays another by no more than the end of the
    next call. Each step takes constant time, and nothing is kept of a tenant that does not wait.
    """

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: OrderedDict[str | None, OrderedDict[asyncio.Future[None], None]] = OrderedDict()
        """For each tenant that waits, its calls; the first tenant is next. There is no free slot while one waits."""

    @property
    def all_taken(self) -> bool:
        """Whether the next call would have to wait."""
        return not self._free

    async def take(self, tenant_id: str | None) -> None:
        """Wait for a slot for a tenant; `None`: for a chat without a tenant. `give_back` must follow.

        If it raises, which is a cancellation, no slot is taken and nothing is left behind.
        """
        if self._may_take(tenant_id):
            self._take(tenant_id)
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant_id, OrderedDict())[place] = None
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self.give_back(tenant_id)  # the slot came in the same moment as the cancellation
            else:
                self._leave(tenant_id, place)
            raise

    def give_back(self, tenant_id: str | None = None) -> None:  # noqa: ARG002 - a subclass counts by tenant
        """Give the slot that a tenant took to the next call that waits, if any."""
        self._free += 1
        self._serve()

    def _serve(self) -> None:
        while tenants := [*islice(filter(self._may_take, self._waiting), 1)]:
            (tenant_id,) = tenants
            places = self._waiting[tenant_id]
            place = next(iter(places))
            self._leave(tenant_id, place)
            if places:
                self._waiting.move_to_end(tenant_id)
            if not place.done():
                self._take(tenant_id)
                place.set_result(None)

    def _may_take(self, tenant_id: str | None) -> bool:  # noqa: ARG002 - a subclass looks at the tenant
        return self._free > 0

    def _take(self, tenant_id: str | None) -> None:  # noqa: ARG002 - a subclass counts by tenant
        self._free -= 1

    def _leave(self, tenant_id: str | None, place: asyncio.Future[None]) -> None:
        places = self._waiting.get(tenant_id)
        if places is None:
            return
        places.pop(place, None)
        if not places:
            del self._waiting[tenant_id]


class FairShares(Slots):
    """Slots that are kept for long, for as long as a chat: so no tenant can take all of them, however many it asks for.

    A tenant gets a slot while it has fewer than `SHARE` times as many as are free. Alone it can take four fifths of
    all slots; the more tenants there are, the fewer each can take, and some stay free for the next one.
    Giving one back takes time in proportion to the number of tenants that wait.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._taken: Counter[str | None] = Counter()

    def give_back(self, tenant_id: str | None = None) -> None:
        """Give back a slot that a tenant took; it may be another tenant's turn now."""
        self._taken[tenant_id] -= 1
        if not self._taken[tenant_id]:
            del self._taken[tenant_id]
        super().give_back(tenant_id)

    def _may_take(self, tenant_id: str | None) -> bool:
        return self._taken[tenant_id] < SHARE * self._free

    def _take(self, tenant_id: str | None) -> None:
        super()._take(tenant_id)
        self._taken[tenant_id] += 1
