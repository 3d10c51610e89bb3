"""What a command says while it waits for a server, and what it says when it has waited long enough."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from support.clock import Clock

from xmcp.cli import waiting
from xmcp.cli.waiting import Waiting

PYTHON = shlex.quote(sys.executable)
NEVER_LISTS = """
import asyncio
from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware

class Stuck(Middleware):
    async def on_list_tools(self, context, call_next):
        await asyncio.sleep(100)

FastMCP("stuck", middleware=[Stuck()]).run(show_banner=False)
"""


def pipe() -> Console:
    return Console(file=io.StringIO())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.05)


@pytest.mark.usefixtures("impatient")
def test_a_long_wait_is_said_once_with_the_name_of_what_is_waited_for(capfd: pytest.CaptureFixture[str]) -> None:
    with Waiting("xmcp check", pipe()) as wait:
        wait.begin("`server.py` to answer over stdio", 30)
        time.sleep(0.4)
    assert capfd.readouterr() == ("", "xmcp check: waiting for `server.py` to answer over stdio, at most 30 s …\n")


def test_a_short_wait_is_not_worth_a_line(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.3)
    with Waiting("xmcp check", pipe()) as wait:
        wait.begin("`server.py` to answer", 30)
        wait.end()
        wait.begin("`server.py` to answer", 30)
        wait.show("calling")
        wait.begin("`server.py` to answer", 30)
    time.sleep(0.6)
    assert capfd.readouterr() == ("", "")


def test_a_log_has_a_line_of_progress_now_and_then(capfd: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Waiting("xmcp check", pipe(), clock=clock) as wait:
        for seconds in range(0, 70, 5):
            clock.now = float(seconds)
            wait.show(f"{seconds} calls")
    assert capfd.readouterr() == ("", "xmcp check: 30 calls\nxmcp check: 60 calls\n")


@pytest.mark.usefixtures("impatient")
def test_where_standard_output_is_json_nothing_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    with Waiting("xmcp check", pipe(), quiet=True) as wait:
        wait.begin("`server.py` to answer", 30)
        time.sleep(0.4)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_has_it_in_its_status_line() -> None:
    terminal = io.StringIO()
    with Waiting("xmcp see", Console(file=terminal, force_terminal=True, width=100)) as wait:
        wait.begin("`server.py` to answer over stdio", 30)
        time.sleep(0.3)
    assert "waiting for `server.py` to answer over stdio, at most 30 s" in terminal.getvalue()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "xmcp", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, env={**os.environ})


@pytest.mark.slow
@pytest.mark.parametrize("command", [["check", "server", "--stdio"], ["see"]])
def test_a_server_that_never_lists_its_tools_is_waited_for_with_a_limit(command: list[str], tmp_path: Path) -> None:
    server = tmp_path / "stuck.py"
    server.write_text(NEVER_LISTS)
    done = run(*command, f"{PYTHON} {server}", "--connect-timeout", "5")
    assert done.returncode == 3, (done.stdout, done.stderr)
    line, sentence = done.stderr.splitlines()
    assert f"waiting for `{sys.executable} {server}` to answer over stdio, at most 5 s" in line
    assert f"The server `{sys.executable} {server}` answers, but did not list its tools within 5 s." in sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("check", "server", "--stdio", "sleep 60"), "The server `sleep 60` did not answer within 0.5 s. "),
        (("check", "server", "--sample"), "It is an option of `xmcp check server --sample`."),
        (("demo",), "did not start within 0.5 s. On a busy machine, allow it longer with --connect-timeout 120."),
    ],
)
def test_the_advice_after_a_time_limit_is_an_option_that_exists(arguments: tuple[str, ...], advice: str) -> None:
    done = run(*arguments, "--connect-timeout", "0.5")
    assert done.returncode in (1, 3), (done.stdout, done.stderr)
    assert advice in done.stderr
    assert "--connect-timeout " in done.stderr
    assert "--connect-timeout" in run(*arguments[: 2 if arguments[0] == "check" else 1], "--help").stdout
