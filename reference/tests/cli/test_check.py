"""`xmcp check` from outside: verdicts, exit codes, one sentence where a server cannot be reached."""

from __future__ import annotations

import json
import random
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jsonschema_rs
import pytest
from support.checked import FEW, check, served
from support.http_host import HttpHost, in_thread, never_answer

from xmcp_conformance.reports.earlier_run import SCHEMA

pytestmark = pytest.mark.slow

PYTHON = shlex.quote(sys.executable)
ONLY_PLAIN = [f"MCP-0{number}" for number in range(20, 28)]
"""What is said of results for clients that did not declare the extension."""
MUTANT = f"{PYTHON} -m xmcp_conformance.mutants"
OF_MUTANT = "CONFORMS (10 of 14 tools seen at work)"
"""What is said of it where it is right: four of its tools are there to fail."""


def report_of(done: subprocess.CompletedProcess[str]) -> dict:
    return json.loads(done.stdout)


def red(report: dict) -> set[str]:
    return {entry["id"] for entry in report["requirements"] if entry["status"] in ("fail", "warn")}


def test_without_a_word_it_judges_the_sample_server():
    done = check(timeout=600)
    assert done.returncode == 0, done.stderr
    assert "CONFORMS" in done.stdout


def test_it_judges_the_sample_server_over_both_transports_in_both_eras():
    done = check("server", "--sample", "--json", "-", timeout=600)
    report = report_of(done)
    assert done.returncode == 0, done.stderr
    runs = {(run["transport"], run["protocol_version"]) for run in report["runs"]}
    assert runs == {(t, era) for t in ("stdio", "http") for era in ("2026-07-28", "2025-11-25")}
    assert red(report) == set()
    # The sample writes neither a version nor CDATA, has no block for the user alone, no `alt` that says more than its
    # text, and no tool that repeats a long text; it gives occasion for everything else.
    unseen = {entry["id"] for entry in report["requirements"] if entry["status"] == "not observed"}
    chapters = {
        "RSP": {"008", "027", "082"},
        "MCP": {"044", "047"},
    }
    assert unseen == {f"XMCP-{chapter}-{number}" for chapter, numbers in chapters.items() for number in numbers}
    assert report["shortcomings"] == []
    (gap,) = report["coverage"]["gaps"]
    assert gap.startswith("Never succeeded: `refresh_warehouse` (DB_TIMEOUT), `broken_report` (INTERNAL).")


def test_a_server_that_negotiates_conforms_over_stdio_and_over_http_with_two_workers(tmp_path):
    server = tmp_path / "negotiated.py"
    server.write_text(
        "from xmcp import XMCP\nfrom xmcp.samples import sales\n"
        "mcp = XMCP('sales', wire='negotiated')\nmcp.mount(sales.mcp)\n"
    )
    with served(str(server), "--workers", "2") as url:
        done = check(
            "server", "--url", url, "--stdio", f"{sys.executable} -m xmcp serve {server} --transport stdio",
            "--json", "-", "--examples", "1", "--calls", "25", timeout=220,
        )  # fmt: skip
    report = report_of(done)
    assert done.returncode == 0, done.stderr
    assert {(run["transport"], run["protocol_version"], run["client"]) for run in report["runs"]} == {
        (transport, era, client)
        for transport in ("stdio", "http")
        for era in ("2026-07-28", "2025-11-25")
        for client in ("declared", "plain", "apps")
    } | {
        (transport, "2026-07-28", client)
        for transport in ("stdio", "http")
        for client in ("limited", "other_version", "no_documents")
    }
    unseen = {entry["id"] for entry in report["requirements"] if entry["status"] == "not observed"}
    assert not unseen & {f"XMCP-{id_}" for id_ in ["MCP-005", "MCP-015", *ONLY_PLAIN]}
    assert red(report) == set()


