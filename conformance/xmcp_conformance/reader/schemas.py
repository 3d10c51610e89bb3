"""The JSON Schemas of the specification as validators, built once."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Container, Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import jsonschema_rs

from xmcp_conformance.core.observation import Path
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models import DATA

_FLOORS = (100, 10, 1)
_MOST_COPIED = 2_000_000
_SUFFIX = ".schema.json"
_BASE = "json-schema:///"  # the base of relative references in the validator


class SchemaFault(NamedTuple):
    """Something that a schema does not allow, and its path in the value."""

    path: Path
    message: str

    def __str__(self) -> str:
        where = f"at `{quoted(pointer(self.path))}`: " if self.path else ""
        return where + quoted(self.message)


@cache
def names() -> tuple[str, ...]:
    """Return the formats that have a JSON Schema, such as `display_envelope`."""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in DATA.glob(f"*{_SUFFIX}")))


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the content of `<name>.schema.json`."""
    loaded: dict[str, Any] = json.loads((DATA / f"{name}{_SUFFIX}").read_text(encoding="utf-8"))
    return loaded


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """Return the validator of `<name>.schema.json`, or for `<name>#/$defs/X` that of a definition in it.

    Nothing is fetched: references between the schemas lead to their copies in `DATA`.
    """
    file, _, definition = name.partition("#")
    whole = {"$ref": f"{_BASE}{file}{_SUFFIX}#{definition}"} if definition else schema(name)
    together = jsonschema_rs.Registry([(f"{_BASE}{other}{_SUFFIX}", schema(other)) for other in names()])
    return jsonschema_rs.Draft202012Validator(whole, registry=together, offline=True, validate_formats=True)


def faults(name: str, value: Any) -> Iterator[SchemaFault]:
    """Yield what the schema of that name does not allow in `value`, which is not deeper than section 2.6 allows.

    A value for which the schema has alternatives is judged by the nearest of them. Beyond the first hundred items of an
    array, or of the unknown names in an object, only the first fault is reported; in a large value, beyond the first
    ten or the first one.
    """
    check = validator(name)
    if check.is_valid(value):
        return iter(())
    return (_nearest(error) for error in check.iter_errors(_cut_at_the_fault(value, check)))


def _cut_at_the_fault(value: Any, check: jsonschema_rs.Draft202012Validator) -> Any:
    """An invalid value, its arrays and objects no larger than shows that.

    The validator makes an object of every fault there is, and in it copies what stands around the fault.
    """
    floor = next((most for most in _FLOORS if most * _size(_cut(value, most)) <= _MOST_COPIED), _FLOORS[-1])
    large = _large(value, floor)
    lengths = range(floor, _longest(value))
    shortest = bisect_left(lengths, True, key=lambda most: not check.is_valid(_cut(value, most, large)))
    return _cut(value, lengths[shortest], large) if shortest < len(lengths) else value


def _items(value: Any) -> Collection[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _longest(value: Any) -> int:
    return max([len(_items(value)), *(_longest(item) for item in _items(value) if isinstance(item, dict | list))])


def _size(value: Any) -> int:
    """Return the number of characters of all names and strings, plus one for each value."""
    own = len(value) if isinstance(value, str) else sum(map(len, value)) if isinstance(value, dict) else 0
    return 1 + own + sum(map(_size, _items(value)))


def _cut(value: Any, most: int, large: Container[int] | None = None) -> Any:
    """Return the first items of each array; of each object the first names, and those whose absence could be a fault.

    `large` is the result of `_large` for this length or a lower one, for a caller that cuts several times.
    """
    large = _large(value, most) if large is None else large
    if id(value) not in large:
        return value
    if isinstance(value, dict):
        unknown = islice((name for name in value if name not in _known()), most)
        kept = {*unknown, *(value.keys() & _known())}
        return {name: _cut(item, most, large) for name, item in value.items() if name in kept}
    return [_cut(item, most, large) if id(item) in large else item for item in value[:most]]


def _large(value: Any, most: int) -> set[int]:
    """Return the identities of the arrays and objects with more than `most` members, and of those around them."""
    found: set[int] = set()

    def gather(part: Any) -> bool:
        inside = [gather(item) for item in _items(part) if isinstance(item, (dict, list))]
        if len(_items(part)) > most or any(inside):
            found.add(id(part))
        return id(part) in found

    gather(value)
    return found


@cache
def _known() -> frozenset[str]:
    """Return every name that a schema mentions."""
    return frozenset(found for name in names() for found in _spoken_of(schema(name)))


def _spoken_of(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for keyword in ("properties", "required"):
            yield from (name for name in part.get(keyword, ()) if isinstance(name, str))
    for item in _items(part):
        yield from _spoken_of(item)


def _nearest(error: jsonschema_rs.ValidationError) -> SchemaFault:
    """Return the fault; where alternatives failed, the fault of the one that matched farthest into the value."""
    branches: list[list[jsonschema_rs.ValidationError]] = getattr(error.kind, "context", None) or []
    deeper = [_nearest(branch[0]) for branch in branches if branch]
    own = SchemaFault(_path(error), error.message)
    best = max(deeper, key=lambda fault: len(fault.path), default=own)
    return best if len(best.path) > len(own.path) else _by_type(error, branches) or own


def _by_type(
    error: jsonschema_rs.ValidationError, branches: list[list[jsonschema_rs.ValidationError]]
) -> SchemaFault | None:
    """Return the fault of the only alternative for values of this type; `None` where there are several or none."""
    fitting = [branch[0] for branch in branches if branch and "is not of type" not in branch[0].message]
    return SchemaFault(_path(error), fitting[0].message) if len(fitting) == 1 else None


def _path(error: jsonschema_rs.ValidationError) -> Path:
    """Return the path of the fault; that of the member for a name that is not allowed."""
    of_name = getattr(error.kind, "error", None)
    return (*error.instance_path, *((str(of_name.instance),) if of_name is not None else ()))


def pointer(path: list[str | int] | Path) -> str:
    """Return the JSON Pointer (RFC 6901) of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
