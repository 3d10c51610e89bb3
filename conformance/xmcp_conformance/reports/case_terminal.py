"""The report on a peer that is judged case by case, for a person at a terminal. What a case says is data, no markup."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from xmcp_conformance.core.events import Observed
from xmcp_conformance.core.judge import ExitCode, Judgement, Status
from xmcp_conformance.core.untrusted_text import printable

from .case_report import CaseReport
from .judgements_terminal import counted, print_line, show_broken, show_not_judged, show_table
from .summary import place

_MOST_LISTED = 10
"""Maximum number of cases without a fault of which each has a line, and of cases with one."""


def show(report: CaseReport, console: Console, *, verbose: bool = False, quiet: bool = False) -> None:
    """Print the cases, each broken requirement, what was not judged, and the verdict.

    Args:
        report: the report on the cases.
        console: where to print.
        verbose: print the table of all requirements too.
        quiet: print only the broken requirements, the notes and the verdict.
    """
    judgements = report.judgements if report.seen or not report.not_judged else []
    if not quiet:
        peer = f": {printable(report.peer)}" if report.peer else ""
        console.print(Text(f"XMCP {report.specification}, {report.cases.peer}{peer}", style="bold"))
        _show_cases(report, console)
    _show_notes(report, console)  # also if quiet: why a case failed, and which were not run
    if verbose:
        console.print()
        show_table(judgements, console)
    for judgement in judgements:
        if judgement.first is not None:
            show_broken(judgement, console, _place(judgement.first))
    if not quiet:
        if not verbose:
            unseen = [one for one in judgements if one.status is Status.NOT_OBSERVED]
            show_not_judged(unseen, console, lambda requirement: requirement.quote, _why_not_judged(judgements))
        if judgements:
            console.print()
            console.print(counted(judgements))
    for event in report.not_judged:
        line = Text(f"{printable(event.peer)}: NOT JUDGED: {event.reason}", style="bold red")
        console.print(line, soft_wrap=True)
    _show_verdict(report, console)


def _why_not_judged(judgements: Sequence[Judgement]) -> str:
    """Return why sentences were not judged: what a call came to is in a document, where it is one."""
    if any(one.requirement.id == "XMCP-CLI-003" and one.first is not None for one in judgements):
        return "nothing in this run gave occasion, or the tool messages are no documents (XMCP-CLI-003)"
    return "nothing in this run gave occasion"


def _place(first: Observed) -> str:
    return place(first) if isinstance(first.observation.where, int) else printable(first.call or first.run)


def _show_cases(report: CaseReport, console: Console) -> None:
    faulty = [case for case in report.seen.values() if case.faults]
    unseen = {event.peer for event in report.not_judged}
    right = [case for case in report.seen.values() if not case.faults and case.name not in unseen]
    for case in faulty if not report.peer else faulty[:_MOST_LISTED]:
        ids = ", ".join(dict.fromkeys(fault.observation.requirement for fault in case.faults))
        print_line(Text.assemble(("  fails  ", "bold red"), f"{printable(case.name)}  ", (ids, "dim")), console)
    if report.peer and len(faulty) > _MOST_LISTED:
        console.print(Text(f"  and {len(faulty) - _MOST_LISTED} more with a fault", style="dim"))
    for case in right[: 0 if report.peer else _MOST_LISTED]:
        times = f"{case.occasions} occasion{'s' if case.occasions != 1 else ''}"
        print_line(Text.assemble(("  ok     ", "green"), f"{printable(case.name)}  ", (times, "dim")), console)
    if report.peer:
        console.print(Text(f"  {len(right)} of {counted_cases(report)} without a fault", style="dim"))
    elif len(right) > _MOST_LISTED:
        console.print(Text(f"  and {len(right) - _MOST_LISTED} more without a fault", style="dim"))


def _show_notes(report: CaseReport, console: Console) -> None:
    for note in report.notes[:_MOST_LISTED]:
        console.print(Text(f"note: {note}", style="dim"), soft_wrap=True)
    if (more := len(report.notes) - _MOST_LISTED) > 0:
        console.print(Text(f"and {more} more note{'s' if more > 1 else ''}, which --json has", style="dim"))


def counted_cases(report: CaseReport) -> str:
    """Return how many cases there were, in words."""
    return f"{len(report.seen)} {report.cases.one}{'s' if len(report.seen) != 1 else ''}"


def _show_verdict(report: CaseReport, console: Console) -> None:
    of = f" ({counted_cases(report)})"
    if any(one.status is Status.FAIL for one in report.judgements):
        console.print(Text(f"DOES NOT CONFORM{of}", style="bold red"))
    elif report.exit_code is ExitCode.CONFORMS:
        console.print(Text(f"CONFORMS{of}", style="bold green"))
    elif not report.not_judged:
        said = "; ".join(report.shortcomings)
        console.print(Text(f"NOT SHOWN TO CONFORM{of}: {said}", style="bold red"), soft_wrap=True)
