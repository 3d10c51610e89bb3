"""Checks of a display envelope (chapter 3), by its value alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import Path, broken, either, obeyed
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
) -> Observations:
    """Yield what one envelope shows, and the envelopes inside it; `where` is a path.

    Args:
        value: the JSON value in `display`.
        groups: the number of groups around it.
        fallbacks: the number of envelopes that it is a fallback of.
        path: the path of the envelope in the value that is judged.
        by_server: whether a server sent it; one type of envelope is made only by clients.
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
    yield from _inside(value, groups, fallbacks, path, by_server)


def _is_envelope(value: Any) -> bool:
    return isinstance(value, dict) and "type" in value and "payload" in value


def _is_type_name(kind: Any) -> bool:
    return isinstance(kind, str) and len(kind) <= 64 and bool(_TYPE.fullmatch(kind))


@check("XMCP-DSP-001", profile=OF_DOCUMENTS)
def _required_members(value: Any, path: Path) -> Observations:
    whole = _is_envelope(value)
    yield either("XMCP-DSP-001", whole, _outline(value), "an object with `type` and `payload`", where=path)


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
    """Judge that a server sends no reference: those are made by clients."""
    seen = f"the type `{kind}`"
    yield either("XMCP-DSP-043", kind != _REFERENCE, seen, "the display itself", where=(*path, "type"))


def _outline(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with the members {quoted(', '.join(map(str, value)) or '(none)')}"
    return f"a JSON {type(value).__name__}"


def _shallow(value: dict[str, Any]) -> dict[str, Any]:
    """Return the envelope with a plain text in place of each envelope inside it: those are judged on their own."""
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


@check("XMCP-DSP-004", "XMCP-DSP-012", "XMCP-DSP-013", "XMCP-DSP-014", profile=OF_DOCUMENTS)
def _payload(kind: str, payload: Any, value: dict[str, Any], path: Path) -> Observations:
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
    """Yield the paths at which a chart specification fetches, links or computes.

    The recursion is bounded: the reader passes on no JSON that is deeper than section 2.6 allows.
    """
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


def _inside(value: dict[str, Any], groups: int, fallbacks: int, path: Path, by_server: bool) -> Observations:
    """Yield what the envelopes of a group and the fallback show, as far down as they may be nested."""
    if value["type"] == "group" and isinstance(value["payload"], list):
        inside = (*path, "payload")
        yield from _group_depth(groups + 1, inside)
        if groups < _GROUPS:
            for index, item in enumerate(value["payload"]):
                yield from observations(item, groups + 1, fallbacks, path=(*inside, index), by_server=by_server)
    if isinstance(fallback := value.get("fallback"), dict):
        inside = (*path, "fallback")
        yield from _fallback_depth(fallbacks + 1, inside)
        if fallbacks < _FALLBACKS:
            yield from observations(fallback, groups, fallbacks + 1, path=inside, by_server=by_server)


@check("XMCP-DSP-011", profile=OF_DOCUMENTS)
def _group_depth(depth: int, path: Path) -> Observations:
    yield either(
        "XMCP-DSP-011", depth <= _GROUPS, f"{depth} groups within each other", f"at most {_GROUPS}", where=path
    )


@check("XMCP-DSP-015", profile=OF_DOCUMENTS)
def _fallback_depth(depth: int, path: Path) -> Observations:
    seen = f"{depth} fallbacks within each other"
    yield either("XMCP-DSP-015", depth <= _FALLBACKS, seen, f"at most {_FALLBACKS}", where=path)
