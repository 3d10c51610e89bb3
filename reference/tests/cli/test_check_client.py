"""`xmcp check client`: the adapter of the examples conforms, and what is no client is said in one sentence."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from xmcp.cli.check import check
from xmcp_conformance.profiles.client.command.check_command import is_seen_over_http
from xmcp_conformance.profiles.client.command.program import SCHEMA as PROTOCOL
from xmcp_conformance.profiles.client.drawn_themes import ABOUT
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.reports.case_json import SCHEMA

ROOT = Path(__file__).resolve().parents[3]
ADAPTER = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'examples/client_adapter/adapter.py'))}"
PROGRAM = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'conformance/tests/client_program.py'))}"
DRAWN = len(ABOUT)
RUN = DRAWN + sum(
    not any(act.kind == "down" for acts in one.acts.values() for act in acts) for one in SCENARIOS.values()
)
"""The scenarios that can be run over HTTP, and those that are drawn."""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(check, ["client", *arguments])


@pytest.mark.slow
def test_the_reference_conforms_by_the_adapter_of_the_examples(tmp_path: Path) -> None:
    path, traces = tmp_path / "report.json", tmp_path / "traces"
    done = run(ADAPTER, "--json", str(path), "--traces", str(traces))
    assert (done.exit_code, done.output.rstrip().splitlines()[-1]) == (0, f"CONFORMS ({RUN} scenarios)"), done.output
    assert "XMCP 1.0-draft, a client by scenarios: xmcp.client.AIClient" in done.output
    report = json.loads(path.read_text())
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(report)
    assert (report["peer"], report["profile"], report["conforms"]) == ("xmcp.client.AIClient", "client", True)
    obeyed = [one["id"] for one in report["requirements"] if one["status"] == "pass"]
    assert len(obeyed) >= 90, sorted({one["id"] for one in report["requirements"]} - {*obeyed})
    assert len([*traces.iterdir()]) == RUN
    again = CliRunner().invoke(check, ["trace", str(traces)])
    assert (again.exit_code, again.output.rstrip().splitlines()[-1]) == (0, f"CONFORMS ({RUN} traces)")


MINE = """
import httpx2

class Client:
    def __init__(self, model, servers, max_turns):
        self.model = model

    async def run(self, query, history):
        messages = [*history, {"role": "user", "content": query}]
        async with httpx2.AsyncClient() as http:
            print("asking")  # what a library prints is no message
            asked = await http.post(f"{self.model}/chat/completions", json={"model": "m", "messages": messages})
        answer = asked.json()["choices"][0]["message"]["content"]
        return answer, [*messages, {"role": "assistant", "content": answer}]

    async def close(self):
        raise RuntimeError("already closed")
"""
"""A client that knows no tools, and fails when it is closed."""


def test_the_small_adapter_of_the_guide_runs_with_the_loop_of_the_examples(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "judge-a-client.md").read_text(encoding="utf-8")
    [adapter] = [one for one in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "from program import" in one]
    for name, text in (("adapter.py", adapter), ("mine.py", MINE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "examples" / "client_adapter" / "program.py", tmp_path)
    done = run(
        f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'adapter.py'))}", "--scenario", "plain answer"
    )
    assert (done.exit_code, done.output.rstrip().splitlines()[-1]) == (0, "CONFORMS (1 scenario)"), done.output
    assert "a client by scenarios: mine 0.3" in done.output


CANNOT_START = """
from program import serve

class Adapter:
    async def start(self, setup, models, servers, application):
        raise KeyError("an option that mine has not")

