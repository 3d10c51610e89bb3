"""Characters that a terminal's encoding does not have, such as ✓ on cp1252: written as ASCII or words, not as `?`."""

from __future__ import annotations

import codecs
import sys
import unicodedata
from io import TextIOWrapper
from typing import Final

HANDLER: Final = "xmcp-ascii"
"""The name of the error handler of codecs."""

# A mark at the beginning of a line is one character, so that columns stay in line.
_IN_ASCII: Final = {
    **dict.fromkeys("✓✔✚", "+"),
    **dict.fromkeys("✗✖×", "x"),
    **dict.fromkeys("·", "."),
    **dict.fromkeys("−–—─━═", "-"),
    **dict.fromkeys("│┤├┃║", "|"),
    **dict.fromkeys("┌┐└┘┬┴┼╭╮╰╯┏┓┗┛╞╡╪", "+"),
    **dict.fromkeys("•●★", "*"),
    **dict.fromkeys("█▉▊▋▌■▇▆▅", "#"),
    **dict.fromkeys("▍▎▏▀▄▃▂▁", ":"),
    **dict.fromkeys("○◆◇□", "o"),
    **dict.fromkeys("▲△", "^"),
    **dict.fromkeys("▼▽", "v"),
    **dict.fromkeys("▶❯", ">"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    "…": "...",
    "→": "->",
    "←": "<-",
    "€": "EUR",
    "≠": "!=",
    "≤": "<=",
    "≥": ">=",
    "½": " 1/2",
    "²": "^2",
    "³": "^3",
    "°": " deg",
    "µ": "u",
    "±": "+/-",
    "ß": "ss",
    "Æ": "AE",
    "æ": "ae",
    "Ø": "O",
    "ø": "o",
    "£": "GBP",
    "¥": "JPY",
    "ℹ": "i",
}
_BRAILLE: Final = range(0x2801, 0x2900)
"""The dots of a drawn line; 0x2800 is the one without dots."""


_ACCENTS: Final = (220, 230)
"""The combining classes of marks below and above a letter, which can be left out; a stroke through it cannot."""
_EMOJI_PARTS: Final = "\u200d\ufe0e\ufe0f"


def write_ascii_where_needed() -> None:
    """Have standard output and standard error write in ASCII what their encoding does not have."""
    codecs.register_error(HANDLER, _replacement)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=HANDLER)


def in_ascii(char: str) -> str:
    """Return a character in ASCII: what stands for it, a sign's name in words, or its number, as in `<U+65E5>`."""
    if ord(char) in _BRAILLE:
        return "*"
    if char.isascii():
        return char
    if char.isspace() or ord(char) == 0x2800:
        return " "
    if char in _IN_ASCII:
        return _IN_ASCII[char]
    if unicodedata.combining(char) in _ACCENTS or char in _EMOJI_PARTS:
        return ""
    base = unicodedata.normalize("NFD", char)[0]  # never of a sign: `≠` without its stroke says the opposite
    if base.isascii() and base.isalpha():
        return base
    name = unicodedata.name(char, "").lower() if unicodedata.category(char) == "So" else ""
    return f"[{name}]" if name else f"<U+{ord(char):04X}>"


def _replacement(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(in_ascii, error.object[error.start : error.end])), error.end
