"""Checks of when a client lists the tools of a server again that announced no change (section 11.9)."""

from __future__ import annotations

import math

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, obeyed
from xmcp_conformance.profiles.client.trace import Redeployed
from xmcp_conformance.profiles.client.trace_index import TraceIndex

AFTER_UNKNOWN_TOOL = 10.0
"""Seconds within which a client lists tools again after a server did not know one (XMCP-CLI-121)."""
REGULARLY = 60.0
"""Seconds within which a client lists the tools of a server again that announces nothing (XMCP-CLI-122)."""


@check("XMCP-CLI-121", profile="client")
def _listed_after_unknown_tool(trace: TraceIndex) -> Observations:
    for at, record in enumerate(trace.records):
        if not isinstance(record, Redeployed):
            continue
        refused = [
            attempt.ended_at
            for attempt in trace.attempts_at(record.server)
            if at < attempt.at and attempt.error.get("code") == "UNKNOWN_TOOL"
        ]
        if refused:
            yield from _listed_within(trace, "XMCP-CLI-121", record.server, at, min(refused), AFTER_UNKNOWN_TOOL)


@check("XMCP-CLI-122", profile="client")
def _listed_regularly(trace: TraceIndex) -> Observations:
    for at, record in enumerate(trace.records):
        if isinstance(record, Redeployed):
            yield from _listed_within(trace, "XMCP-CLI-122", record.server, at, at, REGULARLY)


def _listed_within(trace: TraceIndex, id_: str, server: int, changed: int, since: int, seconds: float) -> Observations:
    """Judge whether the tools that a server had since `changed` were listed in time, from the record `since` on."""
    listed = [at for at, one in trace.lists_between(changed, len(trace.records)) if one.server == server]
    at = listed[0] if listed else None
    until = trace.time(since) + seconds
    if at is not None and trace.time(at) <= until:
        yield obeyed(id_, where=max(at, since))
        return
    end = trace.time(len(trace.records) - 1) if at is None else math.inf
    if end > until:
        seen = f"the new tools of server {server} were not listed" + ("" if at is None else " in time")
        yield broken(id_, seen, f"a list within {seconds:g} s", where=since)
