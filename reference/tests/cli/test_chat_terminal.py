"""`xmcp chat` in a terminal: a person types, a model behind HTTP answers, and the screen shows what it should."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.http_host import in_thread
from support.scripted_model import ChatServer, Replies, Reply
from support.shop_server import SHOP
from support.terminal import Terminal

pytestmark = pytest.mark.slow

SECRET = "sk-test-0123456789abcdef"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(SHOP, encoding="utf-8")
    return path


def said(request: dict[str, Any]) -> Reply:
    """Answer as the last message asks: `call TOOL ARGUMENTS`, `wait`, or a text that is said again."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return Replies.streamed("So it is.")
    words = last["content"].split(" ", 2)
    if words[0] == "call":
        return Replies.streamed(calls=[(f"c{len(request['messages'])}", words[1], words[2])])
    if words[0] == "wait":
        begun = Replies.delta(role="assistant", content="I begin to think")
        return Reply([begun, *[Replies.delta(content=f" {number}") for number in range(3)], asyncio.Event()])
    return Replies.streamed(f"**You said** `{last['content']}`.\n\n- one\n- two")


@pytest.fixture
def model() -> Iterator[ChatServer]:
    server = ChatServer()
    server.replies = said
    with in_thread(server.serve) as url:
        server.url = f"{url}/v1"
        yield server


@pytest.fixture
def chatting(model: ChatServer, shop: Path) -> Callable[..., Terminal]:
    """Start `xmcp chat` in a terminal, with the shop and the model."""

    def start(*options: str, environment: dict[str, str] | None = None, **terminal: Any) -> Terminal:
        command = [sys.executable, "-m", "xmcp", "chat", str(shop), "--base-url", model.url, "--model", "m-1"]
        return Terminal([*command, *options], {"OPENAI_API_KEY": SECRET, **(environment or {})}, **terminal)

    return start


def test_an_answer_comes_as_markdown_and_what_was_used_stands_below_it(chatting: Callable[..., Terminal]) -> None:
    with chatting() as terminal:
        assert "m-1 (openai) · 2 tools of shop" in terminal.wait_for("Ctrl-D leaves")
        terminal.type("hello there\r")
        shown = terminal.wait_for(r"1 request · ")
        assert "● You said hello there.\n   • one\n   • two\n  10 tokens in (2 cached), 5 out · 1 request" in shown
        terminal.type("/us\t\r")
        terminal.wait_for(r"> /usage\n  10 tokens in.*\n>$")
        terminal.type("\x04")
        assert terminal.end() == 0
        assert SECRET not in terminal.written
        assert "log of the server" not in terminal.written


def test_the_tools_of_the_servers_are_listed_without_the_clients_own(chatting: Callable[..., Terminal]) -> None:
    with chatting() as terminal:
        terminal.wait_for("Ctrl-D leaves")
        terminal.type("/tools\r")
        terminal.wait_for(
            r"\n  shop: 2 tools\n  delete_order  Delete an order\.\n  sales         Sales by region\.\s+>$"
        )


def test_a_call_that_may_change_something_is_made_when_the_person_says_so(
    chatting: Callable[..., Terminal], model: ChatServer
) -> None:
    with chatting() as terminal:
        terminal.wait_for("Ctrl-D leaves")
        terminal.type('call delete_order {"number": 7}\r')
        shown = terminal.wait_for("why not:")
        assert "? delete_order of shop may change something. Call it?\n    number = 7" in shown
        terminal.type("not that one\r")
        shown = terminal.wait_for("requests · ")
        assert "✗ delete_order(number=7)" in shown
        assert "The person said: not that one" in model.requests[1]["messages"][-1]["content"]
        terminal.type('call delete_order {"number": 8}\r')
        terminal.wait_for(r"number = 8\n.*why not:$")
        terminal.type("a\r")
        terminal.wait_for("✓ delete_order\\(number=8\\)")
        terminal.wait_for("(?s)requests · .*requests · ")
        terminal.type('call delete_order {"number": 9}\r')
        terminal.wait_for("✓ delete_order\\(number=9\\)")
        assert "number = 9" not in terminal.wait_for("order 9 is gone")


