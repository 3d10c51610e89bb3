"""Checks of a display envelope (chapter 3), by its value alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xmcp_models.registry import DISPLAY_TYPES

from .observation import Observation, broken, either, obeyed, quoted
from .schemas import pointer, validator

DEEPEST = 3
_TYPE = re.compile(r"(?:[a-z][a-z0-9_]*|x-[a-z0-9]+(?:[-.][a-z0-9]+)+)")
_META_KEYS = frozenset({"transient", "truncated", "source", "locale"})
_VENDOR_KEY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+")
_IMAGE = re.compile(r"https://[^\s\\]+|data:image/(?:png|jpeg|gif|webp|avif)[;,]\S*")
_ACTIVE = frozenset({"url", "href", "params", "transform", "expr", "signal", "usermeta", "config"})
_DATA = frozenset({"values", "datasets"})
_SHAPED = frozenset(
    {"text", "markdown", "html", "table", "chart", "image", "notification", "code", "facts", "metric", "file", "group"}
)


def observations(value: Any, groups: int = 0, fallbacks: int = 0) -> Iterator[Observation]:
    """What one envelope shows, and the envelopes inside it.

    Args:
        value: the JSON value in `display`.
        groups: how many groups there are around it.
        fallbacks: how many envelopes it is a fallback of.
    """
    whole = isinstance(value, dict) and "type" in value and "payload" in value
    yield either("XMCP-DSP-001", whole, _outline(value), "an object with `type` and `payload`")
    if not whole:
        return
    kind, payload = value["type"], value["payload"]
    named = isinstance(kind, str) and len(kind) <= 64 and bool(_TYPE.fullmatch(kind))
    yield either("XMCP-DSP-002", named, f"the type `{quoted(str(kind))}`", "a lower-case name, or `x-vendor-name`")
    holds = isinstance(payload, dict | list | str)
    yield either(
        "XMCP-DSP-003", holds, f"a payload of type {type(payload).__name__}", "an object, an array or a string"
    )
    if not (named and holds):
        return
    yield either(
        "XMCP-DSP-010",
        DISPLAY_TYPES.get(kind, {}).get("status") != "reserved",
        f"the type `{kind}`, which is reserved",
        "a registered type, or `x-vendor-name`",
    )
    yield from _members(value)
    yield from _payload(kind, payload, value)
    yield from _inside(kind, payload, value, groups, fallbacks)


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


def _members(value: dict[str, Any]) -> Iterator[Observation]:
    """Everything but `type` and `payload`."""
    copy = {**_shallow(value), "type": "json"}  # a type without a shape of its own
    fault = next(iter(validator("display_envelope").iter_errors(copy)), None)
    if fault is not None:
        where = pointer(list(fault.instance_path))
        yield broken("XMCP-DSP-005", f"at `{where}`: {quoted(fault.message)}", "as the schema says, or left out")
    elif value.keys() & {"title", "alt", "fallback", "id", "meta"}:
        yield obeyed("XMCP-DSP-005")
    if isinstance(meta := value.get("meta"), dict):
        odd = [key for key in meta if key not in _META_KEYS and not _VENDOR_KEY.fullmatch(key)]
        yield either(
            "XMCP-DSP-006",
            not odd,
            f"the member `{quoted(odd[0]) if odd else ''}` of `meta`",
            "transient, truncated, source, locale, or `vendor/name`",
        )


def _payload(kind: str, payload: Any, value: dict[str, Any]) -> Iterator[Observation]:
    source = payload.get("src") if isinstance(payload, dict) else payload
    if kind == "image" and isinstance(source, str):
        allowed = bool(_IMAGE.fullmatch(source))
        yield either(
            "XMCP-DSP-013",
            allowed,
            f"the image `{quoted(source[:80])}`",
            "https:, or data: with PNG, JPEG, GIF, WebP or AVIF",
        )
        if not allowed:
            return
    if kind in _SHAPED:
        bare = {"type": kind, "payload": _shallow(value)["payload"]}
        fault = next(iter(validator("display_envelope").iter_errors(bare)), None)
        if fault is None:
            yield obeyed("XMCP-DSP-004")
        else:
            where = pointer(list(fault.instance_path))
            yield broken(
                "XMCP-DSP-004", f"{kind}: at `{where}`: {quoted(fault.message)}", "the shape that section 3.2 gives"
            )
    if kind in ("chart", "image"):
        said = bool(value.get("alt")) or (kind == "image" and isinstance(payload, dict) and bool(payload.get("alt")))
        yield either("XMCP-DSP-012", said, f"`{kind}` without `alt`", "what the picture says, in words")
    if kind == "chart" and isinstance(payload, dict):
        active = next(_active(payload, ""), None)
        yield either(
            "XMCP-DSP-014",
            active is None,
            f"`{quoted(active or '')}` in the chart",
            "data inside, nothing fetched or computed",
        )


def _active(value: Any, where: str) -> Iterator[str]:
    """Where a chart specification fetches, links or computes."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _ACTIVE:
                yield f"{where}/{key}"
            elif key == "mark" and (item == "image" or (isinstance(item, dict) and item.get("type") == "image")):
                yield f"{where}/mark"
            elif key not in _DATA:
                yield from _active(item, f"{where}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _active(item, f"{where}/{index}")


def _inside(kind: str, payload: Any, value: dict[str, Any], groups: int, fallbacks: int) -> Iterator[Observation]:
    """The envelopes of a group, and the fallback."""
    if kind == "group" and isinstance(payload, list):
        yield either("XMCP-DSP-011", groups < DEEPEST, f"{groups + 1} groups within each other", f"at most {DEEPEST}")
        if groups < DEEPEST:
            for item in payload:
                yield from observations(item, groups + 1, fallbacks)
    if isinstance(fallback := value.get("fallback"), dict):
        yield either(
            "XMCP-DSP-015", fallbacks < DEEPEST, f"{fallbacks + 1} fallbacks within each other", f"at most {DEEPEST}"
        )
        if fallbacks < DEEPEST:
            yield from observations(fallback, groups, fallbacks + 1)
