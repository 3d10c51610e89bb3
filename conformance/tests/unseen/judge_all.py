"""How easily the suite is fooled: each unseen wrong server is caught, and no unseen odd one is blamed.

`nox -s matrix` runs this file; it takes an hour. On its first run, 51, 42, 53, 43, 51, 54, 54, 58, 54, 51, 58, 57, 58
and 54 of the 60 wrong servers of a set were caught (49 of the fourth, where tools that write were called), and none,
two, one, one, none, none, one, two, none, two, one, none, none and one of the 20 odd ones blamed. The authors of the
tenth and of the twelfth were asked to repeat no idea of one or two before. Four of the six that escaped from the
fourteenth broke sentences that no check judged.
"""

from __future__ import annotations

from typing import Final

import pytest
from server_reports import report_on
from unseen_eighth.registry import unseen_eighth
from unseen_eleventh.registry import unseen_eleventh
from unseen_fifth.registry import unseen_fifth
from unseen_fourteenth.registry import unseen_fourteenth
from unseen_fourth.registry import unseen_fourth
from unseen_ninth.registry import unseen_ninth
from unseen_second.registry import unseen_second
from unseen_seventh.registry import unseen_seventh
from unseen_sixth.registry import unseen_sixth
from unseen_tenth.registry import unseen_tenth
from unseen_third.registry import unseen_third
from unseen_thirteenth.registry import unseen_thirteenth
from unseen_twelfth.registry import unseen_twelfth

from unseen.registry import Unseen, unseen
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import InMemoryPeer

SETS = (
    *(unseen, unseen_second, unseen_third, unseen_fourth, unseen_fifth, unseen_sixth, unseen_seventh, unseen_eighth),
    *(unseen_ninth, unseen_tenth, unseen_eleventh, unseen_twelfth, unseen_thirteenth),
    unseen_fourteenth,
)
SERVERS = [entry for servers in SETS for entry in servers().values()]
WRONG = [entry for entry in SERVERS if entry.kind == "wrong"]
ODD = [entry for entry in SERVERS if entry.kind == "odd"]


NOT_ODD: Final = {
    "titles-full-of-markup": {"XMCP-DSP-011"},
    "strange-names": {"XMCP-ERR-021"},
    "names-at-the-edge": {"XMCP-ERR-021"},
}
"""What odd servers break all the same, against the intention of their authors, by their names."""


NOT_SEEN: Final = {
    "tidy-lines": "the tool itself could do the same to its text, and there is no plain result beside the document",
    "unix-lines": "the tool itself could do the same to its text, and there is no plain result beside the document",
    "any-day": "`format` is an annotation in the dialect of the schema: a server need not refuse by it",
    "no-output": "the tool could have had something to say the second time",
    "null-is-a-hint": "the tool could say more the second time",
    "reminder-for-both": "an author can say the same to both, and there is no plain result beside the document",
    "names-what-lacks-it": "a missing member is refused by the pointer of its object too, which is the argument",
    "skips-what-looks-escaped": "the tool itself could do the same to its text, and there is no plain result beside it",
    "says-inf": "no request makes a tool return an infinity alone: XMCP-RSP-092 is for a server with known tools",
    "slugs-for-tags": "the text does not say of which data it was made: XMCP-RSP-090 is judged by vectors",
    "overheard-aside": "an author can say the same to both, and there is no plain result beside the document",
}
"""Wrong servers that nobody can tell from right ones by their answers, by their names, each with the reason."""
NOT_REACHED: Final = {
    "every-note": "three values at once: a panel for groups, a long list, one parameter left out; pairs are tried",
    "ruled-lines": "more than ten rows, which need a large limit, a large bound and no other page at once",
    "two-to-the53": "one number of all in one place of a map that takes values of each type",
    "null-unboxed": "a failure with `show_user` null is not compared with the answer to the call without it",
    "doubles-of-java-script": "a double from 2^53 up, written as one, in a map of numbers; integers are sent there",
    "words-for-both": "what the block says is taken for a text that the document lacks, and XMCP-RSP-020 is reported",
    "repeats-the-note": "documents alone: equal calls of one form are not compared for what is for the user alone",
    "data-for-everybody": "structured content can be the author's own, and there is more of it beside a display",
    "cut-to-fit": "a text of which only the beginning comes to a client that reads less is not told from a shorter one",
}
"""Wrong servers that escape because the occasion does not come."""


async def broken(peer: Unseen) -> set[str]:
    """Return the ids that the suite reports broken, those of a SHOULD included."""
    report = await report_on(InMemoryPeer(peer.server().server()), Options(allow_writes=True), whole=True)
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


def test_each_set_has_sixty_wrong_servers_and_twenty_odd_ones() -> None:
    assert (len(WRONG), len(ODD)) == (840, 280)
    assert len({entry.expected[0] for entry in WRONG}) >= 60


@pytest.mark.parametrize("peer", WRONG, ids=lambda peer: str(peer.name))
async def test_a_wrong_server_is_caught(peer: Unseen) -> None:
    assert bool(await broken(peer) & set(peer.expected)) is (peer.name not in NOT_SEEN | NOT_REACHED), peer.description


@pytest.mark.parametrize("peer", ODD, ids=lambda peer: str(peer.name))
async def test_an_odd_server_is_not_blamed(peer: Unseen) -> None:
    assert await broken(peer) == NOT_ODD.get(peer.name, set()), peer.description
