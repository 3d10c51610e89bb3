"""What the client relies on in FastMCP and the SDK beyond their public interface. Red means: they have changed."""

from __future__ import annotations

import asyncio
import gc
import gzip
import itertools
import json
import logging
import re
import ssl
import sys
import weakref
from dataclasses import fields
from typing import Any

import fastmcp
import httpx2
import mcp_types
import pytest
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.client.transports import stdio as fastmcp_stdio
from fastmcp.client.transports.base import TransportOptions
from fastmcp.client.transports.config import MCPConfigTransport
from fastmcp.server.dependencies import get_http_headers
from mcp import MCPError
from mcp.client import advertise
from mcp.client import sse as mcp_sse
from mcp.client.streamable_http import StreamableHTTPTransport
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount
from support.http_host import hosted, listening
from support.mcp_servers import ESCAPES
from support.raw_peer import RawPeer, hello

from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import fastmcp_internals, stdio_transport
from xmcp.client.servers.fastmcp_internals import (
    NEVER_SENT,
    ResilientHttpTransport,
    prepared,
    resilient,
    skip_result_validation,
)
from xmcp.client.servers.peer_limits import MAX_MESSAGE_BYTES, Allowance
from xmcp.client.servers.server_log import ChildStderr, ServerLog, instead_of
from xmcp.client.servers.stdio_transport import BoundedStdioTransport
from xmcp.client.servers.targets import source

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


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


@MODES
@pytest.mark.parametrize("room", [True, False])
async def test_an_answer_of_five_megabytes_in_one_event_is_read_and_without_the_hook_it_is_not(
    http: Any, mcp: Any, mode: str, room: bool
) -> None:
    transport: Any = StreamableHttpTransport(await http(mcp) + "/mcp")
    async with fastmcp.Client(resilient(transport) if room else transport, mode=mode) as client:
        if room:
            result = await client.call_tool_mcp("large", {"size": 5_000_000})
            assert len(result.content[0].text) == 5_000_000
        else:
            with pytest.raises(MCPError, match="byte limit"):
                await client.call_tool_mcp("large", {"size": 5_000_000})


def test_a_roomy_transport_has_all_that_the_given_one_has_and_leaves_it_as_it_is() -> None:
    given = StreamableHttpTransport("http://host/mcp", headers={"x-a": "1"}, auth="token")
    made: Any = resilient(given)
    assert isinstance(made, StreamableHttpTransport)
    assert (made.url, made.headers, made.auth) == (given.url, given.headers, given.auth)
    assert type(given) is StreamableHttpTransport


def test_a_transport_has_no_settings_but_those_that_are_copied() -> None:
    """Red: a setting was added, which `resilient` has to copy and `connect_session` to heed."""
    given = StreamableHttpTransport("http://host/mcp")
    assert vars(given).keys() == {"url", "headers", "auth", "verify", "httpx_client_factory", "_session_id"}
    assert {field.name for field in fields(TransportOptions)} == {
        "session_class",
        "forward_incoming_headers",
        "backend_mode",  # for transports of several servers only
    }


def test_transports_that_cannot_be_bounded_stay_as_they_are() -> None:
    peer = RawPeer({})
    assert resilient(peer) is peer
    kept_alive = StdioTransport(command="python", args=[], keep_alive=True)
    given = (StreamableHttpTransport("http://host/mcp"), SSETransport("http://host/sse"), kept_alive)
    for bounded in map(resilient, given):
        assert resilient(bounded) is bounded


async def test_a_program_that_is_kept_alive_is_bounded_if_started_here_and_stays_its_transports() -> None:
    """Red: FastMCP starts such programs in another way, or in another context."""
    program = "import sys\nfor line in sys.stdin: pass"
    started: list[str] = []
    begin, begin_bounded = vars(fastmcp_stdio)["stdio_client"].__wrapped__, stdio_transport.bounded_stdio

    def noted(name: str, start: Any) -> Any:
        return lambda *arguments, **options: (started.append(name), start(*arguments, **options))[1]

    async def session(transport: Any) -> Any:
        async with transport.connect_session() as opened:
            return opened

    given = StdioTransport(command=sys.executable, args=["-c", program], keep_alive=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdio_transport, "bounded_stdio", noted("bounded", begin_bounded))
        wrapped = stdio_transport._bounded_if_started_here(noted("sdk", begin))
        patch.setitem(vars(fastmcp_stdio), "stdio_client", wrapped)
        try:
            first = await session(resilient(given))
            assert started == ["bounded"]
            assert await session(given) is first  # which runs on
            await given.close()
            await session(given)
            assert started == ["bounded", "sdk"]
        finally:
            await given.close()


