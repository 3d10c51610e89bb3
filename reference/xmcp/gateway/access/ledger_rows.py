"""The statements of the ledger. Each function is for one transaction, and takes what executes a statement in it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from xmcp.client.hooks.quota_accounts import Amount
from xmcp.gateway.access.quota_check import HOUR_MS, Used, Windows, micros

if TYPE_CHECKING:
    from xmcp.gateway.audit.drivers import Execute

RESERVED: Final = 0
SETTLED: Final = 1
SUMMED: Final = 2

ROLLED_AT_ONCE: Final = 1_000
"""Maximum number of rows that one transaction sums."""

KEPT_HOURS: Final = 24 * 62
"""How long sums are kept: the longest month, and another one for whoever looks."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one request counts for one account."""

    id: str
    account: str
    tokens: int
    cost_micros: int


def row_of(request: str, account: str, amount: Amount) -> Row:
    """Return the row of a request for an account."""
    return Row(_id(request, account), account, amount.tokens, micros(amount.spend_usd))


def _id(request: str, account: str) -> str:
    return f"{request} {account}"


def lock(run: Execute, account: str) -> None:
    """Let no other process reserve for an account until this transaction ends (PostgreSQL)."""
    run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", [f"xmcp quota {account}"])


def used(run: Execute, account: str, windows: Windows, now: int, request: str) -> Used:
    """Return what an account has used and reserved, in the day and the month, for others than this request: it may have
    reserved already, in a transaction of which nobody heard."""
    ((day, month, cost),) = run(
        "SELECT COALESCE(SUM(CASE WHEN hour >= ? THEN tokens ELSE 0 END), 0), COALESCE(SUM(tokens), 0), "
        "COALESCE(SUM(cost_micros), 0) FROM quota_ledger WHERE account = ? AND hour >= ? "
        "AND (state <> ? OR expires_at > ?) AND id <> ?",
        [windows.day, account, windows.month, RESERVED, now, _id(request, account)],
    )
    return Used(windows.day, windows.month, int(day), int(month), int(cost))


def reserve(run: Execute, row: Row, hour: int, expires_at: int) -> None:
    """Write what a request reserves. It may come twice."""
    run(
        "INSERT INTO quota_ledger (id, account, hour, tokens, cost_micros, state, expires_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        [row.id, row.account, hour, row.tokens, row.cost_micros, RESERVED, expires_at],
    )


def settle(run: Execute, row: Row, hour: int, expires_at: int) -> None:
    """Write what a request has used, also if its reservation never came or is gone. It may come twice."""
    run(
        "INSERT INTO quota_ledger (id, account, hour, tokens, cost_micros, state, expires_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET tokens = excluded.tokens, "
        "cost_micros = excluded.cost_micros, state = excluded.state",
        [row.id, row.account, hour, row.tokens, row.cost_micros, SETTLED, expires_at],
    )


def roll(run: Execute, account: str, now: int) -> None:
    """Sum an account's settled rows by hours, and delete what counts no more.

    Only rows whose time is over, so that none is settled a second time after it was summed.
    """
    rows = run(
        "SELECT id, hour, tokens, cost_micros FROM quota_ledger WHERE account = ? AND state = ? AND expires_at < ? "
        "LIMIT ?",
        [account, SETTLED, now, ROLLED_AT_ONCE],
    )
    tokens: defaultdict[int, int] = defaultdict(int)
    costs: defaultdict[int, int] = defaultdict(int)
    for _, hour, count, cost in rows:
        tokens[hour] += count
        costs[hour] += cost
    if rows:
        marks = ", ".join("?" * len(rows))
        run(f"DELETE FROM quota_ledger WHERE id IN ({marks})", [one for one, *_ in rows])  # noqa: S608 - only `?`
    for hour in sorted(tokens):
        run(
            "INSERT INTO quota_ledger (id, account, hour, tokens, cost_micros, state, expires_at) "
            "VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (id) DO UPDATE SET "
            "tokens = quota_ledger.tokens + excluded.tokens, "
            "cost_micros = quota_ledger.cost_micros + excluded.cost_micros",
            [f"{account}@{hour}", account, hour, tokens[hour], costs[hour], SUMMED],
        )
    run(
        "DELETE FROM quota_ledger WHERE account = ? AND (hour < ? OR (state = ? AND expires_at < ?))",
        [account, now // HOUR_MS - KEPT_HOURS, RESERVED, now - HOUR_MS],
    )
