"""The reader: every input results in a response or a DecodeError; it agrees with the XSD; a fault has its position."""

from __future__ import annotations

import gc
import re
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree

from xmcp.wire import DecodeError, DecodeErrorKind, Decoder, DisplayEnvelope, ErrorInfo, Limits, ToolResponse, decode
from xmcp.wire.content import Content

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


@pytest.mark.slow
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

# Element to attribute to values, of which those before None are allowed.
ATTRIBUTES: dict[str, dict[str, list[str | None]]] = {
    "tool_response": {
        "tool_name": ["t", " ", "é" * 128, None, "", "n" * 129],
        "version": ["1.0", "1.7", "1.10", "1.9999", None, "1", "01.0", " 1.0", "1.00000"],
        "call_id": ["c", "c" * 256, None, "", "c" * 257],
        "lossy": ["true", "0", None, "yes"],
    },
    "llm_output": {
        "format": [
            "text/plain",
            "A1/x+y.z-1",
            f"a/{'b' * 125}",
            "a&b/c",
            None,
            "plain",
            "a/b ",
            "/b",
            f"a/{'b' * 126}",
            "é/b",
        ],
        "truncated": ["1", " false\t", None, "TRUE", ""],
        "lossy": ["true", None, "2"],
    },
    "display": {"lossy": ["true", None, "2"]},
    "error": {
        "code": ["X", "DB_TIMEOUT", "X" * 63, None, "x", "X-Y", "X" * 64, "_X", ""],
        "retryable": ["true", "false", "1", "0", " 1 ", "\ntrue", None, "yes", "True", ""],
        "retry_after_ms": [
            "0",
            "+1",
            "-0",
            "007",
            " 5 ",
            str(2**53 - 1),
            None,
            str(2**53),
            "-1",
            "1.0",
            "",
            "\u0661",
            "1_0",
        ],
        "category": ["timeout", "x_1", None, "Timeout", "1x", ""],
        "lossy": ["true", None, "no"],
    },
    "meta": {"lossy": ["false", None, "no"]},
}
REQUIRED = {"tool_response": "tool_name", "error": "code"}
TEXTS = {"llm_output": "a<!-- c -->b", "display": '{"type":"text","payload":"b"}', "meta": "{}", "error": " m "}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    content: list[Element | str]

    def __str__(self) -> str:
        tag = "".join(f" {name}={quoteattr(value or '')}" for name, value in self.attributes.items())
        return f"<{self.name}{tag}>{''.join(map(str, self.content))}</{self.name}>"

    def elements(self) -> list[Element]:
        return [self, *(found for part in self.content if isinstance(part, Element) for found in part.elements())]


# Where the reader is not the XSD, and why is written in its own tests: text after <meta>, which XSD cannot forbid;
# a channel after a namespaced element, which the consume profile passes over wherever it stands.
TEXT_AFTER_META = re.compile("</meta>[^<]*[^<\\s]")
LATE_CHANNEL = re.compile("</x:e>.*<(llm_output|display|error)", re.DOTALL)


@st.composite
def elements(draw: st.DrawFn, name: str, children: list[Element]) -> Element:
    """An element as the schema wants it, but for the children that are given."""
    attributes = {}
    for attribute, values in ATTRIBUTES[name].items():
        if attribute == REQUIRED.get(name) or draw(st.integers(0, 3)) == 0:
            attributes[attribute] = draw(st.sampled_from(values[: values.index(None)]))
    gaps = st.sampled_from(["", " \n\t", "<!-- c -->"])
    content: list[Element | str] = [TEXTS[name]] if name in TEXTS else [draw(gaps)]
    for child in children:
        content += [child, draw(gaps)]
    return Element(name, attributes, content)


@st.composite
def documents(draw: st.DrawFn) -> Element:
    channels = draw(st.sampled_from(["llm_output", "display", "error", "llm_output display", "error display"])).split()
    children = []
    for name in channels:
        inner = [draw(elements("meta", []))] if name == "error" and draw(st.booleans()) else []
        children.append(draw(elements(name, inner)))
    if draw(st.booleans()):
        children.append(Element("x:e", {"xmlns:x": "urn:x", "a": "1"}, [Element("b", {}, []), "t"]))
    return draw(elements("tool_response", children))


@st.composite
def damaged(draw: st.DrawFn) -> Element:
    """A document with one thing changed, which may have made it invalid or not."""
    root = draw(documents())
    element = draw(st.sampled_from([found for found in root.elements() if found.name in ATTRIBUTES]))
    children = [part for part in element.content if isinstance(part, Element)]
    change = draw(st.sampled_from(["value", "value", "no attribute", "text", "element", "no child", "twice", "order"]))
    if change == "value":
        attribute = draw(st.sampled_from(sorted(ATTRIBUTES[element.name])))
        element.attributes[attribute] = draw(st.sampled_from(ATTRIBUTES[element.name][attribute]))
    elif change == "no attribute" and element.attributes:
        del element.attributes[draw(st.sampled_from(sorted(element.attributes)))]
    elif change == "text" and element.name == "tool_response":
        element.content.insert(draw(st.integers(0, len(element.content))), draw(st.sampled_from([" ", "x", "\u00a0"])))
    elif change == "element":
        name = draw(st.sampled_from(["llm_output", "display", "meta", "later"]))
        element.content.insert(draw(st.integers(0, len(element.content))), Element(name, {}, [TEXTS.get(name, "")]))
    elif children:
        child = draw(st.sampled_from(children))
        element.content.remove(child)
        for _ in range({"no child": 0, "twice": 2}.get(change, 1)):
            element.content.insert(draw(st.integers(0, len(element.content))), child)
    return root


