"""Reading runs: lists with sums, and one run with everything that is known of it but the messages (`rebuild`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, or_, select

from xmcp.gateway.audit.schema import opened, require_newest
from xmcp.gateway.audit.tables import METADATA
from xmcp.gateway.audit.valid_rows import checked

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from xmcp.gateway.audit.database import Address

FAILED: Final = ("error", "interrupted")
"""The statuses of runs that failed."""

_runs: Final = METADATA.tables["runs"]
_requests: Final = METADATA.tables["model_requests"]
_calls: Final = METADATA.tables["tool_invocations"]
_usage: Final = METADATA.tables["usage"]
_events: Final = METADATA.tables["events"]
_gaps: Final = METADATA.tables["writer_gaps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs are listed.

    Attributes:
        conversation: The id of the conversation, or the caller's own id of it.
        tenant: Whose runs.
        since: Those that began at or after this time, in milliseconds since 1970.
        failed: Only those that ended with an error or were interrupted.
        limit: How many at most, the newest first.
    """

    conversation: str | None = None
    tenant: str | None = None
    since: int | None = None
    failed: bool = False
    limit: int = 50


@contextmanager
def reading(address: Address, seconds: float | None = None) -> Iterator[Connection]:
    """Open a store for reading; one transaction, so that everything that is read fits together.

    `seconds`: how long a statement may take, and of a SQLite file all of them; default: as for a person who waits.

    Raises:
        AuditError: it cannot be read, or is no audit store of this version.
    """
    with opened(address, read_only=True, seconds=seconds) as connection, connection.begin():
        require_newest(address, connection)
        yield connection


def runs(connection: Connection, wanted: RunFilter) -> list[dict[str, Any]]:
    """Return the columns of each run, with `model_calls`, `tool_calls`, tokens and `cost_micros` of all its calls."""
    asked = select(
        _runs,
        _count(_requests).label("model_calls"),
        _count(_calls).label("tool_calls"),
        *(_sum(name).label(name) for name in ("input_tokens", "output_tokens", "cost_micros")),
    )
    if wanted.conversation is not None:
        asked = asked.where(or_(_runs.c.conversation_id == wanted.conversation, _runs.c.session == wanted.conversation))
    if wanted.tenant is not None:
        asked = asked.where(_runs.c.tenant == wanted.tenant)
    if wanted.since is not None:
        asked = asked.where(_runs.c.started_at >= wanted.since)
    if wanted.failed:
        asked = asked.where(_runs.c.status.in_(FAILED))
    asked = asked.order_by(_runs.c.started_at.desc(), _runs.c.id.desc()).limit(wanted.limit)
    sums = ("input_tokens", "output_tokens", "cost_micros")
    return [checked(_runs, found, *sums) for found in connection.execute(asked).mappings()]


def run_ids(connection: Connection, begin: str, limit: int = 5) -> list[str]:
    """Return the ids of the newest runs whose id begins so; only the id itself, if there is one."""
    exact = connection.execute(select(_runs.c.id).where(_runs.c.id == begin)).scalar()
    if exact is not None:
        return [exact]
    asked = select(_runs.c.id).where(_runs.c.id.startswith(begin, autoescape=True)).order_by(_runs.c.id.desc())
    return list(connection.execute(asked.limit(limit)).scalars())


def conversation_ids(connection: Connection, named: str, limit: int = 5) -> list[str]:
    """Return the conversations of an id, of a caller's own id, or of a run."""
    asked = (
        select(_runs.c.conversation_id)
        .where(or_(_runs.c.conversation_id == named, _runs.c.session == named, _runs.c.id == named))
        .group_by(_runs.c.conversation_id)
        .order_by(func.max(_runs.c.started_at).desc())
    )
    return list(connection.execute(asked.limit(limit)).scalars())


def one_run(connection: Connection, run_id: str) -> dict[str, Any]:
    """Return a run with its calls, its usage, how many events it has, and what was lost while it ran."""
    run = checked(_runs, connection.execute(select(_runs).where(_runs.c.id == run_id)).mappings().one())
    usage = [checked(_usage, one) for one in connection.execute(_of(_usage, run_id, "number")).mappings()]
    calls = _of(_calls, run_id, "turn").order_by(func.coalesce(_calls.c.intent_at, _calls.c.finished_at))
    lost = select(_gaps).where(_gaps.c.to_at >= run["started_at"]).order_by(_gaps.c.from_at)
    if run["finished_at"] is not None:
        lost = lost.where(_gaps.c.from_at <= run["finished_at"])
    return {
        "run": run,
        "model_calls": [
            {**checked(_requests, request), "usage": next((one for one in usage if _key(one) == _key(request)), None)}
            for request in connection.execute(_of(_requests, run_id, "number")).mappings()
        ],
        "tool_calls": [checked(_calls, call) for call in connection.execute(calls).mappings()],
        "events": connection.execute(select(func.count()).where(_events.c.run_id == run_id)).scalar() or 0,
        "usage": {
            name: sum(known) if (known := [one[name] for one in usage if one[name] is not None]) else None
            for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_micros")
        },
        "gaps": [checked(_gaps, gap) for gap in connection.execute(lost).mappings()],
    }


def _of(table: Table, run_id: str, *order: str) -> Any:
    return select(table).where(table.c.run_id == run_id).order_by(table.c.attempt, *(table.c[name] for name in order))


def _key(found: Any) -> tuple[int, int]:
    return found["attempt"], found["number"]


def _count(table: Table) -> Any:
    return select(func.count()).select_from(table).where(table.c.run_id == _runs.c.id).scalar_subquery()


def _sum(name: str) -> Any:
    return select(func.sum(_usage.c[name])).where(_usage.c.run_id == _runs.c.id).scalar_subquery()
