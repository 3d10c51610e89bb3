"""The comparison with bare FastMCP: what counts as a difference, as a regression, and as explained."""

from __future__ import annotations

import json

import pytest

from tools.interop.mcp_comparison import (
    Difference,
    Expected,
    Place,
    complaints,
    differences,
    expected_differences,
    failures,
    flattened,
)
from tools.interop.mcp_conformance import EXPECTED, judged

STATUS = Place("2026-07-28", "tools-call-error", "tools-call-error ToolsCallError", "status")
TEXT = Place("2026-07-28", "calls", "test_simple_text", "content.0.text")
SESSION = TEXT._replace(part="session")

PLAIN = {STATUS: "SUCCESS", TEXT: "a < b", SESSION: "1"}
AGAIN = {**PLAIN, SESSION: "2"}
WRAPPED = Expected("It is wrapped.", ["content.*.text"], ["calls/*"], "<{before}>")


def runs(**changed):
    same = {**PLAIN, SESSION: "3"}
    return {"FastMCP": PLAIN, "FastMCP again": AGAIN, **dict.fromkeys(("negotiated", "always"), same), **changed}


def nothing(**changed):
    return {**{name: [] for name in ("FastMCP", "XMCP", "negotiated", "always")}, **changed}


def test_what_two_runs_of_the_same_server_differ_in_is_chance():
    other = {STATUS: "SUCCESS", TEXT: "c", SESSION: "3"}
    assert differences(PLAIN, AGAIN, other) == [Difference(TEXT, "a < b", "c")]


def test_a_check_that_is_there_once_only_is_a_difference():
    assert differences(PLAIN, AGAIN, {TEXT: "a < b"}) == [Difference(STATUS, "SUCCESS", None)]
    assert differences({}, {}, {STATUS: "SUCCESS"}) == [Difference(STATUS, None, "SUCCESS")]


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED", None])
def test_no_check_may_stop_passing_when_the_wire_is_negotiated(status):
    excused = Expected("Nothing excuses it.", ["status"])
    worse = {**PLAIN, STATUS: status}
    lines = judged(runs(negotiated=worse), nothing(negotiated=[excused]))
    assert "passes on FastMCP fails" in lines[0]
    assert STATUS.scenario in lines[0]
    assert len(judged(runs(negotiated=worse), nothing())) == 1


def test_a_check_may_fail_on_both_where_the_file_says_so():
    failing = {**PLAIN, STATUS: "FAILURE"}
    everywhere = dict.fromkeys(runs(), failing)
    assert "unexpected difference" in judged(everywhere, nothing())[0]
    known = [Expected("FastMCP cannot.", ["status"], ["tools-call-error/*"], "FAILURE")]
    assert judged(everywhere, nothing(FastMCP=known)) == []


@pytest.mark.parametrize("wire", ["negotiated", "always"])
def test_every_difference_needs_an_explanation_of_its_wire(wire):
    changed = runs(**{wire: {**PLAIN, TEXT: "<a < b>"}})
    assert len(judged(changed, nothing())) == 1
    assert judged(changed, nothing(**{wire: [WRAPPED]})) == []
    other = {"negotiated": "always", "always": "negotiated"}[wire]
    assert len(judged(changed, nothing(**{other: [WRAPPED]}))) == 2


def test_an_explanation_has_to_fit_where_what_and_how():
    difference = Difference(TEXT, "a < b", "<a < b>")
    assert WRAPPED.explains(difference)
    assert not WRAPPED.explains(difference._replace(after="<a < c>"))
    assert not WRAPPED.explains(difference._replace(after="<a < b> and more"))
    assert not WRAPPED.explains(difference._replace(place=TEXT._replace(part="content.0.type")))
    assert not WRAPPED.explains(difference._replace(place=TEXT._replace(scenario="tools-call-error")))


def test_an_explanation_without_its_difference_is_told():
    assert ["It is wrapped." in line for line in complaints([], [WRAPPED])] == [True]


def test_warnings_count_as_failures():
    run = {STATUS: "WARNING", TEXT: "FAILURE"}
    assert failures(run) == [Difference(STATUS, "SUCCESS", "WARNING")]


def test_leaves_are_found_in_messages_of_a_stream_too():
    seen = {"a": [1, {"b": None}], "empty": [], "data": json.dumps({"id": 1}), "text": '{"id": 1}'}
    assert dict(flattened(seen)) == {"a.0": 1, "a.1.b": None, "empty": [], "data.id": 1, "text": '{"id": 1}'}


def test_every_explanation_in_the_file_has_words():
    expected = expected_differences(EXPECTED.read_text(encoding="utf-8"))
    assert expected.keys() == nothing().keys()
    assert all(entry.reason.endswith(".") and entry.part for entries in expected.values() for entry in entries)
