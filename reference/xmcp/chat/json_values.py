"""JSON values: copies that hold nothing but JSON's own types, and the bytes of values that came from JSON. Pure."""

from __future__ import annotations

import json
import marshal
import math
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, NoReturn, TypeAlias

import orjson
from pydantic_core import to_json

from xmcp.wire import plain

MAX_DEPTH: Final = 128
"""Maximum levels of objects and lists in a copy: twice what a document may hold (64)."""

MAX_INTEGER_BITS: Final = 1024
"""Maximum size of an integer. A reader that has doubles only takes a larger one for infinity or refuses the text."""

Replacement: TypeAlias = Callable[[Any, tuple[str | int, ...]], Any]
"""Returns what to write in place of a value that JSON cannot hold, given the value and its path; or raises."""

_PAGE: Final = 4096
"""Bytes: orjson gives a shorter text so much memory. A copy has what it needs, for who keeps thousands of them."""

_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def nearest(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return the JSON value nearest to `value`: the default replacement, which never fails."""
    if isinstance(value, float):
        return None
    if isinstance(value, dict | list | tuple):
        return "(nested too deep)"
    try:
        return as_json(plain(value), nearest, path)
    except TypeError:
        return f"({type(value).__name__})"


def as_json(value: Any, replacement: Replacement = nearest, path: tuple[str | int, ...] = ()) -> Any:
    """Return a copy of `value` in nothing but JSON's own types; half of a surrogate pair becomes U+FFFD.

    `replacement` is asked what to write for everything else: values and keys of other types, numbers that are not
    finite as a double, and what is nested more than `MAX_DEPTH` levels deep.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, int) and value.bit_length() < MAX_INTEGER_BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, dict | list | tuple) and len(path) < MAX_DEPTH:
        if not isinstance(value, dict):
            return [as_json(member, replacement, (*path, index)) for index, member in enumerate(value)]
        return {
            as_text(name if isinstance(name, str) else str(replacement(name, path))): as_json(
                member, replacement, (*path, name)
            )
            for name, member in value.items()
        }
    return replacement(value, path)


def refuser(where: str) -> Replacement:
    """Return a replacement that refuses what JSON cannot hold; `where` is the place of the whole value.

    Raises:
        TypeError: always, when it is called; the message has the place in the value, and what to write instead.
    """

    def refuse(value: Any, path: tuple[str | int, ...]) -> NoReturn:
        place = pointed([*filter(None, [where]), *path])
        if isinstance(value, float) or (isinstance(value, int) and value.bit_length() >= MAX_INTEGER_BITS):
            raise TypeError(f"{place}: JSON cannot hold this number (infinite, NaN or too large); use null or text.")
        if isinstance(value, dict | list | tuple):
            raise TypeError(f"{place}: it is more than {MAX_DEPTH} levels deep.")
        raise TypeError(
            f"{place}: a value or key of type {type(value).__name__} is not JSON; write it as text, numbers, lists and "
            "objects."
        )

    return refuse


def pointed(path: Sequence[str | int]) -> str:
    """Return the place in a value that a path leads to, for messages."""
    return "/".join(str(part) for part in path) or "the whole"


def object_as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return any mapping as a JSON object, with the nearest JSON value where there is no exact one."""
    copy: dict[str, Any] = as_json(dict(value))
    return copy


def as_text(text: str) -> str:
    """Return `text` as a plain `str` in which half of a surrogate pair is U+FFFD."""
    exact = str.__str__(text)
    return exact if exact.isascii() else _SURROGATES.sub("\ufffd", exact)


_ATOMS: Final = frozenset({str, int, float, bool, type(None)})


def copied_value(value: Any) -> Any:
    """Return a copy of `value` that shares no mutable part with it.

    For JSON values it takes a tenth of the time of `deepcopy`, which copies what is no JSON value.
    """
    kind = type(value)
    if kind is dict:
        return {name: part if type(part) in _ATOMS else copied_value(part) for name, part in value.items()}
    if kind is list:
        return [part if type(part) in _ATOMS else copied_value(part) for part in value]
    return value if kind in _ATOMS else deepcopy(value)


def copied_json(value: Any) -> Any:
    """As `copied_value` for what was decoded from JSON, in half the time if it is large."""
    # Version 2 has no references: a list that occurs twice is copied twice. Nothing is read but what was just written.
    return marshal.loads(marshal.dumps(value, 2))  # noqa: S302


def copied_arguments(value: dict[str, Any]) -> dict[str, Any]:
    """As `copied_value` for an object that may be large and need not come from JSON."""
    try:
        # Refuses arrays and other buffers, such as a `numpy.str_`, which `marshal` would take for bytes.
        orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS)
        copy: dict[str, Any] = copied_json(value)  # refuses everything that is not exactly of a built-in type
    except (TypeError, ValueError):
        copy = copied_value(value)
    return copy


def containers(data: bytes) -> int:
    """Return how many arrays and objects JSON has at most: brackets in its texts count, too."""
    return data.count(b"[") + data.count(b"{")


def is_deeper_than(levels: int, value: Any) -> bool:
    """Return whether `value` has more than so many levels of objects and lists, counting itself."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        inner = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]
        level = [child for child in inner if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def is_sendable(value: Any) -> bool:
    """Return whether a transport can send a value as JSON, and with no more than `MAX_DEPTH` levels.

    It cannot send half of a surrogate pair, for example, or an object of a class that pydantic does not know.
    """
    try:
        written = orjson.dumps(value)
    except TypeError:
        # Of what orjson does not write, pydantic, which the transports use, writes more: dates, integers of any size.
        try:
            written = to_json(value)
        except (ValueError, RecursionError):
            return False
    # Most values have fewer brackets than levels are allowed, so that nobody needs to go through them.
    return written.count(b"{") + written.count(b"[") <= MAX_DEPTH or not _too_deep(value)


def finite_number(value: object) -> float | None:
    """Return a number as a double; `None` if `value` is none that JSON and a double can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _too_deep(value: Any) -> bool:
    return isinstance(value, dict | list) and is_deeper_than(MAX_DEPTH, value)


def encode_json(value: Any) -> bytes:
    """Return the JSON bytes of a value that came from JSON.

    Integers beyond 64 bits and lone surrogates take the slower way through the standard library.

    Raises:
        TypeError: `value` holds something that JSON cannot.
    """
    try:
        written = orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()
    return bytes(memoryview(written)) if len(written) < _PAGE else written
