"""Databases that a test can take away from a gateway and give back: SQLite, PostgreSQL, and the way to PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from urllib.parse import urlsplit

from support.http_host import HttpHost
from support.postgres_server import PostgresServer
from support.road import Road


@dataclass(frozen=True)
class Outage:
    """A database, and what ends and begins its service.

    Attributes:
        url: For the gateway.
        direct: For the test, which needs no way that is cut.
        begin: Takes it away; blocks.
        end: Gives it back; blocks.
    """

    url: str
    direct: str
    begin: Callable[[], None]
    end: Callable[[], None]


@asynccontextmanager
async def locked(path: str) -> AsyncIterator[Outage]:
    """A SQLite file that another program holds locked during the outage."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        yield Outage(path, path, lambda: other.execute("BEGIN EXCLUSIVE"), lambda: other.execute("COMMIT"))  # type: ignore[arg-type, return-value]


@asynccontextmanager
async def stopped(server: PostgresServer, url: str) -> AsyncIterator[Outage]:
    """A server that is stopped without a warning, and started again."""
    yield Outage(url, url, server.stop, server.start)


@asynccontextmanager
async def cut(url: str) -> AsyncIterator[Outage]:
    """The way to a server: connections break, and new ones are refused."""
    async with _way(url) as (host, road, there):
        loop = asyncio.get_running_loop()

        async def begin() -> None:
            road.cut()
            await host.stop()

        def wait(what: Callable[[], object]) -> None:
            asyncio.run_coroutine_threadsafe(what(), loop).result(30)  # type: ignore[arg-type]

        yield Outage(there, url, lambda: wait(begin), lambda: wait(lambda: host.accept(road.accept)))


@asynccontextmanager
async def hung(url: str) -> AsyncIterator[Outage]:
    """The way to a server: connections are accepted, and nothing comes through."""
    async with _way(url) as (_, road, there):
        loop = asyncio.get_running_loop()
        set_, clear = road.open.set, road.open.clear
        yield Outage(
            there, url, lambda: loop.call_soon_threadsafe(clear) and None, lambda: loop.call_soon_threadsafe(set_) and None
        )


@asynccontextmanager
async def _way(url: str) -> AsyncIterator[tuple[HttpHost, Road, str]]:
    parts = urlsplit(url)
    road, host = Road(parts.hostname or "127.0.0.1", parts.port or 5432), HttpHost()
    await host.accept(road.accept)
    credentials = parts.netloc.rpartition("@")[0]
    address = f"127.0.0.1:{host.port}"
    try:
        yield host, road, parts._replace(netloc=f"{credentials}@{address}" if credentials else address).geturl()
    finally:
        await host.close()
        await road.close()
