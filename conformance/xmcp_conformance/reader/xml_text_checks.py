"""Checks of how a document is written (sections 2.1 to 2.3 and 2.6), by its tokens alone.

A parser hides most of it: whether text came as CDATA, whether a carriage return was raw, whether there was a comment.
"""

from __future__ import annotations

import re
from itertools import islice

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import Place, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted

from .source import Source
from .xml_tokens import REFERENCE, Kind, Token, attributes, bare_ampersands, cdata, code_point

MOST_BYTES = 8 * 1024 * 1024
MOST_ELEMENTS = 256
DEEPEST_ELEMENT = 64
MOST_ATTRIBUTES = 256
LONGEST_ATTRIBUTE = 4096
LONGEST_TAG = 65_536
"""The sizes of section 2.6; those of an attribute and a tag are in bytes of UTF-8."""

INERT_JSON = "`\\u003c`, `\\u003e`, `\\u0026`"
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PROTOCOL_TAG = re.compile(
    r"</?(?:tool_response|llm_output|display|error|meta|server_populated)(?![\w.:-])", re.IGNORECASE
)
_SPACE = " \t\r\n"
_TEXT_ELEMENTS = ("llm_output", "error")
_JSON_ELEMENTS = ("display", "meta", "server_populated")
_TAGS = (Kind.START, Kind.EMPTY)


@check("XMCP-RSP-002", "XMCP-RSP-003", "XMCP-RSP-004", profile=OF_DOCUMENTS)
def prologue(source: Source) -> Observations:
    """Judge what is around the elements: declarations, comments, processing instructions."""
    text, tokens = source.text, source.tokens
    opening = "a byte order mark" if text.startswith("\ufeff") else ""
    if any(token.kind is Kind.DECLARATION for token in tokens):
        opening = "an XML declaration"
    yield either(
        "XMCP-RSP-004",
        not opening,
        f"the document begins with {opening}",
        "nothing before the root element",
        where=source.place(0),
    )
    doctype = next((token for token in tokens if token.kind is Kind.DOCTYPE and not token.inside), None)
    yield either(
        "XMCP-RSP-002",
        doctype is None,
        f"`{quoted(text[doctype.offset : doctype.offset + 80]) if doctype else ''}`",
        "no document type declaration",
        where=_place(source, doctype),
    )
    odd = next(
        (t for t in tokens if t.kind in (Kind.COMMENT, Kind.INSTRUCTION) and t.inside not in _JSON_ELEMENTS), None
    )
    yield either(
        "XMCP-RSP-003",
        odd is None,
        f"the {odd.kind if odd else ''} `{quoted(odd.text) if odd else ''}`",
        "no comment and no processing instruction",
        where=_place(source, odd),
    )


def _place(source: Source, token: Token | None) -> Place | None:
    return source.place(token.offset) if token else None


@check("XMCP-RSP-025", profile=OF_DOCUMENTS)
def code_points(source: Source) -> Observations:
    """Judge code points that XML 1.0 does not allow, raw or as references."""
    expected = 'U+FFFD in its place and lossy="true"'
    if match := _ILLEGAL.search(source.text):
        seen = f"U+{ord(match.group()):04X} raw, in `{quoted(source.text, match.start())}`"
        yield broken("XMCP-RSP-025", seen, expected, where=source.place(match.start()))
    for token in source.tokens:
        if token.kind in (Kind.TEXT, Kind.START, Kind.EMPTY):
            for match in REFERENCE.finditer(token.text):
                if not _is_legal(match):
                    place = source.place(token.offset + match.start())
                    yield broken("XMCP-RSP-025", f"the reference `{quoted(match.group())}`", expected, where=place)
    yield obeyed("XMCP-RSP-025")


def _is_legal(reference: re.Match[str]) -> bool:
    """Return false for a character reference to a code point that XML does not allow."""
    number = code_point(reference)
    return number is None or (number <= 0x10FFFF and not _ILLEGAL.match(chr(number)))


def content(source: Source) -> Observations:
    """Judge how text is written: faults that make a document unreadable, or that readers read differently."""
    for token in source.tokens:
        if token.inside in _JSON_ELEMENTS:
            yield from _markup_in_json(token, source)
        elif token.inside in _TEXT_ELEMENTS:
            yield from _markup_in_text(token, source)
            if token.kind is Kind.TEXT:
                yield from _references(token, source)
    yield from _cdata(source)


@check("XMCP-RSP-042", profile=OF_DOCUMENTS)
def _markup_in_json(token: Token, source: Source) -> Observations:
    """Judge JSON in which XML sees markup, whether or not it happens to be well-formed."""
    at = None
    if token.kind is Kind.TEXT:
        at = _first(token.text.find("]]>"), *islice(bare_ampersands(token.text), 1))
    elif not (token.kind is Kind.CDATA or (token.kind is Kind.END and token.name == token.inside)):
        at = 0
    if at is not None:
        seen = f"in `{token.inside}`: `{quoted(token.text, at)}`"
        yield broken("XMCP-RSP-042", seen, INERT_JSON, where=source.place(token.offset + at))


@check("XMCP-RSP-021", "XMCP-RSP-022", profile=OF_DOCUMENTS)
def _markup_in_text(token: Token, source: Source) -> Observations:
    if token.inside == "llm_output" and token.kind in _TAGS:
        seen = f"`{quoted(token.text)}` inside `llm_output`"
        yield broken("XMCP-RSP-021", seen, "character data only", where=source.place(token.offset))
    if token.kind in (Kind.STRAY, Kind.DOCTYPE):
        seen = f"a raw `<`, in `{quoted(source.text, token.offset)}`"
        yield broken("XMCP-RSP-022", seen, "`&lt;` or a CDATA section", where=source.place(token.offset))
    if token.kind is Kind.END and token.name == "llm_output":
        yield obeyed("XMCP-RSP-021")


