"""The clients that chat through the gateway: what is a fault of one, what is excused, and that a bad one is found.

The packages are not needed here: the clients are a stand-in on openai's client, which a test makes misbehave.
"""

from __future__ import annotations

import json
import re
import sys

import pytest

from tools import ROOT
from tools.front_ends.__main__ import EXCEPTIONS
from tools.front_ends.cases import CASES, HALF, Case, Failure
from tools.front_ends.chatting import cases_for, chats
from tools.front_ends.clients import ALL, CLIENTS, DRIVERS
from tools.front_ends.judge import Difference, Exception_, differences, exceptions, judged, table
from tools.front_ends.scripted_model import answer
from tools.front_ends.suites import SUITES, of_compatcanary, of_llm_comply

GUIDE = (ROOT / "docs/guides/gateway-front-ends.md").read_text(encoding="utf-8")
TOLD = {"text": "It is 5.", "calls": [], "usage": [20, 10], "ran": [], "error": None}
ADDS = Case(["Add 2 and 3."], ["It is 5."], (20, 10))
FAILS = Case(["Fail: busy"], failure=Failure("too many requests", 429))
BUSY = {"type": "RateLimitError", "status": 429, "text": "429: too many requests"}


def parts(case, **told):
    return [one.part for one in differences("client", "case", case, [{**TOLD, **told}])]


# ---- the judge ----


@pytest.mark.parametrize(
    ("case", "told", "part"),
    [
        (ADDS, {"text": "I add."}, "text"),
        (ADDS, {"calls": ["adder__add"]}, "calls"),
        (ADDS, {"usage": None}, "usage"),
        (ADDS, {"usage": [10, 5]}, "usage"),
        (ADDS, {"ran": ["my_clock"]}, "ran"),
        (ADDS, {"error": BUSY}, "error"),
        (FAILS, {}, "error"),
        (FAILS, {"error": {**BUSY, "status": None}}, "status"),
        (FAILS, {"error": {**BUSY, "text": "429"}}, "words"),
    ],
)
def test_each_thing_that_a_client_makes_otherwise_is_a_difference(case, told, part):
    assert parts(case, **told) == [part]


def test_a_client_that_makes_what_the_case_says_has_no_difference():
    assert parts(ADDS) == []
    assert parts(FAILS, error=BUSY) == []


def test_a_fault_in_one_of_many_chats_is_found_and_said_once():
    many = Case(["Add 1 and 1."] * 3, ["It is 2.", "It is 3.", "It is 4."])
    answers = [{**TOLD, "text": "It is 3."}] * 3
    [one] = differences("client", "case", many, answers)
    assert one.words == "has 'It is 3.', not 'It is 2.'"


CUT = Difference("llm", "proxy cuts, stream", "error", "took the end for success, with 'Half'")


def known(**members):
    usual = {"front_end": "llm", "case": "proxy cuts*", "part": "error", "words": "took the end*", "reason": "It does."}
    return Exception_(**{**usual, **members})


def test_an_exception_excuses_what_it_names_and_nothing_else():
    ran = [("llm", CUT.case)]
    assert judged([CUT], [known()], ran).unexpected == []
    for other in ({"front_end": "litellm"}, {"case": "gateway*"}, {"part": "text"}, {"words": "failed*"}):
        assert judged([CUT], [known(**other)], ran).unexpected == [CUT]


def test_an_exception_that_does_not_occur_is_outdated_unless_its_case_was_not_tried():
    assert judged([], [known()], [("llm", CUT.case)]).outdated == [known()]
    assert judged([], [known()], [("llm", "plain chat, whole"), ("litellm", CUT.case)]).outdated == []


def test_the_table_shows_what_was_wrong_what_is_known_and_what_was_not_tried():
    ran = [("llm", "plain chat"), ("llm", CUT.case), ("litellm", "plain chat")]
    wrong = Difference("litellm", "plain chat", "text", "has ''")
    lines = table(judged([CUT, wrong], [known()], ran), ran)
    assert [line.split() for line in lines] == [
        ["llm", "litellm"],
        ["plain", "chat", "ok", "WRONG"],
        ["proxy", "cuts,", "stream", "known"],
    ]


# ---- the data ----


def test_every_exception_is_of_a_front_end_and_a_case_and_has_a_reason():
    tests = {name: {case for case, _, _ in cases_for(client.can, client.at_once)} for name, client in CLIENTS.items()}
    for one in exceptions(EXCEPTIONS.read_text(encoding="utf-8")):
        assert one.reason.endswith(".")
        assert one.front_end in SUITES or one.case in tests[one.front_end]


