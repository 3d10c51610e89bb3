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

        def begin() -> None:
            other.execute("BEGIN EXCLUSIVE")

        def end() -> None:
            other.execute("COMMIT")

        yield Outage(path, path, begin, end)


@asynccontextmanager
async def stopped(server: PostgresServer, url: str) -> AsyncIterator[Outage]:
    """A server that is stopped without a warning, and started again; in any case it runs afterwards."""
    runs = True

    def begin() -> None:
        nonlocal runs
        server.stop()
        runs = False

    def end() -> None:
        nonlocal runs
        server.start()
        runs = True

    try:
        yield Outage(url, url, begin, end)
    finally:
        if not runs:
            server.start()


@asynccontextmanager
async def cut(url: str) -> AsyncIterator[Outage]:
    """The way to a server: connections break, and new ones are refused."""
    async with _way(url) as (host, road, there):
        loop = asyncio.get_running_loop()

        async def refuse() -> None:
            road.cut()
            await host.stop()

        def begin() -> None:
            asyncio.run_coroutine_threadsafe(refuse(), loop).result(30)

        def end() -> None:
            asyncio.run_coroutine_threadsafe(host.accept(road.accept), loop).result(30)

        yield Outage(there, url, begin, end)


@asynccontextmanager
async def hung(url: str) -> AsyncIterator[Outage]:
    """The way to a server: connections are accepted, and nothing comes through."""
    async with _way(url) as (_, road, there):
        loop = asyncio.get_running_loop()

        def begin() -> None:
            loop.call_soon_threadsafe(road.open.clear)

        def end() -> None:
            loop.call_soon_threadsafe(road.open.set)

        yield Outage(there, url, begin, end)


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