def test_a_server_written_from_the_specification_alone_conforms():
    done = check("server", "--stdio", MUTANT, *FEW, timeout=600)
    assert done.returncode == 0
    assert done.stdout.rstrip().endswith(f"\n{OF_MUTANT}")
    assert len(done.stdout.splitlines()) < 30, "it fits a screen"


def test_the_table_of_requirements_comes_on_request():
    done = check("server", "--stdio", MUTANT, *FEW, "-v")
    assert done.returncode == 0
    assert "✓  XMCP-RSP-001" in done.stdout


def test_the_calls_of_each_tool_in_a_run_are_limited_on_request():
    few, more = (
        report_of(check("server", "--stdio", MUTANT, "--era", "newest", "--calls", number, "--json", "-"))
        for number in ("1", "6")
    )
    assert [report["options"]["calls"] for report in (few, more)] == [1, 6]
    assert few["runs"][0]["calls"] < more["runs"][0]["calls"]
    assert any("got 1 call in this run" in note and "--calls raises that" in note for note in few["runs"][0]["notes"])


def test_quiet_prints_the_verdict_alone_where_nothing_is_broken():
    done = check("server", "--stdio", MUTANT, *FEW, "--quiet")
    assert (done.returncode, done.stdout) == (0, f"{OF_MUTANT}\n")


@pytest.mark.parametrize("requirement", ["XMCP-RSP-023", "XMCP-RSP-040", "XMCP-ERR-031"])
def test_a_broken_server_is_told_its_own_requirement_and_no_other(requirement):
    done = check("server", "--stdio", f"{MUTANT} {requirement}", "--json", "-", "--examples", "2", "--calls", "24")
    assert done.returncode == 1
    report = report_of(done)
    assert red(report) == {requirement}
    first = next(entry["faults"][0] for entry in report["requirements"] if entry["id"] == requirement)
    assert first["seen"]
    assert first["expected"]
    assert requirement in done.stderr  # the report for people goes there when JSON has standard output


def test_a_plain_fastmcp_server_does_not_conform_and_is_told_why(tmp_path):
    server = tmp_path / "plain.py"
    server.write_text(
        "from fastmcp import FastMCP\n"
        "mcp = FastMCP('plain')\n"
        "@mcp.tool(annotations={'readOnlyHint': True})\n"
        "def add(a: int, b: int) -> int:\n"
        "    '''Add.'''\n"
        "    return a + b\n"
        "mcp.run(transport='stdio', show_banner=False)\n"
    )
    path = tmp_path / "report.json"
    done = check("server", "--stdio", f"{PYTHON} {server}", "--json", str(path))
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    report = json.loads(path.read_text())
    assert red(report) == {"XMCP-CNF-002"}
    seen = {entry["id"]: entry["faults"][0] for entry in report["requirements"] if "faults" in entry}
    assert seen["XMCP-CNF-002"]["expected"].startswith("an entry `")
    assert "`use_xmcp(mcp)`" in done.stdout
    assert done.stdout.rstrip().endswith("DOES NOT CONFORM")


def test_a_server_without_tools_that_may_be_called_is_not_shown_to_conform(tmp_path):
    server = tmp_path / "writes.py"
    server.write_text(
        "from xmcp import XMCP\nmcp = XMCP('writes')\n"
        "@mcp.tool\ndef wipe() -> str:\n    '''Wipe.'''\n    raise SystemExit\n"
    )
    done = check("server", "--stdio", f"{PYTHON} -m xmcp serve {server} --transport stdio")
    assert done.returncode == 1
    assert "Not called" in done.stdout
    assert "`wipe`" in done.stdout
    assert "NOT SHOWN TO CONFORM" in done.stdout
    assert '@mcp.tool(annotations={"readOnlyHint": True})' in done.stdout.splitlines()[-1]


