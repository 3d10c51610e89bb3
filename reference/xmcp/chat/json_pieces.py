"""Decoding a large JSON text in pieces, so that other threads run meanwhile. Pure.

A parser written in C keeps every other thread waiting until it has read its whole text. Here it is given one piece
after the other: members of an array or an object that follow each other, cut at a comma, or a part of a long string.
Each piece is decoded by `pydantic_core.from_json`, or by the caller's parser, so the value is the one that it makes of
the whole text, and what it refuses is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

from pydantic_core import from_json

PIECE: Final = 64 * 1024
"""Maximum number of bytes of a piece, but for a few at a cut in a string. It takes at most about 3 ms."""

SPARSE_BYTES: Final = 2 << 20
SPARSE_VALUES: Final = 20_000
"""A text of at most so many bytes and values is decoded in one piece: it is mostly long strings, such as a document.
It takes 4 ms per MiB, or 15 ms if it is numbers of thousands of digits; finding the ends of its strings would take
longer."""

MAX_OPEN: Final = 190
"""Maximum levels of arrays and objects around a piece. `from_json` accepts 200 levels of a text."""

_LEVELS_IN_A_PIECE: Final = 6

CAN_CUT: Final = re.fullmatch(rb"(?:ab?c)*+", b"abca") is None
"""Whether possessive quantifiers are right. Before Python 3.11.5 they are not (gh-106052), and a text is decoded in one
piece: other threads wait, and the value is the same."""


def _members() -> re.Pattern[bytes]:
    """Return the pattern of members with the commas after them, and of a last member, which has none.

    It says where members end, not whether they are JSON. No part of a text is read more than a few times.
    """
    string = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
    value = string
    for _ in range(_LEVELS_IN_A_PIECE):
        value = rb'%b|[\[{](?:[^"\[\]{}]++|%b)*+[\]}]' % (string, value)
    member = rb'(?:[^"\[\]{},]++|%b)++' % value
    return re.compile(rb'(?:[^"\[\]{}]*,|%b,)*+(?:%b(?=[\]}]))?+' % (member, member), re.DOTALL)


_MEMBERS: Final = _members()
_IN_STRING: Final = re.compile(rb'[^"\\]*+(?:\\(?:[^u]|u.{4})[^"\\]*+)*+', re.DOTALL)
_FIRST_OF_A_PAIR: Final = re.compile(rb"\\u[dD][89abAB]..", re.DOTALL)
_SECOND_OF_A_PAIR: Final = re.compile(rb"\\u[dD][c-fC-F]..", re.DOTALL)
_INSIDE_A_CHARACTER: Final = re.compile(rb"[\x80-\xbf]")
_ESCAPE: Final = len(rb"\u0000")
_SCALAR: Final = re.compile(rb'[^"\[\]{},: \t\r\n]*+')
_SPACE: Final = re.compile(rb"[ \t\r\n]*+")


def decode_json(data: bytes, loads: Callable[[bytes], Any] | None = None) -> Any:
    """Return the value of a JSON text; of equal names in an object the last one counts.

    `loads` decodes a piece, which is a JSON text of its own, and raises a `ValueError` for what is none. It must take
    the names and values of an array or object one by one. `None` is `from_json`, with which integers keep all digits.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    loads = loads or from_json
    whole = len(data) <= PIECE or not CAN_CUT or is_sparse(data)
    return loads(data) if whole else _Decoder(data, loads).decode()


def is_sparse(data: bytes) -> bool:
    """Return whether `data` is of at most `SPARSE_BYTES` and `SPARSE_VALUES`: `decode_json` takes a few ms for it."""
    return len(data) <= SPARSE_BYTES and values(data) <= SPARSE_VALUES


def values(data: bytes) -> int:
    """Return how many values JSON has at most, but for the first: commas and brackets in its texts count, too."""
    return len(data) - len(data.translate(None, b",[{:"))


