"""What is asked of one process of a gateway and is a matter of all: the others get the same request, and their answers
are put together. Each answers for itself what another one sends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request

from xmcp.gateway.http.handing_on import headers_of, target_of
from xmcp.gateway.http.homes import peers_of

ASKING: Final = 2.0
"""How long others may take to say something, in seconds."""

TELLING: Final = 10.0
"""How long others may take to do something, in seconds."""

_WORST: Final = ("ok", "degraded", "draining")
_AUDIT_SUMS: Final = ("waiting", "spilled_bytes", "dropped_records")


async def others(request: Request, seconds: float) -> list[Any]:
    """Return what the other processes answer to a request without a body; who does not in time is left out, and logged.

    Nobody else is asked where there is one process, or where another one asks this one.
    """
    if (peers := peers_of(request)) is None:
        return []
    scope = request.scope
    # Also who wants the head alone gets that of what all answer.
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    return await peers.values_of_all(method, target_of(scope), headers_of(scope), seconds=seconds)


def merged_sessions(lists: Sequence[Sequence[Mapping[str, Any]]], limit: int) -> dict[str, Any]:
    """Return the newest sessions of all lists, as a page; each list has one more than `limit` if it has more."""
    found = sorted((one for listed in lists for one in listed), key=lambda one: one["place"], reverse=True)
    shown = found[:limit]
    told = [{name: value for name, value in one.items() if name != "place"} for one in shown]
    return {"sessions": told, "next": str(shown[-1]["place"]) if len(found) > limit else None}


def summed_cache_statistics(counted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the statistics of all caches together."""
    sums = {name: sum(one[name] for one in counted) for name in ("hits", "misses", "writes")}
    asked = sums["hits"] + sums["misses"]
    return {**sums, "hit_rate": round(sums["hits"] / asked, 4) if asked else 0.0}


def merged_health(told: Sequence[Mapping[str, Any]], count: int) -> dict[str, Any]:
    """Return how `count` processes are together, as far as they answered; the first one is asked by a caller.

    It is as bad as the worst of them: a server is connected if it is in all of them, and a store up if it is for all.
    """
    own = told[0]
    status = _worst(one["status"] for one in told)
    connected = [{server["name"] for server in one["servers"] if server["connected"]} for one in told]
    together = {
        "status": _worst((status, "ok" if len(told) == count else "degraded")),
        "runs": {name: sum(one["runs"][name] for one in told) for name in own["runs"]},
        "servers": [
            {**server, "connected": all(server["name"] in names for names in connected)} for server in own["servers"]
        ],
        "backends": {
            name: "up" if all(one["backends"].get(name) == "up" for one in told) else "down" for name in own["backends"]
        },
        "workers": {"count": count, "answering": len(told)},
    }
    if "audit" in own:
        together["audit"] = _merged_audit([one["audit"] for one in told])
    return {**own, **together}


def _merged_audit(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums = {name: sum(one.get(name, 0) for one in told) for name in _AUDIT_SUMS if any(name in one for one in told)}
    return {"status": _worst(one["status"] for one in told), **sums}


def _worst(statuses: Iterable[str]) -> str:
    return max(statuses, key=_WORST.index)