def answering(body: bytes, status: bytes = b"200 OK"):
    """Answer the first request of a connection with `body` and hang up."""

    async def answer(reader, writer):
        await reader.read(65536)
        head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % (status, len(body)) + body)
        # A socket closed with a part of the request unread takes its answer back: the request comes in two pieces.
        writer.write_eof()
        await never_answer(reader, writer)

    return answer


async def hang_up(reader, writer):
    """Close the connection without a byte."""


def assert_one_sentence(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert done.stdout == ""
    (sentence,) = [line for line in done.stderr.splitlines() if "waiting for " not in line]  # on a busy machine
    assert sentence.startswith("xmcp check: ")
    assert words in sentence


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("xmcp-no-such-command", "does not exist"),
        ("false", "ended before it answered"),
        (f"{PYTHON} -c 'raise SystemExit(\"no database\")'", "it wrote to stderr: no database"),
        ("sh -c 'echo this is no protocol; sleep {mark}'", "`this is no protocol`"),
        ("sleep {mark}", "did not answer within 1 s"),
        ("sh -c \"trap '' TERM; sleep {mark}\"", "did not answer within 1 s"),
    ],
)
def test_a_command_that_is_no_server_gets_one_sentence_and_leaves_no_process(command, words):
    mark = f"60.{random.randrange(10**9)}"  # finds the processes of this test and no others
    done = check("server", "--stdio", command.replace("{mark}", mark), "--connect-timeout", "1", timeout=300)
    assert_one_sentence(done, words)
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert mark not in listing


def test_a_wrong_port_gets_one_sentence():
    nobody = HttpHost()
    assert_one_sentence(check("server", "--url", f"{nobody.url}/mcp"), "Nothing answers at")


def test_what_can_be_reached_is_judged_where_the_other_half_cannot(tmp_path):
    path = tmp_path / "report.json"
    nobody = HttpHost()  # it keeps the port, as long as there is a name for it
    url = f"{nobody.url}/mcp"
    done = check("server", "--url", url, "--stdio", MUTANT, *FEW, "--json", str(path))
    assert done.returncode == 3
    *_, judged, other = done.stdout.splitlines()
    assert judged == f"stdio: {OF_MUTANT}"
    assert other.startswith("http: NOT JUDGED. Nothing answers at")
    report = json.loads(path.read_text())
    assert (report["conforms"], report["exit_code"]) == (False, 3)
    assert [run["transport"] for run in report["runs"]] == ["stdio"] * len(report["runs"])
    assert [(peer["transport"], peer["peer"]) for peer in report["not_reached"]] == [("http", url)]
    assert list(jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).iter_errors(report)) == []


def test_where_neither_half_can_be_reached_both_reasons_are_said():
    nobody = HttpHost()
    done = check("server", "--url", f"{nobody.url}/mcp", "--stdio", "xmcp-no-such-command")
    assert_one_sentence(done, "does not exist")
    assert "Nothing answers at" in done.stderr


def test_an_address_that_is_no_mcp_endpoint_gets_one_sentence():
    with in_thread(answering(b'{"hello": "world"}')) as url:
        assert_one_sentence(check("server", "--url", f"{url}/mcp"), "not as an MCP endpoint")


def test_a_server_that_asks_for_credentials_is_not_said_to_have_another_path():
    with in_thread(answering(b'{"error": "invalid_token"}', b"401 Unauthorized")) as url:
        assert_one_sentence(check("server", "--url", f"{url}/mcp"), "asks for credentials (HTTP 401)")


def test_a_server_that_refuses_the_credentials_of_the_url_is_not_said_to_get_none():
    with in_thread(answering(b'{"error": "invalid_token"}', b"401 Unauthorized")) as url:
        done = check("server", f"{url.replace('://', '://alice:s3cret@')}/mcp")
    assert_one_sentence(done, "refused the credentials of the URL, which were sent as Basic (HTTP 401)")
    assert "alice" not in done.stderr
    assert "s3cret" not in done.stderr


