"""Redis is down, hangs, and comes back: chats go on, and answers of tools are kept in memory meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest
from support.chat_script import call
from support.gateways import eventually
from support.lost_records import Seen, lost, until_recorded
from support.mcp_servers import Program
from support.redis_server import RedisServer

pytestmark = pytest.mark.slow


def key(name: str) -> dict[str, str]:
    """Return the configuration of a key that is `xmcp_` and its name, of a tenant with that name."""
    return {"name": name, "tenant": name, "hash": f"sha256:{hashlib.sha256(f'xmcp_{name}'.encode()).hexdigest()}"}


async def test_two_gateways_share_answers_in_redis_and_go_on_without_it(
    store: str, start: Any, tools: Program, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_PASSWORD", redis_server.password)
    url = redis_server.url.replace(redis_server.password, "${REDIS_PASSWORD}")
    servers = {"keepable": {"url": tools.url("keepable")}}
    tables = {"cache": {"redis": url}, "keys": [key("a"), key("b")], "servers": servers}
    seen: list[Seen] = []
    async with (
        start(store, **tables) as one,
        start(store, **tables) as other,
        one.http(authorization="Bearer xmcp_a") as of_one,
        other.http(authorization="Bearer xmcp_a") as of_other,
        other.http(authorization="Bearer xmcp_b") as of_b,
    ):

        async def cached(http: Any, words: str) -> bool:
            """Hold a chat with a tool whose answers can be kept, and return whether it was from the cache."""
            answer = (await http.post("/chat", json={"input": call("square", of=words)})).json()
            seen.append(Seen.of(answer))
            assert f">square of {words}<" in answer["answer"]
            (used,) = answer["tools_used"]
            return bool(used["cached"])

        async def until_used(http: Any) -> None:
            async def is_used() -> bool:
                return bool((await http.get("/health")).json()["backends"]["redis"] == "up")

            await eventually(is_used)

        async def kept_by(http: Any, words: str) -> None:
            """Hold a chat whose answer is in Redis; a machine that is busy can be too slow for it, for a moment."""
            async with asyncio.timeout(60):
                await cached(http, words)
                while not await in_redis(redis_server):
                    await until_used(http)
                    await cached(http, f"{words}+")

        async def shared(http: Any, words: str) -> None:
            """Hold chats until one has its answer from Redis."""
            async with asyncio.timeout(60):
                while not await cached(http, words):
                    await until_used(http)

        await kept_by(of_one, "1")
        await shared(of_other, "1")
        assert not await cached(of_b, "1"), "another tenant has its own"

        for begin, end in (
            (redis_server.stop, redis_server.start),
            (redis_server.freeze, redis_server.resume),
        ):
            await asyncio.to_thread(begin)
            assert not await cached(of_one, begin.__name__), "the chat goes on"
            await one.until(0, "xmcp_backend_up", "redis")
            assert await cached(of_one, begin.__name__), "from memory"
            health = (await of_one.get("/health")).json()
            assert (health["status"], health["backends"]["redis"]) == ("degraded", "down")
            assert (await of_one.get("/readyz")).status_code == 200
            refused = await of_one.delete("/cache")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "cache_unavailable")
            await asyncio.to_thread(end)
            await one.until(1, "xmcp_backend_up", "redis")
            assert (await of_one.get("/health")).json()["status"] == "ok"
            await kept_by(of_one, f"after {begin.__name__}")

        assert (await of_one.delete("/cache")).status_code == 200
        await until_recorded(store, seen)
        assert [await one.terminate(), await other.terminate()] == [0, 0]
        assert redis_server.password not in one.log.read_text() + other.log.read_text()
    assert lost(store, seen) == {}


async def in_redis(server: RedisServer) -> bool:
    """Return whether something is kept there."""

    def size() -> int:
        with server.client() as client:
            return int(client.dbsize())

    return await asyncio.to_thread(size) > 0
