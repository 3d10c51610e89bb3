"""What XMCP relies on in FastMCP beyond its public interface. A failure here means: FastMCP has changed."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Callable
from typing import Annotated, Any

import anyio
import httpx2
import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.dependencies import CurrentAccessToken, Depends
from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware
from fastmcp.server.providers import LocalProvider, Provider
from fastmcp.server.transforms import ResourcesAsTools, Transform
from fastmcp.tools import Tool
from fastmcp.utilities.logging import configure_logging
from mcp import MCPError
from mcp.server.connection import Connection
from opentelemetry.trace import get_current_span
from pydantic import Field, TypeAdapter

from xmcp import XMCP
from xmcp.server._fastmcp_hooks import (
    active_request_span,
    add_dispatch_middleware,
    connection_of,
    count_requests,
    guard_bodies,
    handlers_that_draw,
    is_body_error,
    is_tool_timeout,
    join_dispatch,
    lacks_access_token,
    may_mirror_into_headers,
    mirrors_into_header,
    modules_through,
    raised_by_fastmcp,
    rewrite_messages,
    runs_a_tool_of_fastmcp,
    streams_replaced,
    tool_that_runs,
    unwrapped,
    watch_components,
    wrap_dispatch,
)


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


def test_what_a_mounted_server_stands_for_is_the_server() -> None:
    mcp, child = XMCP("parent"), plain()
    mcp.mount(child, namespace="ns", tool_names={"a": "b"})
    assert [unwrapped(provider) for provider in mcp.providers] == [mcp.local_provider, child]


def test_a_local_provider_says_what_changes_and_keeps_nobody_alive() -> None:
    class Observer:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def component_changed(self, component: Any) -> None:
            self.seen.append(component and component.name)

    provider, observer = LocalProvider(), Observer()
    watch_components(provider, observer)
    watch_components(provider, observer)
    provider.tool(unmirrored)
    provider.prompt(unmirrored)
    provider.remove_tool("unmirrored")
    with pytest.raises(KeyError):
        provider.remove_tool("unmirrored")
    provider.disable(names={"unmirrored"})
    provider.enable(names={"unmirrored"})
    provider.add_transform(Transform())
    assert observer.seen == ["unmirrored", "unmirrored", "unmirrored", None, None, None]
    gone = weakref.ref(observer), weakref.ref(provider)
    del observer
    provider.tool(unmirrored)
    del provider
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


async def test_the_middleware_that_joins_sees_every_message_and_its_connection() -> None:
    mcp: FastMCP[Any] = FastMCP("plain")
    seen: list[tuple[str, Connection]] = []

    async def note(ctx: Any, call_next: Any) -> Any:
        seen.append((ctx.method, connection_of(ctx.session)))
        return await call_next(ctx)

    async def listen(ctx: Any, params: Any) -> Any:
        raise NotImplementedError

    join_dispatch(mcp, note, listen)
    async with Client(mcp, mode="legacy") as client:
        await client.ping()
        assert client.session.server_capabilities.tools.list_changed is True
    assert [method for method, _ in seen] == ["initialize", "notifications/initialized", "ping"]
    assert len({id(connection) for _, connection in seen}) == 1
    assert all(isinstance(connection, Connection) and connection.has_standalone_channel for _, connection in seen)
    async with Client(mcp, mode="auto") as client:
        assert client.session.server_capabilities.tools.list_changed is True


def test_an_application_without_an_endpoint_of_fastmcps_cannot_be_limited() -> None:
    app = plain().http_app()
    app.router.routes.clear()
    with pytest.raises(RuntimeError, match="no endpoint whose request bodies could be limited"):
        guard_bodies(app, lambda inner: inner)


async def test_the_sdk_still_refuses_4_megabytes(over_http: Any) -> None:
    """When this fails, `guard_bodies` may no longer be needed."""
    async with over_http(plain().http_app()) as url, httpx2.AsyncClient() as http:
        assert (await http.post(f"{url}/mcp", content=b"x" * (4 * 1024 * 1024 + 1))).status_code == 413


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


async def test_a_middleware_of_every_message_sees_the_answer_as_a_json_object_and_can_replace_it() -> None:
    mcp = server(Listings())
    seen = []

    async def doubled(ctx: Any, call_next: Any) -> Any:
        answer = await call_next(ctx)
        seen.append(ctx.method)
        if ctx.method != "tools/call":
            return answer
        assert isinstance(answer, dict)
        return {**answer, "structuredContent": {"result": 99}}

    add_dispatch_middleware(mcp, doubled)
    async with Client(mcp, mode="auto") as client:
        assert (await client.call_tool_mcp("double", {"x": 1})).structured_content == {"result": 99}
    assert "tools/call" in seen


async def failure_of(mcp: FastMCP[Any], tool: str, **arguments: Any) -> BaseException:
    with pytest.raises(ToolError) as caught:
        await mcp.call_tool(tool, arguments)
    assert caught.value.__cause__ is not None
    return caught.value.__cause__


async def test_a_tool_that_fastmcp_made_is_told_from_one_of_an_author() -> None:
    mcp: FastMCP[Any] = FastMCP("names")
    mcp.add_transform(ResourcesAsTools(mcp))

    @mcp.tool
    async def own() -> None:
        await mcp.read_resource("data://nope")

    for tool, arguments, made in (("read_resource", {"uri": "data://nope"}, True), ("own", {}, False)):
        failure = await failure_of(mcp, tool, **arguments)
        assert raised_by_fastmcp(failure)
        assert runs_a_tool_of_fastmcp([*modules_through(failure)]) is made


async def test_a_pydantic_error_of_a_body_is_marked() -> None:
    mcp: FastMCP[Any] = FastMCP("bodies")

    @mcp.tool
    def checks() -> None:
        TypeAdapter(int).validate_python("x")

    @mcp.tool
    def crashes() -> None:
        raise ValueError("x")

    assert is_body_error(await failure_of(mcp, "checks"))
    assert not is_body_error(await failure_of(mcp, "crashes"))


async def test_a_missing_access_token_is_told_from_another_failure() -> None:
    mcp: FastMCP[Any] = FastMCP("tokens")

    def other() -> str:
        raise RuntimeError("No access token in my own store")

    @mcp.tool
    def token(given: Any = CurrentAccessToken()) -> None:  # noqa: B008 - FastMCP's form
        raise AssertionError

    @mcp.tool
    def own(given: str = Depends(other)) -> None:
        raise AssertionError

    assert lacks_access_token(await failure_of(mcp, "token"))
    assert not lacks_access_token(await failure_of(mcp, "own"))


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

    async with Client(plain, mode=era, progress_handler=heard, timeout=20) as client:
        await client.call_tool("speaks", {})
        await client.list_tools()
    assert seen == ["notifications/progress"] * 2
    assert told == [(1, 2, "changed"), (2, 2, "changed")]


async def test_the_outermost_middleware_sees_every_message_and_what_other_middleware_raises() -> None:
    class Fails(Middleware):
        async def on_list_resources(self, context: Any, call_next: Any) -> Any:
            raise LookupError

    plain: FastMCP[Any] = FastMCP("plain", middleware=[Fails()])
    seen = []

    async def outermost(ctx: Any, call_next: Any) -> Any:
        try:
            return await call_next(ctx)
        except Exception as error:
            seen.append((ctx.method, type(error).__name__))
            raise

    wrap_dispatch(plain, outermost)
    async with Client(plain, mode="legacy", timeout=20) as client:
        with pytest.raises(MCPError):
            await client.list_resources()
    assert seen == [("resources/list", "LookupError")]


async def test_the_streams_of_a_transport_can_be_replaced_once() -> None:
    mcp = plain()
    seen: list[Any] = []

    def replacing(name: str) -> Callable[[Any, Any], tuple[Any, Any]]:
        def replace(read: Any, write: Any) -> tuple[Any, Any]:
            seen.append(name)
            return read, write

        return replace

    with streams_replaced(mcp, replacing("outer")), streams_replaced(mcp, replacing("inner")):
        incoming, source = anyio.create_memory_object_stream[Any](1)
        sink, _outgoing = anyio.create_memory_object_stream[Any](1)
        incoming.close()
        await mcp._mcp_server.run(source, sink, mcp._mcp_server.create_initialization_options())
    assert seen == ["outer"]
    assert "run" not in vars(mcp._mcp_server)


async def test_requests_are_counted_while_they_are_answered(era: str) -> None:
    mcp = plain()
    count = count_requests(mcp)
    assert count_requests(mcp) is count
    seen: list[int] = []

    @mcp.tool
    async def look() -> None:
        seen.append(count.number)

    async with Client(mcp, mode=era) as client:
        await client.call_tool("look")
    assert (seen, count.number) == ([1], 0)


async def test_the_tool_behind_a_mounted_and_a_transformed_one_is_found() -> None:
    inner, middle, outer = FastMCP("inner"), FastMCP("middle"), FastMCP("outer")
    inner.tool(lambda: "x", name="any")
    own = await inner.get_tool("any")
    assert own is not None
    middle.add_tool(Tool.from_tool(own, name="renamed"))
    outer.mount(middle, namespace="far")
    found = await outer.get_tool("far_renamed")
    assert found is not None
    assert await tool_that_runs(found) is own
    middle.local_provider.remove_tool("renamed")
    assert await tool_that_runs(found) is None


def test_fastmcp_draws_its_log_with_handlers_of_rich() -> None:
    configure_logging()
    drawing = handlers_that_draw()
    assert drawing
    assert drawing == logging.getLogger("fastmcp").handlers
