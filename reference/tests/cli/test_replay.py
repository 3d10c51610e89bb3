"""`xmcp replay` and `--transcript`: what came, with one's own eyes."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from support.checked import FEW, check, command_line

from xmcp_conformance.profiles.server.clients import ClientKind
from xmcp_conformance.reports import past_faults, transcript

pytestmark = pytest.mark.slow


def mutant(requirement: str) -> str:
    return f"{shlex.quote(sys.executable)} -m xmcp_conformance.mutants {requirement}"


def report_on(requirement: str, folder: Path) -> str:
    path = folder / "report.json"
    done = check("server", mutant(requirement), "--json", str(path), *FEW)
    assert done.returncode == 1, done.stdout + done.stderr
    return str(path)


def test_a_fault_is_shown_again_with_the_answer_as_it_came_and_what_is_not_there_is_named(tmp_path: Path) -> None:
    server, report = mutant("XMCP-RSP-023"), report_on("XMCP-RSP-023", tmp_path)
    done = command_line("replay", report, server, "--id", "RSP-023", "--tool", "echo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("XMCP-RSP-023: An emitter MUST NOT write `]]>`")
    assert '"name": "echo"' in done.stdout
    assert "  <tool_response" in done.stdout.partition("The text of its first block:")[2]
    done = command_line("replay", report, server, "--id", "XMCP-RSP-022")
    assert (done.returncode, "is not broken there" in done.stderr) == (2, True)
    done = command_line("replay", report, server, "--tool", "nope")
    assert (done.returncode, "`nope` did not break XMCP-RSP-023; echo" in done.stderr) == (2, True)
    (tmp_path / "other.json").write_text("{}")
    done = command_line("replay", str(tmp_path / "other.json"), server)
    assert (done.returncode, "is no report of `xmcp check server --json`" in done.stderr) == (2, True)
    done = command_line("replay", report, f"{shlex.quote(sys.executable)} -c 0")
    assert (done.returncode, "ended before it answered" in done.stderr) == (3, True)


def test_a_call_is_made_as_the_client_that_made_it(tmp_path: Path) -> None:
    report = report_on("XMCP-MCP-021", tmp_path)
    (fault, *_) = past_faults.past_faults(Path(report))
    assert fault.call is not None
    assert fault.call.client == "plain"
    done = command_line("replay", report, mutant("XMCP-MCP-021"), "--json", "-")
    made = json.loads(done.stdout)
    assert made["client"] == "plain"
    assert not made["result"]["content"][0]["text"].startswith("<tool_response")
    assert made["request"] == {"name": fault.call.name, "arguments": fault.call.arguments}


def test_what_no_call_showed_cannot_be_made_again(tmp_path: Path) -> None:
    done = command_line("replay", report_on("XMCP-TOL-001", tmp_path), mutant("XMCP-TOL-001"))
    assert (done.returncode, "was shown by `the list of tools`" in done.stderr) == (2, True), done.stderr


def test_a_transcript_has_every_call_with_its_answer(tmp_path: Path) -> None:
    lines, report = tmp_path / "calls.ndjson", tmp_path / "report.json"
    done = check("server", "--sample", "--transcript", str(lines), "--json", str(report), *FEW)
    assert done.returncode == 0, done.stdout + done.stderr
    schema = jsonschema_rs.Draft202012Validator(json.loads(transcript.SCHEMA.read_text("utf-8")))
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    for row in rows:
        schema.validate(row)
    assert len(rows) >= sum(run["calls"] for run in json.loads(report.read_text())["runs"])
    assert {row["client"] for row in rows} == {*ClientKind} - {ClientKind.APPS}, "that one only lists"
    assert any(row["result"]["content"][0]["text"].startswith("<tool_response") for row in rows if "result" in row)


def test_lines_are_not_written_to_standard_output() -> None:
    done = check("server", "--sample", "--transcript", "-")
    assert (done.returncode, "name a file" in done.stderr) == (2, True)
