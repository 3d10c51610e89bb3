"""Fold the events of a profile that judges case by case: a client, a codec, a gateway."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from xmcp_conformance.core.checks import Profile
from xmcp_conformance.core.events import Event, Noted, NotReached, Observed, RunStarted, Shortcoming, SuiteStarted
from xmcp_conformance.core.judge import ExitCode, Judgement, Status, Tally
from xmcp_conformance.core.requirements import registry


@dataclass(frozen=True, slots=True)
class Cases:
    """What the cases of a profile are called, and what is judged by them."""

    profile: Profile
    means: str
    """The means in the registry of requirements."""
    peer: str
    one: str
    left_out: frozenset[str] = frozenset()
    """Requirements that it finds broken in something else."""


TRACES: Final = Cases("client", "client", "a client by its traces", "trace")
SCENARIOS: Final = Cases("client", "client", "a client by scenarios", "scenario")
CHATS: Final = Cases("gateway", "gateway", "a gateway by chats", "case")
_OF_FORMATTERS_AND_RENDERERS: Final = frozenset(("XMCP-RSP-090", "XMCP-DSP-030", "XMCP-DSP-031"))
VECTORS: Final = Cases("codec", "vectors", "a codec by vectors", "vector", _OF_FORMATTERS_AND_RENDERERS)


@dataclass(slots=True)
class CaseSeen:
    """What one case showed: how often a requirement applied in it, and the faults in their order."""

    name: str
    occasions: int = 0
    faults: list[Observed] = field(default_factory=list)


@dataclass(slots=True)
class CaseReport:
    """What the cases showed, as far as the events go."""

    cases: Cases
    specification: str = ""
    strict: bool = False
    peer: str = ""
    """What the peer calls itself; empty for one of which only files are there."""
    seen: dict[str, CaseSeen] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _short: list[str] = field(default_factory=list)
    not_judged: list[NotReached] = field(default_factory=list)
    _tallies: dict[str, Tally] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Take one more event into account."""
        match event:
            case SuiteStarted():
                self.specification, self.strict = event.specification, event.options.get("strict", False)
            case RunStarted():
                self.peer = event.peer
                if not event.peer:  # a file is a run and a case at the same time
                    self._case(event.run)
            case Observed():
                case = self._case(event.call or event.run)
                self._tallies.setdefault(event.observation.requirement, Tally()).add(event, case.name)
                case.occasions += 1
                if not event.observation.ok:
                    case.faults.append(event)
            case Noted():
                self.notes.append(event.text)
            case Shortcoming():
                self._short.append(event.text)
            case NotReached():
                self.not_judged.append(event)

    def _case(self, name: str) -> CaseSeen:
        return self.seen.setdefault(name, CaseSeen(name))

    @property
    def judgements(self) -> list[Judgement]:
        """One judgement for each requirement that can be found broken so."""
        requirements = [one for one in registry().verified_by(self.cases.means) if one.id not in self.cases.left_out]
        return [self._tallies.get(one.id, Tally()).judgement(one, strict=self.strict) for one in requirements]

    @property
    def shortcomings(self) -> list[str]:
        """What was not seen, and has to be before anybody can say that the peer conforms."""
        if self._tallies or self.not_judged:
            return self._short
        return [f"no requirement applied in these {self.cases.one}s", *self._short]

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns: a case that could not be judged outranks a broken requirement."""
        if self.not_judged:
            return ExitCode.SUITE_FAILED
        broken = any(one.status is Status.FAIL for one in self.judgements)
        return ExitCode.DOES_NOT_CONFORM if broken or self.shortcomings else ExitCode.CONFORMS
