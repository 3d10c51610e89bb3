"""Hypothesis strategies for values that fit a JSON Schema.

They know the part of JSON Schema that tools use. A few values that they draw may not fit: who draws, validates.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from hypothesis import strategies as st

from .input_schema import Schema, merged, options, resolve, type_of, types

MANY: Final = 10_000
"""The largest number that is drawn where a schema names no maximum: a tool may count that far, or make so many rows."""
_LONGEST: Final = 40
_DEEPEST: Final = 4  # the depth below which optional members are left out
_TOO_DEEP: Final = 12
_MOST: Final = 64  # the number of objects and lists, recursion resolved, after which these are left out too

_FORMATS: dict[str, st.SearchStrategy[str]] = {
    "date": st.dates().map(str),
    "date-time": st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    "time": st.times().map(lambda moment: moment.isoformat() + "Z"),
    "email": st.just("someone@example.org"),
    "uri": st.just("https://example.org/a"),
    "uuid": st.uuids().map(str),
    "ipv4": st.just("192.0.2.1"),
    "hostname": st.just("example.org"),
}
_CHARACTERS = st.characters(exclude_categories=["Cs", "Cc", "Cn"], max_codepoint=0x2FFF)
_CLASSES: Final = {"L": "a-zA-Z", "Lu": "A-Z", "Ll": "a-z", "N": "0-9", "Nd": "0-9", "P": "!-/", "S": "$+", "Z": " "}
"""For a Unicode property in a pattern, which Python's `re` does not have, a part of its characters."""
_PROPERTY: Final = re.compile(r"\\p\{(?:(?:gc|General_Category)=)?(\w+)\}|(\\.)|(\[)|(\])")


@dataclass(frozen=True, slots=True)
class Drawing:
    """How to draw. `full`: each optional member, two items in a list and a member in a map, where that is allowed."""

    root: Schema
    full: bool = False
    _numbers: Iterator[int] = field(default_factory=count)

    def is_enough(self, depth: int) -> bool:
        """Count one object or list more, and return whether what is optional is left out of it.

        That is so deep down, and where recursion has made many of them.
        """
        return depth >= _DEEPEST or next(self._numbers) >= _MOST


def fitting_values(schema: Schema, *, full: bool = False) -> st.SearchStrategy[Any]:
    """Return a strategy for values that fit a schema; a few may not.

    Raises:
        ValueError, TypeError, LookupError, ArithmeticError, re.error, RecursionError: the schema cannot be used.
    """
    return _strategy(schema, Drawing(schema, full), 0)


def _strategy(schema: Any, drawing: Drawing, depth: int) -> st.SearchStrategy[Any]:
    if schema is False:
        return st.nothing()
    if depth > _TOO_DEEP:
        raise ValueError("a schema that needs arguments so deep that drawing them takes forever")
    schema = resolve(schema, drawing.root)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema or "oneOf" in schema:
        drawn = [_strategy(option, drawing, depth) for option in options(schema, drawing.root)]
        return drawn[0] if drawing.full and len(drawn) == 2 and _is_null(schema, drawing) else st.one_of(drawn)
    schema = merged(schema, drawing.root)
    kinds = sorted(types(schema) - ({"null"} if drawing.full and types(schema) != {"null"} else set())) or ["string"]
    strategies = [_BY_TYPE[kind](schema, drawing, depth) for kind in kinds if kind in _BY_TYPE]
    known = schema.get("examples")
    known = known if isinstance(known, list) else []
    examples = [value for value in known if type_of(value) in kinds or "number" in kinds]
    return st.one_of([*([st.sampled_from(examples)] if examples else []), *strategies])


def _is_null(schema: Schema, drawing: Drawing) -> bool:
    """Return whether the second of two options is `null`, as in the schema of an optional value."""
    return types(options(schema, drawing.root)[1]) == {"null"}


def _string(schema: Schema, _drawing: Drawing, _depth: int) -> st.SearchStrategy[Any]:
    shortest = schema.get("minLength", 0)
    longest = min(schema.get("maxLength", _LONGEST), max(_LONGEST, shortest))
    if "pattern" in schema:
        drawn = st.from_regex(_known_to_python(schema["pattern"]), alphabet=st.characters(codec="utf-8"))
        return drawn.filter(lambda text: shortest <= len(text) <= schema.get("maxLength", 10_000))
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    return st.text(_CHARACTERS, min_size=shortest, max_size=longest)


def _known_to_python(pattern: str) -> str:
    """Return a pattern with a part of the characters for each Unicode property."""
    inside = False

    def written(match: re.Match[str]) -> str:
        nonlocal inside
        if match[1]:
            known = _CLASSES.get(match[1], "a-zA-Z")
            return known if inside else f"[{known}]"
        inside = inside if match[2] else bool(match[3])
        return match[0]

    return _PROPERTY.sub(written, pattern)


