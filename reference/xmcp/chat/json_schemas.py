"""Validators for the schemas in `schemas/`, compiled once."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from xmcp_models import DATA

if TYPE_CHECKING:
    import jsonschema_rs


@lru_cache
def validator(name: str) -> jsonschema_rs.Validator:
    """Return the validator of `schemas/{name}.schema.json`. Its errors do not quote the values."""
    import jsonschema_rs

    return jsonschema_rs.validator_for(
        _schema(f"{name}.schema.json"),
        retriever=lambda uri: _schema(uri.rpartition("/")[2]),
        validate_formats=True,
        mask="the value",
    )


def _schema(file: str) -> Any:
    return json.loads((DATA / file).read_text(encoding="utf-8"))
