"""Fold the events of the client profile into what its reports show."""

from __future__ import annotations

from dataclasses import dataclass, field

from xmcp_conformance.core.events import Event, NotReached, Observed, RunStarted, SuiteStarted
from xmcp_conformance.core.judge import ExitCode, Judgement, Status, Tally
from xmcp_conformance.core.requirements import registry


@dataclass(slots=True)
class TraceSeen:
    """What one trace showed: how often a requirement applied in it, and the faults in their order."""

    name: str
    occasions: int = 0
    faults: list[Observed] = field(default_factory=list)


@dataclass(slots=True)
class TraceReport:
    """What traces of a client showed, as far as the events go."""

    specification: str = ""
    strict: bool = False
    traces: list[TraceSeen] = field(default_factory=list)
    not_judged: list[NotReached] = field(default_factory=list)
    _tallies: dict[str, Tally] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Take one more event into account."""
        match event:
            case SuiteStarted():
                self.specification, self.strict = event.specification, event.options.get("strict", False)
            case RunStarted():
                self.traces.append(TraceSeen(event.run))
            case Observed():
                self._tallies.setdefault(event.observation.requirement, Tally()).add(event)
                self.traces[-1].occasions += 1
                if not event.observation.ok:
                    self.traces[-1].faults.append(event)
            case NotReached():
                self.not_judged.append(event)

    @property
    def judgements(self) -> list[Judgement]:
        """One judgement for each requirement that checks of clients verify."""
        requirements = registry().verified_by("client")
        return [self._tallies.get(one.id, Tally()).judgement(one, strict=self.strict) for one in requirements]

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns: a file that could not be judged outranks a broken requirement."""
        if self.not_judged:
            return ExitCode.SUITE_FAILED
        broken = any(one.status is Status.FAIL for one in self.judgements)
        return ExitCode.DOES_NOT_CONFORM if broken or not self._tallies else ExitCode.CONFORMS
