"""A report as Markdown, for a page that CI shows: GitHub's step summary, a comment, a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from xmcp_conformance.core.judge import Judgement, Status

from .summary import KNOWN_FAULTS, Summary, counted, place, where

_MARKS: Final = {"CONFORMS": "✓", KNOWN_FAULTS: "~"}
"""The mark of a verdict; that of any other is a cross."""
_MOST_NAMED: Final = 20
"""Number of other tools or cases with the same fault that are named."""


def to_markdown(summary: Summary) -> str:
    """Return the Markdown. What a peer said is in code blocks, and stays text."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Summary) -> Iterator[str]:
    yield f"## {_MARKS.get(summary.verdict, '✗')} {summary.headline}: XMCP {summary.specification}"
    yield ""
    yield from _code(summary.judged)
    yield f"{counted(summary)} Suite {summary.suite}."
    yield ""
    for why in summary.why:
        yield from _code(why)
    for judgement in summary.judgements:
        if judgement.first is not None:
            yield from _fault(judgement)
    if summary.notes:
        yield "<details><summary>Notes</summary>"
        yield ""
        for note in summary.notes:
            yield from _code(note)
        yield "</details>"
        yield ""


def _fault(judgement: Judgement) -> Iterator[str]:
    requirement, first = judgement.requirement, judgement.first
    if first is None:
        return
    mark = {Status.FAIL: "✗", Status.KNOWN: "~"}.get(judgement.status, "!")
    yield f"### {mark} {requirement.id} (section {requirement.section})"
    yield ""
    yield requirement.quote
    yield ""
    yield from _code(
        f"seen      {first.observation.seen}",
        f"expected  {first.observation.expected}",
        f"in        {place(first)}",
        f"times     {judgement.broken} of {judgement.occasions}",
        *([f"counts    as a warning: {judgement.only_warns}"] if judgement.only_warns else []),
    )
    if others := [where(one) for one in judgement.faults[1:]]:
        more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
        yield from _code(f"also in {', '.join(others[:_MOST_NAMED])}{more}")


def _code(*lines: str) -> Iterator[str]:
    """Yield a block of code that the lines cannot end."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from lines
    yield fence
    yield ""