def _first(*indexes: int) -> int | None:
    return min((index for index in indexes if index >= 0), default=None)


@check("XMCP-RSP-022", "XMCP-RSP-023", "XMCP-RSP-024", profile=OF_DOCUMENTS)
def _references(token: Token, source: Source) -> Observations:
    """Judge the characters of a text that have to be written as references."""
    text = token.text
    if (at := text.find("]]>")) >= 0:
        seen = f"`]]>` raw in `{quoted(text, at)}`"
        yield broken("XMCP-RSP-023", seen, "`]]&gt;`", where=source.place(token.offset + at))
    if (amp := _first(*islice(bare_ampersands(text), 1))) is not None:
        seen = f"an `&` that begins no reference XML knows, in `{quoted(text, amp)}`"
        yield broken("XMCP-RSP-022", seen, "`&amp;`", where=source.place(token.offset + amp))
    if re.search("&(?:lt|amp);", text):
        yield obeyed("XMCP-RSP-022")
    if re.search("&#(?:13|x0?[dD]);", text):
        yield obeyed("XMCP-RSP-024")
    if "]]&gt;" in text:
        yield obeyed("XMCP-RSP-023")
    # White space at the ends of an error's message is not part of the message (section 4.1).
    begin = len(text) - len(text.lstrip(_SPACE)) if token.inside == "error" else 0
    end = len(text.rstrip(_SPACE)) if token.inside == "error" else len(text)
    if (at := text.find("\r", begin, end)) >= 0:
        seen = f"a raw carriage return in `{quoted(text, at)}`"
        yield broken("XMCP-RSP-024", seen, "`&#13;`", where=source.place(token.offset + at))


@check("XMCP-RSP-027", profile=OF_DOCUMENTS)
def _cdata(source: Source) -> Observations:
    """Judge the CDATA sections outside JSON together; the first that is wrong is the one reported."""
    sections = [token for token in source.tokens if token.kind is Kind.CDATA and token.inside not in _JSON_ELEMENTS]
    for token in sections:
        body = cdata(token)
        tag = _PROTOCOL_TAG.search(body)
        at = tag.start() if tag else body.find("\r")
        if at >= 0:
            seen = f"`{quoted(tag.group())}`" if tag else "a carriage return"
            place = source.place(token.offset + token.text.index(body) + at)
            expected = "that text written with references"
            yield broken("XMCP-RSP-027", f"{seen} inside a CDATA section", expected, where=place)
            return
    if sections:
        yield obeyed("XMCP-RSP-027")


@check("XMCP-RSP-081", profile=OF_DOCUMENTS)
def sizes(source: Source) -> Observations:
    """Judge the sizes of section 2.6, but for the depth of the JSON, which is measured where the JSON is read."""
    expected = "a document within the sizes of section 2.6"
    if source.size > MOST_BYTES:
        offset = len(source.text.encode("utf-8", "surrogatepass")[:MOST_BYTES].decode("utf-8", "ignore"))
        seen = f"a document of {source.size:,} bytes"
        yield broken("XMCP-RSP-081", seen, f"at most {MOST_BYTES:,}", where=source.place(offset))
    count = depth = written = 0
    for token in source.tokens:
        if token.kind is Kind.END:
            depth -= 1
        if token.kind not in _TAGS:
            continue
        count += 1
        if count > MOST_ELEMENTS:
            seen = f"an element more than {MOST_ELEMENTS}"
            yield broken("XMCP-RSP-081", seen, expected, where=source.place(token.offset))
        if depth + 1 > DEEPEST_ELEMENT:
            seen = f"elements nested {depth + 1} deep"
            yield broken("XMCP-RSP-081", seen, f"at most {DEEPEST_ELEMENT}", where=source.place(token.offset))
        depth += token.kind is Kind.START
        if (size := len(token.text.encode("utf-8", "surrogatepass"))) > LONGEST_TAG:
            seen = f"a tag of {size:,} bytes"
            yield broken("XMCP-RSP-081", seen, f"at most {LONGEST_TAG:,}", where=source.place(token.offset))
        for attribute in attributes(token):
            written += 1
            if written > MOST_ATTRIBUTES:
                seen, place = f"an attribute more than {MOST_ATTRIBUTES}", source.place(attribute.offset)
                yield broken("XMCP-RSP-081", seen, expected, where=place)
            if (size := len(attribute.value.encode("utf-8", "surrogatepass"))) > LONGEST_ATTRIBUTE:
                seen = f"the attribute `{quoted(attribute.name)}` with {size:,} bytes"
                place = source.place(attribute.offset)
                yield broken("XMCP-RSP-081", seen, f"at most {LONGEST_ATTRIBUTE:,}", where=place)
    yield obeyed("XMCP-RSP-081")


@check("XMCP-RSP-028", profile=OF_DOCUMENTS)
def attribute_space(source: Source) -> Observations:
    """Judge white space in attributes that a parser would change."""
    for token in source.tokens:
        if token.kind not in _TAGS:
            continue
        for attribute in attributes(token):
            if raw := re.search("[\t\n\r]", attribute.raw):
                seen = f"the attribute `{quoted(attribute.name)}` has {raw.group()!r} as it is"
                yield broken("XMCP-RSP-028", seen, f"`&#{ord(raw.group())};`", where=source.place(attribute.offset))
            elif any(code_point(match) in (9, 10, 13) for match in REFERENCE.finditer(attribute.raw)):
                yield obeyed("XMCP-RSP-028")
