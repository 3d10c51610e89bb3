"""Parse a document with lxml, as a namespace-aware parser that resolves nothing and loads nothing."""

from __future__ import annotations

import re

from lxml import etree

from .source import Source
from .xml_tokens import REFERENCE, Kind, attributes, bare_ampersands, character

_TAGS = (Kind.START, Kind.EMPTY)
_NAMESPACES_WITH_A_MEANING = {
    "",
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
    "http://www.w3.org/2001/XMLSchema-instance",
}


def root_of(source: Source) -> etree._Element:
    """Return the root element of the document.

    Raises:
        etree.XMLSyntaxError: the text is not well-formed, or its namespaces are not.
    """
    try:
        return _parsed(source.text)
    except etree.XMLSyntaxError as error:
        # libxml2 also requires each namespace name to be a URI, which well-formedness does not.
        entries = iter(error.error_log)  # type: ignore[call-overload] # the stubs do not know that it can be iterated
        if all(entry.type != etree.ErrorTypes.WAR_NS_URI for entry in entries):
            raise
        return _parsed(_with_uris(source))


def _parsed(text: str) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    # The declaration is blanked out, so that its encoding does not matter; lines and columns stay as they are.
    body = re.sub(r"^\s*<\?xml[^>]*\?>", _blank, text.removeprefix("\ufeff"))
    return etree.fromstring(body.encode("utf-8", "surrogatepass"), parser)


def _with_uris(source: Source) -> str:
    """Return the text with a URI for each namespace name, equal where the names are equal; faults stay as they are."""
    parts, end = [], 0
    for attribute in (found for token in source.tokens if token.kind in _TAGS for found in attributes(token)):
        name = re.sub("[\t\r\n]", " ", re.sub("\r\n", "\n", attribute.raw))
        declares = attribute.name == "xmlns" or attribute.name.startswith("xmlns:")
        if declares and "<" not in name and next(bare_ampersands(name), None) is None:
            name = REFERENCE.sub(character, name)
            if name not in _NAMESPACES_WITH_A_MEANING:
                begin = source.text.index(attribute.raw, attribute.offset + len(attribute.name))
                parts += [source.text[end:begin], "urn:x:", name.encode("utf-8", "surrogatepass").hex()]
                end = begin + len(attribute.raw)
    return "".join([*parts, source.text[end:]])


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\r\n]", " ", match.group())
