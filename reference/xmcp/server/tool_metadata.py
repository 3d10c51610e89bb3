"""The XMCP metadata of a tool: from the decorator's options to the tool's `_meta` (spec chapter 5).

Pure functions; each member that an author gives is one row of `_MEMBERS`. MCP's annotations cannot carry the metadata,
because unknown annotations get lost on the way; members that an author wrote there are moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fastmcp.tools import Tool
from mcp_types import ToolAnnotations

from xmcp_models.registry import TOOL_META_KEY

WRAPPED_IN: Final = "result"
"""The member of `structuredContent` in which FastMCP puts a value that is no object."""
MAX_NAME: Final = 128  # characters, as in schemas/tool_metadata.schema.json


def take_metadata(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the metadata from `options` and from `options["annotations"]`, and return it checked.

    Keys: `depends_on` (a list of names), `provides` (a name), `cacheable` (a boolean), `xml_formatter` (as it was
    given). Absent members and None are left out. A cacheable tool is marked read-only in the annotations.

    Raises:
        TypeError: A value has the wrong type, or stands both in the annotations and beside them.
        ValueError: A name is empty or too long, or a cacheable tool is not read-only.
    """
    found = {key: options.pop(key) for key in _MEMBERS if options.get(key) is not None}
    for key in _MEMBERS:
        options.pop(key, None)
    annotations = options.get("annotations")
    if isinstance(annotations, dict):
        moved = {key: annotations[key] for key in _MEMBERS if annotations.get(key) is not None}
        if twice := found.keys() & moved.keys():
            raise TypeError(f"{', '.join(sorted(twice))} must not be given both in the annotations and beside them.")
        found |= moved
        options["annotations"] = {key: part for key, part in annotations.items() if key not in _MEMBERS}
    checked = {key: _MEMBERS[key](key, value) for key, value in found.items()}
    if checked.get("cacheable"):
        options["annotations"] = _read_only(options.get("annotations"))
    return checked


def in_meta(meta: dict[str, Any] | None, metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Return a tool's `_meta` with `metadata` in it, beside what the author put there under the same key."""
    if not metadata:
        return meta
    own = (meta or {}).get(TOOL_META_KEY)
    return {**(meta or {}), TOOL_META_KEY: {**(own if isinstance(own, dict) else {}), **metadata}}


def saying_where_its_value_is(tool: Tool) -> Tool:
    """Return a tool that names in its metadata where FastMCP puts a value that is no object (XMCP-MCP-053)."""
    if not wraps(tool.output_schema):
        return tool
    return tool.model_copy(update={"meta": in_meta(tool.meta, {"wrapped_in": WRAPPED_IN})})


def wraps(output_schema: Mapping[str, Any] | None) -> bool:
    """Tell whether FastMCP puts the value of a tool with this output schema into an object."""
    return output_schema is not None and output_schema.get("x-fastmcp-wrap-result") is True


def metadata_of(meta: dict[str, Any] | None) -> dict[str, Any]:
    """Return the metadata in a tool's `_meta`; empty if there is none."""
    own = (meta or {}).get(TOOL_META_KEY)
    return own if isinstance(own, dict) else {}


def checked_names(key: str, value: Any) -> list[str]:
    """Return `value`, one name or several, as a list without duplicates.

    Raises:
        TypeError: `value` is neither a name nor a list of names.
        ValueError: A name is empty or too long.
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Sequence | set | frozenset):
        raise TypeError(f"{key} must be a list of names, such as ['a_name'], not {value!r}.")
    return list(dict.fromkeys(_name(key, entry) for entry in given))


def _name(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{key} must hold names as strings, not {value!r}.")
    if not 0 < len(value) <= MAX_NAME:
        raise ValueError(f"{key} has a name of {len(value)} characters; a name must have 1 to {MAX_NAME}.")
    return value


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{key} must be True or False, not {value!r}.")
    return value


def _read_only(annotations: ToolAnnotations | dict[str, Any] | None) -> ToolAnnotations:
    given = (
        annotations if isinstance(annotations, ToolAnnotations) else ToolAnnotations.model_validate(annotations or {})
    )
    if given.read_only_hint is False:
        raise ValueError("cacheable=True is for tools that change nothing, and the annotations say readOnlyHint=False.")
    return given.model_copy(update={"read_only_hint": True})


_MEMBERS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "depends_on": checked_names,
    "provides": _name,
    "cacheable": _flag,
    "xml_formatter": lambda _, value: value,
}
