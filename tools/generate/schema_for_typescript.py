"""Rewrite a JSON Schema for json-schema-to-typescript, which ignores if/then and repeats what a `$ref` points to.

Pure functions. What they leave out makes a type wider, never narrower: TypeScript then accepts every valid value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tools.generate.sources import SUFFIX

Schema = dict[str, Any]
_WHOLE = {"$ref": "#"}


def values_with_rules(schema: Schema) -> tuple[str, dict[str, list[Schema]]] | None:
    """Return the property that the if/then rules of the schema test, and the `then` parts for each of its values.

    Rules that test anything but the value of one property are left out. Return None if there is no rule.

    Raises:
        ValueError: the rules test different properties; a TypeScript union can have only one discriminant.
    """
    asked: dict[str, dict[str, list[Schema]]] = {}
    for part in schema.get("allOf", ()):
        properties = part.get("if", {}).get("properties", {})
        if len(properties) != 1 or part["if"].get("required") != list(properties):
            continue
        [(name, test)] = properties.items()
        for value in test["enum"] if "enum" in test else [test["const"]]:
            asked.setdefault(name, {}).setdefault(value, []).append(part.get("then", {}))
    if len(asked) > 1:
        properties = " and by ".join(asked)
        raise ValueError(f"{schema.get('title')}: rules by {properties}; a union can have only one discriminant")
    return next(iter(asked.items()), None)


def pascal(value: str) -> str:
    """Return a value as part of the name of a type: `llm_delta` becomes `LlmDelta`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", value))


def by_value(schema: Schema, more: dict[str, Schema] | None = None) -> Schema:
    """Return the schema with a definition for each value, and one for their union, instead of its if/then rules.

    Args:
        schema: A schema; if no rule of it tests the value of a property, it gets no definition.
        more: Subschemas for further values, which come from a registry and not from the schema.
    """
    ruled = values_with_rules(schema)
    base = {key: value for key, value in schema.items() if key not in ("if", "then", "else")}
    if rest := [part for part in schema.get("allOf", ()) if "if" not in part]:
        base["allOf"] = rest
    else:
        base.pop("allOf", None)
    if ruled is None:
        return base
    name, demands = ruled
    demands = {**demands, **{value: [then] for value, then in (more or {}).items() if value not in demands}}
    title = schema["title"]
    variants = {f"{pascal(value)}{title}": _variant(base, name, value, then) for value, then in demands.items()}
    known = {
        "description": f"{title}, where its {name} has a shape of its own; a `switch` on `{name}` narrows it.",
        "anyOf": [{"$ref": f"#/$defs/{variant}"} for variant in variants],
    }
    return {**base, "$defs": {**base.get("$defs", {}), **variants, f"Known{title}": known}}


def _variant(base: Schema, name: str, value: str, thens: list[Schema]) -> Schema:
    demanded = {key for then in thens for key in then.get("required", ())}
    properties: Schema = {name: None}
    properties |= {key: value for key, value in base["properties"].items() if key in demanded}
    for then in thens:
        properties |= then.get("properties", {})
    properties[name] = {"const": value}
    return {
        "description": f"{base['title']} of the {name} `{value}`.",
        "allOf": [_WHOLE],
        "type": "object",
        "required": [key for key in properties if key in {name, *demanded, *base.get("required", ())}],
        "properties": properties,
        "additionalProperties": base.get("additionalProperties", True),
    }


def renamed(schema: Schema, names: dict[str, str]) -> Schema:
    """Return the schema with other names for definitions, and for every `$ref` to them, also in other schemas.

    Args:
        schema: The schema.
        names: The new name of each definition by its old one.
    """

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        copy = {key: walk(value) for key, value in node.items()}
        if isinstance(node.get("$ref"), str):
            home, inside, definition = node["$ref"].partition("#/$defs/")
            copy["$ref"] = home + inside + names.get(definition, definition)
        return copy

    made: Schema = walk(schema)
    if "$defs" in made:
        made["$defs"] = {names.get(key, key): value for key, value in made["$defs"].items()}
    return made


def named(schema: Schema, module: str, titles: dict[str, str]) -> tuple[Schema, dict[str, list[str]]]:
    """Return the schema with the name of a type instead of each `$ref`, and the types to import, by module.

    The generator would follow a `$ref` and declare its target again in every file, under another name.

    Args:
        schema: The schema.
        module: Its file name without `.schema.json`.
        titles: The title of each schema by that name.
    """
    imports: dict[str, set[str]] = {}

    def name(reference: str) -> str:
        file, _, fragment = reference.partition("#")
        home = file.removesuffix(SUFFIX) or module
        type_ = fragment.removeprefix("/$defs/") or titles[home]
        if home != module:
            imports.setdefault(home, set()).add(type_)
        return type_

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if isinstance(node.get("$ref"), str):
            description = {"description": node["description"]} if "description" in node else {}
            return {**description, "tsType": name(node["$ref"])}
        if node.get("allOf") == [_WHOLE]:  # the generator's own keyword `extends` needs the `$ref`
            return {"extends": [_WHOLE], **walk({key: value for key, value in node.items() if key != "allOf"})}
        return {key: walk(value) for key, value in node.items()}

    linked = {key: value for key, value in schema.items() if key not in ("$id", "$schema")}
    linked["$defs"] = {key: {**definition, "title": key} for key, definition in schema.get("$defs", {}).items()}
    return walk(linked), {home: sorted(types) for home, types in sorted(imports.items())}


def import_lines(imports: dict[str, list[str]]) -> Iterator[str]:
    """Yield the import lines of a module."""
    for home, types in imports.items():
        yield f'import type {{ {", ".join(types)} }} from "./{home}.js";\n'
