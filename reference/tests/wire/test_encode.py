"""The writer: every string comes back exactly, none is taken for markup, and values without a form raise."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import re
import uuid
import xml.etree.ElementTree as ElementTree
from collections import namedtuple
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree
from pydantic import BaseModel

from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse, decode, encode
from xmcp_conformance.reader import read

# All code points, the surrogates included, and often the ones that hurt.
nasty = st.sampled_from(list("&<>\"'\r\n\t\0\x1b\x7f\x85\u2028\ufeff\ufffe\uffff\ud800\udfff]é🙂"))
texts = st.lists(st.one_of(nasty, st.characters(), st.sampled_from(["]]>", "</display>", "<!--", "&amp;"]))).map(
    "".join
)
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
ILLEGAL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
SURROGATE = re.compile("[\ud800-\udfff]")


def carried(text: str) -> str:
    return ILLEGAL.sub("\ufffd", text)


def in_json(value: Any) -> Any:
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {in_json(key): in_json(member) for key, member in value.items()}
    return [in_json(member) for member in value] if isinstance(value, list) else value


@given(texts, texts.filter(lambda text: 1 <= len(text) <= 128), texts.filter(lambda text: 1 <= len(text) <= 256))
@example("\ud83d\ude00", "\ud83d\ude00", "\r\n\t")
def test_every_string_that_xml_can_carry_comes_back_exactly(text: str, name: str, call_id: str) -> None:
    document = encode(ToolResponse(name, text, call_id=call_id))
    want = (carried(name), carried(text), carried(call_id))
    lossy = want != (name, text, call_id)
    back = decode(document)
    assert (back.tool_name, back.llm_output, back.call_id, back.lossy) == (*want, lossy)
    for root in (ElementTree.fromstring(document), etree.fromstring(document.encode())):
        output = root.find("llm_output")
        assert (root.get("tool_name"), output.text or "", root.get("call_id")) == want
        assert ("lossy" in root.attrib, "lossy" in output.attrib) == (
            want[0] != name or want[2] != call_id,
            want[1] != text,
        )


MARKUP = "if (a < b && c < d) { return a > b; } "


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (MARKUP, f"<![CDATA[{MARKUP}]]>"),
        ("a < b & c", "a &lt; b &amp; c"),  # shorter than with CDATA
        ("a > b, ]]>", "a > b, ]]&gt;"),
        (MARKUP + "]]>", "if (a &lt; b &amp;&amp; c &lt; d) { return a > b; } ]]&gt;"),
        (MARKUP + "\r\n", "if (a &lt; b &amp;&amp; c &lt; d) { return a > b; } &#13;\n"),
        ("&&&&</LLM_Output >", "&amp;&amp;&amp;&amp;&lt;/LLM_Output >"),
        ("<<<<<<display/>", "&lt;&lt;&lt;&lt;&lt;&lt;display/>"),
        ('[{"a":"b > c"}]', '[{"a":"b > c"}]'),
    ],
)
def test_text_is_cdata_where_that_is_shorter_and_can_carry_it(text: str, written: str) -> None:
    document = encode(ToolResponse("t", text))
    assert document == f'<tool_response tool_name="t"><llm_output>{written}</llm_output></tool_response>'
    assert decode(document).llm_output == text
    assert [seen for seen in read(document).observations if not seen.ok] == []


said = texts.filter(lambda text: bool(text.strip(" \t\r\n")))


@given(said)
def test_an_error_message_comes_back_but_for_white_space_around_it(message: str) -> None:
    error = ErrorInfo("X", message)
    back = decode(encode(ToolResponse("t", error=error)))
    # What is replaced is no white space, so trimming before and after is the same.
    assert back.error == dataclasses.replace(error, message=carried(message))
    assert error.message == message.strip(" \t\r\n")


@given(values)
def test_a_json_value_comes_back_exactly_but_for_lone_surrogates(value: Any) -> None:
    payload = {"v": value}
    want = in_json(payload)
    if json.dumps(want, sort_keys=True).count('"') != json.dumps(payload, sort_keys=True).count('"'):
        return  # two keys became one: refused, see below
    document = encode(ToolResponse("t", display=DisplayEnvelope(type="json", payload=payload)))
    back = decode(document)
    assert back.display is not None
    assert json.dumps(back.display.payload, sort_keys=True) == json.dumps(want, sort_keys=True)
    assert back.lossy == (json.dumps(want, sort_keys=True) != json.dumps(payload, sort_keys=True))


@given(said, texts)
def test_a_document_holds_no_markup_but_its_own(text: str, key: str) -> None:
    response = ToolResponse(
        "t",
        error=ErrorInfo("X", text, meta={"a/b": text, "a/k": {"<display>" + key: 1}}),
        server_populated={"values": {text: key}},
        display=DisplayEnvelope(type="json", payload=[text, text], title=text[:200]),
    )
    document = encode(response)
    assert re.findall("<[^>]*>", document.replace(' lossy="true"', "")) == [
        '<tool_response tool_name="t">',
        '<error code="X" retryable="false" category="internal">',
        "<meta>",
        "</meta>",
        "</error>",
        "<display>",
        "</display>",
        "<server_populated>",
        "</server_populated>",
        "</tool_response>",
    ]
    assert not ILLEGAL.search(document)
    assert "\r" not in document
    assert "]]>" not in document
    channel = re.search("<display[^>]*>(.*)</display>", document)
    assert channel
    assert not re.search("[&<>\x00-\x1f\x7f\u2028\u2029]", channel[1])


@pytest.mark.parametrize(
    ("response", "place"),
    [
        (ToolResponse("a\0", "x"), "tool_name"),
        (ToolResponse("t", "x", call_id="\x1b"), "call_id"),
        (ToolResponse("t", "ab\ufffe"), "llm_output.*U\\+FFFE at index 2"),
        (ToolResponse("t", error=ErrorInfo("X", "\ud800")), "error message"),
        (ToolResponse("t", error=ErrorInfo("X", "m", meta={"a/b": ["\ud800"]})), "meta/a~1b/0"),
        (ToolResponse("t", display=DisplayEnvelope(type="text", payload="x", alt="\udfff")), "display/alt"),
    ],
)
def test_on_demand_what_cannot_be_carried_is_an_error_that_names_the_place(response: ToolResponse, place: str) -> None:
    assert "\ufffd" in encode(response)
    with pytest.raises(ValueError, match=place):
        encode(response, illegal="error")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (ToolResponse("t"), "must have llm_output, a display or an error"),
        (ToolResponse("t", "x", error=ErrorInfo("X", "m")), "must not have both"),
        (ToolResponse("", "x"), "tool_name"),
        (ToolResponse("t" * 129, "x"), "tool_name"),
        (ToolResponse("t", "x", call_id=""), "call_id"),
        (ToolResponse("t", "x", call_id="c" * 257), "call_id"),
        (ToolResponse("t", "x", format="plain"), "format"),
        (ToolResponse("t", "x", version="2.0"), "version 2.0"),
        (ToolResponse("t", "x", version="one"), "version"),
    ],
)
def test_a_response_outside_of_the_schema_is_refused(response: ToolResponse, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        encode(response)


def test_text_that_is_no_string_is_refused() -> None:
    with pytest.raises(TypeError, match="llm_output must be a string, not dict"):
        encode(ToolResponse("t", {"a": 1}))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tool_name must be a string, not int"):
        encode(ToolResponse(1, "x"))  # type: ignore[arg-type]


def test_what_was_lossy_stays_lossy_when_it_is_passed_on() -> None:
    once = decode(encode(ToolResponse("t", "a\0")))
    again = decode(encode(once))
    assert again == once
    assert again.lossy


def test_format_truncation_and_a_later_minor_version_come_back() -> None:
    response = ToolResponse("t", "x", version="1.7", format="text/plain", truncated=True)
    assert decode(encode(response)) == response


class Colour(enum.StrEnum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Row(BaseModel):
    when: datetime.date
    price: Decimal


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Fraction(float):
    pass


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize("also", [None, 2**60], ids=["fast path", "slow path"])
@pytest.mark.parametrize(
    ("value", "written"),
    [
        ((1, 2), [1, 2]),
        (Pair(1, "b"), [1, "b"]),
        (Row(when=datetime.date(2026, 1, 2), price=Decimal("1.10")), {"when": "2026-01-02", "price": "1.10"}),
        ([Point(0.5, float("nan"))], [{"x": 0.5, "y": None}]),
        ({Colour.RED: Colour.RED, Number.ONE: Number.ONE}, {"red": "red", "1": 1}),
        (MappingProxyType({"a": (Decimal("0"),)}), {"a": ["0"]}),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime.time(1, 2), "01:02:00"),
        (datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(0))), "2026-01-02T00:00:00Z"),
        (Fraction(0.5), 0.5),
        (bytearray(b"\xff\x00a"), "/wBh"),
        (memoryview(b"\xff\x00a"), "/wBh"),
        (-(2**200), str(-(2**200))),
        (DisplayEnvelope(type="text", payload="x", title=None), {"type": "text", "payload": "x"}),
    ],
)
def test_python_values_become_json_the_same_on_both_paths(value: Any, written: Any, also: int | None) -> None:
    display = DisplayEnvelope(type="json", payload={"v": value, "also": also})
    back = decode(encode(ToolResponse("t", display=display))).display
    assert back is not None
    assert back.payload == {"v": written, "also": also and str(also)}


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"rows": [[1, {object()}]]}, "display/payload/rows/0/1/0: object"),
        ([{"a/b": {"~": object()}}], "display/payload/0/a~1b/~0: object"),
        ({"a": {None: 1}}, "display/payload/a: a key must be a string, not NoneType"),
        ({"a": {True: 1}}, "display/payload/a: a key must be a string, not bool"),
        ({"a": {1: "a", "1": "b"}}, "display/payload/a: two keys become '1'"),
        ({"a": dict.fromkeys(map(chr, (0xD800, 0xDFFF)))}, "display/payload/a: two keys become"),
        ({"a": iter([1])}, "display/payload/a: list_iterator"),
    ],
)
def test_a_value_without_a_json_form_is_named_with_its_path(payload: Any, place: str) -> None:
    response = ToolResponse("t", display=DisplayEnvelope(type="json", payload=payload))
    with pytest.raises(TypeError, match=re.escape(place)):
        encode(response)


def test_a_value_that_contains_itself_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    with pytest.raises(ValueError, match="64 levels"):
        encode(ToolResponse("t", display=DisplayEnvelope(type="json", payload=circle)))


def test_what_is_written_is_never_too_deep_to_be_read() -> None:
    deep: Any = []
    for level in range(2, 70):
        deep = [deep]
        response = ToolResponse("t", display=DisplayEnvelope(type="json", payload=deep))
        if level < 64:  # the envelope is one more
            assert decode(encode(response)) == response
        else:
            with pytest.raises(ValueError, match="64 levels"):
                encode(response)
