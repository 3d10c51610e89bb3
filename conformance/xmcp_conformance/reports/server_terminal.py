"""The report on a server for a person at a terminal. Text of the peer is data, never markup of the terminal library."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmcp_conformance.core.judge import LEVELS, ExitCode, Judgement, Status, level_status

from .server_report import ServerReport

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


def show(report: ServerReport, console: Console) -> None:
    """Print the runs, the table of requirements, each broken requirement, the notes, and the verdict."""
    judgements = report.judgements
    console.print(Text(f"XMCP {report.specification}, black-box profile", style="bold"))
    for peer, runs in groupby(report.runs, lambda run: (run.started.transport, run.started.peer)):
        console.print(Text(f"  {peer[0]:<6} {peer[1]}"), soft_wrap=True)
        for run in runs:
            console.print(
                Text(f"         {run.era_and_client}: {run.started.tools} tools, {run.calls} calls", style="dim")
            )
    console.print()
    _show_table(judgements, console)
    for judgement in judgements:
        if judgement.first is not None:
            _show_broken(judgement, console)
    _show_notes(report, console)
    _show_verdict(report, judgements, console)


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
        row = Text("  ").join([mark, requirement, level, seen, says])
        if console.is_terminal:
            row.truncate(console.width, overflow="ellipsis")
        console.print(row, soft_wrap=True)

    line(Text(" "), (Text("requirement"), Text("level"), Text("seen"), Text("what it says")))
    for chapter, members in groupby(rows, lambda row: row[0].requirement.section.split(".")[0]):
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


def _show_notes(report: ServerReport, console: Console) -> None:
    notes: dict[str, int] = {}
    for run in report.runs:
        for note in run.notes:
            notes[note] = notes.get(note, 0) + 1
    if notes:
        console.print()
        for note, times in notes.items():
            console.print(Text(f"note: {note}" + (f" (in {times} runs)" if times > 1 else ""), style="yellow"))


def _show_verdict(report: ServerReport, judgements: list[Judgement], console: Console) -> None:
    counts = {status: sum(judgement.status is status for judgement in judgements) for status in Status}
    examined = len(judgements) - counts[Status.NOT_OBSERVED]
    words = Text(f"{examined} of {len(judgements)} requirements applied: {counts[Status.PASS]} obeyed")
    if counts[Status.FAIL]:
        words.append(f", {counts[Status.FAIL]} broken", style="bold red")
    if counts[Status.WARN]:
        words.append(f", {counts[Status.WARN]} warned of", style="yellow")
    console.print()
    console.print(words)
    if report.answers:
        console.print(Text(". ".join(f"Level {n}: {level_status(judgements, n)}" for n in LEVELS) + ".", style="dim"))
    if report.exit_code is ExitCode.CONFORMS:
        console.print(Text("CONFORMS", style="bold green"))
    elif not counts[Status.FAIL]:
        console.print(Text("NOT SHOWN TO CONFORM: no tool of the server was seen to answer", style="bold red"))
        console.print(Text(_way_on(report)))
    else:
        console.print(Text("DOES NOT CONFORM", style="bold red"))


def _way_on(report: ServerReport) -> str:
    """Return what a person can do about a server of which no tool answered."""
    if not any(run.started.tools for run in report.runs):
        return "The server lists no tools. Does it register them before it starts?"
    if any(note.startswith("Not called, because not marked read-only") for run in report.runs for note in run.notes):
        return (
            'Mark each tool that only reads, in FastMCP with @mcp.tool(annotations={"readOnlyHint": True}), and check '
            "again; or have all tools called with --allow-writes."
        )
    return "Every call failed. The notes above say why; `xmcp see` shows each call with its answer."
