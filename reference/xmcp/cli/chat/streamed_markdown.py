"""Markdown that arrives in pieces, cut into blocks: one that is finished is drawn once, and never again. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt

_BLOCKS: Final = MarkdownIt("commonmark").enable("table").disable("inline")


class StreamedMarkdown:
    """The Markdown of one answer: what has arrived of the block that is not finished, and the blocks before it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    @property
    def open(self) -> str:
        """What has arrived and is in no finished block."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def feed(self, piece: str) -> None:
        """Take a piece. It costs nothing; `finished` looks for blocks."""
        self._pieces.append(piece)

    def finished(self) -> list[str]:
        """Return the blocks at the beginning of `open` to which nothing can be added any more, and take them out.

        A block is finished when a later one has begun with a whole line: half a line can become part of the block.
        """
        text = self.open
        whole = text[: text.rfind("\n") + 1]
        starts = [
            token.map[0] for token in _BLOCKS.parse(whole) if token.level == 0 and token.map and token.nesting >= 0
        ]
        if len(starts) < 2:
            return []
        lines = text.split("\n")
        self._pieces = ["\n".join(lines[starts[-1] :])]
        starts[0] = 0  # empty lines before the first block are of it
        return ["\n".join(lines[begin:end]) for begin, end in pairwise(starts)]

    def close(self) -> str:
        """Return what is left, and forget it."""
        left, self._pieces = self.open, []
        return left
