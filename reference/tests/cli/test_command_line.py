"""The command `xmcp` itself: light help, exit codes, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import click
import pytest

import xmcp.cli
from xmcp.cli import COMMANDS, in_a_line, run
from xmcp.cli.check import COMMANDS as CHECKS
from xmcp_conformance.core.requirements import registry

HEAVY = ("fastmcp", "mcp", "openai", "hypothesis", "rich", "pydantic")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Make a function the command `xmcp play`."""

    def add(function: Callable[[], Any]) -> None:
        module = ModuleType("played")
        module.play = click.command("play")(function)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "played", module)
        monkeypatch.setitem(COMMANDS, "play", xmcp.cli.LazyCommand("played", "Play."))

    return add


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("http://127.0.0.1:3333/mcp", "xmcp check server http://127.0.0.1:3333/mcp"),
        ("http://ann:hunter2@example.org/mcp", "xmcp check server http://example.org/mcp"),
        ("server.py", "xmcp check server server.py"),
        ("sevrer", "'server'?"),
    ],
)
def test_a_server_without_the_command_before_it_is_told_what_to_type(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", word]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith(f"Did you mean{':' if ' ' in meant else ''} {meant}")
    assert "hunter2" not in said


@pytest.mark.parametrize("args", [["--help"], ["--version"]])
def test_help_and_version_import_neither_a_server_nor_an_sdk(args: list[str]) -> None:
    code = (
        "import json, sys\nfrom xmcp.cli import main\n"
        f"try:\n    main({args!r})\n"
        f"finally:\n    print(json.dumps(sorted(set(sys.modules) & set({HEAVY!r}))), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert json.loads(done.stderr) == []
    assert "xmcp" in done.stdout


def test_help_lists_every_command_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for name, command in COMMANDS.items():
        assert f"{name} {command.summary}" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"Usage: xmcp {name}" in capsys.readouterr().out


def test_the_version_names_the_specification(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.endswith(f"specification {registry().version}\n")


@pytest.mark.parametrize("args", [["nope"], ["serve"], ["serve", "x", "--transport", "carrier-pigeon"]])
def test_wrong_use_ends_with_2(args: list[str], failing: Callable[..., tuple[int, str]]) -> None:
    code, line = failing(*args)
    assert code == 2
    assert line.startswith("Error: ")


def test_the_code_a_command_ends_with_is_the_code_of_the_process(command: Callable[..., None]) -> None:
    command(lambda: click.get_current_context().exit(1))
    assert run(["play"]) == 1
    command(lambda: None)
    assert run(["play"]) == 0


def test_a_failure_nobody_foresaw_is_two_lines_and_3(
    command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    def play() -> None:
        raise ExceptionGroup("outer", [ValueError("first\nsecond")])

    command(play)
    assert run(["play"]) == 3
    said = capsys.readouterr().err.splitlines()
    assert said == ["xmcp failed: ValueError: first second", "Run it with XMCP_DEBUG=1 for the traceback."]


def test_the_traceback_is_there_for_who_asks(command: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    def play() -> None:
        raise ValueError("why")

    command(play)
    monkeypatch.setenv("XMCP_DEBUG", "1")
    with pytest.raises(ValueError, match="why"):
        run(["play"])


def test_an_interrupt_ends_without_a_traceback(
    command: Callable[..., None], failing: Callable[..., tuple[int, str]]
) -> None:
    def play() -> None:
        raise KeyboardInterrupt

    command(play)
    assert failing("play") == (130, "interrupted")


@pytest.mark.parametrize("lines", [1, 999])
def test_a_reader_that_leaves_early_is_no_failure_to_talk_about(lines: int) -> None:
    code = (
        "import sys, types, click, xmcp.cli as c\n"
        f"def play():\n    sys.stdin.read()\n    [print('x' * 999) for _ in range({lines})]\n"
        "m = sys.modules['played'] = types.ModuleType('played'); m.play = click.command()(play)\n"
        "c.COMMANDS['play'] = c.LazyCommand('played', '')\n"
        "c.main(['play'])"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen([sys.executable, "-c", code], env=buffered, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_an_exception_without_a_message_is_named() -> None:
    assert in_a_line(TimeoutError()) == "TimeoutError"


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["chekc"], "Did you mean 'check'?"),
        (["check", "servr"], "Did you mean 'server'?"),
        (["check", "server", "--stirct"], "'--strict'"),
        (["see", "x", "--host", "vscod"], "Did you mean 'vscode'?"),
        (["bindings", "--lang", "typscript", "--out", "x"], "Did you mean 'typescript'?"),
        (["bindings", "--lang", "ts", "--out", "x"], "Did you mean 'typescript'?"),
        (["bindings", "--lang", "golang", "--out", "x"], "Did you mean 'go'?"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_one_that_was_meant(
    args: list[str], meant: str, failing: Callable[..., tuple[int, str]]
) -> None:
    code, line = failing(*args)
    assert code == 2
    assert meant in line


@pytest.mark.parametrize(
    ("words", "offered"), [("xmcp che", "check"), ("xmcp serve --tran", "--transport"), ("xmcp check ser", "server")]
)
def test_the_shell_completes_commands_and_options(words: str, offered: str) -> None:
    asked = {"_XMCP_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'xmcp'; from xmcp.cli import main; main()"]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == f"plain,{offered}\n"


@pytest.mark.parametrize("name", CHECKS)
def test_the_help_of_check_says_of_each_command_what_the_command_says_of_itself(name: str) -> None:
    command = getattr(import_module(CHECKS[name].module), name)
    assert command.help.startswith(CHECKS[name].summary)


def test_the_help_of_check_loads_no_sdk() -> None:
    code = f"import sys, xmcp.cli as c\nc.run(['check', '--help'])\nprint([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
