"""The reader: whatever arrives is a response or a DecodeError; it agrees with the XSD; a fault says where it is."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from xmcp.wire import DecodeError, DecodeErrorKind, Decoder, DisplayEnvelope, ErrorInfo, Limits, ToolResponse, decode

XSD = etree.XMLSchema(etree.parse(Path(__file__).resolve().parents[3] / "schemas" / "tool_response.xsd"))

VALID = [
    ToolResponse("t", "a & b", {"type": "table", "payload": [{"a": 1}]}, call_id="c").to_xml(),
    ToolResponse("t", error=ErrorInfo("DB_TIMEOUT", "m", meta={"params": {"a": [1]}})).to_xml(),
    '<?xml version="1.0" encoding="UTF-8"?><tool_response tool_name="t" xmlns:x="urn:x" x:a="1"><llm_output>'
    "<![CDATA[a]]>b&#13;<!-- c --></llm_output><x:more><y/></x:more></tool_response>",
]


def outcome(data: str | bytes, **options: Any) -> ToolResponse | DecodeError:
    try:
        return decode(data, **options)
    except DecodeError as fault:
        return fault


def check_outcome(data: str | bytes) -> None:
    for bad_display in ("raise", "drop"):
        found = outcome(data, bad_display=bad_display)
        if isinstance(found, DecodeError):
            assert found.kind in DecodeErrorKind
            assert found.line >= 1
            assert found.column >= 1
            assert 0 <= found.offset <= len(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
            assert found.message.isprintable()
            assert len(found.message) <= 300
        else:
            assert found.tool_name


@given(st.binary() | st.text(st.characters()))
def test_no_input_raises_anything_but_decode_error(data: str | bytes) -> None:
    check_outcome(data)


@settings(max_examples=400)
@given(st.data())
def test_no_mutation_of_a_valid_document_raises_anything_but_decode_error(data: st.DataObject) -> None:
    document = bytearray(data.draw(st.sampled_from(VALID)).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(document)))
        end = data.draw(st.integers(start, min(len(document), start + 8)))
        insert = st.sampled_from(
            [b"", b"<", b">", b'"', b"]]>", b"<x/>", b"\0", b"\xff", b"&", b":", b"{", b" ", b"xmlns="]
        )
        document[start:end] = data.draw(insert | st.binary(max_size=3))
    check_outcome(bytes(document))


json_texts = st.recursive(
    st.sampled_from(["1", '"a"', "null", "NaN", "-", "1e999", "9" * 400 + ".0", "9" * 400, "", '"\\ud800"', "{", "]"]),
    lambda inner: (
        st.lists(inner).map(lambda parts: f"[{','.join(parts)}]")
        | st.lists(
            st.tuples(st.sampled_from(["type", "payload", "title", "fallback", "id", "meta", "rows", "columns"]), inner)
            | st.just(("type", '"table"'))
            | st.just(("type", '"group"'))
            | st.just(("type", '"file"'))
        ).map(lambda pairs: "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}")
    ),
)


@given(json_texts, st.sampled_from(["display", "meta"]))
def test_no_json_in_a_channel_raises_anything_but_decode_error(text: str, channel: str) -> None:
    inner = f"<display>{text}</display>" if channel == "display" else f'<error code="X">m<meta>{text}</meta></error>'
    check_outcome(f'<tool_response tool_name="t">{inner}</tool_response>')


# ------------------------------------------------------------------------------------------ the schema

ENVELOPE = '{"type":"text","payload":"b"}'
ATTRIBUTES = {
    "tool_response": {
        "tool_name": ["t", "", "n" * 128, "n" * 129, " "],
        "version": ["1.0", "1.7", "1.10", "1", "01.0", " 1.0", "1.00000", "1.9999"],
        "call_id": ["c", "", "c" * 256, "c" * 257],
        "lossy": ["true", "0", "yes"],
    },
    "llm_output": {
        "format": [
            "text/plain",
            "a/b",
            "plain",
            "a/b ",
            "A1/x+y.z-1",
            "/b",
            f"a/{'b' * 125}",
            f"a/{'b' * 126}",
            "é/b",
            "a&amp;b/c",
        ],
        "truncated": ["1", " false\t", "TRUE", ""],
        "lossy": ["true"],
    },
    "display": {"lossy": ["true", "2"]},
    "error": {
        "code": ["X", "DB_TIMEOUT", "x", "X-Y", "X" * 63, "X" * 64, "_X", ""],
        "retryable": ["true", "false", "1", "0", " 1 ", "&#10;true", "yes", "True", ""],
        "retry_after_ms": [
            "0",
            "+1",
            "-0",
            "007",
            " 5 ",
            "9007199254740991",
            "9007199254740992",
            "-1",
            "1.0",
            "",
            "١",
            "1_0",
        ],
        "category": ["timeout", "x_1", "Timeout", "1x", ""],
        "lossy": ["true"],
    },
    "meta": {"lossy": ["false", "no"]},
}
REQUIRED = {"tool_response": "tool_name", "error": "code"}


@st.composite
def tags(draw: st.DrawFn, name: str, content: str) -> str:
    written = ""
    for attribute, choices in ATTRIBUTES[name].items():
        often = attribute == REQUIRED.get(name)
        if draw(st.integers(0, 9)) < (9 if often else 3):
            # The first choice is valid: without that, hardly any document would be.
            value = draw(st.sampled_from(choices)) if draw(st.booleans()) else choices[0]
            written += f' {attribute}="{value}"'
    return f"<{name}{written}>{content}</{name}>"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A document of known words, in an order and with values that the schema may or may not allow."""
    gap = st.sampled_from(["", "", " \n", "<!-- c -->", "\n\t ", "x"])
    children = []
    for name in draw(st.lists(st.sampled_from(["llm_output", "display", "error", "meta", "later"]), max_size=3)):
        if name == "later":
            child = "<later/>"
        elif name == "error":
            meta = draw(st.sampled_from(["", draw(tags("meta", "{}")), "<meta>{}</meta><meta>{}</meta>", "<b/>"]))
            child = draw(tags("error", draw(st.sampled_from(["m", "", " m\n"])) + meta))
        else:
            body = {"llm_output": "a<!-- c -->b", "display": ENVELOPE, "meta": "{}"}[name]
            child = draw(tags(name, body + draw(st.sampled_from(["", "", "", "<b/>"]))))
        children.append(draw(gap) + child)
    if draw(st.booleans()):
        children.append('<x:e xmlns:x="urn:x" a="1"><b/>t</x:e>')
    return draw(tags("tool_response", "".join(children) + draw(gap)))


