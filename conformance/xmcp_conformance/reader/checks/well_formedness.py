"""The check that a document is well-formed XML, and the place where it stops to be.

The parser decides whether it is well-formed; but it reports where it noticed the fault, which is later. This module
finds where the fault begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lxml import etree

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import Place, broken, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.source import Source
from xmcp_conformance.reader.xml_tokens import REFERENCE, Kind, Token, attributes

_NAME = re.compile(r"[^\W\d][\w.\-\u00b7\u0300-\u036f]*(?::[^\W\d][\w.\-\u00b7\u0300-\u036f]*)?")
_ATTRIBUTE = re.compile(r"""(\s+)([^\s=<>"'/]+)\s*=\s*(?:"[^"<]*"|'[^'<]*')""")
_TAG_END = re.compile(r"\s*/?>")


@check("XMCP-RSP-001", profile=OF_DOCUMENTS)
def well_formedness(source: Source, error: etree.XMLSyntaxError | None) -> Observations:
    """Judge what the parser reported, and say where the fault begins."""
    if error is None:
        yield obeyed("XMCP-RSP-001")
        return
    offset = first_fault(source.tokens)
    place = source.place(offset) if offset is not None else Place(*error.position)
    message = re.sub(r", line \d+, column \d+$", "", error.msg or "")
    seen = f"line {place.line}, column {place.column}: {quoted(message)}"
    yield broken("XMCP-RSP-001", seen, "well-formed XML 1.0", where=place)


def first_fault(tokens: Iterable[Token]) -> int | None:
    """Return the offset of the first fault; `None` where there is none."""
    return next(_faults(tokens), None)


def _faults(tokens: Iterable[Token]) -> Iterator[int]:
    open_names: list[str] = []
    prefixes: list[frozenset[str]] = [frozenset({"xml", "xmlns", ""})]
    root_ended = False
    last = None
    for token in tokens:
        last = token
        late = token.kind is Kind.DECLARATION and token.offset > 1
        if late or token.kind in (Kind.STRAY, Kind.DOCTYPE):
            yield token.offset
        elif token.kind in (Kind.TEXT, Kind.CDATA):
            yield from _text(token, outside=not open_names)
        elif token.kind is Kind.COMMENT and (at := token.text.find("--", 4)) != len(token.text) - 3:
            yield token.offset + at
        elif token.kind is Kind.END:
            if not open_names or open_names.pop() != token.name:
                yield token.offset
            if len(prefixes) > 1:
                prefixes.pop()
            root_ended = not open_names
        elif token.kind in (Kind.START, Kind.EMPTY):
            if root_ended:
                yield token.offset
            declared = {a.name.removeprefix("xmlns:") for a in attributes(token) if a.name.startswith("xmlns:")}
            scope = prefixes[-1] | declared if declared else prefixes[-1]
            yield from _tag(token, scope)
            if token.kind is Kind.START:
                open_names.append(token.name)
                prefixes.append(scope)
            root_ended = not open_names
    if last is not None and (open_names or not root_ended):
        yield last.offset + len(last.text)


def _text(token: Token, *, outside: bool) -> Iterator[int]:
    body = token.text
    if outside and (token.kind is Kind.CDATA or body.lstrip("\ufeff \t\r\n")):
        yield token.offset + len(body) - len(body.lstrip("\ufeff \t\r\n"))
    if token.kind is Kind.TEXT:
        faults = [match.start() for match in REFERENCE.finditer(body) if match.group() == "&"][:1]
        if (at := body.find("]]>")) >= 0:
            faults.append(at)
        if faults:
            yield token.offset + min(faults)


def _tag(token: Token, scope: frozenset[str]) -> Iterator[int]:
    """Yield the faults of a tag: of its name, then of each attribute: form, prefix, references, a second one."""
    if not _NAME.fullmatch(token.name) or token.name.rpartition(":")[0] not in scope:
        yield token.offset + 1
    at, seen = 1 + len(token.name), set[str]()
    while match := _ATTRIBUTE.match(token.text, at):
        name, start = match[2], token.offset + match.start(2)
        if name in seen or not _NAME.fullmatch(name) or name.rpartition(":")[0] not in scope:
            yield start
        for reference in REFERENCE.finditer(match.group()):
            if reference.group() == "&":
                yield token.offset + match.start() + reference.start()
        seen.add(name)
        at = match.end()
    if not _TAG_END.fullmatch(token.text, at):
        text = token.text[at:]
        yield token.offset + at + len(text) - len(text.lstrip())
