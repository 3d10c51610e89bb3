"""Servers for the client's tests: in memory, over HTTP, over stdio."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import uvicorn

from xmcp.wire import ToolResponse

SERVERS = Path(__file__).with_name("sample_servers.py")


class _Http(uvicorn.Server):
    def __init__(self, app: Any, sock: socket.socket) -> None:
        super().__init__(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0, lifespan="on"))
        self.up = asyncio.Event()
        self.task = asyncio.create_task(self.serve(sockets=[sock]))

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def stop(self) -> None:
        self.should_exit = True
        await self.task


@pytest.fixture(scope="session")
def servers() -> ModuleType:
    """The module `sample_servers`."""
    spec = importlib.util.spec_from_file_location("sample_servers", SERVERS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def stdio() -> Callable[[str], list[str]]:
    """The command that serves one of the sample servers on stdio."""
    return lambda which: [sys.executable, str(SERVERS), which]


@pytest.fixture
async def http() -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Serve a FastMCP object on a free port: `url = await http(server)`; the URL has no path.

    With `replaces=url` what is served there is stopped first and the new one takes its place.
    """
    running: dict[str, _Http] = {}

    async def start(server: Any, replaces: str | None = None) -> str:
        port = 0
        if replaces is not None:
            port = int(replaces.rpartition(":")[2])
            await running.pop(replaces).stop()
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        running[url] = _Http(server.http_app(), sock)
        await running[url].up.wait()
        return url

    yield start
    await asyncio.gather(*(server.stop() for server in running.values()))


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
    """The module `fault_peers`."""
    spec = importlib.util.spec_from_file_location("fault_peers", Path(__file__).with_name("fault_peers.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


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

    return partial(AIClient, openai_api_key="k", openai_base_url=chat_server.url)


@pytest.fixture
def talk(chat_server: Any) -> Callable[..., Awaitable[Told]]:
    """`await talk(ai, replies)`: one chat with the scripted model behind the real SDK, checked on the way.

    Every history that a model or a caller gets must be valid, and the chat must end within `seconds`.
    """

    async def talk(ai: Any, replies: list[Any], *, seconds: float = 15.0, history: Any = ()) -> Told:
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
