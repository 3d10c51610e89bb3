"""A server's ASGI application that is called without sockets, from synchronous tests, one request after the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from sse_starlette.sse import AppStatus

VERSIONS = {"modern": "2026-07-28", "handshake": "2025-11-25"}
"""The protocol version that stands for each era."""

_ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def called(era: str, name: str, arguments: Any, number: Any = 1) -> dict[str, Any]:
    """Return the message that calls a tool."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if era == "modern":
        prefix = "io.modelcontextprotocol/"
        client = {"name": "test", "version": "1"}
        params["_meta"] = {
            f"{prefix}protocolVersion": VERSIONS[era],
            f"{prefix}clientInfo": client,
            f"{prefix}clientCapabilities": {},
        }
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def headers_of(era: str, name: str = "look") -> dict[str, str]:
    """Return the headers with which a client sends such a message."""
    mirrored = {"Mcp-Method": "tools/call", "Mcp-Name": name} if era == "modern" else {}
    return {**_ACCEPTED, "Mcp-Protocol-Version": VERSIONS[era], **mirrored}


def answers_in(response: httpx2.Response) -> list[Any]:
    """Return the JSON-RPC messages in an answer, as JSON or as a stream of events."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        lines = response.text.split("\n")  # not splitlines(), which also splits at U+0085 inside the data
        return [
            json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:") and line[5:].strip()
        ]
    return [response.json()] if response.content.strip() else []


class ServedApp:
    """Sends requests to an application whose lifespan runs."""

    def __init__(self, app: Any, runner: asyncio.Runner) -> None:
        self._app, self._runner = app, runner

    def send(self, method: str, body: bytes, headers: list[tuple[bytes, bytes]], seconds: float) -> httpx2.Response:
        """Return the whole answer to one request.

        Raises:
            TimeoutError: There is none in time.
        """
        return self._runner.run(self._send(method, body, headers, seconds))

    async def _send(self, method: str, body: bytes, headers: Any, seconds: float) -> httpx2.Response:
        # Each stream would end before its answer if a test has stopped a uvicorn server in this process: sse-starlette
        # finds that in its own flag, or in the server to which a handler of SIGTERM still belongs.
        AppStatus.should_exit = False
        AppStatus.enable_automatic_graceful_drain = False
        transport = httpx2.ASGITransport(app=self._app)
        async with asyncio.timeout(seconds), httpx2.AsyncClient(transport=transport) as client:
            return await client.send(httpx2.Request(method, "http://127.0.0.1/mcp", headers=headers, content=body))

    def result(self, era: str, name: str, arguments: Any, seconds: float) -> Any:
        """Return the result of an honest call."""
        body = json.dumps(called(era, name, arguments)).encode()
        headers = [(key.encode(), value.encode()) for key, value in headers_of(era, name).items()]
        return answers_in(self.send("POST", body, headers, seconds))[-1]["result"]


@contextmanager
def served_app(app: Any) -> Iterator[ServedApp]:
    """Run the lifespan of an application until the block ends."""
    with asyncio.Runner() as runner:
        up, end = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            async with app.router.lifespan_context(app):
                up.set()
                await end.wait()

        async def start() -> asyncio.Task[None]:
            holding = asyncio.create_task(hold())
            await up.wait()
            return holding

        async def stop(holding: asyncio.Task[None]) -> None:
            end.set()
            await holding

        holding = runner.run(start())
        try:
            yield ServedApp(app, runner)
        finally:
            runner.run(stop(holding))
