"""Strings as character data and attribute values of XML 1.0, so that every parser returns them exactly.

A character that XML 1.0 cannot carry becomes U+FFFD, which is reported; characters that a parser would change are
written as references (CR in text, TAB and LF in attributes). No comments, no pretty-printing.
"""

from __future__ import annotations

import re
from typing import Literal

Illegal = Literal["replace", "error"]
"""What to do with a character that the wire cannot carry: write U+FFFD instead, or raise ValueError."""

_CONTROLS = bytes([*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20)])
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def legal(text: str, where: str, illegal: Illegal) -> tuple[str, bool]:
    """Return the text with U+FFFD for every character that XML 1.0 cannot carry, and whether there was one.

    Raises:
        ValueError: There is one, and `illegal` is "error"; the message has `where` and the first such character.
    """
    if _is_legal(text):
        return text, False
    if illegal == "error" and (found := _ILLEGAL.search(text)):
        raise ValueError(f"{where}: XML 1.0 cannot carry U+{ord(found[0]):04X} at index {found.start()}")
    return _ILLEGAL.sub("\ufffd", text), True


def _is_legal(text: str) -> bool:
    # These passes in C take a seventh of the time of a search with _ILLEGAL.
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return False
    if len(encoded.translate(None, _CONTROLS)) != len(encoded):
        return False
    return text.isascii() or ("\ufffe" not in text and "\uffff" not in text)


CDATA, CDATA_END = "<![CDATA[", "]]>"

_FORGED = re.compile("</?(?:tool_response|llm_output|display|error|meta|server_populated)", re.IGNORECASE)
"""What CDATA must not show to a reader that does not parse (XMCP-RSP-027), and a few longer names."""


def character_data(text: str) -> str:
    """Return legal text as character data: as CDATA where that is shorter and can carry it, otherwise escaped."""
    longer = 4 * text.count("&") + 3 * text.count("<")
    if longer <= len(CDATA + CDATA_END) or "\r" in text or CDATA_END in text or _FORGED.search(text):
        return escape(text)
    return f"{CDATA}{text}{CDATA_END}"


def escape(text: str) -> str:
    """Return legal text as character data with references."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    return text.replace("\r", "&#13;") if "\r" in text else text


def escape_attribute(text: str) -> str:
    """Return legal text as an attribute value for double quotes."""
    text = escape(text).replace(">", "&gt;").replace('"', "&quot;")
    return text.replace("\t", "&#9;").replace("\n", "&#10;")
