"""The shape of the payload of each registered display type, read from the schema of the envelope."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

from xmcp.render.view.shapes import Shape
from xmcp_models.registry import DISPLAY_TYPES

_PROSE: Final = ("description", "title")


def _shapes() -> Iterator[tuple[str, Shape]]:
    schema = files("xmcp_models").joinpath("data/display_envelope.schema.json").read_text(encoding="utf-8")
    definitions = json.loads(schema)["$defs"]
    for name, row in DISPLAY_TYPES.items():
        if row["status"] == "active":
            yield name, _shape(definitions[row["payload"].rpartition("/")[2]], definitions)


def _shape(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without prose and references; its objects are open, and its envelopes are just objects."""
    if reference := schema.get("$ref"):
        return (
            {"type": "object"} if reference == "#" else _shape(definitions[reference.rpartition("/")[2]], definitions)
        )
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "oneOf":
            found["anyOf"] = [_shape(branch, definitions) for branch in value]
        elif keyword == "properties":
            found["properties"] = {name: _shape(member, definitions) for name, member in value.items()}
            found["additionalProperties"] = True
        elif keyword in ("items", "additionalProperties"):
            found[keyword] = _shape(value, definitions)
        elif keyword not in _PROSE:
            found[keyword] = value
    return found


SHAPES: Final[Mapping[str, Shape]] = dict(_shapes())
"""The shape of the payload of each active display type."""
