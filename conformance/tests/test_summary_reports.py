"""The reports that are made from a summary, of every profile: JUnit, Markdown, HTML, SARIF and a badge."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from junitparser import Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt

from xmcp_conformance.core.events import (
    CallMade,
    Event,
    Noted,
    NotReached,
    Observed,
    RunEnded,
    RunStarted,
    SuiteStarted,
    ToolListed,
)
from xmcp_conformance.core.observation import Place, broken, obeyed
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.document import checks as documents
from xmcp_conformance.reports.badge import to_badge_json, to_badge_svg
from xmcp_conformance.reports.baseline import Baseline
from xmcp_conformance.reports.case_json import to_dict
from xmcp_conformance.reports.case_report import SCENARIOS, TRACES, VECTORS, CaseReport
from xmcp_conformance.reports.document_report import DocumentReport
from xmcp_conformance.reports.html import to_html
from xmcp_conformance.reports.junit import to_junit
from xmcp_conformance.reports.markdown import to_markdown
from xmcp_conformance.reports.sarif import to_sarif
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.reports.summary import Summary, of_cases, of_documents, of_server

REQUIREMENT = registry().requirements["XMCP-RSP-020"]
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


@pytest.mark.parametrize("strict", [False, True])
def test_a_mandatory_sentence_that_only_warns_says_why_in_every_report(
    strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry().requirements, "XMCP-RSP-020", replace(REQUIREMENT, later=True))
    report = CaseReport(VECTORS)
    report.add(SuiteStarted("codec", "1.0-draft", {"strict": strict}))
    for event in (RunStarted("mine", "mine"), seen("XMCP-RSP-020", ok=False), RunEnded("mine")):
        report.add(event)
    summary = of_cases(report)
    assert bool(summary.exit_code) is strict
    said = (to_junit(summary), to_markdown(summary), to_html(summary), json.dumps(to_sarif(summary)))
    why = f"its check came after the release of {registry().version}"
    assert [why in text for text in said] == [not strict] * 4
    rows = {row["id"]: row for row in to_dict(report)["requirements"]}
    assert rows["XMCP-RSP-020"].get("only_warns") == (None if strict else why)
    assert "only_warns" not in rows["XMCP-RSP-022"]


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


def of_two_tools(baseline: Baseline | None = None) -> Summary:
    """Return the summary of a server with two tools that break a sentence, and one that was not called."""
    report = ServerReport(baseline=baseline or Baseline())
    report.add(SuiteStarted("server-blackbox", "1.0-draft", {"strict": False}))
    report.add(RunStarted("stdio", "node server.js", "stdio", "2026-07-28", "declared", 3))
    for name, called in (("one", True), ("two", True), ("three", False)):
        report.add(ToolListed("stdio", name, called=called, displays=False))
    for name in ("one", "two", "two"):
        report.add(CallMade("stdio", f"{name}({{}})", name, "succeeded"))
        fault = broken("XMCP-RSP-020", f"{name} {HOSTILE}", "text", where=Place(1, 86))
        report.add(Observed(fault, "stdio", f"{name}({{}})", tool=name))
    report.add(Observed(broken("XMCP-MCP-047", "no block", "a block"), "stdio", "one({})", tool="one"))
    return of_server(report, "server.js")


class _Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_a_page_has_each_tool_with_its_fault_and_what_a_peer_said_stays_text() -> None:
    page = _Page(to_html(of_two_tools()))
    assert f"one {HOSTILE}" in page.words
    assert f"two {HOSTILE}" in page.words
    assert "Also in two" in page.words
    assert "broken 3 of 3 times" in page.words
    assert "Tools: 2 of 3 seen at work" in page.words
    assert "not called" in page.words
    assert "Warned of (1)" in page.words
    assert "DOES NOT CONFORM" in page.words
    assert not {"script", "testcase", "link", "img", "iframe"} & page.elements


def test_a_page_of_what_conforms_says_how_often_and_what_was_not_judged() -> None:
    page = _Page(to_html(of_codec(seen("XMCP-RSP-020", ok=True), Noted("mine", HOSTILE), RunEnded("mine"))))
    assert "Obeyed (1)" in page.words
    assert "once" in page.words
    assert HOSTILE.replace("`", "") in page.words.replace("`", "")
    assert "Broken" not in page.words


def of_client(*faults: Observed) -> Summary:
    report = CaseReport(SCENARIOS)
    for event in (SuiteStarted("client", "1.0-draft", {"strict": False}), RunStarted("mine", "mine"), *faults):
        report.add(event)
    return of_cases(report)


def of_record(number: int, scenario: str) -> Observed:
    return Observed(replace(broken("XMCP-CLI-003", "no document", "a document"), where=number), "mine", scenario)


def test_each_report_names_the_record_of_a_scenario() -> None:
    summary = of_client(of_record(7, "two calls"))
    for said in (to_junit(summary), to_markdown(summary), to_html(summary)):
        assert "records[7] of two calls" in said
        assert "over mine" not in said


def test_a_page_shows_the_first_of_many_scenarios_with_one_fault_and_counts_the_others() -> None:
    page = to_html(of_client(*(of_record(number, f"scenario {number}") for number in range(50))))
    assert page.count("<summary>Also in ") == 19
    assert "And in 30 more, which the JSON report names." in page
    assert "<th>it needs</th>" not in page  # of a scenario nothing more is known


def test_sarif_has_a_result_for_each_tool_in_the_file_of_the_server() -> None:
    (run,) = json.loads(to_sarif(of_two_tools()))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    results = {(one["ruleId"], one["locations"][0]["logicalLocations"][0]["name"]): one for one in run["results"]}
    assert sorted(results) == [("XMCP-MCP-047", "one"), ("XMCP-RSP-020", "one"), ("XMCP-RSP-020", "two")]
    assert {one["level"] for one in run["results"] if one["ruleId"] == "XMCP-RSP-020"} == {"error"}
    assert results["XMCP-MCP-047", "one"]["level"] == "warning"
    for (requirement, _), result in results.items():
        assert rules[result["ruleIndex"]] == requirement
        (location,) = result["locations"]
        assert location["physicalLocation"] == {"artifactLocation": {"uri": "server.js"}}, "no line: it is in an answer"
        assert "suppressions" not in result
    said = results["XMCP-RSP-020", "two"]["message"]["text"]
    assert "line 1, column 86 of the document" in said
    assert "\\]\\]> & <testcase/>" in said, "what could be read as markup of SARIF is escaped"
    for escape, sign in (("\\]", "]"), ("\\[", "["), ("{{", "{"), ("}}", "}"), ("\\\\", "\\")):
        said = said.replace(escape, sign)
    assert f"Seen: two {HOSTILE}." in said
    assert len({one["partialFingerprints"]["xmcp/v1"] for one in run["results"]}) == 3
    assert run["invocations"][0] | {"toolExecutionNotifications": []} == {
        "executionSuccessful": True,
        "exitCode": 1,
        "toolExecutionNotifications": [],
    }


def test_sarif_has_what_a_baseline_knows_and_suppresses_it() -> None:
    known = Baseline({"XMCP-RSP-020": frozenset(("one", "two"))})
    (run,) = json.loads(to_sarif(of_two_tools(known)))["runs"]
    assert {one["ruleId"] for one in run["results"] if "suppressions" in one} == {"XMCP-RSP-020"}


def test_sarif_has_the_line_of_each_fault_in_a_document() -> None:
    report = DocumentReport()
    documents.start(None, strict=False, emit=report.add)
    text = b'<tool_response tool_name="a">\n<llm_output>a</llm_output>\n<llm_output>b</llm_output></tool_response>'
    documents.check_document(text, documents.FileName("a folder/a.xml"), report.add)
    (run,) = json.loads(to_sarif(of_documents(report)))["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20folder/a.xml"
    assert place["region"]["startLine"] == 3
    assert run["properties"]["verdict"] == "DOES NOT CONFORM"


def test_a_page_says_how_many_tools_were_seen_where_not_all_were() -> None:
    report = ServerReport()
    report.add(SuiteStarted("server-blackbox", "1.0-draft", {"strict": False}))
    report.add(RunStarted("stdio", "node server.js", "stdio", "2026-07-28", "declared", 2))
    for name, called in (("one", True), ("two", False)):
        report.add(ToolListed("stdio", name, called=called, displays=False))
    report.add(CallMade("stdio", "one({})", "one", "succeeded"))
    report.add(Observed(obeyed("XMCP-RSP-020"), "stdio", "one({})", tool="one"))
    summary = of_server(report)
    assert to_markdown(summary).startswith("## ✓ CONFORMS (1 of 2 tools seen at work): XMCP ")
    assert '<h1 class="good">CONFORMS (1 of 2 tools seen at work)</h1>' in to_html(summary)
    assert of_two_tools().headline == "DOES NOT CONFORM"


def test_a_badge_says_the_verdict_and_how_much_was_seen() -> None:
    shield = json.loads(to_badge_json(of_two_tools()))
    assert shield == {"schemaVersion": 1, "label": "XMCP 1.0-draft", "message": "does not conform", "color": "red"}
    known = Baseline({"XMCP-RSP-020": frozenset(("one", "two"))})
    report = of_two_tools(known)
    assert json.loads(to_badge_json(report))["message"] == "known faults (2 of 3 tools)"
    image = ElementTree.fromstring(to_badge_svg(report))
    assert image.attrib["aria-label"] == "XMCP 1.0-draft: known faults (2 of 3 tools)"
    shown = of_codec(seen("XMCP-RSP-020", ok=True), RunEnded("mine"))
    assert json.loads(to_badge_json(shown))["message"] == "conforms"