@pytest.mark.slow
def test_reader_and_xsd_agree_on_what_a_tool_response_is() -> None:
    verdicts = {True: 0, False: 0}

    @settings(max_examples=1000)
    @given(documents() | damaged() | damaged())
    def check(root: Element) -> None:
        document = str(root)
        assume(not TEXT_AFTER_META.search(document) and not LATE_CHANNEL.search(document))
        found = outcome(document)
        allowed = XSD.validate(etree.fromstring(document.encode()))
        verdicts[allowed] += 1
        assert isinstance(found, ToolResponse) or found.kind is DecodeErrorKind.SCHEMA
        assert isinstance(found, ToolResponse) == allowed, found

    check()
    # A judge that always says the same would prove nothing.
    assert min(verdicts.values()) >= 100, verdicts


def test_a_channel_may_follow_what_the_consume_profile_passes_over() -> None:
    document = (
        '<tool_response tool_name="t" later="1"><x:e xmlns:x="urn:x"/><llm_output y="">a</llm_output></tool_response>'
    )
    assert not XSD.validate(etree.fromstring(document))
    assert decode(document) == ToolResponse("t", "a")


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
            "<later> is not allowed here: <tool_response> may have <llm_output> or <display> or <error> at this",
        ),
        ("<llm_output/><llm_output/>", "<tool_response> may have <display> or <server_populated> at this point"),
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


SMALL = Limits(document_bytes=200, attribute_bytes=8, depth=2, elements=3, json_depth=2, attributes=4, tag_bytes=50)


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
        ('<tool_response tool_name="t" b="" c=""><llm_output d="" e=""/></tool_response>', "more than 4 attributes"),
        ('<tool_response tool_name="t"><x:a' + " " * 130 + "/></tool_response>", "a tag is longer than 50 bytes"),
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
    tag = document.index(">") + 1
    assert decode(document, limits=Limits(tag_bytes=len(document[:tag].encode()), attributes=1)).tool_name == "éééé"


@pytest.mark.parametrize("size", [1_000, 65_536, 65_537, 10**7])
@pytest.mark.parametrize("before", ["", f"<!--{'a' * 200_000}-->", f"<?p {'?' * 100_000}?>", f"<!--{'?>' * 50_000}-->"])
@pytest.mark.parametrize("length", [65_536, 65_537, 130_000])
def test_the_limit_of_a_tag_is_exact_wherever_it_begins_and_the_pieces_end(length: int, before: str, size: int) -> None:
    document = f'<tool_response tool_name="t">{before}<llm_output{" " * (length - 12)}>a</llm_output></tool_response>'
    decoder = Decoder()
    with nullcontext() if length == 65_536 else pytest.raises(DecodeError, match=r"^LIMIT .* longer than 65536 bytes"):
        for at in range(0, len(document), size):
            decoder.feed(document[at : at + size])
        assert decoder.close().llm_output == "a"


@pytest.mark.parametrize("size", [1, 7, 1000, 65_536, 10**7])
@pytest.mark.parametrize(
    ("before", "markup", "kind"),
    [
        (0, "<x:a n='{}' xmlns:x='u'/>", "LIMIT"),
        (65_400, "<x:a xmlns:x='u' {}/>", None),
        (65_500, "<x:a xmlns:x='u' {}/>", None),
        (0, "<!--{}-->", None),
        (65_506, "<!--{}-->", None),
        (0, "<?p {}?>", None),
    ],
)
def test_a_tag_is_too_long_or_not_wherever_the_pieces_end(size: int, before: int, markup: str, kind: Any) -> None:
    filling = " " * (200_000 if kind or "<x:a" not in markup else 60_000)
    document = f'<tool_response tool_name="t">{" " * before}<llm_output/>{markup.format(filling)}</tool_response>'
    decoder = Decoder()
    try:
        for at in range(0, len(document), size):
            decoder.feed(document[at : at + size])
        decoder.close()
        found = None
    except DecodeError as fault:
        found = fault.kind
    assert found == kind


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


@pytest.mark.slow
def test_reading_leaves_no_cycles_behind() -> None:
    def alive() -> int:
        return sum(isinstance(thing, Decoder | Content) for thing in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = alive()  # what other tests still hold, a record of a log with its traceback for example
        for document in (VALID[0], "<a>", "<!DOCTYPE a>"):
            outcome(document)
        assert alive() == before
    finally:
        gc.enable()


def test_the_reader_builds_an_envelope_with_its_rules() -> None:
    found = decode(VALID[0])
    assert isinstance(found.display, DisplayEnvelope)
