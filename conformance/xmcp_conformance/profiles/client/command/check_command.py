"""Judge a client behind a command: run it through the scenarios, several at a time, and judge what was seen of it."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from xmcp_conformance.core.command_environment import OURS, CommandEnvironment
from xmcp_conformance.core.events import (
    Emit,
    Noted,
    NotReached,
    Observed,
    RunEnded,
    RunStarted,
    Shortcoming,
    SuiteStarted,
)
from xmcp_conformance.core.observation import Observation
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.shown_command import shown_command
from xmcp_conformance.profiles.client.driver import drive
from xmcp_conformance.profiles.client.judge import PROFILE, observations
from xmcp_conformance.profiles.client.observer import Recorder, described
from xmcp_conformance.profiles.client.scenario import NEEDED_BY_ALL, Scenario, needed_features, with_fixed_options
from xmcp_conformance.profiles.client.trace import Called, Trace

from .adapter import CommandAdapter, Era, Limits
from .program import LateAnswer, Program, ProgramFault

PRECISION: Final = 0.25
"""How far apart, in seconds, records of a real clock can be that count as simultaneous; scenarios wait 1 s or more."""
_MOST_FAULTS: Final = 5
"""After so many scenarios in which the program did not do as the protocol says, the others are not run."""


@dataclass(frozen=True, slots=True)
class Driving:
    """How a client is driven.

    Attributes:
        jobs: number of programs that run at the same time, each in a scenario of its own.
        limits: the time for answers.
        environment: what the programs run in.
        era: `both`: the servers are in turn of the handshake alone and of both eras; `newest`: all are of both;
            `handshake`: all know the handshake alone.
        progress: is told in words how far it is.
    """

    jobs: int = 16
    limits: Limits = field(default_factory=Limits)
    environment: CommandEnvironment = OURS
    era: Era = "both"
    progress: Callable[[str], None] = lambda _: None


@dataclass(slots=True)
class _Seen:
    """What one scenario showed: the trace, and how the program failed in it, if it did."""

    trace: Trace
    fault: str = ""
    """What stopped the program or a chat in it; it is the verdict where no sentence was seen broken."""
    refusals: str = ""
    """What was refused, chats by the program and requests by the servers; it explains a sentence that is broken."""
    late: bool = False
    """Whether the program failed by not answering in time."""
    again: bool = False
    """Whether it was run again, alone, because it was late, or something was broken, beside others."""


async def check_command(
    command: Sequence[str],
    scenarios: Mapping[str, Scenario],
    emit: Emit,
    *,
    strict: bool = False,
    driving: Driving | None = None,
) -> dict[str, Trace]:
    """Judge a client by all scenarios for which it has what they need; return the traces, by the scenario.

    What is broken or late while several scenarios run is judged by a second run, alone: time passes differently on a
    busy machine.

    Args:
        command: the words of the command.
        scenarios: the scenarios, by name.
        emit: gets each event; a command that does not speak the protocol is one, `NotReached`.
        strict: whether a broken SHOULD counts as a broken MUST.
        driving: how it is driven.
    """
    driving = driving or Driving()
    emit(SuiteStarted(PROFILE, registry().version, {"strict": strict}))
    try:
        first = await Program.started(command, driving.limits.start, driving.environment)
    except ProgramFault as fault:
        emit(NotReached(shown_command(command), "", str(fault)))
        return {}
    name = first.name
    emit(RunStarted(name, name))
    chosen, lacked = _chosen(scenarios, first)
    for text in _left_out(lacked):
        emit(Noted(name, text))
    crew = _Crew(command, driving, len(chosen))
    seen = await crew.run(chosen, first)
    for scenario, one in seen.items():
        one.fault = one.fault or _unjudged(one)
        for observation in _judged(one):
            emit(Observed(observation, name, scenario))
        told = "; ".join(filter(None, (one.fault, one.refusals)))
        if one.fault and _is_right(one):
            emit(NotReached(scenario, "", told))
        elif not _is_right(one) and told:
            emit(Noted(name, f"`{scenario}`: {told}"))
        if one.again and _is_right(one) and not one.fault:
            emit(Noted(name, f"`{scenario}` was right only when it was run alone: its times depend on the machine."))
    if left := [scenario for scenario in chosen if scenario not in seen]:
        failed = sum(bool(one.fault) for one in seen.values())
        reason = f"the program failed in {failed} scenarios, so {len(left)} were not run; the first say why"
        emit(NotReached(name, "", reason))
    has_calls = any(isinstance(record, Called) for one in seen.values() for record in one.trace.records)
    is_explained = any(one.fault or not _is_right(one) for one in seen.values())
    if any(map(_has_calls, chosen.values())) and not has_calls and not is_explained:
        emit(NotReached(name, "", "no call reached a server in any scenario, so hardly anything was seen"))
    for feature in NEEDED_BY_ALL & {*lacked}:
        about = "1 scenario" if lacked[feature] == 1 else f"{lacked[feature]} scenarios"
        emit(Shortcoming(name, f"`{feature}` is what every client needs, and {about} about it were not run"))
    emit(RunEnded(name))
    return {scenario: one.trace for scenario, one in seen.items()}


def _chosen(scenarios: Mapping[str, Scenario], program: Program) -> tuple[dict[str, Scenario], Counter[str]]:
    """Return the scenarios for which a client has what they need, and how many need what it lacks."""
    chosen: dict[str, Scenario] = {}
    lacked: Counter[str] = Counter()
    for name, scenario in scenarios.items():
        fitted = with_fixed_options(scenario, program.fixed)
        missing = sorted(needed_features(scenario) - program.features)
        if not is_seen_over_http(scenario):
            lacked[_UNSEEN] += 1
        elif missing:
            lacked[missing[0]] += 1
        elif fitted is None:
            lacked[_FIXED] += 1
        else:
            chosen[name] = fitted
    return chosen, lacked


_UNSEEN: Final = "down"
"""Stands for what a server over HTTP cannot show: a call that never arrived there."""


def is_seen_over_http(scenario: Scenario) -> bool:
    """Return whether each call of a scenario arrives at its server, so that it can be judged over HTTP."""
    return all(act.kind != "down" for acts in scenario.acts.values() for act in acts)


_FIXED: Final = "another value of a `fixed` option"
"""Stands for what a client cannot set."""


def _left_out(lacked: Counter[str]) -> Iterator[str]:
    """Yield the notes on scenarios that were not run."""
    if unseen := lacked[_UNSEEN]:
        yield f"{_scenarios(unseen)} not run: over HTTP nobody sees a call that never arrived at its server."
    others = Counter({what: number for what, number in lacked.items() if what != _UNSEEN})
    if others:
        each = ", ".join(f"{what if what == _FIXED else f'`{what}`'} {n}" for what, n in others.most_common())
        yield f"{_scenarios(others.total())} not run for what the client lacks: {each}."


def _scenarios(number: int) -> str:
    return "1 scenario" if number == 1 else f"{number} scenarios"


class _Crew:
    """The programs that run scenarios at the same time."""

    def __init__(self, command: Sequence[str], driving: Driving, number: int) -> None:
        self._command, self._driving, self._number = command, driving, number
        self._seen: dict[str, _Seen] = {}
        self._faults = self._done = 0
        self._starting = asyncio.Semaphore(os.cpu_count() or 1)
        """Held by programs that start: many at the same time would be late with their first answers."""

    async def run(self, scenarios: Mapping[str, Scenario], first: Program) -> dict[str, _Seen]:
        """Return what the scenarios showed, in their order; a scenario that was not run is left out."""
        longest_first = iter(sorted(scenarios.items(), key=lambda one: -_seconds(one[1])))
        jobs = max(1, min(self._driving.jobs, len(scenarios)))
        async with asyncio.TaskGroup() as group:
            for job in range(jobs):
                group.create_task(self._work(longest_first, first if job == 0 else None))
        hangs = self._faults >= _MOST_FAULTS  # it is not the machine
        doubted = (name for name, one in self._seen.items() if _is_suspected(one) and not (one.late and hangs))
        suspected = [(name, scenarios[name]) for name in sorted(doubted, key=lambda name: self._seen[name].late)]
        if suspected and jobs > 1:
            self._number, self._done = len(suspected), 0
            await self._work(iter(suspected), None, again=True)
        return {name: self._seen[name] for name in scenarios if name in self._seen}

    async def _work(
        self, scenarios: Iterator[tuple[str, Scenario]], program: Program | None, *, again: bool = False
    ) -> None:
        """Run scenario after scenario in a program, which is started anew if need be."""
        last, hangs = "", False
        try:
            for name, scenario in scenarios:
                before = self._seen.get(name)
                if hangs and before is not None and before.late:
                    continue  # another one was late alone, too: it is not the machine
                if self._faults >= _MOST_FAULTS and not again:
                    return
                was_used = program is not None
                program, one = await self._run(name, scenario, program)
                if was_used and one.fault and not one.trace.records:  # it was of no use any more before this scenario
                    self._blame(last, one.fault)
                    program, one = await self._run(name, scenario, None)
                hangs = hangs or (again and one.late)
                if before is not None and one.late and not before.late:
                    one = before  # what was seen of it tells more
                one.again = again
                self._faults += program is None
                self._seen[name], last = one, name
                self._done += 1
                what = "broken scenarios, again and alone" if again else "scenarios"
                self._driving.progress(f"{self._done} of {self._number} {what}")
        finally:
            if program is not None:  # what it does after its last scenario is nobody's loss, and seen or not by chance
                await program.end()

    async def _run(self, name: str, scenario: Scenario, program: Program | None) -> tuple[Program | None, _Seen]:
        """Run a scenario; return the program, unless it is of no more use, and what was seen."""
        recorder, fault, late = Recorder(asyncio.get_running_loop().time()), "", False
        refused: list[str] = []
        turn = AsyncExitStack()
        try:
            if program is None:
                await turn.enter_async_context(self._starting)
                program = await Program.started(self._command, self._driving.limits.start, self._driving.environment)
            first = crc32(name.encode())
            driving = self._driving
            async with CommandAdapter(program, driving.limits, driving.era, first, refused, turn.aclose) as adapter:
                await drive(recorder, scenario, adapter, one_connection=False)
            fault = "; ".join(adapter.crashes)
        except (ProgramFault, OSError, RuntimeError) as failed:
            own = "" if isinstance(failed, ProgramFault) else "the suite's own host failed: "
            fault, late = f"{own}{failed}", isinstance(failed, LateAnswer)
            if program is not None:
                await program.end()
                program = None
        finally:
            await turn.aclose()
        return program, _Seen(
            Trace(described(scenario.setup), recorder.records, PRECISION), fault, "; ".join(refused), late
        )

    def _blame(self, name: str, fault: str) -> None:
        """Take note of what a program did after the end of a scenario."""
        if name in self._seen and not self._seen[name].fault:
            self._seen[name].fault = fault
            self._faults += 1


def _has_calls(scenario: Scenario) -> bool:
    """Return whether the model asks for a call that can reach a server."""
    asks = (ask for chat in scenario.chats for says in chat.script for ask in says.asks)
    return any(isinstance(ask.tool, int) and ask.written is None for ask in asks)


def _unjudged(one: _Seen) -> str:
    """Return why a trace shows less than its verdict says; empty if it does not."""
    try:
        observations(one.trace)
    except KeyError:
        return "a record of something that never began"
    except Exception as error:  # what a client sends is data: no check may end the run
        return f"what the client sent has a form that the checks do not read ({type(error).__name__})"
    return ""


def _is_suspected(one: _Seen) -> bool:
    """Return whether what was seen can be due to the scenarios that ran at the same time."""
    return one.late or (not one.fault and not _is_right(one))


def _is_right(one: _Seen) -> bool:
    """Return whether nothing was seen broken."""
    return all(observation.ok for observation in _judged(one))


def _judged(one: _Seen) -> list[Observation]:
    with suppress(Exception):  # `_unjudged` says why
        return observations(one.trace)
    return []


def _seconds(scenario: Scenario) -> float:
    """Return about how long a scenario takes."""
    acts = sum(act.delay for of_tool in scenario.acts.values() for act in of_tool)
    chats = max((chat.begins + sum(says.delay for says in chat.script) for chat in scenario.chats), default=0.0)
    return acts + chats
