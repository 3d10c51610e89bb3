"""Who may call the gateway, and how much: one object for the doors, the hook of quotas and the admin API."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from xmcp.gateway.access.database_thread import DatabaseThread
from xmcp.gateway.access.issued_keys import Pepper
from xmcp.gateway.access.ledger import Ledger
from xmcp.gateway.access.rates import Rate, Rates, TooFast
from xmcp.gateway.access.stored_keys import KeyRefused, StoredKeys
from xmcp.gateway.audit.database import Address
from xmcp.gateway.grants import Profile
from xmcp.gateway.keys import Keys, bearer_key
from xmcp.gateway.runs.request import Caller

if TYPE_CHECKING:
    from xmcp.gateway.audit.drivers import Driver, Execute

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeyDatabase:
    """A database with keys, and the pepper that they were made with."""

    address: Address
    pepper: Pepper


class Access:
    """Finds callers, counts their requests and what models use for them.

    Args:
        keys: Those of the file.
        events: The profile of stored keys that have none of their own.
        database: Has further keys, and what was used; `None`: only the file's keys, and what is used is forgotten
            with the process.
        reservation: Seconds after which what a request reserved counts no more if it was not settled.
    """

    def __init__(
        self,
        keys: Keys,
        events: Profile = "none",
        database: KeyDatabase | None = None,
        *,
        reservation: float = 3600.0,
    ) -> None:
        self._keys = keys
        self._rates = Rates()
        self.pepper = None if database is None else database.pepper
        """`None`: there is no database of keys."""
        self._threads: list[DatabaseThread] = []
        self._stored: StoredKeys | None = None
        if database is not None:
            # One for each task: many lookups do not keep a chat waiting, nor the other way round.
            lookups = self._thread(database.address, "xmcp keys")
            self._admin = self._thread(database.address, "xmcp admin")
            self._stored = StoredKeys(database.pepper, lookups, events)
        address = None if database is None else database.address
        locks = address is not None and address.kind == "postgresql"
        self.ledger = Ledger(self._thread(address, "xmcp quotas"), locks=locks, ttl=reservation)

    @property
    def backends(self) -> dict[str, bool]:
        """Whether the database of keys and quotas answered when it was asked last, if there is one."""
        return {} if self._stored is None else {"access": all(thread.up for thread in self._threads)}

    @property
    def key_needed(self) -> bool:
        """Whether a caller needs a key."""
        return self._keys.needed or self._stored is not None

    async def caller(self, authorization: str | None) -> Caller:
        """Return whose key a header `Authorization: Bearer KEY` has.

        Raises:
            KeyRefused: nobody's, or one that is not valid any more.
            DatabaseDown: the database does not answer, and this key was not found before.
        """
        found = self._keys.caller(authorization) if self._keys.needed or self._stored is None else None
        if found is not None:
            return found
        key = bearer_key(authorization)
        if key is None:
            raise KeyRefused("Send a key of this gateway: Authorization: Bearer KEY.")
        if self._stored is None:
            raise KeyRefused("There is no such key.")
        stored = await self._stored.caller(key)
        in_file = self._keys.tenant_limits.get(stored.tenant or "")
        return stored if in_file is None else replace(stored, grant=replace(stored.grant, tenant_limits=in_file))

    def rates_of(self, caller: Caller) -> list[Rate]:
        """Return the limits for the requests of a caller."""
        rates = []
        if (of_tenant := caller.grant.tenant_limits.requests_per_minute) is not None:
            rates.append(Rate(f"tenant:{caller.tenant}", f"the tenant {caller.tenant!r}", of_tenant))
        if (of_key := caller.grant.limits.requests_per_minute) is not None:
            rates.append(Rate(f"key:{caller.key_name}", f"the key {caller.key_name!r}", of_key))
        return rates

    def count_request(self, rates: Sequence[Rate]) -> TooFast | None:
        """Count a request that is under these limits; return why it is one too many."""
        return self._rates.take(rates, time.monotonic()) if rates else None

    async def administer(self, work: Callable[[Execute], T]) -> T:
        """Return what `work` returns, which reads or changes tenants and keys in a transaction; `pepper` must be there.

        Raises:
            DatabaseDown: the database does not answer.
        """
        return await self._admin.run(work)

    def forget(self, *, key_id: str | None = None, tenant: str | None = None) -> None:
        """Have the next request of a key, or of a tenant's keys, that comes to this process see what was changed."""
        if self._stored is not None:
            self._stored.forget(lambda key: key.id == key_id or key.tenant == tenant)

    async def aclose(self) -> None:
        """Write what is settled, and disconnect."""
        await self.ledger.aclose()
        for thread in self._threads:
            await thread.aclose()

    def _thread(self, address: Address | None, name: str) -> DatabaseThread:
        thread = DatabaseThread(partial(_driver_for, address), name)
        self._threads.append(thread)
        return thread


def _driver_for(address: Address | None) -> Driver:
    # Here, since it loads SQLAlchemy: a gateway without quotas and without a database does not need that.
    from xmcp.gateway.access.memory_driver import MemoryDriver
    from xmcp.gateway.audit.drivers import driver_for

    return MemoryDriver() if address is None else driver_for(address)
