"""What tenants have used in their windows of time, and what a token of a model costs them on average."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

KNOWN_PRICES: Final = 10_000
"""How many average prices are kept, one for each tenant and model; the one not updated for longest is dropped first."""

DROPPED_PER_USE: Final = 8
"""How many expired windows one use removes: more than the one that it can open, but few enough to be fast."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant may use: `tokens` and `spend_usd` in a window, `parallel_calls` of tools at once. `None`: no limit.

    Raises ValueError for a count or an amount of money that is not valid.
    """

    tokens: int | None = None
    spend_usd: float | None = None
    parallel_calls: int | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "parallel_calls"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.spend_usd is not None and not is_amount(self.spend_usd):
            raise ValueError(f"spend_usd takes dollars from 0 on, not {self.spend_usd!r}.")


def check_count(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a whole number from 0 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} takes a whole number from 0 on, not {value!r}.")


def is_amount(value: object) -> bool:
    """Return whether `value` is a finite number from 0 on."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and dollars."""

    tokens: int = 0
    spend_usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.spend_usd + other.spend_usd)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.tokens - other.tokens, self.spend_usd - other.spend_usd)


NOTHING: Final = Amount()


@dataclass(slots=True, eq=False)
class Account:
    """What one tenant has used in its window, and is using now. `ends`: when the window ends."""

    ends: float
    quota: Quota = Quota()
    spent: Amount = NOTHING
    reserved: Amount = NOTHING
    llm_calls: int = 0
    running: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    @property
    def in_use(self) -> bool:
        """Whether calls of the tenant run or wait."""
        return bool(self.llm_calls or self.running or self.waiting)

    @property
    def has_place(self) -> bool:
        """Whether one more tool call may run."""
        return self.quota.parallel_calls is None or self.running < self.quota.parallel_calls

    def admit(self) -> None:
        """Give the free places to the calls that wait, first come, first served."""
        while self.waiting and self.has_place:
            place = self.waiting.popleft()
            if not place.done():
                self.running += 1
                place.set_result(None)

    def leave(self) -> None:
        """Give a place back."""
        self.running -= 1
        self.admit()


class Accounts:
    """The accounts of tenants that have a window open; ended ones are dropped little by little.

    Args:
        window: Seconds.
        clock: Seconds; it should not go back.
    """

    def __init__(self, window: float, clock: Callable[[], float]) -> None:
        self._window = window
        self._clock = clock
        self._accounts: OrderedDict[str | None, Account] = OrderedDict()
        """By the end of the window, except that accounts in use may have moved back."""

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._accounts)

    def __len__(self) -> int:
        return len(self._accounts)

    def peek(self, tenant_id: str | None) -> Account:
        """Return the account of a tenant as it is now, without opening a window."""
        account = self._accounts.get(tenant_id)
        return Account(-math.inf) if account is None else account

    def open(self, tenant_id: str | None, quota: Quota) -> Account:
        """Return the account that a call uses now, in an open window and with this quota."""
        self._drop_ended()
        account = self._accounts.get(tenant_id)
        if account is None:
            account = self._accounts[tenant_id] = Account(self._clock() + self._window)
        self.renew(tenant_id, account)
        account.quota = quota
        return account

    def renew(self, tenant_id: str | None, account: Account) -> None:
        """Begin a new window if that of the account has ended."""
        now = self._clock()
        if now >= account.ends:
            account.spent, account.ends = NOTHING, now + self._window
            self._accounts.move_to_end(tenant_id)

    def _drop_ended(self) -> None:
        now = self._clock()
        for _ in range(min(DROPPED_PER_USE, len(self._accounts))):
            tenant_id, account = next(iter(self._accounts.items()))
            if now < account.ends:
                return
            if account.in_use:
                self._accounts.move_to_end(tenant_id)
            else:
                del self._accounts[tenant_id]


Priced: TypeAlias = tuple[str | None, str, str | None]
"""The key of an average price: tenant, provider and model of the request."""


class AveragePrices:
    """What a token has cost on average, by tenant and model, from the calls whose cost was known."""

    def __init__(self) -> None:
        self._paid: OrderedDict[Priced, Amount] = OrderedDict()
        """The one updated last is the last."""

    def __len__(self) -> int:
        return len(self._paid)

    def of(self, priced: Priced) -> float:
        """Return dollars per token; 0 while nothing is known."""
        paid = self._paid.get(priced)
        return paid.spend_usd / paid.tokens if paid else 0.0

    def learn(self, priced: Priced, paid: Amount) -> None:
        """Take the known cost of a call into the average."""
        if not paid.tokens:
            return
        self._paid[priced] = self._paid.get(priced, NOTHING) + paid
        self._paid.move_to_end(priced)
        if len(self._paid) > KNOWN_PRICES:
            self._paid.popitem(last=False)
