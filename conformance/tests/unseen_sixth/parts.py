"""What the theatre is made of: what is asked, what is replied, and the decorator that puts a method into the table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Json = dict[str, Any]
_Method = TypeVar("_Method", bound=Callable[..., Any])

_SCHEMAS = Path(__file__).parents[3] / "schemas"
PREFIX: str = json.loads((_SCHEMAS / "names.json").read_text())["prefix"]
CODES: dict[str, Json] = {
    row["code"]: row for row in json.loads((_SCHEMAS / "registry" / "error_codes.json").read_text())["codes"]
}
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
HALF = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Ask:
    """A call; `forged` is what the caller sent for parameters that the theatre fills in, `filled` its own values."""

    tool: str
    args: Json
    declared: Json = field(default_factory=dict)
    handshake: bool = False
    documents: bool = True
    again: int = 1
    forged: Json = field(default_factory=dict)
    filled: Json = field(default_factory=dict)
    shown: bool = False


@dataclass(slots=True)
class Reply:
    """What a tool that succeeded says: to the model, to the person (`show`, `aside`), to programs (`data`)."""

    text: str
    show: Any = None
    data: Json | None = None
    aside: str = ""
    media: str = ""
    filled: Json | None = None
    cut: bool = False


class Trouble(Exception):
    """A failure that a tool foresaw."""

    def __init__(
        self,
        code: str,
        message: str,
        meta: Json | None = None,
        *,
        category: str = "",
        wait: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.meta, self.wait = code, message, meta, wait
        self.category = category or CODES.get(code, {}).get("category", "internal")
        self.retryable = bool(CODES.get(code, {}).get("retryable", False))


@dataclass(slots=True)
class Entry:
    """What the list says of a tool."""

    summary: str
    takes: Json
    gives: Json | None = None
    about: Json = field(default_factory=dict)
    reads: bool = True


def offered(
    summary: str, takes: Json, gives: Json | None = None, *, reads: bool = True, **about: Any
) -> Callable[[_Method], _Method]:
    """Put a method into the table of tools, under its own name."""

    def mark(method: _Method) -> _Method:
        method.__dict__["entry"] = Entry(summary, takes, gives, about, reads)
        return method

    return mark


def fields(*required: str, **properties: Json) -> Json:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def one_of(*values: str) -> Json:
    """Return the schema of one of some words."""
    return {"type": "string", "enum": [*values]}


def text(longest: int, **more: Any) -> Json:
    """Return the schema of a text."""
    return {"type": "string", "maxLength": longest, **more}


def whole(least: int, most: int, **more: Any) -> Json:
    """Return the schema of an integer."""
    return {"type": "integer", "minimum": least, "maximum": most, **more}


SHOW: Json = {"type": "boolean", "default": False, "description": "Whether the person sees a display."}
DATE: Json = {"type": "string", "format": "date", "examples": ["2026-11-03"]}
