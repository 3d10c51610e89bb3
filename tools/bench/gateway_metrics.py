"""Measure what watching a gateway costs: chats over HTTP with metrics, and without.

floor   the same chats at a gateway of which nothing is measured, in the same process. A chat is a question, two calls
        of a tool that answers at once, and an answer in 40 pieces, streamed; a scripted model answers at once, too. The
        metrics are read ten times a second, a hundred times as often as Prometheus does.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import aiohttp

from tools.bench.figure import Figure
from xmcp.client import AIClient
from xmcp.gateway.access.access import Access
from xmcp.gateway.config import GatewayConfig
from xmcp.gateway.keys import Keys
from xmcp.gateway.metrics.port import GatewayMetrics
from xmcp.gateway.service import Gateway, Offered
from xmcp.gateway.serving import GatewayServer
from xmcp.providers import ScriptedProvider
from xmcp.providers.scripted import Turn
from xmcp.server import XMCP
from xmcp.server.transports.http_server import listen

CHATS: Final = 20
READ_SECONDS: Final = 0.1


def figures(rounds: int) -> Iterator[Figure]:
    """Yield what metrics cost a chat."""
    yield asyncio.run(_metrics(rounds))


async def _metrics(rounds: int) -> Figure:
    """Compare chats with and without metrics in pairs, each in turn the first."""
    pairs = []
    async with AsyncExitStack() as up:
        http = await up.enter_async_context(aiohttp.ClientSession())
        off, _ = await up.enter_async_context(_gateway(metrics=False))
        on, metrics = await up.enter_async_context(_gateway(metrics=True))
        reading = asyncio.create_task(_read(http, metrics))
        for number in range(rounds + 1):
            taken = {}
            for url in (on, off)[:: 1 if number % 2 else -1]:
                taken[url] = statistics.median([await _chat(http, url) for _ in range(CHATS)])
            pairs.append((taken[on], taken[off]))
        reading.cancel()
    ratios = sorted(on / off for on, off in pairs[1:])  # the first round warms up
    with_, without = (statistics.median(column) * 1000 for column in zip(*pairs[1:], strict=True))
    spread = f"from {ratios[0]:.2f} to {ratios[-1]:.2f}"
    rest = f"{with_:.2f} ms, without {without:.2f}; {spread}"
    return Figure("gateway: a chat with metrics, x without", statistics.median(ratios), 1.05, rest)


@asynccontextmanager
async def _gateway(*, metrics: bool) -> AsyncIterator[tuple[str, str]]:
    """Serve a gateway; the addresses are those of the chats and of the metrics."""
    server = XMCP("bench")

    @server.tool
    def look_up(name: str) -> str:
        """Look something up."""
        return f"{name} is 42"

    call = ("look_up", {"name": "x"})
    model = ScriptedProvider([Turn("I look.", [call]), Turn("", [call]), " ".join(["and so it goes"] * 10)])
    config = GatewayConfig()
    gateway = Gateway(AIClient([server], llm_provider=model), [Offered("bench")], config, Access(Keys((), "none", {})))
    ready = asyncio.Event()
    with listen("127.0.0.1", 0) as chats, listen("127.0.0.1", 0) as port:
        measured = GatewayMetrics(gateway) if metrics else None
        serving = GatewayServer(gateway, ready.set, measured, log_level="critical")
        task = asyncio.create_task(serving.serve([chats]))
        await ready.wait()
        address, read = (f"http://127.0.0.1:{one.getsockname()[1]}" for one in (chats, port))
        try:
            if measured is None:
                yield address, ""
            else:
                with measured.served(port):
                    yield address, f"{read}/metrics"
        finally:
            serving.should_exit = True
            await task


async def _chat(http: aiohttp.ClientSession, url: str) -> float:
    begun = time.perf_counter()
    async with http.post(
        f"{url}/chat", json={"input": "What is x?"}, headers={"accept": "text/event-stream"}
    ) as answer:
        text = await answer.text()
    seconds = time.perf_counter() - begun
    if "event: run.finished" not in text:
        raise AssertionError(f"the chat was not finished: {text}")
    return seconds


async def _read(http: aiohttp.ClientSession, url: str) -> None:
    while True:
        async with http.get(url) as answer:
            await answer.read()
        await asyncio.sleep(READ_SECONDS)
