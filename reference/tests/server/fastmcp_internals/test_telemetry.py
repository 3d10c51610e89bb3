"""The span of a request, and FastMCP's log: what is relied on. Red means: it has changed."""

from __future__ import annotations

import logging
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.utilities.logging import configure_logging
from opentelemetry.trace import get_current_span

from xmcp.server.fastmcp_internals.telemetry import active_request_span, handlers_that_draw


async def test_the_span_of_a_request_is_known_while_it_is_answered() -> None:
    spans: list[Any] = []
    mcp: FastMCP[Any] = FastMCP("spans")

    @mcp.tool
    async def looks() -> None:
        spans.append((active_request_span(), get_current_span()))

    async with Client(mcp) as client:
        await client.call_tool("looks")
    assert spans[0][0] is spans[0][1]
    await mcp.call_tool("looks")
    assert spans[1][0] is None


def test_fastmcp_draws_its_log_with_handlers_of_rich() -> None:
    configure_logging()
    drawing = handlers_that_draw()
    assert drawing
    assert drawing == logging.getLogger("fastmcp").handlers
