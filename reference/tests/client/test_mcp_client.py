"""A server as `server_protocols.MCPClient`, against real ones: fresh lists, calls, resources, roots, identity."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import fastmcp
import httpx2
import mcp_types as mt
import pytest
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

from xmcp import XMCP
from xmcp.chat.errors import CallFailed
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import mcp_server
from xmcp.client.servers.errors import ConnectFailed
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.server_protocols import MCPClient
from xmcp.client.servers.targets import ServerTarget, source
from xmcp_models.registry import EXTENSION_ID

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
BOUND = 60.0


@asynccontextmanager
async def connected(target: Any, timeout: float = BOUND) -> AsyncIterator[Server]:
    server = Server(source(target, timeout), None, timeout, EventLog())
    try:
        yield server
    finally:
        await asyncio.wait_for(server.close(), BOUND)


async def said(server: Server, tool: str, **arguments: Any) -> str:
    (content,) = (await server.execute_tool_call(tool, arguments)).content
    assert isinstance(content, mt.TextContent)
    return content.text


async def test_a_server_is_an_mcp_client(servers: Any) -> None:
    async with connected(servers.plain()) as server:
        assert isinstance(server, MCPClient)


@MODES
async def test_tools_are_asked_for_anew_each_time_all_pages_of_them(mode: str) -> None:
    mcp = fastmcp.FastMCP("paged", list_page_size=2, cache_ttl=3600)
    for n in range(5):
        mcp.tool(lambda: "", name=f"t{n}")
    remembering = fastmcp.Client(mcp, mode=mode, cache=True)
    async with connected(remembering) as server:
        assert [tool.name for tool in await server.discover_tools()] == [f"t{n}" for n in range(5)]
        mcp.local_provider.remove_tool("t0")
        assert [tool.name for tool in await server.discover_tools()] == [f"t{n}" for n in range(1, 5)]
        assert len(await server.open()) == 5  # as they were listed with the connection


@MODES
@pytest.mark.parametrize("unsendable", ["\ud800", b"\xff", object()])
async def test_arguments_that_are_no_json_fail_alone(mode: str, unsendable: Any) -> None:
    """A transport that gets them breaks, with all other calls on it."""
    async with connected(fastmcp.Client(_over_stdio(), mode=mode)) as server:
        await server.open()
        other = asyncio.create_task(said(server, "waits"))
        await asyncio.sleep(0.3)
        with pytest.raises(CallFailed) as caught:
            await server.execute_tool_call("waits", {"a": unsendable})
        assert caught.value.error.meta == {"side_effects": "none"}
        assert await other == "done"


def _over_stdio() -> Any:
    code = (
        "import asyncio, fastmcp\ns = fastmcp.FastMCP('s')\n@s.tool(output_schema=None)\n"
        "async def waits(a: str = '') -> str:\n    await asyncio.sleep(1)\n    return 'done'\ns.run(show_banner=False)"
    )
    return StdioTransport(sys.executable, ["-c", code], keep_alive=False)


@MODES
async def test_a_call_whose_authentication_fails_fails_alone(http: Any, mode: str) -> None:
    class Breaks(httpx2.Auth):
        now = False

        async def async_auth_flow(self, request: httpx2.Request) -> Any:
            if self.now:
                self.now = False
                raise LookupError("no token")
            yield request

    began, goes_on = asyncio.Event(), asyncio.Event()
    mcp = fastmcp.FastMCP("guarded")

    @mcp.tool(output_schema=None)
    async def waits() -> str:
        began.set()
        await goes_on.wait()
        return "done"

    auth = Breaks()
    target = ServerTarget(target=await http(mcp), auth=auth, mode=mode)
    async with connected(target) as server:
        other = asyncio.create_task(said(server, "waits"))
        await began.wait()
        auth.now = True
        with pytest.raises(CallFailed) as caught:
            await server.execute_tool_call("waits", {})
        assert caught.value.error.code == "CONNECTION_FAILED"
        goes_on.set()
        assert await other == "done"


@MODES
async def test_a_server_without_tools_has_none(mode: str) -> None:
    from mcp.server import Server as Plain

    async with connected(ServerTarget(target=fastmcp.Client(_in_memory(Plain("no tools")), mode=mode))) as server:
        assert await server.discover_tools() == []
        assert await server.discover_tools() == []


def _in_memory(plain: Any) -> Any:
    from contextlib import asynccontextmanager as context

    from fastmcp.client.transports import ClientTransport
    from mcp.client._memory import InMemoryTransport
    from mcp.client.session import ClientSession

    class Transport(ClientTransport):
        @context
        async def connect_session(self, **options: Any) -> AsyncIterator[ClientSession]:
            async with InMemoryTransport(plain) as (read, write), ClientSession(read, write, **options) as session:
                yield session

    return Transport()


@MODES
async def test_resources_are_listed_and_read(http: Any, mode: str) -> None:
    mcp = fastmcp.FastMCP("library")

    @mcp.resource("note://today")
    def today() -> str:
        return "rain"

    async with connected(ServerTarget(target=await http(mcp), mode=mode)) as server:
        (resource,) = await server.list_resources()
        assert str(resource.uri) == "note://today"
        (contents,) = await server.read_resource("note://today")
        assert contents.text == "rain"
        with pytest.raises(CallFailed) as caught:
            await server.read_resource("note://never")
        assert not caught.value.transport
        assert await server.discover_tools() == []


async def test_a_resource_that_does_not_come_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "RESOURCE_SECONDS", 0.2)
    mcp = fastmcp.FastMCP("slow")

    @mcp.resource("note://slow")
    async def slow() -> str:
        await asyncio.Event().wait()
        return ""

    async with connected(mcp) as server:
        with pytest.raises(CallFailed) as caught:
            await server.read_resource("note://slow")
        assert (caught.value.error.code, caught.value.transport) == ("TIMEOUT", True)
        assert len(await server.list_resources()) == 1


def rooted() -> fastmcp.FastMCP:
    """A server that asks for the roots, in the way of each era, and tells when it hears that they changed."""
    mcp = fastmcp.FastMCP("rooted")

    @mcp.tool
    async def roots(ctx: fastmcp.Context) -> Any:
        if answers := ctx.input_responses:
            return [str(root.uri) for root in answers["roots"].roots]  # type: ignore[union-attr]
        try:
            answer = await ctx.session.list_roots()
        except Exception:
            return mt.InputRequiredResult(input_requests={"roots": mt.ListRootsRequest()}, request_state="s")
        return [str(root.uri) for root in answer.roots]

    return mcp


@MODES
@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
async def test_a_server_is_told_the_roots_when_it_asks_and_each_time_anew(mode: str, tmp_path: Path) -> None:
    roots: list[Any] = [tmp_path]
    async with connected(ServerTarget(target=rooted(), roots=lambda: roots, mode=mode)) as server:
        assert json.loads(await said(server, "roots")) == [tmp_path.as_uri()]
        roots.append("file:///srv/data")
        await server.send_roots_list_changed()
        assert len(json.loads(await said(server, "roots"))) == 2
        assert [str(root.uri) for root in await server.list_roots()] == [tmp_path.as_uri(), "file:///srv/data"]


async def test_a_change_of_the_roots_is_told_to_servers_of_the_handshake_eras_only(tmp_path: Path) -> None:
    heard: list[str] = []
    told = asyncio.Event()

    class Listening(fastmcp.server.middleware.Middleware):
        async def on_message(self, context: Any, call_next: Any) -> Any:
            heard.append(context.method)
            if "roots" in str(context.method):
                told.set()
            return await call_next(context)

    mcp = rooted()
    mcp.add_middleware(Listening())
    mcp._mcp_server.middleware.append(_noting(heard, told))
    async with connected(ServerTarget(target=mcp, roots=[tmp_path], mode="legacy")) as server:
        await server.send_roots_list_changed()  # to nobody yet
        await server.open()
        await server.send_roots_list_changed()
        await asyncio.wait_for(told.wait(), BOUND)
    heard.clear()
    async with connected(ServerTarget(target=mcp, roots=[tmp_path])) as server:
        await server.open()
        await server.send_roots_list_changed()
    assert not [method for method in heard if "roots" in str(method)]


def _noting(heard: list[str], told: asyncio.Event) -> Any:
    async def dispatch(ctx: Any, call_next: Any) -> Any:
        heard.append(ctx.method)
        if "roots" in ctx.method:
            told.set()
        return await call_next(ctx)

    return dispatch


async def test_without_roots_a_server_is_told_of_none(servers: Any) -> None:
    async with connected(servers.plain()) as server:
        assert await server.list_roots() == []
        await server.send_roots_list_changed()


@MODES
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_a_cancelled_call_is_cancelled_at_the_server(http: Any, transport: str, mode: str) -> None:
    mcp = fastmcp.FastMCP("slow")
    started, cancelled = asyncio.Event(), asyncio.Event()

    @mcp.tool
    async def slow() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    target = ServerTarget(target=mcp if transport == "memory" else await http(mcp), mode=mode)
    async with connected(target) as server:
        task = asyncio.create_task(server.execute_tool_call("slow", {}))
        await asyncio.wait_for(started.wait(), BOUND)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(cancelled.wait(), BOUND)
        assert server.connected


@pytest.mark.slow
@MODES
async def test_a_cancelled_call_of_a_program_is_cancelled_there(peers: Any, witness: Any, mode: str) -> None:
    async with connected(ServerTarget(target=peers.stdio_command(), mode=mode)) as server:
        task = asyncio.create_task(server.execute_tool_call("hang", {"port": witness.port}))
        await asyncio.wait_for(witness.began.wait(), BOUND)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.wait_for(witness.ended, BOUND) == "cancelled"
        assert server.connected


@pytest.mark.slow
@MODES
async def test_a_request_that_never_left_had_no_side_effects(peers: Any, mode: str) -> None:
    program = peers.Program()
    program.listen()
    async with connected(ServerTarget(target=program.url(), mode=mode)) as server:
        await server.open()
        program.kill()
        with pytest.raises(CallFailed) as caught:
            await server.execute_tool_call("look", {})
        first = caught.value
        with pytest.raises(CallFailed) as caught:
            await server.execute_tool_call("look", {})
        assert {first.transport, caught.value.transport} == {True}
        assert first.error.meta == caught.value.error.meta == {"side_effects": "none"}


@MODES
async def test_an_answer_of_five_megabytes_is_read_whoever_made_the_client(http: Any, mode: str) -> None:
    mcp = fastmcp.FastMCP("large")

    @mcp.tool(output_schema=None)
    async def large(ctx: fastmcp.Context) -> str:
        await ctx.report_progress(1, 2)
        return "x" * 5_000_000

    url = await http(mcp)
    for target in (
        ServerTarget(target=url, mode=mode),
        fastmcp.Client(StreamableHttpTransport(url + "/mcp"), mode=mode),
    ):
        async with connected(target) as server:
            assert len(await said(server, "large")) == 5_000_000


# ---- what a target says of a server ----


async def test_headers_and_a_token_are_sent_and_told_to_nobody(http: Any) -> None:
    mcp = fastmcp.FastMCP("guarded", auth=StaticTokenVerifier(tokens={"tok": {"client_id": "alice", "scopes": []}}))

    @mcp.tool
    def header() -> str:
        from fastmcp.server.dependencies import get_http_headers

        return get_http_headers().get("x-tenant", "")

    url = await http(mcp)
    target = ServerTarget(target=url, headers={"X-Tenant": "acme"}, auth="tok")
    assert "tok" not in repr(target).replace("ServerTarget", "")
    assert "acme" not in repr(target)
    async with connected(target) as server:
        assert await said(server, "header") == "acme"
        assert "tok" not in server.label
    async with connected(url) as server:
        with pytest.raises(ConnectFailed):
            await server.open()


@pytest.mark.slow
async def test_a_program_gets_the_environment_and_the_directory_given(tmp_path: Path) -> None:
    directory = await asyncio.to_thread(tmp_path.resolve)
    script = (
        "import fastmcp, os\n"
        "mcp = fastmcp.FastMCP('p')\n"
        "mcp.tool(lambda: os.environ.get('GIVEN', '') + ' ' + os.getcwd() + ' ' + os.environ['PATH'], name='tell')\n"
        "mcp.run(transport='stdio', show_banner=False)\n"
    )
    target = ServerTarget(target=[sys.executable, "-c", script], env={"GIVEN": "secret"}, cwd=tmp_path)
    assert "secret" not in repr(target)
    async with connected(target) as server:
        given, cwd, path = (await said(server, "tell")).split(" ", 2)
    assert (given, cwd) == ("secret", str(directory))
    assert path


@pytest.mark.parametrize(("mode", "revision"), [("auto", "2026"), ("legacy", "2025"), ("2026-07-28", "2026")])
async def test_the_era_is_as_configured(mode: str, revision: str) -> None:
    mcp = fastmcp.FastMCP("era")

    @mcp.tool
    def era(ctx: fastmcp.Context) -> str:
        return str(ctx.session.protocol_version)

    async with connected(ServerTarget(target=mcp, mode=mode)) as server:
        assert (await said(server, "era")).startswith(revision)


@pytest.mark.parametrize(
    ("xmcp", "announced", "speaks", "declares"),
    [
        (None, True, True, True),
        (None, False, False, True),
        (True, False, True, True),
        (False, True, False, False),
    ],
)
@pytest.mark.parametrize("own_client", [True, False])
async def test_who_speaks_xmcp_is_as_announced_or_configured(
    own_client: bool, xmcp: bool | None, announced: bool, speaks: bool, declares: bool
) -> None:
    """And whoever reads documents declares it (XMCP-MCP-006), with clients of the application's, too."""
    mcp = (XMCP if announced else fastmcp.FastMCP)("who")
    seen: list[Any] = []

    @mcp.tool
    def look(ctx: fastmcp.Context) -> str:
        params = ctx.session.client_params
        seen.append(params.capabilities.extensions if params else None)
        return ""

    async with connected(ServerTarget(target=fastmcp.Client(mcp) if own_client else mcp, xmcp=xmcp)) as server:
        await server.open()
        assert server.speaks_xmcp is speaks
        await server.execute_tool_call("look", {})
    assert (EXTENSION_ID in (seen[0] or {})) is declares


