"""`xmcp see` from outside: what it shows of real servers, and one sentence where there is nothing to see."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from rich.cells import cell_len
from support import flooding_program
from support.http_host import HttpHost

from xmcp.cli.see import _hosts
from xmcp_conformance.reports.see_json import SCHEMA

pytestmark = pytest.mark.slow

PYTHON = shlex.quote(sys.executable)
TOOLS = '''
from fastmcp.tools import ToolResult
from mcp_types import ImageContent, TextContent

READS = {"readOnlyHint": True}


@mcp.tool(annotations=READS)
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@mcp.tool(annotations=READS)
def report(city: str):
    """Words and other data."""
    words = [TextContent(type="text", text=f"Sales in {city} fell.")]
    return ToolResult(content=words, structured_content={"rows": 12})


@mcp.tool(annotations=READS)
def crash() -> str:
    """Fail with a path."""
    raise OSError("cannot open /home/alice/orders.db")


@mcp.tool
def wipe() -> str:
    """Write."""
    raise SystemExit
'''
PLAIN = f'from fastmcp import FastMCP\nmcp = FastMCP("plain"){TOOLS}'
OURS = f'from xmcp import XMCP\nmcp = XMCP("ours"){TOOLS}'


def see(*arguments: str, columns: int = 80, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    patience = [] if "--connect-timeout" in arguments else ["--connect-timeout", "300"]
    return subprocess.run(
        [sys.executable, "-m", "xmcp", "see", *patience, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "COLUMNS": str(columns)},
    )


def in_json(*arguments: str) -> dict:
    done = see(*arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [error.message for error in validator().iter_errors(report)] == []
    return report


def validator():
    return jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")))


def calls_of(server: dict, tool: str) -> list[dict]:
    return next(entry["calls"] for entry in server["tools"] if entry["name"] == tool)


def by_host(call: dict) -> dict[str, dict]:
    return {entry["host"]: entry for entry in call["hosts"]}


@pytest.fixture
def plain(tmp_path: Path) -> str:
    path = tmp_path / "plain.py"
    path.write_text(PLAIN)
    return str(path)


@pytest.fixture
def ours(tmp_path: Path) -> str:
    path = tmp_path / "ours.py"
    path.write_text(OURS)
    return str(path)


def test_of_a_plain_fastmcp_it_shows_which_model_reads_the_words_and_which_the_data(plain):
    report = in_json(plain)
    server = report["servers"][0]
    assert not server["announces_xmcp"]
    hosts = by_host(calls_of(server, "report")[0])
    assert hosts["claude-code"]["model"]["text"] == '{"rows":12}'
    assert hosts["claude-code"]["lost"] == ["text, replaced by the data"]
    assert hosts["cursor"]["model"]["text"] == "Sales in city fell."
    assert hosts["cursor"]["lost"] == ["data"]
    assert all(not entry["lost"] for entry in calls_of(server, "add")[0]["hosts"])


def test_a_path_in_a_failure_leaks_in_every_host_and_a_tool_that_writes_is_not_called(plain):
    server = in_json(plain)["servers"][0]
    assert {"path", "text of an unexpected exception"} == {
        leak for entry in calls_of(server, "crash")[0]["hosts"] for leak in entry["leaked"]
    }
    examples = by_host(calls_of(server, "crash")[0])["codex"]["examples"]
    assert examples["path"] == "/home/alice/orders.db"
    assert examples["text of an unexpected exception"] == "cannot open /home/alice/orders.db"
    wipe = next(entry for entry in server["tools"] if entry["name"] == "wipe")
    assert wipe["calls"] == []
    assert "--allow-writes" in wipe["not_called"]


FAILS = """
from fastmcp import FastMCP
mcp = FastMCP("shop")
@mcp.tool(annotations={"readOnlyHint": True})
def find(name: str) -> str:
    raise ValueError("There is none.")
