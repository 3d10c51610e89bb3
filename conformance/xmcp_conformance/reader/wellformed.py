"""Where a document stops being well-formed XML.

Whether it is well-formed the parser decides. A parser tells where it noticed, which is after the fault; this tells
where the fault begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .markup import REFERENCE, Kind, Token, attributes

_NAME = re.compile(r"[^\W\d][\w.\-\u00b7\u0300-\u036f]*(?::[^\W\d][\w.\-\u00b7\u0300-\u036f]*)?")
_ATTRIBUTE = re.compile(r"""(\s+)([^\s=<>"'/]+)\s*=\s*(?:"[^"<]*"|'[^'<]*')""")
_TAG_END = re.compile(r"\s*/?>")


def first_fault(pieces: Iterable[Token]) -> int | None:
    """The offset of the first fault, `None` where none is seen."""
    return next(_faults(pieces), None)


def _faults(pieces: Iterable[Token]) -> Iterator[int]:
    open_names: list[str] = []
    prefixes: list[frozenset[str]] = [frozenset({"xml", "xmlns", ""})]
    root_ended = False
    last = None
    for piece in pieces:
        last = piece
        late = piece.kind is Kind.DECLARATION and piece.offset > 1
        if late or piece.kind in (Kind.STRAY, Kind.DOCTYPE):
            yield piece.offset
        elif piece.kind in (Kind.TEXT, Kind.CDATA):
            yield from _text(piece, outside=not open_names)
        elif piece.kind is Kind.COMMENT and (at := piece.text.find("--", 4)) != len(piece.text) - 3:
            yield piece.offset + at
        elif piece.kind is Kind.END:
            if not open_names or open_names.pop() != piece.name:
                yield piece.offset
            if len(prefixes) > 1:
                prefixes.pop()
            root_ended = not open_names
        elif piece.kind in (Kind.START, Kind.EMPTY):
            if root_ended:
                yield piece.offset
            declared = {a.name.removeprefix("xmlns:") for a in attributes(piece) if a.name.startswith("xmlns:")}
            scope = prefixes[-1] | declared if declared else prefixes[-1]
            yield from _tag(piece, scope)
            if piece.kind is Kind.START:
                open_names.append(piece.name)
                prefixes.append(scope)
            root_ended = not open_names
    if last is not None and (open_names or not root_ended):
        yield last.offset + len(last.text)


def _text(piece: Token, *, outside: bool) -> Iterator[int]:
    body = piece.text
    if outside and (piece.kind is Kind.CDATA or body.lstrip("\ufeff \t\r\n")):
        yield piece.offset + len(body) - len(body.lstrip("\ufeff \t\r\n"))
    if piece.kind is Kind.TEXT:
        faults = [match.start() for match in REFERENCE.finditer(body) if match.group() == "&"][:1]
        if (at := body.find("]]>")) >= 0:
            faults.append(at)
        if faults:
            yield piece.offset + min(faults)


def _tag(piece: Token, scope: frozenset[str]) -> Iterator[int]:
    """The name, then each attribute: its form, its prefix, its references, and whether it stood before."""
    if not _NAME.fullmatch(piece.name) or piece.name.rpartition(":")[0] not in scope:
        yield piece.offset + 1
    at, seen = 1 + len(piece.name), set[str]()
    while match := _ATTRIBUTE.match(piece.text, at):
        name, start = match[2], piece.offset + match.start(2)
        if name in seen or not _NAME.fullmatch(name) or name.rpartition(":")[0] not in scope:
            yield start
        for reference in REFERENCE.finditer(match.group()):
            if reference.group() == "&":
                yield piece.offset + match.start() + reference.start()
        seen.add(name)
        at = match.end()
    if not _TAG_END.fullmatch(piece.text, at):
        text = piece.text[at:]
        yield piece.offset + at + len(text) - len(text.lstrip())
