"""Checks of streams that begin after an event (section 7.4)."""

from __future__ import annotations

from collections.abc import Sequence

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.gateway.seen import Misplaced, Resumed, Seen
from xmcp_conformance.profiles.gateway.told import GAP, SNAPSHOT, Told


@check("XMCP-STR-023", profile="gateway")
def _has_what_follows(seen: Seen) -> Observations:
    if not isinstance(seen, Resumed):
        return
    after, events = str(seen.after), seen.events
    if seen.answer.refused:
        yield broken("XMCP-STR-023", f"{seen.answer}, for the events after {after}", "the events that follow")
        return
    if not seen.answer.streams and seen.answer.status != 204:
        return  # XMCP-STR-020 says that
    if events and events[0].type == GAP:
        yield from _stand_in(seen)
        return
    ids = [event.id for event in seen.whole]
    rest = seen.whole[ids.index(after) + 1 :]
    yield either("XMCP-STR-023", *_difference(events, rest, after))


def _stand_in(seen: Resumed) -> Observations:
    """Judge a gap, a snapshot, and what follows that."""
    types = [event.type for event in seen.events]
    snapshot = seen.events[1] if types[1:2] == [SNAPSHOT] else None
    if snapshot is None or snapshot.place is None or GAP in types[1:]:
        seen_ = f"`{GAP}`, then {f'`{quoted(types[1])}`' if types[1:] else 'nothing'}"
        yield broken("XMCP-STR-023", seen_, f"`{SNAPSHOT}` with its id, and what follows that")
        return
    until = snapshot.place.seq
    rest = [event for event in seen.whole if event.place is not None and event.place.seq > until]
    yield either("XMCP-STR-023", *_difference(seen.events[2:], rest, snapshot.id))


def _difference(events: Sequence[Told], rest: Sequence[Told], after: str) -> tuple[bool, str, str]:
    """Return whether the events after an id are the right ones, what was seen, and what was expected."""
    for at, expected in enumerate(rest):
        if at >= len(events):
            return (
                False,
                f"{len(events)} events after {after}, and no `{expected.type}`",
                f"all {len(rest)} that follow",
            )
        got = events[at]
        if (got.id, got.type) != (expected.id, expected.type):
            return False, f"`{quoted(got.type)}` with the id `{quoted(got.id)}`", f"`{expected.type}`, {expected.id}"
        if got.data != expected.data:
            return False, f"other data in `{expected.type}`, {expected.id}, than were sent before", "the same"
    more = len(events) - len(rest)
    return more == 0, f"{more} more events after {after} than were sent before", f"the {len(rest)} that follow"


@check("XMCP-STR-024", profile="gateway")
def _refuses_other_ids(seen: Seen) -> Observations:
    if isinstance(seen, Misplaced):
        ok = 400 <= seen.answer.status < 500
        yield either("XMCP-STR-024", ok, f"{seen.answer}, for `{seen.id}`, {seen.why}", "a status from 400 to 499")
