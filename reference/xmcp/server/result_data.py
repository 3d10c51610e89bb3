"""The JSON of what a tool returned, as programs get it in structuredContent, and as formatters write it for a model.

FastMCP has pydantic write it. What pydantic does not know, or cannot write, is converted here, so that the result is
the same as if the author had returned a list or a dict of it. Displays and errors follow `xmcp.wire` instead.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from itertools import islice
from typing import Any, Final

from jsonschema_rs import Validator
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from xmcp.wire import plain

MAX_LEVELS: Final = 200
"""Levels of a value; pydantic, which writes it afterwards, has a limit of about 250."""
MAX_ENTRIES: Final = 1_000_000
"""Entries that are taken from an iterator, which could be endless."""
# `<Order object at 0x7f…>` tells a model nothing, and discloses an address in the memory of the server.
_ADDRESS: Final = re.compile(r"\bat 0x[0-9A-Fa-f]+")
_LONGEST_FAULT: Final = 200  # characters of what a validator says, which can repeat the whole result
_REFUSED_BY_PYDANTIC: Final = (PydanticSerializationError, UnicodeError, ValueError, TypeError, RecursionError)


class UnsendableResultError(Exception):
    """A tool returned something that cannot be sent; the message is a sentence for the tool's author.

    `pointer` is the JSON Pointer to it in the result, `reason` says what is wrong.
    """

    def __init__(self, reason: str, pointer: str = "") -> None:
        super().__init__(f"The tool's result cannot be sent{f', at {pointer}' if pointer else ''}: {reason}")
        self.pointer = pointer
        self.reason = reason


def listed(value: Any) -> Any:
    """Return an iterator, such as that of `map`, as a list, also one in a member of a dict; other values unchanged.

    It can be read only once, and a result is read for the data and for the text.

    Raises:
        UnsendableResultError: It has more than `MAX_ENTRIES` entries.
    """
    if type(value) is dict and any(issubclass(kind, Iterator) for kind in {*map(type, value.values())}):
        return {name: listed(part) if isinstance(part, Iterator) else part for name, part in value.items()}
    if not isinstance(value, Iterator):
        return value
    entries = list(islice(value, MAX_ENTRIES + 1))
    if len(entries) > MAX_ENTRIES:
        raise UnsendableResultError(f"a {type(value).__qualname__} with more than {MAX_ENTRIES:,} entries.")
    return entries


def known_to_pydantic(value: Any) -> Any:
    """Return `value` as JSON, with null for NaN and the infinities.

    Raises:
        PydanticSerializationError, UnicodeError: Pydantic cannot write something in it.
    """
    return to_jsonable_python(value, inf_nan_mode="null")


def as_json(value: Any, *, name_unknown: bool = False) -> Any:
    """Return `value` as JSON: what pydantic writes, and for everything else the nearest thing that JSON has.

    NaN and the infinities are null inside of a value. A value that is nothing else is returned as it is, because as
    text for a model it has a name. Lone surrogates are kept. With `name_unknown`, the name of its class stands for
    something inside the value that has no JSON form.

    Raises:
        UnsendableResultError: Something in it has no JSON form and no text that says what it is.
    """
    try:
        return value if is_non_finite(value) else known_to_pydantic(value)
    except _REFUSED_BY_PYDANTIC:
        return _converted(value, (), name_unknown)


def readable(value: Any) -> Any:
    """Return an object that pydantic does not know one step nearer to JSON, at last as its text."""
    try:
        return plain(value)
    except TypeError as unknown:
        return _text_of(value, str(unknown))


def check_data(validator: Validator, data: Any) -> None:
    """Check `data` against the tool's output schema: a client would refuse what does not fit.

    Raises:
        UnsendableResultError: It does not fit.
    """
    if validator.is_valid(data):
        return
    for fault in validator.iter_errors(data):
        said = fault.message if len(fault.message) <= _LONGEST_FAULT else f"{fault.message[:_LONGEST_FAULT]}…"
        raise UnsendableResultError(
            f"it does not fit the tool's output schema: {said}. NaN and the infinities are sent as null, because JSON "
            "has none of them; annotate `float | None`, or raise an XMCPError.",
            _pointer(fault.instance_path),
        )


def is_non_finite(value: Any) -> bool:
    """Tell whether `value` is a number that JSON does not have."""
    return isinstance(value, float) and not math.isfinite(value)


def _converted(value: Any, path: tuple[str | int, ...], name_unknown: bool) -> Any:
    if len(path) > MAX_LEVELS:
        raise UnsendableResultError(f"it has more than {MAX_LEVELS} levels, or contains itself.")
    match value:
        case float():
            return None if path and not math.isfinite(value) else float(value)
        case str():
            return value
        case bytes() | bytearray() | memoryview():
            return _text(bytes(value))
        case Mapping():
            return {
                (name := _name(key, path)): _converted(part, (*path, name), name_unknown) for key, part in value.items()
            }
        case Sequence() | Set() | ValuesView():
            return [_converted(part, (*path, index), name_unknown) for index, part in enumerate(value)]
    try:
        return to_jsonable_python(value, inf_nan_mode="null")
    except _REFUSED_BY_PYDANTIC:
        pass
    if isinstance(value, BaseModel):
        return _converted(value.model_dump(), path, name_unknown)
    if isinstance(value, Iterator):
        return _converted(listed(value), path, name_unknown)
    try:
        nearer = readable(value)
    except UnsendableResultError as fault:
        if name_unknown and path:
            return f"<{type(value).__qualname__}>"
        raise UnsendableResultError(fault.reason, _pointer(path)) from None
    return nearer if isinstance(nearer, str) else _converted(nearer, path, name_unknown)


def _name(key: Any, path: tuple[str | int, ...]) -> str:
    if isinstance(key, str):
        return key
    try:
        return str(next(iter(to_jsonable_python({key: None}, fallback=readable))))
    except _REFUSED_BY_PYDANTIC:
        raise UnsendableResultError(
            f"a {type(key).__qualname__} cannot be the name of a member.", _pointer(path)
        ) from None


def _text(raw: bytes) -> str:
    """Return bytes as FastMCP does: as text if they are UTF-8, otherwise in base64."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return base64.b64encode(raw).decode()


def _text_of(value: Any, refusal: str) -> str:
    advice = "return a dict, a list, a dataclass or a pydantic model."
    try:
        text = str(value)
    except Exception as failure:
        refusal = f"{refusal}, and its __str__ raises {type(failure).__qualname__}"
        raise UnsendableResultError(f"{refusal}; {advice}") from None
    if _ADDRESS.search(text):
        raise UnsendableResultError(f"{refusal}; {advice}")
    return text


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
