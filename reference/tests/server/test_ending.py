"""A server that is told to end: calls get their grace, a second signal ends it at once, blocked threads hold nobody."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.transports import SSETransport
from mcp import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from xmcp.server.transports.ending import Ending
from xmcp.server.transports.stdio_streams import watched

pytestmark = pytest.mark.slow

SERVER = """
import asyncio, multiprocessing, signal, sys, threading, time
from xmcp import XMCP
mcp = XMCP("shop")
@mcp.tool
async def rest(seconds: float) -> str:
    print("begun", file=sys.stderr, flush=True)
    await asyncio.sleep(seconds)
    return "rested"
@mcp.tool
def block(seconds: float) -> str:
    print("begun", file=sys.stderr, flush=True)
    time.sleep(seconds)
    return "blocked"
@mcp.tool
def unseen(seconds: float) -> str:
    # The handlers of Python run in the main thread, which waits in the event loop: this wakes it as little as a signal
    # that arrives when the loop has looked for signals and begins to wait.
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    return block(seconds)
@mcp.tool
def child(seconds: float) -> int:
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(seconds,))
    child.start()
    print("begun", file=sys.stderr, flush=True)
    child.terminate()
    child.join()
    return child.exitcode
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
REFUSED = ErrorData(code=INVALID_REQUEST, message="in use")
SOON = 10.0  # seconds within which something that waits for nothing has happened, on a very busy machine

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a program that serves; standard input, output and error are pipes."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        process = subprocess.Popen([sys.executable, "-c", SERVER + code], text=True, env=environment, **pipes)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        with suppress(ValueError):
            process.communicate()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline().split()[-1]


async def until_begun(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    assert await asyncio.to_thread(process.stderr.readline) == "begun\n"


async def ended(process: subprocess.Popen[str]) -> tuple[int, float]:
    """Return the exit code, and how many seconds the end took from now on."""
    begun = time.monotonic()
    return await asyncio.to_thread(process.wait, 300), time.monotonic() - begun


# ---- HTTP ----


@pytest.mark.parametrize("tool", ["rest", "block"])
@pytest.mark.parametrize("options", ["", ", stateless_http=False"], ids=["stateless", "stateful"])
async def test_a_call_finishes_after_sigterm(start: Start, era: str, tool: str, options: str) -> None:
    process = start(f"mcp.serve(port=0{options})")
    async with Client(url_of(process), mode=era, timeout=300) as client:
        await client.list_tools()  # else the client lists them when it has the answer
        call = asyncio.create_task(client.call_tool_mcp(tool, {"seconds": 3}))
        await until_begun(process)
        process.send_signal(signal.SIGTERM)
        assert f"{tool}ed" in (await call).content[0].text
        code, seconds = await ended(process)
    assert (code, seconds < SOON) == (0, True)


async def test_a_call_over_sse_finishes_after_sigterm(start: Start) -> None:
    process = start('mcp.serve("sse", port=0)')
    with suppress(Exception):  # the stream ends with the server, which the client may take for a failure
        async with Client(SSETransport(url_of(process)), timeout=300) as client:
            await client.list_tools()  # else the client lists them when it has the answer
            call = asyncio.create_task(client.call_tool_mcp("rest", {"seconds": 3}))
            await until_begun(process)
            process.send_signal(signal.SIGTERM)
            answer = (await call).content[0].text
            code, seconds = await ended(process)
    assert "rested" in answer
    assert (code, seconds < SOON) == (0, True)


@pytest.mark.parametrize("tool", ["rest", "block"])
async def test_after_the_grace_a_call_is_cut_off(start: Start, era: str, tool: str) -> None:
    process = start("mcp.serve(port=0, grace=1)")
    with suppress(MCPError, RuntimeError, httpx2.HTTPError, ExceptionGroup):
        async with Client(url_of(process), mode=era, timeout=300) as client:
            await client.list_tools()  # else the client lists them when it has the answer
            call = asyncio.create_task(client.call_tool_mcp(tool, {"seconds": 60}))
            await until_begun(process)
            process.send_signal(signal.SIGTERM)
            code, seconds = await ended(process)
            await call
    assert code == 0
    assert 1 <= seconds < 1 + 5 + SOON  # the grace; and with a blocked thread also the time to clean up


@pytest.mark.parametrize("tool", ["rest", "block"])
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_at_once(start: Start, tool: str, sig: signal.Signals) -> None:
    process = start("mcp.serve(port=0, grace=60)")
    with suppress(MCPError, RuntimeError, httpx2.HTTPError, ExceptionGroup):
        async with Client(url_of(process), timeout=300) as client:
            await client.list_tools()  # else the client lists them when it has the answer
            call = asyncio.create_task(client.call_tool_mcp(tool, {"seconds": 60}))
            await until_begun(process)
            process.send_signal(sig)
            await asyncio.sleep(0.5)
            process.send_signal(sig)
            code, seconds = await ended(process)
            await call
    assert (code, seconds < SOON) == (0, True)


# ---- stdio ----


def said(process: subprocess.Popen[str], era: str, tool: str, seconds: float) -> None:
    """Send a call, in the legacy era after the handshake."""
    assert process.stdin is not None
    assert process.stdout is not None
    params: dict[str, Any] = {"name": tool, "arguments": {"seconds": seconds}}
    if era == "legacy":
        process.stdin.write(json.dumps(INITIALIZE) + "\n")
        process.stdin.flush()
        process.stdout.readline()
    else:
        params["_meta"] = ENVELOPE
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}) + "\n")
    process.stdin.flush()


