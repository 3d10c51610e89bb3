"""Where a document is cut that arrives in pieces: where a reader loses something that looks at each piece alone."""

from __future__ import annotations

import base64
from random import Random
from typing import Any, Final

_OPENING: Final = 40
"""In so many bytes is the XML declaration of a document that has one."""


def in_pieces(document: str | bytes, random: Random) -> dict[str, Any]:
    """Return the members of a vector for a document that arrives in pieces of bytes, or of characters.

    Zero bytes are characters here: of bytes, a reader can take them for another encoding.
    """
    if isinstance(document, str) and ("\0" in document or random.random() < _OF_CHARACTERS):
        return {"document": document, "chunks": {"characters": _length_of_pieces(document, random)}}
    in_bytes = document.encode() if isinstance(document, str) else document
    return {"document": {"$base64": base64.b64encode(in_bytes).decode()}, "chunks": {"cuts": _cuts(in_bytes, random)}}


_OF_CHARACTERS: Final = 0.25


def _length_of_pieces(document: str, random: Random) -> int:
    """Return a length with which a mark that is part of the text stands at the beginning of a piece."""
    mark = document.find("\ufeff", 1)
    return mark if mark > 0 else random.randrange(1, len(document) + 1)


def _cuts(document: bytes, random: Random) -> list[int]:
    end = len(document)
    places = [*random.sample(range(end), min(4, end)), random.randrange(min(_OPENING, end) or 1)]
    places += [document.find(b"\r") + 1, max(0, document.find("\ufeff".encode(), 1))]
    # The first piece can be empty, one in the middle, and the last.
    return sorted([*places, random.choice((0, end, *places)), *([end] * (random.random() < _EMPTY_AT_THE_END))])


_EMPTY_AT_THE_END: Final = 0.3
