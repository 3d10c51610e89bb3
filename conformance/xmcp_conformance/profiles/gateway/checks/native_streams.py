"""Checks of the events of a run as server-sent events (section 7.4)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.gateway.exchange import EVENTS, Answer
from xmcp_conformance.profiles.gateway.seen import Cancelled, Resumed, Seen, Streamed
from xmcp_conformance.profiles.gateway.told import GAP, LAST, Told
from xmcp_conformance.reader.schemas import faults


@check("XMCP-STR-020", profile="gateway")
def _are_server_sent_events(seen: Seen) -> Observations:
    if not isinstance(seen, Streamed | Resumed) or seen.answer.refused or seen.answer.status == 204:
        return
    answer = seen.answer
    if not answer.streams:
        yield broken("XMCP-STR-020", str(answer), f"a stream of `{EVENTS}`")
        return
    fault = _of_bytes(answer)
    yield either("XMCP-STR-020", not fault, fault, "server-sent events in UTF-8")
    for at, event in enumerate(seen.events):
        seen_ = (
            "an event without a name" if not event.type else f"`data` of `{quoted(event.type)}` that are {event.fault}"
        )
        expected = "its type as `event`" if not event.type else "one JSON object"
        yield either("XMCP-STR-020", bool(event.type) and not event.fault, seen_, expected, where=at)


def _of_bytes(answer: Answer) -> str:
    return answer.fault or ("half an event, and then the end of the stream" if answer.cut and answer.events else "")


@check("XMCP-STR-021", profile="gateway")
def _count_their_places(seen: Seen) -> Observations:
    if not isinstance(seen, Streamed):
        return
    run, before = "", None
    for at, event in enumerate(seen.events):
        if event.type == GAP:
            continue
        run = run or event.member("run_id", str) or ""
        place = event.place
        if place is None or (run and place.run != run):
            yield broken("XMCP-STR-021", _id(event), f"{run or 'the id of the run'}, attempt and `seq`", where=at)
            return
        if before is None and event.type != "run.started":
            before = place  # XMCP-STR-022 says that the first event is missing
            continue
        expected = (1, 1) if before is None else (before.attempt, before.seq + 1)
        begun_again = before is not None and (place.attempt, place.seq) == (before.attempt + 1, 1)
        ok = (place.attempt, place.seq) == expected or begun_again
        yield either("XMCP-STR-021", ok, _id(event), f"{place.run}:{expected[0]}:{expected[1]}", where=at)
        if not ok:
            return  # all that follow would be as wrong
        before = place


def _id(event: Told) -> str:
    return f"the id `{quoted(event.id)}` of `{quoted(event.type)}`"


@check("XMCP-STR-022", profile="gateway")
def _begin_and_end(seen: Seen) -> Observations:
    if not isinstance(seen, Streamed) or not seen.answer.streams or seen.answer.refused:
        return
    types = [event.type for event in seen.events]
    first = f"`{quoted(types[0])}`" if types else "no event"
    yield either("XMCP-STR-022", types[:1] == ["run.started"], f"{first} at the beginning", "`run.started`", where=0)
    if isinstance(seen, Cancelled) and seen.was_left:
        return
    ends = [at for at, type_ in enumerate(types) if type_ in LAST]
    last = f"the end of the stream after `{quoted(types[-1])}`" if types else "a stream without events"
    if len(ends) > 1 or (ends and ends[0] < len(types) - 1):
        last = f"`{quoted(types[ends[0] + 1])}` after `{types[ends[0]]}`"
    yield either("XMCP-STR-022", ends == [len(types) - 1], last, f"one of {', '.join(LAST)}, as the last event")


@check("XMCP-STR-025", profile="gateway")
def _cancelled_ends_as_cancelled(seen: Seen) -> Observations:
    if not isinstance(seen, Cancelled) or not seen.events:
        return
    last = seen.events[-1].type
    if last == "run.cancelled":
        yield obeyed("XMCP-STR-025", where=len(seen.events) - 1)
    elif seen.waited > seen.grace or last == "run.error":
        how = f"`{quoted(last)}` as the last event, {seen.waited:.1f} s after the run was cancelled"
        yield broken("XMCP-STR-025", how, "`run.cancelled`", where=len(seen.events) - 1)


@check("XMCP-REC-001", profile="gateway")
def _are_valid(seen: Seen) -> Observations:
    if isinstance(seen, Streamed | Resumed):
        yield from schema_faults(seen.events)


def schema_faults(events: list[Told]) -> Observations:
    """Yield what the schema of events says of each; what is no event at all breaks another sentence."""
    for at, event in enumerate(events):
        if event.fault or not event.type:
            continue
        fault = next(faults("run_event", event.to_json()), None)
        seen = f"an event `{quoted(event.type)}` that is not valid: {fault}"
        yield either("XMCP-REC-001", fault is None, seen, "as schemas/run_event.schema.json says", where=at)