serve(Adapter(), "mine 0.3", features=["dependencies"])
"""


def test_a_client_whose_start_raises_has_not_refused_the_tools(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "client_adapter" / "program.py", tmp_path)
    (tmp_path / "adapter.py").write_text(CANNOT_START, encoding="utf-8")
    done = run(f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'adapter.py'))}", "--scenario", "circle")
    assert done.exit_code == 3
    assert "ended with 1; it wrote to stderr: KeyError: 'an option that mine has not'" in done.output


@pytest.mark.parametrize(
    ("line", "fault"), [('{"command": "refresh", "id": 1}', "AttributeError"), ("no JSON", "JSONDecodeError")]
)
def test_the_loop_of_the_examples_ends_with_what_it_cannot_do(line: str, fault: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "client_adapter" / "program.py", tmp_path)
    (tmp_path / "adapter.py").write_text(CANNOT_START, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "adapter.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stderr is not None
        program.stdin.write(f"{line}\n")
        program.stdin.flush()  # and it stays open, as in a run
        try:
            program.wait(60)
        finally:
            program.kill()
        said = program.stderr.read()
    assert (program.returncode, fault in said) == (1, True), said


def test_a_fault_is_told_with_its_sentence_and_its_scenario(tmp_path: Path) -> None:
    path, page, cases, traces = (tmp_path / name for name in ("report.json", "page.md", "cases.xml", "traces"))
    files = ("--json", str(path), "--markdown", str(page), "--junit", str(cases), "--traces", str(traces))
    done = run(f"{PROGRAM} LosesText", *files, "--scenario", "two calls and text", "--scenario", "one id")
    assert page.read_text().startswith("## ✗ DOES NOT CONFORM")
    assert '<testcase classname="xmcp" name="verdict">' in cases.read_text()
    assert done.exit_code == 1
    assert "✗ XMCP-CLI-006 (section 11.1)" in done.output
    assert "of two calls and text beside them" in done.output
    assert "1 of 2 scenarios without a fault" in done.output
    report = json.loads(path.read_text())
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(report)
    (faulty,) = [case for case in report["cases"] if case["faults"]]
    records = json.loads((traces / "two-calls-and-text-beside-them.json").read_text())["records"]
    assert records[faulty["faults"][0]["record"]]["kind"] in ("asked", "chat_ended")


@pytest.mark.slow
def test_drawn_scenarios_are_run_too_and_one_of_them_can_be_run_again_by_its_name() -> None:
    done = run(ADAPTER, "--drawn", "2", "--seed", "5", "--scenario", "two calls", "--scenario", "drawn")
    assert (done.exit_code, done.output.rstrip().splitlines()[-1]) == (0, "CONFORMS (3 scenarios)"), done.output
    done = run(ADAPTER, "--scenario", "drawn: 1 of seed 5")
    assert (done.exit_code, done.output.rstrip().splitlines()[-1]) == (0, "CONFORMS (1 scenario)"), done.output


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([""], 2, "it is empty; name the command that starts the client"),
        (["FooBar 'x"], 2, "`FooBar 'x`: no closing quotation"),
        (["x", "--scenario", "no such thing"], 2, "no scenario has `no such thing` in its name."),
        (["x", "--scenario", "a tool that is to slow"], 2, "Did you mean 'a tool that is too slow'?"),
        (["x", "--quiet", "--verbose"], 2, "exclude each other"),
        (["x", "--drawn", "0", "--seed", "5"], 2, "--seed is for --drawn NUMBER"),
        (["x", "--jobs", "0"], 2, "Invalid value for '--jobs'"),
        (["x", "--junit", "no-such-folder/j.xml"], 2, "the folder `no-such-folder` does not exist"),
        ([], 2, "Missing argument 'COMMAND'"),
        (["no-such-command"], 3, "no-such-command: NOT JUDGED: the command does not exist or cannot be run"),
        (["'a\x1b[31mb'"], 3, "'a\\x1b[31mb': NOT JUDGED"),
    ],
)
def test_what_cannot_be_judged_is_said_in_a_sentence(arguments: list[str], code: int, says: str) -> None:
    done = run(*arguments)
    assert done.exit_code == code
    assert says in " ".join(done.output.split()), done.output
    assert "Traceback" not in done.output
    assert "\x1b" not in done.output


OWN: dict[str, Any] = {
    "setup": {"servers": [{}], "tools": [{"server": 0, "name": "stock"}]},
    "acts": {"0": [{"kind": "error", "code": "NOT_FOUND", "delay": 0.1}]},
    "chats": [{"script": [{"text": "I look.", "asks": [{"tool": 0}]}, {"text": "There is none."}]}],
}


def with_setup(**members: Any) -> Any:
    return {"a": {**OWN, "setup": {**OWN["setup"], **members}}}


def with_tool(**members: Any) -> Any:
    return with_setup(tools=[{"server": 0, "name": "stock", **members}])


def with_act(**members: Any) -> Any:
    return {"a": {**OWN, "acts": {"0": [members]}}}


def with_ask(**members: Any) -> Any:
    return {"a": {**OWN, "chats": [{"script": [{"asks": [{"tool": 0, **members}]}]}]}}


def test_scenarios_of_one_s_own_are_judged_beside_those_of_the_suite(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"Our shop has none": OWN}))
    jsonschema_rs.validator_for(json.loads(run("--scenario-schema").output)).validate(json.loads(file.read_text()))
    mine = ("--scenarios", str(file), "--scenario", "shop", "--scenario", "one id in every turn")
    right, wrong = run(f"{PROGRAM} Miniature", *mine), run(f"{PROGRAM} LosesText", *mine)
    assert right.output.rstrip().splitlines()[-1] == "CONFORMS (2 scenarios)", right.output
    assert "✗ XMCP-CLI-006" in wrong.output
    assert "of Our shop has none" in wrong.output


def test_each_scenario_has_a_file_for_its_trace_whatever_its_script_is(tmp_path: Path) -> None:
    file, traces = tmp_path / "own.json", tmp_path / "traces"
    file.write_text(json.dumps({"нет болтов!": OWN, "нет болтов?": OWN, "在庫なし": OWN, "—": OWN}))
    mine = ("--scenarios", str(file), "--scenario", "нет", "--scenario", "在庫なし", "--scenario", "—")
    assert run(f"{PROGRAM} Miniature", *mine, "--era", "newest", "--traces", str(traces)).exit_code == 0
    assert {one.name for one in traces.iterdir()} == {
        "нет-болтов.json",
        "нет-болтов-2.json",
        "在庫なし.json",
        "scenario.json",
    }


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ({"All Fail": OWN}, "`All Fail` is the name of another scenario"),
        ({}, "0 scenarios; a file has 1 to 200"),
        ([], "`the file`: input should be a valid dictionary"),
        ({"a": {**OWN, "actz": {}}}, "`a.actz`: no such member"),
        ({"a": {**OWN, "acts": {"1": []}}}, "`a`: `acts.1`: 1 is no index in `setup.tools`, which has 1"),
        ({"a": {**OWN, "chats": []}}, "`a`: `chats`: 0; 1 to 64"),
        ({"a": {**OWN, "acts": {"0": []}}}, "`a`: `acts.0`: 0; 1 to 1000"),
        ({"a": {**OWN, "fallbacks": 10**9}}, "`a`: `fallbacks`: 1000000000; 0 to 8"),
        ('{"a": %s}' % ("1" * 5000), "a number in it has more than 4,300 digits"),
        ({"a": {**OWN, "acts": {"0": [{"delay": float("nan")}]}}}, "it has no `NaN`"),
        ({"a": {**OWN, "setup": {**OWN["setup"], "max_turns": 0}}}, "`a`: `setup.max_turns`: 0; 1 to 1000"),
        ({"a\u001b[31m": OWN}, "a name has 1 to 120 printable characters"),
        ({"aa": OWN, "AA": OWN}, "`AA` is the name of another scenario"),
        ({"a": {**OWN, "chats": [{"begins": 1e9}]}}, "`a`: `chats[0].begins`: 1e+09 seconds; at most 600"),
        ({"a": {**OWN, "setup": {"servers": [], "tools": [{"server": 0, "name": "s"}]}}}, "0 is no index in `setup.s"),
        ({"a": {**OWN, "chats": [{"script": [{"asks": [{"tool": 7}]}]}]}}, "`chats[0].script[0].asks[0].tool`: 7 is"),
        ({"a": {**OWN, "chats": [{"script": [{"asks": [{"tool": -1}]}]}]}}, "-1 is no index in `setup.tools`"),
        (with_ask(arguments={"tag": 1}), "`chats[0].script[0].asks[0].arguments`: the suite gives `tag` itself"),
        ({"a": {**OWN, "chats": [{"script": [{"fails": "oops"}]}]}}, "chats[0].script[0].fails"),
        ({"a": {**OWN, "chats": [{"script": [{"tokens": -1}]}]}}, "`chats[0].script[0].tokens`: -1; 0 to"),
        (
            {"a": {**OWN, "chats": [{"script": [{"asks": [{"tool": 0}], "fails": "auth"}]}]}},
            "`chats[0].script[0]`: an answer that fails, and is not `broken`, has no `asks`",
        ),
        ({"a": {**OWN, "chats": [{"params": {"user": 1}}]}}, "`chats[0].params.user`: `setup.params` does not have it"),
        ({"a": {**OWN, "chats": [{"cancelled": 1e9}]}}, "`chats[0].cancelled`: 1e+09 seconds; at most 600"),
        (with_tool(name="a b"), "`setup.tools[0].name`: `a b`; 1 to 128 letters"),
        (with_tool(input_schema={"type": "string"}), "`setup.tools[0].input_schema`: its `type` is not `object`"),
        (with_tool(input_schema={"properties": 7}), "`setup.tools[0].input_schema`: no JSON Schema: 7 is not of type"),
        (with_tool(input_schema={"$schema": "https://example.com/none"}), "its `$schema` is not one of https://json"),
        ('{"a": 1e999}', "is larger than a double can be"),
        (with_act(structured=[1]), "`acts.0[0].structured`: MCP's `structuredContent` is an object"),
        (with_act(kind="error", code="not found"), "`acts.0[0].code`: `not found` is no code (section 4.1)"),
        (with_act(kind="error", category="Odd!"), "`acts.0[0].category`: `Odd!`; small letters"),
        (with_act(kind="error", retry_after_ms=-1), "`acts.0[0].retry_after_ms`: -1; 0 to 600000"),
        (with_act(text="a\x00b"), "`acts.0[0].text`: XML has no U+0000, so a server cannot send it"),
        ({"a": {**OWN, "changes": [{"time": 0.1, "server": 0, "tools": []}]}}, "`changes[0].time`: 0.1 s; at least 1"),
        (with_setup(servers=[{"given_name": "a"}] * 2), "`setup.servers[0].given_name`: `a`; 1 to 32 letters"),
        (with_setup(tools=[{"server": 0, "name": "s"}] * 2), "`s` is the name of 2 tools of one server"),
        (with_setup(quota_tokens={"acme": -1}), "`setup.quota_tokens.acme`: -1; 0 to"),
        ('{"a": {}, "a": {}}', "an object has the member `a` more than once"),
        ('{"a": "\\ud800"}', "a text in it has half of a surrogate pair"),
    ],
)
def test_what_is_no_scenario_is_said_before_anything_runs(own: object, says: str, tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(own if isinstance(own, str) else json.dumps(own))
    done = run("no-such-command", "--scenarios", str(file))
    assert done.exit_code == 2
    assert says in " ".join(done.output.replace("│", "").split()), done.output


def test_names_and_protocol_are_printed() -> None:
    listed = run("--list").output.splitlines()
    assert [line.partition("\t")[0] for line in listed] == [*SCENARIOS]
    assert "a cache and two tenants\tcache, chats_at_the_same_time" in listed
    unseen = {name for name, scenario in SCENARIOS.items() if not is_seen_over_http(scenario)}
    assert (
        {name for name, _, needs in (line.partition("\t") for line in listed) if "Python" in needs} == unseen != set()
    )
    printed = json.loads(run("--schema").output)
    jsonschema_rs.meta.validate(printed)
    options = printed["$defs"]["setup"].pop("properties")
    assert printed == json.loads(PROTOCOL.read_text())
    assert {"max_attempts", "display_budget", "params"} <= options.keys()
    assert not {"servers", "tools"} & options.keys()


def test_traces_that_cannot_be_written_are_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(f"{PROGRAM} Miniature", "--scenario", "one id", "--traces", str(tmp_path / "file" / "in"))
    assert done.exit_code == 2
    assert "cannot be made: Not a directory" in " ".join(done.output.split())


TEST_CLIENT = """
import asyncio, os, sys
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

