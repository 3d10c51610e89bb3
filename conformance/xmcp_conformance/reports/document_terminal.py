"""The report on documents for a person at a terminal. Names and text of files are data: they are never markup."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.document.checks import Fault, Judged, Outcome, Report

_MARKS = {
    Outcome.CONFORMS: ("ok", "green"),
    Outcome.DOES_NOT_CONFORM: ("fails", "bold red"),
    Outcome.UNKNOWN_KIND: ("kind?", "yellow"),
    Outcome.UNREADABLE: ("error", "bold red"),
}
_FAULTS = {Status.FAIL: ("✗", "bold red"), Status.WARN: ("!", "yellow")}
_VERDICTS = {
    ExitCode.CONFORMS: ("CONFORMS", "bold green"),
    ExitCode.DOES_NOT_CONFORM: ("DOES NOT CONFORM", "bold red"),
    ExitCode.USAGE: ("NOT JUDGED: say with --kind what these files are", "bold red"),
    ExitCode.SUITE_FAILED: ("NOT JUDGED: not every file could be read", "bold red"),
}
_COUNTED = {
    Outcome.CONFORMS: "ok",
    Outcome.DOES_NOT_CONFORM: "fail",
    Outcome.UNKNOWN_KIND: "of unknown kind",
    Outcome.UNREADABLE: "unreadable",
}


def show_file(judged: Judged, console: Console, *, quiet: bool = False) -> None:
    """Print a line for a file, and a block for each fault; with `quiet` nothing where there is none."""
    if quiet and judged.outcome is Outcome.CONFORMS and not judged.faults:
        return
    word, style = _MARKS[judged.outcome]
    if judged.outcome is Outcome.CONFORMS and judged.faults:
        word, style = "warns", "yellow"
    line = Text.assemble((f"{word:<6}", style), printable(judged.path))
    if judged.reason:
        line.append(f": {judged.reason}")
    else:
        lines = f", {judged.documents} lines" if judged.documents > 1 else ""
        line.append(f"  {judged.kind or 'JSON'}{lines}", style="dim")
    console.print(line, soft_wrap=True)
    for fault in judged.faults:
        _show_fault(fault, judged, console)
    if judged.more:
        console.print(Text("\n  and more, which are not listed", style="dim"))
    if judged.faults:
        console.print()


def _show_fault(fault: Fault, judged: Judged, console: Console) -> None:
    mark, style = _FAULTS[fault.status]
    where = printable(judged.path) + (f":{fault.place}" if fault.place else "")
    console.print()
    if fault.requirement is not None:
        heading = Text.assemble(
            (f"{mark} {fault.requirement.id}", style), (f"  section {fault.requirement.section}", "dim")
        )
    else:
        heading = Text(f"{mark} not looked at", style=style)
    console.print(Text("  ") + heading)
    console.print(Text.assemble("    ", (f"{'at':<9}", "dim"), where), soft_wrap=True)
    if fault.before or fault.after:
        _show_excerpt(fault, console, style)
    rows = [("says", fault.requirement.quote)] if fault.requirement else []
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", width=8)
    grid.add_column(overflow="fold")
    for name, value in (*rows, ("seen", fault.seen), ("expected", fault.expected)):
        grid.add_row(name, Text(value))
    console.print(Padding(grid, (0, 0, 0, 4), expand=False))


def _show_excerpt(fault: Fault, console: Console, style: str) -> None:
    """The line of the fault with a mark below its place, as much of it as there is room for."""
    number = f"{fault.place.line:>11}" if fault.place else ""
    room = max(console.width - len(number) - 4, 20)
    before, after = Text(fault.before), Text(fault.after)
    if (over := before.cell_len - room // 2) > 0:
        before = Text("…") + before[_characters(fault.before, over + 1) :]
    after.truncate(max(room - before.cell_len, 1), overflow="ellipsis")
    console.print(Text.assemble((f"{number} │ ", "dim"), before, after), soft_wrap=True)
    console.print(Text.assemble((f"{'':{len(number)}} │ ", "dim"), " " * before.cell_len, ("^", style)), soft_wrap=True)


def _characters(text: str, cells: int) -> int:
    """How many characters of the beginning of `text` take at least that many cells."""
    return next((count for count in range(len(text) + 1) if cell_len(text[:count]) >= cells), len(text))


def show_verdict(report: Report, console: Console, *, quiet: bool = False) -> None:
    """Print how many files came out how, and the verdict; with `quiet` nothing where all conform."""
    if quiet and report.exit_code is ExitCode.CONFORMS:
        return
    counts = {outcome: sum(file.outcome is outcome for file in report.files) for outcome in Outcome}
    told = [f"{counts[outcome]} {words}" for outcome, words in _COUNTED.items() if counts[outcome]]
    if warned := sum(bool(file.faults) and file.outcome is Outcome.CONFORMS for file in report.files):
        told.append(f"{warned} with a warning")
    number = len(report.files)
    words, style = _VERDICTS[report.exit_code]
    if not report.files[-1].faults:
        console.print()
    console.print(Text(f"XMCP {registry().version}, {number} file{'s' if number != 1 else ''}: {', '.join(told)}"))
    console.print(Text(words, style=style))
