"""JSON text without characters that XML must escape, and back: the content of `<display>`, `<meta>` and the like.

Spec section 2.4. Which JSON a Python value becomes is decided in jsonvalue.py.
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
    """Return how many nested arrays a library accepts before it raises."""

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


# Both libraries have a fixed limit of depth, which is higher than ours. A value wrapped in as many arrays as the
# difference meets our limit instead: the libraries count anyway, and a walk of our own costs a fifth of a big table.
_ORJSON_DEPTH = _deepest(lambda levels: orjson.dumps(_wrapped(0, levels)))
_JITER_DEPTH = _deepest(lambda levels: jiter.from_json(b"[" * levels + b"]" * levels))


def _brackets(raw: bytes) -> int:
    """Return an upper bound of the levels of a JSON text: the number of opening brackets and braces."""
    return raw.count(b"[") + raw.count(b"{")


_OPTIONS = orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
_to_json = partial(orjson.dumps, default=plain, option=_OPTIONS)
_pure_to_json = partial(orjson.dumps, option=_OPTIONS)
# In JSON text these characters appear only inside strings, so they can be replaced everywhere.
_INERT = tuple((character.encode(), f"\\u{ord(character):04x}".encode()) for character in "&<>\x7f")
# Characters of several bytes by their first byte: most texts do not contain it, which is found quickly.
_INERT_BY_FIRST = tuple(
    (inert[0][0][:1], inert)
    for inert in (
        tuple((character.encode(), f"\\u{ord(character):04x}".encode()) for character in characters)
        for characters in ("\u2028\u2029", "\ufffe\uffff")
    )
)
_MARGIN = _ORJSON_DEPTH - DEFAULT_LIMITS.json_depth
_LONG = 32
"""A value with a part of more members is written inside the wrapping arrays at once, not a second time."""


def _is_long(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else ()
    return any(isinstance(part, list | dict) and len(part) > _LONG for part in parts)


def _written(value: Any, to_json: Callable[[Any], bytes]) -> bytes:
    """Return the JSON that `to_json` writes.

    Raises:
        TypeError: There are more than 64 levels, or `to_json` cannot write something in it.
    """
    if _is_long(value):
        return to_json(_wrapped(value, _MARGIN))[_MARGIN:-_MARGIN]
    raw = to_json(value)
    if _brackets(raw) > DEFAULT_LIMITS.json_depth:
        to_json(_wrapped(value, _MARGIN))
    return raw


def in_json_types(value: Any, where: str) -> Any:
    """Return `value` itself if JSON has the types of everything in it, otherwise a copy in these types.

    Lone surrogates are kept: `dump_json` replaces and reports them.

    Raises:
        TypeError, ValueError: As `dump_json`.
    """
    try:
        _written(value, _pure_to_json)
    except TypeError:
        return normalised(value, where, None)[0]
    return value


def dump_json(value: Any, where: str, illegal: Illegal = "replace") -> tuple[str, bool]:
    """Return one value as JSON that needs no XML escaping, and whether a lone surrogate in it became U+FFFD.

    `where` names the value in error messages.

    Raises:
        TypeError: A value has no JSON form, a key is not a string, or two keys become the same; the message has the
            path to it.
        ValueError: There are more than 64 levels (also in a value that contains itself), or with `illegal="error"`
            a lone surrogate.
    """
    lossy = False
    try:
        raw = _written(value, _to_json)
    except TypeError:
        # orjson raises this for big integers, keys that are not strings, lone surrogates and depth, and never says
        # where.
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
    """Return the same as `_unique_members`, without the third of its time that it spends on a set of all names.

    A duplicate member appears once in the value, so the value written again has fewer colons than the text: one for
    each member, and those in strings, whose number is the same unless one is escaped.
    """
    value = _any_members(raw)
    if b"\\" in raw and (b"\\u003a" in raw or b"\\u003A" in raw):
        return _unique_members(raw)
    try:
        written = orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits
        return _unique_members(raw)
    return value if written.count(b":") == raw.count(b":") else _unique_members(raw)


def load_json(text: str | bytes, depth: int) -> Any:
    """Return the value of a JSON text (characters, or their UTF-8) as in RFC 8259, with unique keys.

    Raises:
        JsonDepthError: There are more than `depth` levels.
        ValueError: It is not such a text.
    """
    raw = text.encode() if isinstance(text, str) else text
    if _brackets(raw) <= depth:
        return _from_json(raw)
    try:
        spare = _JITER_DEPTH - depth
        value = _from_json(b"[" * spare + raw + b"]" * spare)
        for _ in range(spare):
            (value,) = value  # raises ValueError for two members: the text closed a wrapper and opened another
    except ValueError as fault:
        if "recursion limit" in str(fault):
            raise JsonDepthError(f"JSON is nested deeper than {depth} levels") from None
        return _from_json(raw)  # raises as well, with the columns of the text itself
    return value
