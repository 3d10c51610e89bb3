"""The parts of a chat that need no terminal: commands, approvals, files, and the script that stands in for a model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xmcp.cli.chat.approvals import LONGEST, MOST_ARGUMENTS, Approvals, arguments, asked
from xmcp.cli.chat.commands import COMMANDS, NoSuchCommand, command_in, completions
from xmcp.cli.chat.demo_model import answer
from xmcp.cli.chat.saved import NotSaved, read_snapshot, write_snapshot
from xmcp.cli.chat.session import Session, instructed
from xmcp.client import Conversation
from xmcp.providers import Turn

SNAPSHOT = {"format": "xmcp-conversation", "version": 1, "history": []}


def call(name: str = "delete", read_only: bool = False, **given: Any) -> Any:
    return SimpleNamespace(tool_name=name, server="shop", read_only=read_only, arguments=given)


# ---- approvals ----


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ("y", True),
        (" YES ", True),
        ("a", True),
        ("n", False),
        ("", False),
        ("yy", "The person said: yy"),
        ("not this one", "The person said: not this one"),
    ],
)
def test_only_a_clear_yes_is_one(said: str, decision: bool | str) -> None:
    assert Approvals().take(call(), said) == decision


def test_always_holds_for_one_tool() -> None:
    approvals = Approvals()
    assert approvals.needed(call("delete"))
    approvals.take(call("delete"), "always")
    assert not approvals.needed(call("delete"))
    assert approvals.needed(call("buy"))
    assert not approvals.needed(call("buy", read_only=True))
    assert not Approvals(everything=True).needed(call("buy"))


def test_what_is_asked_has_every_argument_with_nothing_hidden() -> None:
    lines = asked(call("pay", to="bank\u202e\x1b[8m", amount=5, note="x" * (LONGEST + 100)))
    assert lines[0] == "pay of shop may change something. Call it?"
    assert lines[1] == '  to = "bank<U+202E>\\u001b[8m"'
    assert lines[2] == "  amount = 5"
    assert lines[3].endswith("… and 102 more characters")
    assert arguments({}) == ["  (without arguments)"]


def test_what_shows_nothing_is_spelled_out_in_an_argument() -> None:
    assert arguments({"t\u200do": "ad\u200dmin\ufe0f\u2028\u3164\U000e0041 日 é"}) == [
        '  t<U+200D>o = "ad<U+200D>min<U+FE0F><U+2028><U+3164><U+E0041> 日 é"'
    ]


def test_the_question_is_not_lost_among_very_many_arguments() -> None:
    lines = arguments({f"a{number}": number for number in range(100_000)})
    assert len(lines) == MOST_ARGUMENTS + 1
    assert lines[-1] == f"  … and {100_000 - MOST_ARGUMENTS:,} more arguments"


# ---- commands ----


def test_a_command_and_what_it_is_given() -> None:
    assert command_in("/save  a file.json ") == ("/save", "a file.json")
    assert command_in("/EXIT") == ("/quit", "")


@pytest.mark.parametrize("line", ["hello /help", "/etc/hosts is a file", "/ what", "1/2"])
def test_other_lines_are_for_the_model(line: str) -> None:
    assert command_in(line) is None


def test_an_unknown_command_says_which_one_may_be_meant() -> None:
    with pytest.raises(NoSuchCommand, match=r"no command /modle\. Did you mean '/model'\?"):
        command_in("/modle x")


def test_every_command_does_something() -> None:
    nobody: Any = None
    session = Session(nobody, nobody, nobody, nobody, nobody, nobody, model="m", vendor="v")
    assert session._actions.keys() == COMMANDS.keys()


def test_completions() -> None:
    assert completions("/s") == ["/system", "/save"]
    assert completions("s") == []


# ---- files ----


def test_a_saved_conversation_is_read_again_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    for text in ("a", "b"):
        write_snapshot(path, {**SNAPSHOT, "metadata": {"text": text}})
    assert '"b"' in read_snapshot(path)
    assert path.stat().st_mode & 0o077 == 0
    assert [file.name for file in tmp_path.iterdir()] == ["talk.json"]


@pytest.mark.parametrize("other", ["{}", "text", '{"format": "other"}'])
def test_a_file_of_something_else_is_not_written_over(other: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(other)
    with pytest.raises(NotSaved, match="is not a saved conversation: choose another name"):
        write_snapshot(path, SNAPSHOT)
    assert path.read_text() == other


def test_a_file_that_cannot_be_written_or_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotSaved, match="cannot be written: No such file"):
        write_snapshot(tmp_path / "none" / "talk.json", SNAPSHOT)
    with pytest.raises(NotSaved, match="cannot be read: No such file"):
        read_snapshot(tmp_path / "talk.json")
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(NotSaved, match="it is no text"):
        read_snapshot(tmp_path / "binary")


class Talk:
    """A session with nobody, of a conversation that was saved."""

    def __init__(self, file: Path | None = None) -> None:
        self.said: list[str] = []
        nobody: Any = None
        ai: Any = SimpleNamespace(tools=[])
        screen: Any = SimpleNamespace(say=lambda words, *_: self.said.append(words))
        self.conversation = Conversation(ai, system="Be brief.")
        self.session = Session(nobody, ai, screen, nobody, nobody, self.conversation, model="m", vendor="v", file=file)


@pytest.mark.parametrize("name", ["~no_such_user/talk.json", "talk\0.json", "talk\ud800.json"])
def test_a_name_that_no_file_can_have_is_said(name: str) -> None:
    session = Talk().session
    for command in (session.save, session.load):
        with pytest.raises(NotSaved, match="is no name of a file"):
            command(name)


def test_of_a_file_without_an_end_no_more_is_read_than_a_conversation_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xmcp.cli.chat.saved.LARGEST", 1 << 20)
    with pytest.raises(NotSaved, match="has more than 1 MiB"):
        read_snapshot(Path("/dev/zero"))


def test_a_new_conversation_is_not_written_over_the_old_one(tmp_path: Path) -> None:
    session = Talk(tmp_path / "talk.json").session
    session.save("")
    session.clear("")
    with pytest.raises(NotSaved, match="Name the file"):
        session.save("")


@pytest.mark.parametrize(("text", "history"), [("Be long.", [{"role": "system", "content": "Be long."}]), ("", [])])
def test_instructions_take_the_place_of_those_before(text: str, history: list[dict[str, str]]) -> None:
    talk = Talk()
    ai: Any = SimpleNamespace(tools=[])
    assert instructed(ai, talk.conversation, text).history == history


# ---- the script ----

SALES = {
    "name": "sales",
    "description": "Sum up sales.\nMore.",
    "parameters": {
        "properties": {"region": {"enum": ["EMEA"]}, "months": {"type": "integer"}, "show_user": {"type": "boolean"}},
        "required": ["region"],
    },
}


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("sales", {}),
        ('sales {"region": "EMEA", "months": 3}', {"region": "EMEA", "months": 3}),
        ("sales region=EMEA months=3 note='two words'", {"region": "EMEA", "months": 3, "note": "two words"}),
    ],
)
def test_the_script_calls_the_tool_that_is_named(question: str, given: dict[str, Any]) -> None:
    assert answer(question, {"sales": SALES}) == Turn(calls=[("sales", given)])


@pytest.mark.parametrize("question", ["sales region", 'sales {"region": ', "sales {} x", "sales 'a"])
def test_the_script_says_what_is_wrong_with_arguments(question: str) -> None:
    said = answer(question, {"sales": SALES})
    assert isinstance(said, str)
    assert said.startswith("These are no arguments: ")


def test_the_script_says_what_can_be_asked() -> None:
    said = answer("Hello?", {"sales": SALES})
    assert isinstance(said, str)
    assert "- `sales region=EMEA show_user=true`: Sum up sales." in said
    assert "no tool" in str(answer("Hello?", {}))
