"""JSON values as text that needs no XML escaping, and back: what `<display>` and `<meta>` hold (wire rule 4).

How JSON text is written and read stands here; which JSON a Python value is, in jsonvalue.py; what the JSON
means, in neither.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any

import jiter
import orjson

from xmcp.wire.jsonvalue import normalised, plain
from xmcp.wire.limits import DEFAULT_LIMITS
from xmcp.wire.xmltext import Illegal


class JsonDepthError(ValueError):
    """JSON nested deeper than allowed."""


def _deepest(accepts: Callable[[int], object]) -> int:
    """How many arrays inside each other a library takes before it raises."""

    def refuses(levels: int) -> bool:
        try:
            accepts(levels)
        except (ValueError, TypeError):
            return True
        return False

    return bisect_left(range(1024), True, key=refuses) - 1


def _wrapped(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


# Both libraries have a fixed limit above ours. Wrapping a value in as many arrays as theirs is higher makes
# it ours: they count while they work anyway, and a walk of our own would cost a fifth of a big table.
_ORJSON_DEPTH = _deepest(lambda levels: orjson.dumps(_wrapped(0, levels)))
_JITER_DEPTH = _deepest(lambda levels: jiter.from_json(b"[" * levels + b"]" * levels))


def _brackets(raw: bytes) -> int:
    """Not less than the levels of a JSON text: at most that many arrays and objects begin in it."""
    return raw.count(b"[") + raw.count(b"{")


_OPTIONS = orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
_to_json = partial(orjson.dumps, default=plain, option=_OPTIONS)
# In JSON text these stand inside strings only, so replacing them blindly is right.
_INERT = tuple((character.encode(), f"\\u{ord(character):04x}".encode()) for character in "&<>\x7f")
# Those of several bytes by their first one, which is quickly seen not to be there.
_INERT_BY_FIRST = tuple(
    (inert[0][0][:1], inert)
    for inert in (
        tuple((character.encode(), f"\\u{ord(character):04x}".encode()) for character in characters)
        for characters in ("\u2028\u2029", "\ufffe\uffff")
    )
)
_MARGIN = _ORJSON_DEPTH - DEFAULT_LIMITS.json_depth
_LONG = 32
"""Members from which on a value is written inside of the arrays that count its depth, and not twice."""


def _is_long(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else ()
    return any(isinstance(part, list | dict) and len(part) > _LONG for part in parts)


def dump(value: Any, where: str, illegal: Illegal = "replace") -> tuple[str, bool]:
    """One value as XML-inert JSON, and whether a lone surrogate in it became U+FFFD.

    `where` names the value in errors. Raises TypeError, with the path to the culprit, for what has no JSON
    form and for keys that are no strings or collide; ValueError for more than 64 levels (a value that
    contains itself included) and, with `illegal="error"`, for a lone surrogate.
    """
    lossy = False
    try:
        if _is_long(value):
            raw = _to_json(_wrapped(value, _MARGIN))[_MARGIN:-_MARGIN]
        else:
            raw = _to_json(value)
            if _brackets(raw) > DEFAULT_LIMITS.json_depth:
                _to_json(_wrapped(value, _MARGIN))
    except TypeError:
        # orjson's answer to big integers, keys that are no strings, lone surrogates and depth alike; it never
        # says where.
        value, lossy = normalised(value, where, illegal)
        raw = orjson.dumps(value)
    for character, escaped in _INERT:
        raw = raw.replace(character, escaped)
    for first, inert in _INERT_BY_FIRST:
        if first in raw:
            for character, escaped in inert:
                raw = raw.replace(character, escaped)
    return raw.decode(), lossy


_any_members = partial(jiter.from_json, allow_inf_nan=False)
_unique_members = partial(jiter.from_json, allow_inf_nan=False, catch_duplicate_keys=True)


def _from_json(raw: bytes) -> Any:
    """What `_unique_members` reads, without the third of its time that goes into the set it keeps of every name.

    A member that stands twice is one in the value, so that writing the value takes fewer colons than there were:
    one for each member, and those in strings, which are the same unless one is escaped.
    """
    value = _any_members(raw)
    if b"\\" in raw and (b"\\u003a" in raw or b"\\u003A" in raw):
        return _unique_members(raw)
    try:
        written = orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits
        return _unique_members(raw)
    return value if written.count(b":") == raw.count(b":") else _unique_members(raw)


def load(text: str | bytes, depth: int) -> Any:
    """The one value of a JSON text (characters, or their UTF-8) of RFC 8259 with unique keys.

    Raises JsonDepthError beyond `depth` levels and ValueError for anything else that is not that.
    """
    raw = text.encode() if isinstance(text, str) else text
    if _brackets(raw) <= depth:
        return _from_json(raw)
    try:
        spare = _JITER_DEPTH - depth
        value = _from_json(b"[" * spare + raw + b"]" * spare)
        for _ in range(spare):
            (value,) = value  # two members: the text closed a wrapper and opened another
    except ValueError as fault:
        if "recursion limit" in str(fault):
            raise JsonDepthError(f"JSON is nested deeper than {depth} levels") from None
        return _from_json(raw)  # raises too, and counts columns without the wrappers
    return value
