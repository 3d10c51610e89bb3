"""What an emitter does not write although a reader takes it: the sentences of the spec that no schema states.

Pure checks live here, each with the id of its sentence. What happens to a value that fails one is decided in
`results` (displays) and by the middleware (errors).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from xmcp.wire import ErrorInfo
from xmcp.wire.jsontext import dump
from xmcp_models.error_meta import ErrorMeta
from xmcp_models.registry import DISPLAY_TYPES, ERROR_CODES

DEEPEST: Final = 3
_VENDOR_KEY: Final = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+")
_DISPLAY_META: Final = frozenset({"transient", "truncated", "source", "locale"})
_ACTIVE: Final = frozenset({"url", "href", "params", "transform", "expr", "signal", "usermeta", "config"})
_DATA: Final = frozenset({"values", "datasets"})
_CATEGORY_OF: Final = {
    name: row["category"] for code, row in ERROR_CODES.items() for name in (code, *row.get("aliases", ()))
}


def check_error(error: ErrorInfo) -> None:
    """Raise ValueError, naming the sentence, for an error that chapter 4 does not let a server send."""
    if error.retry_after_ms is not None and not error.retryable:
        raise ValueError(f"{error.code}: retry_after_ms needs retryable=True (XMCP-ERR-005)")
    if not error.message:
        raise ValueError(f"{error.code}: the message is empty (XMCP-ERR-006)")
    if error.category != _CATEGORY_OF.get(error.code, error.category):
        raise ValueError(f"{error.code}: its category is {_CATEGORY_OF[error.code]} (XMCP-ERR-010)")
    if error.meta is not None:
        for key, value in error.meta.items():
            if value is None or not (key in ErrorMeta.model_fields or _VENDOR_KEY.fullmatch(str(key))):
                raise ValueError(f"{error.code}: meta.{key} is null, or neither known nor `vendor/name` (XMCP-ERR-007)")
        try:
            ErrorMeta.model_validate_json(dump(error.meta, "meta")[0], strict=True)
        except ValidationError as fault:
            where = ".".join(map(str, fault.errors()[0]["loc"]))
            raise ValueError(f"{error.code}: meta.{where} is not as the schema says (XMCP-ERR-007)") from None


def display_faults(envelope: Mapping[str, Any], groups: int = 0, fallbacks: int = 0) -> Iterator[str]:
    """What chapter 3 does not let a server send, a sentence each; `envelope` is valid by the schema."""
    kind, payload = envelope["type"], envelope["payload"]
    if DISPLAY_TYPES.get(kind, {}).get("status") == "reserved":
        yield f"the type {kind!r} is reserved (XMCP-DSP-010)"
    for key in envelope.get("meta") or ():
        if key not in _DISPLAY_META and not _VENDOR_KEY.fullmatch(key):
            yield f"meta.{key} needs a vendor prefix (XMCP-DSP-006)"
    if kind == "chart":
        yield from (f"{place} in a chart fetches, links or computes (XMCP-DSP-014)" for place in _active(payload))
    if kind == "group" and groups >= DEEPEST:
        yield f"more than {DEEPEST} groups within each other (XMCP-DSP-011)"
    elif kind == "group":
        for member in payload:
            yield from display_faults(member, groups + 1, fallbacks)
    if (fallback := envelope.get("fallback")) is not None and fallbacks >= DEEPEST:
        yield f"more than {DEEPEST} fallbacks within each other (XMCP-DSP-015)"
    elif fallback is not None:
        yield from display_faults(fallback, groups, fallbacks + 1)


def _active(part: Any, place: str = "payload") -> Iterator[str]:
    if isinstance(part, Mapping):
        for key, inner in part.items():
            image = inner == "image" or (isinstance(inner, Mapping) and inner.get("type") == "image")
            if key in _ACTIVE or (key == "mark" and image):
                yield f"{place}.{key}"
            elif key not in _DATA:
                yield from _active(inner, f"{place}.{key}")
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _active(inner, place)
