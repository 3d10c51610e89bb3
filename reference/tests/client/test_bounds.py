"""What a tool server may send is bounded: the size of one message, its compression, and what nobody asked for."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import fastmcp
import pytest
from anyio import EndOfStream
from fastmcp.client.transports import StdioTransport
from mcp import MCPError
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent
from support import flooding_program
from support.clock import Clock
from support.growth import is_linear
from support.http_host import hosted, listening
from support.raw_peer import RawPeer, hello

from xmcp.chat.errors import CallFailed
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import listing_pages, stdio_transport
from xmcp.client.servers.errors import (
    ConnectFailed,
    means_connection_lost,
    means_session_lost,
    means_unreadable_answer,
)
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.peer_limits import (
    MAX_CONTAINERS,
    MAX_MESSAGE_BYTES,
    REQUEST_COUNTS_AS,
    UNASKED_AT_ONCE,
    UNASKED_PER_SECOND,
    Allowance,
    Flood,
    TooLarge,
)
from xmcp.client.servers.stdio_transport import LineReader
from xmcp.client.servers.targets import ServerTarget, source

ERAS = ["modern", "legacy"]
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def no_log_of_servers(caplog: Any) -> None:
    """How FastMCP writes a server's log line takes longer than all the rest, and is another subject."""
    caplog.set_level(logging.WARNING, logger="fastmcp")


def call(name: str, /, **arguments: Any) -> tuple[str, str, str]:
    return f"call_{next(_numbers)}", name, json.dumps(arguments)


def codes(told: Any) -> list[str | None]:
    return [response.error and response.error.code for response in told.seen]


# How much is too much.


def spend(allowance: Allowance, lines: int, size: int = 0) -> int:
    """Take so many lines again and again; return how often that went well."""
    for taken in itertools.count():
        try:
            allowance.take(lines, size)
        except Flood:
            return taken
    raise AssertionError


def test_unasked_messages_are_allowed_at_once_up_to_a_number_and_then_by_the_time_that_passes() -> None:
    clock = Clock()
    allowance = Allowance(clock=clock)
    assert spend(allowance, 1) == UNASKED_AT_ONCE
    clock.now += 2
    assert spend(allowance, 1) in range(int(2 * UNASKED_PER_SECOND) - 2, int(2 * UNASKED_PER_SECOND) + 1)
    clock.now += 1_000_000
    assert spend(allowance, 1) == UNASKED_AT_ONCE


def test_unasked_messages_are_bounded_in_bytes_as_well() -> None:
    assert spend(Allowance(clock=Clock()), 1, MAX_MESSAGE_BYTES) == 2


def test_a_request_of_a_server_counts_as_many_messages_because_it_has_to_be_answered() -> None:
    assert spend(Allowance(clock=Clock()), REQUEST_COUNTS_AS) == UNASKED_AT_ONCE // REQUEST_COUNTS_AS


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_in_pieces_of_any_size(size: int) -> None:
    text = b"one\n\ntwo\r\n" + b"x" * 50 + b"\nrest"
    reader = LineReader()
    lines = [line for at in range(0, len(text), size) for line in reader.feed(text[at : at + size])]
    assert lines == [b"one", b"", b"two\r", b"x" * 50]


