"""Servers for the client's tests: in memory, over HTTP, over stdio."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

# The first connection of a process imports for seconds on a busy machine; tests with short time-outs start after that.
import mcp.client.subscriptions  # noqa: F401
import pytest
from support import faulty_line, mcp_servers
from support.http_host import HttpHost

import xmcp.client.servers.fastmcp_internals  # noqa: F401
from xmcp.wire import ToolResponse


@pytest.fixture(scope="session")
def servers() -> ModuleType:
    """The module `support.mcp_servers`."""
    return mcp_servers


@pytest.fixture
def stdio() -> Callable[[str], list[str]]:
    """The command that serves one of the sample servers on stdio."""
    return mcp_servers.stdio_command


@pytest.fixture
async def http() -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Serve a FastMCP object on a free port: `url = await http(server)`; the URL has no path.

    With `replaces=url` what is served there is stopped first and the new one takes its place.
    """
    hosts: dict[str, HttpHost] = {}

    async def start(server: Any, replaces: str | None = None) -> str:
        if replaces is None:
            host = HttpHost()
            hosts[host.url] = host
        else:
            host = hosts[replaces]
            await host.stop()
        await host.serve(server.http_app())
        return host.url

    yield start
    await asyncio.gather(*(host.close() for host in hosts.values()))


def invariant(history: list[dict[str, Any]]) -> None:
    """Fails unless each call of a history is answered at once, once, in call order, and has a name that vendors take.

    Shares nothing with the product.
    """
    waiting: list[str] = []
    for message in history:
        if message["role"] == "tool":
            assert waiting, message
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call["id"] for call in message.get("tool_calls", [])]
            assert len(set(waiting)) == len(waiting)
            for call in message.get("tool_calls", []):
                assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["function"]["name"])
    assert not waiting


@pytest.fixture
def valid() -> Callable[[list[dict[str, Any]]], None]:
    """The check `invariant`."""
    return invariant


@pytest.fixture(scope="session")
def peers() -> ModuleType:
    """The module `support.faulty_line`."""
    return faulty_line


@pytest.fixture(scope="session")
def program(peers: ModuleType) -> Iterator[Any]:
    """A `Program` that serves, for tests that leave it as it is."""
    running = peers.Program()
    running.listen()
    yield running
    running.kill()


@pytest.fixture
async def line(peers: ModuleType, program: Any) -> AsyncIterator[Any]:
    """A `Line` to `program`."""
    made = peers.Line(program.port)
    async with peers.listening(made.serve) as made.port:
        yield made


@pytest.fixture
async def witness(peers: ModuleType) -> AsyncIterator[Any]:
    """A `Witness` for the tool `hang`."""
    made = peers.Witness()
    async with peers.listening(made.hear) as made.port:
        yield made


@pytest.fixture
async def nothing_left(peers: ModuleType) -> AsyncIterator[None]:
    """Fails if a task that is no peer's outlives the test."""
    before = asyncio.all_tasks()
    yield
    await asyncio.sleep(0)
    left = {task for task in asyncio.all_tasks() - before if not peers.is_peers_task(task)}
    assert left - {asyncio.current_task()} == set()


@dataclass(frozen=True)
class Told:
    """One chat from outside: its events, its result, and the tool messages that the model was given."""

    chunks: list[Any]
    result: Any
    seen: list[ToolResponse]
    texts: list[str]


@pytest.fixture
def ai_for(chat_server: Any) -> Callable[..., Any]:
    """`ai_for(targets, **options)`: an `AIClient` whose model is `chat_server`, asked by the real SDK."""
    from xmcp.client import AIClient

    # A program takes its time to start on a busy machine.
    return partial(AIClient, openai_api_key="k", openai_base_url=chat_server.url, connect_timeout=60)


@pytest.fixture
def talk(chat_server: Any) -> Callable[..., Awaitable[Told]]:
    """`await talk(ai, replies)`: one chat with the scripted model behind the real SDK, checked on the way.

    Every history that a model or a caller gets must be valid, and the chat must end within `seconds`.
    """

    async def talk(ai: Any, replies: list[Any], *, seconds: float = 60.0, history: Any = ()) -> Told:
        asked = len(chat_server.requests)
        left = iter(replies)
        over = chat_server.reply.error(400, "the script is over")
        chat_server.replies = lambda _: next(left, over)
        async with asyncio.timeout(seconds):
            chunks = [chunk async for chunk in ai.stream_chat("q", [*history])]
        result = chunks[-1].result
        for request in chat_server.requests[asked:]:
            invariant(request["messages"])
        invariant(result["history"])
        assert next(left, None) is None, "the model was not asked as often as the script says"
        texts = [message["content"] for message in result["history"][len(history) :] if message["role"] == "tool"]
        return Told(chunks, result, [ToolResponse.from_xml(text) for text in texts], texts)

    return talk
