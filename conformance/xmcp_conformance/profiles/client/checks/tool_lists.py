"""Checks of when a client lists the tools of a server that announced no change, or was down (section 11.9)."""

from __future__ import annotations

import math

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.profiles.client.name_resolution import without_name
from xmcp_conformance.profiles.client.trace import Redeployed
from xmcp_conformance.profiles.client.trace_index import TraceIndex

AFTER_UNKNOWN_TOOL = 10.0
"""Seconds within which a client lists tools again after a server did not know one (XMCP-CLI-121)."""
OLDEST = 60.0
"""Seconds after which a chat does not begin with a list of a server that announces nothing (XMCP-CLI-122)."""


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


@check("XMCP-CLI-095", "XMCP-CLI-122", profile="client")
def _no_chat_begins_with_an_old_list(trace: TraceIndex) -> Observations:
    for at, record in enumerate(trace.records):
        if not isinstance(record, Redeployed):
            continue
        was_down = not trace.setup.servers[record.server].reachable
        id_ = "XMCP-CLI-095" if was_down else "XMCP-CLI-122"
        did = "without the tools of" if was_down else "with tools that it does not have any more of"
        for chat in trace.chats.values():
            if chat.began.time > record.time + OLDEST and chat.asks:
                asked_at = chat.asks[0][0]
                listed = any(one.server == record.server for _, one in trace.lists_between(at, asked_at))
                if was_down:
                    asked = chat.asks[0][1]
                    listed = not without_name(trace.setup, asked, record.tools, trace.called_by, trace.own_tools)
                seen = f"a chat began {did} server {record.server}"
                yield either(id_, listed, seen, f"a list within {OLDEST:g} s", where=asked_at)


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