def test_a_line_without_an_end_is_refused_when_it_is_larger_than_a_message() -> None:
    reader, piece = LineReader(), b"x" * (1 << 20)
    for _ in range(MAX_MESSAGE_BYTES // len(piece)):
        assert list(reader.feed(piece)) == []
    with pytest.raises(TooLarge, match="32 MiB"):
        list(reader.feed(b"x"))


def test_a_line_takes_time_in_proportion_to_its_length_however_small_its_pieces_are() -> None:
    def fed(mebibytes: int) -> Callable[[], Any]:
        def work() -> None:
            reader = LineReader()
            for _ in range(mebibytes << 10):
                list(reader.feed(b"x" * 1024))
            assert len(*reader.feed(b"\n")) == mebibytes << 20

        return work

    assert is_linear(lambda times: fed(4 * times))


# Over HTTP.


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("compressed", "TOOL_ERROR"),
        ("a_body_without_an_end", "RESULT_TOO_LARGE"),
        ("a_body_that_says_it_is_too_large", "RESULT_TOO_LARGE"),
        ("an_error_without_an_end", "RESULT_TOO_LARGE"),
        ("an_event_without_an_end", "RESULT_TOO_LARGE"),
        ("a_body_of_nothing_but_brackets", "RESULT_TOO_LARGE"),
        ("a_body_of_very_many_blocks", "RESULT_TOO_LARGE"),
        ("an_event_of_nothing_but_brackets", "RESULT_TOO_LARGE"),
        ("a_flood_of_notifications", "CONNECTION_FAILED"),
        ("a_flood_of_comments", "CONNECTION_FAILED"),
        ("a_flood_of_requests", "CONNECTION_FAILED"),
    ],
)
async def test_an_answer_that_crosses_a_bound_is_an_error_for_its_call_and_the_next_one_is_answered(
    peers: Any, line: Any, chat_server: Any, ai_for: Any, talk: Any, caplog: Any, era: str, fault: str, code: str
) -> None:
    reply = chat_server.reply.streamed
    line.faults.append(getattr(peers, fault))
    script = [reply(calls=[call("add", a=1, b=2)]), reply(calls=[call("add", a=3, b=4)]), reply("ok")]
    target = fastmcp.Client(line.url(), mode="auto" if era == "modern" else "legacy")
    # The time-out is far above what any of this takes: it is the bound that ends the call.
    async with asyncio.timeout(300), ai_for([target], tool_timeout=900) as ai:
        told = await talk(ai, script, seconds=80)
    assert codes(told) == [code, None]
    assert told.seen[0].error.meta["side_effects"] == "unknown"
    assert told.seen[1].llm_output == "7"
    assert line.methods.count("tools/call") == 2
    # Not because the stream of the fault ends some time.
    assert ("floods its connection" in caplog.text) == (code == "CONNECTION_FAILED")
    # Without a compression that anybody would have to undo.
    assert line.encodings == {"identity"}


