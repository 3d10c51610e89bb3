"""The text of a document with its tokens and its parsed elements, so that each fault has a place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from lxml import etree

from xmcp_conformance.core.observation import Place

from .source_positions import Lines
from .xml_tokens import Attribute, CharacterData, Kind, Token, attributes, tokens

_TAGS = (Kind.START, Kind.EMPTY)


class Source:
    """A document as text. `bind` connects it with the parsed elements; before that only offsets have places.

    Args:
        text: the document.
        lines: its lines.
        most_elements: number of elements after which no more tokens are read.
    """

    def __init__(self, text: str, lines: Lines, most_elements: int) -> None:
        self.text = text
        self.lines = lines
        self.tokens: list[Token] = []
        self.elements = 0
        self.depth = 0
        """The depth of the deepest element; the root has 1."""
        self._starts: dict[etree._Element, int] = {}
        depth = 0
        for token in tokens(text):
            self.tokens.append(token)
            if token.kind in _TAGS:
                self.elements += 1
                self.depth = max(self.depth, depth + 1)
                depth += token.kind is Kind.START
            elif token.kind is Kind.END:
                depth -= 1
            # After a stray `<` the rest has no structure that could be judged.
            if self.elements > most_elements or token.kind is Kind.STRAY:
                break

    @cached_property
    def size(self) -> int:
        """The number of bytes in UTF-8."""
        return len(self.text.encode("utf-8", "surrogatepass"))

    def place(self, offset: int) -> Place:
        """Return the place of the character at `offset`."""
        return self.lines.place(offset)

    def bind(self, root: etree._Element) -> None:
        """Connect every element with its start tag."""
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        tags = [index for index, token in enumerate(self.tokens) if token.kind in _TAGS]
        if len(elements) == len(tags):
            self._starts = dict(zip(elements, tags, strict=True))

    def of(self, element: etree._Element) -> Place:
        """Return the place of an element's start tag."""
        tag = self._starts.get(element)
        return self.place(self.tokens[tag].offset) if tag is not None else Place(1, 1)

    def of_attribute(self, element: etree._Element, name: str) -> Place:
        """Return the place of an attribute by its name in the text; that of the element where there is none."""
        found = next((attribute for attribute in self._attributes(element) if attribute.name == name), None)
        return self.place(found.offset) if found else self.of(element)

    def _attributes(self, element: etree._Element) -> Iterator[Attribute]:
        tag = self._starts.get(element)
        return attributes(self.tokens[tag]) if tag is not None else iter(())

    def content(self, element: etree._Element) -> CharacterData:
        """Return the character data of an element itself, without that of the elements in it."""
        tag = self._starts.get(element)
        return CharacterData(self._own_text(tag) if tag is not None else ())

    def _own_text(self, tag: int) -> Iterator[Token]:
        if self.tokens[tag].kind is Kind.EMPTY:
            return
        depth = 0
        for token in islice(self.tokens, tag + 1, None):
            if token.kind is Kind.END:
                if depth == 0:
                    return
                depth -= 1
            elif token.kind is Kind.START:
                depth += 1
            elif depth == 0 and token.kind in (Kind.TEXT, Kind.CDATA):
                yield token
