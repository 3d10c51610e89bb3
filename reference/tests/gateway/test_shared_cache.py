"""The cache of tool answers in Redis: shared by gateways, and what a Redis costs that is down, stuck, or back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.gateways import Served, served, until
from support.redis_server import RedisServer
from support.scripted_model import ScriptedModel, asks

from xmcp.cli.gateway_parts import CannotServe, gateway_of, problems
from xmcp.gateway import shared_cache
from xmcp.gateway.config_file import config_of
from xmcp.gateway.shared_cache import LARGEST, PREFIX, SharedCache
from xmcp.gateway.tenant_cache import TenantCache
from xmcp.storage import CacheError, MemoryCache
from xmcp.storage.redis_connection import MAX_CONNECTIONS

PATIENT = 300.0
"""In place of the 50 ms in tests of anything else: a busy machine stops a process for longer."""


@asynccontextmanager
async def shared(url: str) -> AsyncIterator[SharedCache]:
    cache = SharedCache(url, MemoryCache())
    try:
        yield cache
    finally:
        await cache.aclose()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_cache, "ANSWER_SECONDS", PATIENT)
    monkeypatch.setattr(shared_cache, "PATIENT_SECONDS", PATIENT)


@pytest.mark.usefixtures("patient")
async def test_what_one_process_keeps_another_finds_and_clears(redis_server: RedisServer) -> None:
    async with shared(redis_server.url) as one, shared(redis_server.url) as other:
        await one.set("a:k", "v", 60)
        await one.set("b:k", "v", 60)
        assert await other.get("a:k") == "v"
        assert await other.clear("a:") == 1
        assert (await one.get("a:k"), await one.get("b:k")) == (None, "v")
    with redis_server.client() as raw:
        assert raw.keys() == [f"{PREFIX}b:k"]


@pytest.mark.usefixtures("patient")
async def test_an_answer_that_would_take_too_long_on_its_way_is_not_kept(redis_server: RedisServer) -> None:
    async with shared(redis_server.url) as cache:
        await cache.set("largest", "x" * LARGEST, 60)
        await cache.set("larger", "x" * (LARGEST + 1), 60)
        assert await cache.get("largest") is not None
        assert await cache.get("larger") is None
        assert cache.up


async def test_a_redis_that_is_down_is_asked_once_and_memory_has_its_place_until_it_is_back(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_cache, "REST_SECONDS", 0.1)
    redis_server.stop()
    async with shared(redis_server.url) as cache:
        asked = 0
        get = cache._redis.get

        async def counted(key: str) -> str | None:
            nonlocal asked
            asked += 1
            return await get(key)

        monkeypatch.setattr(cache._redis, "get", counted)
        assert await cache.get("k") is None
        assert not cache.up
        await cache.set("k", "in memory", 60)
        for _ in range(100):
            assert await cache.get("k") == "in memory"
        assert asked == 1
        with pytest.raises(CacheError):
            await cache.clear("k")
        assert await cache.get("k") is None, "what is here is cleared in any case"
        await cache.set("k", "in memory", 60)
        await asyncio.sleep(1)  # for several questions whether it is back
        redis_server.start()
        await until(lambda: cache.up, 60)
        assert await cache._memory.get("k") is None
    said = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 2, said
    assert "kept in memory until Redis answers: The Redis at 127.0.0.1:" in said[0]
    assert "sesame" not in caplog.text


async def test_a_redis_that_hangs_holds_up_a_chat_once(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_cache, "REST_SECONDS", 0.1)
    monkeypatch.setattr(shared_cache, "PATIENT_SECONDS", 0.3)
    async with shared(redis_server.url) as cache:
        await cache.get("k")  # it is connected
        redis_server.freeze()
        assert await asyncio.gather(*(cache.get("k") for _ in range(20))) == [None] * 20
        assert not cache.up
        redis_server.resume()
        await until(lambda: cache.up, 60)


async def test_a_redis_that_is_always_slow_is_not_used(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_cache, "ANSWER_SECONDS", 1e-6)
    monkeypatch.setattr(shared_cache, "REST_SECONDS", 0.01)
    async with shared(redis_server.url) as cache:
        await cache.get("k")
        await asyncio.sleep(0.5)
        assert not cache.up


@pytest.mark.usefixtures("patient")
async def test_where_chats_could_not_wait_for_a_connection_all_are_made_before_they_do(
    redis_server: RedisServer,
) -> None:
    async with shared(redis_server.url) as cache:
        cache._open(CacheError("slow"))
        await until(lambda: cache.up, PATIENT)
        with redis_server.client() as raw:
            assert len(raw.client_list()) == MAX_CONNECTIONS + 1


@pytest.mark.usefixtures("patient")
async def test_a_redis_that_answers_and_takes_nothing_is_said_once_a_minute(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server.client() as raw:
        raw.config_set("maxmemory", "1")
    async with shared(redis_server.url) as cache:
        for _ in range(3):
            await cache.set("k", "v", 60)
            await until(lambda: cache.up, PATIENT)
    (said,) = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert "Redis answers, but not to all that chats ask: The Redis at 127.0.0.1:" in said
    assert "maxmemory" in said


async def test_closing_while_redis_is_waited_for_leaves_no_task(redis_server: RedisServer) -> None:
    redis_server.stop()
    async with shared(redis_server.url) as cache:
        await cache.get("k")
    assert [task for task in asyncio.all_tasks() if task.get_name() == "xmcp wait for Redis"] == []


def asking(request: Any) -> Any:
    """Call the tool that can be cached, then answer."""
    return "7" if request.messages[-1]["role"] == "tool" else asks(("price", {"of": "tea"}))


async def test_chats_go_on_while_redis_is_down_and_health_says_so(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_cache, "REST_SECONDS", 0.1)
    made: list[str] = []

    @asynccontextmanager
    async def one() -> AsyncIterator[Served]:
        cache = TenantCache(SharedCache(redis_server.url, MemoryCache()))
        async with served(ScriptedModel(then=asking), cache=cache, cache_read_only=True, metrics=True) as up:

            @up.shop.mcp.tool(annotations={"readOnlyHint": True})
            def price(of: str) -> int:
                """Price of something."""
                made.append(of)
                return 7

            await up.gateway.refresh_tools()
            yield up
        await cache.aclose()

    async with one() as gateway, gateway.http() as http:
        assert (await http.get("/health")).json()["backends"] == {"redis": "up"}
        redis_server.stop()
        for _ in range(2):
            assert (await http.post("/chat", json={"input": "tea?"})).json()["answer"] == "7"
        assert made == ["tea"], "the second answer is from memory"
        health = (await http.get("/health")).json()
        assert (health["status"], health["backends"]) == ("degraded", {"redis": "down"})
        assert (await http.get("/readyz")).status_code == 200
        refused = await http.delete("/cache")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "cache_unavailable")
        redis_server.start()
        while (await http.get("/health")).json()["status"] != "ok":  # noqa: ASYNC110 - bounded by the test's time
            await asyncio.sleep(0.05)
        assert (await http.delete("/cache")).status_code == 200


BASE = {"models": [{"id": "m", "provider": "demo"}]}


def test_the_password_is_in_the_environment_and_no_record_or_message_has_it(tmp_path: Path) -> None:
    config = config_of({**BASE, "cache": {"redis": "redis://:${REDIS_PASSWORD}@127.0.0.1:1/0"}}, "g.toml")
    assert problems(config, {"REDIS_PASSWORD": "sesame"}) == []
    (problem,) = problems(config, {})
    assert problem == "[cache] redis needs the environment variable REDIS_PASSWORD, which is not set."
    with pytest.raises(CannotServe, match="REDIS_PASSWORD"):
        gateway_of(config, {})
    wrong = config_of({**BASE, "cache": {"redis": "http://:${REDIS_PASSWORD}@host"}}, "g.toml")
    (problem,) = problems(wrong, {"REDIS_PASSWORD": "sesame"})
    assert problem.startswith("[cache] redis: The Redis URL cannot be parsed")
    assert "sesame" not in problem
    recorded = {"audit": {"database": str(tmp_path / "a.db")}, "cache": {"redis": "redis://:${P}@127.0.0.1:1/0"}}
    made = gateway_of(config_of({**BASE, **recorded}, "g.toml"), {"P": "sesame-street"})
    assert made.audit is not None
    assert "sesame-street" in made.audit._secrets
    made.audit._writer.close(30)


def test_without_room_in_memory_nothing_is_kept() -> None:
    config = config_of({**BASE, "cache": {"max_bytes": 0, "redis": "redis://host"}}, "g.toml")
    assert gateway_of(config, {}).cache is None
