"""How easily the suite is fooled: each unseen wrong server is caught, and no unseen odd one is blamed.

`nox -s matrix` runs this file; it takes some twenty minutes. On the first run of each set, 51 of 60 were caught and
none of 20 blamed, and 42 of 60 and two of 20.
"""

from __future__ import annotations

import pytest
from server_reports import report_on
from unseen_second.registry import unseen_second

from unseen.registry import Unseen, unseen
from xmcp_conformance.profiles.server.call_plan import Options
from xmcp_conformance.profiles.server.server_under_test import InMemoryPeer

SERVERS = [*unseen().values(), *unseen_second().values()]
WRONG = [entry for entry in SERVERS if entry.kind == "wrong"]
ODD = [entry for entry in SERVERS if entry.kind == "odd"]


async def broken(peer: Unseen) -> set[str]:
    """Return the ids that the suite reports broken, those of a SHOULD included."""
    report = await report_on(InMemoryPeer(peer.server().server()), Options(), whole=True)
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


def test_each_set_has_sixty_wrong_servers_and_twenty_odd_ones() -> None:
    assert (len(WRONG), len(ODD)) == (120, 40)
    assert len({entry.expected[0] for entry in WRONG}) >= 60


@pytest.mark.parametrize("peer", WRONG, ids=lambda peer: str(peer.name))
async def test_a_wrong_server_is_caught(peer: Unseen) -> None:
    assert await broken(peer) & set(peer.expected), peer.description


@pytest.mark.parametrize("peer", ODD, ids=lambda peer: str(peer.name))
async def test_an_odd_server_is_not_blamed(peer: Unseen) -> None:
    assert await broken(peer) == set(), peer.description
