"""Write Python values as JSON, with a tag where JSON cannot hold them; `conformance/vectors/README.md` has the tags."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import re
from typing import Any, Final

_MAX_SAFE_INTEGER: Final = 2**53 - 1
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def tagged(value: Any) -> Any:
    """Return a value as JSON, with tags; `vectors.untagged` is the way back."""
    match value:
        case None | bool():
            return value
        case str():
            return value if not _PAIR.search(value) else {"$surrogates": _units(value)}
        case int():
            return value if abs(value) <= _MAX_SAFE_INTEGER else {"$integer": str(value)}
        case float():
            return value if math.isfinite(value) else {"$float": _NAMES[str(value)]}
        case decimal.Decimal():
            return {"$decimal": str(value)}
        case datetime.datetime():
            return {"$datetime": value.isoformat()}
        case datetime.date():
            return {"$date": value.isoformat()}
        case bytes():
            return {"$bytes": base64.b64encode(value).decode()}
        case dict() if all(isinstance(name, str) for name in value):
            return {name: tagged(member) for name, member in value.items()}
        case dict():
            return {"$pairs": [[tagged(name), tagged(member)] for name, member in value.items()]}
        case list():
            return [tagged(item) for item in value]
        case tuple():
            return {"$tuple": [tagged(item) for item in value]}
        case _:
            return {"$opaque": True}


def _units(text: str) -> list[str]:
    """Return the UTF-16 code units of a text, in hexadecimal: a reader of JSON would join two halves."""
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return [units[at : at + 4] for at in range(0, len(units), 4)]


_NAMES: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def needed(value: Any) -> set[str]:
    """Return the kinds of values beyond JSON that a value has in it, by the names of their tags."""
    if isinstance(value, str):
        kinds = {"surrogates"} if _SURROGATE.search(value) else set()
        return kinds | ({"halves"} if _PAIR.search(value) else set())
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [part for pair in value.items() for part in pair]
    elif isinstance(value, list | tuple):
        parts = list(value)
    inside = {kind for part in parts for kind in needed(part)}
    own = tagged(value)
    tag = next(iter(own)) if isinstance(own, dict) and len(own) == 1 else ""
    return inside | ({tag[1:]} if tag in _TAGS else set())


_TAGS: Final = frozenset(
    ("$bytes", "$date", "$datetime", "$decimal", "$float", "$integer", "$opaque", "$pairs", "$tuple")
)
