"""The lines at the end of the screen that change: what stands above them is printed once and stays.

A change is one write, from the first line that differs, so that nothing flickers. Where the output is no terminal that
can do so, there are no such lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console, RenderableType

_STYLE: Final = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x1b\\|\x07)")
# One frame for the terminals that can wait for its end; no line is wrapped, or the count of lines would be wrong.
_BEGIN, _END = "\x1b[?2026h\x1b[?7l", "\x1b[?7h\x1b[?2026l"
_ERASE_BELOW: Final = "\x1b[J"


def drawn(console: Console, shown: RenderableType, width: int) -> list[str]:
    """Return the lines of a renderable, with their styles, without empty ones at its beginning and its end."""
    with console.capture() as captured:
        console.print(shown, width=width)
    lines = captured.get().split("\n")
    full = [number for number, line in enumerate(lines) if plain(line).strip()]
    return [line.rstrip(" ") for line in lines[full[0] : full[-1] + 1]] if full else []


def plain(line: str) -> str:
    """Return a line without its styles."""
    return _STYLE.sub("", line)


class LiveLines:
    """The changing lines of a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.possible = console.is_terminal and not console.is_dumb_terminal and not console.legacy_windows
        """Whether there are any."""
        self._lines: list[str] = []

    def show(self, lines: Sequence[str]) -> None:
        """Have these lines at the end of the screen, in place of those before. None may be wider than the screen."""
        if self.possible and self._lines != list(lines):
            self._write("", lines)

    def print(self, lines: Sequence[str], below: Sequence[str]) -> None:
        """Print lines that stay, and below them those that change from now on."""
        if self.possible:
            self._write("".join(f"{line}\n" for line in lines), below)
        else:
            self._put("".join(f"{line}\n" for line in lines))

    def clear(self) -> None:
        """Remove the changing lines; the cursor stands where they began."""
        self.show([])

    def _write(self, above: str, below: Sequence[str]) -> None:
        same = 0
        if not above:
            while same < min(len(below), len(self._lines)) and below[same] == self._lines[same]:
                same += 1
            if below and same == len(below):
                same -= 1  # so that the cursor ends where the last line does
        up = sum(map(self._rows, self._lines[same:])) - 1
        move = f"\r\x1b[{up}A" if up > 0 else "\r"
        # With nothing of the old lines left to rewrite, the cursor stands at the end of the last one.
        down = "\n" if self._lines and same == len(self._lines) else move
        self._put(f"{_BEGIN}{down}{_ERASE_BELOW}{above}{chr(10).join(below[same:])}{_END}")
        self._lines = list(below)

    def _rows(self, line: str) -> int:
        """Return how many rows a line takes; more than one if the screen has become narrower since it was written."""
        return max(1, -(-cell_len(plain(line)) // max(self._console.width, 1)))

    def _put(self, text: str) -> None:
        self._console.file.write(text)
        self._console.file.flush()