@pytest.mark.slow
async def test_other_calls_on_the_connection_go_on_when_the_body_of_one_answer_is_refused(
    peers: Any, line: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    line.faults.extend([peers.a_body_without_an_end, None, None, None])
    script = [reply(calls=[call("add", a=n, b=n) for n in range(4)]), reply("ok")]
    async with asyncio.timeout(300), ai_for([line.url()]) as ai:
        told = await talk(ai, script, seconds=80)
    assert sorted(str(code) for code in codes(told)) == ["None", "None", "None", "RESULT_TOO_LARGE"]


@pytest.mark.slow
async def test_a_compressed_body_is_never_decompressed(
    peers: Any, line: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed

    def compressed(answer: Any) -> bytes:
        data: bytes = peers.compressed(answer)
        tracemalloc.start()  # what the peer needed is not counted
        return data

    line.faults.append(compressed)
    async with asyncio.timeout(300), ai_for([line.url()]) as ai:
        try:
            told = await talk(ai, [reply(calls=[call("add", a=1, b=2)]), reply("ok")], seconds=80)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert codes(told) == ["TOOL_ERROR"]
    assert "compressed" in told.seen[0].error.message
    assert peak < 8 << 20  # decompressed it is 64 MiB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [("compressed", "switch compression off"), ("a_body_without_an_end", "larger than 33554432 bytes")],
)
async def test_a_list_of_tools_that_crosses_a_bound_leaves_its_server_out_and_says_why(
    peers: Any, line: Any, ai_for: Any, fault: str, words: str
) -> None:
    line.at = "tools/list"
    line.faults.extend([getattr(peers, fault)] * 50)
    async with asyncio.timeout(300), ai_for([line.url()]) as ai:
        (status,) = ai.servers
    assert not status.connected
    assert words in status.error


@pytest.mark.parametrize("large", ["cursor", "description"])
async def test_all_pages_of_a_list_have_a_limit_together(monkeypatch: pytest.MonkeyPatch, large: str) -> None:
    monkeypatch.setattr(listing_pages, "MAX_LISTED_BYTES", 100_000)
    pages = itertools.count(1)

    def page(_: Any) -> dict[str, Any]:
        text = f"{next(pages)}" + "x" * 10_000
        about = {"description": text if large == "description" else "", "inputSchema": {"type": "object"}}
        return {"tools": [{"name": "t", **about}], "nextCursor": text if large == "cursor" else text[:3]}

    peer = fastmcp.Client(RawPeer({"tools/list": page}), mode="legacy")
    server = Server(source(peer, 30), None, 30, EventLog())
    try:
        with pytest.raises(ConnectFailed, match="list of tools is larger than 100000 bytes"):
            await server.open()
    finally:
        await server.close()
    assert next(pages) < 15


@pytest.mark.parametrize("large", ["pages", "bytes"])
async def test_a_list_of_resources_has_limits_and_its_fault_costs_no_connection(
    monkeypatch: pytest.MonkeyPatch, large: str
) -> None:
    monkeypatch.setattr(listing_pages, "MAX_LISTED_BYTES", 100_000)
    pages = itertools.count(1)

    def page(_: Any) -> dict[str, Any]:
        about = {"description": "x" * (10_000 if large == "bytes" else 1)}
        return {"resources": [{"uri": "a://b", "name": "b", **about}], "nextCursor": f"{next(pages)}"}

    answers = {"tools/list": {"tools": []}, "resources/list": page}
    server = Server(source(fastmcp.Client(RawPeer(answers), mode="legacy"), 30), None, 30, EventLog())
    try:
        await server.open()
        with pytest.raises(CallFailed) as caught:
            await server.list_resources()
        assert (caught.value.error.code, caught.value.cause) == ("RESULT_TOO_LARGE", "answer")
        assert server.connected
    finally:
        await server.close()
    assert next(pages) < {"pages": 300, "bytes": 15}[large]


@pytest.mark.slow
@pytest.mark.parametrize("charset", ["bz2", "punycode", "utf-16"])
async def test_events_are_utf_8_whatever_their_header_says(
    peers: Any, line: Any, chat_server: Any, ai_for: Any, talk: Any, charset: str
) -> None:
    line.faults.append(lambda a: a.written(body=a.event(), content_type=f"text/event-stream; charset={charset}"))
    async with asyncio.timeout(300), ai_for([line.url()]) as ai:
        reply = chat_server.reply.streamed
        told = await talk(ai, [reply(calls=[call("add", a=1, b=2)]), reply("ok")], seconds=80)
    assert [response.llm_output for response in told.seen] == ["3"]


async def test_a_server_that_ends_its_streams_again_and_again_is_listened_to_no_longer() -> None:
    """In the handshake era the SDK opens a stream that ended anew, after as little time as the server says."""
    opened = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            asked = json.loads(await reader.readexactly(int(length[1]))) if length and head.startswith(b"POST") else {}
            if head.startswith(b"GET"):
                opened += 1
                kind, body = "text/event-stream", b"retry: 0\nid: 1\ndata:\n\n" * 100
            else:
                results = {
                    "initialize": {**hello(), "protocolVersion": "2025-06-18"},
                    "tools/list": {"tools": []},
                }
                answer = {"jsonrpc": "2.0", "id": asked.get("id"), "result": results.get(asked.get("method", ""), {})}
                kind, body = "application/json", json.dumps(answer).encode()
            status = "200 OK" if "id" in asked or head.startswith(b"GET") else "202 Accepted"
            top = (
                f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nmcp-session-id: s\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            writer.write(top.encode() + body)
            await writer.drain()

    async with listening(serve) as port:
        target = ServerTarget(target=f"http://127.0.0.1:{port}/mcp", mode="legacy")
        server = Server(source(target, 30), None, 30, EventLog())
        try:
            await server.open()
            before = -1
            async with asyncio.timeout(300):
                while before < opened:  # until a second passes without another one
                    before = opened
                    await asyncio.sleep(1)
            assert 1 < opened < 200
            assert server.connected
            assert await server.discover_tools() == []
        finally:
            await server.close()


@pytest.mark.slow
async def test_over_the_older_http_binding_what_was_asked_for_has_no_limit_but_its_size() -> None:
    mcp = fastmcp.FastMCP("older")
    mcp.tool(lambda: [{"id": n} for n in range(5_000)], name="rows", output_schema=None)
    async with hosted(mcp.http_app(transport="sse")) as url:
        server = Server(source(f"{url}/sse", 30), None, 30, EventLog())
        try:
            for _ in range(MAX_CONTAINERS // 5_000 + 5):
                await server.execute_tool_call("rows", {})
        finally:
            await server.close()


@pytest.mark.slow
async def test_over_the_older_http_binding_an_answer_may_be_as_large_and_has_as_few_items_as_over_the_newer() -> None:
    mcp = fastmcp.FastMCP("older")
    mcp.tool(lambda size: "x" * size, name="large", output_schema=None)
    mcp.tool(lambda: [TextContent(type="text", text="a")] * 10_000, name="blocks", output_schema=None)
    async with hosted(mcp.http_app(transport="sse")) as url:
        server = Server(source(f"{url}/sse", 30), None, 30, EventLog())
        try:
            answer = await server.execute_tool_call("large", {"size": 4 << 20})
            assert len(answer.content[0].text) == 4 << 20  # type: ignore[union-attr]
            with pytest.raises(CallFailed) as caught:
                await server.execute_tool_call("blocks", {})
            assert caught.value.error.code == "RESULT_TOO_LARGE"
            assert server.connected
        finally:
            await server.close()


@pytest.mark.parametrize("message", ["session ", "connection ", "redirect to "])
def test_what_an_error_of_a_server_means_is_looked_for_in_its_beginning_only(message: str) -> None:
    """All of a message would take hours at a megabyte, on the event loop."""
    error = MCPError(code=-32000, message=message * 100_000)
    begun = time.thread_time()
    assert not means_connection_lost(error)
    assert not means_unreadable_answer(error)
    assert not means_session_lost(400, error.code, error.message)
    assert time.thread_time() - begun < 1


# A program.


class Pouring:
    """The output of a program: so many pieces of it, and how many were taken."""

    def __init__(self, piece: bytes, pieces: int = 100_000) -> None:
        self.stdout = self
        self._piece, self._left = piece, pieces
        self.taken = 0

    async def receive(self) -> bytes:
        if not self._left:
            raise EndOfStream
        self._left -= 1
        self.taken += 1
        return self._piece


class Messages:
    """Where messages arrive."""

    async def send(self, message: Any) -> None:
        """Take it."""


async def test_a_request_of_a_program_counts_as_many_messages_because_it_has_to_be_answered() -> None:
    program: Any = Pouring(b'{"jsonrpc":"2.0","id":"p","method":"ping"}\n')
    with pytest.raises(Flood):
        await stdio_transport._read_messages(program, stdio_transport._Asked(), Messages())
    assert program.taken in range(UNASKED_AT_ONCE // REQUEST_COUNTS_AS, UNASKED_AT_ONCE // REQUEST_COUNTS_AS + 100)


async def test_what_a_program_pours_after_its_connection_was_closed_is_not_taken_for_ever() -> None:
    program: Any = Pouring(b"x" * 65536)
    await stdio_transport._drain(program)
    assert program.taken == stdio_transport.DRAIN_BYTES // 65536


async def test_a_program_that_pours_is_killed_at_once_and_not_asked_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ending in order takes seconds, for which the program would go on."""
    order: list[str] = []
    stop, kill = stdio_transport.sdk._stop_server_process, stdio_transport._kill

    async def stopping(process: Any) -> None:
        order.append("asked")
        await stop(process)

    async def killing(process: Any) -> None:
        order.append("killed")
        await kill(process)
        async with asyncio.timeout(300):
            await process.wait()

    monkeypatch.setattr(stdio_transport.sdk, "_stop_server_process", stopping)
    monkeypatch.setattr(stdio_transport, "_kill", killing)
    faults: list[Any] = []

    async def told(fault: Any) -> None:
        faults.append(fault)

    given = StdioServerParameters(command=sys.executable, args=["-c", "while True: print('x' * 1000)"])
    async with asyncio.timeout(300), stdio_transport.bounded_stdio(given, None, told) as (incoming, _):
        with suppress(EndOfStream):
            while True:
                await incoming.receive()
    assert [type(fault) for fault in faults] == [Flood]
    assert order == ["killed", "asked"]


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def children() -> Iterator[int]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError), open(f"/proc/{entry}/stat") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
                if int(parent) == os.getpid() and state != "Z":
                    yield int(entry)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("line", "a message of more than 32 MiB"),
        ("pings", "floods its connection"),
        ("notifications", "floods its connection"),
        ("garbage", "floods its connection"),
        ("answers", "floods its connection"),
    ],
)
async def test_a_program_that_pours_is_killed_and_nothing_reads_on(
    chat_server: Any, ai_for: Any, talk: Any, caplog: Any, kind: str, reason: str
) -> None:
    reply = chat_server.reply.streamed
    before = {*children()}
    options = {"tool_timeout": 60, "retry_policy": {"max_attempts": 1}}
    async with asyncio.timeout(300), ai_for([flooding_program.command(kind)], **options) as ai:
        (first,) = {*children()} - before
        told = await talk(ai, [reply(calls=[call("pour")]), reply("ok")], seconds=80)
        assert codes(told) == ["CONNECTION_FAILED"]
        # It was killed before the call was answered, or is about to be; never later.
        for _ in range(500):
            if ended(first):
                break
            await asyncio.sleep(0.01)
        assert ended(first)
    assert reason in caplog.text
    assert {*children()} == before


@pytest.mark.slow
async def test_a_program_that_its_transport_keeps_alive_is_killed_as_well_if_it_pours(
    chat_server: Any, ai_for: Any, talk: Any, caplog: Any
) -> None:
    """FastMCP keeps programs alive by default."""
    reply = chat_server.reply.streamed
    command, *arguments = flooding_program.command("pings")
    transport = StdioTransport(command, arguments)
    options = {"tool_timeout": 60, "retry_policy": {"max_attempts": 1}}
    before = {*children()}
    try:
        async with asyncio.timeout(300), ai_for([transport], **options) as ai:
            (first,) = {*children()} - before
            told = await talk(ai, [reply(calls=[call("pour")]), reply("ok")], seconds=80)
            for _ in range(500):
                if ended(first):
                    break
                await asyncio.sleep(0.01)
            assert ended(first)
    finally:
        await transport.close()
    assert codes(told) == ["CONNECTION_FAILED"]
    assert "floods its connection" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["brackets", "brackets-id-last", "blocks"])
async def test_an_answer_of_a_program_with_too_many_arrays_is_refused_and_the_program_goes_on(
    chat_server: Any, ai_for: Any, talk: Any, kind: str
) -> None:
    reply = chat_server.reply.streamed
    script = [reply(calls=[call("pour", size=1)]), reply(calls=[call("pour", size=0)]), reply("ok")]
    before = {*children()}
    async with asyncio.timeout(300), ai_for([flooding_program.command(kind)]) as ai:
        first = {*children()} - before
        told = await talk(ai, script, seconds=80)
        assert {*children()} - before == first
    assert codes(told) == ["RESULT_TOO_LARGE", None]


@pytest.mark.slow
async def test_a_program_may_answer_with_as_much_as_a_document_may_have_again_and_again(
    chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply, size = chat_server.reply.streamed, 8 << 20
    script = [reply(calls=[call("pour", size=size) for _ in range(10)]), reply("ok")]
    async with asyncio.timeout(300), ai_for([flooding_program.command("nothing")]) as ai:
        told = await talk(ai, script, seconds=80)
    assert codes(told) == [None] * 10
