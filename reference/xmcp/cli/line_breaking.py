"""Line breaking of a text that arrives in pieces."""

from __future__ import annotations

import re

from rich.cells import cell_len

_PARTS = re.compile(r"\n|[^\S\n]+|\S+")


class Flow:
    """Breaks a stream of text into lines of at most `width` cells; a longer word is not broken."""

    def __init__(self, width: int, indent: str = "") -> None:
        self._width = width
        self._indent = indent
        self._column = 0
        self._gap = ""
        self._word = ""

    def feed(self, piece: str) -> str:
        """Return the text that can be printed after `piece`; an unfinished word is kept back."""
        out = ""
        for part in _PARTS.findall(piece):
            if not part.isspace():
                self._word += part
                continue
            out += self.close()
            if part == "\n":
                out += f"\n{self._indent}"
                self._column, self._gap = 0, ""
            elif self._column:
                self._gap = " "
        return out

    def close(self) -> str:
        """Return the word that was kept back."""
        word, self._word = self._word, ""
        if not word:
            return ""
        gap, self._gap = self._gap, ""
        if self._column and self._column + len(gap) + cell_len(word) > self._width:
            gap, self._column = f"\n{self._indent}", 0
            self._column = cell_len(word)
        else:
            self._column += len(gap) + cell_len(word)
        return gap + word
