"""What an author says of a tool beyond MCP, and how it stands in the tool's `_meta` (spec chapter 5).

Pure decisions live here: the decorator's options in, the metadata out. Everything a tool may say is one row of
`_SAYINGS`. MCP's annotations do not carry it (unknown ones get lost on the way), so what authors put there all
the same is moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from mcp_types import ToolAnnotations

from xmcp_models.registry import TOOL_META_KEY

MAX_NAME: Final = 128  # characters, as in schemas/tool_metadata.schema.json


def told(options: dict[str, Any]) -> dict[str, Any]:
    """Take what is said of the tool out of `options`, and out of `options["annotations"]`, and return it checked.

    Keys: `depends_on` (a list of names), `provides` (a name), `cacheable` (a boolean), `xml_formatter` (whatever
    was given). What is absent or `None` is left out. A cacheable tool is marked read-only in the annotations.

    Raises:
        TypeError: a value of the wrong type, or something that is said twice.
        ValueError: an empty or too long name, or a cacheable tool that is not read-only.
    """
    said = {key: options.pop(key) for key in _SAYINGS if options.get(key) is not None}
    for key in _SAYINGS:
        options.pop(key, None)
    annotations = options.get("annotations")
    if isinstance(annotations, dict):
        moved = {key: annotations[key] for key in _SAYINGS if annotations.get(key) is not None}
        if twice := said.keys() & moved.keys():
            raise TypeError(f"{', '.join(sorted(twice))} stands in the annotations and beside them; once is enough.")
        said |= moved
        options["annotations"] = {key: part for key, part in annotations.items() if key not in _SAYINGS}
    checked = {key: _SAYINGS[key](key, value) for key, value in said.items()}
    if checked.get("cacheable"):
        options["annotations"] = _read_only(options.get("annotations"))
    return checked


def in_meta(meta: dict[str, Any] | None, metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Return a tool's `_meta` with `metadata` in it, beside what the author put there under the same key."""
    if not metadata:
        return meta
    own = (meta or {}).get(TOOL_META_KEY)
    return {**(meta or {}), TOOL_META_KEY: {**(own if isinstance(own, dict) else {}), **metadata}}


def of(meta: dict[str, Any] | None) -> dict[str, Any]:
    """Return the metadata in a tool's `_meta`; none where there is none."""
    own = (meta or {}).get(TOOL_META_KEY)
    return own if isinstance(own, dict) else {}


def names(key: str, value: Any) -> list[str]:
    """Return `value` as a list of different names.

    Raises:
        TypeError: it is neither a name nor a list of names.
        ValueError: a name is empty or too long.
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Sequence | set | frozenset):
        raise TypeError(f"{key} is {value!r}; it takes a list of names, such as [{'a_name'!r}].")
    return list(dict.fromkeys(_name(key, entry) for entry in given))


def _name(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{key} has {value!r}; it takes names, as strings.")
    if not 0 < len(value) <= MAX_NAME:
        raise ValueError(f"{key} has a name of {len(value)} characters; there can be 1 to {MAX_NAME}.")
    return value


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{key} is {value!r}; it takes True or False.")
    return value


def _read_only(annotations: ToolAnnotations | dict[str, Any] | None) -> ToolAnnotations:
    given = (
        annotations if isinstance(annotations, ToolAnnotations) else ToolAnnotations.model_validate(annotations or {})
    )
    if given.read_only_hint is False:
        raise ValueError("cacheable=True is for tools that change nothing, and the annotations say readOnlyHint=False.")
    return given.model_copy(update={"read_only_hint": True})


_SAYINGS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "depends_on": names,
    "provides": _name,
    "cacheable": _flag,
    "xml_formatter": lambda _, value: value,
}
