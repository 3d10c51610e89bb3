"""The rules for emitters only: sentences of the spec that no schema states and that readers do not enforce.

Pure checks, each with the id of its sentence. `encode` raises what they find; a server calls them earlier, to answer
with an error instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from xmcp.wire.jsontext import dump_json
from xmcp.wire.response import ErrorInfo
from xmcp_models.error_meta import Cause, ErrorMeta, FieldError, HelpLink, Limit, LocalizedMessage
from xmcp_models.registry import DISPLAY_TYPES, ENVELOPE_RULES, ERROR_CODES, VENDOR_KEY

_vendor_key = re.compile(VENDOR_KEY).fullmatch
_DISPLAY_META: Final = frozenset(ENVELOPE_RULES["meta"])
REFERENCE_TYPE: Final = "x-xmcp-reference"
"""The type of the display that a client puts before the model in place of one that is too large (XMCP-DSP-041)."""
_RESERVED: Final = frozenset(name for name, row in DISPLAY_TYPES.items() if row["status"] == "reserved")
_INERT: Final = {key: frozenset(names) for key, names in DISPLAY_TYPES["chart"]["inert"].items()}
_CATEGORY_OF: Final = {
    name: row["category"] for code, row in ERROR_CODES.items() for name in (code, *row.get("aliases", ()))
}


def check_error(error: ErrorInfo) -> None:
    """Raise ValueError, with the id of the sentence, for an error that an emitter must not write (chapter 4)."""
    if error.retry_after_ms is not None and not error.retryable:
        raise ValueError(f"{error.code}: retry_after_ms needs retryable=True (XMCP-ERR-005)")
    if not error.message:
        raise ValueError(f"{error.code}: the message must not be empty (XMCP-ERR-006)")
    if error.category != _CATEGORY_OF.get(error.code, error.category):
        raise ValueError(f"{error.code}: its category must be {_CATEGORY_OF[error.code]} (XMCP-ERR-010)")
    if not error.meta:
        return
    meta = _as_json(error.meta, "meta")
    for key in meta:
        if not (key in ErrorMeta.model_fields or _vendor_key(key)):
            raise ValueError(f"{error.code}: meta.{key} is neither known nor `vendor/name` (XMCP-ERR-007)")
    if null := next(_nulls(meta, ErrorMeta, "meta"), None):
        raise ValueError(f"{error.code}: {null} must not be null (XMCP-ERR-007)")
    try:
        ErrorMeta.model_validate_json(json.dumps(meta), strict=True)
    except ValidationError as fault:
        where = ".".join(map(str, fault.errors()[0]["loc"]))
        raise ValueError(f"{error.code}: meta.{where} is not as the schema says (XMCP-ERR-007)") from None


def _as_json(value: Mapping[str, Any], where: str) -> Any:
    """Return the JSON that is written for a value: the rules apply to it, not to the Python types."""
    return json.loads(dump_json(dict(value), where)[0])


_PARTS: Final[dict[str, type[BaseModel]]] = {
    "fields": FieldError,
    "limit": Limit,
    "localized": LocalizedMessage,
    "help": HelpLink,
    "cause": Cause,
}


def _nulls(part: Any, model: type[BaseModel], where: str) -> Iterator[str]:
    """Yield the known members that are null: the schema forbids them, but the generated models accept them."""
    if not isinstance(part, dict):
        return
    for name in part.keys() & model.model_fields.keys():
        value = part[name]
        if value is None:
            yield f"{where}.{name}"
        elif model is ErrorMeta and name in _PARTS:
            for inner in value if isinstance(value, list) else [value]:
                yield from _nulls(inner, _PARTS[name], f"{where}.{name}")


def check_server_populated(populated: Mapping[str, Any]) -> None:
    """Raise ValueError, with the id of the sentence, for a `server_populated` that an emitter must not write."""
    populated = _as_json(populated, "server_populated")
    names: dict[str, set[str]] = {}
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


def display_faults(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each rule of chapter 3 for emitters that `envelope`, which is valid by the schema, breaks.

    Raises:
        TypeError, ValueError: As `jsontext.dump_json`: a value has no JSON form.
    """
    if envelope["type"] in ("chart", "group") or envelope.get("fallback") is not None or envelope.get("meta"):
        envelope = _as_json(envelope, "display")
    return _faults(envelope, 0, 0)


def _faults(envelope: Mapping[str, Any], groups: int, fallbacks: int) -> Iterator[str]:
    kind, payload = envelope["type"], envelope["payload"]
    if kind in _RESERVED:
        yield f"the type {kind!r} is reserved (XMCP-DSP-010)"
    if kind == REFERENCE_TYPE:
        yield f"only a client may use the type {kind!r} (XMCP-DSP-043)"
    for key in envelope.get("meta") or ():
        if key not in _DISPLAY_META and not _vendor_key(str(key)):
            instead = f"'acme.example/{key}' with a domain of your own"
            yield f"meta.{key} needs a vendor prefix, such as {instead} (XMCP-DSP-006)"
    if kind == "chart":
        yield from (f"{place} in a chart fetches, links or computes (XMCP-DSP-014)" for place in _active(payload))
    deepest = ENVELOPE_RULES["deepest_group"]
    if kind == "group" and groups >= deepest:
        yield f"more than {deepest} groups within each other (XMCP-DSP-011)"
    elif kind == "group":
        for member in payload:
            yield from _faults(member, groups + 1, fallbacks)
    deepest = ENVELOPE_RULES["deepest_fallback"]
    if (fallback := envelope.get("fallback")) is not None and fallbacks >= deepest:
        yield f"more than {deepest} fallbacks within each other (XMCP-DSP-015)"
    elif fallback is not None:
        yield from _faults(fallback, groups, fallbacks + 1)


def _active(part: Any, place: str = "payload") -> Iterator[str]:
    if isinstance(part, dict):
        for key, inner in part.items():
            mark = inner.get("type") if isinstance(inner, dict) else inner
            if key in _INERT["members"] or (key == "mark" and isinstance(mark, str) and mark in _INERT["marks"]):
                yield f"{place}.{key}"
            elif key not in _INERT["data"]:
                yield from _active(inner, f"{place}.{key}")
    elif isinstance(part, list):
        for inner in part:
            yield from _active(inner, place)
