"""What keys and tenants have used, in the database: reserved before a request to a model, settled after it.

Every request has a row of its own, for each account that it counts for; no row is written by more than one request.
Rows that are settled are summed by hours, later. A process that dies leaves what it had reserved, which counts no more
when its time is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from xmcp.chat.errors import ErrorCategory, ProviderError, QuotaExceeded
from xmcp.client.hooks.quota_accounts import NOTHING, Amount
from xmcp.gateway.access import ledger_rows
from xmcp.gateway.access.database_thread import REST_SECONDS, DatabaseDown, DatabaseThread
from xmcp.gateway.access.quota_check import Account, Used, Windows, exceeded
from xmcp.gateway.ids import now_ms, uuid7

if TYPE_CHECKING:
    from xmcp.gateway.audit.drivers import Execute

OWED: Final = 10_000
"""Maximum number of requests that are settled here and not yet in the database; the oldest is given up first, and
counts as it was reserved until its time is over."""

BATCH: Final = 500
"""Maximum number of requests that are settled in one transaction."""

KNOWN: Final = 20_000
"""Maximum number of accounts of which it is known here what they have used."""

ROLL_MS: Final = 60_000
"""How often the rows of an account are summed by each process, in milliseconds."""

_log: Final = logging.getLogger("xmcp.gateway")


class QuotaUnknown(ProviderError):
    """What an account has left cannot be known: the database does not answer, and never did for this account."""

    def __init__(self) -> None:
        super().__init__("The quota cannot be checked: the database does not answer.", category=ErrorCategory.NETWORK)

    def ui_message(self) -> str:
        """Return what happened and what to do, for the person who chats."""
        return "The quota cannot be checked at the moment. Try again in a few seconds."


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a request has reserved, for some accounts, at a time in milliseconds since 1970."""

    id: str
    accounts: Sequence[Account]
    amount: Amount
    at: int


_Decision: TypeAlias = tuple[QuotaExceeded | QuotaUnknown | None, list[Used]]
"""Why a request is refused, and what its accounts have used then, in their order, as far as that is known."""


class Ledger:
    """Reserves and settles.

    While the database does not answer, each process goes on with what it knew of an account: with several processes,
    each can use what was left.

    Args:
        database: Has the rows.
        locks: Whether the database has more than one writer at a time, so that accounts are locked.
        ttl: Seconds after which a reservation that was not settled counts no more: more than a request can take.
        clock: Milliseconds since 1970.
    """

    def __init__(self, database: DatabaseThread, *, locks: bool, ttl: float, clock: Callable[[], int] = now_ms) -> None:
        self._database = database
        self._locks = locks
        self._ttl_ms = round(ttl * 1000)
        self._clock = clock
        self._known: OrderedDict[str, Used] = OrderedDict()
        self._rolled_at: OrderedDict[str, int] = OrderedDict()
        """For the thread of the database alone."""
        self._owed: OrderedDict[str, tuple[Reservation, Amount]] = OrderedDict()
        self._paying: asyncio.Task[None] | None = None

    async def reserve(self, accounts: Sequence[Account], amount: Amount) -> Reservation:
        """Reserve what a request may use, for all accounts or for none.

        Raises:
            QuotaExceeded: it is more than one of them has left.
            QuotaUnknown: the database does not answer, and did not before.
        """
        ordered = sorted(accounts, key=lambda account: account.name)  # so that no two wait for each other's locks
        reservation = Reservation(uuid7(), ordered, amount, self._clock())
        try:
            refused, known = await self._database.run(lambda run: self._reserved(run, reservation))
        except DatabaseDown as down:
            refused, known = self._reserved_here(reservation)
            if refused is not None and down.may_be_done:
                self.settle(reservation, NOTHING)  # it does not take place, and its commit may still come
        except asyncio.CancelledError:
            # The thread may be reserving it, and nobody will settle it.
            self.settle(reservation, NOTHING)
            raise
        for account, used in zip(ordered, known, strict=False):
            self._known[account.name] = used
            self._known.move_to_end(account.name)
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)
        if refused is not None:
            raise refused
        return reservation

    def settle(self, reservation: Reservation, used: Amount) -> None:
        """Count what a request has used instead of what it had reserved. It never waits."""
        self._owed[reservation.id] = reservation, used
        if len(self._owed) > OWED:
            self._owed.popitem(last=False)
            _log.warning("a request was not settled: the database of quotas does not answer for too long")
        if self._paying is None or self._paying.done():
            self._paying = asyncio.create_task(self._pay(), name="xmcp quotas")

    async def flush(self) -> None:
        """Wait until all that was settled is in the database."""
        if self._paying is not None:
            await asyncio.shield(self._paying)

    async def aclose(self, seconds: float = 5.0) -> None:
        """Write what is settled, for so many seconds at most."""
        if self._paying is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.flush()
        self._paying.cancel()
        await asyncio.wait({self._paying})

    def _reserved(self, run: Execute, reservation: Reservation) -> _Decision:
        windows, known = Windows.at(reservation.at), []
        for account in reservation.accounts:
            if self._locks:
                ledger_rows.lock(run, account.name)
            if reservation.at - self._rolled_at.get(account.name, 0) >= ROLL_MS:
                ledger_rows.roll(run, account.name, reservation.at)
                self._rolled_at[account.name] = reservation.at
                self._rolled_at.move_to_end(account.name)
                if len(self._rolled_at) > KNOWN:
                    self._rolled_at.popitem(last=False)
            known.append(ledger_rows.used(run, account.name, windows, reservation.at, reservation.id))
        refused = _refusal(reservation, known, windows)
        if refused is None:
            for account in reservation.accounts:
                expires = reservation.at + self._ttl_ms
                row = ledger_rows.row_of(reservation.id, account.name, reservation.amount)
                ledger_rows.reserve(run, row, windows.hour, expires)
            known = [used.plus(reservation.amount) for used in known]
        return refused, known

    def _reserved_here(self, reservation: Reservation) -> _Decision:
        windows, known = Windows.at(reservation.at), []
        for account in reservation.accounts:
            before = self._known.get(account.name)
            if before is None:
                return QuotaUnknown(), []
            known.append(before.in_windows(windows))
        refused = _refusal(reservation, known, windows)
        return refused, known if refused is not None else [used.plus(reservation.amount) for used in known]

    async def _pay(self) -> None:
        while self._owed:
            batch = list(self._owed.items())[:BATCH]
            owed = [entry for _, entry in batch]
            try:
                await self._database.run(lambda run, owed=owed: self._settled(run, owed))  # type: ignore[misc]
            except DatabaseDown:
                await asyncio.sleep(REST_SECONDS)
                continue
            except Exception:
                _log.exception("requests could not be settled")
            for reservation_id, _ in batch:
                self._owed.pop(reservation_id, None)

    def _settled(self, run: Execute, owed: Sequence[tuple[Reservation, Amount]]) -> None:
        for reservation, amount in owed:
            hour = Windows.at(reservation.at).hour
            for account in reservation.accounts:
                row = ledger_rows.row_of(reservation.id, account.name, amount)
                ledger_rows.settle(run, row, hour, reservation.at + self._ttl_ms)


def _refusal(reservation: Reservation, known: Sequence[Used], windows: Windows) -> QuotaExceeded | None:
    checks = (
        exceeded(account, used, reservation.amount, windows, reservation.at)
        for account, used in zip(reservation.accounts, known, strict=True)
    )
    return next((refused for refused in checks if refused is not None), None)
