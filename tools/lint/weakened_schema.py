"""JSON Schemas without what a language cannot say: the statement that the bindings of that language are held against.

What a weakened schema accepts the bindings have to accept, and what it refuses they have to refuse.
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
    """The schema without the keywords `forgotten`.

    Three of them are no plain removal: `if` takes `then` and `else` with it, `integer` becomes the type `number`, and
    `null` lets every property that is not required be null.
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
    """A validator for each type, of the weakened schemas; it asserts formats.

    Args:
        schemas: The schemas by their file's name.
        forgotten: What the language cannot say; see `weakened`.
        types: Name of a type to where it stands, as in `chat_event.schema.json#/$defs/Message`.
    """
    resources = [(_BASE + name, weakened(schema, forgotten)) for name, schema in schemas.items()]
    registry = jsonschema_rs.Registry(resources)
    return {
        name: jsonschema_rs.Draft202012Validator({"$ref": _BASE + place}, registry=registry, validate_formats=True)
        for name, place in types.items()
    }
