"""What is compared when hosts run here, and the stand-in model that records what they are given."""

from __future__ import annotations

import json
import urllib.request

import pytest

from tools.hosts.__main__ import measure
from tools.hosts.cases import CASES, LONG
from tools.hosts.comparison import differences
from tools.hosts.environments import RUN_HERE
from tools.hosts.stand_in_model import Heard, stand_in_model
from xmcp_conformance.hosts.answers import Answer
from xmcp_conformance.hosts.presentation import present
from xmcp_conformance.hosts.rules import hosts

DATA = {host.name: host for host in hosts()}
CURSOR, LANGCHAIN, CODEX = DATA["cursor"], DATA["langchain"], DATA["codex"]


def as_the_data_says(host):
    shown = {name: present(Answer(name, result), host) for name, result in CASES.items()}
    return {
        name: Heard([*each.parts], each.images) for name, each in shown.items() if not each.form.startswith("exception")
    }


def test_every_verified_host_can_run_here_and_no_other():
    assert {host.name for host in hosts() if host.status == "verified"} == set(RUN_HERE)


@pytest.mark.parametrize("host", DATA.values(), ids=DATA)
def test_a_host_that_does_what_the_data_says_does_not_differ(host):
    assert differences(host, host.version, as_the_data_says(host)) == []


@pytest.mark.parametrize(
    ("case", "heard", "words"),
    [
        ("case_text", Heard(["other words"]), "the model heard 'other words'"),
        ("case_text", None, "the model heard nothing"),
        ("case_image", Heard(["words for the model"], images=0), "0 images, the data says 1"),
        ("case_link", Heard(["words for the model"]), "the model heard 'words for the model'"),
        ("case_long", Heard(["x" * 200]), "the model heard"),
    ],
)
def test_a_host_that_does_something_else_is_told_where(case, heard, words):
    all_heard = as_the_data_says(LANGCHAIN) | {case: heard}
    [line] = differences(LANGCHAIN, LANGCHAIN.version, {name: got for name, got in all_heard.items() if got})
    assert line.startswith(f"{case}: ")
    assert words in line


def test_a_limit_is_compared_by_length_because_the_host_writes_a_note():
    heard = as_the_data_says(CODEX)
    limit = CODEX.model.most_characters
    assert differences(CODEX, CODEX.version, heard | {"case_long": Heard(["y" * (limit + 100)])}) == []
    [line] = differences(CODEX, CODEX.version, heard | {"case_long": Heard(["y" * LONG])})
    assert f"the data says {limit}" in line


def test_another_version_than_that_of_the_data_is_a_difference():
    assert "this is 999" in differences(CURSOR, "999", as_the_data_says(CURSOR))[0]


@pytest.mark.slow
def test_our_own_client_does_what_the_data_says(tmp_path):
    installed = RUN_HERE["aiclient"].install(tmp_path)
    assert differences(DATA["aiclient"], installed.version, measure(installed)) == []


def ask(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        return response.read().decode()


PROMPT = {"role": "user", "content": "#call case_text"}
TOOL = {"type": "function", "function": {"name": "cases_case_text", "parameters": {}}}


def test_the_model_asks_for_the_tool_and_records_what_comes_back_in_chat_completions():
    with stand_in_model() as model:
        url = f"{model.url}/chat/completions"
        first = json.loads(ask(url, {"messages": [PROMPT], "tools": [TOOL]}))
        call = first["choices"][0]["message"]
        assert call["tool_calls"][0]["function"]["name"] == "cases_case_text"
        image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
        tool = {"role": "tool", "tool_call_id": "call_1", "content": "words"}
        streamed = ask(url, {"messages": [PROMPT, call, tool, image], "tools": [TOOL], "stream": True})
        assert streamed.endswith("data: [DONE]\n\n")
        assert model.heard == {"case_text": Heard(["words"], images=1)}


def test_the_model_records_what_comes_back_in_responses_also_of_a_tool_in_a_namespace():
    with stand_in_model() as model:
        tools = [{"type": "namespace", "name": "mcp__cases", "tools": [{"type": "function", "name": "case_text"}]}]
        first = json.loads(ask(f"{model.url}/responses", {"input": [PROMPT], "tools": tools}))
        assert (first["output"][0]["name"], first["output"][0]["namespace"]) == ("case_text", "mcp__cases")
        output = {"type": "function_call_output", "call_id": "call_1"}
        output["output"] = [{"type": "input_text", "text": "words"}, {"type": "input_file"}]
        ask(f"{model.url}/responses", {"input": [PROMPT, first["output"][0], output], "tools": tools})
        assert model.heard == {"case_text": Heard(["words"], other=["input_file"])}
