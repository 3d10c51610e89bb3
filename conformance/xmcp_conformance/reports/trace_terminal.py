"""The report on traces of a client for a person at a terminal. What a trace says is data, never markup."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from xmcp_conformance.core.events import Observed
from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.untrusted_text import printable

from .judgements_terminal import counted, print_line, show_broken, show_not_judged, show_table
from .trace_report import TraceReport

_MOST_LISTED = 10
"""Maximum number of traces without a fault of which each has a line."""


def show(report: TraceReport, console: Console, *, verbose: bool = False, quiet: bool = False) -> None:
    """Print the traces, each broken requirement, what was not judged, and the verdict.

    Args:
        report: the report on the traces.
        console: where to print.
        verbose: print the table of all requirements too.
        quiet: print only the broken requirements and the verdict.
    """
    judgements = report.judgements
    if not quiet:
        console.print(Text(f"XMCP {report.specification}, a client by its traces", style="bold"))
        _show_traces(report, console)
    if verbose:
        console.print()
        show_table(judgements, console)
    for judgement in judgements:
        if judgement.first is not None:
            show_broken(judgement, console, _place(judgement.first))
    if not quiet:
        if not verbose:
            unseen = [one for one in judgements if one.status is Status.NOT_OBSERVED]
            show_not_judged(unseen, console, lambda requirement: requirement.quote)
        console.print()
        console.print(counted(judgements))
    for event in report.not_judged:
        line = Text(f"{printable(event.peer)}: NOT JUDGED: {event.reason}", style="bold red")
        console.print(line, soft_wrap=True)
    _show_verdict(report, console)


def _place(first: Observed) -> str:
    where = first.observation.where
    return f"record {where} of {printable(first.run)}" if isinstance(where, int) else printable(first.run)


def _show_traces(report: TraceReport, console: Console) -> None:
    faulty = [trace for trace in report.traces if trace.faults]
    right = [trace for trace in report.traces if not trace.faults]
    for trace in faulty:
        ids = ", ".join(dict.fromkeys(fault.observation.requirement for fault in trace.faults))
        print_line(Text.assemble(("  fails  ", "bold red"), f"{printable(trace.name)}  ", (ids, "dim")), console)
    for trace in right[:_MOST_LISTED]:
        times = f"{trace.occasions} occasion{'s' if trace.occasions != 1 else ''}"
        print_line(Text.assemble(("  ok     ", "green"), f"{printable(trace.name)}  ", (times, "dim")), console)
    if len(right) > _MOST_LISTED:
        console.print(Text(f"  and {len(right) - _MOST_LISTED} more without a fault", style="dim"))


def _show_verdict(report: TraceReport, console: Console) -> None:
    judged = len(report.traces)
    of = f" ({judged} trace{'s' if judged != 1 else ''})"
    if any(one.status is Status.FAIL for one in report.judgements):
        console.print(Text(f"DOES NOT CONFORM{of}", style="bold red"))
    elif report.exit_code is ExitCode.CONFORMS:
        console.print(Text(f"CONFORMS{of}", style="bold green"))
    elif not report.not_judged:
        console.print(Text("NOT SHOWN TO CONFORM: no requirement applied in these traces", style="bold red"))