async def main():
    assert os.environ["MCP_CONFORMANCE_SCENARIO"] == "tools_call"
    assert os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] in ("2025-11-25", "2026-07-28")
    async with streamable_http_client(sys.argv[-1]) as (reads, writes, *_), ClientSession(reads, writes) as session:
        await session.initialize()
        listed = await session.list_tools()
        await session.call_tool(listed.tools[0].name, {"a": 5, "b": 3})

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_test_client_of_mcps_own_suite_is_judged_by_what_it_declares(tmp_path: Path) -> None:
    program = tmp_path / "client.py"
    program.write_text(TEST_CLIENT)
    done = run(f"{sys.executable} {program}", "--by-url")
    assert done.exit_code == 1, done.output
    assert "XMCP-CLI-111, XMCP-MCP-006" in done.output
    assert "0 of 2 scenarios without a fault" in done.output


@pytest.mark.parametrize(
    ("code", "seconds", "said"),
    [
        ("raise SystemExit('no key')", "60", "the client ended with the status 1: no key"),
        ("import time; time.sleep(60)", "1", "the client did not end within 1 s"),
        ("", "60", "it neither listed the tools nor called one"),
    ],
)
def test_a_test_client_that_fails_is_not_judged(code: str, seconds: str, said: str, tmp_path: Path) -> None:
    program = tmp_path / "client.py"
    program.write_text(code)
    done = run(f"{sys.executable} {program}", "--by-url", "--start-timeout", seconds)
    assert done.exit_code == 3, done.output
    assert " ".join(done.output.split()).count(f"NOT JUDGED: {said}") == 2, done.output


@pytest.mark.parametrize("option", [("--scenario", "one id"), ("--drawn", "3"), ("--era", "newest")])
def test_what_is_for_adapters_is_refused_with_a_test_client_of_mcps_own_suite(option: tuple[str, str]) -> None:
    done = run("x", "--by-url", *option)
    assert done.exit_code == 2
    assert f"{option[0]} is for a client behind an adapter" in done.output
