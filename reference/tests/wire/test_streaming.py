"""A document in pieces: the same response, or the same fault at the same position, for all cuts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmcp.wire import DecodeError, Decoder, ToolResponse, decode

DOCUMENTS = [
    '\ufeff<?xml version="1.0" encoding="UTF-8"?>\r\n<!-- é --><tool_response tool_name="t" call_id="a&#10;b">\n'
    '<llm_output format="text/plain">x &amp; y &#x1F600; é🙂 <![CDATA[<]]>]]&gt;\r\n</llm_output>\n'
    '<display>{"type":"text","payload":"\\u003cé"}</display><x:e xmlns:x="urn:x"><x:f a="1">t</x:f></x:e>\n'
    "</tool_response>\n",
    '<tool_response tool_name="t"><error code="X" retryable="1">\n <![CDATA[m]]><meta>{"a/b":1}</meta>\n</error>'
    "</tool_response>",
    '<tool_response tool_name="t">\n\n é <llm_output/></tool_response>',
    '<tool_response tool_name="t"><llm_output>a]]>b</llm_output></tool_response>',
    '<tool_response tool_name="t"><llm_output>&nbsp;</llm_output></tool_response>',
    '<tool_response tool_name="t"><display>\n{"type":1}\n</display></tool_response>',
    '<tool_response tool_name="t"><display>{"a":1,"a":2}</display></tool_response>',
    '<tool_response tool_name="t"><x:a/></tool_response>',
    "<!DOCTYPE tool_response [<!ENTITY a 'b'>]><tool_response tool_name='t'/>",
    '<?xml version="1.1"?><tool_response tool_name="t"/>',
    '<tool_response version="2.0"><new/>',
    '<tool_response tool_name="t"><llm_output>\ud800</llm_output></tool_response>',
    '<tool_response tool_name="t"><llm_output>a',
    "\0<",
    "<\0",
    "",
]
BYTES = [document.encode("utf-8", "surrogatepass") for document in DOCUMENTS] + [
    b"\xff\xfe<\0a\0",
    b"\xfe\xff\0<",
    b"\0<\0a",
    b"<\0a\0",
    b"\xef\xbb",
    b"\xfe",
    b"<a>\xc3</a>",
]


def whole(document: str | bytes) -> object:
    try:
        return decode(document)
    except DecodeError as fault:
        return fault.kind, fault.message, fault.line, fault.column, fault.offset


def in_pieces(document: str | bytes, places: list[int]) -> object:
    decoder = Decoder()
    cuts = [0, *sorted(places), len(document)]
    try:
        for start, end in itertools.pairwise(cuts):
            decoder.feed(document[start:end])
        return decoder.close()
    except DecodeError as fault:
        return fault.kind, fault.message, fault.line, fault.column, fault.offset


@settings(max_examples=400)
@given(st.data())
def test_where_a_document_is_cut_changes_nothing(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from([*DOCUMENTS, *BYTES]))
    places = data.draw(st.lists(st.integers(0, len(document)), max_size=12))
    assert in_pieces(document, places) == whole(document)


@pytest.mark.parametrize("document", [*DOCUMENTS, *BYTES], ids=lambda document: repr(document[:20]))
def test_one_at_a_time_is_as_good_as_all_at_once(document: str | bytes) -> None:
    assert in_pieces(document, list(range(len(document)))) == whole(document)


def test_a_fault_is_raised_by_the_piece_that_has_it() -> None:
    decoder = Decoder()
    decoder.feed('<tool_response tool_name="t"><llm_output>some text</llm_output>')
    with pytest.raises(DecodeError):
        decoder.feed("<later/>")


def test_a_piece_over_the_size_limit_is_refused_before_the_end() -> None:
    decoder = Decoder()
    decoder.feed('<tool_response tool_name="t"><llm_output>')
    for _ in range(7):
        decoder.feed("a" * 1024 * 1024)
    with pytest.raises(DecodeError, match="longer than 8388608 bytes"):
        decoder.feed("a" * 1024 * 1024)


def test_text_and_bytes_can_be_mixed() -> None:
    decoder = Decoder()
    decoder.feed('<tool_response tool_name="')
    decoder.feed("é".encode())
    decoder.feed('"><llm_output>a</llm_output>')
    decoder.feed(bytearray(b"</tool_response>"))  # type: ignore[arg-type]
    assert decoder.close() == ToolResponse("é", "a")


def test_a_long_token_in_small_pieces_is_not_read_over_and_over() -> None:
    # Counted, not timed: expat before 2.6 would start anew with each of the 4000 pieces.
    calls = 0

    class Counting(Decoder):
        __slots__ = ()

        def _parse(self, *, final: bool) -> None:
            nonlocal calls
            calls += 1
            super()._parse(final=final)

    counting = Counting()
    counting.feed('<tool_response tool_name="t"><!--')
    for _ in range(4000):
        counting.feed("a" * 1000)
    counting.feed("--><llm_output>a</llm_output></tool_response>")
    assert counting.close() == ToolResponse("t", "a")
    assert calls < 40
