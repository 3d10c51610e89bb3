"""The raw text of a document as tokens, without judging it.

A parser hides what an emitter did: whether text came as CDATA, whether a carriage return was raw, whether
there was a comment. The strict reader needs to see it, and needs to see it in documents that no parser accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

FOREIGN = ":"
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


_TOKEN = re.compile(
    r"""
      (?P<declaration><\?xml[ \t\r\n].*?\?>)
    | (?P<instruction><\?.*?\?>)
    | (?P<comment><!--.*?-->)
    | (?P<cdata><!\[CDATA\[.*?\]\]>)
    | (?P<doctype><!DOCTYPE)
    | (?P<end></(?P<end_name>[^\s<>/="']+)\s*>)
    | (?P<start><(?P<start_name>[^\s<>/="'!?]+)(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?/?>)
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
