"""What every report comes down to, whatever was judged: a verdict, the requirements, and what a person should know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xmcp_conformance.core.events import Observed
from xmcp_conformance.core.judge import ExitCode, Judgement, Status
from xmcp_conformance.core.untrusted_text import printable

from .case_report import CaseReport
from .server_report import ServerReport
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
    """

    specification: str
    judged: str
    verdict: str
    why: Sequence[str]
    exit_code: ExitCode
    judgements: Sequence[Judgement]
    not_judged: Mapping[str, str]
    notes: Sequence[str]


def of_server(report: ServerReport) -> Summary:
    """Return the summary of a report on a server."""
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
    )


def of_cases(report: CaseReport) -> Summary:
    """Return the summary of a report on a peer that is judged case by case."""
    judgements = report.judgements
    of = f": {report.peer}" if report.peer else f" ({len(report.seen)})"
    return Summary(
        specification=report.specification,
        judged=f"{report.cases.peer}{of}",
        verdict=_verdict(report.exit_code, fails=any(one.status is Status.FAIL for one in judgements)),
        why=[f"{printable(event.peer)}: NOT JUDGED: {event.reason}" for event in report.not_judged],
        exit_code=report.exit_code,
        judgements=judgements,
        not_judged={},
        notes=report.notes,
    )


def place(first: Observed) -> str:
    """Return where something was seen first: the call or the case, and the run."""
    return " over ".join(printable(part) for part in (first.call, first.run) if part)


def _verdict(exit_code: ExitCode, *, fails: bool, known: bool = False) -> str:
    if fails:
        return "DOES NOT CONFORM"
    if exit_code is ExitCode.CONFORMS:
        return KNOWN_FAULTS if known else "CONFORMS"
    return "NOT SHOWN TO CONFORM"
