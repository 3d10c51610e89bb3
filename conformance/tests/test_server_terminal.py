"""The report on a server: what needs a person's eye, the table on request, and a way on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from xmcp_conformance.core.events import (
    CallMade,
    Event,
    Noted,
    NotReached,
    Observed,
    RunStarted,
    SuiteStarted,
    ToolListed,
)
from xmcp_conformance.core.observation import Observation
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.reports.server_terminal import show
from xmcp_conformance.reports.unjudged import why_not

NOT_CALLED = "Not called, because not marked read-only: `a`."


CALL = CallMade("stdio", "a({})", "a", "succeeded")
NAMES = [requirement.id for requirement in registry().verified_by("server")]
STARTED = RunStarted("stdio", "server.py", "stdio", "2026-07-28", "declared", 1)


def shown(*events: Event, terminal: bool = False, **detail: bool) -> str:
    report = ServerReport.of([SuiteStarted("server-blackbox", "1.0"), *events])
    console = Console(file=io.StringIO(), width=80, force_terminal=terminal, no_color=True)
    show(report, console, **detail)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def printed(*notes: str, tools: int = 1, **options: bool) -> str:
    started = RunStarted("stdio", "server.py", "stdio", "2026-07-28", "declared", tools)
    return shown(started, *(Noted("stdio", note) for note in notes), **options)


def seen(names: list[str], *, broken: int = 0) -> list[Event]:
    """Events of a run with an answer that obeyed these requirements, except for the first `broken`."""
    observations = [
        Observation(name, index >= broken, "an odd thing", "a right one") for index, name in enumerate(names)
    ]
    return [STARTED, *(Observed(one, "stdio", "a({})") for one in observations), CALL]


def test_with_the_table_a_log_has_the_whole_sentence_of_each_requirement() -> None:
    lines = printed(verbose=True).splitlines()
    for requirement in registry().verified_by("server"):
        assert any(requirement.id in line and line.endswith(requirement.quote) for line in lines), requirement.id


def test_on_a_terminal_no_requirement_of_the_table_takes_two_lines() -> None:
    lines = [line for line in printed(terminal=True, verbose=True).splitlines() if "XMCP-RSP-" in line]
    assert lines
    assert all("…" in line or len(line) < 100 for line in lines)


def test_what_was_obeyed_is_counted_and_not_listed() -> None:
    text = shown(*seen(NAMES))
    assert not [name for name in NAMES if name in text]
    assert f"{len(NAMES)} requirements: {len(NAMES)} obeyed" in text
    assert text.rstrip().endswith("CONFORMS")
    assert len(text.splitlines()) < 12


def test_a_few_requirements_that_were_not_judged_are_listed_with_what_they_need() -> None:
    text = shown(*seen(NAMES[3:]))
    assert "Not judged, because nothing in this run gave occasion (3)" in text
    for name in NAMES[:3]:
        assert any(name in line and why_not(registry().requirements[name]) in line for line in text.splitlines())
    assert f"{len(NAMES) - 3} obeyed, 3 not judged" in text


def test_many_requirements_that_were_not_judged_are_counted_by_chapter() -> None:
    text = shown(*seen(NAMES[:1]))
    assert not [name for name in NAMES if name in text]
    assert f"Not judged, because nothing in this run gave occasion ({len(NAMES) - 1}): " in text
    assert "Error channel " in text
    assert "--verbose lists them" in " ".join(text.split())


def test_what_is_broken_is_told_in_full_without_the_table() -> None:
    text = shown(*seen(NAMES, broken=1))
    assert "an odd thing" in text
    assert "a right one" in text
    assert NAMES[1] not in text
    assert f"{len(NAMES) - 1} obeyed, 1 broken" in text


def test_quiet_leaves_what_is_broken_and_the_verdict() -> None:
    assert shown(*seen(NAMES), quiet=True).splitlines() == ["CONFORMS"]
    assert shown(STARTED, Noted("stdio", "beware"), quiet=True).splitlines() == [
        "NOT SHOWN TO CONFORM: no tool of the server was seen to answer"
    ]
    text = shown(*seen(NAMES, broken=1), quiet=True)
    assert NAMES[0] in text
    assert "requirements:" not in text
    assert text.rstrip().endswith("DOES NOT CONFORM")


def test_the_verdict_says_of_how_many_tools_it_is_where_not_all_were_seen_at_work() -> None:
    def tool(name: str) -> ToolListed:
        return ToolListed("stdio", name, called=True, displays=False)

    assert shown(*seen(NAMES), tool("a"), CALL, quiet=True).splitlines() == ["CONFORMS"]
    text = shown(*seen(NAMES), tool("a"), tool("b"), CALL, quiet=True)
    assert text.splitlines() == ["CONFORMS (1 of 2 tools seen at work)"]


def test_the_part_that_was_reached_is_judged_and_the_other_named() -> None:
    text = shown(*seen(NAMES), NotReached("http://x/mcp", "http", "Nothing answers at http://x/mcp."), quiet=True)
    assert text.splitlines() == ["stdio: CONFORMS", "http: NOT JUDGED. Nothing answers at http://x/mcp."]


@pytest.mark.parametrize(
    ("notes", "tools", "words"),
    [
        ([NOT_CALLED], 1, '@mcp.tool(annotations={"readOnlyHint": True})'),
        ([], 0, "The server lists no tools."),
        ([], 1, "No tool was called; the notes above say why."),
    ],
)
def test_a_server_that_is_not_shown_to_conform_has_a_way_on(notes: list[str], tools: int, words: str) -> None:
    *_, verdict, advice = " ".join(printed(*notes, tools=tools).split()).rpartition("NOT SHOWN TO CONFORM")
    assert verdict
    assert words in advice


@pytest.mark.parametrize("ending", ["failed", "unread"])
def test_a_server_of_which_no_call_succeeded_is_not_shown_to_conform(ending: str) -> None:
    tool = ToolListed("stdio", "a", called=True, displays=False)
    text = shown(STARTED, tool, CallMade("stdio", "a({})", "a", ending, "TIMEOUT"))  # type: ignore[arg-type]
    text = " ".join(text.split())
    assert text.endswith("Every call failed. The notes above say why; `xmcp see` shows each call with its answer.")
    reason = "no call of a tool succeeded, so only errors were judged" if ending == "failed" else "seen to answer"
    assert "NOT SHOWN TO CONFORM" in text
    assert reason in text


def test_one_tool_and_one_call_are_not_several() -> None:
    text = shown(STARTED, ToolListed("stdio", "a", called=True, displays=False), CALL)
    assert "2026-07-28: 1 tool, 1 call\n" in text
    assert "1 of 1 tool seen at work." in text
