"""The strict reader: exact on what is right, and one fault, one requirement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp_conformance.miniature import Miniature
from xmcp_conformance.reader import read

WELL = '<tool_response tool_name="a"><llm_output>x</llm_output></tool_response>'
TEXT = st.text(st.characters(codec="utf-8"))


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
    ],
)
def test_odd_but_valid_documents_pass(document):
    assert red(document) == []
