"""Answers that are used again (semantics 14, spec section 11.5): which, under which key, and one flight for each key.

The store behind it is any object with `get` and `set` (`xmcp.storage`). A store that fails is a miss and a log line,
never a failed call.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, Final, TypeAlias

import orjson

from xmcp.client.calls.results import Reading
from xmcp.client.hooks.log import EventLog
from xmcp.client.tools.catalogue import Entry
from xmcp.storage import Cache, StoreError
from xmcp.wire import DecodeError, decode, encode

TTL: Final = 300
"""Seconds that an answer is kept where neither the application nor the cache names a time."""

STORE_SECONDS: Final = 2.0
"""How long a store may take to answer before it counts as failing."""

_NEVER: Final = "health_check"


def can_be_cached(entry: Entry, *, read_only_too: bool) -> bool:
    """Whether calls of a tool can be answered from a cache (XMCP-CLI-050)."""
    return entry.tool != _NEVER and (entry.cacheable or (read_only_too and entry.read_only))


def can_be_kept(reading: Reading) -> bool:
    """Whether a response can go into a cache (XMCP-CLI-052, 053)."""
    response = reading.response
    meta = response.display.meta if response.display is not None else None
    return response.error is None and not (meta or {}).get("transient")


def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
    """The key of a call (XMCP-CLI-051): hashed, so that no argument can be read from it.

    It begins with the tenant, so that a store can forget one tenant's answers. There is none for arguments that are
    no JSON, as an application's own can be: nothing is known to be equal to them.
    """
    same = [entry.server.identity, entry.tool, entry.fingerprint, arguments]
    try:
        # Not orjson: it writes `null` for an infinite number.
        data = json.dumps(same, sort_keys=True, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return f"{tenant_prefix(tenant_id)}{hashlib.sha256(data).hexdigest()}"


def tenant_prefix(tenant_id: str | None) -> str:
    """What the keys of a tenant begin with. No tenant is not the tenant with an empty name."""
    name = b"" if tenant_id is None else b"t" + tenant_id.encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()[:24] + ":"


Call: TypeAlias = Callable[[Callable[[], "float | None"]], Awaitable[Reading]]
"""Makes the call, given what says until when somebody waits for it."""


class ResponseCache:
    """A store, and the calls under way whose answers others wait for."""

    def __init__(self, store: Cache, ttl: float | None, log: EventLog) -> None:
        """`ttl`: seconds, whole ones at least 1 (caches like Redis count no others); `None`: those of the store."""
        own = getattr(store, "ttl", None)
        self._store = store
        self._ttl = max(1, round(ttl or (own if isinstance(own, int | float) else TTL)))
        self._log = log
        self._flights: dict[str, _Flight] = {}

    async def answer(self, key: str, call: Call, deadline: float | None = None) -> tuple[Reading, bool]:
        """The kept answer, or that of the equal call that is under way, or what `call` comes to; and whether it is
        somebody else's.

        A flight belongs to nobody: who waits for it can be cancelled, and it goes on for the others, for as long as
        the one who can wait longest. It ends when nobody waits any more. Each who waits gets a reading of its own.
        """
        flight = self._flights.get(key)
        others = flight is not None
        if flight is None:
            flight = self._flights[key] = _Flight()
            flight.task = asyncio.create_task(self._fly(key, call, flight), name="xmcp cached call")
            flight.task.add_done_callback(lambda _: self._landed(key, flight))
        task, place = flight.task, object()
        assert task is not None  # noqa: S101 - set above, before anybody else could run
        flight.waiting[place] = deadline
        try:
            reading, kept = await asyncio.shield(task)
            alone = len(flight.waiting) == 1
            return (reading if alone else deepcopy(reading)), kept or others
        finally:
            del flight.waiting[place]
            if not flight.waiting and not task.done():
                # The next equal call begins anew: this one is on its way out.
                self._landed(key, flight)
                task.cancel()
                await asyncio.wait({task}, timeout=STORE_SECONDS)

    async def clear(self, prefix: str) -> None:
        """Forget the answers whose keys begin so; those that are under way go to who waits for them, and are not kept.

        Raises what the store raises.
        """
        for key in [key for key in self._flights if key.startswith(prefix)]:
            self._flights.pop(key).keep = False
        await self._store.clear(prefix)  # type: ignore[attr-defined]

    def _landed(self, key: str, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if flight.task is not None and flight.task.done() and not flight.task.cancelled():
            # Whoever waited was told; a failure that nobody waited for is not asyncio's to report.
            flight.task.exception()

    async def _fly(self, key: str, call: Call, flight: _Flight) -> tuple[Reading, bool]:
        if (kept := await self._get(key)) is not None:
            return kept, True
        reading = await call(flight.latest)
        if flight.keep and can_be_kept(reading):
            await self._set(key, reading)
        return reading, False

    async def _get(self, key: str) -> Reading | None:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                value = await self._store.get(key)
            return None if value is None else _read(value)
        except (DecodeError, KeyError, ValueError, TypeError) as exc:
            self._log.warning("cache_unreadable", reason=type(exc).__name__)
        except Exception as exc:
            self._log.warning("cache_failed", operation="get", reason=_reason(exc))
        return None

    async def _set(self, key: str, reading: Reading) -> None:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                await self._store.set(key, _written(reading), self._ttl)
        except Exception as exc:
            self._log.warning("cache_failed", operation="set", reason=_reason(exc))


class _Flight:
    __slots__ = ("keep", "task", "waiting")

    def __init__(self) -> None:
        self.task: asyncio.Task[tuple[Reading, bool]] | None = None
        self.waiting: dict[object, float | None] = {}
        self.keep = True

    def latest(self) -> float | None:
        """Until when somebody can wait; `None`: for ever."""
        deadlines = list(self.waiting.values())
        return None if None in deadlines else max(filter(None, deadlines), default=None)


def _reason(exc: Exception) -> str:
    """Our own stores say what failed without a credential; of others only the kind is known to be safe."""
    return str(exc) if isinstance(exc, StoreError) else type(exc).__name__


def _written(reading: Reading) -> str:
    document = reading.document if reading.document is not None else encode(reading.response, check=False)
    return orjson.dumps({"document": document, "structured": reading.structured}).decode()


def _read(value: Any) -> Reading:
    kept = orjson.loads(value)
    return Reading(decode(kept["document"], bad_display="drop"), kept["document"], kept["structured"])
