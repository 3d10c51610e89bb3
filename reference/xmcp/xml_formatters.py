"""How a value becomes the XML a model reads in `llm_output`.

Formatters live here: functions `(data, indent_level) -> str`. They turn data into text and nothing
else; wrapping that text into a response document is the business of `xmcp.wire`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pydantic_core import to_jsonable_python

__all__ = ["default_formatter"]

ROOT: Final = "result"
ENTRY: Final = "item"
INDENT: Final = "  "

# wire.md vector 32: any other key could change the structure, so it becomes an attribute value.
_SAFE_NAME: Final = re.compile(r"(?!xml)[A-Za-z_][A-Za-z0-9_.-]*", re.IGNORECASE | re.ASCII)

# A bare carriage return would reach the reader as a line feed (XML 1.0, 2.11).
_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)


def default_formatter(data: Any, indent_level: int = 0) -> str:
    """Write every key and value of `data` as nested elements, in their order, under one `<result>`.

    `data` is anything pydantic can turn into JSON (mappings, sequences, models, dataclasses,
    scalars); other objects appear as `str(object)`. A list entry is an `<item>`; a key that is no
    safe element name (`a b`, `1`, `xml…`, `a:b`) is `<item key="…">`. Booleans, numbers and `None`
    are written as JSON literals. `indent_level` is the depth of the root, two spaces each.

    Characters that XML 1.0 cannot carry stay in the text: the encoder of `xmcp.wire` replaces them
    and marks the response as lossy.

    Raises:
        ValueError: `data` contains itself, or is nested too deep to be serialised (about 250 levels).
    """
    with suppress(UnicodeEncodeError):  # of a key with a lone surrogate, which pydantic cannot convert
        data = to_jsonable_python(data, fallback=str)
    return "\n".join(_lines(ROOT, ROOT, data, indent_level))


def _lines(opening: str, name: str, value: Any, level: int) -> Iterator[str]:
    indent = INDENT * level
    match value:
        case Mapping() if value:
            yield f"{indent}<{opening}>"
            for key, entry in value.items():
                yield from _lines(*_tag(str(key)), entry, level + 1)
            yield f"{indent}</{name}>"
        case Sequence() if value and not isinstance(value, str):
            yield f"{indent}<{opening}>"
            for entry in value:
                yield from _lines(ENTRY, ENTRY, entry, level + 1)
            yield f"{indent}</{name}>"
        case _:
            yield f"{indent}<{opening}>{_leaf(value)}</{name}>"


def _tag(key: str) -> tuple[str, str]:
    """Return what stands in the opening and in the closing tag of an entry under `key`."""
    if _SAFE_NAME.fullmatch(key):
        return key, key
    return f'{ENTRY} key="{key.translate(_ATTRIBUTE)}"', ENTRY


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return value.translate(_TEXT)
    if isinstance(value, Mapping | Sequence):
        return ""  # an empty mapping or list: the element alone says it
    return json.dumps(value, default=str)
