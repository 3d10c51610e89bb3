"""What XMCP relies on in FastMCP beyond its public interface. A failure here means: FastMCP has changed."""

from __future__ import annotations

from typing import Annotated, Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import Middleware
from fastmcp.server.transforms import Transform
from mcp import MCPError
from pydantic import Field

from xmcp import XMCP
from xmcp.server._fastmcp_hooks import is_tool_timeout, mirrors_into_header, raised_by_fastmcp


class Listings(Middleware):
    def __init__(self) -> None:
        self.count = 0

    async def on_list_tools(self, context: Any, call_next: Any) -> Any:
        self.count += 1
        return await call_next(context)


def server(listings: Listings) -> XMCP:
    mcp = XMCP("hooks", middleware=[listings])

    @mcp.tool
    def double(x: int) -> int:
        return 2 * x

    return mcp


def mirrored(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    return region


async def listings_per_call(mcp: XMCP, listings: Listings, over_http: Any) -> int:
    async with over_http(mcp.http_app()) as url, Client(f"{url}/mcp", mode="auto") as client:
        before = listings.count
        for _ in range(3):
            await client.call_tool_mcp("double", {"x": 1})
        return (listings.count - before) // 3


async def test_a_modern_call_over_http_lists_no_tools(over_http: Any) -> None:
    listings = Listings()
    assert await listings_per_call(server(listings), listings, over_http) == 0


@pytest.mark.parametrize("composed", ["mount", "transform"])
async def test_the_sdk_still_lists_before_each_call_when_it_may_have_to(composed: str, over_http: Any) -> None:
    """When this fails, `skip_listing_before_calls` is no longer needed."""
    listings = Listings()
    mcp = server(listings)
    if composed == "mount":
        mcp.mount(FastMCP("child"))
    else:
        mcp.add_transform(Transform())
    assert await listings_per_call(mcp, listings, over_http) == 1


@pytest.mark.parametrize("given", ["decorated", "constructed", "mounted"])
async def test_a_parameter_mirrored_into_a_header_is_still_checked(given: str, over_http: Any) -> None:
    mcp = XMCP("mirrored", tools=[mirrored] if given == "constructed" else [])
    if given == "decorated":
        mcp.tool(mirrored)
    if given == "mounted":
        child: FastMCP[Any] = FastMCP("child")
        child.tool(mirrored)
        mcp.mount(child)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "mirrored", "arguments": {"region": "eu"}, "_meta": meta},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "mirrored",
    }
    async with over_http(mcp.http_app()) as url, httpx2.AsyncClient() as http:
        right = await http.post(f"{url}/mcp", json=body, headers={**headers, "Mcp-Param-Region": "eu"})
        wrong = await http.post(f"{url}/mcp", json=body, headers={**headers, "Mcp-Param-Region": "us"})
    assert (right.status_code, wrong.status_code) == (200, 400)


def test_a_mirrored_parameter_is_recognised_by_its_schema() -> None:
    assert mirrors_into_header({"properties": {"a": {"type": "string", "x-mcp-header": "A"}}})
    assert not mirrors_into_header({"properties": {"a": {"type": "string"}}})


async def test_fastmcp_wraps_what_a_tool_raises_in_its_own_tool_error() -> None:
    plain: FastMCP[Any] = FastMCP("plain")

    @plain.tool
    def crash() -> None:
        raise ValueError("s3cr3t")

    @plain.tool
    def authors() -> None:
        raise ToolError("mine") from ValueError("s3cr3t")

    with pytest.raises(ToolError) as wrapped:
        await plain.call_tool("crash")
    assert raised_by_fastmcp(wrapped.value)
    assert isinstance(wrapped.value.__cause__, ValueError)
    with pytest.raises(ToolError) as own:
        await plain.call_tool("authors")
    assert not raised_by_fastmcp(own.value)
    assert raised_by_fastmcp(ToolError("never raised"))


async def test_fastmcp_reports_an_overrun_tool_as_an_mcp_error_of_its_own() -> None:
    import anyio

    plain: FastMCP[Any] = FastMCP("plain")

    @plain.tool(timeout=0.01)
    async def slow() -> None:
        await anyio.sleep_forever()

    @plain.tool
    async def upstream() -> None:
        raise MCPError(code=-32000, message="timed out")

    for name, expected in (("slow", True), ("upstream", False)):
        with pytest.raises(ToolError) as wrapped:
            await plain.call_tool(name)
        assert wrapped.value.__cause__ is not None
        assert is_tool_timeout(wrapped.value.__cause__) is expected
