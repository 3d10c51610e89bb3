"""The raw text of a document as tokens, without judging it.

A parser hides how a document is written: whether text came as CDATA, whether a carriage return was raw, whether there
was a comment. The strict reader needs to see that, also in documents that no parser accepts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

FOREIGN = ":"
REFERENCE = re.compile(r"&(?:#(?P<decimal>[0-9]+)|#x(?P<hex>[0-9a-fA-F]+)|(?P<name>lt|gt|amp|quot|apos));|&")
NUMBERED = re.compile(r"&#(?:(?P<decimal>[0-9]+)|x(?P<hex>[0-9a-fA-F]+));")
"""A reference by number, which is a character reference."""
_NAMED = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'"}
_BARE = re.compile(r"&(?!(?:#[0-9]+|#x[0-9a-fA-F]+|lt|gt|amp|quot|apos);)")
_CDATA = ("<![CDATA[", "]]>")
_DEFAULT_NAMESPACE = re.compile(r"""\sxmlns\s*=\s*["'][^"']""")


class Kind(StrEnum):
    """The kind of a token."""

    DECLARATION = "declaration"
    DOCTYPE = "doctype"
    COMMENT = "comment"
    INSTRUCTION = "instruction"
    CDATA = "cdata"
    START = "start"
    END = "end"
    EMPTY = "empty"
    TEXT = "text"
    STRAY = "stray"  # a `<` that begins no markup; where it begins markup that never ends, all that follows


TAGS = (Kind.START, Kind.EMPTY)
"""The kinds that begin an element."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the document. `name` is set for tags, `inside` is the name of the element around it.

    Inside an element in a namespace `inside` is `FOREIGN`: the names of the elements there have no meaning for us.
    """

    kind: Kind
    text: str
    offset: int
    name: str = ""
    inside: str = ""


# The quantifiers in a tag are possessive: otherwise the matcher keeps a state for each character to backtrack to.
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
    """Yield the tokens of `document` in order; their texts joined are the document."""
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
    """An attribute in a tag: `raw` is what is between the quotes, `offset` is where its name begins."""

    name: str
    raw: str
    offset: int

    @property
    def value(self) -> str:
        """The value as a parser returns it, except for white space."""
        return REFERENCE.sub(character, self.raw)


_ATTRIBUTE = re.compile(r"""\s(?P<name>[^\s=<>"'/]+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')""")


def attributes(tag: Token) -> Iterator[Attribute]:
    """Yield the attributes of a start tag, namespace declarations included."""
    for match in _ATTRIBUTE.finditer(tag.text):
        raw = match["single"] if match["double"] is None else match["double"]
        yield Attribute(match["name"], raw, tag.offset + match.start("name"))


def code_point(reference: re.Match[str]) -> int:
    """Return the number of a reference by number, cut just above the last of Unicode."""
    digits = reference["decimal"] or reference["hex"]
    return min(int(digits.lstrip("0")[:8] or "0", 16 if reference["hex"] else 10), 0x110000)


def character(reference: re.Match[str]) -> str:
    """Return the character that a match of `REFERENCE` stands for; the match itself where there is none."""
    if not (reference["decimal"] or reference["hex"]):
        return _NAMED.get(reference.group(), reference.group())
    number = code_point(reference)
    return chr(number) if number <= 0x10FFFF else reference.group()


def bare_ampersands(text: str) -> Iterator[int]:
    """Yield the index of every `&` that begins no reference that XML knows."""
    return (match.start() for match in _BARE.finditer(text))


def cdata(section: Token) -> str:
    """Return the text in a CDATA section."""
    return section.text[len(_CDATA[0]) : -len(_CDATA[1])]


_RUN = {
    Kind.TEXT: re.compile(r"&[^&;]*;|&|\r\n?|[^&\r]+"),
    Kind.CDATA: re.compile(r"\r\n?|[^\r]+"),
}


class CharacterData:
    """Character data as a parser returns it, and where in the document each of its characters is written."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._indexes: list[int] = []
        self._offsets: list[int] = []
        self.end = 0
        """The offset at which the last token ends."""
        read: list[str] = []
        length = 0
        for token in tokens:
            text, offset = token.text, token.offset
            if token.kind is Kind.CDATA:
                text, offset = cdata(token), offset + len(_CDATA[0])
            for match in _RUN[token.kind].finditer(text):
                run = match.group()
                if run.startswith("\r"):
                    run = "\n"
                elif run.startswith("&") and token.kind is Kind.TEXT:
                    run = _NAMED.get(run) or REFERENCE.sub(character, run)
                self._indexes.append(length)
                self._offsets.append(offset + match.start())
                read.append(run)
                length += len(run)
            self.end = token.offset + len(token.text)
        self.text = "".join(read)

    def offset(self, index: int) -> int:
        """Return the offset in the document of the character at `index`."""
        if index >= len(self.text) or not self._indexes:
            return self.end
        run = bisect_right(self._indexes, index) - 1
        return self._offsets[run] + index - self._indexes[run]
