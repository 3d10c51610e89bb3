"""`xmcp chat` in scripts: one question, the answer on standard output, all else on standard error, exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.http_host import in_thread
from support.scripted_model import ChatServer, Replies, Reply
from support.shop_server import SHOP

from xmcp.cli import run
from xmcp.cli.chat.model_choice import NAMES, VENDORS, NoModel, model_of, vendor_named
from xmcp.client import Conversation

SECRET = "sk-test-0123456789abcdef"
KEYS = sorted({key for vendor in VENDORS.values() for key in vendor.keys} | {"OPENAI_BASE_URL", "OLLAMA_HOST"})

Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def model() -> Iterator[ChatServer]:
    server = ChatServer()
    with in_thread(server.serve) as url:
        server.url = f"{url}/v1"
        yield server


@pytest.fixture
def ask(model: ChatServer, workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run `xmcp chat shop.py` with these options and this on standard input: its exit code, stdout and stderr."""
    (workplace / "shop.py").write_text(SHOP, encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)

    def asked(*options: str, given: str | None = None, servers: tuple[str, ...] = ("shop.py",)) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(given or ""))
        with pytest.raises(SystemExit) as ended:
            run(["chat", *servers, "--base-url", model.url, *options])
        out, err = capsys.readouterr()
        assert SECRET not in out + err
        return int(str(ended.value.code)), out, err.replace(WAITING, "")

    return asked


WAITING = "xmcp chat: waiting for the server to answer, at most 30 s …\n"


@pytest.mark.slow
def test_the_answer_alone_is_on_standard_output(ask: Ask, model: ChatServer) -> None:
    model.replies = [
        Replies.streamed("Let me see.", calls=[("c1", "sales", "{}")]),
        Replies.streamed("It is **42**.\x1b[31m"),
    ]
    assert ask("--once", "How much?", "--system", "Be brief.") == (0, "It is **42**.␛[31m\n", "")
    sent = model.requests[0]["messages"]
    assert [(message["role"], message["content"]) for message in sent] == [
        ("system", "Be brief."),
        ("user", "How much?"),
    ]
    assert model.headers[0]["authorization"] == f"Bearer {SECRET}"


@pytest.mark.slow
def test_a_question_can_come_from_standard_input_and_a_display_is_text(ask: Ask, model: ChatServer) -> None:
    model.replies = [Replies.streamed(calls=[("c1", "sales", '{"show_user": true}')])]
    code, out, err = ask(given="Show it.\n")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "Sales – EMEA"
    assert "EMEA        42" in out
    assert model.requests[0]["messages"][-1]["content"] == "Show it.\n"


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [True, False])
def test_what_may_change_something_needs_an_option(ask: Ask, model: ChatServer, allowed: bool) -> None:
    model.replies = [
        Replies.streamed(calls=[("c1", "delete_order", '{"number": 7}')]),
        Replies.streamed("So it is."),
    ]
    code, out, err = ask("--once", "Delete order 7.", *(["--allow-writes"] if allowed else []))
    assert (code, out) == (0, "So it is.\n")
    result = model.requests[1]["messages"][-1]["content"]
    assert ("order 7 is gone" in result) is allowed
    assert ("Nobody is there to approve this call." in result) is not allowed
    assert ("delete_order may change something, and was not called: --allow-writes" in err) is not allowed


@pytest.mark.slow
def test_an_answer_that_is_none_ends_with_1_and_a_reason(ask: Ask, model: ChatServer) -> None:
    model.replies = lambda _: Reply(
        [json.dumps({"error": {"message": f"Wrong key {SECRET}", "code": "invalid_api_key"}}).encode()],
        401,
        "application/json",
    )
    code, out, err = ask("--once", "Hello?")
    assert (code, out) == (1, "")
    assert err.startswith("xmcp chat: The AI model refuses access")
    model.replies = [Replies.streamed("cut he", finish="length")]
    assert ask("--once", "Hello?") == (
        1,
        "cut he\n",
        "xmcp chat: The model reached its output limit: the answer is cut.\n",
    )


@pytest.mark.slow
def test_instructions_are_also_given_to_a_conversation_that_goes_on(
    ask: Ask, model: ChatServer, workplace: Path
) -> None:
    nobody: Any = None
    history: Any = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    before = Conversation(nobody, system="Be brief.", history=history)
    (workplace / "talk.json").write_text(json.dumps(before.snapshot()), encoding="utf-8")
    model.replies = [Replies.streamed("Hello.")]
    assert ask("--once", "c", "--resume", "talk.json", "--system", "Be long.") == (0, "Hello.\n", "")
    sent = [message["content"] for message in model.requests[0]["messages"]]
    assert sent == ["Be long.", "a", "b", "c"]


@pytest.mark.slow
def test_logs_go_into_a_file_or_nowhere(ask: Ask, model: ChatServer, workplace: Path) -> None:
    model.replies = [Replies.streamed("Hello.")]
    assert ask("--once", "Hello?", "--log", "chat.log") == (0, "Hello.\n", "")
    assert "a line in the log of the server" in (workplace / "chat.log").read_text(encoding="utf-8")


