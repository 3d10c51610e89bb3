"""Checks of the circuit breaker of each server (section 11.4), as the attempts show its state.

Which failures count is not exactly the same for every client. So the breaker is taken to be open when as many calls
in a row as the threshold failed in transport, or attempts ran out of time, each begun when the failure before it was
known. It is taken to be closed while there were fewer failures since it last closed, where calls lost with one
connection are one. In between nothing is judged.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import Observation, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import NEVER, Attempt, ModelCall

_COUNTS, _HOLDS, _PROBES, _DECIDES = "XMCP-CLI-042", "XMCP-CLI-043", "XMCP-CLI-044", "XMCP-CLI-045"
_ONCE, _OWN, _ALIVE = "XMCP-CLI-100", "XMCP-CLI-101", "XMCP-CLI-102"


class _Phase(Enum):
    CLOSED = auto()
    OPEN = auto()
    PROBED = auto()  # one call is let through
    UNSURE = auto()


@dataclass(slots=True)
class _Moment:
    """The state of the breaker from the record at index `at` on."""

    at: int
    phase: _Phase
    failures: int
    not_counted: Counter[str]
    closed_by: str
    since: float
    until: float
    until_at_most: float
    reopened: bool
    probed_by: str


@dataclass(slots=True)
class _Breaker:
    threshold: int
    reset_after: float
    instant: float
    """How far apart, in seconds, records can be that count as simultaneous."""
    phase: _Phase = _Phase.CLOSED
    failures: int = 0
    """The number of transport failures since it was last closed."""
    row: set[int] = field(default_factory=set)
    """The calls that failed in a row."""
    not_counted: Counter[str] = field(default_factory=Counter)
    """By the sentence that says so: the number of calls since it was last closed that are no failures."""
    known: tuple[Attempt, float] | None = None
    """The last failure in `row`, with its time."""
    loss: Attempt | None = None
    """The last lost connection: the attempt that showed it first."""
    since: float = 0.0
    until: float = 0.0
    until_at_most: float = 0.0
    reopened: bool = False
    opened_by: Attempt | None = None
    opened_at: int = -1
    """The record at which it last opened: what was sent before that does not count any more."""
    probe: Attempt | None = None
    probed_by: str = _PROBES
    """The sentence by which the next call must be let through; another one if the client ended the last probe."""
    closed_by: str = ""
    """The sentence by which the answer to a probe closed it; empty if it was never open."""
    now: float = 0.0
    doubted: float = 0.0
    moments: list[_Moment] = field(default_factory=list)
    findings: list[Observation] = field(default_factory=list)

    def note(self, at: int) -> None:
        """Record the present state, which holds from this record on."""
        self.moments.append(
            _Moment(
                at,
                self.phase,
                self.failures,
                self.not_counted.copy(),
                self.closed_by,
                self.since,
                self.until,
                self.until_at_most,
                self.reopened,
                self.probed_by,
            )
        )

    def begins(self, attempt: Attempt) -> None:
        """Take the beginning of an attempt into account."""
        seen = f"`{attempt.tool or 'a tool'}` was called"
        if self.phase is _Phase.CLOSED and self.threshold > self.failures:
            kinds = [id_ for id_, number in self.not_counted.items() if number >= self.threshold]
            self.findings.extend(obeyed(id_, where=attempt.at) for id_ in kinds)
        elif self.phase is _Phase.OPEN and _is_known_to(attempt, self.opened_by, self.since, self.instant):
            if attempt.begun < self.until - self.instant:
                blamed = _DECIDES if self.reopened else _HOLDS
                again = ", after its one call had failed" if self.reopened else ""
                self.findings.append(
                    broken(blamed, f"{seen} while the breaker is open{again}", "no call", where=attempt.at)
                )
                self.phase = _Phase.UNSURE
            elif attempt.begun >= self.until_at_most - self.instant:
                self.phase, self.probe = _Phase.PROBED, attempt
                self.findings.append(obeyed(self.probed_by, where=attempt.at))
                if self.reopened:
                    self.findings.append(obeyed(_DECIDES, where=attempt.at))
            else:
                self.phase = _Phase.UNSURE
        elif self.phase is _Phase.PROBED and attempt is not self.probe:
            expected = "no other call before the one that was let through has ended"
            self.findings.append(broken(_PROBES, f"{seen} besides it", expected, where=attempt.at))
        self.note(attempt.at)

    def ends(self, attempt: Attempt, at: int, now: float) -> None:
        """Take the end of an attempt into account."""
        self.now = now
        if attempt.transport_failed:
            self._failed(attempt, now)
        elif attempt.was_answered or attempt.outcome == "too_large":
            self._answered(attempt)
        else:
            call = attempt.call
            own = call is not None and not call.unclear and call.turn.chat.cancelled is not None
            self.not_counted[_OWN] += own
            if self.phase is _Phase.PROBED and attempt is self.probe and own:
                self.phase, self.probe, self.probed_by, self.opened_by = _Phase.OPEN, None, _OWN, None
                self.since = self.until = self.until_at_most = now
            elif self.phase is _Phase.PROBED and attempt is self.probe:
                self._doubt()
        self.note(at)

    def _failed(self, attempt: Attempt, now: float) -> None:
        if self.phase is _Phase.PROBED:
            if attempt is self.probe:
                self._open(attempt, now, again=True)
            return
        if self.phase is _Phase.CLOSED and attempt.at < self.opened_at:
            return
        if attempt.outcome == "lost":
            if self.loss is not None and _is_same_connection(attempt, self.loss):
                self.not_counted[_ONCE] += 1
                return
            self.loss = attempt
        self.failures += 1
        if attempt.outcome == "late" or self.known is None or _is_known_to(attempt, *self.known, self.instant):
            # Each time-out counts; attempts that repeat a call with a lost connection can be left out (section 11.4).
            self.row.add(id(attempt) if attempt.outcome == "late" else id(attempt.call or attempt))
            self.known = attempt, now
        if self.phase is _Phase.CLOSED:
            if len(self.row) >= self.threshold:
                self._open(attempt, now, again=False)
            elif self.failures >= self.threshold:
                self._doubt()
        elif self.phase is _Phase.OPEN:
            self.until_at_most = max(self.until_at_most, now + self.reset_after)

    def _answered(self, attempt: Attempt) -> None:
        self.row.clear()
        self.known = None
        unreadable = attempt.answered is not None and not attempt.answered.readable
        self.not_counted[_COUNTS] += attempt.outcome == "error"
        self.not_counted[_ALIVE] += unreadable
        if self.phase is _Phase.PROBED and attempt is self.probe:
            self.phase, self.failures, self.closed_by = _Phase.CLOSED, 0, _ALIVE if unreadable else _DECIDES
            self.not_counted.clear()
        elif self.phase is _Phase.OPEN:
            self._doubt()
        elif self.phase is _Phase.UNSURE and attempt.begun > self.doubted:
            # A call that was let through since then was answered; one that was running before shows nothing.
            self.phase = _Phase.CLOSED

    def _open(self, attempt: Attempt, now: float, *, again: bool) -> None:
        self.phase, self.reopened, self.probe, self.opened_by = _Phase.OPEN, again, None, attempt
        self.opened_at = attempt.ended_at
        self.since, self.until, self.until_at_most = now, now + self.reset_after, now + self.reset_after
        self.probed_by = _PROBES

    def _doubt(self) -> None:
        self.phase, self.doubted = _Phase.UNSURE, self.now

    def during(self, first: int, last: int) -> list[_Moment]:
        """Return the states between two records."""
        before = [moment for moment in self.moments if moment.at <= first]
        return before[-1:] + [moment for moment in self.moments if first < moment.at < last]


def _is_same_connection(one: Attempt, other: Attempt) -> bool:
    """Return whether two attempts were lost with one connection, as the trace says."""
    names = [attempt.answered.connection for attempt in (one, other) if attempt.answered is not None]
    return len(names) == 2 and names[0] is not None and names[0] == names[1]


def _is_known_to(attempt: Attempt, failed: Attempt | None, since: float, instant: float) -> bool:
    """Return whether the client knew at an attempt that another had failed at `since`; the two can be simultaneous."""
    if failed is not None and attempt.call is not None and attempt.call is failed.call:
        return attempt.at > failed.ended_at  # it is the next attempt because that one had failed
    turns = [one.turn for one in (attempt.call, failed.call if failed else None) if one and not one.unclear]
    later_turn = len(turns) == 2 and turns[0].chat is turns[1].chat and turns[0].number > turns[1].number
    return later_turn or attempt.begun > since + instant


def _breaker(trace: TraceIndex, server: int) -> _Breaker | None:
    threshold = trace.setup.breaker_threshold
    if threshold is None:
        return None
    breaker = _Breaker(threshold, trace.setup.breaker_reset_after, trace.instant)
    breaker.note(-1)
    steps = [(attempt.at, 0, attempt) for attempt in trace.attempts_at(server)]
    steps += [(a.ended_at, 1, a) for a in trace.attempts_at(server) if a.ended_at != NEVER]
    for at, end, attempt in sorted(steps, key=lambda step: step[:2]):
        if end:
            breaker.ends(attempt, at, trace.time(at))
        else:
            breaker.begins(attempt)
    return breaker


@check(_COUNTS, _HOLDS, _PROBES, _DECIDES, _ONCE, _OWN, _ALIVE, profile="client")
def _breaker_states(trace: TraceIndex) -> Observations:
    for server in range(len(trace.setup.servers)):
        if (breaker := _breaker(trace, server)) is None:
            return
        yield from breaker.findings
        for call in trace.calls:
            if call.tool is not None and call.tool.server == server and call.content is not None:
                yield from _of_answer(trace, breaker, call)


def _of_answer(trace: TraceIndex, breaker: _Breaker, call: ModelCall) -> Observations:
    """Judge the result of a call by the states of the breaker between the model's answer and the next request."""
    turn = call.turn
    moments = breaker.during(turn.said_at, turn.next_at)
    phases = {moment.phase for moment in moments}
    if call.code == "CIRCUIT_OPEN" and not call.attempts:
        yield from _held_back_call(trace, breaker, call, moments)
    elif call.sent and phases <= {_Phase.CLOSED, _Phase.PROBED} and moments[0].closed_by:
        yield obeyed(moments[0].closed_by, where=turn.next_at)
    elif not call.attempts and not trace.setup.cache and _certainly_open(trace, call, moments):
        ok = call.code in permitted_codes(trace, call) - {"CIRCUIT_OPEN"}
        seen = f"{call} is answered by {call.came_to} while the breaker is open"
        yield either(_HOLDS, ok, seen, "CIRCUIT_OPEN", where=turn.next_at)


