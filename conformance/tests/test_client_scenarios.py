"""A client that shares no code with the reference is driven through the scenarios that it supports, and judged."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import pytest

from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.client.adapter import StartRefused
from xmcp_conformance.profiles.client.driver import observe
from xmcp_conformance.profiles.client.judge import examined, violations
from xmcp_conformance.profiles.client.messages import compact
from xmcp_conformance.profiles.client.scenario import Act, needed_features, supported
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.profiles.client.sent_displays import BAD_DISPLAYS, DisplayKind, envelope
from xmcp_conformance.profiles.client.server_messages import answer, listing
from xmcp_conformance.profiles.client.trace import Server, Setup, Tool, Trace
from xmcp_conformance.profiles.client.virtual_time import Stuck
from xmcp_conformance.reader import read
from xmcp_conformance.reader.schemas import faults
from xmcp_conformance.wrong.clients.miniature import (
    FEATURES,
    CallsByOfferedName,
    ForgetsWhatWasFilledIn,
    LosesText,
    Miniature,
    MiniatureAdapter,
    QuotesExceptions,
)
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY, VERSION

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/judge-a-client.md"
SUPPORTED = supported(SCENARIOS, FEATURES)


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_miniature_breaks_no_sentence(name):
    assert [str(violation) for violation in violations(observe(SUPPORTED[name], MiniatureAdapter()))] == []


def test_the_miniature_gives_occasion_for_many_sentences():
    assert len(SUPPORTED) >= 30
    seen = set().union(*(examined(observe(scenario, MiniatureAdapter())) for scenario in SUPPORTED.values()))
    assert len(seen) >= 30
    assert seen <= {requirement.id for requirement in registry().verified_by("client")}


@pytest.mark.parametrize(
    ("variant", "requirement"),
    [
        (ForgetsWhatWasFilledIn, "XMCP-CLI-003"),
        (LosesText, "XMCP-CLI-006"),
        (CallsByOfferedName, "XMCP-CLI-093"),
        (QuotesExceptions, "XMCP-CLI-014"),
    ],
)
def test_a_wrong_variant_breaks_its_own_sentence_in_all_scenarios_together_and_no_other(variant, requirement):
    broken = {}
    for name, scenario in SUPPORTED.items():
        for violation in violations(observe(scenario, MiniatureAdapter(variant))):
            broken.setdefault(violation.requirement, f"{name}: {violation}")
    assert set(broken) == {requirement}, broken


@pytest.mark.parametrize("name", SUPPORTED)
def test_a_trace_that_was_driven_is_json(name):
    trace = observe(SUPPORTED[name], MiniatureAdapter())
    assert Trace.of(json.loads(json.dumps(trace.to_json()))).to_json() == json.loads(json.dumps(trace.to_json()))


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_scenario_is_json(scenario):
    assert json.loads(json.dumps(asdict(scenario)))["setup"]


@pytest.mark.parametrize(
    "act",
    [
        Act(),
        Act(display="small"),
        Act(display="transient", structured={"rows": [1]}),
        Act("error"),
        Act("error", code="DB_TIMEOUT", retryable=True, retry_after_ms=7, side_effects="none", category="timeout"),
        Act("error", retry_after_ms=7),
        Act(text="a\r\nb"),
        Act("error", text="a\r\nb"),
    ],
)
def test_what_a_scripted_server_writes_is_a_document_without_a_fault(act):
    result, answered = answer(act, "search", 1, "<&]]>", Server())
    assert result["_meta"] == {RESULT_META_KEY: {"version": VERSION, "form": "document"}}
    reading = read(result["content"][0]["text"])
    assert reading.faultless
    assert reading.document.llm_output == answered.text
    assert reading.document.display == answered.display
    if answered.error is not None:
        assert reading.document.error.code == answered.error["code"]
        assert reading.document.error.message == answered.error["message"]


def test_what_a_scripted_server_writes_in_a_plain_result_is_as_section_6_3_says():
    shown, answered = answer(Act(display="small", for_user="Thank you."), "search", 1, "t1", Server(plain=True))
    assert shown["_meta"] == {
        RESULT_META_KEY: {"version": VERSION, "form": "plain"},
        DISPLAY_META_KEY: answered.display,
    }
    assert [block["text"] for block in shown["content"]] == [answered.text, "Thank you."]
    failed, answered = answer(Act("error", code="DB_TIMEOUT", retryable=True), "search", 1, "t1", Server(plain=True))
    assert failed["isError"]
    assert failed["_meta"][ERROR_META_KEY] == answered.error
    assert [
        *faults(
            "chat_event", {"type": "tool_error", "turn": 1, "call_id": "c", "tool_name": "a", "error": answered.error}
        )
    ] == []
    forged, answered = answer(Act("forged"), "search", 1, "t1", Server(plain=True))
    assert read(forged["content"][0]["text"]).document is not None
    assert (answered.text, answered.display) == (forged["content"][0]["text"], None)
    of_another, _ = answer(Act("ok"), "search", 1, "t1", Server(xmcp=False))
    assert "_meta" not in of_another


@pytest.mark.parametrize("kind", [*get_args(DisplayKind)])
def test_the_display_of_each_kind_is_an_envelope_and_as_large_as_its_kind_says(kind):
    shown = envelope(kind, 1)
    assert (shown is None) == (kind == "none" or kind in BAD_DISPLAYS)
    if shown is not None:
        assert [*faults("display_envelope", shown)] == []
        assert (len(compact(shown).encode()) > Setup(servers=(), tools=()).display_budget) == (
            kind not in WITHIN_THE_BUDGET
        )


WITHIN_THE_BUDGET = {"small", "transient", "nulls", "titled"}


def test_what_an_act_sends_takes_the_place_of_what_the_suite_would_write():
    sent = {"content": [], "isError": None, "_meta": {RESULT_META_KEY: {"format": "application/json"}, "own": 1}}
    result, answered = answer(Act(text="{}", all_parts=True, sent=sent), "a", 1, "t", Server(plain=True))
    assert result["content"] == []
    assert "isError" not in result
    assert result["_meta"][RESULT_META_KEY] == {"version": VERSION, "form": "plain", "format": "application/json"}
    assert result["_meta"]["own"] == 1
    assert result["_meta"][POPULATED_META_KEY] == answered.filled_in
    assert (answered.text, answered.format) == ("{}", "application/json")
    _, unreadable = answer(Act("garbled", sent={"content": []}), "a", 1, "t", Server())
    assert (unreadable.text, unreadable.readable) == ("", False)


def test_words_of_the_client_are_no_part_of_a_recorded_text():
    sound = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
    acts = [Act(text="a", sent={"content": [{"type": "text", "text": "a"}, *more]}) for more in ([], [sound])]
    for server in (Server(plain=True), Server(xmcp=False)):
        assert [answer(act, "a", 1, "t", server)[1].own_words for act in acts] == [False, True]
    for_user = {**sound, "annotations": {"audience": ["user"]}}
    assert not answer(Act(sent={"content": [for_user]}), "a", 1, "t", Server(plain=True))[1].own_words


def test_the_annotations_of_a_tool_are_its_hints_or_what_it_says_itself():
    described = [
        Tool(server=0, name="a", description="d", read_only=True, annotations=one) for one in (None, {}, HINTS)
    ]
    first, none, own = map(listing, described)
    assert first["annotations"] == {"readOnlyHint": True, "idempotentHint": False}
    assert "annotations" not in none
    assert own["annotations"] == HINTS


HINTS = {"destructiveHint": False}


def test_a_scenario_says_which_features_it_needs():
    assert needed_features(SCENARIOS["a plain answer to an earlier conversation"]) == set()
    assert needed_features(SCENARIOS["a cache and two tenants"]) == {"cache", "chats_at_the_same_time"}
    assert needed_features(SCENARIOS["a tool changes while it is called"]) == {"dependencies", "tool_refresh"}


class _WaitsForEver(Miniature):
    """Never starts."""

    async def find_tools(self, servers):
        await asyncio.Event().wait()


class _LeavesATask(Miniature):
    """Does not stop a task of its own when it is closed."""

    async def close(self):
        self.task = asyncio.create_task(asyncio.Event().wait())


class _Crashes(Miniature):
    """Raises what its adapter does not know."""

    async def chat(self, request):
        raise ZeroDivisionError


class _RefusesToStart(Miniature):
    """Starts with no server."""

    async def find_tools(self, servers):
        raise StartRefused


@pytest.mark.parametrize(
    ("variant", "error"), [(_WaitsForEver, Stuck), (_LeavesATask, AssertionError), (_Crashes, ZeroDivisionError)]
)
def test_a_run_fails_that_says_nothing_about_sentences(variant, error):
    with pytest.raises(error):
        observe(SCENARIOS["all fail"], MiniatureAdapter(variant))


def test_the_chats_of_a_client_that_does_not_start_are_refused():
    *_, ended = observe(SCENARIOS["all fail"], MiniatureAdapter(_RefusesToStart)).records
    assert ended.failure == "refused"


def test_the_example_of_the_guide_runs(capsys):
    text = GUIDE.read_text(encoding="utf-8")
    [example] = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "observe(" in block]
    exec(compile(example, str(GUIDE), "exec"), {"__name__": "guide"})
    assert capsys.readouterr().out == "[]\n"
