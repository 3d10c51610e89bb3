"""Mutations of our JSON Schemas: every rule altered in each way that makes sense for its keyword.

A keyword that this module does not know raises an error, so that no rule is left out by accident.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs

from tools.generate.sources import SCHEMAS, SUFFIX
from tools.lint.pattern_mutations import mutated_patterns
from tools.lint.schema_mutation import Judge, Mutation

KINDS = tuple(sorted(path.name.removesuffix(SUFFIX) for path in SCHEMAS.glob(f"*{SUFFIX}")))
"""Names of the JSON Schemas, which are also the names of the folders of their examples."""
ANNOTATIONS = frozenset({"$schema", "$id", "$comment", "title", "description", "default"})
"""Keywords for people and generators; no verdict depends on them."""

_Path = tuple[str | int, ...]
_REMOVED: Any = object()


@dataclass(frozen=True, slots=True)
class _Edit:
    """A new value at a path of a schema.

    The name of the mutation ends in `says`. `at` replaces the path in that name.
    """

    path: _Path
    value: Any
    says: str = "removed"
    at: str = ""

    @property
    def name(self) -> str:
        return f"#/{self.at or '/'.join(map(str, self.path))} {self.says}"

    def applied(self, schema: Any) -> Any:
        """A copy of the schema with the edit made."""
        copy = deepcopy(schema)
        *way, last = self.path
        node = copy
        for step in way:
            node = node[step]
        if self.value is _REMOVED:
            del node[last]
        else:
            node[last] = self.value
        return copy


# The type that authors confuse with each type (besides null): they write JSON by hand, or their language lacks it.
_CONFUSED = {
    "string": "number",
    "number": "string",
    "integer": "number",
    "boolean": "string",
    "object": "array",
    "array": "object",
}


def _types(value: str | list[str], path: _Path) -> Iterator[_Edit]:
    names = [value] if isinstance(value, str) else value
    yield _Edit(path, _REMOVED)
    for added in dict.fromkeys(["null", *[_CONFUSED[name] for name in names if name != "null"]]):
        if added not in names:
            yield _Edit(path, [*names, added], f"{added} accepted")
    for name in names if len(names) > 1 else ():
        yield _Edit(path, [other for other in names if other != name], f"{name} refused")


def _listed(value: list[str], path: _Path) -> Iterator[_Edit]:
    """Remove each entry of `required` or member of `enum`."""
    for index, entry in enumerate(value):
        yield _Edit((*path, index), _REMOVED, at="/".join(map(str, (*path, entry))))


def _enum(value: list[str], path: _Path) -> Iterator[_Edit]:
    yield from _listed(value, path)
    yield _Edit(path, _REMOVED)
    yield _Edit(path, [*value, None], "null accepted")
    yield _Edit(path, [*value, value[0].upper()], f"{value[0].upper()} accepted")


def _bound(value: int, path: _Path) -> Iterator[_Edit]:
    yield _Edit(path, _REMOVED)
    for moved in (value - 1, value + 1):
        if moved >= 0 or "imum" in str(path[-1]):
            yield _Edit(path, moved, f"is {moved}")


def _gone(_value: Any, path: _Path) -> Iterator[_Edit]:
    yield _Edit(path, _REMOVED)


def _branches(value: list[Any], path: _Path) -> Iterator[_Edit]:
    for index in range(len(value)):
        yield _Edit((*path, index), _REMOVED)


def _schema_or_flag(value: Any, path: _Path) -> Iterator[_Edit]:
    yield _Edit(path, False, "closed") if value is True else _Edit(path, _REMOVED)


_EDITS: Mapping[str, Callable[[Any, _Path], Iterator[_Edit]]] = {
    "type": _types,
    "required": _listed,
    "enum": _enum,
    "const": lambda value, path: iter((_Edit(path, _REMOVED), _Edit(path, value.upper(), f"is {value.upper()}"))),
    "pattern": lambda value, path: iter(
        (
            _Edit(path, _REMOVED),
            *[_Edit(path, changed, f"is {changed}") for changed in mutated_patterns(value) if _is_pattern(changed)],
        )
    ),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems"), _bound
    ),
    **dict.fromkeys(("uniqueItems", "items", "propertyNames", "$ref", "then", "else", "not", "format"), _gone),
    "additionalProperties": _schema_or_flag,
    "allOf": _branches,
    **dict.fromkeys(("oneOf", "anyOf"), lambda value, path: iter((_Edit(path, _REMOVED), *_branches(value, path)))),
    "properties": lambda value, path: iter(_Edit((*path, name), _REMOVED) for name in value),
    "$defs": lambda *_: iter(()),
    "if": lambda *_: iter(()),  # removing `if` disables `then`, which the edit of `then` does already
}
_HOLD_SCHEMAS = {"properties", "$defs"}
_LIST_SCHEMAS = {"allOf", "oneOf", "anyOf"}
_ARE_SCHEMAS = {"items", "if", "then", "else", "not", "additionalProperties", "propertyNames"}


def edits(schema: Mapping[str, Any], path: _Path = ()) -> Iterator[_Edit]:
    """Yield every edit of a schema and of its subschemas.

    Raises:
        KeyError: the schema has a keyword that this module does not know.
    """
    for keyword, value in schema.items():
        if keyword in ANNOTATIONS:
            continue
        here = (*path, keyword)
        yield from _EDITS[keyword](value, here)
        inner: Iterable[tuple[Any, Any]] = ()
        if keyword in _HOLD_SCHEMAS:
            inner = value.items()
        elif keyword in _LIST_SCHEMAS:
            inner = enumerate(value)
        for name, inside in inner:
            yield from edits(inside, (*here, name))
        if keyword in _ARE_SCHEMAS and isinstance(value, dict):
            yield from edits(value, here)
    if "properties" in schema and "additionalProperties" not in schema and not {"if", "then"} & set(path):
        yield _Edit((*path, "additionalProperties"), False, "closed")


def _is_pattern(text: str) -> bool:
    """Return whether a text is a regular expression: without its backslash, a range can end before it begins."""
    try:
        re.compile(text)
    except re.error:
        return False
    return True


@cache
def _stored(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text("utf-8"))


def judge_by(schema: Any) -> Judge:
    """Return the function that validates by a JSON Schema of ours, whose references point into `schemas/`."""
    return jsonschema_rs.validator_for(
        schema, retriever=lambda uri: _stored(uri.rpartition("/")[2]), validate_formats=True
    ).is_valid


def schema_of(kind: str) -> Any:
    """Return the JSON Schema of a kind of example."""
    return _stored(f"{kind}{SUFFIX}")


def mutations_of(kind: str) -> list[Mutation]:
    """Return every mutation of one JSON Schema. The schemas that it refers to stay as they are."""
    schema = schema_of(kind)
    return [
        Mutation(kind + edit.name, lambda edit=edit: judge_by(edit.applied(schema)))  # type: ignore[misc]
        for edit in edits(schema)
    ]