@settings(max_examples=800)
@given(documents())
def test_reader_and_xsd_agree_on_what_a_tool_response_is(document: str) -> None:
    found = outcome(document)
    assert isinstance(found, ToolResponse) or found.kind is DecodeErrorKind.SCHEMA
    assert XSD.validate(etree.fromstring(document.encode())) == isinstance(found, ToolResponse), found


# ------------------------------------------------------------------------------------------- the place


@pytest.mark.parametrize(
    ("document", "kind", "line", "column", "offset"),
    [
        ("", "NOT_WELL_FORMED", 1, 1, 0),
        ('<tool_response tool_name="t">\n é&b;', "NOT_WELL_FORMED", 2, 3, 33),
        ('<tool_response tool_name="é">\n  <later/></tool_response>', "SCHEMA", 2, 3, 33),
        ("\ufeff<result/>", "SCHEMA", 1, 2, 3),
        (
            '<tool_response tool_name="t"><error code="X">m<meta>[\n]</meta></error></tool_response>',
            "BAD_JSON",
            2,
            2,
            55,
        ),
        ('<tool_response tool_name="t">\n<display>{"type":1}</display></tool_response>', "BAD_ENVELOPE", 2, 20, 49),
        ("<tool_response version='2.0'/>", "VERSION", 1, 1, 0),
    ],
)
def test_a_fault_says_where_it_is(document: str, kind: str, line: int, column: int, offset: int) -> None:
    for data in (document, document.encode()):
        fault = outcome(data)
        assert isinstance(fault, DecodeError)
        assert (fault.kind, fault.line, fault.column, fault.offset) == (kind, line, column, offset)
        assert str(fault) == f"{kind} at line {line}, column {column}: {fault.message}"


