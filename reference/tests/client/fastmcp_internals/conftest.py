"""A server for the tests of what the client relies on in FastMCP and the SDK."""

from __future__ import annotations

import json

import fastmcp
import pytest


@pytest.fixture
def mcp() -> fastmcp.FastMCP:
    server = fastmcp.FastMCP("hooks")

    @server.tool(output_schema=None)
    async def large(ctx: fastmcp.Context, size: int) -> str:
        """With a progress report, so that the answer is a stream in every era."""
        await ctx.report_progress(1, 2)
        return "x" * size

    @server.tool(output_schema=None)
    def declared(ctx: fastmcp.Context) -> str:
        params = ctx.session.client_params
        return json.dumps(params.capabilities.extensions if params else None)

    @server.tool
    async def announce(ctx: fastmcp.Context) -> None:
        import mcp_types as mt

        await ctx.send_notification(mt.ToolListChangedNotification())

    return server
