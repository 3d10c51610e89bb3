"""What an input schema says of parameters, also in the parts that it is composed of. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

_COMPOSED: Final = ("allOf", "anyOf", "oneOf")
_DEEPEST: Final = 8
"""So many parts within parts are looked at: a schema that goes in a circle has an end."""


def declared(schema: Mapping[str, Any]) -> set[str]:
    """The names of all parameters that the schema knows."""
    return {name for part in _parts(schema, schema) for name in part.get("properties") or () if isinstance(name, str)}


def needed(schema: Mapping[str, Any]) -> set[str]:
    """The names under `required`, wherever that stands."""
    return {name for part in _parts(schema, schema) for name in part.get("required") or () if isinstance(name, str)}


def without(schema: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """The schema without these parameters; itself where it knows none of them outside its own `properties`.

    A part that is a reference stands there itself afterwards.
    """
    own = schema.get("properties")
    if declared(schema) - set(own if isinstance(own, Mapping) else ()) & set(names):
        stripped: Mapping[str, Any] = _without(schema, schema, names, _DEEPEST)
        return stripped
    return schema


def _parts(schema: Any, root: Mapping[str, Any], deepest: int = _DEEPEST) -> Iterator[Mapping[str, Any]]:
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping) or not deepest:
        return
    if isinstance(schema.get("properties") or {}, Mapping):
        yield schema
    for key in _COMPOSED:
        members = schema.get(key)
        for member in members if isinstance(members, list) else ():
            yield from _parts(member, root, deepest - 1)


def _without(schema: Any, root: Mapping[str, Any], names: Collection[str], deepest: int) -> Any:
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping) or not deepest:
        return schema
    made = dict(schema)
    if isinstance(properties := schema.get("properties"), Mapping):
        made["properties"] = {name: part for name, part in properties.items() if name not in names}
    if isinstance(required := schema.get("required"), list):
        made["required"] = [name for name in required if name not in names]
    for key in _COMPOSED:
        if isinstance(members := schema.get(key), list):
            made[key] = [_without(member, root, names, deepest - 1) for member in members]
    return made


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """What a reference within the schema points to; other references are left to the server."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: Any = root
        for step in reference[2:].split("/"):
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        if target is None:
            break
        schema = target
    return schema