@pytest.mark.parametrize("run", ["mcp.serve('stdio')", "mcp.run('stdio', show_banner=False)"])
@pytest.mark.parametrize("tool", ["rest", "block"])
async def test_a_call_finishes_after_the_end_of_the_input(start: Start, era: str, tool: str, run: str) -> None:
    process = start(run)
    said(process, era, tool, 2)
    out, err = await asyncio.to_thread(process.communicate, timeout=300)  # closes stdin at once
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["id"] for answer in answers if "result" in answer] == [7]
    assert f"{tool}ed" in out
    assert (process.returncode, "Traceback" in err) == (0, False)


@pytest.mark.parametrize("tool", ["rest", "block"])
async def test_a_stdio_server_ends_after_the_grace_even_if_a_thread_is_blocked(
    start: Start, era: str, tool: str
) -> None:
    process = start("mcp.serve('stdio', grace=1)")
    said(process, era, tool, 60)
    await until_begun(process)
    assert process.stdin is not None
    process.stdin.close()
    code, seconds = await ended(process)
    assert (code, 1 <= seconds < 1 + 5 + SOON) == (0, True)


@pytest.mark.parametrize("first", ["the end of the input", signal.SIGTERM, signal.SIGINT])
async def test_a_signal_after_the_first_ends_a_stdio_server_at_once(start: Start, first: Any) -> None:
    process = start("mcp.serve('stdio', grace=60)")
    said(process, "auto", "block", 60)
    await until_begun(process)
    assert process.stdin is not None
    if isinstance(first, str):
        process.stdin.close()
        await asyncio.sleep(0.5)
        process.send_signal(signal.SIGTERM)
    else:
        process.send_signal(first)
    await asyncio.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    code, seconds = await ended(process)
    assert (code, seconds < SOON) == (0, True)


async def test_a_signal_that_arrives_as_the_loop_begins_to_wait_is_seen_at_once(start: Start) -> None:
    process = start("mcp.serve('stdio', grace=1)")
    said(process, "auto", "unseen", 60)
    await until_begun(process)
    code, seconds = await ended(process)
    assert (code, 1 <= seconds < 1 + 5 + SOON) == (0, True)


async def test_a_second_signal_is_seen_at_once_where_the_first_was_not(start: Start) -> None:
    process = start("mcp.serve('stdio', grace=60)")
    said(process, "auto", "unseen", 60)
    await until_begun(process)
    await asyncio.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    code, seconds = await ended(process)
    assert (code, seconds < SOON) == (0, True)


async def test_a_child_process_of_a_tool_can_be_ended(start: Start) -> None:
    process = start("mcp.serve('stdio', grace=60)")
    said(process, "auto", "child", 60)
    await until_begun(process)
    assert process.stdout is not None
    assert json.loads(await asyncio.to_thread(process.stdout.readline))["result"]["content"][0]["text"] == "-15"
    assert process.poll() is None


