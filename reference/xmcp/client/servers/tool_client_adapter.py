"""An application's own object with tools, used like a server: without protocol and connection."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed
from xmcp.chat.json_values import copied_arguments
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.errors import ConnectFailed, describe
from xmcp.client.servers.server_protocols import ToolClient
from xmcp.client.tools.catalogue import OnProgress

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

_SCHEMA_KEYS = ("inputSchema", "input_schema", "parameters")


class ToolClientAdapter:
    """A `ToolClient` with the interface of `mcp_server.Server`.

    The object's attributes `name` (a string) and `speaks_xmcp` (a bool) are used if it has them. The application
    closes the object. Two adapters never have the same `identity`, not even for the same object.

    Args:
        tools: The object.
        name: The application's name for it; `None` uses its own name, or that of its class.
        connect_timeout: Time limit of `discover_tools` in seconds.
        log: Of the client.
        xmcp: Whether its text is read as documents; `None`: according to its attribute `speaks_xmcp`.
        on_missing_tool: Called when it answered that it does not have a tool which it had listed.

    Raises:
        TypeError: a class was passed instead of an object.
    """

    def __init__(
        self,
        tools: ToolClient,
        name: str | None,
        connect_timeout: float,
        log: EventLog,
        xmcp: bool | None = None,
        on_missing_tool: Callable[[], None] | None = None,
    ) -> None:
        if isinstance(tools, type):
            raise TypeError(
                f"A server target must be an object, not the class {tools.__name__}; pass {tools.__name__}(...)."
            )
        self._tools = tools
        own = getattr(tools, "name", None)
        self.name = name or (own if isinstance(own, str) and own else type(tools).__name__)
        self.named = name is not None
        self.identity = f"object:{uuid.uuid4().hex}"
        self.connected = False
        """True if its last listing of tools succeeded."""
        self._xmcp = xmcp
        self._connect_timeout = connect_timeout
        self._log = log.bind(server=self.name)
        self._on_missing_tool = on_missing_tool

    @property
    def label(self) -> str:
        """Its name, for messages to people."""
        return self.name

    @property
    def speaks_xmcp(self) -> bool:
        """Whether its text is read as documents."""
        return getattr(self._tools, "speaks_xmcp", False) is True if self._xmcp is None else self._xmcp

    async def discover_tools(self) -> list[Tool]:
        """Return the object's tools.

        Raises:
            ConnectFailed: the object raised, took too long, or returned something that is not a tool.
        """
        await asyncio.to_thread(import_module, "mcp_types")
        try:
            async with asyncio.timeout(self._connect_timeout) as limit:
                given = await self._tools.discover_tools()
            tools = [_tool(place, tool) for place, tool in enumerate(given)]
        except Exception as exc:
            self.connected = False
            if isinstance(exc, ConnectFailed):
                raise
            reason = f"no answer within {self._connect_timeout:g} s" if limit.expired() else describe(exc)
            raise ConnectFailed(reason) from exc
        self.connected = True
        return tools

    async def execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], on_progress: OnProgress | None = None
    ) -> CallToolResult:
        """Call a tool of the object.

        Raises:
            CallFailed: raised by the object. A `pydantic.ValidationError` of it is reported as an answer that cannot be
                read, any other exception as a lost connection.
        """
        from mcp_types import CallToolResult, TextContent

        try:
            # A copy: the object may change it, and other attempts and calls must not see that.
            own = copied_arguments(arguments)
        except Exception as exc:
            raise CallFailed(client_made_errors.not_sendable(), cause="client") from exc
        try:
            result = await self._tools.execute_tool_call(tool_name, own, **self._progress(on_progress))
        except CallFailed:
            raise
        except ValidationError as exc:
            # A result that MCP does not allow is an answer.
            self._log.exception("tool_client_failed", tool=tool_name)
            raise CallFailed(client_made_errors.unreadable_answer()) from exc
        except Exception as exc:
            self._log.exception("tool_client_failed", tool=tool_name)
            raise CallFailed(client_made_errors.tool_client_failed(self.name), cause="connection") from exc
        if isinstance(result, CallToolResult):
            return result
        if isinstance(result, str):
            return CallToolResult(content=[TextContent(type="text", text=result)])
        self._log.warning("tool_client_answered_amiss", tool=tool_name, type=type(result).__name__)
        raise CallFailed(client_made_errors.unreadable_answer())

    def _progress(self, on_progress: OnProgress | None) -> dict[str, Any]:
        parameters = inspect.signature(self._tools.execute_tool_call).parameters
        return {"on_progress": on_progress or _ignore} if "on_progress" in parameters else {}

    def report_missing_tool(self) -> None:
        """Note that the object answered that it does not have a tool which it had listed."""
        if self._on_missing_tool is not None:
            self._on_missing_tool()

    async def close(self) -> None:
        """Do nothing: the application closes the object."""


def _ignore(_progress: float, _total: float | None = None, _message: str | None = None) -> None:
    """Leave a report out."""


def _tool(place: int, given: Any) -> Tool:
    """Return what `discover_tools` returned at `place` (from 0) as an MCP tool.

    Raises:
        ConnectFailed: it is not a valid tool; the message says why.
    """
    from mcp_types import Tool

    if isinstance(given, Tool):
        return given
    if not isinstance(given, Mapping):
        raise ConnectFailed(
            f"its tool number {place + 1} is a {type(given).__name__}, not an mcp_types.Tool or a mapping"
        )
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise ConnectFailed(f"its tool number {place + 1} has no name (a string under 'name')")
    schema = next((given[key] for key in _SCHEMA_KEYS if given.get(key) is not None), {"type": "object"})
    plain = {
        "name": name,
        "title": given.get("title"),
        "description": given.get("description"),
        "inputSchema": schema,
        "outputSchema": given.get("outputSchema", given.get("output_schema")),
        "annotations": given.get("annotations"),
        "_meta": given.get("_meta", given.get("meta")),
    }
    try:
        return Tool.model_validate({key: value for key, value in plain.items() if value is not None})
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConnectFailed(f"its tool {name!r} is not a valid MCP tool: {where}: {first['msg']}") from exc
