"""The tool servers of the soak that speak HTTP, each in a process of its own, which prints its port.

    python -m tools.soak.http_peers honest     an XMCP server whose tools do what they say
    python -m tools.soak.http_peers hostile    four servers: /liar, /elder (the revision of 2025), /mortal and /shifty

The hostile ones are written by hand, because no server library would send what they send. `hostile` is a parent that
starts its child again when a tool has killed it.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import os
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tools.soak.script import HTTP_FAULTS, canary, foreign, ticket
from tools.soak.serving import body_of, bound, end_with_the_parent, piece, serve, start, whole
from xmcp_models.registry import EXTENSION_ID, TOOL_META_KEY

ENDLESS_SECONDS = 30.0
"""A hostile answer ends after this time even if the client stays."""

TOOL_SECONDS = 0.02
"""How long an honest tool takes."""


# ---- the honest server ----


def honest() -> Any:
    """Return the honest server. The application fills in `tenant`, and each tool checks that its text belongs to it."""
    from fastmcp.server.dependencies import get_http_headers

    import xmcp

    server = xmcp.XMCP("honest")
    reads = {"readOnlyHint": True}
    drawn = itertools.count()

    def own(text: str, tenant: str) -> str:
        if others := foreign(text, tenant):
            raise xmcp.XMCPError("FORBIDDEN", f"{tenant} was given {others[0]}")
        return text

    @server.tool(annotations=reads)
    async def look(text: str, tenant: str) -> str:
        """Look something up."""
        await asyncio.sleep(TOOL_SECONDS)
        return f"found for {tenant}: {own(text, tenant)}"

    @server.tool(annotations=reads, cacheable=True)
    async def draw() -> str:
        """Return a ticket that nobody else gets."""
        await asyncio.sleep(TOOL_SECONDS)
        return ticket(next(drawn))

    @server.tool(annotations=reads)
    async def whose() -> str:
        """Return whose credential the request has."""
        return f"{canary(get_http_headers()['x-tenant'], 0)} is the credential"

    @server.display_tool(annotations=reads)
    async def table(text: str, tenant: str, show_user: bool = False) -> Any:
        """Show a table."""
        rows = [{"n": n, "text": own(text, tenant)} for n in range(20)]
        return xmcp.DisplayEnvelope(type="table", alt=f"a table of {text}", payload=rows) if show_user else rows

    return server.http_app()


# ---- the hostile servers ----

JSON = "application/json"
SSE = "text/event-stream"


def result(request: dict[str, Any], text: str = "fine", **members: Any) -> dict[str, Any]:
    """Return the answer to a call."""
    document = f"<tool_response tool_name='x'><llm_output>{text}</llm_output></tool_response>"
    return answer(request, content=[{"type": "text", "text": document}], isError=False, **members)


def answer(request: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a JSON-RPC answer that every revision of the protocol can read."""
    return {"jsonrpc": "2.0", "id": request["id"], "result": {"resultType": "complete", **members}}


