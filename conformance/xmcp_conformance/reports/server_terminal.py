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
    console.print(_table(judgements))
    for judgement in judgements:
        if judgement.first is not None:
            _show_broken(judgement, console)
    _show_notes(report, console)
    _show_verdict(report, judgements, console)


def _table(judgements: list[Judgement]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim", expand=True)
    table.add_column("", width=1)
    table.add_column("requirement", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("seen", justify="right", no_wrap=True)
    table.add_column("what it says", ratio=1, no_wrap=True, overflow="ellipsis")
    for chapter, members in groupby(judgements, lambda judgement: judgement.requirement.section.split(".")[0]):
        table.add_row("", Text(f"{chapter} {_CHAPTERS.get(chapter, '')}", style="bold"))
        for judgement in members:
            mark, style = _MARKS[judgement.status]
            count = str(judgement.occasions) if not judgement.broken else f"{judgement.broken}/{judgement.occasions}"
            table.add_row(
                Text(mark, style=style),
                Text(judgement.requirement.id, style=style if judgement.first else ""),
                Text(judgement.requirement.level, style="dim"),
                Text(count, style=style if judgement.first else "dim"),
                Text(judgement.requirement.quote, style="dim" if judgement.status is Status.NOT_OBSERVED else ""),
            )
    return table


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
    else:
        console.print(Text("DOES NOT CONFORM", style="bold red"))