class OwnHttp(StreamableHttpTransport):
    """A transport of an application's own class."""

    def __init__(self, url: str, opened: list[Any], **options: Any) -> None:
        super().__init__(url, **options)
        self.opened = opened

    def connect_session(self, **options: Any) -> Any:
        self.opened.append(options)
        return super().connect_session(**options)


class OwnSSE(SSETransport):
    """Another one."""


@MODES
@pytest.mark.parametrize("own_factory", [False, True])
async def test_the_http_client_of_an_applications_own_class_is_bounded_and_its_session_is_its_own(
    mode: str, own_factory: bool
) -> None:
    compressed = Response(gzip.compress(b"{}"), headers={"content-encoding": "gzip"}, media_type="application/json")
    app = Starlette(routes=[Mount("/", compressed)])
    opened: list[Any] = []
    options: Any = {"httpx_client_factory": httpx2.AsyncClient} if own_factory else {}
    async with hosted(app) as url:
        given = OwnHttp(url, opened, **options)
        made: Any = resilient(given)
        assert type(made) is OwnHttp
        assert given.httpx_client_factory is options.get("httpx_client_factory")
        with pytest.raises(Exception, match="compressed"):
            async with fastmcp.Client(made, mode=mode):
                pass
    assert opened


async def test_events_of_an_applications_own_class_for_the_older_http_binding_may_be_large() -> None:
    made: Any = resilient(OwnSSE("http://host/sse"))
    assert type(made) is OwnSSE
    async with made.httpx_client_factory(timeout=httpx2.Timeout(1)) as client:
        assert client in fastmcp_internals._LARGE_EVENTS


def test_the_servers_of_a_configuration_are_bounded_one_by_one() -> None:
    web: Any = {"url": "http://host/mcp"}
    program: Any = {"command": "python", "keep_alive": False}
    one: Any = resilient(MCPConfigTransport({"mcpServers": {"a": web}}))
    assert type(one.transport) is ResilientHttpTransport
    assert one._transports == [one.transport]
    several = MCPConfigTransport({"mcpServers": {"a": web, "b": program}}, name_as_prefix=False)
    made: Any = resilient(several)
    assert not made.name_as_prefix
    assert [type(each) for each in made._prepare_transports().values()] == [
        ResilientHttpTransport,
        BoundedStdioTransport,
    ]


@pytest.mark.parametrize(
    "target", ["http://host/mcp", StreamableHttpTransport("http://host/mcp"), fastmcp.Client("http://host/mcp")]
)
def test_a_target_is_bounded_in_whatever_form_it_is_given(target: Any) -> None:
    async def ignored(_: Any) -> None: ...

    assert type(source(target, 1).client(ignored).transport) is ResilientHttpTransport


async def test_cookies_of_a_server_are_kept_but_do_not_pile_up() -> None:
    numbers = itertools.count()
    sent: list[int] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers.get("cookie", "").count("="))
        return httpx2.Response(200, headers=[("set-cookie", f"c{next(numbers)}=1") for _ in range(60)])

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
        fastmcp_internals._bound(client)
        for _ in range(20):
            await client.get("http://host/mcp")
    assert sent[1] == 60
    assert max(sent) <= fastmcp_internals.MAX_COOKIES


def test_a_transport_of_the_older_http_binding_has_all_that_the_given_one_has() -> None:
    """Red: a setting was added, which `BoundedSSETransport` has to copy."""
    given = SSETransport("http://host/sse", headers={"x-a": "1"}, auth="token", sse_read_timeout=7)
    settings = {"url", "headers", "auth", "verify", "sse_read_timeout"}
    assert vars(given).keys() == settings | {"httpx_client_factory"}
    made: Any = resilient(given)
    kept = settings - {"verify"}  # the factory that is made uses it
    assert {name: getattr(made, name) for name in kept} == {name: getattr(given, name) for name in kept}


async def test_only_clients_of_ours_read_events_above_the_limit_of_the_sdk() -> None:
    """Red: the SDK opens the stream of the older HTTP binding in another way."""
    given = resilient(SSETransport("http://host/sse"))
    stream = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}))
    limits = []
    for make in (given.httpx_client_factory, httpx2.AsyncClient):  # type: ignore[attr-defined]
        client = make()
        client._transport = stream
        async with mcp_sse.sse_within_origin(client, "http://host/sse") as events:
            limits.append(events._max_event_size)
    assert limits == [MAX_MESSAGE_BYTES, 1024 * 1024]


