"""The constants that each language gets from `schemas/names.json` and the two registries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.generate.sources import SCHEMAS


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the generated registry modules. `type` is its type in Python."""

    name: str
    type: str
    value: Any
    doc: str


def constants() -> Iterator[Constant]:
    """Yield every constant, in the order in which the modules define them."""
    names = json.loads((SCHEMAS / "names.json").read_text(encoding="utf-8"))
    codes = json.loads((SCHEMAS / "registry" / "error_codes.json").read_text(encoding="utf-8"))["codes"]
    prefix, table = names["prefix"], "dict[str, dict[str, Any]]"
    yield Constant("PREFIX", "str", prefix, "Prefix of everything XMCP adds to MCP.")
    yield Constant("EXTENSION_ID", "str", prefix + "tool-response", "The MCP extension identifier.")
    yield Constant("TOOL_META_KEY", "str", prefix + "tool", "Key of the tool metadata in a tool's `_meta`.")
    yield Constant("RESULT_META_KEY", "str", prefix + "result", "Key of form and version in a result's `_meta`.")
    yield Constant(
        "DISPLAY_META_KEY", "str", prefix + "display", "Key of the display in the `_meta` of a plain result."
    )
    yield Constant("ERROR_META_KEY", "str", prefix + "error", "Key of the error in a plain result's `_meta`.")
    yield Constant(
        "POPULATED_META_KEY",
        "str",
        prefix + "server_populated",
        "Key of `server_populated` in a plain result's `_meta`.",
    )
    yield Constant("VIEW_URI", "str", names["view_uri"], "URI of the view for hosts of MCP Apps (section 6.7).")
    yield Constant("VERSION", "str", names["version"], "The version of the specification these models are for.")
    yield Constant(
        "VENDOR_KEY", "str", names["vendor_key"], "Regular expression of a name with a vendor prefix, whole."
    )
    yield Constant("ERROR_CODES", table, {row["code"]: row for row in codes}, "Registered error codes.")
    categories: dict[str, dict[str, Any]] = {}
    for row in codes:  # the first code of a category is its most general one
        categories.setdefault(row["category"], {"retryable": row["retryable"], "recovery": row["recovery"]})
    yield Constant("ERROR_CATEGORIES", table, categories, "Defaults of each error category.")
    displays = json.loads((SCHEMAS / "registry" / "display_types.json").read_text(encoding="utf-8"))
    types = {row["type"]: row for row in displays["types"]}
    yield Constant("DISPLAY_TYPES", table, types, "Registered display types.")
    rules = displays["envelope"]
    yield Constant("ENVELOPE_RULES", "dict[str, Any]", rules, "What an emitter keeps to in every display envelope.")
