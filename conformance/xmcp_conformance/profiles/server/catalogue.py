"""A server's catalogue: its announcement and its tools, with functions that read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.schemas import validator
from xmcp_models.registry import EXTENSION_ID, TOOL_META_KEY

from .input_schema import expanded


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as the server lists it; the fields are MCP's, unparsed."""

    name: str
    input_schema: dict[str, Any]
    meta: dict[str, Any]
    read_only: bool
    has_output_schema: bool = False
    is_marked_as_wrapped: bool = False
    """Whether its output schema has FastMCP's mark of a value that is wrapped into an object."""
    unsaid_hints: tuple[str, ...] = ()

    @property
    def metadata(self) -> Any:
        """The tool metadata of chapter 5, or `None`."""
        return self.meta.get(TOOL_META_KEY)

    @property
    def displays(self) -> bool:
        """True for a tool whose metadata has `display: true`: it can answer with a display."""
        return isinstance(self.metadata, dict) and self.metadata.get("display") is True

    @property
    def properties(self) -> dict[str, Any]:
        """The properties of the input schema, with those by `allOf` and `$ref`; empty if that is no object."""
        properties = expanded(self.input_schema).get("properties")
        return properties if isinstance(properties, dict) else {}

    @property
    def takes_show_user(self) -> bool:
        """True for a tool whose input schema has the parameter `show_user`."""
        return "show_user" in self.properties


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a server announces and lists in one protocol era."""

    protocol_version: str
    extensions: dict[str, Any]
    tools: tuple[ListedTool, ...]


HINTS = ("readOnlyHint", "destructiveHint", "openWorldHint")
"""The annotations of MCP that directories of servers demand (OpenAI's refuses a tool without one of them)."""

_MOST_NAMED = 5


def advice(catalogue: Catalogue) -> str | None:
    """Return a sentence about annotations that tools leave out, or `None`; the specification does not require them."""
    silent: dict[tuple[str, ...], list[str]] = {}
    for tool in catalogue.tools:
        if tool.unsaid_hints:
            silent.setdefault(tool.unsaid_hints, []).append(f"`{quoted(tool.name)}`")
    if not silent:
        return None
    said = "; ".join(_without(hints, names) for hints, names in silent.items())
    return f"{said}: MCP does not require it, some directories of servers do."


def _without(hints: tuple[str, ...], names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    verb = "does" if len(names) == 1 else "do"
    return f"{', '.join(names[:_MOST_NAMED])}{more} {verb} not say {', '.join(hints)}"


def announced_versions(catalogue: Catalogue) -> list[str] | None:
    """Return the versions that a server announces; `None` if it does not list them as XMCP-CNF-003 requires."""
    entry = catalogue.extensions.get(EXTENSION_ID)
    versions = entry.get("versions") if isinstance(entry, dict) else None
    if isinstance(versions, list) and versions and all(isinstance(item, str) for item in versions):
        return versions
    return None


def announced_wire(catalogue: Catalogue) -> Any:
    """Return the wire that a server announces (section 6.1), whatever it is; `None` if it announces none."""
    entry = catalogue.extensions.get(EXTENSION_ID)
    return entry.get("wire") if isinstance(entry, dict) else None


def populated_parameters(tool: ListedTool | None) -> list[str]:
    """Return the parameters that the server fills in itself, as the tool's metadata lists them."""
    return list(valid_metadata(tool).get("server_populated", [])) if tool is not None else []


def valid_metadata(tool: ListedTool) -> dict[str, Any]:
    """Return the metadata of a tool if it is valid (XMCP-TOL-001), otherwise an empty object: other checks skip it."""
    valid = TOOL_META_KEY in tool.meta and validator("tool_metadata").is_valid(tool.metadata)
    return dict(tool.metadata) if valid else {}
