"""The fast path reads the same as the full decoder, for documents in canonical form and near it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmcp.wire import DEFAULT_LIMITS, DecodeError, Decoder, Limits, ToolResponse, decode, encode
from xmcp.wire.canonical import read_canonical

WHOLE = encode(
    ToolResponse(
        "t.é",
        "a & b <c> é\r\n]]>",
        {"type": "json", "payload": ["<\x7f\u2028é\ufffe", 1e3, {"k": None}], "title": "x"},
        call_id="c1",
        truncated=True,
        format="text/plain",
    )
).replace("t.é", "t")
PLAIN = '<tool_response tool_name="t"><llm_output>some text</llm_output></tool_response>'
CDATA = encode(ToolResponse("t", "if a < b && c > d: é <p>&</p>", format="text/html", truncated=True))
SHOWN = '<tool_response tool_name="t"><display>{"type":"text","payload":"x"}</display></tool_response>'
HURTING = [
    *(
        "&amp;",
        "&lt;",
        "&#13;",
        "&#x41;",
        "&#0;",
        "&#xFFFE;",
        "&nbsp;",
        "&",
        "]]>",
        ">",
        "<",
        "<!-- -->",
        "<![CDATA[x]]>",
        "<![CDATA[",
        "]]><![CDATA[",
    ),
    *("\r", "\n", "\t", "\0", "\x1b", "\x7f", "\x85", "\ufeff", "\ufffe", "\uffff", "\u2028", "é", "\U0001fffe"),
    *("NaN", "1e999", '"a":1,', '"payload":', "\\ud800", "\\u0000", "[[[[", "/>", "<?p?>", ' lossy="true"', " x='1'"),
    *(
        ' xmlns="urn:x"',
        ' version="2.0"',
        "<x:y xmlns:x='u'/>",
        "<llm_output>",
        "</llm_output>",
        "<display/>",
        "'",
        '"',
    ),
]


def walked(document: str | bytes, limits: Limits = DEFAULT_LIMITS) -> Any:
    """What the walk makes of it: a Decoder that is fed never looks for the canonical form."""
    decoder = Decoder(limits=limits)
    try:
        decoder.feed(document)
        return decoder.close()
    except DecodeError as fault:
        return fault.kind


def at_a_glance(document: str | bytes) -> ToolResponse | None:
    raw = document.encode("utf-8", "surrogatepass") if isinstance(document, str) else document
    return read_canonical(raw, DEFAULT_LIMITS)


def same(one: ToolResponse, other: Any) -> bool:
    # JSON tells 1 from 1.0 and true, and keeps the order of members.
    shown = [json.dumps(r.display and r.display.to_dict()) for r in (one, other)]
    return one == other and shown[0] == shown[1]


def test_the_form_is_the_one_that_the_encoder_writes() -> None:
    assert "<![CDATA[" in CDATA
    for document in (WHOLE, PLAIN, CDATA, SHOWN):
        found = at_a_glance(document)
        assert found is not None
        assert same(found, walked(document))


@pytest.mark.slow
@given(st.text(), st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False)))
def test_whatever_the_encoder_writes_is_read_alike_both_ways(text: str, call_id: str, payload: dict[str, Any]) -> None:
    response = ToolResponse("t", text, {"type": "json", "payload": payload}, call_id=call_id[:256] or None)
    document = encode(response)
    if (found := at_a_glance(document)) is not None:
        assert same(found, walked(document))


@pytest.mark.slow
@settings(max_examples=1500)
@given(
    st.sampled_from([WHOLE, PLAIN, CDATA, SHOWN]),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(HURTING) | st.text(max_size=3)), max_size=3),
)
def test_a_document_near_the_form_is_read_as_the_walk_reads_it_or_not_at_all(
    document: str, damages: list[tuple[float, int, str]]
) -> None:
    for place, length, damage in damages:
        at = int(place * len(document))
        document = document[:at] + damage + document[at + length :]
    found = at_a_glance(document)
    if found is not None:
        assert same(found, walked(document))


@pytest.mark.slow
@settings(max_examples=1500)
@given(
    st.sampled_from([WHOLE.encode(), PLAIN.encode(), CDATA.encode(), SHOWN.encode()]),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2), st.binary(max_size=3)), max_size=3),
)
def test_damaged_bytes_are_read_as_the_walk_reads_them_or_not_at_all(
    document: bytes, damages: list[tuple[float, int, bytes]]
) -> None:
    for place, length, damage in damages:
        at = int(place * len(document))
        document = document[:at] + damage + document[at + length :]
    found = at_a_glance(document)
    if found is not None:
        assert same(found, walked(document))


@pytest.mark.parametrize(
    "damage", [*(text.encode() for text in HURTING), b"\xed\xa0\x80", b"\xc3", b"\xff", b"\xef\xbf\xbe"]
)
def test_what_hurts_is_not_read_differently_anywhere(damage: bytes) -> None:
    for document in (WHOLE.encode(), PLAIN.encode(), CDATA.encode(), SHOWN.encode()):
        for at in range(len(document) + 1):
            damaged = document[:at] + damage + document[at:]
            found = at_a_glance(damaged)
            if found is not None:
                assert same(found, walked(damaged))


@pytest.mark.parametrize("document", [WHOLE, PLAIN, SHOWN], ids=["whole", "plain", "shown"])
@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
def test_limits_bind_both_ways_alike(document: str, name: str) -> None:
    for bound in (1, 2, 3, 4, 64, 100, 126):
        limits = Limits(**{name: bound})
        try:
            outcome: Any = decode(document, limits=limits)
        except DecodeError as fault:
            outcome = fault.kind
        assert outcome == walked(document, limits)
