"""Checks of a display envelope (chapter 3), by its value alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xmcp_conformance.core.observation import Observation, Path, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models.registry import DISPLAY_TYPES, ENVELOPE_RULES, VENDOR_KEY

from .schemas import faults, pointer

_GROUPS = ENVELOPE_RULES["deepest_group"]
_FALLBACKS = ENVELOPE_RULES["deepest_fallback"]
_META_KEYS = frozenset(ENVELOPE_RULES["meta"])
_VENDOR_KEY = re.compile(VENDOR_KEY)
_TYPE = re.compile(r"(?:[a-z][a-z0-9_]*|x-[a-z0-9]+(?:[-.][a-z0-9]+)+)")
_IMAGE = re.compile(r"https://[^\s\\]+|data:image/(?:png|jpeg|gif|webp|avif)[;,]\S*")
_INERT = {name: frozenset(names) for name, names in DISPLAY_TYPES["chart"]["inert"].items()}
_ANY = "display_envelope.schema.json#/$defs/JsonPayload"
_SHAPED = frozenset(name for name, row in DISPLAY_TYPES.items() if row.get("payload", _ANY) != _ANY)
_REFERENCE = "x-xmcp-reference"


def observations(
    value: Any, groups: int = 0, fallbacks: int = 0, *, path: Path = (), by_server: bool = True
) -> Iterator[Observation]:
    """What one envelope shows, and the envelopes inside it.

    Args:
        value: the JSON value in `display`.
        groups: how many groups there are around it.
        fallbacks: how many envelopes it is a fallback of.
        path: where it stands in the value that is judged.
        by_server: whether a server sent it; a client makes one type that no server sends.
    """
    whole = isinstance(value, dict) and "type" in value and "payload" in value
    yield either("XMCP-DSP-001", whole, _outline(value), "an object with `type` and `payload`", where=path)
    if not whole:
        return
    kind, payload = value["type"], value["payload"]
    named = isinstance(kind, str) and len(kind) <= 64 and bool(_TYPE.fullmatch(kind))
    yield either(
        "XMCP-DSP-002",
        named,
        f"the type `{quoted(str(kind))}`",
        "a lower-case name, or `x-vendor-name`",
        where=(*path, "type"),
    )
    holds = isinstance(payload, dict | list | str)
    yield either(
        "XMCP-DSP-003",
        holds,
        f"a payload of type {type(payload).__name__}",
        "an object, an array or a string",
        where=(*path, "payload"),
    )
    if not (named and holds):
        return
    yield either(
        "XMCP-DSP-010",
        DISPLAY_TYPES.get(kind, {}).get("status") != "reserved",
        f"the type `{kind}`, which is reserved",
        "a registered type, or `x-vendor-name`",
        where=(*path, "type"),
    )
    if by_server:
        sent = kind == _REFERENCE
        yield either("XMCP-DSP-043", not sent, f"the type `{kind}`", "the display itself", where=(*path, "type"))
        if sent:
            return
    yield from _members(value, path)
    yield from _payload(kind, payload, value, path)
    yield from _inside(value, groups, fallbacks, path, by_server)


def _outline(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with the members {quoted(', '.join(map(str, value)) or '(none)')}"
    return f"a JSON {type(value).__name__}"


def _shallow(value: dict[str, Any]) -> dict[str, Any]:
    """The envelope with the envelopes inside it made harmless: those are judged on their own."""
    plain = {"type": "text", "payload": ""}
    copy = dict(value)
    if isinstance(copy.get("fallback"), dict):
        copy["fallback"] = plain
    if copy["type"] == "group" and isinstance(copy["payload"], list):
        copy["payload"] = [plain if isinstance(item, dict) else item for item in copy["payload"]]
    return copy


def _members(value: dict[str, Any], path: Path) -> Iterator[Observation]:
    """Everything but `type` and `payload`."""
    copy = {**_shallow(value), "type": "json"}  # a type without a shape of its own
    fault = next(faults("display_envelope", copy), None)
    if fault is not None:
        yield broken("XMCP-DSP-005", str(fault), "as the schema says, or left out", where=path + fault.path)
    elif value.keys() & {"title", "alt", "fallback", "id", "meta"}:
        yield obeyed("XMCP-DSP-005")
    if isinstance(meta := value.get("meta"), dict):
        odd = [key for key in meta if key not in _META_KEYS and not _VENDOR_KEY.fullmatch(key)]
        yield either(
            "XMCP-DSP-006",
            not odd,
            f"the member `{quoted(odd[0]) if odd else ''}` of `meta`",
            f"{', '.join(ENVELOPE_RULES['meta'])}, or `vendor/name`",
            where=(*path, "meta", *odd[:1]),
        )


def _payload(kind: str, payload: Any, value: dict[str, Any], path: Path) -> Iterator[Observation]:
    source = payload.get("src") if isinstance(payload, dict) else payload
    inside = (*path, "payload")
    if kind == "image" and isinstance(source, str):
        allowed = bool(_IMAGE.fullmatch(source))
        yield either(
            "XMCP-DSP-013",
            allowed,
            f"the image `{quoted(source[:80])}`",
            "https:, or data: with PNG, JPEG, GIF, WebP or AVIF",
            where=(*inside, "src") if isinstance(payload, dict) else inside,
        )
        if not allowed:
            return
    if kind in _SHAPED:
        bare = {"type": kind, "payload": _shallow(value)["payload"]}
        fault = next(faults("display_envelope", bare), None)
        if fault is None:
            yield obeyed("XMCP-DSP-004")
        else:
            seen = f"{kind}: {fault}"
            yield broken("XMCP-DSP-004", seen, "the shape that section 3.2 gives", where=path + fault.path)
    if kind in ("chart", "image"):
        said = bool(value.get("alt")) or (kind == "image" and isinstance(payload, dict) and bool(payload.get("alt")))
        yield either("XMCP-DSP-012", said, f"`{kind}` without `alt`", "what the picture says, in words", where=path)
    if kind == "chart" and isinstance(payload, dict):
        active = next(_active(payload, inside), None)
        yield either(
            "XMCP-DSP-014",
            active is None,
            f"`{quoted(pointer((active or inside)[len(inside) :]))}` in the chart",
            "data inside, nothing fetched or computed",
            where=active,
        )


def _active(value: Any, path: Path) -> Iterator[Path]:
    """Where a chart specification fetches, links or computes. What the reader gives is no deeper than section 2.6."""
    if isinstance(value, dict):
        for key, item in value.items():
            mark = item.get("type") if isinstance(item, dict) else item
            marked = key == "mark" and isinstance(mark, str) and mark in _INERT["marks"]
            if key in _INERT["members"] or marked:
                yield (*path, key)
            elif key not in _INERT["data"]:
                yield from _active(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _active(item, (*path, index))


def _inside(value: dict[str, Any], groups: int, fallbacks: int, path: Path, by_server: bool) -> Iterator[Observation]:
    """The envelopes of a group, and the fallback."""
    if value["type"] == "group" and isinstance(value["payload"], list):
        inside, seen = (*path, "payload"), f"{groups + 1} groups within each other"
        yield either("XMCP-DSP-011", groups < _GROUPS, seen, f"at most {_GROUPS}", where=inside)
        if groups < _GROUPS:
            for index, item in enumerate(value["payload"]):
                yield from observations(item, groups + 1, fallbacks, path=(*inside, index), by_server=by_server)
    if isinstance(fallback := value.get("fallback"), dict):
        inside, seen = (*path, "fallback"), f"{fallbacks + 1} fallbacks within each other"
        yield either("XMCP-DSP-015", fallbacks < _FALLBACKS, seen, f"at most {_FALLBACKS}", where=inside)
        if fallbacks < _FALLBACKS:
            yield from observations(fallback, groups, fallbacks + 1, path=inside, by_server=by_server)
