"""`xmcp check trace`: a client is judged by files, and what is no trace is said in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from xmcp.cli.check import check
from xmcp_conformance.profiles.client.trace import schema
from xmcp_conformance.reports.case_json import SCHEMA

SETUP: dict[str, Any] = {"servers": [{}], "tools": [{"server": 0, "name": "find", "read_only": True}]}
FIND = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}


def trace(answer: str = "Hello.", **setup: Any) -> dict[str, Any]:
    """Return the trace of a chat of one turn, whose answer is `answer` where the model wrote `Hello.`."""
    query = {"role": "user", "content": "hi"}
    history = [query, {"role": "assistant", "content": "Hello."}]
    result = {"answer": answer, "displays": [], "stop_reason": "stop", "turns": 1}
    return {
        "setup": {**SETUP, **setup},
        "records": [
            {"kind": "chat_began", "chat": "a", "history": [], "query": "hi"},
            {"kind": "asked", "chat": "a", "ask": 1, "messages": [query], "tools": [FIND]},
            {"kind": "said", "chat": "a", "ask": 1, "text": "Hello."},
            {"kind": "chat_ended", "chat": "a", "result": result, "history": history, "given": []},
        ],
    }


def of_tools(*offered: Any) -> dict[str, Any]:
    """Return that trace with these tools in the request to the model."""
    began, asked, *others = trace()["records"]
    return {"setup": SETUP, "records": [began, {**asked, "tools": [*offered]}, *others]}


def written(folder: Path, value: Any, name: str = "chat.json") -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def run(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(check, ["trace", *arguments], **options)


def test_a_client_that_does_what_it_must_conforms(tmp_path: Path) -> None:
    done = run(written(tmp_path, trace()))
    assert (done.exit_code, done.output.rstrip().splitlines()[-1]) == (0, "CONFORMS (1 trace)")
    assert "  ok     " in done.output
    assert "Not judged, because nothing in this run gave occasion" in done.output


def test_a_fault_is_told_with_its_sentence_and_its_record(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    written(tmp_path, trace(), "right.json")
    written(tmp_path, trace("Good-bye."), "wrong.json")
    done = run(str(tmp_path), "--json", str(report))
    assert (done.exit_code, done.output.rstrip().splitlines()[-1]) == (1, "DOES NOT CONFORM (2 traces)")
    assert "✗ XMCP-CLI-072 (section 11.7)" in done.output
    assert "records[3] of" in " ".join(done.output.split())
    value = json.loads(report.read_text())
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(value)
    assert {Path(one["name"]).name: bool(one["faults"]) for one in value["cases"]} == {
        "right.json": False,
        "wrong.json": True,
    }
    assert [one["id"] for one in value["requirements"] if one["status"] == "fail"] == ["XMCP-CLI-072"]


def test_quiet_and_verbose(tmp_path: Path) -> None:
    path = written(tmp_path, trace())
    assert run(path, "--quiet").output == "CONFORMS (1 trace)\n"
    assert "✓  XMCP-CLI-072" in run(path, "--verbose").output
    assert run(path, "--quiet", "--verbose").exit_code == 2


def test_a_trace_comes_from_standard_input_too() -> None:
    assert run("-", input=json.dumps(trace())).exit_code == 0


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("{", "no JSON: expecting property name enclosed in double quotes, in line 1, column 2"),
        ('{"setup": NaN}', "no JSON: it has no `NaN`"),
        ("[" * 100_000, "JSON that is nested too deeply"),
        ([], "a trace is an object with the members `setup` and `records`"),
        ({"setup": {}, "records": []}, "`setup.servers`: field required"),
        ({"setup": SETUP, "records": [{"kind": "asket"}]}, "`records[0]`: there is no kind `asket`; is it `asked`?"),
        ({"setup": SETUP, "records": [{"kind": "cancelled", "chat": "a"}]}, "`records[0].chat`: no record `chat"),
        (trace(max_turn=3), "`setup.max_turn`: no such member"),
        (of_tools({"name": "find"}), "`records[1].tools[0]`: an object with a `function` that has a `name`"),
        (trace(tools=[{"server": 3, "name": "x"}]), "`setup.tools[0].server`: 3 is no index in `setup.servers`"),
        ({**trace(), "records": trace()["records"][:1] * 2}, "`records[1].chat`: began before: `a`"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_said_so_with_the_place(value: Any, told: str, tmp_path: Path) -> None:
    done = run(written(tmp_path, value))
    assert done.exit_code == 3
    assert told in " ".join(done.output.split()), done.output
    assert "Traceback" not in done.output


def test_what_is_judged_counts_beside_a_file_that_is_not(tmp_path: Path) -> None:
    done = run(written(tmp_path, trace("x")), written(tmp_path, "", "empty.json"))
    assert done.exit_code == 3
    assert "empty.json: NOT JUDGED: no JSON" in " ".join(done.output.split())
    assert "DOES NOT CONFORM (1 trace)" in done.output


def test_a_trace_in_which_nothing_applies_shows_nothing(tmp_path: Path) -> None:
    done = run(written(tmp_path, {"setup": SETUP, "records": []}))
    assert (done.exit_code, "NOT SHOWN TO CONFORM" in done.output) == (1, True)


def test_the_schema_accepts_what_the_command_accepts(tmp_path: Path) -> None:
    printed = json.loads(run("--schema").output)
    assert printed == schema()
    validator = jsonschema_rs.validator_for(printed)
    validator.validate(trace())
    assert not validator.is_valid(trace(max_turn=3))
