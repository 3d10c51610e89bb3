"""The records of what scripted servers send say what a person needs to understand them."""

from __future__ import annotations

import pytest

from xmcp_conformance.profiles.client.judge import violations
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.profiles.client.server_messages import answer
from xmcp_conformance.profiles.client.trace import Answered
from xmcp_conformance.wrong.clients.calls import turn
from xmcp_conformance.wrong.clients.trace_builder import call, result

UNREADABLE = ("documents that cannot be read", "a document behind a picture")


def sent(name: str) -> list[Answered]:
    """Return the records of the answers of the first tool of a scenario."""
    scenario = SCENARIOS[name]
    return [answer(act, "a", 1, "t", scenario.setup.servers[0])[1] for act in scenario.acts[0]]


def test_a_document_that_cannot_be_read_is_recorded_with_the_reason():
    reasons = [str(one.why_unreadable) for name in UNREADABLE for one in sent(name)]
    assert reasons[2] == "the first block is for the user alone"
    assert reasons[-2:] == ["`content` is an empty list", "the first block is no text, but of the type `image`"]
    assert all(why.startswith("XMCP-RSP-") for why in [*reasons[:2], *reasons[3:-2]]), reasons


@pytest.mark.parametrize("why", [None, "the first block is for the user alone"])
def test_the_reason_is_in_what_was_seen(why):
    s = turn(call())
    s.answered(s.called(), result("It is 4713."), readable=False, why_unreadable=why)
    s.reply(content=result("Seven."))
    s.finish()
    (violation,) = violations(s.trace)
    told = f" ({why})" if why else ""
    assert violation.requirement == "XMCP-MCP-012"
    assert violation.seen == f"the call `t1` of `search`, whose document cannot be read{told}, is answered by a result"
