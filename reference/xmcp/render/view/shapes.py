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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from xmcp.render.view.numerals import is_number
from xmcp.render.view.untrusted import label

Shape: TypeAlias = Mapping[str, Any]

_PLACE: Final = 80
"""Characters of a place in a message."""
_SPACES: Final = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""White space of ECMAScript, as the inside of a class."""
_SCALAR: Final[Shape] = {"type": ["string", "number", "boolean", "null"]}


def fault(shapes: Mapping[str, Shape], name: str, value: object) -> str | None:
    """Return where `value` first differs from a shape, in words; None if it has that shape.

    Args:
        shapes: The shapes that can be named.
        name: The one that `value` is to have.
        value: Any JSON value.
    """
    return next(_Reader(shapes).faults(shapes[name], value, ""), None)


class _Reader:
    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self._shapes = shapes

    def faults(self, shape: Shape, value: object, place: str) -> Iterator[str]:
        if "shape" in shape:
            yield from self.faults(self._shapes[shape["shape"]], value, place)
        elif "anyOf" in shape:
            branches = [branch for branch in map(self._followed, shape["anyOf"]) if _is_of(branch, value)]
            if len(branches) == 1:
                yield from self.faults(branches[0], value, place)
            elif not any(next(self.faults(branch, value, place), None) is None for branch in branches):
                yield _not_drawn(place)
        elif not _is_of(shape, value) or ("enum" in shape and not _listed(value, shape["enum"])):
            yield _not_drawn(place)
        elif isinstance(value, Mapping):
            yield from self._faults_of_members(shape, value, f"{place}." if place else "")
        elif isinstance(value, list):
            most = shape.get("maxItems")
            if most is not None and len(value) > most:
                yield f"{label(place, _PLACE)} has {len(value):,} items; at most {most:,} are drawn"
            if "items" in shape:
                for at, item in enumerate(value):
                    yield from self.faults(shape["items"], item, f"{place}[{at}]")
        elif (is_number(value) and not _is_within(shape, value)) or (
            isinstance(value, str) and not _fits(shape, value)
        ):
            yield _not_drawn(place)

    def _faults_of_members(self, shape: Shape, value: Mapping[str, object], place: str) -> Iterator[str]:
        for name in shape.get("required", ()):
            if name not in value:
                yield f"{label(place + name, _PLACE)} is missing"
        known: Mapping[str, Shape] = shape.get("properties", {})
        scalars: Sequence[str] = shape.get("scalars", ())
        for name, member in known.items():
            if name in value:
                yield from self.faults(member, value[name], place + name)
        for name in scalars:
            if name in value:
                yield from self.faults(_SCALAR, value[name], place + name)
        others = shape.get("additionalProperties")
        if others is True or (others is None and "properties" not in shape):
            return
        unknown = min((name for name in value if name not in known and name not in scalars), default=None)
        if others is None and unknown is not None:
            yield _not_drawn(place + unknown)
        elif others is not None:
            for name in sorted(name for name in value if name not in known):
                yield from self.faults(others, value[name], place + name)

    def _followed(self, shape: Shape) -> Shape:
        return self._shapes[shape["shape"]] if "shape" in shape else shape


def _not_drawn(place: str) -> str:
    return f"{label(place, _PLACE) or 'the specification'} is not drawn"


def _is_of(shape: Shape, value: object) -> bool:
    names = shape.get("type")
    return names is None or any(_TYPES[name](value) for name in ([names] if isinstance(names, str) else names))


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
