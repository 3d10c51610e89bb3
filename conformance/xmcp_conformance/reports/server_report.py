"""Fold the events of the server profile into what its reports show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from xmcp_conformance.core.events import (
    CallMade,
    Event,
    Noted,
    NotReached,
    Observed,
    OtherVersions,
    RunStarted,
    SuiteStarted,
    TimeOver,
    ToolListed,
)
from xmcp_conformance.core.judge import ExitCode, Judgement, Status, Tally, status_of
from xmcp_conformance.core.requirements import Requirement, registry
from xmcp_models.registry import VERSION

from .baseline import Baseline
from .earlier_run import EarlierRun
from .required_coverage import Required
from .tool_coverage import Coverage

_MOST_QUOTED: Final = 3


@dataclass(slots=True)
class PeerRun:
    """One peer in one protocol era, as one kind of client: what was done there.

    `answers` counts the calls that the peer's own tools answered with a document or a plain result of section 6.3.
    """

    started: RunStarted
    calls: int = 0
    answers: int = 0
    unanswered: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return self.started.run

    @property
    def plain(self) -> bool:
        """True for a run as a client that does not declare the extension."""
        return self.started.client == "plain"

    @property
    def era_and_client(self) -> str:
        """The protocol version, and what kind of client it was, unless it just declared the extension."""
        return self.started.run.partition(", ")[2] or self.started.protocol_version


@dataclass(slots=True)
class ServerReport:
    """What a run of the server profile showed, as far as the events go."""

    profile: str = ""
    specification: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[Required, ...] = ()
    """What the run has to have seen."""
    earlier: EarlierRun | None = None
    """A run with which this one is compared."""
    baseline: Baseline = field(default_factory=Baseline)
    """The faults that are known."""
    broken_by: dict[str, set[str]] = field(default_factory=dict)
    """The tools that break each sentence in a way that fails, by the id of the sentence; the empty text is none."""
    runs: list[PeerRun] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    not_reached: list[NotReached] = field(default_factory=list)
    other_versions: tuple[str, ...] = ()
    """What a peer announces that does not announce the version by which the suite judges."""
    over: TimeOver | None = None
    """The time of the check was over before all calls were made."""
    silent: Counter[str] = field(default_factory=Counter)
    """The calls that were not answered."""
    _tallies: dict[str, Tally] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event], required: tuple[Required, ...] = ()) -> ServerReport:
        """Return the report on these events."""
        report = cls(required=required)
        for event in events:
            report.add(event)
        return report

    def add(self, event: Event) -> None:
        """Take one more event into account. Those between two `RunStarted` belong to the first of them."""
        match event:
            case SuiteStarted():
                self.profile, self.specification = event.profile, event.specification
                self.options = event.options
            case RunStarted():
                self.runs.append(PeerRun(event))
            case ToolListed():
                self.coverage.add_tool(event)
            case CallMade():
                self._made(event)
            case Noted():
                self.runs[-1].notes.append(event.text)
            case Observed():
                self._tallies.setdefault(event.observation.requirement, Tally()).add(event, event.tool)
                if status_of(event, strict=self.options.get("strict", False)) is Status.FAIL:
                    self.broken_by.setdefault(event.observation.requirement, set()).add(event.tool)
            case NotReached():
                self.not_reached.append(event)
            case OtherVersions():
                self.other_versions = event.versions
            case TimeOver():
                self.over = event

    def _made(self, event: CallMade) -> None:
        run = self.runs[-1]
        run.calls += 1
        run.answers += event.answered
        if event.ending == "unanswered":
            run.unanswered += 1
            self.silent[event.call] += 1
        self.coverage.add_call(event)

    @property
    def judgements(self) -> list[Judgement]:
        """One judgement for each requirement that checks of servers verify, or that the tool of the suite showed."""
        strict = self.options.get("strict", False)
        judged = {one.id for one in registry().verified_by("server")} | self._tallies.keys()
        requirements = [one for one in registry().requirements.values() if one.id in judged]
        return [self._known(self._tallies.get(one.id, Tally()).judgement(one, strict=strict)) for one in requirements]

    def _known(self, judgement: Judgement) -> Judgement:
        id_ = judgement.requirement.id
        known = judgement.status is Status.FAIL and self.baseline.covers(id_, self.broken_by[id_])
        return replace(judgement, status=Status.KNOWN) if known else judgement

    @property
    def known(self) -> int:
        """The number of sentences that are broken as the baseline says, and in no other way."""
        return sum(one.status is Status.KNOWN for one in self.judgements)

    @property
    def beyond(self) -> list[Requirement]:
        """The sentences for servers that no check of a server can judge, or only one with the tool of the suite."""
        judged = {one.requirement.id for one in self.judgements}
        mine = [one for one in registry().requirements.values() if one.role in ("server", "emitter")]
        return [one for one in mine if one.id not in judged]

    @property
    def fails(self) -> bool:
        """True where a sentence was broken that the server has to keep."""
        return any(one.status is Status.FAIL for one in self.judgements)

    @property
    def conforms(self) -> bool:
        """True where nothing failed, and enough was seen to say so."""
        return not self.fails and not self.known and not any(self.shortcomings)

    @property
    def shortcomings(self) -> list[str]:
        """What the run did not see, and has to see before anybody can say that the server conforms."""
        found = []
        if not self.answers:
            found.append("no tool of the server was seen to answer")
        elif self.coverage.tools and not self.coverage.any_succeeded:
            found.append("no call of a tool succeeded, so only errors were judged")
        if self.silent:
            number = self.silent.total()
            quoted_calls = ", ".join(list(self.silent)[:_MOST_QUOTED])
            more = ", …" if len(self.silent) > _MOST_QUOTED else ""
            found.append(f"{number} {'call was' if number == 1 else 'calls were'} not answered: {quoted_calls}{more}")
        if self.other_versions:
            said = ", ".join(self.other_versions)
            found.append(f"the server announces {said}, and this suite judges {VERSION}: take one that judges it")
        if self.over is not None:
            found.append(f"the time allowed, {self.over.seconds:g} s, was over before all calls were made")
        found += [f"required: {missed}" for missed in self.missed]
        return [*found, *self.baseline.stale(self.broken_by, self._judged, self.coverage)]

    @property
    def missed(self) -> list[str]:
        """What was required and not seen."""
        missed = (one.missed(self._judged, self.coverage) for one in self.required)
        return [one for one in missed if one is not None]

    @property
    def gaps(self) -> list[str]:
        """What the run did not see, in sentences; where nothing requires it, it changes no verdict."""
        lost = self.earlier.lost(self._judged, self.coverage) if self.earlier is not None else ()
        return [*self.coverage.gaps(), *lost]

    @property
    def _judged(self) -> set[str]:
        return {name for name, tally in self._tallies.items() if tally.occasions}

    @property
    def exit_code(self) -> ExitCode:
        """Whether the peers conform, but for known faults; nobody knows that where one was not reached."""
        if self.not_reached:
            return ExitCode.SUITE_FAILED
        return ExitCode.DOES_NOT_CONFORM if self.fails or any(self.shortcomings) else ExitCode.CONFORMS

    @property
    def answers(self) -> int:
        """The number of answers over all runs."""
        return sum(run.answers for run in self.runs)
