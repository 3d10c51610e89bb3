"""Checks of the metadata of a tool: its schema, cacheable tools, wrapped values (sections 5.1, 5.4 and 6.2)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import ListedTool, valid_metadata
from xmcp_conformance.profiles.server.exchange import Exchange
from xmcp_conformance.reader.schemas import pointer, validator
from xmcp_models.registry import TOOL_META_KEY


@check("XMCP-TOL-001", profile="server")
def metadata_schema(tool: ListedTool) -> Observations:
    """Judge whether the metadata is valid against its schema."""
    if TOOL_META_KEY in tool.meta:
        fault = next(iter(validator("tool_metadata").iter_errors(tool.metadata)), None)
        where = pointer(list(fault.instance_path)) if fault else ""
        yield either(
            "XMCP-TOL-001",
            fault is None,
            f"tool `{tool.name}`: at `{where}`: {quoted(fault.message) if fault else ''}",
            "metadata that is valid against schemas/tool_metadata.schema.json",
        )


@check("XMCP-TOL-030", profile="server")
def cacheable_tool(tool: ListedTool) -> Observations:
    """Judge whether a cacheable tool is marked read-only."""
    if valid_metadata(tool).get("cacheable"):
        yield either(
            "XMCP-TOL-030",
            tool.read_only,
            f"tool `{tool.name}` is cacheable and not marked read-only",
            "`readOnlyHint`: true in its annotations",
        )


@check("XMCP-MCP-053", profile="server")
def wrapped_value(tool: ListedTool) -> Observations:
    """Judge whether a tool whose output schema says, in FastMCP's way, that it wraps its value says it here, too."""
    if tool.is_marked_as_wrapped:
        yield either(
            "XMCP-MCP-053",
            isinstance(tool.metadata, dict) and "wrapped_in" in tool.metadata,
            f"tool `{tool.name}` has `x-fastmcp-wrap-result` in its output schema and no `wrapped_in` in its metadata",
            "`wrapped_in`: the name of the member that holds the value",
        )


@check("XMCP-MCP-053", profile="server")
def wrapped_for_every_client(other: ListedTool, declared: ListedTool) -> Observations:
    """Judge whether a client that declared the extension is told of a wrapper of which another client is told.

    Args:
        other: the tool as another client sees it: one that declared nothing, or one in the other era.
        declared: the tool as a client sees it that declared the extension.
    """
    member = valid_metadata(other).get("wrapped_in")
    if member is not None and declared.has_output_schema:
        yield either(
            "XMCP-MCP-053",
            isinstance(declared.metadata, dict) and "wrapped_in" in declared.metadata,
            f"tool `{declared.name}` without `wrapped_in` in its metadata, which it has for another client",
            f"`wrapped_in`: `{quoted(member)}`",
        )


@check("XMCP-MCP-053", profile="server")
def wrapped_data(exchange: Exchange) -> Observations:
    """Judge whether the structured content of such a tool has the member that its metadata names."""
    tool, result = exchange.call.tool, exchange.result or {}
    data, member = result.get("structuredContent"), valid_metadata(tool).get("wrapped_in") if tool else None
    if member is not None and isinstance(data, dict) and result.get("isError") is not True:
        seen = f"`structuredContent` with the members {', '.join(f'`{quoted(name)}`' for name in data) or 'none'}"
        yield either("XMCP-MCP-053", member in data, seen, f"the member `{quoted(member)}`")
