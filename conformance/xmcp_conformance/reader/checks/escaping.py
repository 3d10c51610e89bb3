"""Checks of how text and JSON are escaped inside the elements (sections 2.3 and 2.4), by the tokens of the document.

A parser hides it: whether text came as CDATA, whether a carriage return was raw.
"""

from __future__ import annotations

import re
from itertools import islice

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import broken, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.source import Source
from xmcp_conformance.reader.xml_tokens import (
    Kind,
    Token,
    bare_ampersands,
    cdata,
)

from .elements_and_attributes import element_in_text

_PROTOCOL_TAG = re.compile(
    r"</?(?:tool_response|llm_output|display|error|meta|server_populated)(?![\w.:-])", re.IGNORECASE
)
_SPACE = " \t\r\n"
INERT_JSON = "`\\u003c`, `\\u003e`, `\\u0026`"
_TEXT_ELEMENTS = ("llm_output", "error")
JSON_ELEMENTS = ("display", "meta", "server_populated")


def content(source: Source) -> Observations:
    """Judge how text is written: faults that make a document unreadable, or that readers read differently."""
    for token in source.tokens:
        if token.inside in JSON_ELEMENTS:
            yield from _markup_in_json(token, source)
        elif token.inside in _TEXT_ELEMENTS:
            yield from element_in_text(token, source)
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


@check("XMCP-RSP-022", profile=OF_DOCUMENTS)
def _markup_in_text(token: Token, source: Source) -> Observations:
    if token.kind in (Kind.STRAY, Kind.DOCTYPE):
        seen = f"a raw `<`, in `{quoted(source.text, token.offset)}`"
        yield broken("XMCP-RSP-022", seen, "`&lt;` or a CDATA section", where=source.place(token.offset))


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
    sections = [token for token in source.tokens if token.kind is Kind.CDATA and token.inside not in JSON_ELEMENTS]
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
