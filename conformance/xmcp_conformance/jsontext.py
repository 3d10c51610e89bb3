"""JSON read by the letter: everything chapter 2.4 forbids is a fault with its requirement."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

_SAFE = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonFault(ValueError):
    """A sentence of chapter 2.4 that a JSON text breaks."""

    def __init__(self, requirement: str, seen: str, expected: str) -> None:
        super().__init__(seen)
        self.requirement = requirement
        self.seen = seen
        self.expected = expected


def parse(text: str) -> tuple[Any, set[str]]:
    """Read one JSON value.

    Returns:
        The value, and the ids of the requirements that applied to it and were obeyed.

    Raises:
        JsonFault: for the first sentence that the text breaks.
    """
    met: set[str] = set()

    def number(literal: str) -> int:
        met.add("XMCP-RSP-043")
        if len(literal) > 17 or abs(int(literal)) > _SAFE:
            raise JsonFault("XMCP-RSP-043", f"the number {literal[:40]}", f'"{literal[:40]}", as a string')
        return int(literal)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        met.add("XMCP-RSP-041")
        result = dict(pairs)
        if len(result) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise JsonFault("XMCP-RSP-041", f"the member `{twice}` twice in one object", "each name once")
        return result

    def constant(literal: str) -> NoReturn:
        raise JsonFault("XMCP-RSP-040", f"`{literal}`, which JSON does not have", "`null`")

    try:
        value = json.loads(text, parse_int=number, object_pairs_hook=members, parse_constant=constant)
    except JsonFault:
        raise
    except (ValueError, RecursionError) as error:
        raise JsonFault(
            "XMCP-RSP-040", f"`{text[:200]}` ({error})", "one JSON value, as RFC 8259 defines it"
        ) from error
    for string in strings(value):
        if not string.isascii():
            met.add("XMCP-RSP-044")
            if _SURROGATE.search(string):
                raise JsonFault("XMCP-RSP-044", "the escape of an unpaired surrogate", "U+FFFD in its place")
    return value, met


def strings(value: Any) -> list[str]:
    """Every string in a JSON value, member names included."""
    found: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            found += item.keys()
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    return found
