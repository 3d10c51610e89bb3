"""How easily the suite is fooled: each unseen wrong server is caught, and no unseen odd one is blamed.

`nox -s matrix` runs this file; it takes an hour. On its first run, 51, 42, 53 and 43 of the 60 wrong servers of a set
were caught (49 of the last, where tools that write were called), and none, two, one and one of the 20 odd ones blamed.
"""

from __future__ import annotations

import pytest
from server_reports import report_on
from unseen_fourth.registry import unseen_fourth
from unseen_second.registry import unseen_second
from unseen_third.registry import unseen_third

from unseen.registry import Unseen, unseen
from xmcp_conformance.profiles.server.call_plan import Options
from xmcp_conformance.profiles.server.server_under_test import InMemoryPeer

SERVERS = [entry for servers in (unseen, unseen_second, unseen_third, unseen_fourth) for entry in servers().values()]
WRONG = [entry for entry in SERVERS if entry.kind == "wrong"]
ODD = [entry for entry in SERVERS if entry.kind == "odd"]


async def broken(peer: Unseen) -> set[str]:
    """Return the ids that the suite reports broken, those of a SHOULD included."""
    report = await report_on(InMemoryPeer(peer.server().server()), Options(allow_writes=True), whole=True)
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


def test_each_set_has_sixty_wrong_servers_and_twenty_odd_ones() -> None:
    assert (len(WRONG), len(ODD)) == (240, 80)
    assert len({entry.expected[0] for entry in WRONG}) >= 60


@pytest.mark.parametrize("peer", WRONG, ids=lambda peer: str(peer.name))
async def test_a_wrong_server_is_caught(peer: Unseen) -> None:
    assert await broken(peer) & set(peer.expected), peer.description


@pytest.mark.parametrize("peer", ODD, ids=lambda peer: str(peer.name))
async def test_an_odd_server_is_not_blamed(peer: Unseen) -> None:
    assert await broken(peer) == set(), peer.description
