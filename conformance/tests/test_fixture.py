"""The tool of the suite: a right server passes, and each wrong emitter is told its own sentence by a small example."""

from __future__ import annotations

import json
from itertools import islice
from random import Random

import pytest
from server_reports import report_on

from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.generators import texts
from xmcp_conformance.generators.responses import fits, responses
from xmcp_conformance.generators.shrinking import smaller
from xmcp_conformance.profiles.server.fixture import comparison
from xmcp_conformance.profiles.server.fixture.run import NAME
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.wrong.registry import registered, wrong_implementations
from xmcp_conformance.wrong.servers.fixture import Emitting, EmittingPlainly

WRONG = registered("fixture")
MANY = Options(examples=8, calls=2)
"""Many responses of the tool of the suite, and few calls of the others, which these wrong servers answer rightly."""


def red(report):
    return {j.requirement.id: j.first for j in report.judgements if j.status in (Status.FAIL, Status.WARN)}


@pytest.mark.parametrize("seed", [1, 2, 20261121])
async def test_a_right_server_passes_whatever_the_seed(seed):
    report = await report_on(Emitting(), Options(examples=8, seed=seed))
    assert {id_: first.observation for id_, first in red(report).items()} == {}
    assert report.exit_code is ExitCode.CONFORMS
    of_fixture = {one.id for one in registry().verified_by("fixture")}
    assert {j.requirement.id for j in report.judgements if j.status is Status.PASS} >= of_fixture
    whole = [run for run in report.runs if str(run).split(", ")[2:] in ([], ["plain client"])]
    assert len(whole) == 4
    assert all(run.answers > 400 for run in whole)


async def test_a_right_server_with_the_wire_plain_passes():
    report = await report_on(EmittingPlainly(), MANY)
    assert {id_: first.observation for id_, first in red(report).items()} == {}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.implementation.__name__)
async def test_a_wrong_emitter_breaks_its_own_sentence_and_no_other(wrong):
    report = await report_on(wrong.implementation(), MANY, direct=True)
    found = red(report)
    assert set(found) == set(wrong.requirements), {id_: str(first.observation) for id_, first in found.items()}


SMALLEST = {
    "Trims": {"response": {"llm_output": " "}},
    "Reindents": {"response": {"llm_output": " "}},
    "EscapesTwice": {"response": {"llm_output": ">"}},
    "SwallowsSpaces": {"response": {"llm_output": "\u00a0"}},
    "WritesLineFeeds": {"response": {"llm_output": "\r"}},
    "CutsAtItsBuffer": {"response": {"llm_output": "a" * 65_537}},
}


@pytest.mark.parametrize("name", SMALLEST)
async def test_the_call_that_is_reported_is_the_smallest(name):
    (implementation,) = [one.implementation for one in WRONG if one.implementation.__name__ == name]
    (first,) = red(await report_on(implementation(), MANY, direct=True)).values()
    wanted = f"{NAME}({json.dumps(SMALLEST[name])[:200]}"
    assert first.call.startswith(wanted), first.call


@pytest.mark.parametrize("requirement", [one.id for one in registry().verified_by("fixture")])
def test_every_sentence_that_the_tool_verifies_has_a_wrong_emitter(requirement):
    assert requirement in wrong_implementations("fixture")


def test_responses_keep_the_contract_and_are_the_same_for_a_seed():
    first, again, other = (list(islice(responses(seed), 600)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert all(map(fits, first))
    shown = {one["response"].get("display", {}).get("type") for one in first}
    assert shown >= {"text", "table", "chart", "group", "html", "x-acme-view"}


def test_smaller_values_are_smaller():
    value = {"a": ["<b>", 2**60, True], "c": {"d": None}}
    found = list(smaller(value))
    assert {"a": ["<b>", 2**60, True]} in found
    assert {**value, "a": ["<b>", 2**60]} in found
    assert all(one != value for one in found)
    assert list(smaller(0)) == []


def test_a_long_text_is_near_a_border():
    lengths = [len(texts.long(Random(seed)).encode()) for seed in range(200)]
    assert any(65_536 < one < 65_550 for one in lengths)
    assert any(4_090 < one <= 4_096 for one in lengths)


@pytest.mark.parametrize(
    ("wanted", "seen", "kind"),
    [
        (2**53, "9007199254740992", None),
        (2**53 + 1, "9007199254740992", None),
        (2**53, 2.0**53, "integer"),
        (2**53, "1", "value"),
        (2.0**53, "9007199254740992", None),
        (0.1, 0.1, None),
        (1, True, "value"),
        (1, "1", "value"),
    ],
)
def test_a_number_of_a_document_is_compared_as_section_2_4_writes_it(wanted, seen, kind):
    found = next(comparison._differences(wanted, seen, (), plain=False), None)
    assert (found and found.kind) == kind
