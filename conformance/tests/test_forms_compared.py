"""What two forms of an answer show of a tool that answers equal calls equally."""

from __future__ import annotations

from typing import Any

import pytest

from xmcp_conformance.profiles.server.catalogue import ListedTool
from xmcp_conformance.profiles.server.checks.forms_compared import Told, judged, told
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall
from xmcp_conformance.reader import Document, Reading

TOOL = ListedTool("echo", {"type": "object"}, {}, read_only=True)
SENT = {"text": "a\\b"}


def broken(*answers: tuple[bool, dict[str, Any], str], steady: int = 2, intent: Intent = Intent.VALID) -> set[str]:
    """Return what is broken by answers: each to a client that declared or not, of a call, with a text."""
    kept: list[Told] = []
    others = [(declared, {"n": number}, "same") for number in range(steady) for declared in (True, False)]
    for declared, arguments, text in (*others, *others, *answers):
        content = (
            f"<tool_response tool_name='echo'><llm_output>{text}</llm_output></tool_response>" if declared else text
        )
        exchange = Exchange(
            ToolCall(TOOL, "echo", arguments, intent),
            result={"content": [{"type": "text", "text": content}]},
            reading=Reading(Document(llm_output=text)),
        )
        kept += told(exchange, "run", declared=declared)
    return {one.requirement for _, observations in judged(kept) for one in observations if not one.ok}


@pytest.mark.parametrize(
    ("document", "plain", "found"),
    [
        ("It says a\\b.", "It says a\\b.", set()),
        ("It says ab.", "It says a\\b.", {"XMCP-RSP-020"}),
        ("It says a\\b.", "It says ab.", {"XMCP-MCP-020"}),
        ("It says ab.", "It says aab.", set()),  # nothing shows which of them was changed
        ("a\\b\ufffd", "a\\b\u0007", set()),
    ],
)
def test_two_forms_of_a_steady_tool_have_one_text(document: str, plain: str, found: set[str]) -> None:
    assert broken((True, SENT, document), (False, SENT, plain)) == found


def test_nothing_follows_from_a_tool_that_varies_or_was_not_asked_twice_or_answers_another_call() -> None:
    two = ((True, SENT, "It says ab."), (False, SENT, "It says a\\b."))
    assert broken(*two, (True, {"n": 0}, "other")) == set()
    assert broken(*two, steady=1) == set()
    assert broken((True, SENT, "It says ab."), (False, {"text": "a\\b", "n": 1}, "It says a\\b.")) == set()
    assert broken(*two, intent=Intent.INVALID) == set()
    shown = {**SENT, "show_user": True}
    assert broken((True, shown, "It says ab."), (False, shown, "It says a\\b.")) == set()


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("a &amp; b", "a &amp; b", set()),
        ("a & b", "a &amp; b", {"XMCP-RSP-020"}),
        ("a &amp; b", "a & b", {"XMCP-RSP-020"}),  # whichever came first
        ("a < b", "a &lt; c", set()),
        ("12 at work", "13 at work", set()),
    ],
)
def test_an_equal_call_whose_text_is_escaped_once_more_is_told(first: str, second: str, found: set[str]) -> None:
    assert broken((True, SENT, first), (True, SENT, second)) == found
    assert broken((False, SENT, first), (False, SENT, second)) == set(), "a plain result has no markup to escape"


@pytest.mark.parametrize("declared", [True, False])
def test_null_is_no_show_user(declared: bool) -> None:
    null, none, no = ({**SENT, **more} for more in ({"show_user": None}, {}, {"show_user": False}))
    for other in (none, no):
        assert broken((declared, other, "x"), (declared, null, "x, and a hint")) == {"XMCP-DSP-024"}
        assert broken((declared, other, "x"), (declared, null, "x")) == set()
    assert broken((not declared, none, "x"), (declared, null, "x, and a hint")) == set()