@pytest.mark.parametrize(
    ("inner", "sentence"),
    [
        (
            "<later/>",
            "<later> may not stand here: <tool_response> may have <llm_output> or <display> or <error> at this",
        ),
        ("<llm_output/><llm_output/>", "<tool_response> may have <display> at this point"),
        ("<llm_output><b/></llm_output>", "<llm_output> may have no more elements"),
        ("", "must have <llm_output>, <display> or <error>"),
        ('<error code="a"/>', "code of <error> must be an upper-case name"),
        ("<error/>", "<error> must have the attribute code"),
        ("<llm_output/>x", "text directly in <tool_response>"),
        ("<display>{'a'}</display>", "in <display>: .* at line 1 column 2"),
        ('<display>{"type":"table","payload":[1]}</display>', "in <display>: payload/0 must be an object"),
    ],
)
def test_a_fault_says_what_is_wrong(inner: str, sentence: str) -> None:
    with pytest.raises(DecodeError, match=re.escape(sentence).replace(r"\.\*", ".*")):
        decode(f'<tool_response tool_name="t">{inner}</tool_response>')


def test_a_message_is_one_short_line_whatever_the_document_says() -> None:
    name = "n" * 5000
    key = "k\\n" * 5000
    for document in (
        f"<{name}/>",
        f'<tool_response tool_name="t"><display>{{"{key}":1,"{key}":2}}</display></tool_response>',
    ):
        check_outcome(document)


# ----------------------------------------------------------------------------------------- the options


def test_only_the_display_can_be_dropped() -> None:
    found = outcome(
        '<tool_response tool_name="t"><error code="X">m<meta>x</meta></error></tool_response>', bad_display="drop"
    )
    assert isinstance(found, DecodeError)
    assert found.kind is DecodeErrorKind.BAD_JSON


def test_a_dropped_display_leaves_the_rest_and_one_sentence() -> None:
    found = decode(
        '<tool_response tool_name="t"><llm_output>a</llm_output><display>{"type":"text"}</display></tool_response>',
        bad_display="drop",
    )
    assert found == ToolResponse("t", "a", warnings=found.warnings)
    assert len(found.warnings) == 1
    assert "the display was left out: BAD_ENVELOPE at line 1" in found.warnings[0]
    assert "payload" in found.warnings[0]


def test_a_document_with_a_bad_display_must_be_well_formed_all_the_same() -> None:
    found = outcome('<tool_response tool_name="t"><display>x</display></tool_respons>', bad_display="drop")
    assert isinstance(found, DecodeError)
    assert found.kind is DecodeErrorKind.NOT_WELL_FORMED


SMALL = Limits(document_bytes=200, attribute_bytes=8, depth=2, elements=3, json_depth=2)


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ("x" * 201, "longer than 200 bytes"),
        ("é" * 101, "longer than 200 bytes"),
        ('<tool_response tool_name="123456789"/>', "an attribute is longer than 8 bytes"),
        ('<tool_response tool_name="ééééé"/>', "an attribute is longer than 8 bytes"),
        ('<tool_response tool_name="t"><error code="X"><meta/></error></tool_response>', "deeper than 2"),
        ('<tool_response tool_name="t" xmlns:x="u"><x:a/><x:a/><x:a/></tool_response>', "more than 3 elements"),
        ('<tool_response tool_name="t"><display>[[[]]]</display></tool_response>', "JSON is nested deeper than 2"),
    ],
)
def test_limits_are_the_receivers_choice(document: str, what: str) -> None:
    found = outcome(document, limits=SMALL)
    assert isinstance(found, DecodeError)
    assert found.kind is DecodeErrorKind.LIMIT
    assert what in found.message


