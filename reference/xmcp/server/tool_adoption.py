"""Tools that were not registered with `XMCP`'s decorators: made by FastMCP, its providers, transforms and middleware.

Marks and results of XMCP mean the same in them as in any other tool of the server, or they are refused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from fastmcp.tools.function_tool import FunctionTool
from fastmcp.tools.tool_transform import TransformedTool
from pydantic import Field

from xmcp.server.call_state import current_call
from xmcp.server.fastmcp_internals.components import local_tools
from xmcp.server.parameters.filling import forbidden
from xmcp.server.parameters.providers import ParamProviders
from xmcp.server.parameters.server_parameters import marked_parameters
from xmcp.server.tool import XMCPTool
from xmcp.server.tool_metadata import metadata_of
from xmcp_models.registry import POPULATED_META_KEY

logger = logging.getLogger("xmcp.server")


def adopted(tool: Tool, providers: ParamProviders) -> Tool:
    """Return `tool` as a tool of the server that has these `providers`.

    A tool that belongs to a server already keeps its providers, wherever else it is added.

    Raises:
        ValueError: It shows the caller a parameter that it marks as filled in by the server, and nothing fills it in.
    """
    if type(tool) is FunctionTool:  # a subclass may run in a way of its own
        tool = XMCPTool.adopting(tool)
    if isinstance(tool, XMCPTool):
        if tool.param_providers is None:
            tool.param_providers = providers
    elif type(tool) is TransformedTool:
        if marked := marked_parameters(tool.parameters):
            raise ValueError(
                f"The tool {tool.name!r} was made of one that shows the caller {marked[0]!r}, which it marks as "
                "server_populated. Add that one to the server, and transform what `await mcp.get_tool(...)` returns."
            )
        if populated := metadata_of(tool.meta).get("server_populated"):
            return _TransformedTool.of(tool, populated, providers)
    elif marked := marked_parameters(tool.parameters):
        raise ValueError(
            f"The tool {tool.name!r} shows the caller {marked[0]!r}, which it marks as server_populated, and a "
            f"{type(tool).__name__} fills in nothing. Register its function, or make the server that has it an XMCP."
        )
    return tool


def refuse_marks(server: FastMCP[Any]) -> None:
    """Check that no tool of `server`, which is not an XMCP server and is mounted in one, has a mark of XMCP.

    Raises:
        ValueError: A tool shows the caller a parameter that it marks as filled in by the server.
    """
    for tool in local_tools(server):
        if marked := marked_parameters(tool.parameters):
            raise ValueError(
                f"The tool {tool.name!r} of the mounted server {server.name!r} marks {marked[0]!r} as "
                "server_populated, and a FastMCP server fills in nothing. Make that server an XMCP."
            )


class _TransformedTool(TransformedTool):
    """A transformed tool that sets aside the parameters that the server fills in (XMCP-TOL-024).

    FastMCP would refuse them, because they are not in the input schema.
    """

    server_populated: list[str] = Field(default_factory=list, exclude=True)
    param_providers: Any = Field(default=None, exclude=True)

    @classmethod
    def of(cls, tool: TransformedTool, populated: list[str], providers: ParamProviders) -> _TransformedTool:
        made_of: Tool = tool
        while isinstance(made_of, TransformedTool):
            made_of = made_of.parent_tool
        return cls.model_construct(
            **dict(tool),
            server_populated=populated,
            param_providers=made_of.param_providers if isinstance(made_of, XMCPTool) else providers,
        )

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        shown = self.parameters.get("properties", {})
        sent = [name for name in self.server_populated if name in arguments and name not in shown]
        if sent and self.param_providers.rejects:
            raise forbidden({name: f"/{name}" for name in sent})
        result = await super().run({name: value for name, value in arguments.items() if name not in sent})
        call = current_call.get()
        # A function of the author's may make a result of its own.
        filled = (result.meta or {}).get(POPULATED_META_KEY) or (call.filled if call is not None else None)
        if filled and not isinstance(result, InputRequiredToolResult):
            overridden = {"overridden": sent} if sent else {}
            result.meta = {**(result.meta or {}), POPULATED_META_KEY: {**filled, **overridden}}
        return result


def all_adopted(tools: Iterable[Tool], providers: ParamProviders) -> list[Tool]:
    """Return the adopted `tools`; one that cannot be is left out, and the log says why."""
    found = []
    for tool in tools:
        try:
            found.append(adopted(tool, providers))
        except (ValueError, TypeError) as refusal:
            logger.error("A tool is not offered: %s", refusal)
    return found