def test_an_address_that_hangs_gets_one_sentence():
    with in_thread(never_answer) as url:
        done = check("server", "--url", f"{url}/mcp", "--connect-timeout", "1")
    assert_one_sentence(done, "did not answer within 1 s")


def test_an_address_that_hangs_up_gets_one_sentence():
    with in_thread(hang_up) as url:
        assert_one_sentence(check("server", "--url", f"{url}/mcp"), "did not come about")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("server", "--url", ""), "Invalid value for --url: the URL is empty"),
        (("server", "--sample", "--json", ""), "Invalid value for '--json': the name of the file is empty"),
        (("document", ""), "Invalid value for FILE: the name of a file is empty"),
    ],
)
def test_an_empty_word_is_wrong_usage_and_the_message_names_its_argument(arguments, words):
    done = check(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--url", ""),
        ("--sample", "--json", ""),
        ("127.0.0.1:3333/mcp",),
        ("--url", "ftp://x"),
        ("--url", "http://127.0.0.1:99999"),
        ("--stdio", ""),
        ("--stdio", "'"),
        ("--stdio", "http://127.0.0.1:1/mcp"),
        ("--url", "server.py"),
        ("missing.py",),
        ("--examples", "0"),
        ("--calls", "0"),
        ("--no-such",),
        ("--sample", "--quiet", "--verbose"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(arguments):
    done = check("server", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [[MUTANT], ["--", *shlex.split(MUTANT)]])
def test_a_server_is_named_as_for_see(words):
    done = check("server", "--calls", "3", "--quiet", *words)
    assert (done.returncode, done.stdout) == (0, "CONFORMS (7 of 14 tools seen at work)\n"), done.stderr


def test_a_report_that_cannot_be_written_is_said_so(tmp_path):
    done = check("server", "--stdio", MUTANT, *FEW, "--json", "/dev/full")
    assert done.returncode == 3
    assert "cannot be written" in done.stderr


def test_a_server_that_dies_in_a_call_is_judged_by_it(tmp_path):
    server = tmp_path / "dies.py"
    server.write_text(
        "import os\nfrom xmcp import XMCP\nmcp = XMCP('dies')\n"
        "@mcp.tool(annotations={'readOnlyHint': True})\ndef die() -> str:\n    '''Die.'''\n    os._exit(7)\n"
    )
    done = check("server", "--stdio", f"{PYTHON} -m xmcp serve {server} --transport stdio", "--json", "-")
    assert done.returncode == 1
    report = report_of(done)
    assert red(report) == {"XMCP-ERR-001"}
    assert "The connection ended during die({})" in str(report["runs"])


def test_a_terminated_check_leaves_no_sample_server_behind():
    script = (
        "import os, signal, xmcp.cli.check_server as c\n"
        "from rich.console import Console\n"
        "c._end_on_sigterm()\n"
        "with c.Waiting('xmcp check', Console()) as waiting, c._bundled(waiting, 60) as peers:\n"
        "    print(peers[1].url.split(':')[2].split('/')[0], flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    signal.pause()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 128 + 15, done.stderr
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(done.stdout)), timeout=5)


@pytest.mark.slow
def test_a_terminated_check_leaves_no_process_of_a_server_that_ignores_the_end_of_its_input(tmp_path):
    told = tmp_path / "pid"
    server = tmp_path / "deaf.py"
    server.write_text(f"import os, time\nopen({str(told)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "xmcp", "check", "server", f"{PYTHON} {server}", "--connect-timeout", "300"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 120
        while not (told.exists() and told.read_text()) and time.monotonic() < until:
            time.sleep(0.1)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{told.read_text()}").exists()


@pytest.mark.parametrize("arguments", [(), ("--strict",), ("--sample", "--url", "http://127.0.0.1:1/mcp")])
def test_nothing_is_judged_in_the_place_of_a_server_that_was_not_named(arguments):
    done = check("server", *arguments)
    assert done.returncode == 2
    assert "--stdio or --url" in done.stderr
