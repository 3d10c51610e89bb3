"""A gateway on a port of the loopback, in the process of the test, with a scripted model and a server with tools."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import orjson

from xmcp import XMCP, AIClient, DisplayEnvelope
from xmcp.gateway.access.access import Access, KeyDatabase
from xmcp.gateway.access.quota_hook import QuotaHook
from xmcp.gateway.approval import approver
from xmcp.gateway.audit import AuditLog
from xmcp.gateway.audit.archive import Archive
from xmcp.gateway.config_file import config_of
from xmcp.gateway.keys import Keys
from xmcp.gateway.metrics.port import GatewayMetrics
from xmcp.gateway.runs.observer import RunObserver
from xmcp.gateway.service import Gateway, Offered
from xmcp.gateway.serving import GatewayServer
from xmcp.gateway.tenant_cache import TenantCache
from xmcp.gateway.workers.place import WorkerPlace
from xmcp.gateway.workers.sockets import bound
from xmcp.server.transports.http_server import listen


class Shop:
    """An XMCP server in this process; `calls` are the tools that were called, `stopped` those that were cancelled."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.began = asyncio.Event()
        """Set when `wait` is called."""
        self.stopped = asyncio.Event()
        """Set when `wait` is cancelled."""
        mcp: Any = XMCP("shop")
        self.mcp = mcp

        @mcp.tool
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            self.calls.append("add")
            return a + b

        @mcp.display_tool
        def sales(region: str, show_user: bool = False) -> Any:
            """Sales of a region."""
            self.calls.append("sales")
            payload = [{"region": region, "sales": 42}]
            return DisplayEnvelope(type="table", title="Sales", payload=payload, alt="42") if show_user else payload

        @mcp.tool
        def fail() -> str:
            """Always fails."""
            self.calls.append("fail")
            raise RuntimeError("/srv/secret/orders.db is locked")

        @mcp.tool
        async def wait() -> str:
            """Answers never."""
            self.calls.append("wait")
            self.began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.stopped.set()
                raise
            return "never"


@dataclass
class Served:
    """A gateway that is served, and how to reach it."""

    url: str
    gateway: Gateway
    server: GatewayServer
    shop: Shop
    task: asyncio.Task[None]
    headers: dict[str, str] = field(default_factory=dict)
    metrics_url: str = ""

    def http(self, **options: Any) -> httpx2.AsyncClient:
        """Return a client for its address."""
        return httpx2.AsyncClient(**{"base_url": self.url, "timeout": 30, "headers": self.headers, **options})

    def openai(self, **options: Any) -> Any:
        """Return OpenAI's own client."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            **{"base_url": f"{self.url}/v1", "api_key": "none", "max_retries": 0, "timeout": 30, **options}
        )


@asynccontextmanager
async def served(
    model: Any,
    config: Mapping[str, Any] | None = None,
    *,
    audit: AuditLog | None = None,
    archive: Archive | None = None,
    cache: TenantCache | None = None,
    observer: RunObserver | None = None,
    metrics: bool | Path = False,
    database: KeyDatabase | None = None,
    middleware: Sequence[Any] = (),
    more_models: Sequence[Offered] = (),
    place: WorkerPlace | None = None,
    http: str = "auto",
    **options: Any,
) -> AsyncIterator[Served]:
    """Serve a gateway for `model` with the tools of a `Shop`; `config` is what a file would say.

    With `metrics`, they are served, too, at `metrics_url`, or on a Unix socket at a path. With a `place` it is one of
    several processes, which all are in that of the test.
    """
    shop = Shop()
    settings = config_of(config or {}, "gateway.toml")
    events = settings.openai.events
    keys = Keys(settings.keys, events, {"FRONT_END_KEY": "xmcp_front"}, settings.tenants)
    access = Access(keys, events, database)
    hooks = [QuotaHook(access.ledger, settings.access.reserve_output_tokens), *middleware]
    asking = {"approve": approver(settings.chat), "approval_timeout": settings.chat.approval_seconds}
    usual = {"breaker_threshold": None, "cache": cache, **asking}
    ai = AIClient([shop.mcp], llm_provider=model, middleware=hooks, **{**usual, **options})
    models = [Offered("assistant"), *more_models]
    observers = [observer] if observer else []
    gateway = Gateway(ai, models, settings, access, audit, observers, cache, archive=archive)
    up = asyncio.Event()
    exits = ExitStack()
    measured = GatewayMetrics(gateway) if metrics else None
    server = GatewayServer(gateway, up.set, measured, place=place, log_level="critical", http=http)
    listeners = [listen("127.0.0.1", 0)]
    url = f"http://127.0.0.1:{listeners[0].getsockname()[1]}"
    if place is not None:
        listeners.append(socket.socket(socket.AF_UNIX))
        listeners[1].bind(str(place.socket_of(place.number)))
    task = asyncio.create_task(server.serve(listeners))
    try:
        async with asyncio.timeout(30):
            await up.wait()
        made = Served(url, gateway, server, shop, task)
        if measured is not None:
            port = exits.enter_context(bound(metrics) if isinstance(metrics, Path) else listen("127.0.0.1", 0))
            exits.enter_context(measured.served(port))
            made.metrics_url = measured.url
        yield made
    finally:
        exits.close()
        server.should_exit = True
        async with asyncio.timeout(30):
            await task


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until a condition holds that no event announces."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def eventually(condition: Callable[[], Awaitable[object]], seconds: float = 60.0) -> None:
    """Wait until a condition holds that takes a question to find out."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def events_in(text: str) -> list[tuple[str, str, Any]]:
    """Return name, id and JSON value of each server-sent event; the value of `[DONE]` is that text."""
    events = []
    for block in text.split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if line and not line.startswith(":")]
        fields = {name: value for name, _, value in lines}
        if "data" in fields:
            data = fields["data"]
            value = data if data == "[DONE]" else orjson.loads(data)
            events.append((fields.get("event", ""), fields.get("id", ""), value))
    return events


def types_in(text: str) -> list[str]:
    """Return the names of the events in a native stream."""
    return [name for name, _, _ in events_in(text)]


def chunks_in(text: str) -> Sequence[Any]:
    """Return the values of the events in a stream of OpenAI's format."""
    return [value for _, _, value in events_in(text)]
