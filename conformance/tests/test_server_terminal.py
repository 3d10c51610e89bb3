"""The report on a server: whole sentences in a log, lines of the terminal's width on a terminal, and a way on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from xmcp_conformance.core.events import Noted, RunStarted, SuiteStarted
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.reports.server_terminal import show

NOT_CALLED = "Not called, because not marked read-only: `a`."


def printed(*notes: str, tools: int = 1, terminal: bool = False) -> str:
    started = RunStarted("stdio", "server.py", "stdio", "2026-07-28", "declared", tools)
    events = [SuiteStarted("server-blackbox", "1.0"), started, *(Noted("stdio", note) for note in notes)]
    show(
        ServerReport.of(events),
        console := Console(file=io.StringIO(), width=80, force_terminal=terminal, no_color=True),
    )
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_log_has_the_whole_sentence_of_each_requirement() -> None:
    lines = printed().splitlines()
    for requirement in registry().verified_by("server"):
        assert any(requirement.id in line and line.endswith(requirement.quote) for line in lines), requirement.id


def test_on_a_terminal_no_requirement_takes_two_lines() -> None:
    lines = [line for line in printed(terminal=True).splitlines() if "XMCP-RSP-" in line]
    assert lines
    assert all("…" in line or len(line) < 100 for line in lines)


@pytest.mark.parametrize(
    ("notes", "tools", "words"),
    [
        ([NOT_CALLED], 1, '@mcp.tool(annotations={"readOnlyHint": True})'),
        ([], 0, "The server lists no tools."),
        (["No call of `a` succeeded"], 1, "Every call failed."),
    ],
)
def test_a_server_that_is_not_shown_to_conform_has_a_way_on(notes: list[str], tools: int, words: str) -> None:
    *_, verdict, advice = " ".join(printed(*notes, tools=tools).split()).rpartition("NOT SHOWN TO CONFORM")
    assert verdict
    assert words in advice
