"""What drawing a Markdown text costs, before it is parsed: its lines, the cells of its tables, its brackets.

The parser makes a cell of each column in every row, even of a row of one letter, and looks from each bracket for the
end of a link.
"""

from __future__ import annotations

import re
from typing import Final

_LINE: Final = re.compile("[\n\u2028\u2029]")
_BELOW_HEADS: Final = re.compile(r"[ \t>]*[-:|][-:| \t\r]*")


def measured(source: str, most: int) -> tuple[int, int]:
    """Return how many characters of `source` have at most `most` pieces, and how many these are.

    A line is as many pieces as it has cells or opening brackets, at least one. Empty lines do not count. Every line up
    to an empty one counts as a row below the line of dashes, also where it is none.
    """
    at = pieces = columns = 0
    before = ""
    for line in _LINE.split(source):
        if not line.strip(" \t\r>"):
            cost = columns = 0
        else:
            if "|" in before and _BELOW_HEADS.fullmatch(line):
                columns = max(columns, len(re.findall("-+", line)))
            cost = max(columns, line.count("["), 1)
        if pieces + cost > most:
            return at, pieces
        pieces += cost
        at += len(line) + 1
        before = line
    return len(source), pieces
