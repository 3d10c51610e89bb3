"""What the orchestration needs of the world, as protocols (requirement D1): stand-ins of these are enough to test it.

`connection.Server` is the one that speaks MCP. An object of yours with `discover_tools` and `execute_tool_call` can be
given to `AIClient` in the place of a server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

NotificationHandler: TypeAlias = Callable[[Any], Awaitable[None]]
"""Called with every notification of a connection; must not block or await anything slow."""


@runtime_checkable
class ToolClient(Protocol):
    """A source of tools. One object serves any number of calls at once."""

    async def discover_tools(self) -> Sequence[Tool | Mapping[str, Any]]:
        """The tools there are now: MCP's `Tool`, or mappings that are one (`name`, `description`, `inputSchema`).

        Raises anything where they cannot be had; the tools are then missing until they can.
        """
        ...

    async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any]) -> CallToolResult | str:
        """Call a tool by its own name; a string is the text of a success. A cancelled call is cancelled at the source.

        Raises `CallFailed` with the error for the model; anything else is a lost connection.
        """
        ...


@runtime_checkable
class ResourceManager(Protocol):
    """A source of documents, by URI."""

    async def list_resources(self) -> Sequence[Any]:
        """What can be read: MCP's `Resource`."""
        ...

    async def read_resource(self, uri: str) -> Sequence[Any]:
        """The contents under `uri`: MCP's `TextResourceContents` and `BlobResourceContents`."""
        ...


@runtime_checkable
class MCPClient(ToolClient, ResourceManager, Protocol):
    """Everything a server offers, and the roots it is told of."""

    async def list_roots(self) -> Sequence[Any]:
        """The roots that the server is told of."""
        ...

    async def send_roots_list_changed(self) -> None:
        """Tell the server that they changed."""
        ...
