"""The model and the tool servers that the bench of the client talks to, each in a process of its own, on loopback.

    python -m tools.bench.scripted_servers model        chat completions in OpenAI's format
    python -m tools.bench.scripted_servers tools        a FastMCP server with five tools
    python -m tools.bench.scripted_servers many TOOLS   a FastMCP server with TOOLS other tools, which no script calls
    python -m tools.bench.scripted_servers chain        an XMCP server with three tools that depend on each other

Each prints its port on standard output as soon as it accepts connections, and serves until its standard input ends, so
that it never outlives the bench. `GET /state` returns the number of requests to the model and the number of requests
that wait for a release; `POST /release` releases those.

The prompt carries the script: the model keeps no state, any number of chats can use it at once, and it checks what the
client sends back. If a tool result is lost, cut, out of order or another chat's, the last answer begins with `WRONG`.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from tools.bench import open_files
from tools.bench.script import RESULTS, fault, script_of, tool_calls

HELD_SECONDS = 300
"""Maximum time that a request waits for a release."""

# ---- the model ----

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class Gate:
    """Holds requests back until the next release, and counts them."""

    def __init__(self) -> None:
        self.requests = 0
        self.held = 0
        self._open = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the next release, for at most HELD_SECONDS."""
        self.held += 1
        try:
            await asyncio.wait_for(self._open.wait(), HELD_SECONDS)
        finally:
            self.held -= 1

    def release(self) -> None:
        """Release every request that waits now."""
        self._open.set()
        self._open = asyncio.Event()


def controlled(gate: Gate, app: Any) -> Any:
    """Return `app` with `GET /state` and `POST /release` in front of it."""

    async def control(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        path = scope.get("path")
        if path == "/state":
            await _whole(send, {"requests": gate.requests, "held": gate.held})
        elif path == "/release":
            gate.release()
            await _whole(send, {})
        else:
            await app(scope, receive, send)

    return control


def model(gate: Gate) -> Any:
    """Return the model as an ASGI application."""

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = json.loads(await _body(receive))
        gate.requests += 1
        script, after = script_of(request["messages"])
        turn = sum(message["role"] == "assistant" for message in after)
        wrong = fault(script, after, len(request.get("tools") or ()))
        calls = tool_calls(script, turn) if not wrong and turn < len(script.turns) else []
        text = f"WRONG: {wrong}" if wrong else None if calls else script.answer
        if script.pause:
            await asyncio.sleep(script.pause)
        head = {"id": "chatcmpl-bench", "created": 1, "model": request["model"]}
        usage = {"prompt_tokens": 100, "completion_tokens": script.words, "total_tokens": 100 + script.words}
        if not request.get("stream"):
            message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
            await _whole(send, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        if script.held and not calls:
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            await gate.wait()
        for delta in _deltas(text, calls):
            if script.gap and delta.get("content", "").startswith(" "):
                await asyncio.sleep(script.gap)
            await _event(send, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        last = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
        await _event(send, {**head, "choices": [last]})
        if (request.get("stream_options") or {}).get("include_usage"):
            await _event(send, {**head, "choices": [], "usage": usage})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})

    return app


def _deltas(text: str | None, calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield deltas as OpenAI sends them: the role, then each word, then each call and, separately, its arguments."""
    yield {"role": "assistant", "content": None if text is None else ""}
    if text is not None:
        first, *others = text.split(" ")
        yield {"content": first}
        for word in others:
            yield {"content": f" {word}"}
    for place, call in enumerate(calls):
        function = call["function"]
        yield {"tool_calls": [{**call, "index": place, "function": {"name": function["name"], "arguments": ""}}]}
        yield {"tool_calls": [{"index": place, "function": {"arguments": function["arguments"]}}]}


async def _body(receive: Receive) -> bytes:
    pieces, more = [], True
    while more:
        event = await receive()
        pieces.append(event.get("body", b""))
        more = event.get("more_body", False)
    return b"".join(pieces)


async def _whole(send: Send, value: object) -> None:
    body = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _event(send: Send, value: dict[str, Any]) -> None:
    body = b"data: " + json.dumps({"object": "chat.completion.chunk", **value}).encode() + b"\n\n"
    await send({"type": "http.response.body", "body": body, "more_body": True})


# ---- the tool servers ----


def tools(gate: Gate) -> Any:
    """Return a bare FastMCP server with five tools."""
    import fastmcp

    server = fastmcp.FastMCP("bench")

    @server.tool
    async def echo(text: str) -> str:
        """Return the same text."""
        return RESULTS["echo"](text)

    @server.tool
    async def pause(ms: int) -> str:
        """Wait for some milliseconds."""
        await asyncio.sleep(ms / 1000)
        return RESULTS["pause"](ms)

    @server.tool
    async def report(size: int) -> str:
        """Return `size` characters."""
        return RESULTS["report"](size)

    @server.tool
    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        return RESULTS["add"](a, b)

    @server.tool
    async def wait(text: str) -> str:
        """Wait for a release."""
        await gate.wait()
        return RESULTS["wait"](text)

    return server.http_app()


def many(number: int) -> Any:
    """Return a bare FastMCP server with `number` tools that no script calls."""
    import fastmcp

    server = fastmcp.FastMCP("many")
    for place in range(number):

        @server.tool(name=f"find_{place}", description=f"Find records of kind {place}, the newest first.")
        async def find(query: str, limit: int = 10, tags: list[str] | None = None) -> list[str]:
            return [query, *(tags or [])] * limit

    return server.http_app()


def chain() -> Any:
    """Return an XMCP server with three tools, each of which needs what the one before provides."""
    import xmcp

    server = xmcp.XMCP("chain")

    @server.tool(provides="order")
    async def find_order(customer: str) -> str:
        """Find a customer's order."""
        return RESULTS["find_order"](customer)

    @server.tool(depends_on=["find_order"], provides="invoice")
    async def find_invoice(order: str) -> str:
        """Find an order's invoice."""
        return RESULTS["find_invoice"](order)

    @server.tool(depends_on=["find_invoice"])
    async def send_reminder(invoice: str) -> str:
        """Send a reminder of an invoice."""
        return RESULTS["send_reminder"](invoice)

    return server.http_app()


# ---- serving ----


def main() -> None:
    """Serve until the standard input ends."""
    import uvicorn

    # The model reports a refused call in its answer; the log would repeat it.
    os.environ["FASTMCP_LOG_LEVEL"] = "CRITICAL"
    kind, gate = sys.argv[1], Gate()
    open_files.raise_limit()
    builders = {
        "model": lambda: model(gate),
        "tools": lambda: tools(gate),
        "many": lambda: many(int(sys.argv[2])),
        "chain": chain,
    }
    app = controlled(gate, builders[kind]())
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=_end_with_the_bench, daemon=True).start()
    # Keep idle connections: closing one while a client begins to use it would be an error that the bench causes.
    config = uvicorn.Config(app, log_level="critical", ws="none", timeout_keep_alive=600, backlog=2048)
    uvicorn.Server(config).run(sockets=[listener])


def _end_with_the_bench() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
