"""A Redis for the tests of stores: a separate namespace for each test, and a connection that can be blocked."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import pytest
import redis
from support.http_host import listening
from support.road import Road


@pytest.fixture
def redis_url() -> str:
    """The URL of a Redis that answers; the test is skipped where there is none, and fails where CI says so."""
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
    try:
        with redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2, retry=None) as client:
            client.ping()
    except (redis.RedisError, OSError) as exc:
        reason = f"no Redis at REDIS_URL ({type(exc).__name__}): start one, or set the variable"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return url


@pytest.fixture
def prefix(redis_url: str) -> Iterator[str]:
    """A prefix nobody else has; the keys that begin with it are gone after the test."""
    mine = f"xmcp-test:{secrets.token_hex(8)}:"
    yield mine
    with redis.Redis.from_url(redis_url) as client:
        keys = [*client.scan_iter(match=mine + "*", count=1000)]
        if keys:
            client.unlink(*keys)


@pytest.fixture
async def road(redis_url: str) -> AsyncIterator[Road]:
    parts = urlsplit(redis_url)
    road = Road(parts.hostname or "127.0.0.1", parts.port or 6379)
    async with listening(road.accept) as port:
        # Credentials and database stay; only the address is the relay's.
        credentials = parts.netloc.rpartition("@")[0]
        address = f"127.0.0.1:{port}"
        road.url = parts._replace(netloc=f"{credentials}@{address}" if credentials else address).geturl()
        yield road
        await road.close()
