"""What the database has after a run: read with the statements below, and nothing of the gateway but its driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.drivers import driver_for


class RunRow(NamedTuple):
    """A run of the audit."""

    tenant: str
    status: str


class Counted(NamedTuple):
    """What was counted for a tenant: tokens that the model reported, and how many answers are estimated."""

    reported: int = 0
    estimates: int = 0


@dataclass(frozen=True)
class Records:
    """What was found of the tenants of this run."""

    runs: Mapping[str, RunRow] = field(default_factory=dict)
    usage: Mapping[str, Counted] = field(default_factory=dict)
    ledger: Mapping[str, int] = field(default_factory=dict)
    """Tokens by tenant."""
    open: Mapping[str, int] = field(default_factory=dict)
    """Reservations by tenant that nobody has settled."""
    lost: int = 0
    """Records that the writer gave up, in the whole database."""


def records_of(database: str, tag: str) -> Records:
    """Read what a database has of the tenants with a tag."""
    driver, like = driver_for(address_of(database)), f"%x{tag}"
    driver.connect()
    try:
        with driver.transaction() as run:
            runs = run("SELECT id, tenant, status FROM runs WHERE tenant LIKE ?", [like])
            usage = run(
                "SELECT runs.tenant, estimated, SUM(COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0)), COUNT(*) "
                "FROM usage JOIN runs ON runs.id = run_id WHERE runs.tenant LIKE ? GROUP BY runs.tenant, estimated",
                [like],
            )
            ledger = run(
                "SELECT account, SUM(tokens), SUM(CASE WHEN state = 0 THEN 1 ELSE 0 END) FROM quota_ledger "
                "WHERE account LIKE ? GROUP BY account",
                [f"tenant:{like}"],
            )
            lost = run("SELECT COALESCE(SUM(dropped), 0) FROM writer_gaps", [])
    finally:
        driver.close()
    return Records(
        {id_: RunRow(tenant, status) for id_, tenant, status in runs},
        _counted(usage),
        {account.partition(":")[2]: int(tokens) for account, tokens, _ in ledger},
        {account.partition(":")[2]: int(open_) for account, _, open_ in ledger if open_},
        int(lost[0][0]),
    )


def _counted(rows: list[tuple[Any, ...]]) -> dict[str, Counted]:
    counted: dict[str, Counted] = {}
    for tenant, estimated, tokens, number in rows:
        more = {"estimates": int(number)} if estimated else {"reported": int(tokens)}
        counted[tenant] = counted.get(tenant, Counted())._replace(**more)
    return counted
