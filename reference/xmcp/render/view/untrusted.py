"""Untrusted text, made safe to show (spec section 8.4).

Pure functions from any string to a string that moves no cursor, hides nothing and cannot be mistaken for
something else.
"""

from __future__ import annotations

import re
import unicodedata

_SURROGATES = re.compile("[\ud800-\udfff]")
_BIDI = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_LINK = re.compile(r"(?:https?://[^\s\\/][^\s\\]*|mailto:[^\s\\/][^\s\\]*)", re.IGNORECASE)

_VISIBLE: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **{code: f"<U+{code:04X}>" for code in range(0x80, 0xA0)},
    **{code: f"<U+{code:04X}>" for code in _BIDI},
    0x2028: "\n",
    0x2029: "\n",
}
"""C0 and C1 characters start escape sequences; bidi overrides and isolates would reorder the neighbouring cells.
Joiners and marks are kept, because scripts and emoji need them."""


def visible(text: str) -> str:
    """Return `text` of several lines with control and bidi characters as visible signs, and tabs as spaces."""
    text = _SURROGATES.sub("\ufffd", text).replace("\r\n", "\n")
    return text.translate(_VISIBLE).expandtabs(4)


def revealed(text: str) -> str:
    """Return `text` like `visible`, with every other invisible character spelled out as well.

    For words that a person acts on (titles, messages, names): there a zero-width or tag character is a disguise.
    """
    return "".join(_reveal(char) for char in visible(text))


def _reveal(char: str) -> str:
    if char in "\u200c\u200d":
        return ""
    return f"<U+{ord(char):04X}>" if unicodedata.category(char) == "Cf" else char


def label(text: str, limit: int = 200) -> str:
    """Return `revealed(text)` on one line of at most `limit` characters; an ellipsis ends it if it was cut."""
    start = text[: 4 * limit]
    line = " ".join(revealed(start).split())
    return line if len(line) <= limit and len(start) == len(text) else line[: limit - 1] + "…"


def link(uri: str) -> str | None:
    """Return `uri` if it is an `http`, `https` or `mailto` link without hidden parts, else None.

    None for `//host`, and for backslashes, white space, control and invisible characters.
    """
    return uri if _LINK.fullmatch(uri) and uri.isprintable() else None
