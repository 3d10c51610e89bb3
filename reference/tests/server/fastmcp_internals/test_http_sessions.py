"""Sessions over HTTP and stdio: each request gets its own answer, and a session serves the user who opened it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import Client
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware

from xmcp import XMCP

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
VERSION = {"mcp-protocol-version": "2025-11-25"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


def call_of(request_id: Any, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


class Waiting:
    """A server whose tool `echo` answers when it is told to."""

    def __init__(self, **options: Any) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.mcp = XMCP(**options)

        @self.mcp.tool
        async def echo(text: str, wait: bool = False) -> str:
            if wait:
                self.begun.set()
                await self.go_on.wait()
            return text


class Session:
    """A session over streamable HTTP."""

    def __init__(self, http: httpx2.AsyncClient, url: str, headers: dict[str, str]) -> None:
        self._http, self._url, self._headers = http, f"{url}/mcp", headers

    async def post(self, message: dict[str, Any], **headers: str) -> httpx2.Response:
        every = {**HEADERS, **VERSION, **self._headers, **headers}
        return await self._http.post(self._url, json=message, headers=every, timeout=300)


@asynccontextmanager
async def session(app: Any, over_http: Any, **headers: str) -> AsyncIterator[Session]:
    async with over_http(app) as url, httpx2.AsyncClient() as http:
        opened = await Session(http, url, headers).post(INITIALIZE)
        assert opened.status_code == 200
        running = Session(http, url, {"mcp-session-id": opened.headers["mcp-session-id"], **headers})
        await running.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield running


@pytest.mark.parametrize("json_response", [False, True])
@pytest.mark.parametrize("second", [7, "7"])
async def test_a_request_with_the_id_of_another_one_that_runs_is_refused(
    second: Any, json_response: bool, over_http: Any
) -> None:
    server = Waiting()
    app = server.mcp.http_app(stateless_http=False, json_response=json_response)
    async with session(app, over_http) as running, anyio.create_task_group() as tasks:
        answers = []

        async def first() -> None:
            answers.append(await running.post(call_of(7, "echo", text="of the first", wait=True)))

        tasks.start_soon(first)
        await server.begun.wait()
        refused = await running.post(call_of(second, "echo", text="of the second"))
        assert refused.status_code == 409
        assert "The request id '7' belongs to a request of this session" in refused.json()["error"]["message"]
        assert "of the third" in (await running.post(call_of(8, "echo", text="of the third"))).text
        server.go_on.set()
        with anyio.fail_after(300):
            while not answers:  # noqa: ASYNC110 - an HTTP answer has no event
                await asyncio.sleep(0.01)
        assert "of the first" in answers[0].text
        assert "of the fourth" in (await running.post(call_of(7, "echo", text="of the fourth"))).text


async def test_an_id_is_in_use_after_its_client_has_gone(over_http: Any) -> None:
    server = Waiting()
    async with session(server.mcp.http_app(stateless_http=False), over_http) as running:
        gone = asyncio.create_task(running.post(call_of(7, "echo", text="of the first", wait=True)))
        await server.begun.wait()
        gone.cancel()
        await asyncio.wait([gone])
        await asyncio.sleep(0.2)  # until the server has noticed
        assert (await running.post(call_of(7, "echo", text="of the second"))).status_code == 409
        server.go_on.set()
        with anyio.fail_after(300):
            third = call_of(7, "echo", text="of the third")
            while (answer := await running.post(third)).status_code == 409:  # noqa: ASYNC110 - see above
                await asyncio.sleep(0.01)
        assert "of the third" in answer.text


async def test_a_cancelled_request_gives_its_id_back(over_http: Any) -> None:
    server = Waiting()
    async with session(server.mcp.http_app(stateless_http=False), over_http) as running:
        first = asyncio.create_task(running.post(call_of(7, "echo", text="of the first", wait=True)))
        await server.begun.wait()
        await running.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        assert "cancelled" in (await first).text
        assert "of the second" in (await running.post(call_of(7, "echo", text="of the second"))).text


async def test_the_stream_of_notifications_cannot_be_taken_by_a_request(over_http: Any) -> None:
    async with session(Waiting().mcp.http_app(stateless_http=False), over_http) as running:
        assert (await running.post(call_of("_GET_stream", "echo", text="x"))).status_code == 409


class ByHeader(AuthenticationBackend):
    """An application's own authentication, which FastMCP does not know."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    async def authenticate(self, conn: Any) -> tuple[AuthCredentials, BaseUser] | None:
        name = conn.headers.get("x-user")
        return None if name is None else (AuthCredentials([]), self._kind(name))


