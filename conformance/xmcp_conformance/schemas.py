"""The JSON Schemas of the specification as validators, built once."""

from __future__ import annotations

import json
from functools import cache

import jsonschema_rs

from xmcp_models import DATA


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """The validator of `<name>.schema.json`. Nothing is fetched: the schemas refer only to themselves."""
    schema = json.loads((DATA / f"{name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema_rs.Draft202012Validator(schema)


def pointer(path: list[str | int]) -> str:
    """A JSON Pointer (RFC 6901) from the path of a validation error."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
