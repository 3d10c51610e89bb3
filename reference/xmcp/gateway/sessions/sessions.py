"""The sessions that this process remembers: the history of each, within the window, and which have a chat that runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xmcp.chat.messages import Message
from xmcp.gateway.runs.kept import Keeping, Kept
from xmcp.gateway.runs.record import RunRecord
from xmcp.gateway.sessions.window import Window, settled, size_of, within
from xmcp.gateway.workers.place import MAX_WORKERS

Name: TypeAlias = tuple[str | None, str]
"""Tenant and the caller's id: the same id of two tenants is two sessions."""


class SessionBusy(Exception):
    """A chat of the session runs; its history has no place for another one beside it."""


@dataclass(frozen=True, slots=True)
class Session:
    """What is remembered of a session.

    Attributes:
        id: The caller's id.
        messages: The history, in the OpenAI chat format; empty while its first chat runs.
        size: About how many bytes it has.
        used_at: When its last chat ended, in seconds since 1970.
        place: Among all that is remembered, by all processes of the gateway; a higher one is newer.
    """

    id: str
    messages: Sequence[Message]
    size: int
    used_at: float
    place: int


class Sessions:
    """Remembers sessions as long as `keeping` says: whose tenant keeps most loses what it has not used for longest."""

    def __init__(self, window: Window, keeping: Keeping) -> None:
        self.window = window
        self._most = keeping.bytes
        self._kept = Kept[Name](keeping)
        self._held: dict[Name, Session] = {}
        self._busy: set[Name] = set()
        self.worker = 0
        """The number of this process among those of the gateway."""
        self._last_place = 0

    def claim(self, name: Name) -> None:
        """Take a session for a chat that continues it; `release`, or `ended`, must follow.

        Raises:
            SessionBusy: another chat has it.
        """
        if name in self._busy:
            raise SessionBusy
        self._busy.add(name)

    def release(self, name: Name) -> None:
        """Give a session back, unchanged."""
        self._busy.discard(name)

    def is_busy(self, name: Name) -> bool:
        """Return whether a chat has it."""
        return name in self._busy

    def get(self, name: Name) -> Session | None:
        """Return a session; `None` if it is not remembered."""
        self._forget_old()
        return self._held.get(name)

    def of(self, tenant: str | None) -> Iterable[Session]:
        """Return the sessions of a tenant; what was used last comes first."""
        self._forget_old()
        return [self._held[name] for name in self._kept.of(tenant)]

    def keep(self, name: Name, history: Sequence[Message]) -> None:
        """Remember a history, within the window, in place of what was remembered; one that is too large is not."""
        self.drop(name)
        found = self.described(name, within(history, self.window))
        if found.size > self._most:
            return  # it would push out all others before itself
        self._held[name] = found
        self._kept.add(name, name[0], found.size, time.monotonic())
        self._forget_old()

    def described(self, name: Name, messages: Sequence[Message]) -> Session:
        """Return a session with a history, which is used now; it is not remembered by this."""
        size = sum(map(size_of, messages)) + size_of({"id": name[1]})
        return Session(name[1], messages, size, time.time(), self._next_place())

    def drop(self, name: Name) -> bool:
        """Remember a session no longer; return whether it was."""
        found = self._held.pop(name, None)
        if found is not None:
            self._kept.remove(name)
        return found is not None

    def ended(self, run: RunRecord) -> None:
        """Take note that a run has ended: remember what it has come to, unless it is not to be remembered."""
        request = run.request
        if request.session_id is None or request.recall is None:
            return
        name = run.caller.tenant, request.session_id
        if request.continues:
            self.release(name)
        elif name in self._busy:
            return  # it ran beside one that continues the session
        if history := settled(run.remembered):
            self.keep(name, history)

    def _next_place(self) -> int:
        self._last_place = max(time.time_ns() // 1000, self._last_place + 1)
        return self._last_place * MAX_WORKERS + self.worker

    def _forget_old(self) -> None:
        for name in self._kept.forget(time.monotonic()):
            del self._held[name]
