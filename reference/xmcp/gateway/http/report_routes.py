"""The routes for whoever looks after a gateway: reports of what was used and what failed, and the cache."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.audit.report import ReportName, Wanted
from xmcp.gateway.audit.reports import ReportsBusy
from xmcp.gateway.http.archive_refusals import not_configured
from xmcp.gateway.http.chats import caller_of, gateway_of
from xmcp.gateway.http.gathering import ASKING, TELLING, others, summed_cache_statistics
from xmcp.gateway.http.refusals import Refused, json_response
from xmcp.gateway.runs.request import Caller
from xmcp.gateway.tenant_cache import TenantCache
from xmcp.storage import CacheError

_log: Final = logging.getLogger("xmcp.gateway")

_DAY: Final = 86_400_000
_LONGEST: Final = {"day": 366 * _DAY, "hour": 31 * _DAY}
_USUAL: Final = {"day": 30 * _DAY, "hour": _DAY}
"""For how long a report is if a caller does not say since when, and at most; in milliseconds."""

_LATEST: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?)?")


def sees_all_tenants(caller: Caller) -> bool:
    """Return whether a caller may see and clear what other tenants have: administrators, and without keys everybody."""
    return caller.tenant is None or "admin" in caller.grant.scopes


async def usage(request: Request) -> Response:
    """`GET /analytics/usage`: runs, requests to models, tokens and cost, by time, tenant and model."""
    return await _report(request, "usage")


async def tools(request: Request) -> Response:
    """`GET /analytics/tools`: calls of tools, how they ended and how long they took."""
    return await _report(request, "tools")


async def errors(request: Request) -> Response:
    """`GET /analytics/errors`: what failed, and why."""
    return await _report(request, "errors")


async def cache_statistics(request: Request) -> Response:
    """`GET /cache/stats`: how often an answer of a tool came from the cache, since the start."""
    caller, cache = caller_of(request), _cache(request)
    counted = cache.statistics if sees_all_tenants(caller) else cache.statistics_of(caller.tenant)
    return json_response(summed_cache_statistics([counted, *await others(request, ASKING)]))


async def clear_cache(request: Request) -> Response:
    """`DELETE /cache`: forget the answers of tools that were kept for the caller's tenant."""
    caller = caller_of(request)
    _cache(request)
    clearing = gateway_of(request).ai.clear_cache(caller.tenant, every_tenant=sees_all_tenants(caller))
    try:
        await asyncio.gather(clearing, others(request, TELLING))
    except CacheError as error:
        _log.warning("answers of tools were not forgotten: %s", error)
        told = "The answers cannot be forgotten at the moment: where they are kept does not answer. Try again."
        raise Refused(503, told, "cache_unavailable", headers={"retry-after": "1"}) from None
    return json_response({"status": "cleared"})


def _cache(request: Request) -> TenantCache:
    cache = gateway_of(request).cache
    if cache is None:
        raise Refused(409, "This gateway keeps no answers of tools: set max_bytes in [cache].", "no_cache")
    return cache


async def _report(request: Request, name: ReportName) -> Response:
    reports = gateway_of(request).reports
    if reports is None:
        raise not_configured()
    wanted = _wanted(request)
    try:
        found = await reports.read(name, wanted)
    except ReportsBusy as error:
        raise Refused(429, f"{error} Try again in 1 s.", "report_running", headers={"retry-after": "1"}) from None
    except AuditError as error:
        # Its words are for whoever runs the gateway: they name the database.
        _log.warning("the report %s was not read: %s", name, error)
        told = "The report cannot be read at the moment, or takes too long. Ask for a shorter time, or try again."
        raise Refused(503, told, "report_unavailable", headers={"retry-after": "5"}) from None
    return json_response(
        {
            "since": _text_of(wanted.since),
            "until": _text_of(wanted.until),
            "by": wanted.by,
            "rows": found.rows,
            "truncated": found.truncated,
        }
    )


def _wanted(request: Request) -> Wanted:
    query, caller = request.query_params, caller_of(request)
    by: Any = query.get("by", "day")
    if by not in _LONGEST:
        raise Refused(400, "by must be day or hour.", "invalid_value", "by")
    until = _milliseconds(request, "until", int(time.time() * 1000))
    since = _milliseconds(request, "since", max(0, until - _USUAL[by]))
    if not 0 <= until - since <= _LONGEST[by]:
        days = _LONGEST[by] // _DAY
        raise Refused(
            400, f"since must be before until, and at most {days} days for rows of a {by}.", "invalid_value", "since"
        )
    return Wanted(None if sees_all_tenants(caller) else caller.tenant, since, until, by)


def _milliseconds(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return default
    try:
        if not _TIME.fullmatch(given):
            raise ValueError
        moment = datetime.fromisoformat(given)
        found = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        if not 0 <= found <= _LATEST:
            raise ValueError
    except (ValueError, OverflowError):
        told = f"{name} must be a time such as 2026-11-30 or 2026-11-30T12:00:00Z."
        raise Refused(400, told, "invalid_value", name) from None
    return found


def _text_of(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")
