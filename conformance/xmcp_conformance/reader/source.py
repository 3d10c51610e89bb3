"""The text of a document with its pieces and its parsed elements, so that each fault has a place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from lxml import etree

from xmcp_conformance.core.observation import Place

from .markup import Attribute, Kind, Spelling, Token, attributes, tokens
from .places import Lines

_TAGS = (Kind.START, Kind.EMPTY)


class Source:
    """A document as text. `bind` joins it with what the parser made of it; before that only offsets have places.

    Args:
        text: the document.
        lines: its lines.
        most_elements: where to stop cutting it into pieces.
    """

    def __init__(self, text: str, lines: Lines, most_elements: int) -> None:
        self.text = text
        self.lines = lines
        self.pieces: list[Token] = []
        self.elements = 0
        self.depth = 0
        """Of the deepest element; the root has 1."""
        self._starts: dict[etree._Element, int] = {}
        depth = 0
        for piece in tokens(text):
            self.pieces.append(piece)
            if piece.kind in _TAGS:
                self.elements += 1
                self.depth = max(self.depth, depth + 1)
                depth += piece.kind is Kind.START
            elif piece.kind is Kind.END:
                depth -= 1
            # Past what begins nothing there is no structure that anybody could mean.
            if self.elements > most_elements or piece.kind is Kind.STRAY:
                break

    @cached_property
    def size(self) -> int:
        """Bytes of UTF-8."""
        return len(self.text.encode("utf-8", "surrogatepass"))

    def place(self, offset: int) -> Place:
        """The place of the character at `offset`."""
        return self.lines.place(offset)

    def bind(self, root: etree._Element) -> None:
        """Find the tag of every element."""
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        tags = [index for index, piece in enumerate(self.pieces) if piece.kind in _TAGS]
        if len(elements) == len(tags):
            self._starts = dict(zip(elements, tags, strict=True))

    def of(self, element: etree._Element) -> Place:
        """The place of an element's start tag."""
        tag = self._starts.get(element)
        return self.place(self.pieces[tag].offset) if tag is not None else Place(1, 1)

    def of_attribute(self, element: etree._Element, name: str) -> Place:
        """The place of an attribute by its name in the text; that of the element where it has none."""
        found = next((attribute for attribute in self._attributes(element) if attribute.name == name), None)
        return self.place(found.offset) if found else self.of(element)

    def _attributes(self, element: etree._Element) -> Iterator[Attribute]:
        tag = self._starts.get(element)
        return attributes(self.pieces[tag]) if tag is not None else iter(())

    def content(self, element: etree._Element) -> Spelling:
        """The character data of an element itself, without that of the elements in it."""
        tag = self._starts.get(element)
        return Spelling(self._own_text(tag) if tag is not None else ())

    def _own_text(self, tag: int) -> Iterator[Token]:
        if self.pieces[tag].kind is Kind.EMPTY:
            return
        depth = 0
        for piece in islice(self.pieces, tag + 1, None):
            if piece.kind is Kind.END:
                if depth == 0:
                    return
                depth -= 1
            elif piece.kind is Kind.START:
                depth += 1
            elif depth == 0 and piece.kind in (Kind.TEXT, Kind.CDATA):
                yield piece
