"""The report on a server for a person at a terminal. Text of the peer is data, never markup of the terminal library.

It tells what needs a person: what was broken, what was not judged, what to do next. What was obeyed is a number; the
table of all requirements comes on request, and the JSON report always has it.
"""

from __future__ import annotations

import io
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from xmcp_conformance.core.judge import LEVELS, Judgement, Status, level_status

from .judgements_terminal import counted, print_line, show_broken, show_not_judged, show_table
from .server_report import ServerReport
from .summary import KNOWN_FAULTS
from .unjudged import why_not


def show(report: ServerReport, console: Console, *, verbose: bool = False, quiet: bool = False) -> None:
    """Print the runs, each broken requirement, what was not judged, the notes, and the verdict.

    Args:
        report: the report on the server.
        console: where to print.
        verbose: print the table of all requirements too.
        quiet: print only the broken requirements and the verdict.
    """
    judgements = report.judgements
    if not quiet:
        _show_runs(report, console)
    if verbose:
        console.print()
        show_table(judgements, console)
    for judgement in judgements:
        if (first := judgement.first) is not None:
            show_broken(judgement, console, f"{first.call or 'the catalogue'} over {first.run}")
    if not quiet:
        if not verbose:
            show_not_judged([one for one in judgements if one.status is Status.NOT_OBSERVED], console, why_not)
        elif report.beyond:
            _show_beyond(report, console)
        _show_notes(report, console)
        _show_coverage(report, console)
        _show_counts(report, judgements, console)
    _show_verdict(report, console, advise=not quiet)


def as_text(report: ServerReport, width: int) -> str:
    """Return what `show` prints, in lines of so many columns."""
    written = io.StringIO()
    show(report, Console(file=written, width=width, highlight=False))
    return written.getvalue()


def _show_runs(report: ServerReport, console: Console) -> None:
    console.print(Text(f"XMCP {report.specification}, black-box profile", style="bold"))
    for peer, runs in groupby(report.runs, lambda run: (run.started.transport, run.started.peer)):
        console.print(Text(f"  {peer[0]:<6} {peer[1]}"), soft_wrap=True)
        for run in runs:
            made = f"{_number(run.started.tools, 'tool')}, {_number(run.calls, 'call')}"
            console.print(Text(f"         {run.era_and_client}: {made}", style="dim"))


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _show_beyond(report: ServerReport, console: Console) -> None:
    """Print the sentences that no answer of this server can show, each with why."""
    console.print()
    console.print(Text("Not judged by any check of this server:", style="dim"))
    for requirement in report.beyond:
        print_line(Text(f"  {requirement.id}  {why_not(requirement)}", style="dim"), console)


def _show_coverage(report: ServerReport, console: Console) -> None:
    """Print how many tools were seen at work, and what the others did not show."""
    coverage = report.coverage
    if not coverage.tools:
        return
    console.print()
    style = "" if coverage.at_work == len(coverage.tools) else "yellow"
    console.print(Text(f"{coverage.at_work} of {_number(len(coverage.tools), 'tool')} seen at work.", style=style))
    for gap in report.gaps:
        console.print(Padding(Text(gap, style="yellow"), (0, 0, 0, 2)))


def _show_notes(report: ServerReport, console: Console) -> None:
    notes: dict[str, int] = {}
    for run in report.runs:
        for note in run.notes:
            notes[note] = notes.get(note, 0) + 1
    if notes:
        console.print()
        for note, times in notes.items():
            console.print(Text(f"note: {note}" + (f" (in {times} runs)" if times > 1 else ""), style="yellow"))


def _show_counts(report: ServerReport, judgements: list[Judgement], console: Console) -> None:
    console.print()
    console.print(counted(judgements))
    if report.answers:
        console.print(Text(". ".join(f"Level {n}: {level_status(judgements, n)}" for n in LEVELS) + ".", style="dim"))


def _show_verdict(report: ServerReport, console: Console, *, advise: bool) -> None:
    # Where a part was not reached, the verdict is on the rest alone, and says so.
    reached = (
        f"{', '.join(dict.fromkeys(run.started.transport for run in report.runs))}: " if report.not_reached else ""
    )
    if report.fails:
        console.print(Text(f"{reached}DOES NOT CONFORM", style="bold red"))
    elif report.known and not report.shortcomings:
        console.print(Text(f"{reached}{KNOWN_FAULTS} ({report.known})", style="bold yellow"))
    elif not report.shortcomings:
        coverage = report.coverage
        part = coverage.at_work < len(coverage.tools)
        of_what = f" ({coverage.at_work} of {_number(len(coverage.tools), 'tool')} seen at work)" if part else ""
        console.print(Text(f"{reached}CONFORMS{of_what}", style="bold green"))
    else:
        says = "; ".join(report.shortcomings)
        console.print(Text(f"{reached}NOT SHOWN TO CONFORM: {says}", style="bold red"))
        if advise and (advice := _way_on(report)):
            console.print(Text(advice))
    for event in report.not_reached:
        console.print(Text(f"{event.transport}: NOT JUDGED. {event.reason}", style="bold red"))


def _way_on(report: ServerReport) -> str:
    """Return what a person can do about a server of which too little was seen."""
    if report.silent:
        return "--call-timeout gives a slow tool longer. A tool that waits for something else never answers in a check."
    if report.coverage.any_succeeded:
        return ""
    if not any(run.started.tools for run in report.runs):
        return "The server lists no tools. Does it register them before it starts?"
    if any(note.startswith("Not called, because not marked read-only") for run in report.runs for note in run.notes):
        return (
            'Mark each tool that only reads, in FastMCP with @mcp.tool(annotations={"readOnlyHint": True}), and check '
            "again; or have all tools called with --allow-writes."
        )
    if report.over is not None:
        return "The time was over before a tool had answered. --max-time allows more; it begins with the check itself."
    if not any(run.calls for run in report.runs):
        return "No tool was called; the notes above say why."
    return "Every call failed. The notes above say why; `xmcp see` shows each call with its answer."
