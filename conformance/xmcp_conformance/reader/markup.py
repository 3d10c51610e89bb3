"""The raw text of a document as tokens, without judging it.

A parser hides what an emitter did: whether text came as CDATA, whether a carriage return was raw, whether
there was a comment. The strict reader needs to see it, and needs to see it in documents that no parser accepts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

FOREIGN = ":"
REFERENCE = re.compile(r"&(?:#(?P<decimal>[0-9]+)|#x(?P<hex>[0-9a-fA-F]+)|(?P<name>lt|gt|amp|quot|apos));|&")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CDATA = ("<![CDATA[", "]]>")
_DEFAULT_NAMESPACE = re.compile(r"""\sxmlns\s*=\s*["'][^"']""")


class Kind(StrEnum):
    """What a piece of a document is."""

    DECLARATION = "declaration"
    DOCTYPE = "doctype"
    COMMENT = "comment"
    INSTRUCTION = "instruction"
    CDATA = "cdata"
    START = "start"
    END = "end"
    EMPTY = "empty"
    TEXT = "text"
    STRAY = "stray"  # a `<` that begins nothing, with all that follows where it begins what never ends


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the document. `name` is set for tags, `inside` is the element around it.

    Inside an element in a namespace `inside` is `FOREIGN`: what the elements there are called means nothing to us.
    """

    kind: Kind
    text: str
    offset: int
    name: str = ""
    inside: str = ""


# Nothing in a tag is tried twice: what a tag could go back to would be kept for each of its characters.
_TOKEN = re.compile(
    r"""
      (?P<declaration><\?xml[ \t\r\n].*?\?>)
    | (?P<instruction><\?.*?\?>)
    | (?P<comment><!--.*?-->)
    | (?P<cdata><!\[CDATA\[.*?\]\]>)
    | (?P<doctype><!DOCTYPE)
    | (?P<end></(?P<end_name>[^\s<>/="']+)\s*>)
    | (?P<start><(?P<start_name>[^\s<>/="'!?]+)(?:\s(?:[^<>"']++|"[^"]*+"|'[^']*+')*+)?+/?>)
    | (?P<text>[^<]+)
    | (?P<stray><(?:!--|!\[CDATA\[|\?).*|<)
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens(document: str) -> Iterator[Token]:
    """The pieces of `document` in order; their texts joined are the document."""
    open_elements: list[str] = []
    for match in _TOKEN.finditer(document):
        inside = open_elements[-1] if open_elements else ""
        group = match.lastgroup if match.lastgroup not in ("end_name", "start_name") else None
        text, offset = match.group(), match.start()
        if name := match.group("start_name"):
            empty = text.endswith("/>")
            yield Token(Kind.EMPTY if empty else Kind.START, text, offset, name.rstrip("/"), inside)
            if not empty:
                foreign = inside == FOREIGN or ":" in name or _DEFAULT_NAMESPACE.search(text)
                open_elements.append(FOREIGN if foreign else name)
        elif name := match.group("end_name"):
            yield Token(Kind.END, text, offset, name, inside)
            if open_elements:
                open_elements.pop()
        else:
            yield Token(Kind(group or "stray"), text, offset, "", inside)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute as it stands in a tag: `raw` is what is between the quotes, `offset` that of its name."""

    name: str
    raw: str
    offset: int

    @property
    def value(self) -> str:
        """The value as a parser gives it, apart from white space."""
        return REFERENCE.sub(character, self.raw)


_ATTRIBUTE = re.compile(r"""\s(?P<name>[^\s=<>"'/]+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')""")


def attributes(tag: Token) -> Iterator[Attribute]:
    """The attributes of a start tag, namespace declarations included."""
    for match in _ATTRIBUTE.finditer(tag.text):
        raw = match["single"] if match["double"] is None else match["double"]
        yield Attribute(match["name"], raw, tag.offset + match.start("name"))


def code_point(reference: re.Match[str]) -> int | None:
    """The number of a character reference, at most a little above what Unicode has; `None` of any other."""
    digits = reference["decimal"] or reference["hex"]
    if not digits:
        return None
    return min(int(digits.lstrip("0")[:8] or "0", 16 if reference["hex"] else 10), 0x110000)


def character(reference: re.Match[str]) -> str:
    """What a match of `REFERENCE` stands for; itself where that is no character."""
    number = code_point(reference)
    if number is None:
        return _NAMED.get(reference["name"], reference.group())
    return chr(number) if number <= 0x10FFFF else reference.group()


def cdata(piece: Token) -> str:
    """The text in a CDATA section."""
    return piece.text[len(_CDATA[0]) : -len(_CDATA[1])]


_RUN = {
    Kind.TEXT: re.compile(r"&[^&;]*;|&|\r\n?|[^&\r]+"),
    Kind.CDATA: re.compile(r"\r\n?|[^\r]+"),
}


class Spelling:
    """Character data as a parser gives it, and where in the document each of its characters is spelled."""

    def __init__(self, pieces: Iterable[Token]) -> None:
        self._indexes: list[int] = []
        self._offsets: list[int] = []
        self.end = 0
        """Offset where the last of the pieces ends."""
        read: list[str] = []
        length = 0
        for piece in pieces:
            text, offset = piece.text, piece.offset
            if piece.kind is Kind.CDATA:
                text, offset = cdata(piece), offset + len(_CDATA[0])
            for match in _RUN[piece.kind].finditer(text):
                run = match.group()
                if run.startswith("\r"):
                    run = "\n"
                elif run.startswith("&") and piece.kind is Kind.TEXT:
                    run = REFERENCE.sub(character, run)
                self._indexes.append(length)
                self._offsets.append(offset + match.start())
                read.append(run)
                length += len(run)
            self.end = piece.offset + len(piece.text)
        self.text = "".join(read)

    def offset(self, index: int) -> int:
        """Where in the document the character at `index` is."""
        if index >= len(self.text) or not self._indexes:
            return self.end
        run = bisect_right(self._indexes, index) - 1
        return self._offsets[run] + index - self._indexes[run]