def _held_back_call(trace: TraceIndex, breaker: _Breaker, call: ModelCall, moments: list[_Moment]) -> Observations:
    turn, reply, phases = call.turn, call.reply, {moment.phase for moment in moments}
    wait = reply.error.retry_after_ms if reply is not None and reply.error is not None else None
    seen = f"CIRCUIT_OPEN for {call} without `retry_after_ms`: `{quoted(call.content or '')}`"
    yield either(_HOLDS, wait is not None, seen, "`retry_after_ms`", where=turn.next_at)
    if phases == {_Phase.OPEN} and trace.time(turn.said_at) > moments[0].until_at_most + trace.instant:
        seen = f"{call} was refused although the reset time had passed"
        yield broken(moments[0].probed_by, seen, "one call as a probe", where=turn.next_at)
    elif phases == {_Phase.OPEN} and moments[0].reopened:
        yield obeyed(_DECIDES, where=turn.next_at)
    if phases == {_Phase.CLOSED}:
        failures = max(moment.failures for moment in moments)
        seen = f"{call} was refused after {failures} failures to reach the server"
        blamed = _blamed(moments[-1], breaker.threshold - failures)
        yield either(blamed, failures >= breaker.threshold, seen, f"{breaker.threshold} of them", where=turn.next_at)


def _blamed(moment: _Moment, missing: int) -> str:
    """Return the sentence that a client breaks whose breaker is open while `missing` failures are missing for that."""
    enough = [id_ for id_, number in moment.not_counted.items() if number >= missing]
    return enough[0] if enough else moment.closed_by or _COUNTS


def _certainly_open(trace: TraceIndex, call: ModelCall, moments: list[_Moment]) -> bool:
    """Return whether the breaker was open all the time from the model's answer until the call was answered."""
    said, first = trace.time(call.turn.said_at), moments[0]
    open_ = {moment.phase for moment in moments} == {_Phase.OPEN}
    instant = trace.instant
    return open_ and said > first.since - instant and _answered_at(trace, call) < first.until - instant


def _answered_at(trace: TraceIndex, call: ModelCall) -> float:
    """Return the time at which a call was answered; that of the next request where no event shows it."""
    ends = [at for at, event in call.turn.chat.events(call) if event.get("type") in ("tool_error", "tool_result")]
    return trace.time(ends[0] if ends else call.turn.next_at)
