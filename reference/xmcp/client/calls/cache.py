"""Cached answers of tools (spec section 11.5): which calls, under which key, and one call for equal ones at a time.

The store is any object with `get` and `set` (`xmcp.storage`). A store that fails is a miss and a log line, never a
failed call. A running call whose answer several callers may wait for is called a flight.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import replace
from typing import Any, Final, TypeAlias

import orjson

from xmcp.chat.json_values import copied_value
from xmcp.client.calls.active_call import ActiveCall, Next, Stage
from xmcp.client.calls.server_results import Reading
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.client.hooks.log import EventLog
from xmcp.client.tools.catalogue import Entry
from xmcp.storage import Cache, StoreError
from xmcp.wire import DecodeError, DisplayEnvelope, decode, encode

TTL: Final = 300
"""Default time-to-live of an answer in seconds, where neither the application nor the cache has one."""

STORE_SECONDS: Final = 2.0
"""How long a store may take to answer before it counts as failing."""

_NEVER: Final = "health_check"
"""The tool that is never cached."""

Deadline: TypeAlias = Callable[[], "float | None"]
"""Returns the current deadline of the caller; `None`: no limit."""

Make: TypeAlias = Callable[[Deadline], Awaitable[Reading]]
"""Makes the call."""


def stage(cache: ResponseCache | None, *, read_only_too: bool) -> Stage | None:
    """Return the stage that answers from the cache. It sets `ToolState.cached`."""
    if cache is None:
        return None

    async def use_cache(call: ActiveCall, proceed: Next) -> Reading:
        key_ = None
        if can_be_cached(call.entry, read_only_too=read_only_too):
            key_ = key(call.scope.context.tenant_id, call.entry, call.arguments)
        if key_ is None:
            return await proceed(call)

        reading, of_others = await cache.answer(key_, _Making(call, proceed), call.scope.deadline)
        call.state.cached = of_others and call.state.attempts == 0
        return reading

    return use_cache


class _Making:
    """Makes a call with the deadline of its flight. Another call can take its place while it is made."""

    def __init__(self, call: ActiveCall, proceed: Next) -> None:
        self.call, self._proceed = call, proceed
        self._made: ActiveCall | None = None

    async def __call__(self, deadline: Deadline) -> Reading:
        self._made = replace(self.call, deadline=deadline)
        return await self._proceed(self._made)

    def belong_to(self, other: _Making) -> None:
        """Make the attempts from now on for an equal call, whose chat is told of them (spec section 11.11)."""
        self.call = call = other.call
        if self._made is not None:
            self._made.request, self._made.state = call.request, call.state
            self._made.scope, self._made.emit = call.scope, call.emit


def can_be_cached(entry: Entry, *, read_only_too: bool) -> bool:
    """Return whether calls of a tool can be answered from a cache (XMCP-CLI-050)."""
    return entry.tool != _NEVER and (entry.cacheable or (read_only_too and entry.read_only))


def can_be_kept(reading: Reading) -> bool:
    """Return whether a response may go into a cache (XMCP-CLI-052, XMCP-CLI-053)."""
    response = reading.response
    meta = response.display.meta if response.display is not None else None
    return response.error is None and not (meta or {}).get("transient")


def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
    """Return the key of a call (XMCP-CLI-051), hashed so that no argument can be read from it.

    It begins with a hash of the tenant, so that a store can remove one tenant's answers. `None` for arguments that are
    not JSON, as parameters of the application can be: whether two of them are equal is not known.
    """
    same = [entry.server.identity, entry.tool, entry.fingerprint, arguments]
    try:
        # Not orjson: it writes `null` for an infinite number.
        data = json.dumps(same, sort_keys=True, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return f"{tenant_prefix(tenant_id)}{hashlib.sha256(data).hexdigest()}"


def tenant_prefix(tenant_id: str | None) -> str:
    """Return what the keys of a tenant begin with. `None` is not the tenant with an empty name."""
    name = b"" if tenant_id is None else b"t" + tenant_id.encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()[:24] + ":"


class ResponseCache:
    """A store, and the flights whose answers are waited for."""

    def __init__(self, store: Cache, ttl: float | None, log: EventLog) -> None:
        """`ttl`: seconds, rounded to at least 1, since Redis counts whole seconds; `None`: as the store says."""
        own = getattr(store, "ttl", None)
        self._store = store
        self._ttl = max(1, round(ttl or (own if isinstance(own, int | float) else TTL)))
        self._log = log
        self._flights: dict[str, _Flight] = {}

    async def answer(self, key: str, make: Make, deadline: float | None = None) -> tuple[Reading, bool]:
        """Return the answer from the cache, an equal running call, or `make`; and whether it is not from `make`.

        A flight is not tied to the chat that began it: if a waiting caller is cancelled, the flight continues for the
        others, until the latest of their deadlines, and what it does from then on it does for the one that has waited
        longest. It is cancelled when no caller waits any more. Each caller gets a separate copy of the reading.
        """
        flight = self._flights.get(key)
        others = flight is not None
        if flight is None:
            flight = self._flights[key] = _Flight(make)
            flight.task = asyncio.create_task(self._fly(key, make, flight), name="xmcp cached call")
            flight.task.add_done_callback(lambda _: self._landed(key, flight))
        task, place = flight.task, object()
        assert task is not None  # noqa: S101 - set above, before anybody else could run
        flight.waiting[place] = deadline, make
        try:
            reading, kept = await asyncio.shield(task)
            alone = len(flight.waiting) == 1
            if not alone:
                # Nobody knows how large the data are without going through them.
                reading = await asyncio.to_thread(_copied, reading)
            return reading, kept or others
        finally:
            flight.left_by(place)
            if not flight.waiting and not task.done():
                # The next equal call begins a new flight: this one is being cancelled.
                self._landed(key, flight)
                task.cancel()
                await asyncio.wait({task}, timeout=STORE_SECONDS)

    async def clear(self, prefix: str) -> None:
        """Remove the answers whose keys begin with `prefix`. Flights still answer those that wait, but are not stored.

        Raises what the store raises.
        """
        for key in [key for key in self._flights if key.startswith(prefix)]:
            self._flights.pop(key).keep = False
        await self._store.clear(prefix)  # type: ignore[attr-defined]

    def _landed(self, key: str, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if flight.task is not None and flight.task.done() and not flight.task.cancelled():
            # Mark the exception as seen: those that waited got it, and asyncio must not report it once more.
            flight.task.exception()

    async def _fly(self, key: str, make: Make, flight: _Flight) -> tuple[Reading, bool]:
        if (kept := await self._get(key)) is not None:
            return kept, True
        reading = await make(flight.latest)
        if flight.keep and can_be_kept(reading):
            await self._set(key, reading)
        return reading, False

    async def _get(self, key: str) -> Reading | None:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                value = await self._store.get(key)
            return None if value is None else await in_worker_if_large(len(value), _read, value)
        except (DecodeError, KeyError, ValueError, TypeError) as exc:
            self._log.warning("cache_unreadable", reason=type(exc).__name__)
        except Exception as exc:
            self._log.warning("cache_failed", operation="get", reason=_reason(exc))
        return None

    async def _set(self, key: str, reading: Reading) -> None:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                await self._store.set(key, await asyncio.to_thread(_written, reading), self._ttl)
        except Exception as exc:
            self._log.warning("cache_failed", operation="set", reason=_reason(exc))


class _Flight:
    __slots__ = ("keep", "make", "task", "waiting")

    def __init__(self, make: Make) -> None:
        self.make = make
        self.task: asyncio.Task[tuple[Reading, bool]] | None = None
        self.waiting: dict[object, tuple[float | None, Make]] = {}
        """The deadline of each of those that wait, in their order, and how it would make the call."""
        self.keep = True

    def left_by(self, place: object) -> None:
        """Give the call that is made to the next one that waits, if it was that of the one that leaves."""
        was_first = next(iter(self.waiting)) is place
        del self.waiting[place]
        _, heir = next(iter(self.waiting.values()), (None, None))
        if was_first and isinstance(self.make, _Making) and isinstance(heir, _Making):
            self.make.belong_to(heir)

    def latest(self) -> float | None:
        """Return until when the most patient of those that wait can wait; `None`: without a limit."""
        deadlines = [deadline for deadline, _ in self.waiting.values()]
        return None if None in deadlines else max(filter(None, deadlines), default=None)


def _reason(exc: Exception) -> str:
    """Return the message of our own stores, which holds no credential; of any other exception only its type."""
    return str(exc) if isinstance(exc, StoreError) else type(exc).__name__


def _copied(reading: Reading) -> Reading:
    """Return a copy that shares no mutable part with `reading`."""
    response = copy(reading.response)
    error, display = response.error, response.display
    response.display = display and _copied_display(display)
    response.error = error and replace(error, meta=error.meta and copied_value(dict(error.meta)))
    response.server_populated = copied_value(response.server_populated)
    response.for_person = tuple(map(_copied_display, response.for_person))
    return replace(reading, response=response, structured=copied_value(reading.structured))


def _copied_display(display: DisplayEnvelope) -> DisplayEnvelope:
    parts = {**display.__dict__, **(display.model_extra or {})}
    inner = {name: copied_value(part) for name, part in parts.items() if isinstance(part, dict | list)}
    return display.model_copy(update={**inner, "fallback": display.fallback and _copied_display(display.fallback)})


def _written(reading: Reading) -> str:
    document = reading.document if reading.document is not None else encode(reading.response, check=False)
    for_person = [shown.to_dict() for shown in reading.response.for_person]
    return orjson.dumps({"document": document, "structured": reading.structured, "for_person": for_person}).decode()


def _read(value: Any) -> Reading:
    kept = orjson.loads(value)
    response = decode(kept["document"], bad_display="drop")
    response.for_person = tuple(map(DisplayEnvelope.model_validate, kept["for_person"]))
    return Reading(response, kept["document"], kept["structured"])
