"""`serve()` and `run()` as a user at a terminal sees them: child processes, signals, ports."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from fastmcp import Client
from mcp.client.subscriptions import listen as listen_to

from xmcp import XMCP
from xmcp.server.errors import ServeError
from xmcp.server.transports import listen
from xmcp_models.registry import EXTENSION_ID

SERVER = """
import sys
from xmcp import XMCP
mcp = XMCP("shop")
@mcp.tool
def ping() -> str: return "pong"
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


@contextmanager
def child(code: str, **pipes: Any) -> Iterator[subprocess.Popen[str]]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FASTMCP_")}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **pipes,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def test_serve_says_one_line_answers_and_ends_quietly_on_ctrl_c() -> None:
    with child("mcp.serve(port=0)") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("shop is served on http://127.0.0.1:")
        async with Client(line.split()[-1], timeout=300) as client:
            assert "pong" in (await client.call_tool_mcp("ping", {})).content[0].text
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_ctrl_c_does_not_wait_for_an_open_stream_and_is_quiet(transport: str) -> None:
    options = 'transport="sse"' if transport == "sse" else "stateless_http=False"
    with child(f"mcp.serve(port=0, {options})") as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        headers = {"Accept": "application/json, text/event-stream"}
        with httpx2.Client() as http:
            if transport == "http":
                headers["Mcp-Session-Id"] = http.post(url, json=INITIALIZE, headers=headers).headers["mcp-session-id"]
            with http.stream("GET", url, headers=headers) as stream:
                assert stream.status_code == 200
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", "")


async def test_ctrl_c_ends_subscriptions_in_good_order() -> None:
    with child("mcp.serve(port=0)") as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        async with (
            Client(url, timeout=300) as client,
            listen_to(client.session, tools_list_changed=True) as subscription,
        ):
            process.send_signal(signal.SIGINT)
            assert [event async for event in subscription] == []  # an end, where a lost stream would raise
        out, err = await asyncio.to_thread(process.communicate, timeout=300)
    assert (process.returncode, out, err) == (0, "", "")


def test_serve_on_stdio_leaves_stdout_to_the_protocol_and_ends_with_its_client() -> None:
    with child('mcp.serve("stdio")', stdin=subprocess.PIPE) as process:
        out, err = process.communicate("", timeout=300)
    assert (process.returncode, out, err) == (0, "", "")


def test_ctrl_c_on_stdio_ends_in_good_order_and_quietly() -> None:
    lifespan = (
        "from contextlib import asynccontextmanager\n"
        "@asynccontextmanager\nasync def lifespan(_):\n    yield {}\n    print('closed', file=sys.stderr)\n"
        "mcp = XMCP('shop', lifespan=lifespan)\nmcp.serve('stdio')"
    )
    with child(lifespan, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(INITIALIZE) + "\n")
        process.stdin.flush()
        assert EXTENSION_ID in process.stdout.readline()
        process.send_signal(signal.SIGINT)  # while it waits for the next line of stdin
        process.wait(timeout=300)
        assert (process.returncode, process.stderr.read()) == (0, "closed\n")


def test_a_port_in_use_is_said_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServeError, match=f"Port {port} on 127.0.0.1 is in use"):
            XMCP("second").serve(port=port)
        with child(f"mcp.serve(port={port})") as process:
            out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (1, "")
    assert err == f"Port {port} on 127.0.0.1 is in use. Stop the program that uses it, or choose another port.\n"


def test_the_listening_socket_says_that_it_is_tcp() -> None:
    """Else asyncio leaves Nagle's algorithm on, and every request waits for a delayed acknowledgement."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70_000), ("192.0.2.1", 0)])
def test_an_address_that_cannot_be_had_is_said_in_one_sentence(host: str, port: int) -> None:
    with pytest.raises(ServeError, match=f"^Cannot listen on {host}:{port}: .*\\.$"):
        XMCP("nowhere").serve(host=host, port=port)


def test_a_lifespan_that_fails_is_said() -> None:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def lifespan(_server: Any) -> Any:
        raise RuntimeError("no database")
        yield {}

    with pytest.raises(ServeError, match="its lifespan failed"):
        XMCP("broken", lifespan=lifespan).serve(port=0, uvicorn_config={"log_level": "critical"})


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_an_unknown_option_is_refused(transport: Any) -> None:
    with pytest.raises(TypeError, match="colour"):
        XMCP("x").serve(transport, port=0, colour="red")


def test_run_is_as_safe_as_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    seen: list[Any] = []

    async def serve(self: uvicorn.Server, sockets: Any = None) -> None:
        seen.append(self.config.app)

    monkeypatch.setattr(uvicorn.Server, "serve", serve)
    XMCP("x").run("http", show_banner=False, port=0)
    (app,) = seen
    assert any("HostOrigin" in str(middleware) for middleware in app.user_middleware)
    assert "GET" not in next(route for route in app.routes if route.path == "/mcp").methods
