"""Values that no record may have (XMCP-REC-021), replaced in the JSON that is recorded. Pure.

Known are the values that whoever opens the store gives: the credentials of the gateway, and the parameters that the
application fills in. They are found as they are and with any of their characters written as an escape of JSON or a
reference of XML, also in JSON within JSON, four levels deep. A value that is cut, encoded or computed with is another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from xmcp.chat.json_values import encode_json

REDACTED: Final = "[redacted]"

SHORTEST: Final = 4
"""Minimum number of characters of a value that is searched for; a shorter one occurs by chance."""

# Bounded, so that a text of nothing but backslashes is searched in linear time: 16 of them are four levels of JSON.
_ESCAPED: Final = r"\\{1,16}"
_MAYBE_ESCAPED: Final = r"\\{0,16}"
_REFERENCE: Final = r"&(?:amp;){0,4}"

# A character that is written as an escape (two, if it is a surrogate pair) or a reference, as far as it has come.
_BEGUN: Final = re.compile(r"(?:\\{1,16}(?:u[0-9a-fA-F]{0,4})?){1,2}\Z|&[#0-9a-zA-Z;]{0,40}\Z")
_NUMBERED: Final = re.compile(f"{_REFERENCE}#")
_WIDEST: Final = 48
"""Maximum number of characters in which one is written."""

_NAMED: Final = {"<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_SHORT: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:=+-]+")


class Redactor:
    """Removes values from JSON. Of a mapping or a list each member counts as a value; booleans and null do not."""

    def __init__(self, secrets: Iterable[Any] = ()) -> None:
        leaves = {leaf for secret in secrets for leaf in _leaves(secret)}
        # The longest first: a secret that contains another one is removed as a whole.
        self._texts = sorted((leaf for leaf in leaves if isinstance(leaf, str)), key=len, reverse=True)
        self._numbers = frozenset(leaf for leaf in leaves if not isinstance(leaf, str))
        written = [*self._texts, *map(json.dumps, self._numbers)]
        self._beginnings = tuple(map(_Beginning, written))
        self._cores = tuple({max(_PLAIN.findall(text), key=len, default="") for text in written})

    # Made at the first need: it takes milliseconds, each run can have values of its own, and most texts need none.
    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        patterns = ["".join(map(_written, _parts(text))) for text in self._texts]
        patterns += [rf"(?<![\w.]){re.escape(json.dumps(one))}(?!\w|\.\d)" for one in self._numbers]
        return re.compile("|".join(f"(?:{one})" for one in patterns))

    def out_of_json(self, text: str) -> str:
        """Return JSON without the values: the same text if it has none, else written anew."""
        if not self._may_be_in(text) or not self._pattern.search(text):
            return text
        try:
            value = json.loads(text)
        except ValueError:  # it was cut
            return self._pattern.sub(REDACTED, text)
        cleaned = self._out_of(value)
        return text if cleaned == value else encode_json(cleaned).decode()

    def out_of_text(self, text: str) -> str:
        """Return a text without the values."""
        return self._pattern.sub(REDACTED, text) if self._may_be_in(text) else text

    def settled(self, text: str) -> int:
        """Return how much of a text that goes on has no part of a value that what comes next can complete."""
        end = min((one.at_end_of(text) for one in self._beginnings), default=len(text))
        if end < len(text) and self._may_be_in(text):
            for found in self._pattern.finditer(text):
                if found.start() < end < found.end():
                    return found.start()
        return end

    def _may_be_in(self, text: str) -> bool:
        """Return False if no value can be in a text; it costs far less than searching for them."""
        if not self._cores:
            return False
        # A character of a core is written as it is, or as a number.
        return any(core in text for core in self._cores) or "\\u" in text or _NUMBERED.search(text) is not None

    def _out_of(self, value: Any) -> Any:
        match value:
            case str():
                return self.out_of_text(value)
            case bool() | None:
                return value
            case int() | float():
                return REDACTED if value in self._numbers else value
            case list():
                return [self._out_of(part) for part in value]
            case dict():
                return {self.out_of_text(name): self._out_of(part) for name, part in value.items()}
            case _:
                return value


class _Beginning:
    """Finds the beginning of one value at the end of a text."""

    def __init__(self, value: str) -> None:
        self._value = value

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(_written(part)) for part in _parts(self._value)]

    @cached_property
    def _first(self) -> re.Pattern[str]:
        return re.compile(f"{self._patterns[0].pattern}|{_BEGUN.pattern}")

    def at_end_of(self, text: str) -> int:
        """Return where the longest end begins that is a beginning of the value; the text's length if there is none."""
        end = text[-_WIDEST * len(self._value) :]
        if "\\" not in end and "&" not in end:  # every character is written as it is
            longest = min(len(self._value) - 1, len(text))
            return len(text) - next((n for n in range(longest, 0, -1) if text.endswith(self._value[:n])), 0)
        for found in self._first.finditer(text, len(text) - len(end)):
            at = found.start()
            for part in self._patterns:
                if at == len(text) or _BEGUN.match(text, at):
                    return found.start()
                if (one := part.match(text, at)) is None:
                    break
                at = one.end()
        return len(text)


def _parts(text: str) -> list[str]:
    """Return the characters of a text, and backslashes in a row as one."""
    return re.findall(r"\\+|[^\\]", text)


def _leaves(value: Any) -> Iterable[str | int | float]:
    match value:
        case bool() | None:
            return
        case str():
            for text in {value, value.strip()}:
                if len(text) >= SHORTEST:
                    yield text
        case int() | float():
            if len(json.dumps(value)) >= SHORTEST:
                yield value
        case Mapping():
            for part in value.values():
                yield from _leaves(part)
        case list() | tuple() | set() | frozenset():
            for part in value:
                yield from _leaves(part)
        case _:
            hidden = getattr(value, "get_secret_value", None)  # as of pydantic's SecretStr
            yield from _leaves(hidden() if callable(hidden) else str(value))


def _written(part: str) -> str:
    """Return a pattern for the ways in which a character, or some backslashes in a row, can be written."""
    if part[0] == "\\":
        return rf"\\{{{len(part)},{16 * len(part)}}}"
    code = ord(part)
    units = part.encode("utf-16-be", "surrogatepass").hex()
    escape = "".join(f"{_ESCAPED}u(?i:{units[n : n + 4]})" for n in range(0, len(units), 4))
    forms = [
        _REFERENCE if part == "&" else f"{_MAYBE_ESCAPED}{re.escape(part)}" if part in '"/' else re.escape(part),
        escape,
        f"{_REFERENCE}#(?:0{{0,8}}{code}|[xX]0{{0,8}}(?i:{code:x}));",
    ]
    if part in _NAMED:
        forms.append(f"{_REFERENCE}{_NAMED[part]};")
    if part in _SHORT:
        forms.append(f"{_ESCAPED}{_SHORT[part]}")
    return f"(?:{'|'.join(forms)})"