@pytest.mark.parametrize("run", ["mcp.serve('stdio')", "mcp.run('stdio', show_banner=False, log_level='WARNING')"])
async def test_a_client_that_is_gone_leaves_no_traceback(start: Start, era: str, run: str) -> None:
    process = start(run)
    said(process, era, "rest", 0.5)
    await until_begun(process)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.close()
    code, _ = await ended(process)
    assert (code, "Traceback" in (err := process.stderr.read())) == (0, False), err
    assert "The client closed its side" in err


async def test_what_was_printed_before_serving_is_no_message(start: Start) -> None:
    process = start("print('hello')\nmcp.serve('stdio')")
    said(process, "auto", "rest", 0)
    out, err = await asyncio.to_thread(process.communicate, timeout=300)
    assert [json.loads(line)["id"] for line in out.splitlines()] == [7]
    assert sorted(err.split()) == ["begun", "hello"]


# ---- the parts ----


async def test_the_end_of_the_input_waits_for_answers_and_not_for_what_has_none() -> None:
    incoming, source = anyio.create_memory_object_stream[Any](10)
    sink, _outgoing = anyio.create_memory_object_stream[Any](10)
    ends: list[str] = []
    read, write = watched(source, sink, 60, lambda: ends.append("ended"))
    for request in (
        JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call"),
        JSONRPCRequest(jsonrpc="2.0", id="two", method="tools/call"),
        JSONRPCRequest(jsonrpc="2.0", id=3, method="subscriptions/listen"),
        JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": "two"}),
    ):
        await incoming.send(SessionMessage(request))
        await read.receive()
    incoming.close()
    end = asyncio.create_task(read.__anext__())
    await asyncio.sleep(0.05)
    assert (ends, end.done()) == (["ended"], False)
    await write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={})))
    with pytest.raises(StopAsyncIteration):
        await end


@pytest.mark.parametrize(
    "before_the_answer",
    [
        [("write", JSONRPCRequest(jsonrpc="2.0", id=1, method="elicitation/create")), ("read", {"result": {}})],
        [("read", {"method": "tools/call"}), ("write", JSONRPCError(jsonrpc="2.0", id=1, error=REFUSED))],
    ],
    ids=["the server asks with an equal id", "an id in use is refused"],
)
async def test_what_has_the_id_of_a_call_is_not_its_answer(before_the_answer: list[tuple[str, Any]]) -> None:
    incoming, source = anyio.create_memory_object_stream[Any](10)
    sink, _outgoing = anyio.create_memory_object_stream[Any](10)
    read, write = watched(source, sink, 60, lambda: None)
    for direction, message in [("read", {"method": "tools/call"}), *before_the_answer]:
        if direction == "write":
            await write.send(SessionMessage(message))
        else:
            kind = JSONRPCRequest if "method" in message else JSONRPCResponse
            await incoming.send(SessionMessage(kind(jsonrpc="2.0", id=1, **message)))
            await read.receive()
    incoming.close()
    end = asyncio.create_task(read.__anext__())
    await asyncio.sleep(0.05)
    assert not end.done()
    await write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={})))
    with pytest.raises(StopAsyncIteration):
        await end


async def test_a_call_is_cancelled_also_by_its_number_as_a_text() -> None:
    incoming, source = anyio.create_memory_object_stream[Any](10)
    sink, _outgoing = anyio.create_memory_object_stream[Any](10)
    read, _write = watched(source, sink, 60, lambda: None)
    cancelled = JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": "7"})
    for message in (JSONRPCRequest(jsonrpc="2.0", id=7, method="tools/call"), cancelled):
        await incoming.send(SessionMessage(message))
        await read.receive()
    incoming.close()
    with anyio.fail_after(5), pytest.raises(StopAsyncIteration):
        await read.__anext__()


def test_a_program_that_goes_on_after_its_server_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[str] = []
    monkeypatch.setattr("xmcp.server.transports.ending._leave", lambda: left.append("process"))
    ending = Ending()
    ending.within(1)
    ending.returned()
    blocked = threading.Event()
    thread = threading.Thread(target=blocked.wait, name="AnyIO worker thread")
    thread.start()
    time.sleep(1.3)
    blocked.set()
    thread.join()
    assert left == []
