"""Checks of what is around the elements: declarations, comments, processing instructions (section 2.1)."""

from __future__ import annotations

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import Place, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.source import Source
from xmcp_conformance.reader.xml_tokens import (
    Kind,
    Token,
)

from .escaping import JSON_ELEMENTS


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
        (t for t in tokens if t.kind in (Kind.COMMENT, Kind.INSTRUCTION) and t.inside not in JSON_ELEMENTS), None
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
