"""Read a tool's input schema: its references, its types, and whether arguments fit it. Nothing is drawn here."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import jsonschema_rs

from xmcp_conformance.core.schema_faults import fault_in_words

Schema: TypeAlias = dict[str, Any]
Arguments: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]
"""Member names and indexes that lead from the arguments to a value inside them."""


def fitting(schema: Schema) -> Callable[[Any], bool] | None:
    """Return whether a value fits the schema, as a function; None if it cannot be used without another document."""
    try:
        return jsonschema_rs.validator_for(schema, offline=True).is_valid  # a judged server must not cause downloads
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return None


def misfit(schema: Schema, value: Any) -> str:
    """Return what the schema says against a value, in words; empty where it fits, or where nobody can say."""
    try:
        validator = jsonschema_rs.validator_for(schema, offline=True, mask="this")
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return ""
    fault = next(validator.iter_errors(value), None)
    return "" if fault is None else fault_in_words(fault)


def sendable(value: Any) -> bool:
    """Return whether JSON in UTF-8 can carry the value: it has no unpaired surrogate and no NaN."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError:
        return False
    return True


def pointer(path: Path) -> str:
    """Return the JSON Pointer (RFC 6901) of a path."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def expanded(schema: Schema) -> Schema:
    """Return an input schema with the members that it has by `allOf` and `$ref`; itself if these lead nowhere."""
    try:
        return merged(resolve(schema, schema), schema)
    except (ValueError, LookupError, TypeError):
        return schema


def without(schema: Schema, names: list[str]) -> Schema:
    """Return an input schema without the parameters `names`."""
    properties = {name: value for name, value in schema.get("properties", {}).items() if name not in names}
    return {**schema, "properties": properties, "required": [n for n in schema.get("required", ()) if n not in names]}


def resolve(schema: Any, root: Schema) -> Schema:
    """Follow local references; a schema `true` becomes the empty schema, which allows everything.

    Raises:
        ValueError: the references never end.
        LookupError, TypeError: a reference leads nowhere.
    """
    for _ in range(32):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        target: Any = root
        for part in reference[1:].split("/")[1:]:
            target = target[part.replace("~1", "/").replace("~0", "~")]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    raise ValueError("references that never end")


def options(schema: Schema, root: Schema) -> list[Schema]:
    """Return the schemas of which a value has to fit one: those of `anyOf` or `oneOf`, with what is beside these."""
    for word in ("anyOf", "oneOf"):
        if word in schema:
            rest = {key: value for key, value in schema.items() if key != word}
            return [{**rest, **resolve(option, root)} for option in schema[word]]
    return [schema]


def merged(schema: Schema, root: Schema) -> Schema:
    """Return a schema with the parts of its `allOf` as members of its own."""
    if "allOf" not in schema:
        return schema
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        other = resolve(part, root)
        needed = [*whole.get("required", ()), *other.get("required", ())]
        properties = dict(whole.get("properties", {}))
        for name, schema_of in other.get("properties", {}).items():
            properties[name] = _both(properties.get(name, True), schema_of)
        whole = {**whole, **other, "required": needed, **({"properties": properties} if properties else {})}
    return whole


def _both(one: Any, other: Any) -> Any:
    """Return a schema for a value that has to fit two; of members that both have, that of the second."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **other}
    return one if other is True else other


def types(schema: Schema) -> set[str]:
    """Return the JSON types that a schema allows; empty where it does not say."""
    if isinstance(declared := schema.get("type"), str):
        return {declared}
    if isinstance(declared, list):
        return set(declared)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return {type_of(value) for value in values}
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return set().union(*[types(option) for option in schema[word] if isinstance(option, dict)])
    if "properties" in schema or "patternProperties" in schema:
        return {"object"}
    return set()


def type_of(value: Any) -> str:
    """Return the JSON type of a value."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def replaced(value: Any, path: Path, new: Any) -> Any:
    """Return a copy of a value with another value at a path; the last name of the path can be new."""
    if not path:
        return new
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        return [replaced(item, rest, new) if index == first else item for index, item in enumerate(value)]
    return {**value, first: replaced(value.get(first), rest, new)}


def removed(value: Any, path: Path) -> Any:
    """Return a copy of a value without the member or item at a path, which is not empty."""
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        if rest:
            return [removed(item, rest) if index == first else item for index, item in enumerate(value)]
        return [item for index, item in enumerate(value) if index != first]
    if rest:
        return {**value, first: removed(value[first], rest)}
    return {name: item for name, item in value.items() if name != first}


@dataclass(frozen=True, slots=True)
class Node:
    """A value inside the arguments, with its path and the schema that it has to fit, without references."""

    path: Path
    schema: Schema
    value: Any


def nodes(arguments: Arguments, root: Schema) -> Iterator[Node]:
    """Yield the values inside arguments that fit a schema, those of an object or a list after it.

    Raises:
        ValueError, LookupError, TypeError: the schema has references that lead nowhere or never end.
    """
    waiting: deque[tuple[Path, Any, Any]] = deque([((), root, arguments)])
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        path, schema, value = waiting.popleft()
        schema = _chosen(resolve(schema, root), value, root)
        yield Node(path, schema, value)
        if isinstance(value, dict):
            waiting.extend(((*path, name), _of_member(schema, name), item) for name, item in value.items())
        if isinstance(value, list):
            first = schema.get("prefixItems", [])
            items = [*first, *[schema.get("items", {})] * (len(value) - len(first))]
            waiting.extend(((*path, index), items[index], item) for index, item in enumerate(value))


def differently_formed(base: Any, others: list[Any]) -> list[Any]:
    """Return those of the others that have, in some place, a member or a type of value which no earlier one has."""
    seen = set(_forms(base))
    found = []
    for other in others:
        forms = set(_forms(other))
        if not forms <= seen:
            seen |= forms
            found.append(other)
    return found


def _forms(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield where a value is, items of a list in one place, and its type; and the same of the values in it."""
    yield path, type_of(value)
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _forms(item, (*path, name))
    if isinstance(value, list):
        for item in value:
            yield from _forms(item, (*path, -1))


_MOST_NODES = 200


def _of_member(schema: Schema, name: str) -> Any:
    """Return the schema of a member; that of a pattern is not looked for by the name, because it may backtrack."""
    patterns = list(schema.get("patternProperties", {}).values())
    other = patterns[0] if patterns else schema.get("additionalProperties", {})
    return schema.get("properties", {}).get(name, other)


def _chosen(schema: Schema, value: Any, root: Schema) -> Schema:
    """Return the option of a schema that a value fits, with the parts of its `allOf`."""
    possible = options(schema, root)
    if len(possible) > 1:
        definitions: Schema = {word: root[word] for word in ("$defs", "definitions") if word in root}
        checked = ((option, fitting({**option, **definitions})) for option in possible)
        schema = next((option for option, fits in checked if fits is not None and fits(value)), possible[0])
    return merged(schema, root)
