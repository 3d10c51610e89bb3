"""Text of a peer or a file, made safe to print: it cannot act on a terminal, and it is cut to a bounded length."""

from __future__ import annotations

SHOWN = 300
"""Maximum number of characters of untrusted text that a report quotes."""


def quoted(text: str, around: int | None = None) -> str:
    """Return untrusted text for a report: escaped, and cut to `SHOWN` characters.

    Args:
        text: the text.
        around: an index in it that the cut keeps in view.
    """
    if around is not None and around > SHOWN // 2:
        text = "…" + text[around - SHOWN // 2 : around + SHOWN]
    return printable(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def printable(text: str) -> str:
    """Return the text with every character escaped that is not printable; the others stay as they are."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode("ascii")
        for char in text
    )
