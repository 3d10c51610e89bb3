"""Lines and columns of a text, counted as editors count them."""

from __future__ import annotations

import re

from xmcp_conformance.core.observation import Place

_LINE_END = re.compile(r"\r\n?|\n")
_MARK = "\ufeff"


class Lines:
    """The lines of a text. CR, LF and CRLF end one each; a byte order mark at the beginning is no column.

    Nothing is kept for each line, for a text can be nothing but lines. Places are found fastest in their order.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._first = len(_MARK) if text.startswith(_MARK) else 0
        self._known = (0, 1, self._first)  # an offset, its line, and the offset where that begins
        self._offsets: dict[Place, int] = {}

    def place(self, offset: int) -> Place:
        """The place of the character at `offset`; the end of the text has one too."""
        text = self._text
        # The second half of a line end belongs to the line that it ends.
        at = offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset
        known, line, start = self._known if at >= self._known[0] else (0, 1, self._first)
        line += text.count("\n", known, at) + text.count("\r", known, at) - text.count("\r\n", known, at)
        start = max(text.rfind("\n", known, at) + 1, text.rfind("\r", known, at) + 1, start)
        self._known = (at, line, start)
        place = Place(line, max(offset - start, 0) + 1)
        self._offsets[place] = offset
        return place

    def around(self, place: Place, characters: int) -> tuple[str, str]:
        """What stands before and from `place` on in its line, up to that many characters each and `…`.

        Nothing for a place that is not one that `place` gave.
        """
        if (at := self._offsets.get(place)) is None:
            return "", ""
        start = at - place.column + 1
        before, after = self._text[max(start, at - characters) : at], self._text[at : at + characters + 1]
        after = _LINE_END.split(after, maxsplit=1)[0]
        return "…" * (start < at - characters) + before, after[:characters] + "…" * (len(after) > characters)
