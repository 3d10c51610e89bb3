"""Known faults and tools that are left out: what keeps the suite usable in CI while a server is being mended."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from support.checked import FEW, check

from xmcp_conformance.reports.baseline import SCHEMA

pytestmark = pytest.mark.slow

COSTLY = """
import pathlib
from xmcp import XMCP
mcp = XMCP("costly")

@mcp.tool(annotations={"readOnlyHint": True})
def translate(text: str) -> str:
    pathlib.Path("paid.txt").write_text("1")
    return text

@mcp.tool(annotations={"readOnlyHint": True})
def echo(text: str) -> str:
    return text
"""


def mutant(*requirements: str) -> str:
    return f"{shlex.quote(sys.executable)} -m xmcp_conformance.mutants {' '.join(requirements)}"


def test_known_faults_pass_new_ones_and_those_that_are_gone_do_not(tmp_path: Path) -> None:
    known, report, page = (tmp_path / name for name in ("known.json", "report.json", "page.md"))
    server = mutant("XMCP-MCP-002")  # never says that a call failed
    assert check("server", server, *FEW).returncode == 1
    assert check("server", server, "--baseline", str(known), *FEW).returncode == 2, "there is no such file"
    done = check("server", server, "--baseline", str(known), "--update-baseline", *FEW)
    assert done.returncode == 0, done.stdout + done.stderr
    faults = json.loads(known.read_text())
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(faults)
    assert [*faults["faults"]] == ["XMCP-MCP-002"]
    tools = faults["faults"]["XMCP-MCP-002"]
    assert len(tools) > 1

    files = ("--json", str(report), "--markdown", str(page))
    done = check("server", server, "--baseline", str(known), *files, *FEW)
    assert (done.returncode, "NO FAULTS BUT THOSE OF THE BASELINE (1)" in done.stdout) == (0, True), done.stdout
    assert "~ XMCP-MCP-002" in done.stdout
    assert "CONFORMS" not in done.stdout
    assert page.read_text().startswith("## ~ NO FAULTS BUT THOSE OF THE BASELINE")
    written = json.loads(report.read_text())
    assert (written["conforms"], written["exit_code"], written["counts"]["known"]) == (False, 0, 1)
    assert "does not hold" in written["levels"].values()

    known.write_text(json.dumps({"format": 1, "faults": {"XMCP-MCP-002": tools[1:]}}))
    done = check("server", server, "--baseline", str(known), *FEW)
    assert (done.returncode, "✗ XMCP-MCP-002" in done.stdout) == (1, True), "another tool breaks it too"

    gone = {"XMCP-MCP-002": tools, "XMCP-RSP-001": [tools[-1]], "XMCP-RSP-006": ["no_such_tool"]}
    known.write_text(json.dumps({"format": 1, "faults": gone}))
    done = check("server", server, "--baseline", str(known), *FEW)
    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert f"stale in the baseline: XMCP-RSP-001 of `{tools[-1]}`; it is not broken any more" in said
    assert "stale in the baseline: XMCP-RSP-006 of `no_such_tool`; no such tool is listed" in said


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON, as --update-baseline writes it"),
        ('{"format": 2, "faults": {}}', "is no baseline (at `/format`: 1 was expected); --update-baseline writes one"),
        ('{"format": 1, "faults": {"XMCP-1": ["a"]}}', 'is no baseline (at `/faults`: "XMCP-1" does not match'),
    ],
)
def test_what_is_no_baseline_is_said_before_anything_starts(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(content)
    done = check("server", "touch started", "--baseline", str(path))
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split()), done.stderr
    done = check("server", "touch started", "--update-baseline")
    assert (done.returncode, "--update-baseline needs --baseline FILE" in done.stderr) == (2, True)


def test_a_tool_that_costs_money_is_left_out(tmp_path: Path) -> None:
    path, paid = tmp_path / "server.py", tmp_path / "paid.txt"
    path.write_text(COSTLY)
    done = check("server", str(path), "--exclude", "trans*", "--cwd", str(tmp_path), *FEW)
    assert (done.returncode, paid.exists()) == (0, False), done.stdout + done.stderr
    assert "Not called, because of --include or --exclude: `translate`." in done.stdout
    assert "1 of 2 tools seen at work" in done.stdout
    done = check("server", str(path), "--include", "echo", "--cwd", str(tmp_path), *FEW)
    assert (done.returncode, paid.exists()) == (0, False), done.stdout + done.stderr
    done = check("server", str(path), "--exclude", "translation", "--cwd", str(tmp_path), *FEW)
    assert (done.returncode, paid.exists()) == (3, False), "a misspelt name must not cost money"
    assert "No tool is called `translation`, so nothing was called; there are `translate`, `echo`." in done.stderr
