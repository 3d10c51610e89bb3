"""The report on documents for a person at a terminal. Names and text of files are data: they are never markup."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmcp_conformance.core.events import Excerpt, Observed
from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.observation import Place
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import printable

from .document_report import DocumentReport, FileOutcome, FileReport

_MARKS = {
    FileOutcome.CONFORMS: ("ok", "green"),
    FileOutcome.DOES_NOT_CONFORM: ("fails", "bold red"),
    FileOutcome.UNKNOWN_KIND: ("kind?", "yellow"),
    FileOutcome.UNREADABLE: ("error", "bold red"),
}
_FAULTS = {Status.FAIL: ("✗", "bold red"), Status.WARN: ("!", "yellow")}
_VERDICTS = {
    ExitCode.CONFORMS: ("CONFORMS", "bold green"),
    ExitCode.DOES_NOT_CONFORM: ("DOES NOT CONFORM", "bold red"),
    ExitCode.USAGE: ("NOT JUDGED: say with --kind what these files are", "bold red"),
    ExitCode.SUITE_FAILED: ("NOT JUDGED: not every file could be read", "bold red"),
}
_COUNTED = {
    FileOutcome.CONFORMS: "ok",
    FileOutcome.DOES_NOT_CONFORM: "fail",
    FileOutcome.UNKNOWN_KIND: "of unknown kind",
    FileOutcome.UNREADABLE: "unreadable",
}


def show_file(file: FileReport, console: Console, *, quiet: bool = False) -> None:
    """Print a line for a file, and a block for each fault.

    Args:
        file: the report on the file.
        console: where to print.
        quiet: print nothing for a file without faults.
    """
    if quiet and file.outcome is FileOutcome.CONFORMS and not file.faults:
        return
    word, style = _MARKS[file.outcome]
    if file.outcome is FileOutcome.CONFORMS and file.faults:
        word, style = "warns", "yellow"
    line = Text.assemble((f"{word:<6}", style), printable(file.path))
    if file.reason:
        line.append(f": {file.reason}")
    else:
        lines = f", {file.documents} lines" if file.documents > 1 else ""
        line.append(f"  {file.kind or 'JSON'}{lines}", style="dim")
    console.print(line, soft_wrap=True)
    for fault in file.faults:
        _show_fault(fault, file, console)
    if file.more:
        console.print(Text("\n  and more, which are not listed", style="dim"))
    if file.faults:
        console.print()


def _show_fault(fault: Observed, file: FileReport, console: Console) -> None:
    observation = fault.observation
    requirement = registry().requirements.get(observation.requirement)
    mark, style = _FAULTS[file.status(fault)]
    where = printable(file.path) + (f":{observation.place}" if observation.place else "")
    console.print()
    if requirement is not None:
        heading = Text.assemble((f"{mark} {requirement.id}", style), (f"  section {requirement.section}", "dim"))
    else:
        heading = Text(f"{mark} not looked at", style=style)
    console.print(Text("  ") + heading)
    console.print(Text.assemble("    ", (f"{'at':<9}", "dim"), where), soft_wrap=True)
    if fault.excerpt and (fault.excerpt.before or fault.excerpt.after):
        _show_excerpt(fault.excerpt, observation.place, console, style)
    rows = [("says", requirement.quote)] if requirement else []
    if requirement is not None and requirement.only_warns and file.status(fault) is Status.WARN:
        rows += [("counts", f"as a warning: {requirement.only_warns}")]
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", width=8)
    grid.add_column(overflow="fold")
    for name, value in (*rows, ("seen", observation.seen), ("expected", observation.expected)):
        grid.add_row(name, Text(value))
    console.print(Padding(grid, (0, 0, 0, 4), expand=False))


def _show_excerpt(excerpt: Excerpt, place: Place | None, console: Console, style: str) -> None:
    """Print the line of the fault with a mark below its place, cut to the width of the console."""
    number = f"{place.line:>11}" if place else ""
    room = max(console.width - len(number) - 4, 20)
    before, after = Text(excerpt.before), Text(excerpt.after)
    if (over := before.cell_len - room // 2) > 0:
        before = Text("…") + before[_characters(excerpt.before, over + 1) :]
    after.truncate(max(room - before.cell_len, 1), overflow="ellipsis")
    console.print(Text.assemble((f"{number} │ ", "dim"), before, after), soft_wrap=True)
    console.print(Text.assemble((f"{'':{len(number)}} │ ", "dim"), " " * before.cell_len, ("^", style)), soft_wrap=True)


def _characters(text: str, cells: int) -> int:
    """Return how many characters at the beginning of `text` take at least that many cells."""
    return next((count for count in range(len(text) + 1) if cell_len(text[:count]) >= cells), len(text))


def show_verdict(report: DocumentReport, console: Console, *, quiet: bool = False) -> None:
    """Print how many files had which outcome, and the verdict.

    Args:
        report: the report on all files.
        console: where to print.
        quiet: print nothing where all files conform.
    """
    if quiet and report.exit_code is ExitCode.CONFORMS:
        return
    counts = {outcome: sum(file.outcome is outcome for file in report.files) for outcome in FileOutcome}
    parts = [f"{counts[outcome]} {words}" for outcome, words in _COUNTED.items() if counts[outcome]]
    if warned := sum(bool(file.faults) and file.outcome is FileOutcome.CONFORMS for file in report.files):
        parts.append(f"{warned} with a warning")
    number = len(report.files)
    words, style = _VERDICTS[report.exit_code]
    if not report.files[-1].faults:
        console.print()
    console.print(Text(f"XMCP {report.specification}, {number} file{'s' if number != 1 else ''}: {', '.join(parts)}"))
    console.print(Text(words, style=style))
