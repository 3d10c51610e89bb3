"""When the SDK lists tools before a call: what is relied on in it. Red means: it has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import Transform
from pydantic import Field

from xmcp import XMCP
from xmcp.server.fastmcp_internals.components import mirrors_into_header
from xmcp.server.fastmcp_internals.listing import may_mirror_into_headers


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


def plain(*tools: Any) -> FastMCP[Any]:
    child: FastMCP[Any] = FastMCP("plain child")
    for tool in tools:
        child.tool(tool)
    return child


def own(*tools: Any) -> XMCP:
    return XMCP("own child", tools=tools)


def unmirrored(place: str) -> str:
    return place


def nested() -> XMCP:
    middle = XMCP("middle")
    middle.mount(plain(unmirrored), namespace="deep")
    return middle


SPARED: dict[str, Callable[[XMCP], object]] = {
    "nothing": lambda mcp: None,
    "a plain server": lambda mcp: mcp.mount(plain(unmirrored)),
    "one of ours": lambda mcp: mcp.mount(own(unmirrored)),
    "under a namespace": lambda mcp: mcp.mount(own(unmirrored), namespace="ns"),
    "server in server": lambda mcp: mcp.mount(nested(), namespace="ns"),
    "hidden": lambda mcp: mcp.disable(names={"unmirrored"}),
    "hidden in the provider": lambda mcp: mcp.local_provider.disable(names={"unmirrored"}),
    "shown": lambda mcp: mcp.enable(names={"double"}, only=True),
}


@pytest.mark.parametrize("composed", SPARED)
async def test_a_modern_call_over_http_lists_no_tools(composed: str, over_http: Any) -> None:
    listings = Listings()
    mcp = server(listings)
    SPARED[composed](mcp)
    assert await listings_per_call(mcp, listings, over_http) == 0


class Unknown(Provider):
    """Whose tools nobody can foresee."""


def mirroring_later(mcp: XMCP, child: FastMCP[Any]) -> None:
    mcp.mount(child, namespace="ns")
    assert not may_mirror_into_headers(mcp)
    child.tool(mirrored)


def mounting_later(mcp: XMCP, child: FastMCP[Any]) -> None:
    mcp.mount(child)
    assert not may_mirror_into_headers(mcp)
    child.mount(plain(mirrored))


LISTED: dict[str, Callable[[XMCP], object]] = {
    "a transform of other make": lambda mcp: mcp.add_transform(Transform()),
    "such a transform in a plain child": lambda mcp: (
        child := plain(),
        mcp.mount(child),
        child.add_transform(Transform()),
    ),
    "such a transform in the local provider": lambda mcp: mcp.local_provider.add_transform(Transform()),
    "renamed tools": lambda mcp: mcp.mount(plain(unmirrored), tool_names={"unmirrored": "renamed"}),
    "a proxy": lambda mcp: mcp.mount(create_proxy(plain(unmirrored))),
    "a provider of other make": lambda mcp: mcp.add_provider(Unknown()),
    "a mirroring tool": lambda mcp: mcp.tool(mirrored),
    "a mirroring tool in a plain child": lambda mcp: mcp.mount(plain(mirrored)),
    "a mirroring tool in one of ours": lambda mcp: mcp.mount(own(mirrored)),
    "a mirroring tool later in a plain child": lambda mcp: mirroring_later(mcp, plain()),
    "a mirroring tool later in one of ours": lambda mcp: mirroring_later(mcp, own()),
    "a mount later in a plain child": lambda mcp: mounting_later(mcp, plain()),
    "a mount later in one of ours": lambda mcp: mounting_later(mcp, own()),
}


@pytest.mark.parametrize("composed", LISTED)
async def test_the_sdk_still_lists_before_each_call_when_it_may_have_to(composed: str, over_http: Any) -> None:
    """When all of these fail, `skip_listing_before_calls` is no longer needed."""
    listings = Listings()
    mcp = server(listings)
    LISTED[composed](mcp)
    assert await listings_per_call(mcp, listings, over_http) == 1


@pytest.mark.parametrize("given", ["decorated", "constructed", "mounted", "mounted, and added while it runs"])
async def test_a_parameter_mirrored_into_a_header_is_still_checked(given: str, over_http: Any) -> None:
    mcp = XMCP("mirrored", tools=[mirrored] if given == "constructed" else [])
    if given == "decorated":
        mcp.tool(mirrored)
    child = plain()
    if given == "mounted":
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
        if given == "mounted, and added while it runs":
            await http.post(f"{url}/mcp", json=body, headers={**headers, "Mcp-Param-Region": "eu"})
            child.tool(mirrored)
        right = await http.post(f"{url}/mcp", json=body, headers={**headers, "Mcp-Param-Region": "eu"})
        wrong = await http.post(f"{url}/mcp", json=body, headers={**headers, "Mcp-Param-Region": "us"})
    assert (right.status_code, wrong.status_code) == (200, 400)


def test_a_mirrored_parameter_is_recognised_by_its_schema() -> None:
    assert mirrors_into_header({"properties": {"a": {"type": "string", "x-mcp-header": "A"}}})
    assert not mirrors_into_header({"properties": {"a": {"type": "string"}}})


async def failure_of(mcp: FastMCP[Any], tool: str, **arguments: Any) -> BaseException:
    with pytest.raises(ToolError) as caught:
        await mcp.call_tool(tool, arguments)
    assert caught.value.__cause__ is not None
    return caught.value.__cause__
