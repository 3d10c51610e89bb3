"""Arguments that are no numbers although a parameter wants one: "nan", "inf", "1e400".

pydantic converts texts to numbers, also these. JSON has no such numbers, so no schema allows them, and an author who
wrote `x: float` does not expect them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from fastmcp.exceptions import ValidationError
from pydantic import ValidationError as PydanticValidationError
from pydantic_core import InitErrorDetails

Place: TypeAlias = tuple[str | int, ...]

_MAX_PLACES: Final = 32


def takes_numbers(parameters: Mapping[str, Any]) -> bool:
    """Tell whether a parameter in this input schema is a number, at any depth."""
    return '"number"' in json.dumps(parameters, default=str)


def refuse_non_finite(parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Check the numbers in `arguments`, and the texts that would become numbers.

    Raises:
        ValidationError: One of them is not finite; the cause names each place.
    """
    found = list(islice(_places(parameters, arguments), _MAX_PLACES))
    if not found:
        return
    faults: list[InitErrorDetails] = [{"type": "finite_number", "loc": place, "input": None} for place in found]
    error = PydanticValidationError.from_exception_data("arguments", faults)
    raise ValidationError("An argument is not a finite number.") from error


def _places(root: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[Place]:
    """Yield the places in `arguments` of numbers that are not finite; each value is visited once."""
    pending: list[tuple[list[Any], Any, Place]] = [([root], arguments, ())]
    while pending:
        schemas, value, place = pending.pop()
        if isinstance(value, float):
            if not math.isfinite(value):
                yield place
            continue
        branches = _branches(schemas, root)
        if isinstance(value, str):
            kinds = {kind for branch in branches for kind in _kinds(branch)}
            if "number" in kinds and "string" not in kinds and _is_not_finite(value):
                yield place
        elif isinstance(value, Mapping) and branches:
            for name, member in value.items():
                pending.append(([_member_schema(branch, name) for branch in branches], member, (*place, name)))
        elif isinstance(value, list) and branches:
            for index, item in enumerate(value):
                pending.append(([_item_schema(branch, index) for branch in branches], item, (*place, index)))


def _member_schema(schema: Mapping[str, Any], name: str) -> Any:
    return schema.get("properties", {}).get(name, schema.get("additionalProperties"))


def _item_schema(schema: Mapping[str, Any], index: int) -> Any:
    leading = schema.get("prefixItems", ())
    return leading[index] if index < len(leading) else schema.get("items")


def _branches(schemas: Sequence[Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schemas that `schemas` consist of: themselves, what they refer to, and their alternatives."""
    pending, found = [*schemas], dict[int, Mapping[str, Any]]()
    while pending:
        schema = pending.pop()
        if not isinstance(schema, Mapping) or id(schema) in found:
            continue
        found[id(schema)] = schema
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            pending.append(root.get("$defs", {}).get(reference.removeprefix("#/$defs/")))
        for keyword in ("anyOf", "oneOf", "allOf"):
            pending.extend(schema.get(keyword, ()))
    return list(found.values())


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def _is_not_finite(text: str) -> bool:
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return False
