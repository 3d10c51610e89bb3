"""The connection to one Redis: creating the client, limiting the time of operations, wording the errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from xmcp.storage.errors import StoreError

if TYPE_CHECKING:
    from redis.asyncio import Redis

MAX_CONNECTIONS: Final = 16
"""Maximum number of connections of one store; an operation waits for a free one, within its timeout."""


class RedisConnection:
    """A Redis client with a timeout for every operation. For one event loop; it connects at the first use.

    Args:
        url: `redis://[user:password@]host:port/db`, `rediss://` for TLS, or `unix://`; redis-py's options as a query.
        client: A client of the caller instead of `url`; the caller has to close it.
        timeout: Maximum seconds of one operation, connecting and waiting for a free connection included.
        error: The exception class to raise.

    Raises:
        ModuleNotFoundError: redis-py is not installed.
        ValueError: `url` cannot be parsed, or `timeout` is not above 0.
        TypeError: `client` is not a `redis.asyncio.Redis`.
    """

    def __init__(self, url: str, client: Redis | None, timeout: float, error: type[StoreError]) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}.")
        try:
            from redis import asyncio as redis_asyncio
        except ModuleNotFoundError as exc:
            raise ModuleNotFoundError('Redis needs the package redis: pip install "xmcp[redis]".') from exc
        if client is not None and not isinstance(client, redis_asyncio.Redis):
            raise TypeError(
                f"client must be a redis.asyncio.Redis, not {type(client).__module__}.{type(client).__name__}."
            )
        self._own = client is None
        self.client: Redis = _client(url) if client is None else client
        self._timeout = timeout
        self._error = error
        self._name = _name(self.client.connection_pool.connection_kwargs, self._own)

    @asynccontextmanager
    async def bounded(self, timeout: float | None = None) -> AsyncIterator[Redis]:
        """Provide the client for one operation; `timeout`: its maximum seconds, in place of those of the connection.

        Raises:
            StoreError: The operation failed or took too long; the class is `error` of the constructor.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        seconds = self._timeout if timeout is None else timeout
        limit, cancelling = asyncio.timeout(seconds), task.cancelling()
        try:
            async with limit:
                yield self.client
        except Exception as exc:
            # redis-py raises its own errors, OSError, UnicodeError, and RuntimeError of a closed loop.
            if task.cancelling() == cancelling:
                problem = f"did not answer within {seconds:g} s" if limit.expired() else f"failed: {_detail(exc)}"
                advice = "Check that it runs, and its URL, user and password."
                raise self._error(f"{self._name} {problem}. {advice}") from exc
        # With a `socket_timeout` redis-py sends through `asyncio.wait_for`, which below Python 3.12 can swallow a
        # cancellation (CPython gh-86296).
        if task.cancelling() > cancelling:
            raise asyncio.CancelledError

    async def aclose(self) -> None:
        """Close the connections, unless the caller gave the client. Never raises, never takes longer than `timeout`."""
        if self._own:
            with suppress(Exception):
                async with asyncio.timeout(self._timeout):
                    await self.client.aclose()


def _client(url: str) -> Redis:
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            # `bounded` limits the time of all; a timeout of redis-py's own can delay a cancellation until it is over.
            timeout=None,
            socket_timeout=None,
            socket_connect_timeout=None,
            # No retries: a failure would be counted twice.
            retry=Retry(NoBackoff(), 0),
            # With protocol 3 the pool does not replace a connection that broke while idle, and a server that is too old
            # for it repeats the password in its error.
            protocol=2,
        )
    except ValueError:
        # Not `from`: the parser's message can contain a part of the password, if there is a slash in it.
        raise ValueError(
            "The Redis URL cannot be parsed: write redis://user:password@host:port/db, with %-escapes for the "
            "characters / ? # @ : in user and password."
        ) from None
    return Redis.from_pool(pool)


def _name(connection: Mapping[str, Any], own: bool) -> str:
    # Never the whole URL, which contains the credentials. A client that uses Sentinel has no address of its own.
    if not own and "host" not in connection and "path" not in connection:
        return "The Redis of the given client"
    address = f"{connection.get('host', 'localhost')}:{connection.get('port', 6379)}"
    return f"The Redis at {connection.get('path', address)}"


def _detail(exc: Exception) -> str:
    # The error for an unknown command repeats its arguments: values, which may be secret.
    text = str(exc).partition(", with args")[0].partition("\n")[0][:160].rstrip(". ")
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__
