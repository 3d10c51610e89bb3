"""Does a value have a certain shape, and if not, where not?

A shape is data, like a JSON Schema of few keywords, so that renderers in other languages read the same one and name the
same place. Everything is looked at once, in the order of the shape.

| keyword | meaning |
|---|---|
| `shape` | the shape of this name, instead of all others |
| `anyOf` | one of these shapes, instead of all others |
| `type` | the JSON type or types |
| `enum` | the only values |
| `minimum`, `exclusiveMinimum`, `maximum` | of a number; the maximum is that of its amount, whatever its sign |
| `minLength`, `pattern` | of a string; the pattern is one of ECMAScript, and is about the whole string |
| `maxItems`, `items` | of an array |
| `required`, `properties` | of an object; a member that is not listed is a fault if `properties` is there |
| `scalars` | names of further members, each a string, a number, a boolean or null |
| `additionalProperties` | the shape of all members that are not listed; true is any |
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from xmcp.render.view.numerals import is_number
from xmcp.render.view.untrusted import label

Shape: TypeAlias = Mapping[str, Any]
Fault: TypeAlias = tuple[str, str]
"""Where a value differs from a shape, and how; the place is written from its end, only when there is a fault."""

_PLACE: Final = 80
"""Characters of a place in a message."""
_SPACES: Final = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""White space of ECMAScript, as the inside of a class."""
_NOT_DRAWN: Final[Fault] = ("", "is not drawn")
_SCALAR: Final[Shape] = {"type": ["string", "number", "boolean", "null"]}


def fault(shapes: Mapping[str, Shape], name: str, value: object) -> str | None:
    """Return where `value` first differs from a shape, in words; None if it has that shape.

    Args:
        shapes: The shapes that can be named.
        name: The one that `value` is to have.
        value: Any JSON value.
    """
    found = _Reader(shapes).fault(shapes[name], value)
    if found is None:
        return None
    place, words = found
    return f"{label(place.removeprefix('.'), _PLACE) or 'the specification'} {words}"


class _Reader:
    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self._shapes = shapes

    def fault(self, shape: Shape, value: object) -> Fault | None:
        if "shape" in shape:
            return self.fault(self._shapes[shape["shape"]], value)
        if "anyOf" in shape:
            branches = [branch for branch in map(self._followed, shape["anyOf"]) if _is_of(branch, value)]
            if len(branches) == 1:
                return self.fault(branches[0], value)
            return None if any(self.fault(branch, value) is None for branch in branches) else _NOT_DRAWN
        if not _is_of(shape, value) or ("enum" in shape and not _listed(value, shape["enum"])):
            return _NOT_DRAWN
        if isinstance(value, str):
            return None if _fits(shape, value) else _NOT_DRAWN
        if isinstance(value, Mapping):
            return self._fault_of_members(shape, value)
        if isinstance(value, list):
            return self._fault_of_items(shape, value)
        return _NOT_DRAWN if is_number(value) and not _is_within(shape, value) else None

    def _fault_of_items(self, shape: Shape, value: Sequence[object]) -> Fault | None:
        most = shape.get("maxItems")
        if most is not None and len(value) > most:
            return "", f"has {len(value):,} items; at most {most:,} are drawn"
        items = shape.get("items")
        if items is None or _are_all(items, value):
            return None
        faults = ((at, found) for at, item in enumerate(value) if (found := self.fault(items, item)))
        return next((_below(f"[{at}]", found) for at, found in faults), None)

    def _fault_of_members(self, shape: Shape, value: Mapping[str, object]) -> Fault | None:
        for name in shape.get("required", ()):
            if name not in value:
                return f".{name}", "is missing"
        known: Mapping[str, Shape] = shape.get("properties", {})
        scalars: Sequence[str] = shape.get("scalars", ())
        for name, member in known.items():
            if name in value and (found := self.fault(member, value[name])):
                return _below(f".{name}", found)
        for name in scalars:
            if name in value and (found := self.fault(_SCALAR, value[name])):
                return _below(f".{name}", found)
        others = shape.get("additionalProperties")
        if others is True or (others is None and "properties" not in shape):
            return None
        if others is None:
            unknown = min((name for name in value if name not in known and name not in scalars), default=None)
            return None if unknown is None else _below(f".{unknown}", _NOT_DRAWN)
        if _are_all(others, value.values()):
            return None
        for name in sorted(name for name in value if name not in known):
            if found := self.fault(others, value[name]):
                return _below(f".{name}", found)
        return None

    def _followed(self, shape: Shape) -> Shape:
        return self._shapes[shape["shape"]] if "shape" in shape else shape


def _below(part: str, found: Fault) -> Fault:
    return part + found[0], found[1]


def _is_of(shape: Shape, value: object) -> bool:
    names = shape.get("type")
    if names is None or isinstance(names, str):
        return names is None or _TYPES[names](value)
    return any(_TYPES[name](value) for name in names)


def _are_all(shape: Shape, items: Collection[object]) -> bool:
    """Tell quickly whether a shape asks for a type only, and all items are of it: a table can have very many rows."""
    if "anyOf" in shape:
        return any(_are_all(branch, items) for branch in shape["anyOf"])
    if shape.keys() != {"type"} or "integer" in shape["type"]:
        return False
    return all(_is_of(shape, one) for one in {type(item): item for item in items}.values())


def _is_within(shape: Shape, number: float) -> bool:
    return (
        number >= shape.get("minimum", -math.inf)
        and ("exclusiveMinimum" not in shape or number > shape["exclusiveMinimum"])
        and ("maximum" not in shape or abs(number) <= shape["maximum"])
    )


def _fits(shape: Shape, text: str) -> bool:
    return len(text) >= shape.get("minLength", 0) and (
        "pattern" not in shape or bool(_compiled(shape["pattern"])(text))
    )


@cache
def _compiled(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern.replace(r"[^\s", f"[^{_SPACES}").replace(r"\S", f"[^{_SPACES}]")).fullmatch


def _listed(value: object, known: Sequence[object]) -> bool:
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in known)


_TYPES: Final[Mapping[str, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": lambda value: is_number(value) and (isinstance(value, int) or value.is_integer()),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
