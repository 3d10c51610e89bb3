"""Find out whether a text tells values of JSON: a text as it is or as JSON, any other value as JSON (section 6.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from pydantic_core import from_json

FIRST: Final = 200
"""Number of characters (code points) of a value that a text has to tell; what comes after them can be cut."""
_MOST_BRACKETS: Final = 1_000
"""Maximum number of opening brackets in a text at which a value is read; in a text with more, none is missed."""

_ESCAPE: Final = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|(["\\/bfnrt]))')
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)")
_CUT: Final = re.compile(r'(?:[\s\[\]{},:]|"(?:[^"\\]|\\.)*+"|[\w.+-]+)*+(?:"(?:[^"\\]|\\.)*+\\?)?')
"""JSON, as far as its signs go, of which the last text can be cut; `from_json` tolerates other signs after a value."""
_BRACKET: Final = re.compile(r"[\[{]")
_DECODER: Final = json.JSONDecoder()


def untold(values: Iterable[Any], said: str) -> list[str]:
    """Return the beginnings of those values that a text does not tell.

    JSON can escape any character, write its members in any order and with any space, and a number as 1, 1.0 or 1e0.
    """
    texts = (said, _without_escapes(said))
    numbers = {float(number) for number in _NUMBER.findall(said)}
    brackets = [match.start() for match in islice(_BRACKET.finditer(said), _MOST_BRACKETS + 1)]
    written = list(_written(said, brackets))

    def tells(value: Any) -> bool:
        if isinstance(value, str):
            return any(value[:FIRST] in text for text in texts)
        if isinstance(value, dict | list):
            found = any(_begins(part, value) if is_cut else part == value for part, is_cut in written)
            return found or len(brackets) > _MOST_BRACKETS
        if isinstance(value, bool) or value is None:
            return re.search(rf"\b{json.dumps(value)}\b", said, re.IGNORECASE) is not None
        return float(json.dumps(value)) in numbers

    return [_beginning(value) for value in values if not tells(value)]


def _beginning(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:FIRST]


def _without_escapes(text: str) -> str:
    """Return a text with the characters that the escapes of JSON in it stand for."""

    def character(escape: re.Match[str]) -> str:
        return chr(int(escape[1], 16)) if escape[1] else str(json.loads(f'"{escape[0]}"'))

    # Two escapes can be the halves of one character, as UTF-16 has them.
    return _ESCAPE.sub(character, text).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _written(text: str, starts: Iterable[int]) -> Iterator[tuple[Any, bool]]:
    """Yield the objects and lists that are written in a text as JSON, and whether each is cut.

    Of each, `FIRST` characters are read, so that nesting costs no time.
    """
    for start in starts:
        window = text[start : start + FIRST]
        try:
            yield _DECODER.raw_decode(window)[0], False
        except ValueError:
            if len(window) == FIRST and _CUT.fullmatch(window):
                try:
                    yield from_json(window, allow_partial="trailing-strings"), True
                except ValueError:
                    continue


def _begins(part: Any, whole: Any) -> bool:
    """Return whether JSON that was cut is the beginning of a value, with its members in any order."""
    if isinstance(part, dict) and isinstance(whole, dict):
        last = next(reversed(part), None)
        return all(
            name in whole and (_begins(item, whole[name]) if name == last else item == whole[name])
            for name, item in part.items()
        )
    if isinstance(part, list) and isinstance(whole, list):
        before = part[:-1]
        return (
            len(part) <= len(whole)
            and before == whole[: len(before)]
            and all(map(_begins, part[-1:], whole[len(before) :]))
        )
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return part == whole or json.dumps(whole).startswith(json.dumps(part))
