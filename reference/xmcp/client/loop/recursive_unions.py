"""Types that take exponential time to read: unions that are tried again at each level of a value. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def recursive_union(definitions: Mapping[str, Any]) -> str | None:
    """Return the first type with a union of several types, without a discriminator, of which one contains it again.

    To read such a value takes exponential time in its depth. `definitions` are those of a JSON Schema (`$defs`).
    """
    inside = {name: set(_references(schema)) for name, schema in definitions.items()}

    def contains(name: str, wanted: str, seen: set[str]) -> bool:
        if name == wanted:
            return True
        seen.add(name)
        return any(contains(one, wanted, seen) for one in inside.get(name, ()) if one not in seen)

    for name, schema in definitions.items():
        for union in _unions(schema):
            if any(contains(one, name, set()) for one in union):
                return name
    return None


def _unions(schema: Any) -> Iterator[list[str]]:
    """Yield the names of the types in each union of several types that has no discriminator."""
    for part in _parts(schema):
        named = list(_references(part.get("anyOf"), deep=False))
        if len(named) > 1:
            yield named


def _references(schema: Any, *, deep: bool = True) -> Iterator[str]:
    found = _parts(schema) if deep else (part for part in schema or () if isinstance(part, Mapping))
    for part in found:
        if isinstance(reference := part.get("$ref"), str):
            yield reference.rpartition("/")[2]


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all objects within a schema, itself included."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
