"""What every report comes down to, whatever was judged: a verdict, the requirements, and what a person should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from xmcp_conformance import suite_version
from xmcp_conformance.core.events import Observed
from xmcp_conformance.core.judge import ExitCode, Judgement, Status
from xmcp_conformance.core.untrusted_text import printable

from .case_report import CaseReport
from .document_report import DocumentReport
from .server_report import ServerReport
from .tool_coverage import ToolCoverage
from .unjudged import unjudged, why_not

KNOWN_FAULTS: Final = "NO FAULTS BUT THOSE OF THE BASELINE"
"""The verdict on a server that does not conform, in ways that are known."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a report. All texts are safe to print; they have no markup of any format.

    Attributes:
        judged: what was judged, such as `a codec by vectors: mine 0.3`.
        verdict: such as `CONFORMS`.
        why: why the verdict is not `CONFORMS`, where that is no broken requirement.
        exit_code: of the command.
        judgements: one for each requirement.
        not_judged: by the id of a requirement, what it would have needed.
        notes: what a person should know.
        tools: those that a server lists, by name.
        source: the file in which an author looks for what is judged, `.` where nobody knows one; `None` where each run
            is of a file.
        suite: the version of the suite.
    """

    specification: str
    judged: str
    verdict: str
    why: Sequence[str]
    exit_code: ExitCode
    judgements: Sequence[Judgement]
    not_judged: Mapping[str, str]
    notes: Sequence[str]
    tools: Mapping[str, ToolCoverage] = field(default_factory=dict)
    source: str | None = None
    suite: str = field(default_factory=suite_version)

    @property
    def headline(self) -> str:
        """The verdict, with how many of a server's tools were seen at work where they are not all."""
        at_work = sum(tool.at_work for tool in self.tools.values())
        is_part = self.exit_code is ExitCode.CONFORMS and at_work < len(self.tools)
        return f"{self.verdict} ({at_work} of {len(self.tools)} tools seen at work)" if is_part else self.verdict

    def of(self, *statuses: Status) -> list[Judgement]:
        """Return the judgements with one of these statuses."""
        return [one for one in self.judgements if one.status in statuses]


def of_server(report: ServerReport, source: str = ".") -> Summary:
    """Return the summary of a report on a server, of which `source` is a file."""
    peers = dict.fromkeys([*(run.started.peer for run in report.runs), *(event.peer for event in report.not_reached)])
    not_reached = [f"{event.transport}: NOT JUDGED. {event.reason}" for event in report.not_reached]
    notes = dict.fromkeys(note for run in report.runs for note in run.notes)
    return Summary(
        specification=report.specification,
        judged=", ".join(map(printable, peers)),
        verdict=_verdict(report.exit_code, fails=report.fails, known=report.known > 0),
        why=[*report.shortcomings, *not_reached],
        exit_code=report.exit_code,
        judgements=report.judgements,
        not_judged={one.id: why for one in unjudged(report) if (why := why_not(one))},
        notes=[*report.gaps, *notes],
        tools=report.coverage.tools,
        source=source,
    )


def of_cases(report: CaseReport, source: str | None = None) -> Summary:
    """Return the summary of a report on a peer that is judged case by case, of which `source` is a file."""
    judgements = report.judgements
    of = f": {report.peer}" if report.peer else f" ({len(report.seen)})"
    return Summary(
        specification=report.specification,
        judged=f"{report.cases.peer}{of}",
        verdict=_verdict(report.exit_code, fails=any(one.status is Status.FAIL for one in judgements)),
        why=[
            *report.shortcomings,
            *(f"{printable(event.peer)}: NOT JUDGED: {event.reason}" for event in report.not_judged),
        ],
        exit_code=report.exit_code,
        judgements=judgements,
        not_judged={},
        notes=report.notes,
        source=source,
    )


def of_documents(report: DocumentReport) -> Summary:
    """Return the summary of a report on documents in files."""
    unknown = [fault for file in report.files for fault in file.faults if not fault.observation.requirement]
    judgements = report.judgements
    return Summary(
        specification=report.specification,
        judged=f"documents ({sum(file.documents for file in report.files)} in {len(report.files)} files)",
        verdict=_verdict(report.exit_code, fails=report.exit_code is ExitCode.DOES_NOT_CONFORM),
        why=[
            *(f"{printable(file.path)}: NOT JUDGED: {file.reason}" for file in report.files if file.reason),
            *(f"{printable(one.run)}: {one.observation.seen}; expected {one.observation.expected}" for one in unknown),
        ],
        exit_code=report.exit_code,
        judgements=judgements,
        not_judged={},
        notes=[],
    )


def place(first: Observed) -> str:
    """Return where something was seen first: the call, and the run; the record of a case; of a document, the line."""
    at = first.observation.where
    if isinstance(at, int):
        return f"records[{at}] of {printable(first.call or first.run)}"
    return " over ".join(printable(part) for part in (first.call, first.run) if part) + _at(first)


WORDS: Final = {
    Status.PASS: "obeyed",
    Status.FAIL: "broken",
    Status.KNOWN: "broken as the baseline says",
    Status.WARN: "warned of",
    Status.NOT_OBSERVED: "not judged",
}
"""What became of a requirement, in the words of the reports."""


def where(fault: Observed) -> str:
    """Return the tool or the case that a fault is of."""
    named = printable(fault.tool or fault.call or fault.run)
    return named if fault.call else named + _at(fault)


def _at(fault: Observed) -> str:
    """Return the place of a fault: in the file that was judged, or in the document that a server answered with."""
    at = fault.observation.place
    if at is None:
        return ""
    return f", line {at.line}, column {at.column} of the document" if fault.call else f":{at}"


def counted(summary: Summary) -> str:
    """Return how many requirements there were, and how many of each status, as a sentence."""
    counts = Counter(judgement.status for judgement in summary.judgements)
    said = ", ".join(f"{counts[status]} {word}" for status, word in WORDS.items() if counts[status])
    return f"{len(summary.judgements)} requirements: {said}." if said else "Nothing was judged."


def _verdict(exit_code: ExitCode, *, fails: bool, known: bool = False) -> str:
    if fails:
        return "DOES NOT CONFORM"
    if exit_code is ExitCode.CONFORMS:
        return KNOWN_FAULTS if known else "CONFORMS"
    return "NOT SHOWN TO CONFORM"
