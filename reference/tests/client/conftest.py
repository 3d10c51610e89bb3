"""Servers for the client's tests: in memory, over HTTP, over stdio."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import uvicorn

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