def test_every_client_has_a_driver_and_is_in_the_guide_with_the_version_that_was_tried():
    for name, client in CLIENTS.items():
        assert (DRIVERS / client.driver).exists() or name in ("openai-node", "ai-sdk")
    rows = re.findall(r"^\| `([^`]+)`[^|]*\| ([\d.]+) \|", GUIDE, re.MULTILINE)
    tried = {name: client.version for name, client in CLIENTS.items()}
    assert dict(rows) == tried | {name: suite.version for name, suite in SUITES.items()}


def test_a_client_is_asked_what_it_can_do():
    names = [name for name, _, _ in cases_for(frozenset({"structured"}), 20)]
    assert names == ["structured answer, whole"]
    [few] = [case for name, case, _ in cases_for(ALL, 4) if name == "20 at once, whole"]
    assert len(few.questions) == len(few.texts) == 4


# ---- the model ----


def test_the_model_does_what_a_request_demands():
    tool = {
        "type": "function",
        "function": {"name": "echo", "parameters": {"properties": {"value": {"type": "string"}}}},
    }
    asked = {"messages": [{"role": "user", "content": "Call it."}], "tools": [tool]}
    for choice in ("required", {"type": "function", "function": {"name": "echo"}}):
        assert answer({**asked, "tool_choice": choice}).calls == [("echo", {"value": "words"})]
    schema = {"properties": {"status": {"type": "string", "enum": ["ok"]}}}
    format_ = {"type": "json_schema", "json_schema": {"schema": schema}}
    assert json.loads(answer({**asked, "response_format": format_}).text) == {"status": "ok"}


# ---- the suites ----


def test_a_warning_or_a_skipped_test_of_a_suite_is_a_complaint():
    report = {
        "results": [
            {"id": "a", "status": "passed"},
            {"id": "b", "status": "passed", "warnings": ["no logprobs"]},
            {"id": "c", "status": "skipped", "errors": ["no reasoning"]},
        ]
    }
    assert [*of_llm_comply(report)] == [
        ("a", "passed", ""),
        ("b", "passed", ""),
        ("b", "warning", "no logprobs"),
        ("c", "skipped", "no reasoning"),
    ]
    canary = [{"id": "a", "status": "pass", "summary": "x"}, {"id": "b", "status": "fail", "summary": "y"}]
    assert [*of_compatcanary({"results": canary})] == [("a", "passed", "x"), ("b", "fail", "y")]


# ---- a client that misbehaves, through a real gateway ----

GOOD = '{"text": done.choices[0].message.content, "usage": [done.usage.prompt_tokens, done.usage.completion_tokens]}'
HOW = {
    "takes an error for success": 'told["text"] = "half"',
    "raises": 'told["error"] = {"type": "E", "status": error.status_code, "text": str(error)}',
}


def program(on_error):
    return f"""
import json, sys
from openai import OpenAI
for line in sys.stdin:
    asked = json.loads(line)
    client = OpenAI(base_url=asked["url"], api_key=asked["key"], max_retries=0)
    answers = []
    for question in asked["questions"]:
        told = {{"text": "", "calls": [], "usage": None, "ran": [], "error": None}}
        try:
            messages = [{{"role": "user", "content": question}}]
            done = client.chat.completions.create(model=asked["model"], messages=messages)
            told |= {GOOD}
        except Exception as error:
            {on_error}
        answers.append(told)
    print(json.dumps(answers), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
async def test_a_client_that_swallows_errors_is_found_and_one_that_raises_is_not(how, tmp_path):
    wanted = [(name, CASES[name], False) for name in ("tool inside", "model is busy", "wrong key", "gateway drains")]
    found, tried = await chats("stand-in", [sys.executable, "-c", program(HOW[how])], wanted, tmp_path)
    assert tried == [name for name, _, _ in wanted]
    swallowed = ["model is busy", "wrong key", "gateway drains"] if how != "raises" else []
    assert [(one.case, one.part) for one in found] == [(name, "error") for name in swallowed]


@pytest.mark.slow
async def test_a_driver_that_ends_is_found_and_nothing_after_it_counts_as_tried(tmp_path):
    wanted = [(name, CASES[name], False) for name in ("plain chat", "tool inside")]
    found, tried = await chats("stand-in", [sys.executable, "-c", "pass"], wanted, tmp_path)
    assert tried == ["plain chat"]
    assert [one.part for one in found] == ["driver"]


def test_what_a_client_has_seen_of_an_answer_that_is_cut_is_half_of_it():
    assert answer({"messages": [{"role": "user", "content": "Break off."}]}).text == HALF
