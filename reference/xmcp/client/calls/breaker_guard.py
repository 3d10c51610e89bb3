"""The circuit breakers around calls: asking the store for admission, and reporting how the server behaved.

A store that fails holds no call back, and a report is made also when the call is being cancelled: a probe without a
report would keep its breaker half-open.
"""

from __future__ import annotations

import asyncio
from typing import Final

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed, Cause, CircuitOpenError
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, NextOfAttempt
from xmcp.client.calls.server_results import ServerResult
from xmcp.client.hooks.log import EventLog
from xmcp.client.tools.catalogue import ToolServer
from xmcp.storage.breakers import Admitted, BreakerStore, Outcome, Refused

STORE_SECONDS: Final = 2.0
"""How long the store may take to answer before calls go on without it."""

_OUTCOMES: Final[dict[Cause, Outcome]] = {
    "answer": "ok",
    "connection": "lost",
    "time_out": "failed",
    "client": "unknown",
}
"""What a breaker is told of a call that failed. Whoever answers is alive, whatever the answer is worth."""


class BreakerGuard:
    """Asks the store whether a call may go."""

    def __init__(self, store: BreakerStore) -> None:
        self._store = store
        # A store that never waits needs no time-out, and no task of its own that survives a cancellation. Only its own
        # class can say so: a subclass, or a wrapper that delegates attributes, may wait in methods of its own.
        self._waits = not vars(type(store)).get("never_waits", False)

    async def admit(self, server: ToolServer, log: EventLog) -> Ticket:
        """Return the ticket of a call, with which its outcome must be reported.

        Raises:
            CircuitOpenError: calls of the server are held back.
        """
        try:
            async with asyncio.timeout(STORE_SECONDS if self._waits else None):
                verdict = await self._store.admit(server.identity)
        except Exception as exc:
            log.warning("breaker_failed", operation="admit", reason=type(exc).__name__)
            return Ticket(self._store, None, server, log, waits=False)
        if isinstance(verdict, Refused):
            raise CircuitOpenError(server.name, verdict.retry_after)
        return Ticket(self._store, verdict, server, log, waits=self._waits)


class Ticket:
    """The admission of one call."""

    __slots__ = ("_admitted", "_log", "_server", "_store", "_waits")

    def __init__(
        self, store: BreakerStore, admitted: Admitted | None, server: ToolServer, log: EventLog, *, waits: bool
    ) -> None:
        """`admitted`: `None` where the store failed, which then gets no report either."""
        self._store = store
        self._admitted = admitted
        self._server = server
        self._log = log
        self._waits = waits

    @property
    def is_probe(self) -> bool:
        """Whether this call decides if the breaker closes."""
        return self._admitted is not None and self._admitted.probe

    async def report(self, outcome: Outcome) -> None:
        """Report how the server behaved, in bounded time; a cancellation meanwhile does not keep the store from it."""
        if self._admitted is None:
            return
        if not self._waits:
            await self._record(self._admitted, outcome)
            return
        recording = asyncio.ensure_future(self._record(self._admitted, outcome))
        try:
            await asyncio.shield(recording)
        except asyncio.CancelledError:
            await asyncio.wait({recording}, timeout=STORE_SECONDS)
            raise

    async def _record(self, admitted: Admitted, outcome: Outcome) -> None:
        try:
            async with asyncio.timeout(STORE_SECONDS if self._waits else None):
                state = await self._store.record(self._server.identity, admitted, outcome)
        except Exception as exc:
            self._log.warning("breaker_failed", operation="record", reason=type(exc).__name__)
            return
        if outcome in ("failed", "lost") and state == "open":
            self._log.warning("circuit_open", server=self._server.name)


def stage(breakers: BreakerStore | None) -> AttemptStage | None:
    """Return the stage that refuses calls while their server's circuit breaker is open. It sets `loss_reported`.

    Of each call, one lost connection counts: the client repeats lost calls within a second, so that of a few calls that
    were under way when a server restarted, the attempts alone would open the breaker.
    """
    if breakers is None:
        return None
    guard = BreakerGuard(breakers)

    async def ask_the_breaker(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
        try:
            ticket = await guard.admit(call.entry.server, call.log)
        except CircuitOpenError as exc:
            sent = call.state.attempts > 0
            raise CallFailed(client_made_errors.circuit_open(exc.server, exc.retry_after, sent=sent)) from exc
        outcome: Outcome = "unknown"
        try:
            result = await proceed(call)
            outcome = "ok"
            return result
        except CallFailed as exc:
            outcome = _OUTCOMES[exc.cause]
            if outcome == "lost":
                if call.loss_reported and not ticket.is_probe:
                    outcome = "unknown"
                call.loss_reported = True
            raise
        finally:
            await ticket.report(outcome)

    return ask_the_breaker
