"""`xmcp gateway`: init, check, key, and what it says when it cannot serve."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xmcp.cli import run
from xmcp.gateway.config_file import config_of
from xmcp.gateway.keys import Keys


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from xmcp.cli.chat.model_choice import VENDORS

    for vendor in VENDORS.values():
        for name in vendor.keys:
            monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was written to stderr, as one line."""
    return " ".join(capsys.readouterr().err.split())


def test_init_writes_a_file_that_check_finds_fine_and_keeps_one_that_is_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["gateway", "init"]) == 0
    assert run(["gateway", "check"]) == 0
    assert "gateway.toml is fine: 1 model, 1 server, 0 keys; it listens on 127.0.0.1:8080." in capsys.readouterr().out
    before = Path("gateway.toml").read_text()
    assert run(["gateway", "init"]) == 1
    assert "gateway.toml exists already." in said(capsys)
    assert Path("gateway.toml").read_text() == before


def test_check_says_how_many_processes_there_will_be(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gateway.toml").write_text('[listen]\nworkers = 2\n[[models]]\nid = "a"\nprovider = "demo"')
    assert run(["gateway", "check"]) == 0
    assert "it listens on 127.0.0.1:8080, in 2 processes." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[runs]\nmax_runing = 3", "gateway.toml: there is no [runs] max_runing."),
        ('[[models]]\nid = "a"\nprovider = "opnai"', "The model 'a' has the provider 'opnai'. There are: openai,"),
        ('[[models]]\nid = "a"\nprovider = "openai"', "The model 'a': The provider `openai` needs a key"),
        (
            '[[models]]\nid = "a"\nprovider = "demo"\n[servers.s]\nurl = "x"',
            "servers.s.url is not an http or https address",
        ),
        (
            '[[models]]\nid = "a"\nprovider = "demo"\n[servers.s]\nurl = "${GONE}"',
            "needs the environment variable GONE",
        ),
        ('[[models]]\nid = "a"\nprovider = "demo"\n[[keys]]\nname = "k"\ntenant = "t"\nenv = "GONE"', "variable GONE"),
        (
            '[listen]\nhost = "0.0.0.0"\n[[models]]\nid = "a"\nprovider = "demo"',
            "Without keys the gateway listens only on",
        ),
        (
            '[[models]]\nid = "a"\nprovider = "demo"\n[[keys]]\nname = "k"\ntenant = "t"\nenv = "GONE"\nmodels = ["b"]',
            "no model 'b', which the key 'k' can name: a",
        ),
        ("", "There is no model to talk to."),
        (
            '[listen]\nworkers = 2\n[[models]]\nid = "a"\nprovider = "demo"\n'
            '[[tenants]]\nname = "t"\ntokens_per_day = 1',
            "the tenant 't' has limits of tokens or dollars, and without a database each process",
        ),
    ],
)
def test_check_says_what_is_wrong_and_connects_to_nothing(
    text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gateway.toml").write_text(text)
    assert run(["gateway", "check", "gateway.toml"]) == 1
    assert told in said(capsys)
    assert run(["gateway", "gateway.toml"]) == 1
    assert told.removeprefix("gateway.toml: ") in said(capsys)


def test_a_new_key_is_let_in_by_the_lines_that_are_printed_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    import tomllib

    assert run(["gateway", "key", "page", "--tenant", "acme"]) == 0
    out = capsys.readouterr().out
    key = re.search(r"^xmcp_\S+$", out, re.MULTILINE)
    assert key is not None
    keys = config_of(tomllib.loads(out[out.index("[[keys]]") :]), "x").keys
    caller = Keys(keys, "none", {}).caller(f"Bearer {key[0]}")
    assert caller is not None
    assert (caller.key_name, caller.tenant) == ("page", "acme")
    assert run(["gateway", "key", 'a"b']) == 2


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (["--host", "0.0.0.0", "--provider", "demo"], "Without keys the gateway listens only on this machine", 1),
        (["--provider", "demo", "--server", "gone.py"], "there is no file `gone.py`", 1),
        (["gone.toml"], "gone.toml cannot be read", 1),
        (["--prot", "1"], "No such option", 2),
        (["--provider", "nobody"], "is not one of", 2),
        (["--provider", "demo", "--workers", "65"], "is not in the range 1<=x<=64", 2),
        (["--workers", "2", "--port", "0"], "There is no model to talk to.", 1),
        ([], "There is no model to talk to.", 1),
    ],
)
def test_what_cannot_be_served_is_said_without_a_traceback(
    words: list[str], told: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gateway", *words]) == code
    text = said(capsys)
    assert told in text
    assert "Traceback" not in text


def test_a_port_in_use_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for workers in "12":
            assert run(["gateway", "--provider", "demo", "--port", str(port), "--workers", workers]) == 1
            assert f"Port {port} on 127.0.0.1 is in use." in said(capsys)


@pytest.mark.slow
def test_the_demo_answers_with_the_sample_tools_over_http() -> None:
    import httpx2

    words = [sys.executable, "-m", "xmcp", "gateway", "--provider", "demo", "--port", "0"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ})
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        url = re.search(r"http://\S+?:\d+", line)
        assert url is not None, line
        assert "with demo, demo:plain" in line
        question = {"input": "sales_summary region=EMEA"}
        told: Any = httpx2.post(f"{url[0]}/chat", json=question, timeout=60).json()
        assert [call["tool"] for call in told["tools_used"]] == ["sales_summary"]
        assert told["answer"] == "That is what the tool said."
    finally:
        process.terminate()
        assert process.wait(30) == 0


def test_importing_xmcp_loads_no_gateway_and_no_web_server() -> None:
    code = "import sys, xmcp, xmcp.cli; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "xmcp.cli" in loaded
    assert not {"starlette", "uvicorn"} & loaded
    assert not any(name.startswith("xmcp.gateway") for name in loaded)


def test_help_of_every_command_loads_no_sdk() -> None:
    code = (
        "import sys\nfrom xmcp.cli import run\n"
        "for word in ('serve', 'check', 'init', 'key'):\n    run(['gateway', word, '--help'])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"starlette", "uvicorn", "fastmcp", "openai"} & {*done.stderr.split()}
    assert "Usage: xmcp gateway serve" in done.stdout
