"""Whose key it is, by the database: with a cache, so that it is asked once for many requests of a key."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from xmcp.gateway.access.database_thread import DatabaseDown, DatabaseThread
from xmcp.gateway.access.issued_keys import Pepper, same_mac
from xmcp.gateway.access.key_store import StoredKey, find_key
from xmcp.gateway.grants import Grant
from xmcp.gateway.ids import now_ms
from xmcp.gateway.runs.request import Caller, Profile

KNOWN_SECONDS: Final = 30.0
"""How long a key is used that the database had: so long after its revocation it may still open."""

UNKNOWN_SECONDS: Final = 5.0
"""How long the database is not asked again for a key that it did not have."""

OUTAGE_SECONDS: Final = 600.0
"""How long after it was found a key goes on while the database does not answer."""

CACHED: Final = 10_000
"""Maximum number of keys in the cache; the one that was found longest ago is dropped first."""


class KeyRefused(Exception):
    """A key that opens nothing. The message is for its holder."""


@dataclass(frozen=True, slots=True)
class _Found:
    key: StoredKey | None
    at: float


class StoredKeys:
    """The keys in a database.

    Args:
        pepper: Tells keys that were issued from forged ones.
        database: Has the keys.
        events: The profile of keys that have none of their own.
        clock: Seconds, for the cache; it does not go back.
    """

    def __init__(
        self, pepper: Pepper, database: DatabaseThread, events: Profile, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pepper = pepper
        self._database = database
        self._events = events
        self._clock = clock
        self._cache: OrderedDict[str, _Found] = OrderedDict()
        self._asking: dict[str, asyncio.Task[StoredKey | None]] = {}

    async def caller(self, key: str) -> Caller:
        """Return whose key it is.

        Raises:
            KeyRefused: nobody's, or it is revoked or has expired.
            DatabaseDown: the database does not answer, and this key was not found before.
        """
        issued = self._pepper.issued(key)
        stored = None if issued is None else await self._found(issued.id)
        if stored is None or issued is None or not same_mac(stored.hmac, issued.hmac):
            raise KeyRefused("There is no such key.")
        # Only whoever has the whole key is told what became of it.
        if stored.revoked_at is not None:
            raise KeyRefused("This key was revoked.")
        if stored.expires_at is not None and stored.expires_at <= now_ms():
            raise KeyRefused("This key has expired.")
        return self._caller(stored, key)

    def forget(self, which: Callable[[StoredKey], bool]) -> None:
        """Have the database asked again for some keys, because they were changed."""
        for key_id in [one for one, found in self._cache.items() if found.key is None or which(found.key)]:
            del self._cache[key_id]
        self._asking.clear()  # the answer can be older than the change

    async def _found(self, key_id: str) -> StoredKey | None:
        found, now = self._cache.get(key_id), self._clock()
        if found is not None and now - found.at < (UNKNOWN_SECONDS if found.key is None else KNOWN_SECONDS):
            return found.key
        asking = self._asking.get(key_id)
        if asking is None:
            asking = self._asking[key_id] = asyncio.create_task(self._ask(key_id), name="xmcp key")
            asking.add_done_callback(partial(self._answered, key_id))
        try:
            return await asyncio.shield(asking)  # others wait for it, too
        except DatabaseDown:
            if found is not None and found.key is not None and now - found.at < OUTAGE_SECONDS:
                return found.key
            raise

    async def _ask(self, key_id: str) -> StoredKey | None:
        at = self._clock()  # before the question: what is changed meanwhile is not older than the answer
        key = await self._database.run(lambda run: find_key(run, key_id))
        if self._asking.get(key_id) is not asyncio.current_task():
            return key
        self._cache[key_id] = _Found(key, at)
        self._cache.move_to_end(key_id)
        if len(self._cache) > CACHED:
            self._cache.popitem(last=False)
        return key

    def _answered(self, key_id: str, asking: asyncio.Task[StoredKey | None]) -> None:
        if self._asking.get(key_id) is asking:
            del self._asking[key_id]
        if not asking.cancelled():
            asking.exception()  # whoever waited has it, if anybody still did

    def _caller(self, stored: StoredKey, key: str) -> Caller:
        terms = stored.terms
        grant = Grant(
            frozenset(terms.scopes),
            None if terms.models is None else frozenset(terms.models),
            None if terms.tools is None else frozenset(terms.tools),
            terms.limits,
            stored.tenant_limits,
        )
        # The colon is in no name of a file's key, so that no two keys have one name.
        return Caller(f"{stored.name}:{stored.id}", stored.tenant, terms.events or self._events, grant, key)
