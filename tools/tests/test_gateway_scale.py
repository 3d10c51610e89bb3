"""The scale tool: what it plans, how it reads answers, and that each verdict is red for what it is there for."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tools.gateway_scale import verdicts
from tools.gateway_scale.clients import Chat, Notes, ending_of
from tools.gateway_scale.plan import is_limited, planned, quotas
from tools.gateway_scale.records import Counted, Records, RunRow
from tools.gateway_scale.served import RESERVED_OUTPUT, command, credentials, settings, variable_of
from tools.gateway_scale.verdicts import LEAST_CHATS, Measured, judge
from tools.gateway_scale.words import TOKENS, Question, answer_to, foreign, question_in, secret_of, token_of, words_in
from tools.soak.verdicts import Verdict
from xmcp.gateway.config_file import config_of

ONE, OTHER = "t000xab", "t001xab"
RUN = "run_" + "0" * 32
QUOTA = {"level": "warning", "message": f"{RUN} failed: The quota of the tenant '{ONE}' is used up: 1 of 1 …"}


def measured() -> Measured:
    """Return what a run without any fault has measured."""
    answered = [Chat(OTHER, "whole", f"run_{n}", 200, "answered", frozenset()) for n in range(LEAST_CHATS)]
    refused = Chat(ONE, "stream", "run_q", 200, "quota", frozenset())
    left = Chat(OTHER, "leaves", "run_l", 200, "left", frozenset())
    rows = {chat.run: RunRow(OTHER, "finished") for chat in answered}
    return Measured(
        workers=1,
        chats=LEAST_CHATS + 2,
        names=[ONE, OTHER],
        limits={ONE: 300},
        notes=Notes(chats=[*answered, refused, left], trespasses=3, replays=2),
        records=Records(
            runs={**rows, "run_q": RunRow(ONE, "error"), "run_l": RunRow(OTHER, "cancelled")},
            usage={ONE: Counted(240), OTHER: Counted(TOKENS * LEAST_CHATS, 1)},
            ledger={ONE: 240},
        ),
        answered={ONE: 240, OTHER: TOKENS * LEAST_CHATS},
        cut={OTHER: 1},
        memory=[(float(n), 200 << 20) for n in range(30)],
        log=json.dumps({**QUOTA, "message": "run " + QUOTA["message"]}) + "\n",
    )


def changed(records: dict[str, Any] | None = None, notes: dict[str, Any] | None = None, **more: Any) -> Measured:
    good = measured()
    found = replace(good.records, **(records or {}))
    return replace(good, records=found, notes=replace(good.notes, **(notes or {})), **more)


def test_a_run_without_a_fault_is_accepted() -> None:
    assert [(one.demand, one.figures) for one in judge(measured()) if one.state != "ok"] == []


_ROWS = measured().records.runs
_USAGE = measured().records.usage
_CHATS = measured().notes.chats


@pytest.mark.parametrize(
    ("demand", "bad"),
    [
        (verdicts.finished, changed(broken="the model still answers")),
        (verdicts.finished, changed(notes={"chats": []})),
        (verdicts.apart, changed(notes={"wrong": ["a word of another"]})),
        (verdicts.apart, changed(crossed=["the model was sent a word of another"])),
        (verdicts.hidden, changed(notes={"trespassed": ["GET /runs/run_1: 200"]})),
        (verdicts.hidden, changed(notes={"trespasses": 0})),
        (verdicts.statuses, changed(notes={"chats": [*_CHATS, Chat(ONE, "v1", "", 500, "other", frozenset())]})),
        (verdicts.statuses, changed(notes={"chats": [*_CHATS, Chat(OTHER, "v1", "", 429, "quota", frozenset())]})),
        (verdicts.repeated, changed(notes={"repeated": ["run_1 was run_2"]})),
        (verdicts.repeated, changed(notes={"replays": 0})),
        (verdicts.recorded, changed(records={"runs": {}})),
        (verdicts.recorded, changed(records={"runs": {run: row for run, row in _ROWS.items() if run != "run_7"}})),
        (verdicts.recorded, changed(records={"runs": {**_ROWS, "run_x": RunRow(ONE, "finished")}})),
        (verdicts.recorded, changed(records={"runs": {**_ROWS, "run_7": RunRow(ONE, "finished")}})),
        (verdicts.recorded, changed(records={"runs": {**_ROWS, "run_7": RunRow(OTHER, "running")}})),
        (verdicts.recorded, changed(records={"lost": 1})),
        (verdicts.recorded, changed(notes={"chats": [*_CHATS, Chat(ONE, "v1", "", 200, "answered", frozenset())]})),
        (verdicts.counted, changed(records={"usage": {**_USAGE, ONE: Counted(360)}})),
        (verdicts.counted, changed(records={"usage": {**_USAGE, OTHER: Counted(TOKENS * LEAST_CHATS)}})),
        (verdicts.counted, changed(records={"usage": {**_USAGE, OTHER: Counted(TOKENS * LEAST_CHATS, 2)}})),
        (verdicts.counted, changed(records={"ledger": {ONE: 120}})),
        (verdicts.counted, changed(records={"ledger": {ONE: 360}})),
        (verdicts.counted, changed(records={"open": {ONE: 1}})),
        (verdicts.counted, changed(records={"usage": {}}, answered={}, cut={})),
        (verdicts.kept_within, changed(limits={ONE: 240 - RESERVED_OUTPUT - 1})),
        (verdicts.kept_within, changed(limits={ONE: 300, OTHER: TOKENS * LEAST_CHATS})),
        (verdicts.kept_within, changed(limits={})),
        (verdicts.memory, changed(memory=[])),
        (verdicts.memory, changed(memory=[(float(n), (100 + 10 * n) << 20) for n in range(30)])),
        (verdicts.quiet, changed(log="Traceback (most recent call last):\n")),
        (verdicts.quiet, changed(log=json.dumps({"level": "error", "message": "run failed"}))),
        (verdicts.stopped, changed(ended="it ended with code 143")),
    ],
)
def test_each_demand_is_red_for_what_it_is_there_for(demand: Callable[[Measured], Verdict], bad: Measured) -> None:
    assert demand(bad).state == "FAILED"


def test_two_processes_may_exceed_a_quota_by_what_each_reserves() -> None:
    above = changed(limits={ONE: 240 - RESERVED_OUTPUT - 1}, workers=2)
    assert verdicts.kept_within(above).state == "ok"


def test_the_memory_of_a_short_run_is_not_judged() -> None:
    short = changed(notes={"chats": _CHATS[-5:]}, memory=[(float(n), (n + 1) << 20) for n in range(30)])
    assert verdicts.memory(short).state == "not judged"


def test_a_plan_has_all_kinds_for_all_tenants_and_quotas_that_its_chats_exceed() -> None:
    plan = planned(1_000, 10, "ab", seed=3)
    assert sum(len(one.questions) for one in plan) >= 1_000
    assert {one.kind for one in plan if not is_limited(one.tenant)} == {
        *("whole", "stream", "v1", "v1_stream", "session", "leaves", "retries", "trespasses")
    }
    assert not {one.kind for one in plan if is_limited(one.tenant)} & {"leaves", "retries"}
    assert {one.tenant for one in plan} == set(range(10))
    words = [question.word for one in plan for question in one.questions]
    assert len(set(words)) == len(words)
    limits = quotas(plan)
    assert limits.keys() == {0, 5}
    assert all(0 < limit < TOKENS * 2 * 110 for limit in limits.values())
    assert plan == planned(1_000, 10, "ab", seed=3) != planned(1_000, 10, "ab", seed=4)


def test_words_say_whose_they_are_and_the_model_says_all_that_it_was_sent() -> None:
    question = Question(ONE, f"word-{ONE}-12ab", "call", 2)
    secret = secret_of(token_of(OTHER, "77"))
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": question.text},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": f"of topic 2: {secret}"},
    ]
    assert question_in(messages) == (question, 0)
    assert words_in(answer_to(messages)) == {question.word, secret}
    assert foreign({question.word, secret}, ONE) == {secret}
    assert foreign({question.word}, ONE) == set()


@pytest.mark.parametrize(
    ("status", "text", "stream", "native", "ending"),
    [
        (200, '{"status":"finished"}', False, True, "answered"),
        (200, '{"status":"error"}', False, True, "other"),
        (200, '{"choices":[{}]}', False, False, "answered"),
        (200, "event: text.delta\ndata: {}\n\nevent: run.finished\ndata: {}\n\n", True, True, "answered"),
        (200, "event: text.delta\ndata: {}\n\n", True, True, "other"),
        (200, 'event: run.error\ndata: {"code":"QUOTA_EXCEEDED"}\n\n', True, True, "quota"),
        (200, 'data: {"choices":[{"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n', True, False, "answered"),
        (200, 'data: {"error":{"code":"insufficient_quota"}}\n\ndata: [DONE]\n\n', True, False, "quota"),
        (429, '{"error":{"code":"insufficient_quota"}}', False, False, "quota"),
        (429, '{"error":{"code":"rate_limit_exceeded"}}', False, False, "other"),
        (500, "Internal Server Error", False, True, "other"),
    ],
)
def test_how_a_chat_ended_is_read_from_its_answer(
    status: int, text: str, stream: bool, native: bool, ending: str
) -> None:
    assert ending_of(status, text, stream=stream, native=native) == ending


def test_the_gateway_gets_a_file_that_it_accepts_and_as_many_processes_as_wanted() -> None:
    file = settings("gateway.db", "http://127.0.0.1:1", "http://127.0.0.1:2", 8080, [ONE, OTHER])
    config = config_of(tomllib.loads(file), "gateway.toml")
    assert config.access.database == config.audit.database == "gateway.db"
    assert config.servers["vault"]["tenants"][OTHER]["headers"]["Authorization"] == f"Bearer ${{{variable_of(OTHER)}}}"
    assert credentials([ONE]).keys() == {variable_of(ONE)}
    assert "--workers" not in command(Path("gateway.toml"), 1)
    assert command(Path("gateway.toml"), 3)[-2:] == ["--workers", "3"]
