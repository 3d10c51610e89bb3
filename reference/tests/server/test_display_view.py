"""The view for hosts of MCP Apps: who is told of it, who can read it, and that nobody else sees a difference."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from fastmcp import FastMCP
from fastmcp.apps import AppConfig
from fastmcp.server import create_proxy
from mcp import Client, MCPError
from mcp.client import advertise
from mcp_types import ClientCapabilities

from xmcp import XMCP, DisplayEnvelope, use_xmcp
from xmcp.server.display_view import announces_apps, may_show_views, naming_the_view, page
from xmcp_models.registry import DISPLAY_META_KEY, TOOL_META_KEY, VIEW_URI

MCP_APPS = "io.modelcontextprotocol/ui"
VIEW_TYPE = "text/html;profile=mcp-app"
APPS = {MCP_APPS: {"mimeTypes": [VIEW_TYPE]}}
OTHER_PAGES = {MCP_APPS: {"mimeTypes": ["text/html"]}}
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


@pytest.fixture(autouse=True, scope="module")
def documents_for_every_client() -> None:
    """Here, servers have the wire that they have by default."""


def shop(**options: Any) -> XMCP:
    mcp = XMCP("shop", **options)

    @mcp.display_tool
    def chart() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", alt="one row", payload=[{"n": 1}])

    @mcp.display_tool(app=AppConfig(resource_uri="ui://shop/own"))
    def own() -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload="seen")

    @mcp.display_tool(app=AppConfig(visibility=["model"]))
    def hidden_from_apps() -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload="seen")

    @mcp.tool
    def stock() -> int:
        return 3

    @mcp.resource("shop://about")
    def about() -> str:
        return "a shop"

    return mcp


def connected(target: Any, era: str, extensions: dict[str, Any] | None = None) -> Client:
    announced = [advertise(name, settings) for name, settings in (extensions or {}).items()]
    server = target._mcp_server if isinstance(target, FastMCP) else target
    return Client(server, mode=era, extensions=announced, cache=None)


async def views(target: Any, era: str, extensions: dict[str, Any] | None) -> dict[str, Any]:
    """Return what each tool says of a page that shows it."""
    async with connected(target, era, extensions) as client:
        return {tool.name: (tool.meta or {}).get("ui") for tool in (await client.list_tools()).tools}


OWN = {"resourceUri": "ui://shop/own"}


async def test_display_tools_name_the_view_to_a_client_that_announces_mcp_apps(era: str) -> None:
    assert await views(shop(), era, APPS) == {
        "chart": {"resourceUri": VIEW_URI},
        "own": OWN,
        "hidden_from_apps": {"visibility": ["model"], "resourceUri": VIEW_URI},
        "stock": None,
    }


@pytest.mark.parametrize("extensions", [None, OTHER_PAGES, {"acme/ui": {}}])
async def test_and_to_no_other_client(era: str, extensions: Any) -> None:
    unasked = {"chart": None, "own": OWN, "hidden_from_apps": {"visibility": ["model"]}, "stock": None}
    assert await views(shop(), era, extensions) == unasked
    assert await views(shop(apps=False), era, APPS) == unasked


async def test_whoever_reads_the_view_gets_one_page_that_asks_the_host_for_nothing(era: str) -> None:
    async with connected(shop(), era) as client:
        content = (await client.read_resource(VIEW_URI)).contents
        assert [(str(one.uri), one.mime_type, one.meta, one.text) for one in content] == [
            (VIEW_URI, VIEW_TYPE, {"ui": {"prefersBorder": False}}, page())
        ]
        assert (await client.read_resource("shop://about")).contents[0].text == "a shop"
    async with connected(shop(apps=False), era) as client:
        with pytest.raises(MCPError):
            await client.read_resource(VIEW_URI)


async def test_the_view_is_listed_among_the_resources_for_whom_it_is_named(era: str) -> None:
    for extensions, listed in ((APPS, ["shop://about", VIEW_URI]), (None, ["shop://about"])):
        async with connected(shop(), era, extensions) as client:
            assert [str(one.uri) for one in (await client.list_resources()).resources] == listed


async def test_pages_of_resources_end_with_the_view(era: str) -> None:
    mcp = shop(list_page_size=1)
    mcp.resource("shop://more")(lambda: "more")
    found, cursor = [], None
    async with connected(mcp, era, APPS) as client:
        while True:
            listed = await client.list_resources(cursor=cursor)
            found.append([str(one.uri) for one in listed.resources])
            if (cursor := listed.next_cursor) is None:
                break
    assert found == [["shop://about"], ["shop://more", VIEW_URI]]


async def test_the_result_of_a_call_is_the_same(era: str) -> None:
    results = []
    for extensions in (APPS, None):
        async with connected(shop(), era, extensions) as client:
            results.append(await client.call_tool("chart", {"show_user": True}))
    assert results[0] == results[1]
    assert DISPLAY_META_KEY in results[0].meta


async def bodies(app: Any, over_http: Any, era: str) -> list[bytes]:
    """Return the bytes that a client without MCP Apps gets for its lists, over HTTP with sessions."""
    version, meta = VERSIONS[era], {}
    headers = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": version}
    client = {"name": "plain", "version": "1"}
    if era == "auto":
        prefix = "io.modelcontextprotocol/"
        said = {"protocolVersion": version, "clientInfo": client, "clientCapabilities": {}}
        meta = {"_meta": {f"{prefix}{name}": value for name, value in said.items()}}
    found = []
    async with over_http(app) as base, httpx2.AsyncClient() as http:

        async def ask(method: str, params: dict[str, Any], **more: Any) -> httpx2.Response:
            message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
            mirrored = {"Mcp-Method": method} if era == "auto" else {}
            return await http.post(f"{base}/mcp", json=message, headers={**headers, **mirrored})

        if era == "legacy":
            hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
            headers["Mcp-Session-Id"] = (await ask("initialize", hello, id=0)).headers["Mcp-Session-Id"]
            await ask("notifications/initialized", {})
        for number, method in enumerate(("tools/list", "resources/list", "resources/templates/list"), 1):
            answer = await ask(method, meta, id=number)
            assert answer.status_code == 200
            found.append(answer.content)
    return found


async def test_a_plain_client_gets_the_same_bytes_with_the_view_as_without(era: str, over_http: Any) -> None:
    offered, off = [
        await bodies(shop(apps=apps).http_app(stateless_http=False, json_response=True), over_http, era)
        for apps in (True, False)
    ]
    assert offered == off
    assert b'"chart"' in offered[0]


async def test_a_server_without_sessions_names_the_view_to_whoever_it_cannot_know(over_http: Any) -> None:
    """Over HTTP, a client of the handshake era said once whether it has MCP Apps, and nothing remembers it."""
    async with over_http(shop().http_app(stateless_http=True)) as base:
        url = f"{base}/mcp"
        for extensions in (APPS, None):
            named = await views(url, "legacy", extensions)
            assert named["chart"] == {"resourceUri": VIEW_URI}
        assert (await views(url, "auto", None))["chart"] is None
        async with connected(url, "legacy") as client:
            assert [str(one.uri) for one in (await client.list_resources()).resources] == ["shop://about"]


@pytest.mark.parametrize("namespace", [None, "crm"])
@pytest.mark.parametrize("joined", ["mounted", "proxied"])
async def test_tools_of_servers_behind_this_one_name_its_view(era: str, joined: str, namespace: str | None) -> None:
    front = XMCP("front")
    front.mount(shop() if joined == "mounted" else create_proxy(shop()), namespace=namespace)
    name = "chart" if namespace is None else f"{namespace}_chart"
    assert (await views(front, era, APPS))[name] == {"resourceUri": VIEW_URI}
    async with connected(front, era, APPS) as client:
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        assert listed.count(VIEW_URI) == 1
        assert (await client.read_resource(VIEW_URI)).contents[0].text == page()


async def test_a_fastmcp_server_in_front_decides_for_itself(era: str) -> None:
    """It answers for its own resources, and would not find the page of a server that is mounted under a name."""
    front: FastMCP[Any] = FastMCP("front")
    front.mount(shop(), namespace="crm")
    assert (await views(front, era, APPS))["crm_chart"] is None


async def test_use_xmcp_offers_the_view_until_it_is_removed(era: str) -> None:
    mcp: FastMCP[Any] = FastMCP("shop")
    used = use_xmcp(mcp)

    @used.display_tool
    def chart() -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload="seen")

    assert await views(mcp, era, APPS) == {"chart": {"resourceUri": VIEW_URI}}
    async with connected(mcp, era) as client:
        assert (await client.read_resource(VIEW_URI)).contents[0].text == page()
    used.remove()
    mcp.tool(chart, meta={TOOL_META_KEY: {"display": True}})
    assert await views(mcp, era, APPS) == {"chart": None}
    async with connected(mcp, era) as client:
        with pytest.raises(MCPError):
            await client.read_resource(VIEW_URI)


async def test_use_xmcp_can_leave_the_view_out(era: str) -> None:
    mcp: FastMCP[Any] = FastMCP("shop")
    use_xmcp(mcp, apps=False).display_tool(lambda: DisplayEnvelope(type="text", payload="seen"), name="chart")
    assert await views(mcp, era, APPS) == {"chart": None}


@pytest.mark.parametrize("place", ["extensions", "experimental"])
@pytest.mark.parametrize(
    ("settings", "announces"),
    [
        ({"mimeTypes": [VIEW_TYPE, "text/plain"]}, True),
        ({}, True),
        ({"mimeTypes": VIEW_TYPE}, True),
        ({"mimeTypes": None}, True),
        ({"mimeTypes": []}, False),
        ({"mimeTypes": ["text/html"]}, False),
    ],
)
def test_what_counts_as_an_announcement(place: str, settings: Any, announces: bool) -> None:
    capabilities = ClientCapabilities.model_construct(**{place: {MCP_APPS: settings}})
    assert announces_apps(capabilities) is announces
    assert not announces_apps(ClientCapabilities.model_construct(**{place: {"acme/ui": settings}}))


def test_a_client_that_is_not_known_may_show_views_in_the_handshake_era_alone() -> None:
    assert may_show_views(None, VERSIONS["legacy"])
    assert not may_show_views(None, VERSIONS["auto"])
    assert not may_show_views(ClientCapabilities(), VERSIONS["legacy"])


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        {TOOL_META_KEY: {"display": False}},
        {TOOL_META_KEY: "display"},
        {TOOL_META_KEY: {"display": True}, "ui": True},
        {TOOL_META_KEY: {"display": True}, "ui/resourceUri": "ui://own"},
        {TOOL_META_KEY: {"display": True}, "ui": {"resourceUri": None}},
    ],
)
def test_a_tool_that_has_no_displays_or_a_page_of_its_own_is_left_as_it_is(meta: Any) -> None:
    tool = {"name": "t", "_meta": meta}
    assert naming_the_view(tool) is tool