def test_ctrl_c_stops_an_answer_and_twice_leaves(chatting: Callable[..., Terminal], model: ChatServer) -> None:
    with chatting() as terminal:
        terminal.wait_for("Ctrl-D leaves")
        terminal.type("wait for it\r")
        terminal.wait_for("I begin to think 0 1 2")
        terminal.type("unseen")  # typed while the answer comes: not in the middle of it
        terminal.type("\x03")
        terminal.wait_for("! stopped")
        assert "unseen" not in terminal.written
        terminal.wait_for(r"\n>$")
        terminal.type("\x15go on\r")
        terminal.wait_for("● You said go on.")
        kept = [message["content"] for message in model.requests[1]["messages"]]
        assert kept == ["wait for it", "I begin to think 0 1 2", "go on"]
        terminal.wait_for(r"1 request · .*\n>$")
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C again leaves; so do Ctrl-D and /quit.\n>$")
        terminal.type("\x03")
        assert terminal.end() == 130


def test_ctrl_c_stops_a_command_that_waits(chatting: Callable[..., Terminal], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with chatting() as terminal:
        terminal.wait_for("Ctrl-D leaves")
        terminal.type(f"/load {tmp_path / 'fifo'}\r")
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C again leaves; so do Ctrl-D and /quit.\n>$")
        terminal.type("hello\r")
        terminal.wait_for("You said hello")


def test_a_single_answer_that_is_stopped_ends_the_command(chatting: Callable[..., Terminal]) -> None:
    with chatting("--once", "wait for it") as terminal:
        terminal.wait_for("I begin to think 0 1 2")
        terminal.type("\x03")
        assert terminal.end() == 130
        assert "again leaves" not in terminal.text
        assert "! stopped" in terminal.text


def test_a_conversation_is_saved_and_gone_on_with(
    chatting: Callable[..., Terminal], model: ChatServer, tmp_path: Path
) -> None:
    saved = tmp_path / "talk.json"
    with chatting("--system", "Be brief.") as terminal:
        terminal.wait_for("Ctrl-D leaves")
        terminal.type("my name is Ann\r")
        terminal.wait_for("1 request · ")
        terminal.type(f"/save {saved}\r")
        terminal.wait_for("Saved in")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert saved.stat().st_mode & 0o077 == 0
    with chatting("--resume", str(saved)) as terminal:
        assert "Going on after 1 question." in terminal.wait_for("The last one: my name is Ann")
        terminal.type("and now\r")
        terminal.wait_for("You said and now.")
    roles = [(message["role"], message["content"]) for message in model.requests[-1]["messages"]]
    assert roles[0] == ("system", "Be brief.")
    assert [role for role, _ in roles] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("encoding", "environment"), [("utf-8", {"NO_COLOR": "1"}), ("cp1252", {}), ("ascii", {"NO_COLOR": "1"})]
)
def test_a_display_can_be_read_without_colours_and_in_a_narrow_encoding(
    chatting: Callable[..., Terminal], encoding: str, environment: dict[str, str]
) -> None:
    with chatting(environment=environment, encoding=encoding) as terminal:
        terminal.wait_for("Ctrl-D leaves")
        terminal.type('call sales {"show_user": true}\r')
        shown = terminal.wait_for("1 request ")
        assert "shown by sales of shop" in shown
        assert re.search(r"EMEA[ |]+42", shown)
        assert "?" not in shown.replace("? ", "")
        assert "\ufffd" not in shown
        title = {"utf-8": "Sales – EMEA", "cp1252": "Sales – EMEA", "ascii": "Sales - EMEA"}[encoding]
        assert title in shown
        if environment:
            assert re.search(r"\x1b\[[\d;]*3[0-7]", terminal.written) is None


def test_the_clients_question_is_asked_and_answered(chatting: Callable[..., Terminal], model: ChatServer) -> None:
    with chatting() as terminal:
        terminal.wait_for("Ctrl-D leaves")
        terminal.type('call __clarify__ {"question": "Which region?"}\r')
        terminal.wait_for(r"\? Which region\?")
        terminal.wait_for(r"1 request · .*\n>$")
        terminal.type("EMEA\r")
        terminal.wait_for("You said EMEA.")
    assert json.loads(json.dumps(model.requests[-1]["messages"][-1])) == {"role": "user", "content": "EMEA"}
