"""Checks of the circuit breaker of each server (section 11.4), as the attempts show its state.

Which failures count is not exactly the same for every client. So the breaker is taken to be open when as many calls
in a row as the threshold failed in transport, or attempts ran out of time, each begun when the failure before it was
known. It is taken to be closed while there were fewer failures since it last closed, where calls lost with one
connection are one, and a failure that was known to a call that was answered does not count any more. In between
nothing is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import Observation, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import NEVER, Attempt, ModelCall

_COUNTS, _HOLDS, _PROBES, _DECIDES = "XMCP-CLI-042", "XMCP-CLI-043", "XMCP-CLI-044", "XMCP-CLI-045"
_ONCE, _OWN, _ALIVE = "XMCP-CLI-100", "XMCP-CLI-101", "XMCP-CLI-102"


_ROUNDED = 1.0
"""By how many seconds a wait that a client tells can differ from what is left: it can be in whole seconds."""


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
    not_counted: dict[str, int]
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
    failed: list[tuple[Attempt, float]] = field(default_factory=list)
    """The transport failures that can count, since it was last closed, with their times."""
    forgotten: list[tuple[Attempt, float]] = field(default_factory=list)
    """Those that an answer ended, at `forgotten_at`: a failure at the same time can have come before that answer."""
    forgotten_at: float = -inf
    row: set[int] = field(default_factory=set)
    """The calls that failed in a row."""
    not_counted: dict[str, int] = field(default_factory=dict)
    """By the sentence that says so: the number of calls since it was last closed that are no failures any more."""
    known: tuple[Attempt, float] | None = None
    """The last failure in `row`, with its time."""
    lost: set[int] = field(default_factory=set)
    """The calls whose connection was lost: attempts that repeat them need not count (section 11.4)."""
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

    @property
    def failures(self) -> int:
        """The number of failures that can count."""
        return len(self.failed)

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
                self.phase, self.probe, self.since = _Phase.PROBED, attempt, attempt.begun
                self.findings.append(obeyed(self.probed_by, where=attempt.at))
                if self.reopened:
                    self.findings.append(obeyed(_DECIDES, where=attempt.at))
            else:
                self.phase = _Phase.UNSURE
        elif self.phase is _Phase.OPEN and self.opened_by is None:
            self._doubt()  # it can be the probe that follows one which the client ended
        elif self.phase is _Phase.PROBED and attempt is not self.probe:
            expected = "no other call before the one that was let through has ended"
            self.findings.append(broken(_PROBES, f"{seen} besides it", expected, where=attempt.at))
        self.note(attempt.at)

    def ends(self, attempt: Attempt, at: int, now: float) -> None:
        """Take the end of an attempt into account."""
        self.now = now
        if attempt.transport_failed:
            self._failed(attempt, now)
        elif attempt.was_answered or attempt.outcome in ("too_large", "outside"):
            self._answered(attempt)
        else:
            own = attempt.outcome == "cancelled" and _ended_with_its_chat(attempt)
            self._count_not(_OWN, own)
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
        repeats = id(attempt.call) in self.lost
        if attempt.outcome == "lost":
            self.lost.add(id(attempt.call or attempt))
            if self.loss is not None and _is_same_connection(attempt, self.loss):
                self._count_not(_ONCE)
                return
            self.loss = attempt
        if now <= self.forgotten_at + self.instant:
            self.failed, self.forgotten = self.forgotten + self.failed, []
        self.failed.append((attempt, now))
        known = self.known is None or _is_known_to(attempt, *self.known, self.instant)
        if attempt.outcome == "late" or (known and not repeats):
            self.row.add(id(attempt) if attempt.outcome == "late" else id(attempt.call or attempt))
            self.known = attempt, now
        if self.phase is _Phase.CLOSED:
            if len(self.row) >= self.threshold:
                self._open(attempt, now, again=False)
            elif self.failures >= self.threshold:
                self._doubt()
        elif self.phase is _Phase.OPEN and attempt.at > self.opened_at:
            self.until_at_most = max(self.until_at_most, now + self.reset_after)

    def _answered(self, attempt: Attempt) -> None:
        self.row.clear()
        self.known = None
        unreadable = attempt.answered is not None and not attempt.answered.readable
        self._count_not(_COUNTS, attempt.outcome in ("error", "outside") and not unreadable)
        self._count_not(_ALIVE, unreadable)
        if self.phase is _Phase.PROBED and attempt is self.probe:
            self.phase, self.closed_by = _Phase.CLOSED, _ALIVE if unreadable else _DECIDES
            self.failed, self.forgotten = [], []
            self.not_counted.clear()
        elif self.phase is _Phase.OPEN and self.now <= self.since + self.instant:
            self._doubt()  # the answer can have come before the failure that opened it
        elif self.phase is not _Phase.OPEN:
            self._forget_those_known_to(attempt)

    def _forget_those_known_to(self, answered: Attempt) -> None:
        """Count only the failures that a call was not begun after, because it was answered.

        Where the breaker can be open, only a call that was let through after all of them shows that it is not.
        """
        known = [one for one in self.failed if _is_known_to(answered, *one, self.instant)]
        if self.phase is _Phase.UNSURE and answered.begun > self.doubted and len(known) == self.failures:
            self.phase = _Phase.CLOSED
        if known and self.phase is _Phase.CLOSED:
            self.failed = [one for one in self.failed if one not in known]
            recent = self.forgotten if self.now <= self.forgotten_at + self.instant else []
            self.forgotten, self.forgotten_at = recent + known, self.now
            self._count_not(_COUNTS, number=len(known))

    def _count_not(self, id_: str, number: int = 1) -> None:
        """Note calls that are no failures, or none any more; the sentence of the last one stands last."""
        if number:
            self.not_counted[id_] = self.not_counted.pop(id_, 0) + number

    def _open(self, attempt: Attempt, now: float, *, again: bool) -> None:
        self.phase, self.reopened, self.probe, self.opened_by = _Phase.OPEN, again, None, attempt
        self.opened_at = attempt.ended_at
        self.since, self.until, self.until_at_most = now, now + self.reset_after, now + self.reset_after
        self.probed_by = _PROBES

    def _doubt(self) -> None:
        self.phase, self.doubted = _Phase.UNSURE, self.now

    def ends_phase_of(self, moment: _Moment, trace: TraceIndex) -> float:
        """Return the time at which the phase of a moment ended, in seconds; infinite where it did not."""
        later = [one for one in self.moments if one.at > moment.at and one.phase is not moment.phase]
        return trace.time(later[0].at) if later else inf

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


def _ended_with_its_chat(attempt: Attempt) -> bool:
    """Return whether a chat that was cancelled, or whose time was over, ended an attempt."""
    call = attempt.call
    if call is None or call.unclear:
        return False
    return call.turn.chat.cancelled is not None or (call.turn.cut and call.turn.chat.stop_reason == "timeout")


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
    if call.code == "CIRCUIT_OPEN" and (not call.attempts or call.was_held_back):
        yield from _says_for_how_long(call)
    if call.code == "CIRCUIT_OPEN" and not call.attempts:
        yield from _held_back_call(trace, breaker, call, moments)
    elif call.attempts and _was_held_up(trace, breaker, call):
        seen = f"{call} waited until the breaker let it through"
        yield broken(_HOLDS, seen, "CIRCUIT_OPEN at once", where=call.attempts[0].at)
    elif call.sent and phases <= {_Phase.CLOSED, _Phase.PROBED} and moments[0].closed_by:
        yield obeyed(moments[0].closed_by, where=turn.next_at)
    elif not call.attempts and not trace.setup.cache and _certainly_open(trace, call, moments):
        ok = call.code in permitted_codes(trace, call) - {"CIRCUIT_OPEN"}
        seen = f"{call} is answered by {call.came_to} while the breaker is open"
        yield either(_HOLDS, ok, seen, "CIRCUIT_OPEN", where=turn.next_at)


def _says_for_how_long(call: ModelCall) -> Observations:
    wait = call.reply.error.retry_after_ms if call.reply is not None and call.reply.error is not None else None
    seen = f"CIRCUIT_OPEN for {call} without `retry_after_ms`: `{quoted(call.content or '')}`"
    yield either(_HOLDS, wait is not None, seen, "`retry_after_ms`", where=call.turn.next_at)


def _held_back_call(trace: TraceIndex, breaker: _Breaker, call: ModelCall, moments: list[_Moment]) -> Observations:
    turn, reply, phases = call.turn, call.reply, {moment.phase for moment in moments}
    wait = reply.error.retry_after_ms if reply is not None and reply.error is not None else None
    if wait is not None and phases == {_Phase.OPEN} and trace.time(turn.said_at) < moments[0].until - trace.instant:
        least = max(0.0, moments[0].until - _answered_at(trace, call)) - _ROUNDED - trace.instant
        most = moments[-1].until_at_most - trace.time(turn.said_at) + _ROUNDED + trace.instant
        seen = f"CIRCUIT_OPEN for {call} with a `retry_after_ms` of {wait}"
        expected = f"what is left until the probe: {max(0.0, least):.1f} s to {most:.1f} s"
        yield either(_HOLDS, least <= wait / 1000 <= most, seen, expected, where=turn.next_at)
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


def _was_held_up(trace: TraceIndex, breaker: _Breaker, call: ModelCall) -> bool:
    """Return whether a call was asked for while the breaker was open or probed, and was first made after that.

    A call that waits for others, an approval or a slot can be made after that (section 11.4), and so can one of a
    client that makes the calls of a turn one after the other.
    """
    turn, first = call.turn, call.attempts[0]
    others = sum(bool(one.attempts) for one in turn.calls[: call.place])
    busy = trace.running(turn.said_at) + len(turn.calls) > trace.setup.max_concurrency
    if others or busy or trace.setup.approval or trace.setup.cache or (call.tool and call.tool.depends_on):
        return False
    moment = breaker.during(turn.said_at, turn.said_at)[0]
    over = moment.until if moment.phase is _Phase.OPEN else breaker.ends_phase_of(moment, trace)
    said = trace.time(turn.said_at)
    surely = moment.phase in (_Phase.OPEN, _Phase.PROBED) and moment.since + trace.instant < said
    return surely and said < over - 2 * trace.instant and first.begun >= over - trace.instant


def _blamed(moment: _Moment, missing: int) -> str:
    """Return the sentence that a client breaks whose breaker is open while `missing` failures are missing for that."""
    enough = [id_ for id_, number in moment.not_counted.items() if number >= missing]
    return enough[-1] if enough else moment.closed_by or _COUNTS


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
