"""Mutations of regular expressions, in the subset of their syntax that our schemas use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<class>\[(?:\\.|[^\]\\])*\]) | (?P<open>\((?:\?:)?) | (?P<close>\)) | (?P<or>\|)
      | (?P<anchor>[\^$]) | (?P<times>[*+?]|\{[0-9]+(?:,[0-9]*)?\}) | (?P<literal>\\.|.)""",
    re.VERBOSE | re.DOTALL,
)
_ITEM = re.compile(r"\\.-\\.|[^\\]-[^\\]|\\.|.", re.DOTALL)
_ANYTHING = r"[\s\S]"


@dataclass(slots=True)
class _Token:
    kind: str
    text: str


def mutated_patterns(pattern: str) -> list[str]:
    """Return every pattern that differs from `pattern` in one part.

    An anchor, an alternative, a member of a class or a literal text is removed; a class accepts any character; a
    quantifier is moved by one.
    """
    parts = [_Token(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(pattern)]
    found: dict[str, None] = {}
    for index, part in enumerate(parts):
        for changed in _PARTS[part.kind](part.text) if part.kind in _PARTS else ():
            found["".join(p.text if i != index else changed for i, p in enumerate(parts))] = None
    for start, end in (*_alternatives(parts), *_literals(parts)):
        found["".join(p.text for i, p in enumerate(parts) if not start <= i < end)] = None
    found.pop(pattern, None)
    return list(found)


def _class(text: str) -> Iterator[str]:
    negated = "^" if text.startswith("[^") else ""
    items = _ITEM.findall(text[1 + len(negated) : -1])
    yield _ANYTHING
    for index in range(len(items) if len(items) > 1 else 0):
        yield f"[{negated}{''.join(items[:index] + items[index + 1 :])}]"


def _times(text: str) -> Iterator[str]:
    if text[0] != "{":
        yield ""
        yield "*" if text == "+" else "+"
        return
    least, _, most = text[1:-1].partition(",")
    low, high = int(least), int(most or least)
    for bounds in ((low - 1, high), (low + 1, high), (low, high - 1), (low, high + 1)):
        if 0 <= bounds[0] <= bounds[1]:
            yield f"{{{bounds[0]},{bounds[1]}}}"


_PARTS: dict[str, Callable[[str], Iterable[str]]] = {
    "class": _class,
    "times": _times,
    "anchor": lambda _: ("",),
    "literal": lambda text: (_ANYTHING,) if len(text) > 1 else (),
}


def _alternatives(parts: list[_Token]) -> Iterator[tuple[int, int]]:
    """Yield the range of each alternative, including one of the bars next to it."""
    open_at: list[list[int]] = [[-1]]
    for index, part in enumerate([*parts, _Token("close", "")]):
        if part.kind == "open":
            open_at.append([index])
        elif part.kind == "or":
            open_at[-1].append(index)
        elif part.kind == "close":
            bars = [*open_at.pop(), index]
            for number in range(len(bars) - 1 if len(bars) > 2 else 0):
                last = number == len(bars) - 2
                yield (bars[number], index) if last else (bars[number] + 1, bars[number + 1] + 1)


def _literals(parts: list[_Token]) -> Iterator[tuple[int, int]]:
    """Yield the range of each run of literal characters. A character with a quantifier is a run of its own."""
    start = 0
    for index, part in enumerate([*parts, _Token("end", "")]):
        if part.kind == "times" and index and parts[index - 1].kind == "literal":
            if start < index - 1:
                yield start, index - 1
            yield index - 1, index + 1
        elif part.kind == "literal":
            continue
        elif start < index:
            yield start, index
        start = index + 1
