"""What a server needs before it answers: a token, variables, a folder; none of it is printed."""

from __future__ import annotations

import json
import shlex
import socket
import sys
import threading
from pathlib import Path

import pytest
from support.checked import FEW, check, command_line, served

from xmcp.cli.server_access import Access
from xmcp_conformance.profiles.server.peers import HttpPeer

pytestmark = pytest.mark.slow

TOKEN = "s3cret-t0ken"
LOCKED = f"""
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from xmcp import XMCP

mcp = XMCP("locked", auth=StaticTokenVerifier(tokens={{"{TOKEN}": {{"client_id": "ci", "scopes": []}}}}))

@mcp.tool(annotations={{"readOnlyHint": True}})
def echo(text: str) -> str:
    return text
"""
NEEDS = """
import os, pathlib
assert os.environ.get("KEY") == "s3cret-t0ken", "no key"
assert pathlib.Path("here.txt").exists(), "another folder"
from xmcp import XMCP
mcp = XMCP("needs")

@mcp.tool(annotations={"readOnlyHint": True})
def echo(text: str) -> str:
    return text

mcp.run("stdio")
"""
BREAKS = """
from xmcp import XMCP
mcp = XMCP("breaks")

@mcp.tool(annotations={"readOnlyHint": True})
def fails(text: str) -> str:
    raise KeyError("the reason")

@mcp.tool(annotations={"readOnlyHint": True})
def echo(text: str) -> str:
    return text
"""


def test_a_server_behind_a_token_is_judged_with_it_and_the_token_is_not_told(tmp_path: Path) -> None:
    path, report = tmp_path / "server.py", tmp_path / "report.json"
    path.write_text(LOCKED)
    with served(str(path)) as url:
        done = check("server", url, "--header", f"Authorization: Bearer {TOKEN}", "--json", str(report), "-v", *FEW)
        assert done.returncode == 0, done.stdout + done.stderr
        assert TOKEN not in done.stdout + done.stderr + report.read_text()
        assert json.loads(report.read_text())["coverage"]["at_work"] == 1
        done = check("server", url, "--header", f"Authorization: Bearer {TOKEN}x")
        assert (done.returncode, done.stdout) == (3, "")
        assert "refused --header (HTTP 401). Is the token right" in done.stderr
        assert TOKEN not in done.stderr
        assert "--header 'Authorization: Bearer …'" in check("server", url).stderr


def test_a_command_gets_its_variables_and_its_folder(tmp_path: Path) -> None:
    (tmp_path / "needs.py").write_text(NEEDS)
    (tmp_path / "here.txt").touch()
    command = f"{shlex.quote(sys.executable)} needs.py"
    given = ("--env", f"KEY={TOKEN}", "--cwd", str(tmp_path))
    done = check("server", "--stdio", command, *given, *FEW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert TOKEN not in done.stdout + done.stderr
    assert "no key" in check("server", "--stdio", command, "--cwd", str(tmp_path)).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("python x.py", "--header", "A: b"), "--header is for a server over HTTP"),
        (("python x.py", "--wait", "5"), "--wait is for a server over HTTP"),
        (("http://127.0.0.1:1/mcp", "--env", "A=b"), "--env, --cwd and --log are for a command"),
        (("http://127.0.0.1:1/mcp", "--header", f"Bearer {TOKEN}"), "write the name, a colon and the value"),
        (("http://127.0.0.1:1/mcp", "--header", f"A b: {TOKEN}"), "write the name, a colon and the value"),
        (("http://127.0.0.1:1/mcp", "--header", f"Authorization: {TOKEN}é"), "of `Authorization` has characters"),
        (("python x.py", "--env", TOKEN), "write the name, an equals sign and the value"),
        (("python x.py", "--cwd", "/no/such/folder"), "does not exist"),
    ],
)
def test_what_is_written_otherwise_is_refused_without_its_value(arguments: tuple[str, ...], says: str) -> None:
    done = check("server", *arguments)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert TOKEN not in done.stderr


def test_what_a_command_writes_to_its_log_is_kept_in_a_file(tmp_path: Path) -> None:
    """The report names the `error_id` of a failure; the log that it refers to has to be there."""
    path, log = tmp_path / "server.py", tmp_path / "server.log"
    path.write_text(BREAKS)
    log.write_text("of another run")
    done = check("server", str(path), "--log", str(log), *FEW)
    said = " ".join(done.stdout.split())
    assert "; `--log` keeps that of a command." in said
    error_id = said.partition("`error_id`, such as `")[2].partition("`")[0]
    assert error_id in log.read_text()
    assert "KeyError: 'the reason'" in log.read_text()
    assert "of another run" not in log.read_text()
    done = check("server", str(path), "--log", str(tmp_path / "none" / "server.log"))
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


def test_see_takes_the_token_that_it_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "server.py"
    path.write_text(LOCKED)
    with served(str(path)) as url:
        done = command_line("see", url)
        assert (done.returncode, "--header 'Authorization: Bearer …'" in done.stderr) == (3, True)
        done = command_line("see", url, "--header", f"Authorization: Bearer {TOKEN}")
        assert done.returncode == 0, done.stderr
        assert TOKEN not in done.stdout + done.stderr


def test_a_check_waits_for_the_port_of_a_server_that_is_starting() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))  # the port refuses connections until `listen`
        opening = threading.Timer(0.5, server.listen)
        opening.start()
        peer = HttpPeer(f"http://127.0.0.1:{server.getsockname()[1]}/mcp")
        assert Access(wait=60).of([peer]) == [peer]
        assert opening.finished.is_set()


def test_a_server_that_does_not_start_is_told_as_always() -> None:
    done = check("server", "http://127.0.0.1:1/mcp", "--wait", "0.3")
    assert (done.returncode, done.stdout) == (3, "")
    assert "Waiting for port 1 of 127.0.0.1" in done.stderr
    assert "http://127.0.0.1:1/mcp" in done.stderr
