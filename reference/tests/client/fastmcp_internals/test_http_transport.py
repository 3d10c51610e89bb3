"""What the transport for streamable HTTP relies on in the SDK. Red means: it has changed."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any

import fastmcp
import httpx2
import mcp_types
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.client.transports.base import TransportOptions
from fastmcp.server.dependencies import get_http_headers
from mcp import MCPError
from mcp.client.streamable_http import StreamableHTTPTransport
from support.http_host import listening
from support.raw_peer import hello

import xmcp.http_transport
from xmcp.client.servers.fastmcp_internals import NEVER_SENT, http_transport, resilient, skip_result_validation

pytestmark = pytest.mark.usefixtures("over_each_transport")

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


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
        assert (await asyncio.wait_for(under_way, 300)).content[0].text == "done"


async def test_a_server_that_cannot_be_reached_is_no_sign_of_an_older_era() -> None:
    with pytest.raises(RuntimeError, match="Client failed to connect") as caught:
        async with fastmcp.Client(resilient(StreamableHttpTransport("http://127.0.0.1:1/mcp"))):
            pass
    # Not by its text: several faults of a connection have none, and the class would stay unknown.
    assert re.fullmatch(r"ConnectError\('(Connection refused|All connection .*)'\)", repr(caught.value.__cause__))


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
    monkeypatch.setattr(http_transport, "TELL_SECONDS", 1)
    monkeypatch.setattr(xmcp.http_transport, "IDLE_SECONDS", 0.2)  # an idle connection is no stream
    server = _Silent(way)

    async def give_up(client: Any) -> None:
        limit = 0.2 if given_up == "timed out" else None
        silent = asyncio.create_task(client.call_tool_mcp("silent", {}, timeout=limit))
        if given_up == "cancelled":
            await asyncio.wait({silent}, timeout=0.2)
            silent.cancel()
        with pytest.raises(asyncio.CancelledError if given_up == "cancelled" else MCPError):
            await silent

    async with listening(server.serve) as port, asyncio.timeout(300):
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
    monkeypatch.setattr(http_transport, "TELL_SECONDS", 0.5)
    server = _Silent("deaf")
    async with listening(server.serve) as port, asyncio.timeout(300):
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

    monkeypatch.setattr(http_transport, "_get_forwardable_http_headers", lambda: {"x-own": "far", "x-far": "far"})
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
