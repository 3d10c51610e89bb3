"""The report on a server for a person at a terminal. Text of the peer is data, never markup of the terminal library.

It tells what needs a person: what was broken, what was not judged, what to do next. What was obeyed is a number; the
table of all requirements comes on request, and the JSON report always has it.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmcp_conformance.core.judge import LEVELS, Judgement, Status, level_status

from .server_report import ServerReport
from .unjudged import why_not

_CHAPTERS = {
    "1": "Conformance",
    "2": "Tool response",
    "3": "Display envelope",
    "4": "Error channel",
    "5": "Tool metadata",
    "6": "MCP binding",
}
_MARKS = {
    Status.PASS: ("✓", "green"),
    Status.FAIL: ("✗", "bold red"),
    Status.WARN: ("!", "yellow"),
    Status.NOT_OBSERVED: ("·", "dim"),
}
_COUNTED = {
    Status.PASS: ("obeyed", ""),
    Status.FAIL: ("broken", "bold red"),
    Status.WARN: ("warned of", "yellow"),
    Status.NOT_OBSERVED: ("not judged", "dim"),
}
_MOST_LISTED: Final = 10
"""Maximum number of requirements that were not judged for which each is listed."""


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
        _show_table(judgements, console)
    for judgement in judgements:
        if judgement.first is not None:
            _show_broken(judgement, console)
    if not quiet:
        if not verbose:
            _show_not_judged([one for one in judgements if one.status is Status.NOT_OBSERVED], console)
        elif report.beyond:
            _show_beyond(report, console)
        _show_notes(report, console)
        _show_coverage(report, console)
        _show_counts(report, judgements, console)
    _show_verdict(report, console, advise=not quiet)


def _show_runs(report: ServerReport, console: Console) -> None:
    console.print(Text(f"XMCP {report.specification}, black-box profile", style="bold"))
    for peer, runs in groupby(report.runs, lambda run: (run.started.transport, run.started.peer)):
        console.print(Text(f"  {peer[0]:<6} {peer[1]}"), soft_wrap=True)
        for run in runs:
            made = f"{_number(run.started.tools, 'tool')}, {_number(run.calls, 'call')}"
            console.print(Text(f"         {run.era_and_client}: {made}", style="dim"))


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _show_table(judgements: list[Judgement], console: Console) -> None:
    """Print a line for each requirement. A terminal gets each cut to its width, a file or a log the whole sentences."""
    rows = [(judgement, _seen(judgement)) for judgement in judgements]
    widths = [
        max([len("requirement"), *(len(judgement.requirement.id) for judgement in judgements)]),
        max([len("level"), *(len(judgement.requirement.level) for judgement in judgements)]),
        max([len("seen"), *(len(seen) for _, seen in rows)]),
    ]

    def line(mark: Text, cells: tuple[Text, Text, Text, Text]) -> None:
        requirement, level, seen, says = cells
        requirement.align("left", widths[0])
        level.align("left", widths[1])
        seen.align("right", widths[2])
        _print_line(Text("  ").join([mark, requirement, level, seen, says]), console)

    line(Text(" "), (Text("requirement"), Text("level"), Text("seen"), Text("what it says")))
    for chapter, members in groupby(rows, lambda row: _chapter(row[0])):
        console.print(Text(f"   {chapter} {_CHAPTERS.get(chapter, '')}", style="bold"))
        for judgement, seen in members:
            mark, style = _MARKS[judgement.status]
            line(
                Text(mark, style=style),
                (
                    Text(judgement.requirement.id, style=style if judgement.first else ""),
                    Text(judgement.requirement.level, style="dim"),
                    Text(seen, style=style if judgement.first else "dim"),
                    Text(judgement.requirement.quote, style="dim" if judgement.status is Status.NOT_OBSERVED else ""),
                ),
            )


def _print_line(line: Text, console: Console) -> None:
    """Print one line; a terminal gets it cut to its width, a file or a log whole."""
    if console.is_terminal:
        line.truncate(console.width, overflow="ellipsis")
    console.print(line, soft_wrap=True)


def _chapter(judgement: Judgement) -> str:
    return judgement.requirement.section.split(".")[0]


def _seen(judgement: Judgement) -> str:
    """Return how often a requirement applied, and how often it was broken if it was."""
    return str(judgement.occasions) if not judgement.broken else f"{judgement.broken}/{judgement.occasions}"


def _show_broken(judgement: Judgement, console: Console) -> None:
    requirement, first = judgement.requirement, judgement.first
    if first is None:
        return
    mark, style = _MARKS[judgement.status]
    console.print()
    console.print(Text(f"{mark} {requirement.id}", style=style), Text(f"(section {requirement.section})", style="dim"))
    rows = [("says", requirement.quote), ("seen", first.observation.seen), ("expected", first.observation.expected)]
    rows += [("in", f"{first.call or 'the catalogue'} over {first.run}")]
    if judgement.broken > 1:
        rows += [("times", f"{judgement.broken} of {judgement.occasions}")]
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", width=8)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, Text(value))
    console.print(Padding(grid, (0, 0, 0, 2)))


def _show_not_judged(judgements: list[Judgement], console: Console) -> None:
    """Print what was not judged: each requirement with what it needs if they are few, else how many of each chapter."""
    if not judgements:
        return
    console.print()
    line = Text(f"Not judged, because nothing in this run gave occasion ({len(judgements)}):")
    if len(judgements) > _MOST_LISTED:
        chapters = Counter(_CHAPTERS.get(_chapter(one), _chapter(one)) for one in judgements)
        line.append(f" {', '.join(f'{name} {number}' for name, number in chapters.items())}; --verbose lists them.")
        console.print(line, style="dim")
        return
    console.print(line, style="dim")
    for judgement in judgements:
        _print_line(Text(f"  {judgement.requirement.id}  {why_not(judgement.requirement)}", style="dim"), console)


def _show_beyond(report: ServerReport, console: Console) -> None:
    """Print the sentences that no answer of this server can show, each with why."""
    console.print()
    console.print(Text("Not judged by any check of this server:", style="dim"))
    for requirement in report.beyond:
        _print_line(Text(f"  {requirement.id}  {why_not(requirement)}", style="dim"), console)


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
    counts = Counter(judgement.status for judgement in judgements)
    counted = [(f"{counts[status]} {word}", style) for status, (word, style) in _COUNTED.items() if counts[status]]
    console.print()
    console.print(Text(f"{len(judgements)} requirements: ").append_text(Text(", ").join(Text(*one) for one in counted)))
    if report.answers:
        console.print(Text(". ".join(f"Level {n}: {level_status(judgements, n)}" for n in LEVELS) + ".", style="dim"))


def _show_verdict(report: ServerReport, console: Console, *, advise: bool) -> None:
    # Where a part was not reached, the verdict is on the rest alone, and says so.
    reached = (
        f"{', '.join(dict.fromkeys(run.started.transport for run in report.runs))}: " if report.not_reached else ""
    )
    if report.fails:
        console.print(Text(f"{reached}DOES NOT CONFORM", style="bold red"))
    elif not report.shortcomings:
        console.print(Text(f"{reached}CONFORMS", style="bold green"))
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
    if report.answers:
        return ""
    if not any(run.started.tools for run in report.runs):
        return "The server lists no tools. Does it register them before it starts?"
    if any(note.startswith("Not called, because not marked read-only") for run in report.runs for note in run.notes):
        return (
            'Mark each tool that only reads, in FastMCP with @mcp.tool(annotations={"readOnlyHint": True}), and check '
            "again; or have all tools called with --allow-writes."
        )
    return "Every call failed. The notes above say why; `xmcp see` shows each call with its answer."
