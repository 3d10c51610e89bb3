"""The parameters of an input schema, including those in the schemas it is composed of. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

_COMPOSED: Final = ("allOf", "anyOf", "oneOf")


def declared(schema: Mapping[str, Any]) -> set[str]:
    """Return the names of all parameters that the schema declares."""
    return _named(_parts(schema), "properties")


def needed(schema: Mapping[str, Any]) -> set[str]:
    """Return the names under `required`, in the schema and all its parts."""
    return _named(_parts(schema), "required")


def without(schema: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """Return the schema without these parameters in any part; the schema itself if it has none of them."""
    parts = _parts(schema)
    known = _named(parts, "properties") | _named(parts, "required")
    if known.isdisjoint(names):
        return schema
    stripped: Mapping[str, Any] = _without(schema, {id(part) for part in parts}, names)
    return stripped


def _named(parts: Iterable[Mapping[str, Any]], key: str) -> set[str]:
    listed = (part.get(key) for part in parts)
    return {name for names in listed if isinstance(names, Mapping | list) for name in names if isinstance(name, str)}


def _parts(root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schema and all schemas that it is composed of, each once."""
    parts: list[Mapping[str, Any]] = []
    seen: set[int] = set()
    waiting: list[Any] = [root]
    for schema in waiting:
        if not isinstance(schema, Mapping) or id(schema) in seen:
            continue
        seen.add(id(schema))
        parts.append(schema)
        waiting.append(_referred(schema.get("$ref"), root))
        for key in _COMPOSED:
            members = schema.get(key)
            waiting.extend(members if isinstance(members, list) else ())
    return parts


def _without(node: Any, parts: Collection[int], names: Collection[str]) -> Any:
    """Return a copy of a schema without the names in any part. References stay: their targets are copied too."""
    if isinstance(node, list):
        return [_without(one, parts, names) for one in node]
    if not isinstance(node, Mapping):
        return node
    made = {key: _without(value, parts, names) for key, value in node.items()}
    if id(node) in parts:
        if isinstance(properties := made.get("properties"), dict):
            made["properties"] = {name: part for name, part in properties.items() if name not in names}
        if isinstance(required := made.get("required"), list):
            made["required"] = [name for name in required if name not in names]
            if not made["required"]:
                del made["required"]
        # Alternatives that differed only in the removed names now all fit, which `oneOf` forbids.
        if "oneOf" in made and "anyOf" not in made:
            made["anyOf"] = made.pop("oneOf")
    return made


def _referred(reference: Any, root: Mapping[str, Any]) -> Any:
    """Return the target of a reference within the schema; `None` for other references."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    target: Any = root
    for step in reference[2:].split("/"):
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
    return target
