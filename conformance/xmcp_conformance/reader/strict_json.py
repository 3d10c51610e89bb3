"""A strict JSON parser: everything that section 2.4 forbids is a fault with its requirement and its place.

Nothing here recurses, so that a deeply nested text cannot overflow the stack of the suite.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder, loads
from typing import Any, NoReturn

from xmcp_conformance.core.observation import Path
from xmcp_conformance.core.untrusted_text import quoted

DEEPEST = 64
"""Maximum depth of nested arrays and objects (section 2.6)."""

_SAFE = 2**53 - 1
_DECODE = JSONDecoder().raw_decode  # for one string at a time
_SPACE = re.compile(r"[ \t\r\n]*")
_LITERAL = re.compile(
    r"(?P<integer>-?(?:0|[1-9][0-9]*))(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(?P<word>-?[A-Za-z]+)"
)
_WORDS = {"true": True, "false": False, "null": None}
_NOT_JSON = ("NaN", "Infinity", "-Infinity")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<alone>\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\ud800-\udfff])|\\."
)
_SKELETON = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


class JsonFault(ValueError):
    """A requirement of section 2.4 that a JSON text breaks, and the index in the text."""

    def __init__(self, requirement: str, at: int, seen: str, expected: str) -> None:
        super().__init__(seen)
        self.requirement = requirement
        self.at = at
        self.seen = seen
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON text that was read.

    `met` has the requirements that applied to it and were obeyed. `too_deep` is the index of the first bracket that is
    nested deeper than `DEEPEST`; its content was parsed strictly too, but is not in `value`.
    """

    value: Any
    met: frozenset[str]
    too_deep: int | None


def parse(text: str, *, safe_integers: bool = True) -> Json:
    """Read one JSON value.

    Args:
        text: the text of the value; white space around it is allowed.
        safe_integers: false for JSON that is not in a document: XMCP-RSP-043 does not apply to it.

    Raises:
        JsonFault: for the first sentence that the text breaks.
    """
    return _quickly(text, safe_integers) or _Parser(text, safe_integers).whole()


def _quickly(text: str, safe_integers: bool) -> Json | None:
    """Parse with the decoder of the standard library, several times faster; return `None` where anything is unusual."""
    met: set[str] = set()

    def integer(literal: str) -> int:
        met.add("XMCP-RSP-043")
        if len(literal) > 17 or abs(int(literal)) > _SAFE:
            raise ValueError
        return int(literal)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        met.add("XMCP-RSP-041")
        result = dict(pairs)
        if len(result) != len(pairs):
            raise ValueError
        return result

    def constant(_literal: str) -> NoReturn:
        raise ValueError

    try:
        value = loads(
            text, object_pairs_hook=members, parse_int=integer if safe_integers else int, parse_constant=constant
        )
    except (ValueError, RecursionError):
        return None
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        inner = (item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer))
        level = [item for item in inner if isinstance(item, dict | list)]
    if not text.isascii() or "\\u" in text:
        found = [string for string in strings(value) if not string.isascii()]
        if any(_SURROGATE.search(string) for string in found):
            return None
        met |= {"XMCP-RSP-044"} if found else set()
    return Json(value, frozenset(met), None) if not level else None


