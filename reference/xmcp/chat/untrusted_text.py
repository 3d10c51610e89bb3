"""Text of a peer, made safe for a log or a message: it cannot act on a terminal, and has no credentials. Pure."""

from __future__ import annotations

import re
from typing import Final

_SECRETS_IN_URL: Final = re.compile(r"(?i)(?<=://)[^\s/'\"]*@|(?<=\S)\?[^\s'\"]*(?==)[^\s'\"]*")


def printable(text: str) -> str:
    """Return the text with every character escaped that is not printable, line breaks included."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def without_secrets(text: str) -> str:
    """Return `text` without the user, password and query of every URL in it."""
    return _SECRETS_IN_URL.sub("", text)
