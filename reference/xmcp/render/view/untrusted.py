"""Untrusted text, made safe to show (spec section 8.4).

Pure functions from any string to a string that moves no cursor, hides nothing and cannot be mistaken for
something else. The tables are those of the other renderers too, and do not depend on the Unicode version of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

NONCHARACTERS: Final[Ranges] = (
    (0xD800, 0xDFFF),
    (0xFDD0, 0xFDEF),
    *((plane + 0xFFFE, plane + 0xFFFF) for plane in range(0, 0x110000, 0x10000)),
)
"""Lone surrogates, and code points that Unicode never assigns to a character; XML has no place for some of them."""
BIDI: Final[Ranges] = ((0x202A, 0x202E), (0x2066, 0x2069))
"""Bidi overrides, embeddings and isolates: they would reorder the neighbouring cells."""
JOINERS: Final[Ranges] = ((0x200C, 0x200D),)
"""Characters that join or part letters and emoji, and show nothing else."""
HIDDEN: Final[Ranges] = (
    *((0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2)),
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F), (0x2060, 0x2065)),
    *((0x206A, 0x206F), (0x3164, 0x3164), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB)),
    *((0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
    *((0xE0000, 0xE00FF), (0xE01F0, 0xE0FFF)),
)
"""Format characters and fillers, which show nothing or change others: the category Cf of Unicode 17 and its like."""
BLANK: Final[Ranges] = (
    *((0x9, 0xA), (0xD, 0xD), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x2800, 0x2800), (0x3000, 0x3000)),
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x2060, 0x2065), (0x206A, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""White space, and characters that leave the screen empty where they stand alone."""


def class_of(*tables: Ranges) -> str:
    """Return a regular expression for one character of these tables."""
    return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for table in tables for low, high in table) + "]"


_NONCHARACTER = re.compile(class_of(NONCHARACTERS))
_JOINER = re.compile(class_of(JOINERS))
_HIDDEN = re.compile(class_of(HIDDEN))
_EMPTY = re.compile(f"(?! )(?:{class_of(BLANK)}|{class_of(HIDDEN)}|{class_of(NONCHARACTERS)})")
_SOMETHING = re.compile("[^" + class_of(BLANK)[1:])


def _codes(table: Ranges) -> Iterable[int]:
    return (code for low, high in table for code in range(low, high + 1))


_VISIBLE: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **{code: f"<U+{code:04X}>" for code in range(0x80, 0xA0)},
    **{code: f"<U+{code:04X}>" for code in _codes(BIDI)},
    0x2028: "\n",
    0x2029: "\n",
}
"""C0 and C1 characters start escape sequences. Joiners and marks are kept, because scripts and emoji need them."""


def visible(text: str) -> str:
    """Return `text` of several lines with control and bidi characters as visible signs, and tabs as spaces."""
    if text.isprintable():  # as most text is; nothing below would change it
        return text
    text = _NONCHARACTER.sub("\ufffd", text).replace("\r\n", "\n")
    return text.translate(_VISIBLE).expandtabs(4)


def revealed(text: str) -> str:
    """Return `text` like `visible`, with every other invisible character spelled out as well.

    For words that a person acts on (titles, messages, names): there a zero-width or tag character is a disguise.
    """
    return _HIDDEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", _JOINER.sub("", visible(text)))


def spelled_out(text: str) -> str:
    """Return text on one line with every character that shows nothing as its code point, also joiners and selectors.

    For what a person allows to be sent: there every character counts.
    """
    return _EMPTY.sub(lambda found: f"<U+{ord(found[0]):04X}>", text).translate(_VISIBLE)


def label(text: str, limit: int = 200) -> str:
    """Return `revealed(text)` on one line of at most `limit` characters; an ellipsis ends it if it was cut."""
    start = text[: 4 * limit]
    line = " ".join(revealed(start).split())
    return line if len(line) <= limit and len(start) == len(text) else line[: limit - 1] + "…"


def is_blank(text: str) -> bool:
    """Tell whether `text` would leave the screen empty."""
    return _SOMETHING.search(text) is None
