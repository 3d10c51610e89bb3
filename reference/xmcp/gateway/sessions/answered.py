"""The conversations after chats from which clients go on by the id of a response, without the name of a session."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xmcp.chat.messages import Message
from xmcp.gateway.runs.kept import Keeping, Kept
from xmcp.gateway.runs.record import RunRecord
from xmcp.gateway.sessions.window import Window, size_of, within


@dataclass(frozen=True, slots=True)
class _Answer:
    tenant: str | None
    session: str | None
    history: Sequence[Message]


class Answered:
    """Remembers them as long as `keeping` says: whose tenant keeps most loses what it has not used for longest."""

    def __init__(self, window: Window, keeping: Keeping) -> None:
        self._window = window
        self._kept = Kept[str](keeping)
        self._held: dict[str, _Answer] = {}

    def get(self, run_id: str, tenant: str | None) -> Sequence[Message] | None:
        """Return the conversation after a run of a tenant, within the window; `None` if it is not remembered."""
        self._forget_old()
        found = self._held.get(run_id)
        return None if found is None or found.tenant != tenant else found.history

    def ended(self, run: RunRecord) -> None:
        """Take note that a run has ended. Calls that are left to the client stay open in its conversation."""
        if run.request.stored and run.history:
            history = within(run.history, self._window)
            self._held[run.id] = _Answer(run.caller.tenant, run.request.session_id, history)
            self._kept.add(run.id, run.caller.tenant, sum(map(size_of, history)), time.monotonic())
            self._forget_old()

    def forget(self, tenant: str | None, is_meant: Callable[[str, str | None], bool]) -> None:
        """Forget those of a tenant that are meant; `is_meant` is told the id of a run, and of its session."""
        for run_id in self._kept.of(tenant):
            if is_meant(run_id, self._held[run_id].session):
                self._kept.remove(run_id)
                del self._held[run_id]

    def _forget_old(self) -> None:
        for run_id in self._kept.forget(time.monotonic()):
            del self._held[run_id]
