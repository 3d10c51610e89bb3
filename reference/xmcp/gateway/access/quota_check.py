"""Whether a request to a model fits into what is left of a day and of a month. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from xmcp.chat.errors import QuotaExceeded
from xmcp.client.hooks.quota_accounts import Amount
from xmcp.gateway.grants import Limits

HOUR_MS: Final = 3_600_000
MICROS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Account:
    """What is counted for one key or tenant. `whose` says in words whose it is."""

    name: str
    whose: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class Windows:
    """The day and the month of a moment, by the first hour of each, counted from 1970; and when they end, in ms."""

    hour: int
    day: int
    month: int
    day_ends: int
    month_ends: int

    @classmethod
    def at(cls, now: int) -> Windows:
        """Return those of a moment, in milliseconds since 1970."""
        moment = datetime.fromtimestamp(now / 1000, UTC)
        day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        month = day.replace(day=1)
        next_month = (month + timedelta(days=31)).replace(day=1)
        return cls(now // HOUR_MS, _hour(day), _hour(month), _ms(day + timedelta(days=1)), _ms(next_month))


@dataclass(frozen=True, slots=True)
class Used:
    """What an account has used in a day and in its month, what is reserved included."""

    day: int
    month: int
    day_tokens: int = 0
    month_tokens: int = 0
    month_micros: int = 0

    def plus(self, more: Amount) -> Used:
        """Return it with a further request."""
        return Used(
            self.day,
            self.month,
            self.day_tokens + more.tokens,
            self.month_tokens + more.tokens,
            self.month_micros + micros(more.spend_usd),
        )

    def in_windows(self, now: Windows) -> Used:
        """Return what of it counts in the day and the month of now."""
        if now.month != self.month:
            return Used(now.day, now.month)
        day_tokens = self.day_tokens if now.day == self.day else 0
        return Used(now.day, now.month, day_tokens, self.month_tokens, self.month_micros)


def micros(usd: float) -> int:
    """Return millionths of a dollar."""
    return round(usd * MICROS)


def exceeded(account: Account, used: Used, more: Amount, windows: Windows, now: int) -> QuotaExceeded | None:
    """Return why a request does not fit; `None` if it does."""
    limits = account.limits
    checks: tuple[tuple[str, float, float, float | None, str, int], ...] = (
        ("tokens_per_day", used.day_tokens, more.tokens, limits.tokens_per_day, "{:,.0f} tokens", windows.day_ends),
        (
            "tokens_per_month",
            used.month_tokens,
            more.tokens,
            limits.tokens_per_month,
            "{:,.0f} tokens",
            windows.month_ends,
        ),
        (
            "usd_per_month",
            used.month_micros / MICROS,
            more.spend_usd,
            limits.usd_per_month,
            "${:,.4f}",
            windows.month_ends,
        ),
    )
    for quota, before, added, limit, words, ends in checks:
        if limit is not None and (before >= limit or before + added > limit):
            return _too_much(account, quota, before, added, limit, words, (ends - now) / 1000)
    return None


def _too_much(
    account: Account, quota: str, before: float, added: float, limit: float, words: str, reset: float
) -> QuotaExceeded:
    show = words.format
    period = "day" if quota.endswith("day") else "month"
    if added > limit:
        message = (
            f"This request may use {show(added)}, more than {account.whose} may use in a whole {period}: "
            f"{show(limit)}. Shorten the history or offer fewer tools."
        )
        return QuotaExceeded(message, quota=quota, used=before, limit=limit)
    message = (
        f"The quota of {account.whose} is used up: {show(before)} of {show(limit)} in this {period} are spent or "
        f"reserved, and this request may use {show(added)}. The next {period} begins in {_wait(reset)}."
    )
    return QuotaExceeded(message, quota=quota, used=before, limit=limit, reset=reset)


def _wait(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours / 24:.0f} days" if hours > 48 else f"{hours:.0f} hours" if hours > 2 else f"{seconds / 60:.0f} min"


def _ms(moment: datetime) -> int:
    return round(moment.timestamp()) * 1000


def _hour(moment: datetime) -> int:
    return _ms(moment) // HOUR_MS
