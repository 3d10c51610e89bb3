"""Text from strangers, made safe to print in a terminal.

What may live here: pure functions from a string that anybody may have written to a string that moves no cursor, hides
nothing and cannot be taken for something else. What may not: drawing, and decisions about which part of a display is
shown. Source: wire.md 7.6 (4 rendering, 7 Unicode).
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
"""Escape sequences start with C0 or C1 characters, so these never pass; overrides and isolates would reorder the
neighbouring cells. Joiners and marks stay: scripts and emoji need them."""


def visible(text: str) -> str:
    """Return `text` for a body of several lines: control and bidi characters shown as signs, tabs as spaces."""
    text = _SURROGATES.sub("\ufffd", text).replace("\r\n", "\n")
    return text.translate(_VISIBLE).expandtabs(4)


def revealed(text: str) -> str:
    """Return `text` like `visible`, with every other invisible character spelled out too.

    For words a person acts on (titles, messages, names): a zero-width or tag character there is a disguise.
    """
    return "".join(_reveal(char) for char in visible(text))


def _reveal(char: str) -> str:
    if char in "\u200c\u200d":
        return ""
    return f"<U+{ord(char):04X}>" if unicodedata.category(char) == "Cf" else char


def label(text: str, limit: int = 200) -> str:
    """Return `text` revealed, on one line and at most `limit` characters long; an ellipsis ends what was cut."""
    start = text[: 4 * limit]
    line = " ".join(revealed(start).split())
    return line if len(line) <= limit and len(start) == len(text) else line[: limit - 1] + "…"


def link(uri: str) -> str | None:
    """Return `uri` if it is an `http`, `https` or `mailto` link that reads as what it is, else None.

    `//host`, backslashes, white space, control and invisible characters make it no link.
    """
    return uri if _LINK.fullmatch(uri) and uri.isprintable() else None