class Person(SimpleUser):
    @property
    def identity(self) -> str:
        return f"id of {self.username}"


@pytest.mark.parametrize("kind", [SimpleUser, Person])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_session_serves_the_user_who_opened_it(kind: Any, method: str, over_http: Any) -> None:
    outside = [Middleware(AuthenticationMiddleware, backend=ByHeader(kind))]
    app = Waiting().mcp.http_app(stateless_http=False, middleware=outside)
    message = call_of(1, "echo", text="x")
    async with session(app, over_http, **{"x-user": "alice"}) as running:
        for other in ("bob", ""):
            headers = {**HEADERS, **VERSION, **running._headers, "x-user": other}
            if not other:
                del headers["x-user"]
            body = message if method == "POST" else None
            refused = await running._http.request(method, running._url, headers=headers, timeout=300, json=body)
            assert refused.status_code == 404
            assert refused.json()["error"]["message"] == "Session not found"
        assert (await running.post(message)).status_code == 200


async def test_a_session_serves_the_verified_client_who_opened_it(over_http: Any) -> None:
    tokens: dict[str, Any] = {
        "a": {"client_id": "app", "sub": "alice", "scopes": []},
        "renewed": {"client_id": "app", "sub": "alice", "scopes": []},
        "b": {"client_id": "app", "sub": "bob", "scopes": []},
    }
    server = Waiting(auth=StaticTokenVerifier(tokens=tokens))
    app = server.mcp.http_app(stateless_http=False)
    message = call_of(1, "echo", text="x")
    async with session(app, over_http, Authorization="Bearer a") as running:
        assert (await running.post(message, Authorization="Bearer b")).status_code == 404
        assert (await running.post(message, Authorization="Bearer renewed")).status_code == 200


STDIO = """
import asyncio
from xmcp import XMCP
mcp = XMCP("waiting")
@mcp.tool
async def echo(text: str, seconds: float = 0) -> str:
    await asyncio.sleep(seconds)
    return text
mcp.serve("stdio")
"""


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_over_stdio_too_the_second_request_with_an_id_is_refused(era: str, tmp_path: Path) -> None:
    file = tmp_path / "waiting.py"
    file.write_text(STDIO)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    opening = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}] if era == "legacy" else []
    calls = [call_of(7, "echo", text="of the first", seconds=1), call_of(7, "echo", text="of the second")]
    if era == "auto":
        for call in calls:
            call["params"]["_meta"] = meta
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(file), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: list[dict[str, Any]] = []
    try:
        for message in [*opening, *calls]:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        async with asyncio.timeout(300):
            while len(answers) < 2:
                answer = json.loads(await process.stdout.readline())
                if answer.get("id") == 7:
                    answers.append(answer)
    finally:
        process.stdin.close()
        await process.wait()
    assert "is not answered yet" in answers[0]["error"]["message"]
    assert "of the first" in json.dumps(answers[1]["result"])


async def test_equal_ids_of_different_sessions_have_nothing_to_do_with_each_other(era: str, over_http: Any) -> None:
    server = Waiting()
    app = server.mcp.http_app(stateless_http=False)
    async with (
        over_http(app) as url,
        Client(f"{url}/mcp", mode=era, timeout=300) as one,
        Client(f"{url}/mcp", mode=era, timeout=300) as two,
    ):
        waiting = asyncio.create_task(one.call_tool_mcp("echo", {"text": "one", "wait": True}))
        await server.begun.wait()
        assert "two" in (await two.call_tool_mcp("echo", {"text": "two"})).content[0].text
        server.go_on.set()
        assert "one" in (await waiting).content[0].text
