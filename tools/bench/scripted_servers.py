"""What the client's bench talks to, each in a process of its own: a scripted model and plain tool servers, on loopback.

    python bench_model.py model           chat completions in OpenAI's format
    python bench_model.py tools           a FastMCP server with five tools
    python bench_model.py many TOOLS      a FastMCP server with as many others, which nobody calls
    python bench_model.py chain           an XMCP server with three tools that depend on each other

Each prints its port on standard output once it can be connected to, and serves until its standard input ends, so that
it never outlives the bench. `GET /state` tells how many requests the model had and how many wait to be let go;
`POST /release` lets them go.

The prompt carries the script: the model keeps no state, any number of chats can use it at once, and it judges what a
client sent back. A chat in which a tool result is lost, cut, out of order or another chat's ends with an answer that
begins with `WRONG`.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

HELD_SECONDS = 300
"""The longest that anything waits to be let go."""

RESULTS: dict[str, Callable[..., str]] = {
    "echo": lambda text: text,
    "pause": lambda ms: f"paused for {ms} ms",
    "report": lambda size: " ".join(str(n) for n in range(size // 6 + 1)).ljust(size, ".")[:size],
    "add": lambda a, b: str(a + b),
    "wait": lambda text: f"waited for {text}",
    "find_order": lambda customer: f"order-of-{customer}",
    "find_invoice": lambda order: f"invoice-of-{order}",
    "send_reminder": lambda invoice: f"reminded of {invoice}",
}
"""What each tool answers: for the servers, which answer it, and for the model, which expects to see all of it."""


class Call(NamedTuple):
    """A call the model asks for. `filled` are parameters that it leaves to the client and the tools before."""

    name: str
    arguments: dict[str, Any]
    filled: dict[str, Any] = {}  # noqa: RUF012 -- nobody writes into it

    @property
    def result(self) -> str:
        """What the tool message has to contain."""
        return RESULTS[self.name](**{**self.arguments, **self.filled})


class Script(NamedTuple):
    """What the model does in a chat: the calls of each turn, then an answer of so many words.

    `pause` is the seconds before each answer and `gap` those between two words; `tools` is the least number of tools
    that have to be on offer. With `held` the model sends headers, and its last answer only when it is let go.
    """

    turns: list[list[Call]]
    words: int = 1
    pause: float = 0
    gap: float = 0
    tools: int = 0
    held: bool = False

    @classmethod
    def of(cls, told: Sequence[Any]) -> Script:
        """A script out of its JSON."""
        turns, *rest = told
        return cls([[Call(*call) for call in turn] for turn in turns], *rest)

    @property
    def prompt(self) -> str:
        """The message that makes the model follow it."""
        return f"#script {json.dumps(self)}"

    @property
    def answer(self) -> str:
        """The right last answer."""
        return " ".join(f"word{n}" for n in range(self.words))


def script_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Script, Sequence[Mapping[str, Any]]]:
    """The script in the last user message, and the messages after it."""
    place = max(n for n, message in enumerate(messages) if message["role"] == "user")
    return Script.of(json.loads(messages[place]["content"].removeprefix("#script "))), messages[place + 1 :]


def asked(script: Script, turn: int) -> list[dict[str, Any]]:
    """The calls of a turn in OpenAI's format."""
    return [
        {
            "id": f"call_{turn}_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for place, call in enumerate(script.turns[turn])
    ]


def fault(script: Script, after: Sequence[Mapping[str, Any]], tools: int) -> str | None:
    """What is wrong with the messages that followed the script, and with the number of tools; `None` if nothing is."""
    if tools < script.tools:
        return f"{tools} tools on offer, not {script.tools}"
    messages = iter(after)
    for turn, said in enumerate(messages):
        calls = asked(script, turn) if turn < len(script.turns) else []
        told = [{key: call.get(key) for key in ("id", "type", "function")} for call in said.get("tool_calls") or ()]
        if said["role"] != "assistant" or told != calls:
            return f"message {turn} of the model came back as another"
        for call, wanted in zip(calls, script.turns[turn], strict=True):
            result = next(messages, {})
            if result.get("role") != "tool" or result.get("tool_call_id") != call["id"]:
                return f"the result of {call['id']} is not in its place"
            if wanted.result not in result["content"]:
                return (
                    f"the result of {call['id']} ({wanted.name}) is not what the tool said: {result['content'][:200]}"
                )
    return None


# ---- the model ----

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class Gate:
    """Where requests wait to be let go, all at once; it is shut again behind them."""

    def __init__(self) -> None:
        self.requests = 0
        self.held = 0
        self._open = asyncio.Event()

    async def wait(self) -> None:
        """Wait, in bounded time."""
        self.held += 1
        try:
            await asyncio.wait_for(self._open.wait(), HELD_SECONDS)
        finally:
            self.held -= 1

    def release(self) -> None:
        """Let go whatever waits now."""
        self._open.set()
        self._open = asyncio.Event()


def controlled(gate: Gate, app: Any) -> Any:
    """`app` with `GET /state` and `POST /release` in front of it."""

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
    """The model, an ASGI application."""

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = json.loads(await _body(receive))
        gate.requests += 1
        script, after = script_of(request["messages"])
        turn = sum(message["role"] == "assistant" for message in after)
        wrong = fault(script, after, len(request.get("tools") or ()))
        calls = asked(script, turn) if not wrong and turn < len(script.turns) else []
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
    """As OpenAI sends them: the role alone, then word by word, then each call with its arguments in a piece apart."""
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
    """Five tools on a bare FastMCP server."""
    import fastmcp

    server = fastmcp.FastMCP("bench")

    @server.tool
    async def echo(text: str) -> str:
        """Say the same."""
        return RESULTS["echo"](text)

    @server.tool
    async def pause(ms: int) -> str:
        """Wait for some milliseconds."""
        await asyncio.sleep(ms / 1000)
        return RESULTS["pause"](ms)

    @server.tool
    async def report(size: int) -> str:
        """Return so many characters."""
        return RESULTS["report"](size)

    @server.tool
    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        return RESULTS["add"](a, b)

    @server.tool
    async def wait(text: str) -> str:
        """Wait to be let go."""
        await gate.wait()
        return RESULTS["wait"](text)

    return server.http_app()


def many(number: int) -> Any:
    """So many tools that nobody calls, on a bare FastMCP server."""
    import fastmcp

    server = fastmcp.FastMCP("many")
    for place in range(number):

        @server.tool(name=f"find_{place}", description=f"Find records of kind {place}, the newest first.")
        async def find(query: str, limit: int = 10, tags: list[str] | None = None) -> list[str]:
            return [query, *(tags or [])] * limit

    return server.http_app()


def chain() -> Any:
    """Three tools on an XMCP server, each of which needs what the one before provides."""
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
    """Serve."""
    import uvicorn

    # A refused call is the model's to report, in the chat's answer.
    os.environ["FASTMCP_LOG_LEVEL"] = "CRITICAL"
    kind, gate = sys.argv[1], Gate()
    more_files()
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
    # Idle connections stay: one closed in the moment it is used would be an error of the bench's making.
    config = uvicorn.Config(app, log_level="critical", ws="none", timeout_keep_alive=600, backlog=2048)
    uvicorn.Server(config).run(sockets=[listener])


def more_files() -> None:
    """As many open files as the system allows: a thousand chats that wait are as many connections."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _end_with_the_bench() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
