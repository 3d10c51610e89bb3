"""Remove from JSON Schemas the keywords that the types of a programming language cannot express.

The bindings of that language must accept what the weakened schema accepts, and refuse what it refuses.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import jsonschema_rs

Schema = dict[str, Any]
_BASE = "json-schema:///"
_MAPS = {"properties", "patternProperties", "dependentSchemas", "$defs"}
_VALUES = {"const", "enum", "default", "examples", "required"}
_CONDITION = {"if", "then", "else"}


def weakened(schema: Schema, forgotten: Collection[str]) -> Schema:
    """Return the schema without the keywords `forgotten`.

    Three names do more than remove a keyword: `if` also removes `then` and `else`; `integer` turns that type into
    `number`; `null` allows null for every property that is not required.
    """

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        return subschema(node) if isinstance(node, dict) else node

    def subschema(node: Schema) -> Schema:
        kept: Schema = {}
        for key, value in node.items():
            if key in _CONDITION and "if" in forgotten:
                continue
            if key == "type" and "integer" in forgotten:
                kept[key] = _number(value)
            elif key in forgotten:
                continue
            elif key in _MAPS:
                kept[key] = {name: walk(inner) for name, inner in value.items()}
            else:
                kept[key] = value if key in _VALUES else walk(value)
        if "null" in forgotten:
            for name in kept.get("properties", {}).keys() - set(kept.get("required", ())):
                kept["properties"][name] = {"anyOf": [kept["properties"][name], {"type": "null"}]}
        return kept

    return subschema(schema)


def _number(type_: str | list[str]) -> str | list[str]:
    names = [type_] if isinstance(type_, str) else type_
    numbers = list(dict.fromkeys("number" if name == "integer" else name for name in names))
    return numbers[0] if isinstance(type_, str) else numbers


def validators(
    schemas: dict[str, Schema], forgotten: Collection[str], types: dict[str, str]
) -> dict[str, jsonschema_rs.Draft202012Validator]:
    """Return a validator of the weakened schemas for each type. It asserts formats.

    Args:
        schemas: The schemas by file name.
        forgotten: What the language cannot express; see `weakened`.
        types: Reference to each type by its name, such as `chat_event.schema.json#/$defs/Message`.
    """
    resources = [(_BASE + name, weakened(schema, forgotten)) for name, schema in schemas.items()]
    registry = jsonschema_rs.Registry(resources)
    return {
        name: jsonschema_rs.Draft202012Validator({"$ref": _BASE + place}, registry=registry, validate_formats=True)
        for name, place in types.items()
    }
