"""Judgements for a person at a terminal: the table of all, a block for each broken one, what was not judged, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmcp_conformance.core.judge import Judgement, Status
from xmcp_conformance.core.requirements import Requirement

_CHAPTERS = {
    "1": "Conformance",
    "2": "Tool response",
    "3": "Display envelope",
    "4": "Error channel",
    "5": "Tool metadata",
    "6": "MCP binding",
    "7": "Streaming",
    "8": "Security",
    "9": "Versioning",
    "10": "Records",
    "11": "Clients",
}
_MARKS = {
    Status.PASS: ("✓", "green"),
    Status.FAIL: ("✗", "bold red"),
    Status.KNOWN: ("~", "yellow"),
    Status.WARN: ("!", "yellow"),
    Status.NOT_OBSERVED: ("·", "dim"),
}
_COUNTED = {
    Status.PASS: ("obeyed", ""),
    Status.FAIL: ("broken", "bold red"),
    Status.KNOWN: ("broken as the baseline says", "yellow"),
    Status.WARN: ("warned of", "yellow"),
    Status.NOT_OBSERVED: ("not judged", "dim"),
}
_MOST_LISTED: Final = 10
"""Maximum number of requirements that were not judged for which each is listed."""


def show_table(judgements: list[Judgement], console: Console) -> None:
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
        print_line(Text("  ").join([mark, requirement, level, seen, says]), console)

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


def print_line(line: Text, console: Console) -> None:
    """Print one line; a terminal gets it cut to its width, a file or a log whole."""
    if console.is_terminal:
        line.truncate(console.width, overflow="ellipsis")
    console.print(line, soft_wrap=True)


def _chapter(judgement: Judgement) -> str:
    return judgement.requirement.section.split(".")[0]


def _seen(judgement: Judgement) -> str:
    """Return how often a requirement applied, and how often it was broken if it was."""
    return str(judgement.occasions) if not judgement.broken else f"{judgement.broken}/{judgement.occasions}"


def show_broken(judgement: Judgement, console: Console, place: str) -> None:
    """Print what a requirement says, and what was seen where it was first broken: in `place`."""
    requirement, first = judgement.requirement, judgement.first
    if first is None:
        return
    mark, style = _MARKS[judgement.status]
    console.print()
    console.print(Text(f"{mark} {requirement.id}", style=style), Text(f"(section {requirement.section})", style="dim"))
    rows = [("says", requirement.quote), ("seen", first.observation.seen), ("expected", first.observation.expected)]
    rows += [("in", place)]
    if judgement.only_warns:
        rows += [("counts", f"as a warning: {judgement.only_warns}")]
    if judgement.broken > 1:
        rows += [("times", f"{judgement.broken} of {judgement.occasions}")]
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", width=8)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, Text(value))
    console.print(Padding(grid, (0, 0, 0, 2)))


def show_not_judged(
    judgements: list[Judgement],
    console: Console,
    says: Callable[[Requirement], str],
    why: str = "nothing in this run gave occasion",
) -> None:
    """Print what was not judged: each requirement with what `says` says if they are few, else the number by chapter."""
    if not judgements:
        return
    console.print()
    line = Text(f"Not judged, because {why} ({len(judgements)}):")
    if len(judgements) > _MOST_LISTED:
        chapters = Counter(_CHAPTERS.get(_chapter(one), _chapter(one)) for one in judgements)
        line.append(f" {', '.join(f'{name} {number}' for name, number in chapters.items())}; --verbose lists them.")
        console.print(line, style="dim")
        return
    console.print(line, style="dim")
    for judgement in judgements:
        print_line(Text(f"  {judgement.requirement.id}  {says(judgement.requirement)}", style="dim"), console)


def counted(judgements: list[Judgement]) -> Text:
    """Return how many requirements there were, and how many of each status."""
    counts = Counter(judgement.status for judgement in judgements)
    parts = [(f"{counts[status]} {word}", style) for status, (word, style) in _COUNTED.items() if counts[status]]
    return Text(f"{len(judgements)} requirements: ").append_text(Text(", ").join(Text(*one) for one in parts))