class _Parser:
    """One pass over a text. `open` has the arrays and objects that have not ended, outermost first."""

    def __init__(self, text: str, safe_integers: bool) -> None:
        self.text = text
        self.safe_integers = safe_integers
        self.met: set[str] = set()
        self.open: list[Any] = []
        self.name = ""  # of the member whose value comes next
        self.value: Any = None
        self.too_deep: int | None = None

    def whole(self) -> Json:
        at = self.space(0)
        while True:
            bracket = self.text[at : at + 1]
            if bracket in ("{", "["):
                at = self.opened(bracket, at)
                if self.text[at : at + 1] != ("}" if bracket == "{" else "]"):
                    at = self.member(at) if bracket == "{" else at
                    continue
            else:
                value, end = self.scalar(at)
                self.put(value)
                at = self.space(end)
            if (next_value := self.closed(at)) is None:
                return Json(self.value, frozenset(self.met), self.too_deep)
            at = next_value

    def opened(self, bracket: str, at: int) -> int:
        container: Any = {} if bracket == "{" else []
        self.put(container)
        self.open.append(container)
        if len(self.open) > DEEPEST and self.too_deep is None:
            self.too_deep = at
        return self.space(at + 1)

    def closed(self, at: int) -> int | None:
        """Close what ends after a value; return the index of the next value, `None` at the end of the text."""
        while self.open:
            innermost = self.open[-1]
            mark, is_object = self.text[at : at + 1], isinstance(innermost, dict)
            if mark == ("}" if is_object else "]"):
                self.open.pop()
                if is_object:
                    self.met.add("XMCP-RSP-041")
                if len(self.open) == DEEPEST:
                    innermost.clear()
                at = self.space(at + 1)
            elif mark == ",":
                at = self.space(at + 1)
                return self.member(at) if is_object else at
            else:
                raise self.fault(at, f"`,` or `{'}' if is_object else ']'}`")
        if at != len(self.text):
            raise self.fault(at, "nothing more")
        return None

    def put(self, value: Any) -> None:
        if not self.open:
            self.value = value
        elif isinstance(self.open[-1], dict):
            self.open[-1][self.name] = value
        else:
            self.open[-1].append(value)

    def member(self, at: int) -> int:
        """Read the name of a member and the colon; return the index of its value."""
        if self.text[at : at + 1] != '"':
            raise self.fault(at, "a member name in double quotes")
        self.name, end = self.string(at)
        if self.name in self.open[-1]:
            raise JsonFault(
                "XMCP-RSP-041", at, f"the member `{quoted(self.name)}` twice in one object", "each name once"
            )
        end = self.space(end)
        if self.text[end : end + 1] != ":":
            raise self.fault(end, "`:`")
        return self.space(end + 1)

    def scalar(self, at: int) -> tuple[Any, int]:
        if self.text[at : at + 1] == '"':
            return self.string(at)
        match = _LITERAL.match(self.text, at)
        if match is None or (match["word"] and match["word"] not in (*_WORDS, *_NOT_JSON)):
            raise self.fault(at, "a JSON value")
        if match["word"] in _NOT_JSON:
            raise JsonFault("XMCP-RSP-040", at, f"`{match['word']}`, which JSON does not have", "`null`")
        if match["word"]:
            return _WORDS[match["word"]], match.end()
        return self.number(match["integer"], match["rest"], at), match.end()

    def number(self, integer: str, rest: str, at: int) -> int | float:
        if rest:
            return float(integer + rest)
        if self.safe_integers:
            self.met.add("XMCP-RSP-043")
            if len(integer) > 17 or abs(int(integer)) > _SAFE:
                raise JsonFault("XMCP-RSP-043", at, f"the number {integer[:40]}", f'"{integer[:40]}", as a string')
        return int(integer) if len(integer) < 300 else float(integer)

    def string(self, at: int) -> tuple[str, int]:
        try:
            value, end = _DECODE(self.text, at)
        except JSONDecodeError as error:
            raise JsonFault(
                "XMCP-RSP-040", error.pos, f"{error.msg}, in `{quoted(self.text, error.pos)}`", "a JSON string"
            ) from error
        if not value.isascii():
            self.met.add("XMCP-RSP-044")
            if _SURROGATE.search(value):
                alone = next(match for match in _ESCAPES.finditer(self.text, at, end) if match["alone"])
                raise JsonFault(
                    "XMCP-RSP-044",
                    alone.start(),
                    f"the escape of an unpaired surrogate, `{quoted(alone.group())}`",
                    "U+FFFD in its place",
                )
        return value, end

    def space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def fault(self, at: int, wanted: str) -> JsonFault:
        got = f"`{quoted(self.text[at])}`" if at < len(self.text) else "the end of the text"
        seen = f"{got} where {wanted} belongs, in `{quoted(self.text, at)}`"
        return JsonFault("XMCP-RSP-040", at, seen, "one JSON value, as RFC 8259 defines it")


def locate(text: str, path: Path) -> int:
    """Return the index of the value at `path` in a JSON text that `parse` accepts, or of the next value around it."""
    at = _after_space(text, 0)
    for part in path:
        if (found := _within(text, at, part)) is None:
            break
        at = found
    return at


def _within(text: str, at: int, part: str | int) -> int | None:
    """Return the index of the value of a member or item, in the object or array that begins at `at`."""
    bracket, at = text[at : at + 1], _after_space(text, at + 1)
    count = 0
    while bracket in ("{", "[") and text[at : at + 1] not in ("]", "}", ""):
        name: str | int = count
        if bracket == "{":
            name, at = _DECODE(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        if name == part:
            return at
        at = _after_space(text, _end(text, at))
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
        count += 1
    return None


def _end(text: str, at: int) -> int:
    """Return the index at which the value that begins at `at` ends."""
    if text[at] not in '{["':
        literal = _LITERAL.match(text, at)
        return literal.end() if literal else at + 1
    depth = 0
    for match in _SKELETON.finditer(text, at):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match.group(), 0)
        if depth == 0:
            return match.end()
    return len(text)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def strings(value: Any) -> list[str]:
    """Return every string in a JSON value, names of members included."""
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
