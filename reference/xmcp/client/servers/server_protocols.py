"""What the client requires of a source of tools and resources, as protocols.

`mcp_server.Server` implements them with MCP. An application can pass its own object with `discover_tools` and
`execute_tool_call` to `AIClient` instead of a server, in tests for example.
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
    """A source of tools. It must support any number of calls at the same time."""

    async def discover_tools(self) -> Sequence[Tool | Mapping[str, Any]]:
        """Return the current tools: `mcp_types.Tool`s, or mappings with `name`, `description` and `inputSchema`.

        May raise any exception if it has no list; the tools are then missing until a later call succeeds.
        """
        ...

    async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any]) -> CallToolResult | str:
        """Call a tool by its own name, and return its result; a string is the text of a success.

        If the task is cancelled, the call should be cancelled at the source. `CallFailed` carries an error for the
        model; any other exception is treated as a lost connection.

        A tool client that can say how far a call is has a further parameter `on_progress`, with a default. It gets a
        function of the progress, the total or `None`, and a text or `None`, to be called on the event loop.
        """
        ...


@runtime_checkable
class ResourceManager(Protocol):
    """A source of documents, by URI."""

    async def list_resources(self) -> Sequence[Any]:
        """Return what can be read, as `mcp_types.Resource`s."""
        ...

    async def read_resource(self, uri: str) -> Sequence[Any]:
        """Return the contents of `uri`: `TextResourceContents` and `BlobResourceContents` of `mcp_types`."""
        ...


@runtime_checkable
class MCPClient(ToolClient, ResourceManager, Protocol):
    """Everything that the client uses of an MCP server: a `ToolClient` and a `ResourceManager`, with roots."""

    async def list_roots(self) -> Sequence[Any]:
        """Return the roots that the server gets when it asks."""
        ...

    async def send_roots_list_changed(self) -> None:
        """Notify the server that the roots changed."""
        ...