class _Decoder:
    """One pass over a text."""

    def __init__(self, data: bytes, loads: Callable[[bytes], Any]) -> None:
        self._data = data
        self._loads = loads
        self._at = 0
        """The byte before which everything is read."""
        self._into: list[Any] | dict[str, Any] = []
        """The innermost array or object that is open. The first one is not in the text: it gets the value of it."""
        self._around: list[list[Any] | dict[str, Any]] = []
        """The other ones, from the outside."""
        self._after_comma = False
        """Whether a comma was read last, so that a member has to follow."""

    def decode(self) -> Any:
        outermost = self._into
        self._take_value("")
        while self._around:
            if self._take_members():
                continue
            sign = self._sign()
            if sign == (b"}" if isinstance(self._into, dict) else b"]") and not self._after_comma:
                self._at += 1
                self._into = self._around.pop()
                self._end_member()
            else:
                self._take_value(self._take_name() if isinstance(self._into, dict) else "")
        if self._sign():
            self._refuse()
        return outermost[0]  # type: ignore[index]

    def _take_members(self) -> bool:
        """Take the members that fit into a piece; return whether there were any."""
        begin = self._at
        end = self._at = _end(_MEMBERS, self._data, begin, begin + PIECE)
        if begin == end:
            return False
        after_comma, self._after_comma = self._after_comma, self._data[end - 1] == ord(",")
        piece = self._data[begin : end - self._after_comma]
        if isinstance(self._into, dict):
            taken = self._loads(b"{%b}" % piece)
            self._into.update(taken)
        else:
            taken = self._loads(b"[%b]" % piece)
            self._into += taken
        if not taken and (after_comma or self._after_comma):
            self._refuse()  # only white space where a member has to be
        return True

    def _take_name(self) -> str:
        if self._sign() != b'"':
            self._refuse()
        name: str = self._take_string()
        if self._sign() != b":":
            self._refuse()
        self._at += 1
        return name

    def _take_value(self, name: str) -> None:
        """Take a string or scalar, or enter an array or object; `name` is that of the member of an object."""
        sign = self._sign()
        value: Any
        if sign == b"[" or sign == b"{":
            value = [] if sign == b"[" else {}
            self._at += 1
        elif sign == b'"':
            value = self._take_string()
        else:
            begin = self._at
            self._at = _end(_SCALAR, self._data, begin, len(self._data))
            value = self._loads(self._data[begin : self._at])
        if isinstance(self._into, dict):
            self._into[name] = value
        else:
            self._into.append(value)
        if sign == b"[" or sign == b"{":
            self._around.append(self._into)
            self._into, self._after_comma = value, False
            if len(self._around) > MAX_OPEN:
                self._refuse("nested too deeply")
        else:
            self._end_member()

    def _take_string(self) -> Any:
        parts: list[str] = []
        begin = self._at + 1
        while True:
            end = self._end_of_part(begin, min(begin + PIECE + _ESCAPE, len(self._data)))
            over = self._data[end : end + 1] == b'"'
            if not over:
                end = self._cut(end)
                if end <= begin:
                    self._refuse()
            parts.append(self._loads(b'"%b"' % self._data[begin:end]))
            begin = end
            if over:
                self._at = end + 1
                return "".join(parts)

    def _end_of_part(self, begin: int, limit: int) -> int:
        """Return where a string that is read up to `begin` ends, or the part of it before `limit`."""
        quote = self._data.find(b'"', begin, limit)
        end = limit if quote < 0 else quote
        # Looking for a byte takes a tenth of the time of the pattern.
        return end if self._data.find(b"\\", begin, end) < 0 else _end(_IN_STRING, self._data, begin, limit)

    def _cut(self, at: int) -> int:
        """Return where a string can be cut, given where a piece of it ends: inside no character and no pair."""
        # What looks like the first half of a pair may be an escaped backslash and five characters. Then what looks like
        # the second half is one without a first, and the string can be cut after it, too.
        if _FIRST_OF_A_PAIR.match(self._data, at - _ESCAPE, at) and _SECOND_OF_A_PAIR.match(self._data, at):
            at += _ESCAPE
        for _ in range(3):
            at -= _INSIDE_A_CHARACTER.match(self._data, at) is not None
        return at

    def _end_member(self) -> None:
        """Take the comma after a member, if one follows."""
        if not self._around:
            return
        sign = self._sign()
        self._after_comma = sign == b","
        if self._after_comma:
            self._at += 1
        elif sign != b"]" and sign != b"}":
            self._refuse()

    def _sign(self) -> bytes:
        """Return the next byte that is no white space; empty at the end."""
        self._at = _end(_SPACE, self._data, self._at, len(self._data))
        return self._data[self._at : self._at + 1]

    def _refuse(self, why: str = "not JSON") -> NoReturn:
        raise ValueError(f"{why} at byte {self._at}")


def _end(pattern: re.Pattern[bytes], data: bytes, begin: int, limit: int) -> int:
    """Return where a match of `pattern` ends that begins at `begin`; each pattern here matches nothing, too."""
    found = pattern.match(data, begin, limit)
    return begin if found is None else found.end()
