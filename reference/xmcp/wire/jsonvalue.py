"""The mapping of Python values to JSON, for `<display>`, `<meta>` and the like (spec section 2.4).

Besides the types of JSON itself: integers outside of +-(2^53-1) and decimals become strings, NaN and infinities null
(also those of decimals), bytes Base64 (RFC 4648 section 4), points in time ISO 8601 with `Z` for UTC and without an
offset if they have none, integer keys decimal strings, sets and other collections arrays, values of numpy, pandas and
the like what library_values.py says, and other values, such as durations and paths, what pydantic writes for them.
Everything else has no JSON form; nothing is guessed.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import operator
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from xmcp.wire.lexical import MAX_SAFE_INTEGER
from xmcp.wire.library_values import library_value
from xmcp.wire.limits import DEFAULT_LIMITS
from xmcp.wire.xmltext import Illegal

JsonType = Literal["string", "number", "boolean", "null", "array", "object"]

NATIVE_TYPES: dict[type, JsonType] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    tuple: "array",
    dict: "object",
}
"""The Python types that JSON has, with the name of the JSON type."""
_SUBCLASSED = (str, int, list, dict)
_SURROGATE = re.compile("[\ud800-\udfff]")


def _base(value: Any) -> JsonType | None:
    native_type = NATIVE_TYPES.get(type(value))
    if native_type or isinstance(value, enum.Enum):
        return native_type
    return next((NATIVE_TYPES[base] for base in _SUBCLASSED if isinstance(value, base)), None)


def native(value: Any) -> Any:
    """Return the value itself if JSON has its type (or a base of it), else what is written for it.

    Raises:
        TypeError: The value has no JSON form.
    """
    while not _base(value):
        value = plain(value)
    return value


def json_type(value: Any) -> JsonType:
    """Return the JSON type in which a value is written.

    An integer counts as a number whatever its size, because a decoded integer is a number.

    Raises:
        TypeError: The value has no JSON form.
    """
    found = _base(value)
    while not found:
        value = plain(value)
        found = _base(value)
    return found


def _instant(value: datetime.datetime | datetime.time) -> str | None:
    if value != value:  # pandas.NaT, which is a datetime
        return None
    offset = value.utcoffset()
    if offset is not None and offset % datetime.timedelta(minutes=1):
        raise TypeError("a time whose offset has seconds has no JSON form")
    text = value.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def _model(value: BaseModel) -> Any:
    # A model with `to_dict` leaves out absent members itself.
    own = getattr(value, "to_dict", None)
    return own() if own else value.model_dump(by_alias=True)


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    ((datetime.datetime, datetime.time), _instant),
    (datetime.date, lambda value: value.isoformat()),
    (Decimal, lambda value: str(value) if value.is_finite() else None),
    ((bytes, bytearray, memoryview), lambda value: base64.b64encode(value).decode()),
    (uuid.UUID, str),
    (os.PathLike, os.fspath),
    (enum.Enum, lambda value: value.value),
    (BaseModel, _model),
    (Mapping, dict),
    ((Sequence, Set, ValuesView), list),
    (float, float),
)


def plain(value: Any) -> Any:
    """Return a value of a type that JSON does not have, converted by one step toward JSON.

    Raises:
        TypeError: There is no such conversion.
    """
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Iterator):
        raise TypeError(f"{type(value).__qualname__} has no JSON form, because it can be read only once; use a list")
    try:
        return library_value(value)
    except TypeError as unknown:
        with suppress(PydanticSerializationError):  # durations, paths, addresses, …
            written = to_jsonable_python(value)
            if type(written) is not type(value):  # else it is a value of JSON, or one that never becomes one
                return written
        raise unknown from None


def normalised(value: Any, where: str, illegal: Illegal | None = "replace") -> tuple[Any, bool]:
    """Return a copy in the types of JSON only, and whether a lone surrogate in it became U+FFFD.

    With `illegal=None` lone surrogates are kept, for an encoder that replaces them later.

    Raises:
        TypeError, ValueError: As `jsontext.dump_json`, with `where` and the JSON Pointer to the value.
    """
    copier = _Copier(where, illegal)
    return copier.copy(value), copier.lossy


class _Copier:
    __slots__ = ("illegal", "lossy", "path", "where")

    def __init__(self, where: str, illegal: Illegal | None) -> None:
        self.where = where
        self.illegal = illegal
        self.lossy = False
        self.path: list[str | int] = []

    def copy(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, float):
            return float(value)
        try:
            value = native(value)
        except TypeError as fault:
            raise TypeError(f"{self.place()}: {fault}") from None
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict | list | tuple):
            return self.container(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value) if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else str(int(value))
        return value

    def container(self, value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Any:
        if len(self.path) >= DEFAULT_LIMITS.json_depth:
            raise ValueError(f"{self.place()}: JSON must not have more than {DEFAULT_LIMITS.json_depth} levels")
        if not isinstance(value, dict):
            return [self.member(index, member) for index, member in enumerate(value)]
        copied: dict[str, Any] = {}
        for key, member in value.items():
            name = self.name(key)
            if name in copied:
                raise TypeError(f"{self.place()}: two keys become {name!r} in JSON")
            copied[name] = self.member(name, member)
        return copied

    def member(self, key: str | int, value: Any) -> Any:
        self.path.append(key)
        copied = self.copy(value)
        self.path.pop()
        return copied

    def name(self, key: Any) -> str:
        if isinstance(key, str):
            return self.text(key)
        with suppress(TypeError):  # an integer of numpy is one, too
            if not isinstance(key, bool):
                return str(operator.index(key))
        raise TypeError(f"{self.place()}: a key must be a string, not {type(key).__qualname__}")

    def text(self, value: str) -> str:
        text = str.__str__(value)
        found = _SURROGATE.search(text)
        if not found or self.illegal is None:
            return text
        if self.illegal == "error":
            raise ValueError(f"{self.place()}: JSON cannot carry U+{ord(found[0]):04X} at index {found.start()}")
        self.lossy = True
        return _SURROGATE.sub("\ufffd", text)

    def place(self) -> str:
        """Return `where` and a JSON Pointer (RFC 6901)."""
        return self.where + "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in self.path)
