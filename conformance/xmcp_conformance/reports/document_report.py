"""Fold the events of the document profile into what its reports show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from xmcp_conformance.core.events import Event, FileEnded, Observed, RunStarted, SuiteStarted
from xmcp_conformance.core.judge import ExitCode, Judgement, Status, Tally, status_of
from xmcp_conformance.core.requirements import registry


class FileOutcome(StrEnum):
    """The verdict on a file."""

    CONFORMS = "conforms"
    DOES_NOT_CONFORM = "does not conform"
    UNKNOWN_KIND = "unknown kind"
    UNREADABLE = "unreadable"


@dataclass(slots=True)
class FileReport:
    """What was observed of one file. `faults` are the observations of broken requirements, in the order of the text."""

    path: str
    strict: bool = False
    faults: list[Observed] = field(default_factory=list)
    ended: FileEnded | None = None

    @property
    def outcome(self) -> FileOutcome:
        """The verdict on the file."""
        if self.ended is not None and self.ended.not_judged is not None:
            return FileOutcome(self.ended.not_judged)
        failed = any(self.status(fault) is Status.FAIL for fault in self.faults)
        return FileOutcome.DOES_NOT_CONFORM if failed else FileOutcome.CONFORMS

    @property
    def kind(self) -> str | None:
        """The format as which the file was judged; `None` where the fault is the same in every format."""
        return self.ended.document_kind if self.ended else None

    @property
    def documents(self) -> int:
        """The number of documents that the file holds."""
        return self.ended.documents if self.ended else 0

    @property
    def more(self) -> bool:
        """True where the file has faults that are not in `faults`."""
        return self.ended is not None and self.ended.more

    @property
    def reason(self) -> str:
        """Why there is no verdict; empty where there is one."""
        return self.ended.reason if self.ended else ""

    def status(self, fault: Observed) -> Status:
        """Return the verdict on one fault."""
        return status_of(fault, strict=self.strict)


@dataclass(slots=True)
class DocumentReport:
    """Every file that was judged, as far as the events go."""

    specification: str = ""
    kind: str | None = None
    strict: bool = False
    files: list[FileReport] = field(default_factory=list)
    _tallies: dict[str, Tally] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event]) -> DocumentReport:
        """Return the report on these events."""
        report = cls()
        for event in events:
            report.add(event)
        return report

    def add(self, event: Event) -> None:
        """Take one more event into account. Those between two `RunStarted` belong to the first of them."""
        match event:
            case SuiteStarted():
                self.specification = event.specification
                self.kind, self.strict = event.options.get("kind"), event.options.get("strict", False)
            case RunStarted():
                self.files.append(FileReport(event.run, self.strict))
            case Observed():
                self._observed(event)
            case FileEnded():
                self.files[-1].ended = event

    def _observed(self, event: Observed) -> None:
        requirement, ok = event.observation.requirement, event.observation.ok
        if not ok:
            self.files[-1].faults.append(event)
        if requirement:  # a fault can be one that no sentence forbids
            of = "" if ok else f"{event.run} {event.call} {event.observation.where}"
            self._tallies.setdefault(requirement, Tally()).add(event, of)

    @property
    def judgements(self) -> list[Judgement]:
        """One judgement for each requirement that applied; its faults are all that were seen."""
        known = registry().requirements
        return [self._tallies[one].judgement(known[one], strict=self.strict) for one in known if one in self._tallies]

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns: a file that could not be judged outranks one that does not conform."""
        outcomes = {file.outcome for file in self.files}
        if FileOutcome.UNREADABLE in outcomes:
            return ExitCode.SUITE_FAILED
        if FileOutcome.UNKNOWN_KIND in outcomes:
            return ExitCode.USAGE
        return ExitCode.DOES_NOT_CONFORM if FileOutcome.DOES_NOT_CONFORM in outcomes else ExitCode.CONFORMS
