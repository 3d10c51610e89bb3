"""The tools of all servers as one immutable snapshot: the offer to the model, and the server of each tool."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import orjson

from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.client.tools import input_schema
from xmcp.client.tools.names import Assigned, Listing, Names, expose_each
from xmcp_models.registry import TOOL_META_KEY

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool


OnProgress: TypeAlias = Callable[[float, float | None, str | None], None]
"""Called on the event loop with the `progress`, the `total` and the `message` of a report; it does not block."""


class ToolServer(Protocol):
    """What a chat needs of a server; `mcp_server.Server` implements it."""

    @property
    def name(self) -> str:
        """Its name, for prefixes and messages."""
        ...

    @property
    def named(self) -> bool:
        """True if the application named the server."""
        ...

    @property
    def identity(self) -> str:
        """Equal for two objects only if equal calls have equal answers at both: part of cache keys."""
        ...

    @property
    def speaks_xmcp(self) -> bool:
        """Whether its text is read as documents, as of its last connection."""
        ...

    async def execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], on_progress: OnProgress | None = None
    ) -> CallToolResult:
        """Call a tool; `on_progress` is called with each report of its progress.

        Raises:
            CallFailed: there is no result.
        """
        ...

    def report_missing_tool(self) -> None:
        """Note that the server answered that it does not have a tool which it had listed."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One tool: its name for the model, its server, its name there (`tool`), and its description by the server."""

    name: str
    server: ToolServer
    tool: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    depends_on: tuple[str, ...] = ()
    """Names at the server of the tools whose calls in the same turn come first (spec section 5.2)."""
    provides: str | None = None
    cacheable: bool = False
    read_only: bool = False
    idempotent: bool = False
    fingerprint: str = ""
    """Hash of the tool's whole entry in the server's list: part of cache keys; a refresh compares it."""
    named_wrapper: str | None = None
    """The member that holds the tool's value, where the metadata name one (XMCP-MCP-053)."""
    _known: dict[str, set[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `declared` and `needed` returned: a schema is read once, not at each call."""

    @property
    def wrapped_in(self) -> str | None:
        """The member of the structured content that holds the tool's value; `None` if the whole of it is the value."""
        by_fastmcp = self.output_schema is not None and self.output_schema.get("x-fastmcp-wrap-result") is True
        return self.named_wrapper or ("result" if by_fastmcp else None)

    @property
    def declared(self) -> Collection[str]:
        """The names of all parameters that the input schema knows, under whatever condition."""
        if "declared" not in self._known:
            self._known["declared"] = input_schema.declared(self.input_schema)
        return self._known["declared"]

    @property
    def needed(self) -> Collection[str]:
        """The names of the parameters that the input schema requires, whatever the others are."""
        if "needed" not in self._known:
            self._known["needed"] = input_schema.needed(self.input_schema)
        return self._known["needed"]

    @classmethod
    def of(cls, name: str, server: ToolServer, tool: Tool, known: Container[str]) -> Entry:
        """Return the entry of a tool. Metadata of the wrong type is ignored (XMCP-TOL-003).

        `known` has the tools of the server; other names in `depends_on` are left out.
        """
        extension = metadata(tool)
        provides, wrapper = extension.get("provides"), extension.get("wrapped_in")
        hints = tool.annotations
        read_only = hints is not None and hints.read_only_hint is True
        idempotent = hints is not None and hints.idempotent_hint is True
        description = tool.description or tool.title or ""
        described = [
            tool.name,
            description,
            tool.input_schema,
            tool.output_schema,
            dict(extension),
            read_only,
            idempotent,
        ]
        return cls(
            name,
            server,
            tool.name,
            description,
            tool.input_schema,
            tool.output_schema,
            tuple(before for before in depends_on(tool) if before in known),
            provides if isinstance(provides, str) and provides else None,
            extension.get("cacheable") is True,
            read_only,
            idempotent,
            hashlib.sha256(_canonical(described)).hexdigest()[:16],
            wrapper if isinstance(wrapper, str) and wrapper else None,
        )


def _canonical(value: Any) -> bytes:
    """Return JSON bytes that are the same for values that differ only in the order of members."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Integers beyond 64 bits and lone surrogates are JSON, too.
        return json.dumps(value, sort_keys=True).encode()


def metadata(tool: Tool) -> Mapping[str, Any]:
    """Return the XMCP metadata of a tool (spec section 5.1); empty if there is none."""
    extension = (tool.meta or {}).get(TOOL_META_KEY)
    return extension if isinstance(extension, Mapping) else {}


def depends_on(tool: Tool) -> tuple[str, ...]:
    """Return the tools that a tool names in `depends_on` (spec section 5.2), whether they exist or not.

    A value that is not as the schema says is ignored as a whole (section 5.1).
    """
    names = metadata(tool).get("depends_on")
    if not isinstance(names, list) or not all(isinstance(name, str) and 0 < len(name) <= _LONGEST for name in names):
        return ()
    return tuple(names) if len(set(names)) == len(names) else ()


_LONGEST: Final = 128
"""Maximum number of characters of a name in `depends_on` (schemas/tool_metadata.schema.json)."""


@dataclass(frozen=True, slots=True, eq=False)
class ServerPart:
    """What one server contributes to a catalogue. It is used again as long as the server's list is the same object."""

    tools: Sequence[Tool]
    server_name: str
    entries: Mapping[str, Entry]
    """By the tools' names at the server."""
    offered: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One version of the catalogue. A turn of a chat keeps the version that the model was offered."""

    version: int = 0
    entries: Mapping[str, Entry] = field(default_factory=dict)
    schemas: ToolSchemas = field(default_factory=ToolSchemas)
    warnings: tuple[str, ...] = ()
    names: Names = field(default_factory=dict)
    """Every name that a catalogue of this client has assigned; catalogues share it."""
    parts: tuple[ServerPart, ...] = field(default=(), repr=False, compare=False)
    external: frozenset[str] = frozenset()
    """The names of the tools in `schemas` that the application runs itself (`external.ExternalTools`)."""


Offer: TypeAlias = Callable[[Entry, Mapping[str, Entry]], Mapping[str, Any]]
"""Returns the OpenAI tool of an entry; gets also all entries of its server by their names there."""


def build(
    servers: Sequence[tuple[ToolServer, Sequence[Tool]]],
    version: int,
    warnings: Sequence[str] = (),
    *,
    previous: Catalogue | None = None,
    offer: Offer | None = None,
    extra: Sequence[Mapping[str, Any]] = (),
) -> Catalogue:
    """Return the catalogue of the servers' tools, in the order given; `warnings` precede those about names.

    Args:
        servers: All servers of the client, always in the same order; one that is not connected has no tools.
        version: The number of the catalogue if it differs from `previous`.
        warnings: Sentences for people.
        previous: The version before: its names are kept. If nothing has changed, it is the result itself; if only
            warnings have changed, the result shares its version, its entries and its serialised tools.
        offer: Default `openai_tool`.
        extra: Further OpenAI tools, after the others.
    """
    known_names = previous.names if previous else {}
    names = known_names if isinstance(known_names, Assigned) else Assigned(known_names)
    # A server that only lists its tools again must not cost the time of all others.
    before = previous.parts if previous and len(previous.parts) == len(servers) else [None] * len(servers)
    known = [
        part if part and part.tools is tools and part.server_name == server.name else None
        for part, (server, tools) in zip(before, servers, strict=True)
    ]
    listings = [
        Listing(server.name, server.named, [] if part else [tool.name for tool in tools])
        for part, (server, tools) in zip(known, servers, strict=True)
    ]
    make = offer or (lambda entry, _: openai_tool(entry))
    parts: list[ServerPart] = []
    for part, (server, tools), (exposed, clashes) in zip(known, servers, expose_each(listings, names), strict=True):
        if part is None:
            listed = {tool.name: tool for tool in tools}
            of_one = {e.tool: Entry.of(e.name, server, listed[e.tool], listed) for e in exposed}
            offered = [make(entry, of_one) for entry in of_one.values()]
            part = ServerPart(tools, server.name, of_one, offered, clashes)
        parts.append(part)
    entries = {entry.name: entry for part in parts for entry in part.entries.values()}
    all_warnings = (*warnings, *(warning for part in parts for warning in part.warnings))
    if previous is not None and entries == previous.entries:
        return previous if all_warnings == previous.warnings else replace(previous, warnings=all_warnings)
    return Catalogue(
        version,
        MappingProxyType(entries),
        ToolSchemas.of([*(tool for part in parts for tool in part.offered), *extra], version),
        all_warnings,
        names,
        tuple(parts),
    )


def openai_tool(entry: Entry) -> dict[str, Any]:
    """Return a tool in the OpenAI format, always with `properties`: some vendors require them, MCP does not."""
    return {
        "type": "function",
        "function": {
            "name": entry.name,
            "description": entry.description,
            "parameters": {"properties": {}, **entry.input_schema},
        },
    }
