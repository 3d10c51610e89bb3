"""The queries of the reports: sums over runs of a time, in rows that a person can read. Each is one statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, case, func, literal, select, union_all

from xmcp.gateway.audit.reading import FAILED
from xmcp.gateway.audit.report import MAX_ROWS, Report, Wanted
from xmcp.gateway.audit.tables import METADATA

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

_STEPS: Final = {"hour": 3_600_000, "day": 86_400_000}

_runs: Final = METADATA.tables["runs"]
_calls: Final = METADATA.tables["tool_invocations"]
_usage: Final = METADATA.tables["usage"]


def usage(connection: Connection, wanted: Wanted) -> Report:
    """Return what was used, by time, tenant and model: runs, requests to models, tokens, cost."""
    tokens = [func.sum(_usage.c[name]).label(name) for name in ("input_tokens", "output_tokens", "cached_tokens")]
    asked = (
        select(
            _bucket(wanted),
            _runs.c.tenant,
            _runs.c.model,
            func.count(_runs.c.id.distinct()).label("runs"),
            func.count(_usage.c.run_id).label("model_calls"),
            *tokens,
            func.sum(_usage.c.cost_micros).label("cost_micros"),
        )
        .select_from(_runs.outerjoin(_usage, _usage.c.run_id == _runs.c.id))
        .group_by("begins_at", _runs.c.tenant, _runs.c.model)
    )
    return _read(connection, wanted, asked)


def tools(connection: Connection, wanted: Wanted) -> Report:
    """Return the calls of tools, by time, server and tool: how many, how they ended, how long they took."""

    def with_status(name: str) -> Any:
        return func.coalesce(func.sum(case((_calls.c.status == name, 1), else_=0)), 0)

    took = case((_calls.c.cached == 1, None), else_=_calls.c.finished_at - _calls.c.intent_at)
    asked = (
        select(
            _bucket(wanted),
            _calls.c.server,
            _calls.c.tool,
            func.count().label("calls"),
            with_status("ok").label("ok"),
            with_status("error").label("errors"),
            with_status("cancelled").label("cancelled"),
            func.coalesce(func.sum(_calls.c.cached), 0).label("cached"),
            func.avg(took).label("mean_ms"),
            func.max(took).label("longest_ms"),
        )
        .select_from(_runs.join(_calls, _calls.c.run_id == _runs.c.id))
        .group_by("begins_at", _calls.c.server, _calls.c.tool)
    )
    return _read(connection, wanted, asked)


def errors(connection: Connection, wanted: Wanted) -> Report:
    """Return what failed, by time: chats by their model, and calls by their tool, with the code of the error."""
    chats = select(
        _bucket(wanted),
        literal("chat").label("what"),
        _runs.c.model.label("name"),
        func.coalesce(_runs.c.error_code, "UNKNOWN").label("code"),
        func.count().label("number"),
        func.max(_runs.c.started_at).label("last_at"),
    ).where(_runs.c.status.in_(FAILED))
    calls = (
        select(
            _bucket(wanted),
            literal("tool").label("what"),
            _calls.c.tool.label("name"),
            func.coalesce(_calls.c.error_code, "UNKNOWN").label("code"),
            func.count().label("number"),
            func.max(_runs.c.started_at).label("last_at"),
        )
        .select_from(_runs.join(_calls, _calls.c.run_id == _runs.c.id))
        .where(_calls.c.status == "error")
    )
    both = union_all(*(one.where(_of(wanted)).group_by("begins_at", "name", "code") for one in (chats, calls)))
    asked = both.order_by("begins_at", "what", "name", "code").limit(MAX_ROWS + 1)
    return _rows(connection.execute(asked).mappings().all())


QUERIES: Final[Mapping[str, Callable[[Connection, Wanted], Report]]] = {
    "usage": usage,
    "tools": tools,
    "errors": errors,
}


def _bucket(wanted: Wanted) -> Any:
    # By a name that no column has: PostgreSQL would group by the column.
    step = _STEPS[wanted.by]
    return (_runs.c.started_at - _runs.c.started_at % step).label("begins_at")


def _of(wanted: Wanted) -> Any:
    of_time = and_(_runs.c.started_at >= wanted.since, _runs.c.started_at < wanted.until)
    return of_time if wanted.tenant is None else and_(of_time, _runs.c.tenant == wanted.tenant)


def _read(connection: Connection, wanted: Wanted, asked: Select[Any]) -> Report:
    # The first three columns say what a row is of.
    order = [*asked.selected_columns][:3]
    asked = asked.where(_of(wanted)).order_by(*order).limit(MAX_ROWS + 1)
    return _rows(connection.execute(asked).mappings().all())


def _rows(found: Any) -> Report:
    return Report(
        [{name: _value(name, value) for name, value in row.items()} for row in found[:MAX_ROWS]], len(found) > MAX_ROWS
    )


def _value(name: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if name in ("begins_at", "last_at"):
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="seconds")
    # PostgreSQL's sums and means are decimals.
    return round(float(value), 1) if name == "mean_ms" else int(value)
