"""A JSON Schema in the words of json-schema-to-typescript, which knows neither if/then nor one name for one type.

Pure functions. What they leave out makes a type wider, never narrower: TypeScript then refuses nothing that is valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
SUFFIX = ".schema.json"
_WHOLE = {"$ref": "#"}


def values_with_rules(schema: Schema) -> tuple[str, dict[str, list[Schema]]] | None:
    """The property that the schema's if/then rules ask for, and what they demand for each of its values.

    Rules that ask for anything else than one property's value are left out.

    Raises:
        ValueError: the rules ask for different properties; a union can have one discriminant only.
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
        raise ValueError(f"{schema.get('title')}: rules by {' and by '.join(asked)}; TypeScript can tell by one only")
    return next(iter(asked.items()), None)


def pascal(value: str) -> str:
    """A value as a part of a type's name: `llm_delta` becomes `LlmDelta`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", value))


def by_value(schema: Schema, more: dict[str, Schema] | None = None) -> Schema:
    """The schema without its if/then rules, and in their place a definition for each value and one for their union.

    Args:
        schema: One that may have rules by the value of a property; without any it stays as it is.
        more: What is demanded for further values, where a registry says so and not the schema.
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


def named(schema: Schema, module: str, titles: dict[str, str]) -> tuple[Schema, dict[str, list[str]]]:
    """The schema with a type's name in place of each `$ref`, and what has to be imported from other modules.

    The generator would follow a `$ref` and declare its target again in every file, under another name.

    Args:
        schema: The schema.
        module: Its name, without `.schema.json`.
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
        if node.get("allOf") == [_WHOLE]:  # `extends` is a word of the generator's own; it has to see the `$ref`
            return {"extends": [_WHOLE], **walk({key: value for key, value in node.items() if key != "allOf"})}
        return {key: walk(value) for key, value in node.items()}

    linked = {key: value for key, value in schema.items() if key not in ("$id", "$schema")}
    linked["$defs"] = {key: {**definition, "title": key} for key, definition in schema.get("$defs", {}).items()}
    return walk(linked), {home: sorted(types) for home, types in sorted(imports.items())}


def import_lines(imports: dict[str, list[str]]) -> Iterator[str]:
    """The imports of a module."""
    for home, types in imports.items():
        yield f'import type {{ {", ".join(types)} }} from "./{home}.js";\n'
