"""Read JSON objects of a gateway, and say why a text is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from xmcp_conformance.reader.strict_json import JsonFault, parse

_NOTHING: Final[Mapping[str, Any]] = {}


def object_in(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the JSON object that a text is, and why it is none: then the object is empty."""
    try:
        json = parse(text, safe_integers=False)
    except JsonFault as error:
        return _NOTHING, f"no JSON: {error.seen}"
    if json.too_deep is not None:
        return _NOTHING, "JSON that is nested too deeply"
    return (json.value, "") if isinstance(json.value, dict) else (_NOTHING, "JSON, and no object")