def test_a_document_at_every_limit_is_read() -> None:
    document = (
        '<tool_response tool_name="éééé"><llm_output/><display>{"type":"json","payload":[]}</display></tool_response>'
    )
    size = len(document.encode())
    assert decode(document, limits=Limits(size, 8, 2, 3, 2)).tool_name == "éééé"
    assert isinstance(outcome(document, limits=Limits(size - 1, 8, 2, 3, 2)), DecodeError)
    assert isinstance(outcome(document, limits=Limits(size, 8, 2, 3, 1)), DecodeError)


def test_limits_that_nothing_can_satisfy_are_refused() -> None:
    with pytest.raises(ValueError, match="depth must be at least 1"):
        Limits(depth=0)
    with pytest.raises(ValueError, match="json_depth must be at most 128"):
        Limits(json_depth=129)


@pytest.mark.parametrize("text", ["1],[2", '"a"}],[{"a":1}', "[]" + "],[" * 70])
@pytest.mark.parametrize("padding", ["", "[" * 70])
def test_json_cannot_break_out_of_its_place(text: str, padding: str) -> None:
    # Deep JSON is read inside wrapping arrays; a text that closes them must not pass for one value.
    found = outcome(f'<tool_response tool_name="t"><display>"{padding}",{text}</display></tool_response>')
    assert isinstance(found, DecodeError)
    brackets = "[]," * 70
    found = outcome(f'<tool_response tool_name="t"><display>{brackets}1],[2</display></tool_response>')
    assert isinstance(found, DecodeError)
    assert found.kind is DecodeErrorKind.BAD_JSON


@pytest.mark.parametrize("limit", [1, 64, 128])
def test_the_json_depth_limit_is_exact(limit: int) -> None:
    def document(depth: int) -> str:
        inside = "[" * (depth - 1) + "]" * (depth - 1) if depth > 1 else '""'
        return f'<tool_response tool_name="t"><display>{{"type":"json","payload":{inside}}}</display></tool_response>'

    limits = Limits(json_depth=limit)
    assert isinstance(outcome(document(limit), limits=limits), ToolResponse)
    found = outcome(document(limit + 1), limits=limits)
    assert isinstance(found, DecodeError)
    assert found.kind is DecodeErrorKind.LIMIT


def test_a_decoder_is_for_one_document() -> None:
    decoder = Decoder()
    decoder.feed(VALID[0])
    assert decoder.close().tool_name == "t"
    for again in (decoder.close, lambda: decoder.feed("x")):
        with pytest.raises(ValueError, match="closed"):
            again()


def test_a_decoder_that_met_a_fault_repeats_it() -> None:
    decoder = Decoder()
    with pytest.raises(DecodeError) as first:
        decoder.feed("<!DOCTYPE a>")
    for again in (decoder.close, lambda: decoder.feed(VALID[0])):
        with pytest.raises(DecodeError) as later:
            again()
        assert (later.value.args, later.value.offset) == (first.value.args, first.value.offset)


def test_what_is_no_text_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError):
        decode(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        decode(5)  # type: ignore[arg-type]


def test_reading_leaves_no_cycles_behind() -> None:
    gc.collect()
    gc.disable()
    try:
        for document in (VALID[0], "<a>", "<!DOCTYPE a>"):
            outcome(document)
        assert not [thing for thing in gc.get_objects() if isinstance(thing, Decoder)]
    finally:
        gc.enable()


def test_the_reader_builds_an_envelope_with_its_rules() -> None:
    found = decode(VALID[0])
    assert isinstance(found.display, DisplayEnvelope)
