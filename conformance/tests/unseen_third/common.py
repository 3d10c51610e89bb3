"""What the yard is made of: calls, answers, faults, elements, and functions on texts and JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mcp_types

Json = dict[str, Any]
Block = mcp_types.ContentBlock

SCHEMAS = Path(__file__).parents[3] / "schemas"
PREFIX: str = json.loads((SCHEMAS / "names.json").read_text())["prefix"]
EXTENSION = f"{PREFIX}tool-response"
SAFE_INTEGER = 2**53 - 1
LARGEST = 8 * 1024 * 1024
CUT = 8000
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LONE = re.compile("[\ud800-\udfff]")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CATEGORIES = {
    "VALIDATION_FAIL": "invalid_input",
    "UNKNOWN_TOOL": "not_found",
    "NOT_FOUND": "not_found",
    "CONFLICT": "conflict",
    "PRECONDITION_FAILED": "conflict",
    "FORBIDDEN_PARAM_OVERRIDE": "permission_denied",
    "RATE_LIMIT": "rate_limited",
    "RATE_LIMITED": "rate_limited",
    "QUOTA_EXCEEDED": "rate_limited",
    "UPSTREAM_UNAVAILABLE": "unavailable",
    "RESULT_TOO_LARGE": "too_large",
}
"""The categories of the registered codes that the yard uses; those of all others are `internal`."""

TEXT: Json = {"type": "string"}
SHOW_USER: Json = {"type": "boolean", "default": False, "description": "Whether to show the person a display."}


def closed(required: str = "", /, **properties: Json) -> Json:
    """Return the schema of an object that has these properties only."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def words(*allowed: str) -> Json:
    """Return the schema of a word out of a list."""
    return {"type": "string", "enum": [*allowed]}


@dataclass(frozen=True, slots=True)
class Spec:
    """What the list says of a tool."""

    about: str
    takes: Json
    gives: Json | None = None
    meta: Json | None = None
    reads: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A call, and what is known of the client that makes it.

    `nth` counts the calls of this tool, `again` those with the same arguments. `forged` has what the caller sent for
    parameters that the yard fills in.
    """

    tool: str
    args: Json
    declaration: Json = field(default_factory=dict)
    handshake: bool = False
    documents: bool = False
    nth: int = 1
    again: int = 1
    forged: Json = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """Return whether the caller asked for a display."""
        return self.args.get("show_user") is True


class Fault(Exception):
    """A failure of a call."""

    def __init__(
        self,
        code: str,
        message: str,
        meta: Json | None = None,
        *,
        retryable: bool | None = None,
        wait_ms: int | None = None,
        category: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.meta = code, message, meta
        self.retryable, self.wait_ms, self.category = retryable, wait_ms, category


@dataclass(slots=True)
class Answer:
    """What came of a call: a text, and whatever goes with it, or a fault."""

    text: str = ""
    display: Any = None
    data: Json | None = None
    filled: Json | None = None
    aside: str = ""
    media: str = ""
    cut: bool = False
    lossy: bool = False
    fault: Fault | None = None


@dataclass(slots=True)
class Node:
    """An element: attributes, then text or JSON, then other elements."""

    name: str
    attrs: dict[str, str] = field(default_factory=dict)
    text: str | None = None
    json: Any = None
    inside: list[Node] = field(default_factory=list)
    is_json: bool = False


Work = Callable[[Any, Call], Answer]


def tool(spec: Spec) -> Callable[[Work], Work]:
    """Mark a method as the work of a tool."""

    def mark(method: Work) -> Work:
        method.spec = spec  # type: ignore[attr-defined]
        return method

    return mark


def legal(text: str) -> str:
    """Return a text with U+FFFD for what XML does not have."""
    return FORBIDDEN.sub("\ufffd", text)


def marked(attrs: dict[str, str], text: str) -> dict[str, str]:
    """Return attributes with the mark of a text that loses characters."""
    return {**attrs, "lossy": "true"} if FORBIDDEN.search(text) else attrs


def escaped(text: str) -> str:
    """Return a text without markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def inert(text: str) -> str:
    """Return JSON without the characters that XML reads, or does not have."""
    for raw in "<>&":
        text = text.replace(raw, f"\\u{ord(raw):04x}")
    return FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def clean(value: Any) -> Any:
    """Return a value without unpaired surrogates and without numbers that JSON does not have."""
    if isinstance(value, str):
        return LONE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean(name): clean(item) for name, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def has_lone(value: Any) -> bool:
    """Return whether a text in a value has an unpaired surrogate."""
    return LONE.search(json.dumps(value, ensure_ascii=False)) is not None


def number(value: float) -> int:
    """Return the integer that is meant by `12.0`."""
    return value if isinstance(value, int) else int(value)


def block(text: str) -> mcp_types.TextContent:
    """Return a text for everyone."""
    return mcp_types.TextContent(type="text", text=text)


def for_person(text: str) -> mcp_types.TextContent:
    """Return a text for the person alone."""
    return mcp_types.TextContent(type="text", text=text, annotations=mcp_types.Annotations(audience=["user"]))


def picture() -> mcp_types.ImageContent:
    """Return a picture of one pixel."""
    return mcp_types.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def with_meta(specs: dict[str, Spec], name: str, **members: Any) -> dict[str, Spec]:
    """Return the tools with other metadata of one; a member that is `None` is taken out."""
    said = {**(specs[name].meta or {}), **members}
    meta = {key: value for key, value in said.items() if value is not None}
    return {**specs, name: replace(specs[name], meta=meta or None)}
