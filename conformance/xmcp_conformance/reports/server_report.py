"""Fold the events of the server profile into what its reports show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from xmcp_conformance.core.events import CallMade, Event, Noted, Observed, RunStarted, SuiteStarted
from xmcp_conformance.core.judge import ExitCode, Judgement, conforms, judge
from xmcp_conformance.core.requirements import registry


@dataclass(slots=True)
class PeerRun:
    """One peer in one protocol era, as one kind of client: what was done there.

    `answers` counts the calls that the peer's own tools answered with a document or a plain result of section 6.3.
    """

    started: RunStarted
    calls: int = 0
    answers: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return self.started.run

    @property
    def plain(self) -> bool:
        """True for a run as a client that does not declare the extension."""
        return self.started.client == "plain"

    @property
    def era_and_client(self) -> str:
        """The protocol version, and that the client was a plain one."""
        return f"{self.started.protocol_version}{', plain client' if self.plain else ''}"


@dataclass(slots=True)
class ServerReport:
    """What a run of the server profile showed, as far as the events go."""

    profile: str = ""
    specification: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    runs: list[PeerRun] = field(default_factory=list)
    observed: list[Observed] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[Event]) -> ServerReport:
        """Return the report on these events."""
        report = cls()
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
            case CallMade():
                self.runs[-1].calls += 1
                self.runs[-1].answers += event.answered
            case Noted():
                self.runs[-1].notes.append(event.text)
            case Observed():
                self.observed.append(event)

    @property
    def judgements(self) -> list[Judgement]:
        """One judgement for each requirement that checks of servers verify."""
        return judge(self.observed, registry().verified_by("server"), strict=self.options.get("strict", False))

    @property
    def exit_code(self) -> ExitCode:
        """Whether the peers conform."""
        conforming = conforms(self.judgements, self.answers)
        return ExitCode.CONFORMS if conforming else ExitCode.DOES_NOT_CONFORM

    @property
    def answers(self) -> int:
        """The number of answers over all runs."""
        return sum(run.answers for run in self.runs)
