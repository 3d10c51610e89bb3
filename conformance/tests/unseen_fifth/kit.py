"""What the tools are made of: a tool is a class, its parameters are descriptors, a call is an object."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

Json = dict[str, Any]

_SCHEMAS = Path(__file__).parents[3] / "schemas"
PREFIX: str = json.loads((_SCHEMAS / "names.json").read_text())["prefix"]
CODES: dict[str, Json] = {
    row["code"]: row for row in json.loads((_SCHEMAS / "registry" / "error_codes.json").read_text())["codes"]
}
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HALF = re.compile("[\ud800-\udfff]")


def legal(text: str, instead: str = "\ufffd") -> str:
    """Return a text without code points that XML does not allow."""
    return _NO_XML.sub(instead, text)


def whole(value: Any) -> Any:
    """Return a value without unpaired surrogates."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {whole(name): whole(item) for name, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value


# -- calls and their outcomes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Visit:
    """One call as it came in; `nth` counts the calls of the tool, and `again` those with the same arguments."""

    tool: str
    args: Json
    declaration: Json = field(default_factory=dict)
    handshake: bool = False
    documents: bool = True
    nth: int = 1
    again: int = 1

    @property
    def declared(self) -> bool:
        """Return whether the client declared the extension."""
        return bool(self.declaration)


@dataclass(frozen=True, slots=True)
class Success:
    """What a call gives: a text for the model, a display, data, and a text for the person alone."""

    text: str
    display: Any = None
    data: Json | None = None
    aside: str = ""
    media: str = ""
    filled: Json | None = None
    cut: bool = False


class Problem(Exception):
    """What a call that fails gives."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        category: str = "",
        wait_ms: int | None = None,
        display: Any = None,
        **meta: Any,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.category, self.wait_ms = code, message, category, wait_ms
        self.display = display
        self.meta: Json = meta

    @property
    def retryable(self) -> bool:
        """Return what the registry says of the code."""
        return bool(CODES.get(self.code, {}).get("retryable", False))

    @property
    def kind(self) -> str:
        """Return the category of the problem."""
        return self.category or str(CODES.get(self.code, {}).get("category", "internal"))


Outcome = Success | Problem


# -- parameters --------------------------------------------------------------------------------------------------------


class Param:
    """A parameter of a tool: its schema, whether it is needed, and what a call without it has."""

    def __init__(
        self, schema: Json, *, needed: bool = False, default: Any = None, cast: Callable[[Any], Any] | None = None
    ) -> None:
        self.schema, self.needed, self.default, self.cast = schema, needed, default, cast
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, call: Tool | None, owner: type) -> Any:
        if call is None:
            return self
        value = call.args.get(self.name)
        if value is None:
            return self.default
        return self.cast(value) if self.cast else value


def text(longest: int, *, nullable: bool = False, needed: bool = False, default: Any = None, **more: Any) -> Param:
    """Return a parameter that is a text."""
    kind = ["string", "null"] if nullable else "string"
    return Param({"type": kind, "maxLength": longest, **more}, needed=needed, default=default)


def integer(least: int, most: int, default: int | None = None, **more: Any) -> Param:
    """Return a parameter that is an integer, needed where it has no default."""
    schema = {"type": "integer", "minimum": least, "maximum": most, **more}
    if default is not None:
        schema["default"] = default
    return Param(schema, needed=default is None, default=default, cast=int)


def number(least: float, most: float, *, needed: bool = False, default: Any = None, **more: Any) -> Param:
    """Return a parameter that is a number."""
    return Param({"type": "number", "minimum": least, "maximum": most, **more}, needed=needed, default=default)


def one_of(*values: str, default: str | None = None) -> Param:
    """Return a parameter with few values, of which the first is the default."""
    return Param({"type": "string", "enum": [*values]}, default=default or values[0])


def switch() -> Param:
    """Return the parameter `show_user`."""
    return Param({"type": "boolean", "default": False, "description": "Show the person a display."}, default=False)


def record(*needed: str, **properties: Json) -> Json:
    """Return the schema of an object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": [*needed], "additionalProperties": False}


# -- tools -------------------------------------------------------------------------------------------------------------


class Tool:
    """A tool is a subclass, whose docstring describes it; an object of it is one call with arguments that fit."""

    name: ClassVar[str] = ""
    reads: ClassVar[bool] = True
    pause: ClassVar[float] = 0
    gives: ClassVar[Json | None] = None
    about: ClassVar[Json | None] = None

    def __init__(self, visit: Visit, args: Json, filled: Json) -> None:
        self.visit, self.args, self.filled = visit, args, filled

    def run(self) -> Success:
        """Do the work."""
        raise NotImplementedError

    @classmethod
    def params(cls) -> dict[str, Param]:
        """Return the parameters in the order in which they are written."""
        found: dict[str, Param] = {}
        for one in reversed(cls.__mro__):
            found |= {name: value for name, value in vars(one).items() if isinstance(value, Param)}
        return found

    @classmethod
    def takes(cls) -> Json:
        """Return the input schema."""
        params = cls.params()
        needed = [name for name, param in params.items() if param.needed]
        return record(*needed, **{name: param.schema for name, param in params.items()})

    @classmethod
    def summary(cls) -> str:
        """Return what the list says of the tool: the docstring of the class, or of the one that it is made from."""
        return " ".join((inspect.getdoc(cls) or "").split())

    @classmethod
    def shows(cls) -> bool:
        """Return whether the tool has displays."""
        return bool(cls.about and cls.about.get("display"))

    @classmethod
    def fills(cls) -> list[str]:
        """Return the parameters that the server fills in."""
        return list((cls.about or {}).get("server_populated", []))
