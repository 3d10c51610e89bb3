"""The tools of all servers as one immutable snapshot: what the model is offered, and where each call goes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.client.tools.names import Listing, Names, expose
from xmcp_models.registry import TOOL_META_KEY

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool


class ToolServer(Protocol):
    """What the chat needs of a server; `connection.Server` is one."""

    @property
    def name(self) -> str:
        """Its name, for prefixes and messages."""
        ...

    @property
    def named(self) -> bool:
        """Whether the application named it."""
        ...

    @property
    def identity(self) -> str:
        """The same for two objects only if the same call gives the same answer at both: part of cache keys."""
        ...

    @property
    def speaks_xmcp(self) -> bool:
        """Whether its text may be read as documents, as of its last connection."""
        ...

    async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool; raises `CallFailed`."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One tool: its name for the model, its server with the name it has there, and what the server says of it."""

    name: str
    server: ToolServer
    tool: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    depends_on: tuple[str, ...] = ()
    """Names at the server, of tools whose calls of the same turn come first (spec section 5.2)."""
    provides: str | None = None
    cacheable: bool = False
    read_only: bool = False
    idempotent: bool = False
    fingerprint: str = ""
    """Changes with anything above that is the server's; part of cache keys, and what a refresh compares."""

    @classmethod
    def of(cls, name: str, server: ToolServer, tool: Tool, known: Container[str]) -> Entry:
        """Read a tool. What its metadata has of the wrong type is taken as absent (XMCP-TOL-003).

        `known` are the tools of the server: it depends on no other.
        """
        said = metadata(tool)
        provides = said.get("provides")
        hints = tool.annotations
        read_only = hints is not None and hints.read_only_hint is True
        idempotent = hints is not None and hints.idempotent_hint is True
        description = tool.description or tool.title or ""
        told = [tool.name, description, tool.input_schema, tool.output_schema, dict(said), read_only, idempotent]
        return cls(
            name,
            server,
            tool.name,
            description,
            tool.input_schema,
            tool.output_schema,
            tuple(before for before in depends_on(tool) if before in known),
            provides if isinstance(provides, str) and provides else None,
            said.get("cacheable") is True,
            read_only,
            idempotent,
            # Not orjson: integers beyond 64 bits and lone surrogates are JSON, too.
            hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16],
        )


def metadata(tool: Tool) -> Mapping[str, Any]:
    """What a server says of a tool beyond MCP (spec section 5.1)."""
    said = (tool.meta or {}).get(TOOL_META_KEY)
    return said if isinstance(said, Mapping) else {}


def depends_on(tool: Tool) -> tuple[str, ...]:
    """The tools that a tool names as its predecessors (spec section 5.2), whether they exist or not."""
    names = metadata(tool).get("depends_on")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A version of the catalogue. A turn of a chat keeps the one with which the model was asked."""

    version: int = 0
    entries: Mapping[str, Entry] = field(default_factory=dict)
    schemas: ToolSchemas = field(default_factory=ToolSchemas)
    warnings: tuple[str, ...] = ()
    names: Names = field(default_factory=dict)
    """Every name that this version or one before it has given."""


Offer: TypeAlias = Callable[[Entry, Mapping[str, Entry]], Mapping[str, Any]]
"""Makes the OpenAI tool of an entry, given all entries of its server by the names they have there."""


def build(
    servers: Sequence[tuple[ToolServer, Sequence[Tool]]],
    version: int,
    warnings: Sequence[str] = (),
    *,
    previous: Catalogue | None = None,
    offer: Offer | None = None,
    extra: Sequence[Mapping[str, Any]] = (),
) -> Catalogue:
    """The catalogue of these servers' tools, in the order given; `warnings` come before those about names.

    Args:
        servers: All servers of the client, always in the same order; one whose tools are missing has none.
        version: What the catalogue is called if it differs from `previous`.
        previous: The version before: its names are kept. Where nothing has changed it is the result itself; where
            only warnings have, the result shares its version, its entries and its serialised tools.
        offer: Default `openai_tool`.
        extra: OpenAI tools that are offered besides, behind the others.
    """
    names = dict(previous.names) if previous else {}
    exposed, clashes = expose([Listing(s.name, s.named, [tool.name for tool in tools]) for s, tools in servers], names)
    listed = [{tool.name: tool for tool in tools} for _, tools in servers]
    of_server: list[dict[str, Entry]] = [{} for _ in servers]
    for e in exposed:
        names[e.listing, e.tool] = e.name
        tools = listed[e.listing]
        of_server[e.listing][e.tool] = Entry.of(e.name, servers[e.listing][0], tools[e.tool], tools)
    entries = {entry.name: entry for of_one in of_server for entry in of_one.values()}
    told = (*warnings, *clashes)
    if previous is not None and entries == previous.entries:
        return previous if told == previous.warnings else replace(previous, warnings=told)
    make = offer or (lambda entry, _: openai_tool(entry))
    offered = [make(entry, of_one) for of_one in of_server for entry in of_one.values()]
    return Catalogue(
        version, MappingProxyType(entries), ToolSchemas.of([*offered, *extra], version), told, MappingProxyType(names)
    )


def openai_tool(entry: Entry) -> dict[str, Any]:
    """A tool in the OpenAI format. Some vendors refuse a schema without `properties`, which is legal in MCP."""
    return {
        "type": "function",
        "function": {
            "name": entry.name,
            "description": entry.description,
            "parameters": {"properties": {}, **entry.input_schema},
        },
    }
