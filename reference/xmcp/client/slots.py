"""What chats share a limited number of, such as the calls at the same time, and whose turn is next (XMCP-CLI-117)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict


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
        if self._free:
            self._free -= 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant_id, OrderedDict())[place] = None
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self.give_back()  # the slot came in the same moment as the cancellation
            else:
                self._leave(tenant_id, place)
            raise

    def give_back(self) -> None:
        """Give the slot to the next call that waits, if any."""
        self._free += 1
        while self._free and self._waiting:
            tenant_id, places = next(iter(self._waiting.items()))
            place = next(iter(places))
            self._leave(tenant_id, place)
            if places:
                self._waiting.move_to_end(tenant_id)
            if not place.done():
                self._free -= 1
                place.set_result(None)

    def _leave(self, tenant_id: str | None, place: asyncio.Future[None]) -> None:
        places = self._waiting.get(tenant_id)
        if places is None:
            return
        places.pop(place, None)
        if not places:
            del self._waiting[tenant_id]