@pytest.mark.parametrize("given", [StreamableHttpTransport("https://host/mcp"), SSETransport("https://host/sse")])
@pytest.mark.parametrize("verify", [None, True])
async def test_a_new_connection_does_not_read_the_certificates_again(given: Any, verify: Any, monkeypatch: Any) -> None:
    """It takes 20 ms on the event loop, at every connection of every credential."""
    read: list[Any] = []
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: read.append(1))
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_, **__: read.append(1))
    given.verify = verify
    await resilient(given).httpx_client_factory().aclose()  # type: ignore[attr-defined]
    assert read == []
    await httpx2.AsyncClient().aclose()
    assert read  # which is what it would do


def test_a_program_that_ends_with_its_connection_gets_a_bounded_transport_with_its_settings() -> None:
    """Red: a setting was added, which `BoundedStdioTransport.like` has to copy."""
    given = StdioTransport(
        command="python", args=["-V"], env={"A": "1"}, cwd="/", keep_alive=False, log_file=sys.stderr
    )
    settings = {"command", "args", "env", "cwd", "keep_alive", "log_file"}
    assert {name for name in vars(given) if not name.startswith("_")} == settings
    made: Any = resilient(given)
    assert isinstance(made, BoundedStdioTransport)
    assert {name: getattr(made, name) for name in settings} == {name: getattr(given, name) for name in settings}


