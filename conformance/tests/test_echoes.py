"""What becomes of texts that a tool repeats: only two answers that differ show a fault."""

from __future__ import annotations

import unicodedata

import pytest

from xmcp_conformance.profiles.server.catalogue import ListedTool
from xmcp_conformance.profiles.server.checks.echoes import echoes, judged
from xmcp_conformance.profiles.server.exchange import Exchange, ToolCall
from xmcp_conformance.profiles.server.hostile_texts import HOSTILE
from xmcp_conformance.profiles.server.text_changes import change_of
from xmcp_conformance.reader import read

TOOL = ListedTool("echo", {"type": "object"}, {}, read_only=True)
LONG = "an end\r\nof <buffers> " * 400


def answered(trap: str, text: str, *, attributes: str = "", arguments: object = "same") -> Exchange:
    written = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    document = f'<tool_response tool_name="echo"><llm_output{attributes}>{written}</llm_output></tool_response>'
    call = ToolCall(TOOL, "echo", {"text": trap, "of": arguments}, traps=(trap,))
    result = {"content": [{"type": "text", "text": document}]}
    return Exchange(call, result=result, reading=read(document))


def broken(*exchanges: Exchange) -> set[str]:
    kept = [echo for exchange in exchanges for echo in echoes(exchange, "run")]
    return {one.requirement for _, observations in judged(kept) for one in observations if not one.ok}


@pytest.mark.parametrize(
    ("changed", "requirement"),
    [
        ("a &amp; b\r\n", "XMCP-RSP-020"),
        ("a & b\n", "XMCP-RSP-024"),
        ("a & b", "XMCP-RSP-020"),
    ],
)
def test_a_text_that_is_changed_in_one_of_two_answers_breaks_a_sentence(changed, requirement):
    trap = "a & b\r\n"
    whole = answered(trap, f"It says {trap}.")
    assert broken(whole, answered(trap, f"It says {changed}.")) == {requirement}
    assert broken(whole, whole) == set()


def test_a_tool_that_always_changes_a_text_is_not_blamed():
    trap = "a & b\r\n"
    assert broken(*[answered(trap, "It says a &amp; b.")] * 2) == set()


def test_answers_to_different_arguments_are_not_compared():
    trap = "a & b\r\n"
    assert broken(answered(trap, trap, arguments=1), answered(trap, "a &amp; b", arguments=2)) == set()


def test_a_text_that_is_cut_has_to_say_so():
    whole = answered(LONG, LONG)
    assert broken(whole, answered(LONG, LONG[:4_096])) == {"XMCP-RSP-082"}
    assert broken(whole, answered(LONG, LONG[:4_096], attributes=' truncated="true"')) == set()
    assert broken(whole, answered(LONG, LONG[:4_096], attributes=' truncated="false"')) == {"XMCP-RSP-082"}


@pytest.mark.parametrize("says", ["a?b", "a\ufffdb", "ab"])
def test_what_stands_for_a_code_point_that_xml_cannot_carry_is_not_judged_here(says):
    trap = "a\uffffb"
    assert broken(answered(trap, "a\ufffdb"), answered(trap, says)) == set()


def test_question_marks_for_characters_that_a_document_can_carry_are_a_change():
    assert change_of("naïve 😀", "na?ve ?") == "with question marks for characters"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_another_normal_form_is_a_change(form):
    trap = HOSTILE["unicode"]
    assert broken(answered(trap, trap), answered(trap, unicodedata.normalize(form, trap))) == {"XMCP-RSP-020"}


def test_a_reference_of_the_text_that_is_resolved_was_not_escaped():
    trap = "a &amp; b"
    assert broken(answered(trap, trap), answered(trap, "a & b")) == {"XMCP-RSP-022"}


REFERENCES = "an &amp; and &lt; " * 400


def test_a_tool_that_changes_short_texts_in_the_same_way_is_not_blamed_for_long_ones():
    short, trap = "xmcp[a &amp; b]xmcp", f"xmcp[{REFERENCES}]xmcp"
    other = answered("xmcp[&lt;]xmcp", "xmcp[<]xmcp")  # of another place of this tool, with an equal mark
    resolved = answered(trap, trap.replace("&amp;", "&").replace("&lt;", "<"))
    assert broken(answered(short, short), other, resolved) == set()


@pytest.mark.parametrize(
    ("short", "place", "requirement"),
    [
        ("xmcp[a &amp; b]xmcp", "", {"XMCP-RSP-022"}),
        ("xmcp[a b]xmcp", "", set()),  # has nothing that the change would show
        ("xmcp[a &amp; b]xmcp", "2", set()),  # another argument
    ],
)
def test_long_texts_alone_are_not_changed_by_the_business_of_a_tool(short, place, requirement):
    trap = f"xmcp{place}[{REFERENCES}]xmcp"
    resolved = answered(trap, trap.replace("&amp;", "&").replace("&lt;", "<"))
    assert broken(resolved, resolved) == set()
    assert broken(answered(short, short), resolved) == requirement


def test_a_text_that_one_answer_marks_as_cut_is_cut_in_every_other_that_has_it():
    marked, silent = (answered(LONG, LONG[:4_096], attributes=mark) for mark in (' truncated="true"', ""))
    assert broken(marked, silent) == {"XMCP-RSP-082"}
    assert broken(silent, silent) == broken(marked, marked) == set()
    other = answered(LONG, LONG[:4_096], arguments="other")
    assert broken(marked, other) == {"XMCP-RSP-082"}
    assert broken(marked, answered("short", LONG[:4_096], arguments="other")) == set()
