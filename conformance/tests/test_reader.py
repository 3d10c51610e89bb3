"""The strict reader: exact on what is right, and one fault, one requirement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp_conformance.markup import tokens
from xmcp_conformance.miniature import Miniature
from xmcp_conformance.reader import read

WELL = '<tool_response tool_name="a"><llm_output>x</llm_output></tool_response>'
TEXT_DISPLAY = '{"type":"text","payload":"x"}'
TEXT = st.text(st.characters(codec="utf-8"))


def failing(content: str) -> str:
    return f"<tool_response tool_name='a'><error code='TIMEOUT'>{content}</error></tool_response>"


def red(document: str) -> list[str]:
    return [observation.requirement for observation in read(document).observations if not observation.ok]


@given(TEXT)
def test_any_text_that_xml_can_carry_is_read_back_exactly(text):
    miniature = Miniature()
    reading = read(miniature.document("t", miniature.llm_output(text)))
    assert reading.faultless
    assert reading.document.llm_output == miniature.legal(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | TEXT, lambda v: st.lists(v) | st.dictionaries(TEXT, v)
    )
)
def test_any_json_is_read_back_exactly(value):
    miniature = Miniature()
    reading = read(miniature.document("t", miniature.display({"type": "json", "payload": [value]})))
    assert reading.faultless
    assert reading.document.display["payload"] == [value]


@given(st.text())
def test_whatever_is_read_nothing_is_raised(text):
    read(text)


@given(st.integers(0, len(WELL)), st.text("<>&\"'/]![CDATA-?xml \r\n\x00;#=", max_size=6))
def test_a_damaged_document_never_raises(position, damage):
    read(WELL[:position] + damage + WELL[position:])


@pytest.mark.parametrize(
    ("document", "requirement"),
    [
        (WELL.replace("x<", "x ]]> y<"), "XMCP-RSP-023"),
        (WELL.replace("x<", "a & b<"), "XMCP-RSP-022"),
        (WELL.replace("x<", "&nbsp;<"), "XMCP-RSP-022"),
        (WELL.replace("x<", "a < b<"), "XMCP-RSP-022"),
        (WELL.replace("x<", "a<br/>b<"), "XMCP-RSP-021"),
        (WELL.replace("x<", "a\rb<"), "XMCP-RSP-024"),
        (WELL.replace("x<", "\x1b[31m<"), "XMCP-RSP-025"),
        (WELL.replace("x<", "&#1;<"), "XMCP-RSP-025"),
        (WELL.replace("x<", "&#xD800;<"), "XMCP-RSP-025"),
        (WELL.replace("x<", "<![CDATA[</display>]]><"), "XMCP-RSP-027"),
        (WELL.replace("x<", "<!--c-->x<"), "XMCP-RSP-003"),
        (WELL.replace("tool_response", "tool-response"), "XMCP-RSP-005"),
        (WELL.replace("<tool_response", '<tool_response xmlns="urn:x"'), "XMCP-RSP-005"),
        (WELL + WELL, "XMCP-RSP-001"),
        (WELL[:-1], "XMCP-RSP-001"),
        (WELL.replace(' tool_name="a"', ""), "XMCP-RSP-007"),
        (WELL.replace('"a"', '""'), "XMCP-RSP-007"),
        (WELL.replace("</llm_output>", "</llm_output><error code='TIMEOUT'>b</error>"), "XMCP-RSP-009"),
        (WELL.replace("</llm_output>", "</llm_output><llm_output/>"), "XMCP-RSP-009"),
        ('<tool_response tool_name="a"/>', "XMCP-RSP-009"),
    ],
)
def test_one_fault_breaks_one_requirement(document, requirement):
    assert red(document) == [requirement]


@pytest.mark.parametrize(
    "document",
    [
        WELL.replace("x<", "<![CDATA[a]]]]><![CDATA[>b]]><"),
        WELL.replace("x<", "&#x78;<"),
        WELL.replace('"a"', "'a'"),
        WELL.replace("><llm", ">\n  <llm"),
        WELL.replace("</llm_output>", "</llm_output><a:b xmlns:a='urn:a'><c/></a:b>"),
        WELL.replace("<tool_response ", "<tool_response xmlns:a='urn:a' a:b='c' "),
        WELL.replace("x<", "<![CDATA[&#1; &nbsp;]]><"),
        WELL.replace("x<", "<![CDATA[<error-message/><meta:x/><display.x>]]><"),
        WELL.replace("</llm_output>", "</llm_output><display><![CDATA[" + TEXT_DISPLAY + "]]></display>"),
        WELL.replace("</llm_output>", "</llm_output><display>" + TEXT_DISPLAY.replace('"', "&quot;") + "</display>"),
        WELL.replace("</llm_output>", "</llm_output><a:b xmlns:a='urn:a'><display>no JSON<c/></display></a:b>"),
        WELL.replace("</llm_output>", "</llm_output><b xmlns='urn:a'><llm_output><c/></llm_output></b>"),
        failing("\r\n  m\r\n  <meta>{}</meta>\r\n"),
    ],
)
def test_odd_but_valid_documents_pass(document):
    assert red(document) == []


@pytest.mark.parametrize(
    ("document", "requirement"),
    [
        (WELL.replace("x<", "&#" + "1" * 5000 + ";<"), "XMCP-RSP-025"),
        (failing("m").replace("code", f"retryable='true' retry_after_ms='{'1' * 5000}' code"), "XMCP-ERR-004"),
        (WELL.replace("x<", "<!--" * 20_000), "XMCP-RSP-022"),
    ],
)
def test_a_hostile_document_costs_its_sender_the_requirement_and_not_the_suite(document, requirement):
    assert red(document) == [requirement]


def test_only_the_beginning_of_a_long_message_is_searched():
    error = read(failing("at a in " * 1_000_000)).document.error
    assert len(error.spoken) == 20_000


def test_deep_json_in_meta_is_read():
    deep = "[" * 900 + "]" * 900
    assert red(failing('m<meta>{"params": {"a": ' + deep + "}}</meta>")) == []


@pytest.mark.parametrize("opening", ["<!--", "<![CDATA[", "<?x "])
def test_what_never_ends_is_one_piece(opening):
    assert len(list(tokens("<a>" + opening * 1000))) == 2


def test_a_document_is_one_occasion_for_a_sentence_however_often_it_gives_it():
    observations = read(WELL.replace("x<", "&lt;" * 1000 + "<")).observations
    assert len(observations) == len({observation.requirement for observation in observations})


@pytest.mark.parametrize(
    "message",
    [
        'File "report.csv", line 12: a number is missing.',
        "See https://docs.example.org/home/errors for more.",
        "api_key: Field required",
    ],
)
def test_a_message_that_only_resembles_a_leak_is_none(message):
    assert red(failing(message)) == []


def test_a_pointer_to_an_argument_is_no_path():
    assert red(failing('m<meta>{"fields": [{"pointer": "/home/street", "message": "m"}]}</meta>')) == []


@pytest.mark.parametrize(
    ("message", "requirement"),
    [
        ('  File "/app/x.py", line 12, in run', "XMCP-ERR-031"),
        ("thread 'main' (4711) panicked at src/main.rs:2:5", "XMCP-ERR-031"),
        ("#0 /srv/app/index.php(12): run()", "XMCP-ERR-031"),
        ("cannot open /home/app/x", "XMCP-ERR-032"),
        ("Server=db;password=hunter2;", "XMCP-ERR-032"),
    ],
)
def test_a_leak_is_seen(message, requirement):
    assert red(failing(message)) == [requirement]
