"""Tell what a writer of documents did to a text: markup escaped twice, other line ends, a text that was cut."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final
from xml.sax.saxutils import escape, unescape

_BEYOND_ASCII: Final = re.compile("[\u0080-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a document can carry: what stands for the others is the subject of XMCP-RSP-026."""
_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QUOTES: Final = {'"': "&quot;", "'": "&#39;"}
_CHANGES: Final[dict[str, Callable[[str], str]]] = {
    "with its markup escaped twice": escape,
    "with its markup and carriage returns escaped twice": lambda text: escape(text, {"\r": "&#13;"}),
    "with its markup and quotation marks escaped twice": lambda text: escape(text, _QUOTES),
    "with references in it resolved": unescape,
    "with other line ends": lambda text: text.replace("\r\n", "\n").replace("\r", "\n"),
    "without its carriage returns": lambda text: text.replace("\r", ""),
    "without the white space around it": str.strip,
    "with its white space collapsed": lambda text: " ".join(text.split()),
    "with its lines trimmed": lambda text: "\n".join(line.strip() for line in text.split("\n")),
    "with question marks for characters": lambda text: _BEYOND_ASCII.sub("?", text),
    "with UTF-8 read as Latin-1": lambda text: text.encode().decode("latin-1"),
    "with the halves of characters replaced": lambda text: re.sub("[\U00010000-\U0010ffff]", "\ufffd\ufffd", text),
    "without characters beyond U+FFFF": lambda text: re.sub("[\U00010000-\U0010ffff]", "", text),
    "in the normal form NFC": lambda text: unicodedata.normalize("NFC", text),
    "in the normal form NFD": lambda text: unicodedata.normalize("NFD", text),
    "in the normal form NFKC": lambda text: unicodedata.normalize("NFKC", text),
    "in the normal form NFKD": lambda text: unicodedata.normalize("NFKD", text),
}
"""What writers of documents do to a text, in words that follow the text."""
_LOSING: Final = tuple(
    words for words in _CHANGES if "escaped" not in words and "resolved" not in words and "trimmed" not in words
)
LONG: Final = 4_000
_CUT_WITH_DOTS: Final = 100
CUT: Final = "cut off"
WHOLE: Final = ""
_SAYS_CUT: Final = re.compile(r"<llm_output[^>]{0,999}\btruncated\s{0,9}=\s{0,9}[\"'](?:true|1)[\"']")


SENTENCES: Final = {
    "with references in it resolved": "XMCP-RSP-022",
    "with other line ends": "XMCP-RSP-024",
    "without its carriage returns": "XMCP-RSP-024",
    CUT: "XMCP-RSP-082",
}
"""The sentences that some changes break; all others break XMCP-RSP-020."""


def legal(text: str) -> str:
    """Return a text as a document carries it: with U+FFFD for each code point that XML cannot have."""
    return _ILLEGAL.sub("\ufffd", text)


def change_of(trap: str, text: str) -> str | None:
    """Return what became of a trap in a text: empty where it is there as it was sent, `None` where it is not known."""
    if trap in text or legal(trap) in text:
        return WHOLE
    for words, change in _CHANGES.items():
        if (changed := change(trap)) != trap and changed in text:
            return words
    if "\n" in trap and _flush(trap) in _flush(text):
        return "with its lines indented"
    return CUT if len(trap) > LONG and trap[: LONG // 2] in text else None


def _flush(text: str) -> str:
    """Return a text whose lines begin without white space."""
    return re.sub("\n[ \t]+", "\n", text)


def change_between(whole: str, text: str) -> str | None:
    """Return in words what was done to a whole text so that it became another one; `None` where that is not known.

    Only changes that lose something are told, or that indent all lines alike: those that can be undone, such as markup
    that is escaped, say nothing of which of the two texts came first. Of two normal forms of Unicode, `whole` is
    taken for what there was before, which nothing shows.
    """
    if whole == text:
        return None
    for words in _LOSING:
        if _CHANGES[words](whole) == text != whole:
            return words
    _, feed, rest = text.partition("\n")
    indent = rest[: len(rest) - len(rest.lstrip(" \t"))]
    return "with its lines indented" if indent and feed and whole.replace("\n", f"\n{indent}") == text else None


def would_show(trap: str, change: str) -> bool:
    """Return whether a change, by its words, leaves a trap not as it is."""
    return change in _CHANGES and _CHANGES[change](trap) != trap


def is_cut(text: str, whole: str) -> bool:
    """Return whether a long text is the beginning of another one, and either says so by dots or lacks much of it.

    A tool can add a sentence, or lines: what it adds is short, or begins a line.
    """
    begins = text.removesuffix("…").removesuffix("...")
    if begins != text and whole.startswith(text):
        return False  # the dots are the tool's own
    rest = whole.removeprefix(begins)
    least = LONG // 4 if begins == text else _CUT_WITH_DOTS
    if len(begins) <= least or rest == whole or rest.startswith(("\n", "\r")) or begins.endswith("\n"):
        return False
    return len(rest) > LONG // 4 or (begins != text and whole != text)


def says_cut(text: str) -> bool:
    """Return whether a document says that its text was cut."""
    return _SAYS_CUT.search(text.partition(">")[2][:LONG]) is not None
