"""A document in pieces: the same response, or the same fault at the same position, for all cuts."""

from __future__ import annotations

import itertools
from contextlib import suppress
from xml.parsers import expat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmcp.wire import Arrived, DecodeError, Decoder, DisplayEnvelope, ToolResponse, decode

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


# What arrives before the end


def arriving(document: str | bytes, places: list[int]) -> tuple[list[str], list[DisplayEnvelope], object]:
    """Return the texts and the displays that `feed` returned, and the outcome."""
    decoder, texts, displays = Decoder(), [], []
    cuts = [0, *sorted(places), len(document)]
    try:
        for start, end in itertools.pairwise(cuts):
            arrived = decoder.feed(document[start:end])
            texts.append(arrived.text)
            if arrived.display:
                assert "".join(texts) == texts_of(document), "a display came before the end of the text"
                displays.append(arrived.display)
        return texts, displays, decoder.close()
    except DecodeError as fault:
        return texts, displays, fault


def texts_of(document: str | bytes) -> str:
    """Return the text of a document by a parser that knows nothing of tool responses, and goes on after each fault."""
    found: list[str] = []
    inside: list[str] = []
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = lambda name, _: inside.append(name)
    parser.EndElementHandler = lambda _: inside.pop()
    parser.CharacterDataHandler = lambda text: found.append(text) if inside[1:] == ["llm_output"] else None
    data = document.encode("utf-8", "surrogatepass") if isinstance(document, str) else document
    if hasattr(parser, "SetReparseDeferralEnabled"):
        parser.SetReparseDeferralEnabled(False)
    with suppress(expat.ExpatError):
        for byte in data:  # one at a time: of a run of text with a fault, expat gives only what came in earlier calls
            parser.Parse(bytes([byte]), False)
        parser.Parse(b"", True)
    return "".join(found)


def check_what_arrives(document: str | bytes, places: list[int]) -> None:
    texts, displays, outcome = arriving(document, places)
    assert texts_of(document).startswith("".join(texts))
    if isinstance(outcome, ToolResponse):
        assert (outcome.llm_output or "").startswith("".join(texts))
        assert displays == ([outcome.display] if outcome.display else [])
    else:
        assert displays == []


@settings(max_examples=400)
@given(st.data())
def test_wherever_a_document_is_cut_what_arrives_is_the_beginning_of_the_text_and_then_the_display(
    data: st.DataObject,
) -> None:
    document = data.draw(st.sampled_from([*DOCUMENTS, *BYTES]))
    check_what_arrives(document, data.draw(st.lists(st.integers(0, len(document)), max_size=12)))


@pytest.mark.parametrize("document", [*DOCUMENTS, *BYTES], ids=lambda document: repr(document[:20]))
def test_so_it_is_for_a_cut_at_each_place(document: str | bytes) -> None:
    for place in range(len(document) + 1):
        check_what_arrives(document, [place])


@given(st.text(), st.integers(1, 40))
def test_every_text_arrives_whole_before_a_long_document_ends(text: str, size: int) -> None:
    text = ToolResponse.from_xml(ToolResponse("t", text).to_xml()).llm_output or ""
    document = ToolResponse("t", text).to_xml().replace("</tool_response>", " " * 600 + "</tool_response>")
    texts, _, outcome = arriving(document, list(range(0, len(document), size)))
    assert "".join(texts) == text
    assert isinstance(outcome, ToolResponse)


@pytest.mark.parametrize(
    ("written", "certain"),
    [
        ("a\r", "a"),
        ("a]]", "a"),
        ("a&am", "a"),
        ("a&#x1F60", "a"),
        ("a<![CDATA[b]]", "ab"),
        ("a<![CDATA[b\r", "ab"),
        ("a<!-- b", "a"),
        (b"a\xc3", "a"),
    ],
)
def test_no_character_arrives_that_the_next_byte_could_change(written: str | bytes, certain: str) -> None:
    decoder = Decoder()
    decoder.feed('<tool_response tool_name="t"><llm_output>')
    raw = written.encode() if isinstance(written, str) else written
    arrived = "".join(decoder.feed(raw[at : at + 1]).text for at in range(len(raw)))
    assert arrived
    assert certain.startswith(arrived)


def test_a_carriage_return_before_a_line_feed_never_arrives() -> None:
    texts, _, _ = arriving(DOCUMENTS[0], list(range(len(DOCUMENTS[0]))))
    assert not any("\r" in text for text in texts)


def test_text_comes_at_most_512_bytes_after_its_own_bytes() -> None:
    decoder, fed, shown = Decoder(), 0, 0
    decoder.feed('<tool_response tool_name="t"><llm_output>')
    for _ in range(40_000):
        shown += len(decoder.feed("abc").text)
        fed += 3
        assert fed - shown <= 512
    assert fed > shown > 0


def test_the_display_arrives_once_and_before_what_follows_it() -> None:
    _, displays, outcome = arriving(DOCUMENTS[0], list(range(len(DOCUMENTS[0]))))
    assert isinstance(outcome, ToolResponse)
    assert displays == [outcome.display]
    decoder = Decoder()
    head, tail = DOCUMENTS[0].split("</display>")
    assert decoder.feed(head).display is None
    assert decoder.feed("</display>" + " " * 512).display == outcome.display
    assert decoder.feed(tail) == Arrived()


def test_a_bad_display_that_is_dropped_does_not_arrive() -> None:
    decoder = Decoder(bad_display="drop")
    document = '<tool_response tool_name="t"><llm_output>a</llm_output><display>{"type":1}</display></tool_response>'
    assert decoder.feed(document) == Arrived("a")
    assert decoder.close().warnings


@pytest.mark.parametrize(
    "document", ['<tool_response tool_name="t" version="2.0"><llm_output>a</llm_output>', "<!DOCTYPE a><a>"]
)
def test_nothing_arrives_of_a_document_that_is_refused_before_its_content(document: str) -> None:
    texts, displays, outcome = arriving(document, list(range(len(document))))
    assert ("".join(texts), displays) == ("", [])
    assert isinstance(outcome, DecodeError)


def test_the_text_of_an_error_and_of_foreign_elements_does_not_arrive() -> None:
    document = (
        '<tool_response tool_name="t"><x:llm_output xmlns:x="urn:x"><llm_output>b</llm_output></x:llm_output>'
        '<error code="X">message<meta>{}</meta></error><display>{"type":"text","payload":"c"}</display></tool_response>'
    )
    texts, displays, outcome = arriving(document, list(range(len(document))))
    assert "".join(texts) == ""
    assert len(displays) == 1
    assert isinstance(outcome, ToolResponse)


def test_a_fault_comes_after_the_text_that_has_arrived() -> None:
    decoder = Decoder()
    assert decoder.feed('<tool_response tool_name="t"><llm_output>some text</llm_output>').text == "some text"
    with pytest.raises(DecodeError):
        decoder.feed("<later/>")
    with pytest.raises(DecodeError):
        decoder.close()


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
