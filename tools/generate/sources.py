"""What the generators read: the JSON Schemas and the registry of display types of `schemas/`."""

from __future__ import annotations

import json
from typing import Any, Final

from tools import ROOT

SCHEMAS: Final = ROOT / "schemas"
SUFFIX: Final = ".schema.json"
COMMAND: Final = "uv run nox -s generate"
NOTE: Final = f"Generated from schemas/ by `{COMMAND}`. Do not edit: change the schema and run it again."
"""First line of every generated module."""


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return every JSON Schema of the specification by its file name without `.schema.json`."""
    paths = sorted(SCHEMAS.glob(f"*{SUFFIX}"))
    return {path.name.removesuffix(SUFFIX): json.loads(path.read_text(encoding="utf-8")) for path in paths}


def display_types() -> list[dict[str, Any]]:
    """Return the rows of the registry of display types."""
    registry = json.loads((SCHEMAS / "registry" / "display_types.json").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = registry["types"]
    return rows
