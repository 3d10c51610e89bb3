"""The strict reader: it accepts what is correct, and finds one fault for one requirement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp_conformance.core.leaks import SEARCHED
from xmcp_conformance.reader import read
from xmcp_conformance.reader.xml_tokens import tokens
from xmcp_conformance.wrong.servers.miniature import Miniature

WELL = '<tool_response tool_name="a"><llm_output>x</llm_output></tool_response>'
FILLED = '{"values": {"user_id": "u-7"}, "redacted": ["token"]}'
TEXT_DISPLAY = '{"type":"text","payload":"x"}'
NO_URIS = ("ü", "a b", "%", "&amp;&#9;", "http://[")
TEXT = st.text(st.characters(codec="utf-8"))


def failing(content: str) -> str:
    return f"<tool_response tool_name='a'><error code='TIMEOUT'>{content}</error></tool_response>"


def shown(envelope: str) -> str:
    return WELL.replace("</llm_output>", f"</llm_output><display>{envelope}</display>")


def filled(value: str) -> str:
    return WELL.replace("</llm_output>", f"</llm_output><server_populated>{value}</server_populated>")


def nested(depth: int) -> str:
    """An envelope whose deepest array or object is at that depth."""
    return '{"type":"json","payload":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


def broken_at(document: str) -> tuple[str, tuple[int, int]]:
    observation = next(observation for observation in read(document).observations if not observation.ok)
    return observation.requirement, observation.place


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
        *(
            WELL.replace("<tool_response ", f"<tool_response xmlns:n='{name}' n:a=' xmlns:b=\"\" ' ")
            for name in NO_URIS
        ),
    ],
)
def test_odd_but_valid_documents_pass(document):
    assert red(document) == []


@pytest.mark.parametrize(
    "fault",
    [
        "xmlns:n='%' n:a='1' xmlns:m='%' m:a='1'",
        "xmlns:n='%' n:a='1' xmlns:m='&#37;' m:a='1'",
        "xmlns:n='%' xmlns:m=''",
        "xmlns:n='%' xmlns:m='&no;'",
        "xmlns:n='%<'",
        "xmlns:n='%' m:a='1'",
        "xmlns:n='%' xmlns:xml='%'",
        "xmlns:n='%' xmlns:m='http://www.w3.org/XML/1998/namespace'",
    ],
)
def test_a_namespace_that_is_no_uri_hides_no_other_fault(fault):
    assert red(WELL.replace("<tool_response ", f"<tool_response {fault} ")) == ["XMCP-RSP-001"]


@pytest.mark.parametrize(
    ("document", "requirements"),
    [
        (WELL.replace("x<", "&#" + "1" * 5000 + ";<"), ["XMCP-RSP-025"]),
        (
            failing("m").replace("code", f"retryable='true' retry_after_ms='{'1' * 5000}' code"),
            ["XMCP-RSP-081", "XMCP-ERR-004"],
        ),
        (WELL.replace("x<", "<!--" * 20_000), ["XMCP-RSP-022"]),
        (failing('m<meta>{"params": {"a": ' + "[" * 900 + "]" * 900 + "}}</meta>"), ["XMCP-RSP-081"]),
        (failing("m<meta>" + "[" * 100_000 + "]" * 100_000 + "</meta>"), ["XMCP-RSP-081", "XMCP-ERR-007"]),
        (failing("m<meta>" + "[" * 100_000 + "</meta>"), ["XMCP-RSP-040"]),
        (WELL.replace("</llm_output>", "</llm_output>" + "<a:a xmlns:a='urn:a'>" * 50_000), ["XMCP-RSP-081"]),
    ],
)
def test_a_hostile_document_costs_its_sender_the_requirement_and_not_the_suite(document, requirements):
    assert red(document) == requirements


def test_only_the_beginning_of_a_long_message_is_searched():
    error = read(failing("at a in " * 1_000_000)).document.error
    assert len(error.model_text) == SEARCHED


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
        ("cannot open /home/app/x.db", "XMCP-ERR-032"),
        ("Server=db;password=hunter2;", "XMCP-ERR-032"),
    ],
)
def test_a_leak_is_seen(message, requirement):
    assert red(failing(message)) == [requirement]


@pytest.mark.parametrize(
    "document",
    [
        filled(FILLED),
        filled("{}"),
        filled(' { "values" : { "a" : "\\u003cb\\u003e" } } '),
        filled(FILLED).replace("<server_populated>", "<server_populated lossy='true'>"),
        filled(FILLED).replace("<server_populated>", f"<display>{TEXT_DISPLAY}</display><server_populated>"),
        filled(FILLED).replace("</tool_response>", "<a:b xmlns:a='urn:a'/></tool_response>"),
        failing("m").replace("</tool_response>", f"<server_populated>{FILLED}</server_populated></tool_response>"),
    ],
)
def test_server_populated_comes_last_in_every_form(document):
    assert red(document) == []


def test_what_the_server_filled_in_is_read():
    assert read(filled(FILLED)).document.server_populated == {"values": {"user_id": "u-7"}, "redacted": ["token"]}


@pytest.mark.parametrize(
    ("document", "requirement"),
    [
        (
            filled(FILLED).replace("</tool_response>", f"<display>{TEXT_DISPLAY}</display></tool_response>"),
            "XMCP-RSP-009",
        ),
        (filled(FILLED).replace("</tool_response>", "<server_populated/></tool_response>"), "XMCP-RSP-009"),
        (WELL.replace("x<", "<![CDATA[<server_populated>]]><"), "XMCP-RSP-027"),
        (filled(FILLED).replace("<server_populated", "<server_populated by='a'"), "XMCP-RSP-011"),
        (filled(""), "XMCP-RSP-040"),
        (filled('{"values": {}, "values": {}}'), "XMCP-RSP-041"),
        (filled('{"values": {"a": "&lt;"}}'), "XMCP-RSP-042"),
        (filled('{"values": {"a": "<b/>"}}'), "XMCP-RSP-042"),
        (filled('{"values": {"a": 9007199254740992}}'), "XMCP-RSP-043"),
        (filled('{"values": {"a": "\\udc00"}}'), "XMCP-RSP-044"),
        (filled("[]"), "XMCP-RSP-095"),
        (filled('{"values": []}'), "XMCP-RSP-095"),
        (filled('{"redacted": ["a", "a"]}'), "XMCP-RSP-095"),
        (filled('{"values": {"a": 1}, "redacted": ["a"]}'), "XMCP-RSP-096"),
        (shown('{"type": "x-xmcp-reference", "payload": {"type": "table", "bytes": 7}}'), "XMCP-DSP-043"),
        (shown('{"type": "group", "payload": [{"type": "x-xmcp-reference", "payload": ""}]}'), "XMCP-DSP-043"),
        (shown('{"type": "text", "payload": "a", "meta": {"unit": "b"}}'), "XMCP-DSP-006"),
        (shown('{"type": "progress", "payload": "a"}'), "XMCP-DSP-010"),
        (shown('{"type": "chart", "alt": "a", "payload": {"layer": [{"transform": []}]}}'), "XMCP-DSP-014"),
        (shown('{"type": "chart", "alt": "a", "payload": {"mark": {"type": "image"}}}'), "XMCP-DSP-014"),
    ],
)
def test_one_fault_of_what_the_document_holds_breaks_one_requirement(document, requirement):
    assert red(document) == [requirement]


@pytest.mark.parametrize(
    "envelope",
    [
        '{"type": "text", "payload": "a", "meta": {"locale": "fr", "acme.example/unit": "b"}}',
        '{"type": "chart", "alt": "a", "payload": {"mark": "bar", "data": {"values": [{"url": "b"}]}}}',
        '{"type": "chart", "alt": "a", "payload": {"datasets": {"d": [{"transform": 1}]}}}',
    ],
)
def test_an_envelope_that_only_resembles_a_forbidden_one_passes(envelope):
    assert red(shown(envelope)) == []


FULL = "é" * 2_000_000 + "a" * (8 * 1024 * 1024 - 4_000_000 - len(WELL) + 1)
INSIDE = "<a:a xmlns:a='urn:a'>"


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        (shown(nested(64)), shown(nested(65))),
        (
            WELL.replace("</llm_output>", "</llm_output>" + "<a:a xmlns:a='urn:a'/>" * 254),
            WELL.replace("</llm_output>", "</llm_output>" + "<a:a xmlns:a='urn:a'/>" * 255),
        ),
        (
            WELL.replace("</llm_output>", "</llm_output>" + INSIDE * 63 + "</a:a>" * 63),
            WELL.replace("</llm_output>", "</llm_output>" + INSIDE * 64 + "</a:a>" * 64),
        ),
        (
            WELL.replace("<tool_response", f"<tool_response xmlns:a='urn:{'a' * 4091}&amp;'"),
            WELL.replace("<tool_response", f"<tool_response xmlns:a='urn:{'a' * 4092}&amp;'"),
        ),
        (WELL.replace("x", FULL), WELL.replace("x", FULL + "b")),
    ],
    ids=["JSON", "elements", "depth", "attribute", "bytes"],
)
def test_a_document_keeps_to_the_sizes_up_to_the_last(within, beyond):
    assert red(within) == []
    assert "XMCP-RSP-081" in {observation.requirement for observation in read(within).observations}
    assert red(beyond) == ["XMCP-RSP-081"]


def test_json_beyond_the_depth_is_judged_down_to_it():
    deep = nested(500).replace('"type":"json"', '"type":"json","title":7')
    assert red(shown(deep)) == ["XMCP-RSP-081", "XMCP-DSP-005"]


@pytest.mark.parametrize(
    ("document", "requirement", "place"),
    [
        ("\ufeff" + WELL, "XMCP-RSP-004", (1, 1)),
        ("\ufeff\n<!DOCTYPE a>" + WELL, "XMCP-RSP-004", (1, 1)),
        ("\n <!DOCTYPE a>" + WELL, "XMCP-RSP-002", (2, 2)),
        (WELL.replace("x<", "é\r\n<!--c-->x<"), "XMCP-RSP-003", (2, 1)),
        (WELL.replace("x<", "a\r\rb\x1b<"), "XMCP-RSP-025", (3, 2)),
        (WELL.replace("x<", "𝄞&#1;<"), "XMCP-RSP-025", (1, 43)),
        (WELL.replace("x<", "\n\n a<br/>b<"), "XMCP-RSP-021", (3, 3)),
        (WELL.replace("x<", "\n\n a & b<"), "XMCP-RSP-022", (3, 4)),
        (WELL.replace("x<", "\n a < b<"), "XMCP-RSP-022", (2, 4)),
        (WELL.replace("x<", "\n a ]]> b<"), "XMCP-RSP-023", (2, 4)),
        (WELL.replace("x<", "ab\rc<"), "XMCP-RSP-024", (1, 44)),
        (WELL.replace("x<", "<![CDATA[\n </Display >]]><"), "XMCP-RSP-027", (2, 2)),
        (WELL.replace("</tool_response>", "\n </a>"), "XMCP-RSP-001", (2, 2)),
        (WELL.replace("</tool_response>", "\n"), "XMCP-RSP-001", (2, 1)),
        (WELL + "\n " + WELL, "XMCP-RSP-001", (2, 2)),
        (WELL + "\n x", "XMCP-RSP-001", (2, 2)),
        (WELL.replace("</tool_response>", "\n<a:b/></tool_response>"), "XMCP-RSP-001", (2, 2)),
        (WELL.replace(' tool_name="a"', ' tool_name="a"\n  tool_name="b"'), "XMCP-RSP-001", (2, 3)),
        (WELL.replace(' tool_name="a"', ' tool_name="a"\n  b=c'), "XMCP-RSP-001", (2, 3)),
        (WELL.replace(' tool_name="a"', "\n tool_name=''"), "XMCP-RSP-007", (2, 2)),
        (WELL.replace(' tool_name="a"', ' tool_name="a"\n version="one"'), "XMCP-RSP-008", (2, 2)),
        (WELL.replace("</llm_output>", "</llm_output>\n <b/>"), "XMCP-RSP-009", (2, 2)),
        (WELL.replace("</llm_output>", "</llm_output>\n é b\n"), "XMCP-RSP-010", (2, 2)),
        (WELL.replace("<llm_output>", "<llm_output\n b='c'>"), "XMCP-RSP-011", (2, 2)),
        (WELL.replace("<llm_output>", "\n<llm_output format='plain text'>"), "XMCP-RSP-006", (2, 13)),
        (failing("m").replace("code=", "\ncode=").replace("TIMEOUT", "a"), "XMCP-ERR-002", (2, 1)),
        (failing("m").replace("code=", "retry_after_ms='1'\ncode="), "XMCP-ERR-005", (1, 37)),
        (failing("m").replace("code=", "category='internal' code="), "XMCP-ERR-010", (1, 37)),
        (failing(""), "XMCP-ERR-006", (1, 30)),
        (failing("m<meta>{}</meta>\n é n "), "XMCP-ERR-008", (2, 2)),
        (failing('m<meta>\n {"error_id": ""}</meta>'), "XMCP-ERR-007", (2, 15)),
        (failing("\n  m\n File &quot;a.py&quot;, line 1, in b"), "XMCP-ERR-031", (3, 2)),
        (failing("&#13; no &lt;file&gt; /home/a/b.db"), "XMCP-ERR-032", (1, 74)),
        (shown('{"type":"text",\n"payload":\'a\'}'), "XMCP-RSP-040", (2, 11)),
        (shown('{"type":"text",\r\n "type":"a"}'), "XMCP-RSP-041", (2, 2)),
        (shown('{"type":"text",\n"payload":"a&amp;"}'), "XMCP-RSP-042", (2, 13)),
        (shown('{"type":"text",\n"payload":"a<b"}'), "XMCP-RSP-042", (2, 13)),
        (shown('{"type":"json",\n"payload":[1, 99999999999999999]}'), "XMCP-RSP-043", (2, 15)),
        (shown('{"type":"text",\n"payload":"é\\\\\\ud83d\\ude00\\udead"}'), "XMCP-RSP-044", (2, 27)),
        (shown('\n {"type":"text"}'), "XMCP-DSP-001", (2, 2)),
        (shown('\n {"type":"group","payload":[{"type":"text","payload":3}]}'), "XMCP-DSP-003", (2, 54)),
        (shown('<![CDATA[\n{"type":"text","payload":"a","title":7}]]>'), "XMCP-DSP-005", (2, 38)),
        (shown('{&quot;type&quot;:"text","payload":"a","title":7}'), "XMCP-DSP-005", (1, 112)),
        (filled('{"values":{"a":1},\n"redacted":["b","a"]}'), "XMCP-RSP-096", (2, 17)),
    ],
)
def test_a_fault_is_told_with_its_line_and_column(document, requirement, place):
    assert broken_at(document) == (requirement, place)


def test_a_fault_beyond_an_xml_declaration_of_two_lines_is_told_with_its_line_and_column():
    document = "<?xml version='1.0'\n?>" + WELL.replace("</tool_response>", "</a>")
    places = {item.requirement: item.place for item in read(document).observations if not item.ok}
    assert places == {"XMCP-RSP-004": (1, 1), "XMCP-RSP-001": (2, 3 + len(WELL) - len("</tool_response>"))}
