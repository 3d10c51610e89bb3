"""Checks of the metadata of a tool: its schema, and the mark of cacheable tools (sections 5.1 and 5.4)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import ListedTool, valid_metadata
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
