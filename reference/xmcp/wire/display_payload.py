"""The shape of the payload of each display type: the if/then rules of schemas/display_envelope.schema.json as a table.

A payload may hold any Python value that has a JSON form: the rules apply to the JSON it becomes (jsonvalue.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from xmcp.wire.jsonvalue import NATIVE_TYPES, JsonType, json_type, native
from xmcp.wire.lexical import MAX_SAFE_INTEGER

Check = Callable[[Any], None]


class ShapeError(ValueError):
    """A payload does not have the shape of its type; the message says where, and what it must be."""

    def __init__(self, must: str, where: str = "") -> None:
        super().__init__(f"{where or 'it'} {must}")
        self.must = must
        self.where = where


def _inside(key: str | int, value: Any, check: Check) -> None:
    try:
        check(value)
    except ShapeError as fault:
        raise ShapeError(fault.must, f"{key}/{fault.where}" if fault.where else str(key)) from None


def _type_of(value: Any) -> JsonType:
    try:
        return json_type(value)
    except TypeError as fault:
        raise ShapeError(f"must have a JSON form: {fault}") from None


_ARTICLES = {"array": "an array", "object": "an object", "null": "null"}


def _names(types: tuple[str, ...]) -> str:
    return " or ".join(_ARTICLES.get(name, f"a {name}") for name in types)


class _Of:
    """Checks that a value has one of these JSON types, and passes the check of that type if there is one."""

    __slots__ = ("by_type", "free", "must")

    def __init__(self, **by_type: Check | None) -> None:
        self.by_type = by_type
        self.must = f"must be {_names(tuple(by_type))}"
        # Python types of which every value is valid: for a hundred thousand rows a look at their types is enough.
        self.free = {python for python, name in NATIVE_TYPES.items() if name in by_type and by_type[name] is None}

    def __call__(self, value: Any) -> None:
        if type(value) in self.free:
            return
        found = _type_of(value)
        if found not in self.by_type:
            raise ShapeError(self.must)
        further = self.by_type[found]
        if further:
            further(native(value))


def _array(item: _Of, maximum: int | None = None) -> Check:
    def check(value: Any) -> None:
        if maximum is not None and len(value) > maximum:
            raise ShapeError(f"must have at most {maximum} members")
        if not item.free.issuperset(map(type, value)):
            for index, member in enumerate(value):
                _inside(index, member, item)

    return check


def _object(required: str, **members: Check | None) -> Check:
    """Return a check for an object with at least the `required` members; members with a check must pass it."""
    needed = required.split()
    checks = {name: check for name, check in members.items() if check}

    def check(value: Any) -> None:
        for name in needed:
            if name not in value:
                raise ShapeError(f"must have {name!r}")
        for name, member in checks.items():
            if name in value:
                _inside(name, value[name], member)

    return check


def _each_value(member: _Of) -> Check:
    def check(value: Any) -> None:
        if not member.free.issuperset(map(type, value.values())):
            for key, held in value.items():
                _inside(key, held, member)

    return check


def _any_of(*allowed: str) -> Check:
    def check(value: Any) -> None:
        if value not in allowed:
            raise ShapeError(f"must be one of {', '.join(allowed)}")

    return check


def _matching(expression: str, must: str) -> Check:
    match = re.compile(expression).fullmatch

    def check(value: Any) -> None:
        if not match(value):
            raise ShapeError(must)

    return check


def _finite(value: Any) -> None:
    # An integer is always finite, and may be too large for math.isfinite.
    if isinstance(value, float) and not math.isfinite(value):
        raise ShapeError("must be a finite number")


def _positive(value: Any) -> None:
    _finite(value)
    if not 0 < value <= MAX_SAFE_INTEGER:
        raise ShapeError(f"must be greater than 0 and at most {MAX_SAFE_INTEGER}")


def _count(value: Any) -> None:
    _finite(value)
    if not 0 <= value <= MAX_SAFE_INTEGER or value != int(value):
        raise ShapeError(f"must be a whole number from 0 to {MAX_SAFE_INTEGER}")


def _not_empty(value: Any) -> None:
    if not value:
        raise ShapeError("must not be empty")


_text = _Of(string=None)
_scalar = _Of(string=None, number=None, boolean=None, null=None)
_number_or_text = _Of(number=_finite, string=None)

# White space as in ECMA-262, which defines the patterns of JSON Schema.
_SPACE = "\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_uri = _matching(
    rf"https://[^{_SPACE}\\]+|data:image/(?:png|jpeg|gif|webp|avif)[;,][^{_SPACE}]*",
    "must be an https: URI, or a data: URI of a PNG, JPEG, GIF, WebP or AVIF picture",
)
_image = _object(
    "src",
    src=_Of(string=_uri),
    alt=_text,
    mime=_text,
    width=_Of(number=_positive),
    height=_Of(number=_positive),
)
_column = _object("key", key=_text, title=_text, type=_text, align=_any_of("left", "right", "center"))
_table = _object(
    "columns rows",
    columns=_Of(array=_array(_Of(string=None, object=_column))),
    rows=_Of(array=_array(_Of(array=None, object=None))),
    caption=_text,
    row_header=_text,
    total_rows=_Of(number=_count),
    truncated=_Of(boolean=None),
)
_metric = _object("label value", label=_text, value=_number_or_text, unit=_text, delta=_number_or_text)

_SHAPES: dict[str, Check] = {
    "text": _text,
    "markdown": _text,
    "html": _text,
    "table": _Of(object=_table, array=_array(_Of(object=None))),
    "chart": _Of(object=None),
    "image": _Of(string=_uri, object=_image),
    "notification": _Of(
        string=None, object=_object("message", message=_text, level=_any_of("info", "success", "warning", "error"))
    ),
    "code": _Of(string=None, object=_object("code", code=_text, language=_text, filename=_text)),
    "facts": _Of(
        object=_each_value(_scalar), array=_array(_Of(object=_object("label value", label=_text, value=_scalar)))
    ),
    "metric": _Of(object=_metric, array=_array(_Of(object=_metric))),
    "file": _Of(object=_object("uri", uri=_Of(string=_not_empty), name=_text, mime=_text, size=_Of(number=_count))),
    "group": _Of(array=_array(_Of(object=None), maximum=32)),
    "x-xmcp-reference": _Of(object=_object("type bytes", type=_text, bytes=_Of(number=_count), note=_text)),
}
_ANY = _Of(object=None, array=None, string=None)


def check_payload(display_type: str, payload: Any) -> None:
    """Check a payload against the shape of its display type.

    A type that is not in the table may have any object, array or string. Members of a `group` are only checked to be
    objects; envelope.py checks that they are envelopes.

    Raises:
        ShapeError: The payload does not have that shape.
    """
    check = _SHAPES.get(display_type, _ANY)
    _inside("payload", payload, check)
