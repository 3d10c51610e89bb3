"""The tools of all servers as one immutable snapshot: what the model is offered, and where each call goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from xmcp.client.naming import Listing, expose
from xmcp.providers import ToolSchemas

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
    def speaks_xmcp(self) -> bool:
        """Whether its text may be read as documents."""
        ...

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool; raises `CallFailed`."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One tool: its name for the model, and its server with the name it has there."""

    name: str
    server: ToolServer
    tool: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A version of the catalogue. A chat keeps the one it started with."""

    version: int = 0
    entries: Mapping[str, Entry] = field(default_factory=dict)
    schemas: ToolSchemas = field(default_factory=ToolSchemas)
    warnings: tuple[str, ...] = ()


def build(
    servers: Sequence[tuple[ToolServer, Sequence[Tool]]], version: int, warnings: Sequence[str] = ()
) -> Catalogue:
    """The catalogue of servers that are there, in the order given; `warnings` come before those about names."""
    exposed, clashes = expose([Listing(s.name, s.named, [tool.name for tool in tools]) for s, tools in servers])
    by_wire_name = [{tool.name: tool for tool in tools} for _, tools in servers]
    return Catalogue(
        version,
        MappingProxyType({e.name: Entry(e.name, servers[e.listing][0], e.tool) for e in exposed}),
        ToolSchemas.of((openai_tool(e.name, by_wire_name[e.listing][e.tool]) for e in exposed), version),
        (*warnings, *clashes),
    )


def openai_tool(name: str, tool: Tool) -> dict[str, Any]:
    """A tool in the OpenAI format. Some vendors refuse a schema without `properties`, which is legal in MCP."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": tool.description or tool.title or "",
            "parameters": {"properties": {}, **tool.input_schema},
        },
    }