def _integer(schema: Schema, _drawing: Drawing, _depth: int) -> st.SearchStrategy[Any]:
    low = max(math.ceil(schema.get("minimum", -MANY)), math.floor(schema.get("exclusiveMinimum", -MANY - 1)) + 1)
    far = max(low, MANY)
    high = min(math.floor(schema.get("maximum", far)), math.ceil(schema.get("exclusiveMaximum", far + 1)) - 1)
    step = schema.get("multipleOf")
    if isinstance(step, int) and step > 1:
        return st.integers(-(-low // step), high // step).map(lambda factor: factor * step)
    return st.integers(low, high)


def _number(schema: Schema, drawing: Drawing, depth: int) -> st.SearchStrategy[Any]:
    if "multipleOf" in schema:
        return _integer({**schema, "multipleOf": int(schema["multipleOf"]) or 1}, drawing, depth)
    bounds = {"minimum": -MANY, "maximum": MANY, **schema}
    low: float = bounds.get("exclusiveMinimum", bounds["minimum"])
    high: float = bounds.get("exclusiveMaximum", bounds["maximum"])
    return st.floats(float(low), float(high), allow_nan=False, allow_infinity=False)


def _array(schema: Schema, drawing: Drawing, depth: int) -> st.SearchStrategy[Any]:
    shortest = schema.get("minItems", 0)
    is_enough = drawing.is_enough(depth)
    if drawing.full and not is_enough:
        shortest = max(shortest, min(2, schema.get("maxItems", 2)))
    longest = shortest if is_enough else min(schema.get("maxItems", shortest + 3), shortest + 3)
    if longest == 0:  # such as the children of a node, which are nodes
        return st.builds(list)
    if "prefixItems" in schema:
        return st.tuples(*[_strategy(item, drawing, depth + 1) for item in schema["prefixItems"]]).map(list)
    items = _strategy(schema.get("items", {"type": "string"}), drawing, depth + 1)
    unique = json.dumps if schema.get("uniqueItems") else None
    return st.lists(items, min_size=shortest, max_size=longest, unique_by=unique)


def _object(schema: Schema, drawing: Drawing, depth: int) -> st.SearchStrategy[Any]:
    properties: Schema = schema.get("properties", {})
    needed = set(schema.get("required", ()))
    is_enough = drawing.is_enough(depth)
    if drawing.full and not is_enough:
        needed |= {name for name, subschema in properties.items() if subschema is not False}
    always = {name: _strategy(properties.get(name, {}), drawing, depth + 1) for name in properties if name in needed}
    always |= {name: st.text(max_size=5) for name in sorted(needed - properties.keys(), key=str)}
    sometimes = {
        name: _strategy(subschema, drawing, depth + 1)
        for name, subschema in properties.items()
        if name not in needed and not is_enough
    }
    fixed = st.fixed_dictionaries(always, optional=sometimes)
    maps = [] if is_enough else list(_maps(schema, drawing, depth))
    return st.tuples(fixed, *maps).map(lambda parts: {**parts[-1], **parts[0]}) if maps else fixed


def _maps(schema: Schema, drawing: Drawing, depth: int) -> Iterator[st.SearchStrategy[dict[str, Any]]]:
    """Yield a strategy for the members that have no name of their own, if the schema says what these are."""
    fewest = max(1 if drawing.full else 0, schema.get("minProperties", 0))
    most = max(fewest, min(schema.get("maxProperties", 3), 3))
    named = schema.get("propertyNames")
    keys = _strategy({"type": "string", **named}, drawing, depth + 1) if isinstance(named, dict) else None
    extra = schema.get("additionalProperties")
    for pattern, subschema in schema.get("patternProperties", {}).items():
        matching = st.from_regex(_known_to_python(pattern), alphabet=_CHARACTERS).filter(lambda text: len(text) < 40)
        yield st.dictionaries(matching, _strategy(subschema, drawing, depth + 1), min_size=fewest, max_size=most)
        return
    if isinstance(extra, dict) and (extra or not schema.get("properties")):
        any_key = st.text(_CHARACTERS, min_size=1, max_size=8)
        yield st.dictionaries(keys or any_key, _strategy(extra, drawing, depth + 1), min_size=fewest, max_size=most)


_BY_TYPE: dict[str, Callable[[Schema, Drawing, int], st.SearchStrategy[Any]]] = {
    "null": lambda *_: st.none(),
    "boolean": lambda *_: st.booleans(),
    "integer": _integer,
    "number": _number,
    "string": _string,
    "array": _array,
    "object": _object,
}
