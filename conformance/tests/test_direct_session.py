"""A session without the SDK of MCP shows the suite what one with it shows."""

from __future__ import annotations

from collections import Counter

import pytest

from xmcp_conformance.core.events import Event, Observed
from xmcp_conformance.profiles.server import blackbox
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import InMemoryPeer
from xmcp_conformance.wrong.registry import server_mutants
from xmcp_conformance.wrong.servers.direct_session import direct_connect
from xmcp_conformance.wrong.servers.miniature import Miniature, Negotiated, Plain

FEW = Options(examples=1, calls=20)
SERVERS = {
    **{server.__name__: server for server in (Miniature, Negotiated, Plain)},
    **{name: server_mutants()[name] for name in ("XMCP-RSP-023", "XMCP-ERR-022", "XMCP-MCP-002")},
}


async def observed(server: Miniature) -> Counter[tuple[str, str, bool, str]]:
    found: Counter[tuple[str, str, bool, str]] = Counter()

    def add(event: Event) -> None:
        if isinstance(event, Observed):
            one = event.observation
            found[event.run, one.requirement, one.ok, event.call] += 1

    await blackbox.check([InMemoryPeer(server.server())], FEW, add)
    return found


@pytest.mark.parametrize("name", SERVERS)
async def test_the_suite_observes_the_same_with_the_sdk_and_without(name, monkeypatch):
    through_sdk = await observed(SERVERS[name]())
    server = SERVERS[name]()
    monkeypatch.setattr(blackbox, "connect", direct_connect(server))
    directly = await observed(server)
    assert directly == through_sdk
    assert sum(directly.values()) > 200
