"""The reports that CI systems read: JUnit and Markdown, of every profile."""

from __future__ import annotations

from typing import Any

import pytest
from junitparser import Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt

from xmcp_conformance.core.events import (
    Event,
    Noted,
    NotReached,
    Observed,
    RunEnded,
    RunStarted,
    SuiteStarted,
)
from xmcp_conformance.core.observation import broken, obeyed
from xmcp_conformance.reports.case_report import TRACES, VECTORS, CaseReport
from xmcp_conformance.reports.junit import to_junit
from xmcp_conformance.reports.markdown import to_markdown
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.reports.summary import Summary, of_cases, of_server

HOSTILE = "```` </details> <script>alert(1)</script> ]]> & <testcase/> `"


def of_codec(*events: Event) -> Summary:
    report = CaseReport(VECTORS)
    for event in (SuiteStarted("codec", "1.0-draft", {"strict": False}), RunStarted("mine", "mine"), *events):
        report.add(event)
    return of_cases(report)


def seen(requirement: str, *, ok: bool, said: str = HOSTILE, case: str = "a-vector") -> Observed:
    return Observed(obeyed(requirement) if ok else broken(requirement, said, "something else"), "mine", case)


def junit(summary: Summary) -> dict[str, Any]:
    """Return the test cases by the first word of their names, as a CI system reads them."""
    (suite,) = JUnitXml.fromstring(to_junit(summary).encode())
    cases = {case.name.split()[0]: case for case in suite}
    failures = sum(isinstance(one, Failure) for case in cases.values() for one in case.result)
    skipped = sum(isinstance(one, Skipped) for case in cases.values() for one in case.result)
    assert (suite.tests, suite.failures, suite.skipped) == (len(cases), failures, skipped)
    return cases


def test_what_conforms_has_no_failure() -> None:
    summary = of_codec(seen("XMCP-RSP-020", ok=True), Noted("mine", "3 vectors not run."), RunEnded("mine"))
    cases = junit(summary)
    assert not [name for name, case in cases.items() if any(isinstance(one, Failure) for one in case.result)]
    assert cases["XMCP-RSP-020"].result == []
    assert cases["XMCP-RSP-022"].result[0].message == "not judged: nothing in this run gave occasion"
    assert cases["verdict"].system_out == "3 vectors not run."
    text = to_markdown(summary)
    assert text.startswith("## ✓ CONFORMS: XMCP 1.0-draft\n")
    number = len(summary.judgements)
    assert f"{number} requirements: 1 obeyed, {number - 1} not judged." in text
    assert "3 vectors not run." in text


def test_a_broken_requirement_is_a_failure_with_what_was_seen() -> None:
    summary = of_codec(seen("XMCP-RSP-020", ok=False), seen("XMCP-RSP-020", ok=True))
    cases = junit(summary)
    (failure,) = cases["XMCP-RSP-020"].result
    assert failure.type == "MUST"
    assert failure.message == f"seen {HOSTILE}, expected something else"
    assert failure.text.endswith("\n1 of 2 times, first in a-vector over mine")
    assert cases["verdict"].result[0].message == "DOES NOT CONFORM: a requirement is broken"


def test_what_a_peer_said_stays_text_in_markdown() -> None:
    text = to_markdown(of_codec(seen("XMCP-RSP-020", ok=False), Noted("mine", HOSTILE)))
    tokens = MarkdownIt().parse(text)
    blocks = [token.content for token in tokens if token.type == "fence"]
    assert sum(HOSTILE in block for block in blocks) == 2
    html = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert html == ["<details><summary>Notes</summary>", "</details>"]
    assert HOSTILE not in "".join(token.content for token in tokens if token.type == "inline")
    assert "### ✗ XMCP-RSP-020 (section 2.3)" in text


def test_a_broken_should_fails_only_where_it_counts() -> None:
    for strict in (False, True):
        report = ServerReport()
        report.add(SuiteStarted("server-blackbox", "1.0-draft", {"strict": strict}))
        report.add(RunStarted("stdio", "a server", "stdio", "2026-07-28", "declared", 1))
        report.add(Observed(broken("XMCP-MCP-047", "no block", "a block"), "stdio", "a({})"))
        case = junit(of_server(report))["XMCP-MCP-047"]
        assert [type(one) for one in case.result] == ([Failure] if strict else [])
        assert ("SHOULD is broken: seen no block" in (case.system_out or "")) is not strict


def test_what_was_not_reached_is_a_failure_of_the_verdict() -> None:
    report = CaseReport(TRACES)
    report.add(SuiteStarted("client", "1.0-draft", {"strict": False}))
    report.add(NotReached("a\x1b[31m.json", "file", "no JSON"))
    summary = of_cases(report)
    (failure,) = junit(summary)["verdict"].result
    assert failure.message == "NOT SHOWN TO CONFORM: a\\x1b[31m.json: NOT JUDGED: no JSON"
    assert "a\\x1b[31m.json: NOT JUDGED: no JSON" in to_markdown(summary)
    assert "\x1b" not in to_junit(summary) + to_markdown(summary)


@pytest.mark.parametrize("said", ["\\ud800", "\\x00", "\\ufffe"])
def test_the_xml_can_be_read_whatever_was_seen(said: str) -> None:
    cases = junit(of_codec(seen("XMCP-RSP-020", ok=False, said=said)))
    assert said in cases["XMCP-RSP-020"].result[0].message