def tool(name: str, description: str = "Do something.", **members: Any) -> dict[str, Any]:
    """Return a tool as servers list it."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **members}


async def quick(request: dict[str, Any], send: Any) -> None:
    """Answer soon."""
    await asyncio.sleep(0.05)
    await whole(send, json.dumps(result(request)).encode())


async def slow(request: dict[str, Any], send: Any) -> None:
    """Answer after a second."""
    await asyncio.sleep(1)
    await whole(send, json.dumps(result(request)).encode())


async def die(request: dict[str, Any], send: Any) -> None:
    """End the process of the server a little later, without an answer."""
    await asyncio.sleep(0.2)
    os._exit(1)


async def wrong_id(request: dict[str, Any], send: Any) -> None:
    """Answer another request."""
    await whole(send, json.dumps({**result(request), "id": 987_654}).encode())


async def no_json(request: dict[str, Any], send: Any) -> None:
    """Answer something else as JSON."""
    await whole(send, b'{"jsonrpc": "2.0", oops')


async def wrong_types(request: dict[str, Any], send: Any) -> None:
    """Answer with members of types that MCP does not have."""
    await whole(send, json.dumps(answer(request, content={"type": 5}, isError="perhaps", _meta=[1])).encode())


async def bad_document(request: dict[str, Any], send: Any) -> None:
    """Answer a document that is cut."""
    content = [{"type": "text", "text": "<tool_response tool_name='x'><llm_output>cut"}]
    await whole(send, json.dumps(answer(request, content=content)).encode())


async def bad_display(request: dict[str, Any], send: Any) -> None:
    """Answer a document with nothing but a display, which is none."""
    content = [{"type": "text", "text": '<tool_response tool_name="x"><display>{"type": 5}</display></tool_response>'}]
    await whole(send, json.dumps(answer(request, content=content)).encode())


async def half_a_body(request: dict[str, Any], send: Any) -> None:
    """Close the connection in the middle of the body."""
    data = json.dumps(result(request)).encode()
    await start(send, content_length=str(2 * len(data)))
    await piece(send, data, more=False)


async def endless_body(request: dict[str, Any], send: Any) -> None:
    """Send 15 MB of one body in each second, without end."""
    await start(send)
    await piece(send, json.dumps(result(request)).encode()[:-10])
    while True:
        await piece(send, b"x" * 65_536)
        await asyncio.sleep(0.004)


_bomb: list[bytes] = []


async def bomb(request: dict[str, Any], send: Any) -> None:
    """Send 64 kB that become 64 MB."""
    if not _bomb:
        _bomb.append(gzip.compress(b" " * (64 << 20)))
    data = gzip.compress(json.dumps(result(request)).encode()) + _bomb[0]
    await start(send, content_length=str(len(data)), content_encoding="gzip")
    await piece(send, data, more=False)


async def huge(request: dict[str, Any], send: Any) -> None:
    """Answer with a text of 8 MB."""
    await whole(send, json.dumps(result(request, "x" * (8 << 20))).encode())


async def deep(request: dict[str, Any], send: Any) -> None:
    """Answer with arrays in each other, 100,000 deep."""
    data = json.dumps(result(request, structuredContent=0)).encode()
    name = b'"structuredContent": '
    await whole(send, data.replace(name + b"0", name + b"[" * 100_000 + b"]" * 100_000))


async def drip(request: dict[str, Any], send: Any) -> None:
    """Send the answer byte by byte."""
    await start(send)
    for byte in json.dumps(result(request)).encode():
        await piece(send, bytes([byte]))
        await asyncio.sleep(0.05)


async def silence(request: dict[str, Any], send: Any) -> None:
    """Never answer."""
    await asyncio.sleep(ENDLESS_SECONDS)


ESCAPES = "\x1b[2J\x1b]0;soak\x07"
"""What clears a terminal and gives its window another title."""


def notification(method: str = "notifications/message") -> bytes:
    """Return a server-sent event with a log message for a terminal, or that the tools have changed."""
    message = {"level": "error", "data": f"{ESCAPES} a line of a log", "logger": "soak"}
    params = message if method == "notifications/message" else {}
    value = {"jsonrpc": "2.0", "method": method, "params": params}
    return b"event: message\ndata: " + json.dumps(value).encode() + b"\n\n"


async def flood(request: dict[str, Any], send: Any) -> None:
    """Send 20,000 notifications before the answer."""
    await start(send, SSE)
    for _ in range(200):
        await piece(send, notification() * 100)
    await piece(send, b"event: message\ndata: " + json.dumps(result(request)).encode() + b"\n\n", more=False)


async def page(request: dict[str, Any], send: Any) -> None:
    """Answer as a captive portal does."""
    await whole(send, b"<html>Please log in</html>", "text/html")


Fault = Callable[[dict[str, Any], Any], Awaitable[None]]
TOOLS: dict[str, Fault] = {
    done.__name__: done
    for done in (
        quick,
        slow,
        die,
        wrong_id,
        no_json,
        wrong_types,
        bad_document,
        bad_display,
        half_a_body,
        endless_body,
        bomb,
        huge,
        deep,
        drip,
        silence,
        flood,
        page,
    )
}
LISTS = {"liar": ["quick", *HTTP_FAULTS], "elder": ["quick", *HTTP_FAULTS], "mortal": ["slow", "die"]}


_lists = itertools.count()


def shifting() -> list[Any]:
    """Return another list of tools each time, and sometimes one that cannot be."""
    names = [f"tool_{n}" for n in random.sample(range(60), 30)]

    def listing(name: str, others: list[str]) -> dict[str, Any]:
        depends_on = random.sample(others, min(2, len(others)))
        return tool(name, "All about it. " * 100, _meta={TOOL_META_KEY: {"depends_on": depends_on}})

    # A list with tools that depend on each other in a circle is not used (XMCP-CLI-038): a server begins with another.
    early = next(_lists) < 5
    circles = not early and random.random() < 0.2
    listed: list[Any] = [listing(name, names if circles else names[:place]) for place, name in enumerate(names)]
    wrong: list[Any] = [{"name": 5}, tool("tool_1", inputSchema="none"), tool("x" * 100_000), None]
    return listed if early else listed + random.choice([[], [], [], wrong[:1], wrong[1:2], wrong[2:3], wrong[3:]])


def hostile() -> Any:
    """Return the four hostile servers as one application."""
    capabilities = {
        "tools": {"listChanged": True},
        "logging": {},
        "extensions": {EXTENSION_ID: {"versions": ["1.0"], "wire": "always"}},
    }

    async def answered(server: str, request: dict[str, Any], send: Any) -> None:
        method, info = request["method"], {"name": server, "version": "1"}
        if method == "server/discover" and server != "elder":
            meta = {"io.modelcontextprotocol/serverInfo": info}
            facts = {"supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private", "_meta": meta}
            value = answer(request, capabilities=capabilities, **facts)
        elif method == "initialize":
            version = request["params"]["protocolVersion"]
            value = answer(request, protocolVersion=version, capabilities=capabilities, serverInfo=info)
        elif method == "tools/list":
            listed = shifting() if server == "shifty" else [tool(name) for name in LISTS[server]]
            value = answer(request, tools=listed, ttlMs=0, cacheScope="private")
        elif method == "tools/call" and (name := request["params"]["name"]) in TOOLS:
            await TOOLS[name](request, send)
            return
        elif method == "tools/call":
            value = result(request)
        else:
            value = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "No such method."}}
        await whole(send, json.dumps(value).encode())

    async def changes(send: Any) -> None:
        """Tell of changes of the tools, which are none, and of much else: 1,000 times in one of five seconds."""
        await start(send, SSE)
        while True:
            if time.monotonic() % 5 < 1:
                await piece(send, notification() * 15 + notification("notifications/tools/list_changed") * 5)
            await asyncio.sleep(0.02)

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        server, body = scope["path"].split("/")[1], await body_of(receive)
        if scope["method"] == "GET" and server == "elder":
            work = asyncio.ensure_future(changes(send))
        elif scope["method"] != "POST":
            await whole(send, b"", status=405)
            return
        else:
            request = json.loads(body)
            if "id" not in request or "method" not in request:
                await whole(send, b"", status=202)
                return
            work = asyncio.ensure_future(answered(server, request, send))
        gone = asyncio.ensure_future(_gone(receive))
        limit = None if scope["method"] == "GET" else ENDLESS_SECONDS
        await asyncio.wait({work, gone}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        for task in (work, gone):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await work

    return app


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def serve_hostile(port: int) -> None:
    """Serve the hostile servers in a child, and start another child when one has died."""
    import uvicorn  # noqa: F401 -- so that each child has it at once

    parent = os.getpid()
    while True:
        if (child := os.fork()) == 0:
            _end_with(parent)
            listener = bound(port)
            listener.listen(2048)
            serve(hostile(), listener)
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.3)


def _end_with(parent: int) -> None:
    def wait() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Serve until the standard input ends."""
    reserved = bound()
    port = reserved.getsockname()[1]
    if sys.argv[1] == "honest":
        os.environ["FASTMCP_LOG_LEVEL"] = "CRITICAL"
        app = honest()
        reserved.listen(2048)
        print(port, flush=True)
        end_with_the_parent()
        serve(app, reserved, lifespan="on")
    else:
        # The parent's socket is bound and never listens: it keeps the port while no child serves there.
        print(port, flush=True)
        end_with_the_parent()
        serve_hostile(port)


if __name__ == "__main__":
    main()