"""


def test_it_leaves_nothing_in_the_folder(tmp_path, monkeypatch):
    (tmp_path / "server.py").write_text(FAILS)  # so that arguments are drawn
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)
    assert see("../server.py").returncode == 0
    assert [*folder.iterdir()] == []


def test_of_an_xmcp_server_only_our_client_gets_documents_and_nothing_leaks(ours):
    server = in_json(ours)["servers"][0]
    assert server["announces_xmcp"]
    assert {finding["kind"] for finding in server["findings"]} == {"lost"}
    hosts = by_host(calls_of(server, "add")[0])
    assert hosts["aiclient"]["model"]["text"].startswith('<tool_response tool_name="add">')
    assert hosts["cursor"]["model"]["text"] == "2"


def test_a_second_server_is_shown_beside_the_first_with_the_same_calls(plain, ours):
    done = see(plain, "--beside", ours)
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.split("A  What stands out")[1].split("B  What stands out")
    assert "path" in before
    assert "path" not in after


def test_a_second_server_gets_the_same_arguments_even_if_its_own_schema_asks_for_others(plain, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(PLAIN.replace("report(city: str)", "report(city: str, year: int)"))
    asked = [
        [call["arguments"] for call in calls_of(server, "report")]
        for server in in_json(plain, "--beside", str(other))["servers"]
    ]
    assert asked == [[{"city": "city"}, {}]] * 2


@pytest.mark.parametrize("columns", [80, 120])
def test_the_picture_fits_the_terminal_and_ends_with_what_stands_out(plain, columns):
    done = see(plain, columns=columns)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[1:]  # the first is the command, as it was given
    assert [line for line in lines if cell_len(line) > columns] == []
    [preview] = [line for line in lines if "unmarked: text  Error calling" in line]
    assert preview.rstrip().endswith("…") or "orders.db" in preview  # one line, however long the text is
    end = done.stdout.split("What stands out")[1]
    assert "leaks: path  in crash; every host" in end
    assert "lost: text, replaced by the data  in report; VS Code, Claude Code" in end


def test_one_tool_of_one_host_is_shown_word_for_word_with_ones_own_arguments(plain):
    done = see(plain, "--tool", "report", "--host", "codex", "--host", "goose", "--arguments", '{"city": "Graz"}')
    assert done.returncode == 0, done.stderr
    assert '    {"rows":12}' in done.stdout
    assert "    Sales in Graz fell." in done.stdout
    assert "crash" not in done.stdout
    assert "Claude Code" not in done.stdout


def test_text_of_a_server_cannot_act_on_the_terminal(tmp_path):
    path = tmp_path / "evil.py"
    path.write_text(
        "from fastmcp import FastMCP\nmcp = FastMCP('evil')\n"
        "@mcp.tool(annotations={'readOnlyHint': True})\n"
        "def evil() -> str:\n    '''Evil.'''\n"
        "    return 'a\\x1b[2Jb\\x1b]0;owned\\x07c\\u202ed [bold]e[/nothing] /home/\\x1b[31m' + 'x' * 100_000\n"
    )
    for arguments in ([], ["--tool", "evil"]):
        done = see(str(path), *arguments)
        assert done.returncode == 0, done.stderr
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", done.stdout)
        assert r"a\x1b[2Jb" in done.stdout
        assert "[bold]e[/nothing]" in done.stdout.replace("\n", "") or not arguments
        assert len(done.stdout) < 60_000


def test_a_server_that_floods_costs_no_more_than_its_connection():
    done = see(shlex.join(flooding_program.command("line")))
    assert done.returncode == 0
    assert "no result" in done.stdout
    assert "Nothing seen" in done.stdout


def test_a_huge_answer_is_cut(tmp_path):
    path = tmp_path / "seen.json"
    command = shlex.join(flooding_program.command("nothing"))
    done = see(command, "--tool", "pour", "--arguments", '{"size": 3000000}', "--json", str(path))
    assert done.returncode == 0, done.stderr
    assert "2,996,000 more characters" in done.stdout
    assert len(done.stdout) < 100_000
    assert path.stat().st_size < 3_000_000
    assert validator().is_valid(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("xmcp-no-such-command", "does not exist"),
        (f"{PYTHON} -c 'raise SystemExit(\"no database\")'", "it wrote to stderr: no database"),
        ("no_such_module:mcp", "there is no module 'no_such_module'"),
    ],
)
def test_a_target_that_is_no_server_gets_one_sentence(target, words):
    done = see(target, "--connect-timeout", "20")
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert done.stdout == ""
    (sentence,) = [line for line in done.stderr.splitlines() if "waiting for " not in line]  # on a busy machine
    assert sentence.startswith("xmcp see: ")
    assert words in sentence


def test_a_command_that_ends_in_the_name_of_a_file_is_a_command(tmp_path):
    file = tmp_path / "server.py"
    file.write_text(f"{PLAIN}\nmcp.run(show_banner=False)\n")
    done = see(f"{sys.executable} {file}")
    assert done.returncode == 0, done.stderr
    assert "add" in done.stdout


def test_an_address_where_nobody_listens_gets_one_sentence():
    nobody = HttpHost()
    done = see(f"{nobody.url}/mcp")
    assert done.returncode == 3
    assert "Nothing answers at" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing argument"),
        (("",), "the command is empty"),
        (("'",), "No closing quotation"),
        (("ftp://x",), "not an http or https address"),
        (("missing.py",), "there is no file"),
        (("x", "--host", "netscape"), "there is no host 'netscape'. Known: vscode"),
        (("x", "--arguments", "{}"), "name the tool"),
        (("x", "--tool", "a", "--arguments", "{"), "not JSON"),
        (("x", "--tool", "a", "--arguments", "[]"), "JSON object"),
        (("npx", "-y", "server"), "put the command in quotes"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2_and_says_what_to_do(arguments, words):
    done = see(*arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tool_that_the_server_does_not_have_is_wrong_usage(plain):
    done = see(plain, "--tool", "ad")
    assert done.returncode == 2
    assert "no tool `ad`. Did you mean `add`? It has: add, report" in done.stderr


@pytest.mark.parametrize("name", ["aiclient", "AIClient", "VS Code", "vs code"])
def test_a_host_can_be_named_as_the_report_prints_it(name: str) -> None:
    (host,) = _hosts((name,))
    assert name.casefold() in (host.name, host.title.casefold())