def test_an_identity_is_the_same_only_for_what_leads_to_the_same_server(servers: Any, tmp_path: Path) -> None:
    url = "http://user:pass@host:1/mcp?key=k"
    mcp = servers.plain()
    targets = [
        url,
        url.replace("pass", "word"),
        url.replace("=k", "=l"),
        ServerTarget(target=url, headers={"a": "b"}),
        ServerTarget(target=url, headers={"a": "c"}),
        ServerTarget(target=url, auth="token"),
        ServerTarget(target=url, xmcp=True),
        ServerTarget(target=url, roots=["file:///a"]),
        "python srv.py --db a",
        "python srv.py --db b",
        ServerTarget(target="python srv.py --db a", env={"A": "1"}),
        ServerTarget(target="python srv.py --db a", cwd=tmp_path),
        mcp,
        fastmcp.Client(mcp),
    ]
    identities = [source(target, 1).identity for target in targets]
    assert len(set(identities)) == len(targets)
    assert not any(secret in " ".join(identities) for secret in ("pass", "token", "file:"))
    again = [source(target, 1).identity for target in targets]
    assert [a == b for a, b in zip(identities, again, strict=True)] == [True] * 12 + [False] * 2
    assert source(["python", "srv.py", "--db", "a"], 1).identity == source("python srv.py --db a", 1).identity
    assert source("http://host", 1).identity == source(ServerTarget(target="http://host/mcp"), 1).identity


