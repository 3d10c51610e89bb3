"""What an emitter does not write although a reader takes it: the sentences of the spec that no schema states.

Pure checks, each with the id of its sentence. `encode` raises what they find; a server asks them earlier and
decides what to answer instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from xmcp.wire.jsontext import dump
from xmcp.wire.response import ErrorInfo
from xmcp_models.error_meta import ErrorMeta
from xmcp_models.registry import DISPLAY_TYPES, ENVELOPE_RULES, ERROR_CODES, VENDOR_KEY

_vendor_key = re.compile(VENDOR_KEY).fullmatch
_DISPLAY_META: Final = frozenset(ENVELOPE_RULES["meta"])
REFERENCE_TYPE: Final = "x-xmcp-reference"
"""What a client puts before a model in place of a display that is too large to repeat there."""
_RESERVED: Final = frozenset(name for name, row in DISPLAY_TYPES.items() if row["status"] == "reserved")
_INERT: Final = {key: frozenset(names) for key, names in DISPLAY_TYPES["chart"]["inert"].items()}
_CATEGORY_OF: Final = {
    name: row["category"] for code, row in ERROR_CODES.items() for name in (code, *row.get("aliases", ()))
}


def check_error(error: ErrorInfo) -> None:
    """Raise ValueError, naming the sentence, for an error that chapter 4 does not let an emitter write."""
    if error.retry_after_ms is not None and not error.retryable:
        raise ValueError(f"{error.code}: retry_after_ms needs retryable=True (XMCP-ERR-005)")
    if not error.message:
        raise ValueError(f"{error.code}: the message is empty (XMCP-ERR-006)")
    if error.category != _CATEGORY_OF.get(error.code, error.category):
        raise ValueError(f"{error.code}: its category is {_CATEGORY_OF[error.code]} (XMCP-ERR-010)")
    if error.meta:
        for key, value in error.meta.items():
            if value is None or not (key in ErrorMeta.model_fields or _vendor_key(str(key))):
                raise ValueError(f"{error.code}: meta.{key} is null, or neither known nor `vendor/name` (XMCP-ERR-007)")
        try:
            ErrorMeta.model_validate_json(dump(error.meta, "meta")[0], strict=True)
        except ValidationError as fault:
            where = ".".join(map(str, fault.errors()[0]["loc"]))
            raise ValueError(f"{error.code}: meta.{where} is not as the schema says (XMCP-ERR-007)") from None


def check_server_populated(populated: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the sentence, for what chapter 2 does not let stand in `server_populated`."""
    names: dict[str, set[str]] = {"values": set()}
    values = populated.get("values", {})
    if not isinstance(values, Mapping):
        raise ValueError("server_populated: values must be an object (XMCP-RSP-095)")
    for member in ("redacted", "overridden"):
        listed = populated.get(member, [])
        if not isinstance(listed, list | tuple) or not all(isinstance(name, str) and name for name in listed):
            raise ValueError(f"server_populated: {member} must be a list of parameter names (XMCP-RSP-095)")
        names[member] = set(listed)
        if len(names[member]) < len(listed):
            raise ValueError(f"server_populated: {member} names a parameter twice (XMCP-RSP-095)")
    if both := names["redacted"].intersection(values):
        raise ValueError(f"server_populated: {min(both)} is in values and in redacted (XMCP-RSP-096)")


def display_faults(envelope: Mapping[str, Any], groups: int = 0, fallbacks: int = 0) -> Iterator[str]:
    """What chapter 3 does not let an emitter write, a sentence each; `envelope` is valid by the schema."""
    kind, payload = envelope["type"], envelope["payload"]
    if kind in _RESERVED:
        yield f"the type {kind!r} is reserved (XMCP-DSP-010)"
    if kind == REFERENCE_TYPE:
        yield f"the type {kind!r} is the client's (XMCP-DSP-043)"
    for key in envelope.get("meta") or ():
        if key not in _DISPLAY_META and not _vendor_key(str(key)):
            yield f"meta.{key} needs a vendor prefix (XMCP-DSP-006)"
    if kind == "chart":
        yield from (f"{place} in a chart fetches, links or computes (XMCP-DSP-014)" for place in _active(payload))
    deepest = ENVELOPE_RULES["deepest_group"]
    if kind == "group" and groups >= deepest:
        yield f"more than {deepest} groups within each other (XMCP-DSP-011)"
    elif kind == "group":
        for member in payload:
            yield from display_faults(member, groups + 1, fallbacks)
    deepest = ENVELOPE_RULES["deepest_fallback"]
    if (fallback := envelope.get("fallback")) is not None and fallbacks >= deepest:
        yield f"more than {deepest} fallbacks within each other (XMCP-DSP-015)"
    elif fallback is not None:
        yield from display_faults(fallback, groups, fallbacks + 1)


def _active(part: Any, place: str = "payload") -> Iterator[str]:
    if isinstance(part, Mapping):
        for key, inner in part.items():
            mark = inner.get("type") if isinstance(inner, Mapping) else inner
            if key in _INERT["members"] or (key == "mark" and isinstance(mark, str) and mark in _INERT["marks"]):
                yield f"{place}.{key}"
            elif key not in _INERT["data"]:
                yield from _active(inner, f"{place}.{key}")
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _active(inner, place)
