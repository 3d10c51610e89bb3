"""What the bakery is made of: an order, the goods or the refusal that answer it, and the wares that can be ordered."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

_SCHEMAS = Path(__file__).parents[3] / "schemas"
PREFIX: str = json.loads((_SCHEMAS / "names.json").read_text())["prefix"]
_ROWS: list[Json] = json.loads((_SCHEMAS / "registry" / "error_codes.json").read_text())["codes"]
ROWS: dict[str, Json] = {code: row for row in _ROWS for code in (row["code"], *row.get("aliases", []))}
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LONE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Order:
    """A call: what is asked for, by which client, and what the bakery knows of it."""

    tool: str
    args: Json
    client: Json = field(default_factory=dict)
    handshake: bool = False
    documents: bool = True
    times: int = 1
    forged: Json = field(default_factory=dict)
    filled: Json = field(default_factory=dict)
    wanted: bool = False


@dataclass(slots=True)
class Goods:
    """The answer of a tool that succeeded; `aside` is for the person alone."""

    text: str
    display: Any = None
    data: Json | None = None
    aside: str = ""
    media: str = ""
    filled: Json | None = None
    cut: bool = False


class Refusal(Exception):
    """A failure that somebody foresaw."""

    def __init__(
        self,
        code: str,
        message: str,
        meta: Json | None = None,
        *,
        category: str | None = None,
        wait: int | None = None,
        display: Any = None,
    ) -> None:
        super().__init__(message)
        row = ROWS.get(code, {})
        self.code, self.message, self.meta, self.wait, self.display = code, message, meta, wait, display
        self.category = category or str(row.get("category", "internal"))
        self.retryable = bool(row.get("retryable", False))


@dataclass(slots=True)
class Ware:
    """A tool: what the list says of it, and the function behind it."""

    title: str
    takes: Json
    run: Callable[[Order], Goods]
    gives: Json | None = None
    meta: Json = field(default_factory=dict)
    reads: bool = True
    idempotent: bool | None = None


def takes(required: str = "", /, **properties: Json) -> Json:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def words(longest: int) -> Json:
    """Return the schema of a text."""
    return {"type": "string", "maxLength": longest}


def choice(*values: str) -> Json:
    """Return the schema of one of some words."""
    return {"type": "string", "enum": [*values]}


def count(least: int, most: int) -> Json:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": least, "maximum": most}


def many(item: Json, most: int) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": item, "maxItems": most}


def whole(value: Any) -> Any:
    """Return a value with U+FFFD for each half of a surrogate pair."""
    match value:
        case str():
            return LONE.sub("\ufffd", value)
        case dict():
            return {whole(name): whole(one) for name, one in value.items()}
        case list():
            return [whole(one) for one in value]
    return value


def broken(value: Any) -> bool:
    """Return whether a value has half a surrogate pair somewhere."""
    return LONE.search(json.dumps(value, ensure_ascii=False)) is not None