def test_what_nobody_can_compare_makes_an_identity_of_its_own() -> None:
    for target in (
        ServerTarget(target="http://host", auth=object()),
        ServerTarget(target="http://host", roots=lambda: ["file:///a"]),
    ):
        assert source(target, 1).identity != source(target, 1).identity


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"target": "python srv.py", "headers": {"a": "b"}}, "headers"),
        ({"target": "python srv.py", "auth": "t"}, "auth"),
        ({"target": "http://host", "env": {}}, "env"),
        ({"target": "http://host", "cwd": "."}, "cwd"),
        ({"target": fastmcp.FastMCP("x"), "headers": {}}, "headers"),
        ({"target": "http://host", "mode": "modern"}, "mode"),
        ({"target": ServerTarget(target="http://host")}, "ServerTarget"),
    ],
)
def test_an_option_that_its_target_cannot_take_is_refused_by_name(options: dict[str, Any], option: str) -> None:
    with pytest.raises(ValueError, match=option):
        source(ServerTarget(**options), 1)


@pytest.mark.parametrize(
    "target",
    [
        "http://user:secret@host/mcp?key=secret",
        "http://user:secret@/mcp",
        "srv '--key=secret a'",
        "env KEY=secret srv",
        "mcp-remote https://user:secret@host/sse",
        "srv 'secret without an end",
        ["srv", "--key", "secret"],
    ],
)
def test_no_secret_of_a_target_is_shown(target: Any) -> None:
    shown = repr(ServerTarget(target=target, headers={"a": "secret"}, auth="secret", env={"a": "secret"}))
    assert "secret" not in shown
    told = ""
    try:
        told = source(target, 1).label
    except ValueError as exc:
        told = str(exc)
    assert told
    assert "secret" not in told
