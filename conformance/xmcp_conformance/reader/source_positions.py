"""Lines and columns of a text, counted as editors count them."""

from __future__ import annotations

import re

from xmcp_conformance.core.observation import Place

_LINE_END = re.compile(r"\r\n?|\n")
_MARK = "\ufeff"


class Lines:
    """The lines of a text. CR, LF and CRLF end a line each; a byte order mark at the beginning is not a column.

    No memory is used for each line, because a text can consist of line ends. Looking places up in their order is fast.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._first = len(_MARK) if text.startswith(_MARK) else 0
        self._known = (0, 1, self._first)  # an offset, its line, and the offset where that begins
        self._offsets: dict[Place, int] = {}

    def place(self, offset: int) -> Place:
        """Return the place of the character at `offset`; the end of the text has a place too."""
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
        """Return the text before and after `place` in its line, each cut to that many characters and `…`.

        Both are empty for a place that the method `place` did not return.
        """
        if (at := self._offsets.get(place)) is None:
            return "", ""
        start = at - place.column + 1
        before, after = self._text[max(start, at - characters) : at], self._text[at : at + characters + 1]
        after = _LINE_END.split(after, maxsplit=1)[0]
        return "…" * (start < at - characters) + before, after[:characters] + "…" * (len(after) > characters)
