"""Checks of a chat that is answered with one JSON object (section 10.6)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.gateway.seen import Seen, Whole
from xmcp_conformance.profiles.gateway.told import sum_of


@check("XMCP-REC-044", profile="gateway")
def _says_what_the_events_come_to(seen: Seen) -> Observations:
    if not isinstance(seen, Whole) or seen.answer.refused:
        return
    value = seen.value
    if not value:
        yield broken("XMCP-REC-044", str(seen.answer), "one JSON object")
        return
    found = sum_of(seen.events)
    if not found.complete or not seen.events:
        return
    expected = {
        **({"run_id": found.run_id} if found.run_id else {}),
        "status": found.status,
        "answer": found.end.get("answer"),
        "displays": found.displays,
        "usage": found.end.get("usage"),
        "stop_reason": found.end.get("stop_reason"),
    }
    for name, right in expected.items():
        got = value.get(name)
        seen_ = f"`{name}` {'is missing' if name not in value else quoted(str(got))}"
        yield either("XMCP-REC-044", name in value and got == right, seen_, f"{quoted(str(right))}, as in the events")
    tools = value.get("tools_used")
    used = [
        {name: one.get(name) for name in ("call_id", "tool", "status")}
        for one in (tools if isinstance(tools, list) else [])
        if isinstance(one, dict)
    ]
    right = list(found.tools.values())
    seen_ = f"`tools_used` {quoted(str(used) if isinstance(tools, list) else str(tools))}"
    yield either("XMCP-REC-044", isinstance(tools, list) and used == right, seen_, f"{quoted(str(right))}")