@MODES
@pytest.mark.parametrize("error", [httpx2.ReadError, httpx2.ConnectError])
async def test_a_request_that_cannot_be_sent_fails_alone_and_the_others_on_its_session_go_on(
    http: Any, mode: str, error: type[httpx2.RequestError]
) -> None:
    server = fastmcp.FastMCP("two")
    started, go = asyncio.Event(), asyncio.Event()

    @server.tool
    async def slow() -> str:
        started.set()
        await go.wait()
        return "done"

    @server.tool
    def doomed() -> str:
        return "never"

    class Breaking(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if b'"doomed"' in await request.aread():
                raise error("broke", request=request)
            return await super().handle_async_request(request)

    def factory(*_: Any, **options: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=Breaking(), **options)

    transport = StreamableHttpTransport(await http(server) + "/mcp", httpx_client_factory=factory)
    async with fastmcp.Client(resilient(transport), mode=mode) as client:
        under_way = asyncio.create_task(client.call_tool_mcp("slow", {}))
        await started.wait()
        with pytest.raises(MCPError, match="Connection closed: broke") as caught:
            await client.call_tool_mcp("doomed", {})
        assert caught.value.data == {NEVER_SENT: error is httpx2.ConnectError}
        go.set()
        assert (await asyncio.wait_for(under_way, 10)).content[0].text == "done"


async def test_a_server_that_cannot_be_reached_is_no_sign_of_an_older_era() -> None:
    with pytest.raises(RuntimeError, match="connection attempts failed"):
        async with fastmcp.Client(resilient(StreamableHttpTransport("http://127.0.0.1:1/mcp"))):
            pass


async def deaf(_: Any) -> None:
    """Hears nothing."""


@MODES
async def test_an_applications_client_advertises_what_is_added_and_what_it_did(mcp: Any, mode: str) -> None:
    own = fastmcp.Client(mcp, mode=mode, extensions=[advertise("com.example/own", {"a": 1})])
    added = [advertise("dev.xmcp/tool-response", {"versions": ["1.0"]}), advertise("com.example/own", {"a": 2})]
    async with prepared(own, deaf, added) as client:
        result = await client.call_tool_mcp("declared", {})
    assert json.loads(result.content[0].text) == {
        "com.example/own": {"a": 1},
        "dev.xmcp/tool-response": {"versions": ["1.0"]},
    }
    assert not own.is_connected()
    assert [extension.identifier for extension in own._extensions_arg or ()] == ["com.example/own"]


@MODES
@pytest.mark.parametrize("cache", [True, False])
async def test_an_applications_client_hears_what_it_heard_and_so_do_we(mcp: Any, mode: str, cache: bool) -> None:
    heard: list[tuple[str, str]] = []
    both = asyncio.Event()

    def listener(who: str) -> Any:
        async def hear(message: Any) -> None:
            heard.append((who, type(message).__name__))
            if len(heard) == 2:
                both.set()

        return hear

    own = fastmcp.Client(mcp, mode=mode, message_handler=listener("app"), cache=cache)
    async with prepared(own, listener("we"), []) as client:
        await client.call_tool_mcp("announce", {})
        await asyncio.wait_for(both.wait(), 10)
    assert heard == [("we", "ToolListChangedNotification"), ("app", "ToolListChangedNotification")]


async def test_a_result_that_breaks_its_schema_is_handed_on(servers: Any) -> None:
    async with fastmcp.Client(servers.plain()) as client:
        with pytest.raises(RuntimeError, match="output schema"):
            await client.call_tool_mcp("breaks_schema", {})
    async with fastmcp.Client(servers.plain()) as client:
        skip_result_validation(client.session)
        result: Any = await client.call_tool_mcp("breaks_schema", {})
    assert result.content[0].text == "still a result"


@pytest.mark.slow
@MODES
async def test_more_calls_than_the_default_pool_has_connections_are_under_way_at_once(http: Any, mode: str) -> None:
    server, together, gate = fastmcp.FastMCP("wide"), asyncio.Event(), asyncio.Event()
    waiting = 0

    @server.tool
    async def wait() -> str:
        nonlocal waiting
        waiting += 1
        if waiting == 130:
            together.set()
        await gate.wait()
        return "ok"

    transport: Any = resilient(StreamableHttpTransport(await http(server) + "/mcp"))
    async with fastmcp.Client(transport, mode=mode) as client:
        # The check would list the tools on connections that were idle, and uvicorn closes those after 5 s: on a busy
        # machine that is before the request arrives.
        skip_result_validation(client.session)
        calls = [asyncio.create_task(client.call_tool_mcp("wait", {})) for _ in range(130)]
        await together.wait()
        gate.set()
        assert [result.is_error for result in await asyncio.gather(*calls)] == [False] * 130


@MODES
async def test_a_client_that_closes_while_answers_arrive_closes_quietly(http: Any, mode: str) -> None:
    server, together, gate = fastmcp.FastMCP("late"), asyncio.Event(), asyncio.Event()
    waiting = 0

    @server.tool
    async def wait() -> str:
        nonlocal waiting
        waiting += 1
        if waiting == 30:
            together.set()
        await gate.wait()
        return "ok"

    transport = resilient(StreamableHttpTransport(await http(server) + "/mcp"))
    calls: list[asyncio.Task[Any]] = []

    async def fail() -> None:
        async with fastmcp.Client(transport, mode=mode) as client:
            calls.extend(asyncio.create_task(client.call_tool_mcp("wait", {})) for _ in range(30))
            await together.wait()
            gate.set()
            raise LookupError("the first error")

    with pytest.raises(LookupError, match="the first error"):
        await fail()
    for ended in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(ended, MCPError | mcp_types.CallToolResult)


class _Silent:
    """A server of the handshake era that keeps the call of `silent` waiting, and that of `slow` until it may answer.

    `way` is what a silent call gets: `headers` of a stream and no event, `nothing` at all, or one event that can be
    `resumed` from, whose stream it ends, and then nothing on the stream that resumes it. A server that is `deaf` sends
    headers, and accepts no notification but that of the opening.
    """

    def __init__(self, way: str) -> None:
        self.way = way
        self.open = 0
        self.resumed = 0
        self.cancelled: list[int] = []
        self.slow_is_here, self.may_answer = asyncio.Event(), asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                asked = json.loads(await reader.readexactly(int(length[1]))) if length else {}
                if answer := await self._answer(asked):
                    writer.write(answer)
                    await writer.drain()
        finally:
            self.open -= 1

    async def _answer(self, asked: dict[str, Any]) -> bytes:
        if not asked:
            self.resumed += 1
            return _STREAM
        result: dict[str, Any] = {"initialize": hello(), "tools/list": {"tools": []}}.get(asked["method"], {})
        if asked["method"] == "notifications/cancelled":
            self.cancelled.append(asked["params"]["requestId"])
        if asked["method"] == "tools/call":
            result = {"content": [{"type": "text", "text": "done"}]}
            if asked["params"]["name"] == "silent":
                ended = b"25\r\nid: 1\nretry: 0\nevent: message\ndata:\n\n\r\n0\r\n\r\n"
                return {"nothing": b"", "resumed": _STREAM + ended}.get(self.way, _STREAM)
            if asked["params"]["name"] == "slow":
                self.slow_is_here.set()
                await self.may_answer.wait()
        if self.way == "deaf" and asked["method"] in ("notifications/cancelled", "notifications/roots/list_changed"):
            return b""
        if "id" not in asked:
            return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


_STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("given_up", ["cancelled", "timed out"])
@pytest.mark.parametrize("way", ["headers", "nothing", "resumed", "deaf"])
async def test_a_call_that_is_given_up_leaves_no_stream_in_the_handshake_era(
    monkeypatch: Any, caplog: Any, way: str, given_up: str
) -> None:
    transports: list[StreamableHTTPTransport] = []
    begin = StreamableHTTPTransport.__init__

    def noted(self: Any, *args: Any, **options: Any) -> None:
        transports.append(self)
        begin(self, *args, **options)

    monkeypatch.setattr(StreamableHTTPTransport, "__init__", noted)
    monkeypatch.setattr(fastmcp_internals, "TELL_SECONDS", 1)
    server = _Silent(way)

    async def give_up(client: Any) -> None:
        limit = 0.2 if given_up == "timed out" else None
        silent = asyncio.create_task(client.call_tool_mcp("silent", {}, timeout=limit))
        if given_up == "cancelled":
            await asyncio.wait({silent}, timeout=0.2)
            silent.cancel()
        with pytest.raises(asyncio.CancelledError if given_up == "cancelled" else MCPError):
            await silent

    async with listening(server.serve) as port, asyncio.timeout(60):
        transport = resilient(StreamableHttpTransport(f"http://127.0.0.1:{port}/mcp"))
        async with fastmcp.Client(transport, mode="legacy") as client:
            skip_result_validation(client.session)
            slow = asyncio.create_task(client.call_tool_mcp("slow", {}))
            await server.slow_is_here.wait()
            tasks, connections = len(asyncio.all_tasks()), server.open
            await asyncio.gather(*(give_up(client) for _ in range(20)))
            for _ in range(200):  # 10 s at most
                # One connection stays for the next request; its task here is the server's.
                if server.open <= connections + 1 and len(asyncio.all_tasks()) <= tasks + 1:
                    break
                await asyncio.sleep(0.05)
            left = server.open - connections, len(asyncio.all_tasks()) - tasks, len(transports[-1]._in_flight_posts)
            assert left in [(0, 0, 1), (1, 1, 1)]  # the request under way is that of `slow`
            assert len({*server.cancelled}) == 20
            assert (server.resumed > 0) is (way == "resumed")
            server.may_answer.set()
            for call in (slow, client.call_tool_mcp("slow", {})):
                assert (await call).content[0].text == "done"
            assert not transports[-1]._in_flight_posts
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


async def test_a_notification_that_a_server_does_not_accept_holds_up_the_calls_for_a_limited_time(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(fastmcp_internals, "TELL_SECONDS", 0.5)
    server = _Silent("deaf")
    async with listening(server.serve) as port, asyncio.timeout(20):
        transport = resilient(StreamableHttpTransport(f"http://127.0.0.1:{port}/mcp"))
        async with fastmcp.Client(transport, mode="legacy") as client:
            skip_result_validation(client.session)
            await client.send_roots_list_changed()
            assert (await client.call_tool_mcp("quick", {})).content[0].text == "done"  # type: ignore[union-attr]


async def test_the_session_of_a_handshake_era_has_its_id(http: Any, mcp: Any) -> None:
    transport = resilient(StreamableHttpTransport(await http(mcp) + "/mcp"))
    async with fastmcp.Client(transport, mode="legacy"):
        assert transport.get_session_id()


async def test_a_client_that_forwards_headers_goes_on_forwarding_them(http: Any, monkeypatch: Any) -> None:
    server = fastmcp.FastMCP("heads")

    @server.tool(output_schema=None)
    def heads() -> str:
        heads = get_http_headers(include={"authorization"})
        return " ".join(heads.get(name, "-") for name in ("authorization", "x-own", "x-far"))

    monkeypatch.setattr(fastmcp_internals, "_get_forwardable_http_headers", lambda: {"x-own": "far", "x-far": "far"})
    transport = resilient(StreamableHttpTransport(await http(server) + "/mcp", headers={"x-own": "own"}, auth="token"))
    for forwards, seen in ((False, "Bearer token own -"), (True, "Bearer token own far")):
        client = fastmcp.Client(transport)
        client._transport_options = TransportOptions(forward_incoming_headers=forwards)
        async with client:
            assert (await client.call_tool_mcp("heads", {})).content[0].text == seen  # type: ignore[union-attr]


@pytest.mark.parametrize("seconds", [None, 7.5])
async def test_an_answer_is_waited_for_as_long_as_the_client_says(http: Any, mcp: Any, seconds: float | None) -> None:
    made: Any = resilient(StreamableHttpTransport(await http(mcp) + "/mcp"))
    factory, clients = made.httpx_client_factory, []
    made.httpx_client_factory = lambda **options: clients.append(factory(**options)) or clients[-1]
    async with fastmcp.Client(made, timeout=seconds) as client:
        await client.list_tools()
    assert [(own.timeout.connect, own.timeout.read) for own in clients] == [(30.0, seconds)]


async def test_a_time_limit_that_the_client_sets_ends_a_request(http: Any) -> None:
    server = fastmcp.FastMCP("slow")

    @server.tool
    async def hang() -> None:
        await asyncio.sleep(30)

    transport = resilient(StreamableHttpTransport(await http(server) + "/mcp"))
    async with fastmcp.Client(transport, timeout=0.3) as client:
        with pytest.raises(MCPError, match=r"timed out|Connection closed"):
            await client.call_tool_mcp("hang", {})


def test_a_factory_of_the_applications_own_is_used_as_it_is() -> None:
    def own(**_: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient()

    made: Any = resilient(StreamableHttpTransport("http://host/mcp", httpx_client_factory=own))
    assert made.httpx_client_factory is own


def test_the_loggers_whose_warnings_quote_a_server_are_filtered_and_have_names_of_their_own() -> None:
    names = {logger.name for logger in fastmcp_internals._LIBRARY_LOGGERS}
    assert names > {"mcp.client.stdio", "mcp.client.streamable_http", "fastmcp.client.mixins.tools"}
    assert len(names) == len(fastmcp_internals._LIBRARY_LOGGERS)
    for logger in fastmcp_internals._LIBRARY_LOGGERS:
        assert instead_of in logger.filters


async def test_a_notification_that_mcp_does_not_allow_is_in_the_log_of_its_server(capfd: Any) -> None:
    lines: list[Any] = []
    note = ("notifications/message", {"level": f"{ESCAPES}"})
    peer = RawPeer({"tools/list": {"tools": []}}, lambda: [note])

    class Kept(ServerLog):
        def sdk_record(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    client = fastmcp.Client(peer, mode="legacy")
    async with fastmcp_internals.logged(client, Kept(EventLog())), client:
        await client.list_tools()
    assert "Failed to validate notification: notifications/message" in lines
    assert capfd.readouterr().err == ""


def test_fastmcp_logs_each_notification_of_a_server_in_this_process_by_a_logger_of_that_name() -> None:
    from fastmcp.server import context

    assert context.to_client_logger.name == "fastmcp.server.context.to_client"


@MODES
async def test_a_clients_own_log_handler_stays_and_fastmcps_is_replaced(mcp: Any, mode: str) -> None:
    @mcp.tool
    async def tell(ctx: fastmcp.Context) -> None:
        await ctx.warning("hot")

    heard: list[Any] = []

    async def hear(params: Any) -> None:
        heard.append(params.data)

    class Told(ServerLog):
        async def notification(self, params: Any) -> None:
            heard.append("in the log of the server")

    for handler in (hear, None):
        client = prepared(fastmcp.Client(mcp, mode=mode, log_handler=handler), deaf, [])
        async with fastmcp_internals.logged(client, Told(EventLog())), client:
            await client.call_tool_mcp("tell", {})
    assert len(heard) in (0, 2)  # a revision without log notifications sends none
    assert mode == "auto" or ["msg" in str(heard[0]), heard[1]] == [True, "in the log of the server"]


async def test_a_transport_whose_stderr_went_to_a_log_is_afterwards_as_it_was() -> None:
    transport = StdioTransport("program", [])
    async with fastmcp_internals.logged(fastmcp.Client(transport), ServerLog(EventLog())):
        assert isinstance(transport.log_file, ChildStderr)
    assert transport.log_file is None


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
async def test_an_answer_that_was_dropped_needs_no_garbage_collection(content_type: str) -> None:
    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b"{}"

    request = httpx2.Request("POST", "http://127.0.0.1/mcp")
    response = httpx2.Response(200, headers={"content-type": content_type}, stream=Body(), request=request)
    await fastmcp_internals._bound_body(response, Allowance())
    assert await response.aread() == b"{}"
    left = weakref.ref(response)
    gc.disable()
    try:
        del response
        assert left() is None
    finally:
        gc.enable()
