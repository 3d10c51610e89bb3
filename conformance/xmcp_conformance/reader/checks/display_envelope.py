"""Checks of a display envelope (chapter 3) that need only its JSON value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import Path, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.schemas import faults, pointer
from xmcp_models.registry import DISPLAY_TYPES, ENVELOPE_RULES, VENDOR_KEY

_MAX_GROUPS = ENVELOPE_RULES["deepest_group"]
_MAX_FALLBACKS = ENVELOPE_RULES["deepest_fallback"]
_META_KEYS = frozenset(ENVELOPE_RULES["meta"])
_VENDOR_KEY = re.compile(VENDOR_KEY)
_TYPE = re.compile(r"(?:[a-z][a-z0-9_]*|x-[a-z0-9]+(?:[-.][a-z0-9]+)+)")
_IMAGE_SOURCE = re.compile(r"https://[^\s\\]+|data:image/(?:png|jpeg|gif|webp|avif)[;,]\S*")
_INERT = {name: frozenset(names) for name, names in DISPLAY_TYPES["chart"]["inert"].items()}
_ANY_PAYLOAD = "display_envelope.schema.json#/$defs/JsonPayload"
_TYPES_WITH_SCHEMA = frozenset(
    name for name, row in DISPLAY_TYPES.items() if row.get("payload", _ANY_PAYLOAD) != _ANY_PAYLOAD
)
_REFERENCE = "x-xmcp-reference"


def observations(
    value: Any, groups: int = 0, fallbacks: int = 0, *, path: Path = (), by_server: bool = True
) -> Observations:
    """Check an envelope and the envelopes inside it; `where` of an observation is a path.

    Args:
        value: the JSON value in `display`.
        groups: number of groups that contain this envelope.
        fallbacks: number of fallbacks that contain this envelope, itself included.
        path: the path from the outermost envelope to this one.
        by_server: whether a server sent it: only clients may create the type `x-xmcp-reference`.
    """
    yield from _required_members(value, path)
    if not _is_envelope(value):
        return
    kind, payload = value["type"], value["payload"]
    yield from _type_name(kind, path)
    yield from _payload_type(payload, path)
    if not (_is_type_name(kind) and isinstance(payload, dict | list | str)):
        return
    yield from _reserved_type(kind, path)
    if by_server:
        yield from _reference(kind, path)
        if kind == _REFERENCE:
            return
    yield from _members(value, path)
    yield from _payload(kind, payload, value, path)
    yield from _nested_envelopes(value, groups, fallbacks, path, by_server)


def _is_envelope(value: Any) -> bool:
    return isinstance(value, dict) and "type" in value and "payload" in value


def _is_type_name(kind: Any) -> bool:
    return isinstance(kind, str) and len(kind) <= 64 and bool(_TYPE.fullmatch(kind))


@check("XMCP-DSP-001", profile=OF_DOCUMENTS)
def _required_members(value: Any, path: Path) -> Observations:
    whole = _is_envelope(value)
    yield either("XMCP-DSP-001", whole, _described(value), "an object with `type` and `payload`", where=path)


@check("XMCP-DSP-002", profile=OF_DOCUMENTS)
def _type_name(kind: Any, path: Path) -> Observations:
    seen, expected = f"the type `{quoted(str(kind))}`", "a lower-case name, or `x-vendor-name`"
    yield either("XMCP-DSP-002", _is_type_name(kind), seen, expected, where=(*path, "type"))


@check("XMCP-DSP-003", profile=OF_DOCUMENTS)
def _payload_type(payload: Any, path: Path) -> Observations:
    holds = isinstance(payload, dict | list | str)
    seen, expected = f"a payload of type {type(payload).__name__}", "an object, an array or a string"
    yield either("XMCP-DSP-003", holds, seen, expected, where=(*path, "payload"))


@check("XMCP-DSP-010", profile=OF_DOCUMENTS)
def _reserved_type(kind: str, path: Path) -> Observations:
    free = DISPLAY_TYPES.get(kind, {}).get("status") != "reserved"
    seen, expected = f"the type `{kind}`, which is reserved", "a registered type, or `x-vendor-name`"
    yield either("XMCP-DSP-010", free, seen, expected, where=(*path, "type"))


@check("XMCP-DSP-043", profile=OF_DOCUMENTS)
def _reference(kind: str, path: Path) -> Observations:
    """Judge that a server sends no reference: only clients create references."""
    seen = f"the type `{kind}`"
    yield either("XMCP-DSP-043", kind != _REFERENCE, seen, "the display itself", where=(*path, "type"))


def _described(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with the members {quoted(', '.join(map(str, value)) or '(none)')}"
    return f"a JSON {type(value).__name__}"


def _shallow(value: dict[str, Any]) -> dict[str, Any]:
    """Return the envelope with each inner envelope replaced by a plain text: inner envelopes are judged separately."""
    plain = {"type": "text", "payload": ""}
    copy = dict(value)
    if isinstance(copy.get("fallback"), dict):
        copy["fallback"] = plain
    if copy["type"] == "group" and isinstance(copy["payload"], list):
        copy["payload"] = [plain if isinstance(item, dict) else item for item in copy["payload"]]
    return copy


@check("XMCP-DSP-005", "XMCP-DSP-006", profile=OF_DOCUMENTS)
def _members(value: dict[str, Any], path: Path) -> Observations:
    """Judge the members other than `type` and `payload`."""
    copy = {**_shallow(value), "type": "json"}  # a type whose payload can have any shape
    fault = next(faults("display_envelope", copy), None)
    if fault is not None:
        yield broken(
            "XMCP-DSP-005", str(fault), "a member that is valid against the schema, or absent", where=path + fault.path
        )
    elif value.keys() & {"title", "alt", "fallback", "id", "meta"}:
        yield obeyed("XMCP-DSP-005")
    if isinstance(meta := value.get("meta"), dict):
        unknown = [key for key in meta if key not in _META_KEYS and not _VENDOR_KEY.fullmatch(key)]
        yield either(
            "XMCP-DSP-006",
            not unknown,
            f"the unknown member `{quoted(unknown[0]) if unknown else ''}` of `meta`",
            f"{', '.join(ENVELOPE_RULES['meta'])}, or `vendor/name`",
            where=(*path, "meta", *unknown[:1]),
        )


@check("XMCP-DSP-004", "XMCP-DSP-012", "XMCP-DSP-013", "XMCP-DSP-014", profile=OF_DOCUMENTS)
def _payload(kind: str, payload: Any, value: dict[str, Any], path: Path) -> Observations:
    source = payload.get("src") if isinstance(payload, dict) else payload
    inside = (*path, "payload")
    if kind == "image" and isinstance(source, str):
        allowed = bool(_IMAGE_SOURCE.fullmatch(source))
        yield either(
            "XMCP-DSP-013",
            allowed,
            f"the image `{quoted(source[:80])}`",
            "https:, or data: with PNG, JPEG, GIF, WebP or AVIF",
            where=(*inside, "src") if isinstance(payload, dict) else inside,
        )
        if not allowed:
            return
    if kind in _TYPES_WITH_SCHEMA:
        bare = {"type": kind, "payload": _shallow(value)["payload"]}
        fault = next(faults("display_envelope", bare), None)
        if fault is None:
            yield obeyed("XMCP-DSP-004")
        else:
            seen = f"{kind}: {fault}"
            yield broken(
                "XMCP-DSP-004", seen, "the payload that section 3.2 defines for this type", where=path + fault.path
            )
    if kind in ("chart", "image"):
        has_alt = bool(value.get("alt")) or (kind == "image" and isinstance(payload, dict) and bool(payload.get("alt")))
        yield either(
            "XMCP-DSP-012", has_alt, f"`{kind}` without `alt`", "a description of the picture in words", where=path
        )
    if kind == "chart" and isinstance(payload, dict):
        active = next(_active_members(payload, inside), None)
        yield either(
            "XMCP-DSP-014",
            active is None,
            f"`{quoted(pointer((active or inside)[len(inside) :]))}` in the chart",
            "a chart with inline data, which fetches, links to and computes nothing",
            where=active,
        )


def _active_members(value: Any, path: Path) -> Iterator[Path]:
    """Yield the paths of the members with which a chart fetches data, links somewhere or computes.

    The recursion is bounded, because the reader refuses JSON that is nested deeper than section 2.6 allows.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            mark = item.get("type") if isinstance(item, dict) else item
            marked = key == "mark" and isinstance(mark, str) and mark in _INERT["marks"]
            if key in _INERT["members"] or marked:
                yield (*path, key)
            elif key not in _INERT["data"]:
                yield from _active_members(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _active_members(item, (*path, index))


def _nested_envelopes(value: dict[str, Any], groups: int, fallbacks: int, path: Path, by_server: bool) -> Observations:
    """Check the members of a group and the fallback, down to the deepest level that the specification allows."""
    if value["type"] == "group" and isinstance(value["payload"], list):
        inside = (*path, "payload")
        yield from _group_depth(groups + 1, inside)
        if groups < _MAX_GROUPS:
            for index, item in enumerate(value["payload"]):
                yield from observations(item, groups + 1, fallbacks, path=(*inside, index), by_server=by_server)
    if isinstance(fallback := value.get("fallback"), dict):
        inside = (*path, "fallback")
        yield from _fallback_depth(fallbacks + 1, inside)
        if fallbacks < _MAX_FALLBACKS:
            yield from observations(fallback, groups, fallbacks + 1, path=inside, by_server=by_server)


@check("XMCP-DSP-011", profile=OF_DOCUMENTS)
def _group_depth(depth: int, path: Path) -> Observations:
    yield either(
        "XMCP-DSP-011", depth <= _MAX_GROUPS, f"groups nested {depth} deep", f"at most {_MAX_GROUPS}", where=path
    )


@check("XMCP-DSP-015", profile=OF_DOCUMENTS)
def _fallback_depth(depth: int, path: Path) -> Observations:
    seen = f"fallbacks nested {depth} deep"
    yield either("XMCP-DSP-015", depth <= _MAX_FALLBACKS, seen, f"at most {_MAX_FALLBACKS}", where=path)