@pytest.mark.slow
def test_no_server_that_can_be_reached_ends_with_3(ask: Ask) -> None:
    code, out, err = ask("--once", "Hello?", servers=("no-such-program --token=hunter2", "http://127.0.0.1:9/mcp"))
    assert (code, out) == (3, "")
    assert "no-such-program" in err
    assert "http://127.0.0.1:9/mcp" in err
    assert "hunter2" not in err


@pytest.mark.slow
def test_servers_of_a_file_have_their_names_before_their_tools(ask: Ask, model: ChatServer, workplace: Path) -> None:
    model.replies = [Replies.streamed("Hello.")]
    entry = {"command": sys.executable, "args": ["-m", "xmcp", "serve", "${FILE:-shop.py}", "--transport", "stdio"]}
    (workplace / "mcp.json").write_text(json.dumps({"mcpServers": {"mine": entry}}), encoding="utf-8")
    assert ask("--once", "Hello?", "--config", "mcp.json", servers=())[:2] == (0, "Hello.\n")
    names = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
    assert names == {"mine__delete_order", "mine__sales"}


# ---- what is refused ----


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--provider", "demo", "--once", " "], "The question is empty."),
        (["--provider", "demo", "--once", "x", "--base-url", "http://a"], "--base-url is the address of a model"),
        (["--provider", "anthropic", "--once", "x"], "needs a key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"),
        (["shop.py", "--once", "x"], "OPENAI_API_KEY"),
        (["shop.py", "--once", "x"], "--provider demo"),
        (["--provider", "local", "--once", "x"], "Name a server: a URL"),
        (["--provider", "local", "--config", "empty.json", "--once", "x"], "the file has no server; it turns 1 off"),
        (["--provider", "local", "--config", "bad.json", "--once", "x"], "bad.json, line 1, column 2"),
        (["--provider", "local", "--config", "empty.json", "shop.py", "--once", "x"], "either in --config or on"),
        (["--provider", "local", "--config", "empty.json", "--env", "A=b", "--once", "x"], "on the command line, not"),
        (["--provider", "local", "shop.py", "--resume", "none.json", "--once", "x"], "does not exist"),
        (["--provider", "local", "shop.py", "--connect-timeout", "nan", "--once", "x"], "is no number"),
    ],
)
def test_wrong_use_is_said_before_anything_is_started(
    options: list[str], words: str, workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    (workplace / "shop.py").write_text("raise SystemExit('it was started')", encoding="utf-8")
    (workplace / "empty.json").write_text('{"mcpServers": {"a": {"command": "x", "disabled": true}}}', encoding="utf-8")
    (workplace / "bad.json").write_text("{]", encoding="utf-8")
    assert run(["chat", *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "words"), [(None, "The question is empty"), (b"caf\xe9", "I am a script")], ids=["closed", "not UTF-8"]
)
def test_any_input_is_a_question_or_said_to_be_none(given: bytes | None, words: str) -> None:
    command = [sys.executable, "-m", "xmcp", "chat", "--provider", "demo"]
    if given is None:
        command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    variables = {**os.environ, "PYTHONIOENCODING": "utf-8:strict", "FORCE_COLOR": "1"}
    done = subprocess.run(command, input=given, capture_output=True, env=variables, timeout=300)
    assert done.returncode == (2 if given is None else 0), done.stderr
    assert words in (done.stdout + done.stderr).decode()
    assert b"\x1b" not in done.stdout, "FORCE_COLOR makes no terminal of a file"


# ---- whose model is asked ----


@pytest.mark.parametrize(
    ("environment", "vendor"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic"),
        ({"GEMINI_API_KEY": "k", "MISTRAL_API_KEY": "k"}, "gemini"),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai"),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": " "}, "anthropic"),
        ({"OPENAI_BASE_URL": "http://localhost:8000/v1"}, "openai"),
        ({"OLLAMA_HOST": "0.0.0.0"}, "local"),
    ],
)
def test_the_vendor_whose_key_is_there_is_asked(environment: dict[str, str], vendor: str) -> None:
    assert vendor_named(None, None, environment) == vendor


def test_a_name_or_an_address_says_who_is_asked() -> None:
    assert vendor_named("mistral", None, {"OPENAI_API_KEY": "k"}) == "mistral"
    assert vendor_named(None, "http://localhost:8000/v1", {"ANTHROPIC_API_KEY": "k"}) == "openai"


@pytest.mark.parametrize("name", NAMES)
def test_every_vendor_can_be_asked_with_its_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in VENDORS and VENDORS[name].keys:
        with pytest.raises(NoModel, match=VENDORS[name].keys[0]):
            model_of(name, None, None)
        monkeypatch.setenv(VENDORS[name].keys[0], SECRET)
    provider: Any = model_of(name, "some-model", None)
    assert callable(provider.stream)
    assert name == "demo" or provider.model == "some-model"


def test_a_vendor_whose_sdk_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", SECRET)
    monkeypatch.setattr("xmcp.cli.chat.model_choice.find_spec", lambda _: None)
    with pytest.raises(NoModel, match=r"pip install 'xmcp\[mistral\]'"):
        model_of("mistral", None, None)


@pytest.mark.slow
def test_the_help_loads_neither_a_client_nor_an_sdk() -> None:
    code = (
        "import sys\nfrom xmcp.cli import run\nassert run(['chat', '--help']) == 0\n"
        "print(sorted({'fastmcp', 'mcp', 'openai', 'xmcp.client.ai_client'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stderr == "[]\n"
