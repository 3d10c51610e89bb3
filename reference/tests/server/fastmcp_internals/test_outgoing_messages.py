"""Messages to a client: what is relied on in the SDK. Red means: it has changed."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP

from xmcp.server.fastmcp_internals.outgoing_messages import rewrite_messages


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_each_message_to_the_client_is_sent_through_the_session_of_its_request(era: str) -> None:
    plain: FastMCP[Any] = FastMCP("plain")
    seen = []

    def rewrite(method: str, params: Any) -> Any:
        seen.append(method)
        return {name: "changed" if name == "message" else part for name, part in params.items()}

    @plain.tool
    async def speaks(ctx: Context) -> None:
        rewrite_messages(ctx.session, rewrite)
        await ctx.report_progress(1, 2, "first")
        await ctx.session.report_progress(2, 2, "second")

    told = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with Client(plain, mode=era, progress_handler=heard, timeout=300) as client:
        await client.call_tool("speaks", {})
        await client.list_tools()
    assert seen == ["notifications/progress"] * 2
    assert told == [(1, 2, "changed"), (2, 2, "changed")]
