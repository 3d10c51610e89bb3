"""How many requests come in a minute, by account. Pure: the caller brings the time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MINUTE: Final = 60.0

ACCOUNTS: Final = 20_000
"""Maximum number of accounts that are known; the one that asked longest ago is forgotten first."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of requests in a minute. `whose` says in words what it is a limit of."""

    account: str
    whose: str
    per_minute: int


@dataclass(frozen=True, slots=True)
class TooFast:
    """A request that is too many. `wait`: seconds until there is room for one."""

    rate: Rate
    wait: float


class Rates:
    """Counts requests: a minute's worth may come at once, then each when its share of the minute is over."""

    def __init__(self) -> None:
        self._paid_until: OrderedDict[str, float] = OrderedDict()
        """To which moment the requests of an account reach, if each takes its share of the minute."""

    def take(self, rates: Sequence[Rate], now: float) -> TooFast | None:
        """Count a request for all accounts, or for none if it is too many for one of them.

        `now` is in seconds of a monotonic clock.
        """
        paid: dict[str, float] = {}
        for rate in rates:
            until = max(now, self._paid_until.get(rate.account, now)) + MINUTE / rate.per_minute
            # As much as the rounding of so many sums: a minute's worth is exactly so many.
            if until - now > MINUTE + 1e-6:
                return TooFast(rate, until - now - MINUTE)
            paid[rate.account] = until
        for account, until in paid.items():
            self._paid_until[account] = until
            self._paid_until.move_to_end(account)
        while len(self._paid_until) > ACCOUNTS:
            self._paid_until.popitem(last=False)
        return None
