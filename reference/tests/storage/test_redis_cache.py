"""The cache in Redis: what it shares, for how long, and how a failing Redis affects its users."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import redis
import redis.asyncio

from xmcp.storage import Cache, CacheError, CacheStatistics, RedisCache, StoreError

PATIENT = 300.0
"""The limit of operations in tests of anything else than the limit: a busy machine stops a process for a second."""


@pytest.fixture
async def cache(redis_url: str, prefix: str) -> AsyncIterator[RedisCache]:
    async with aclosing(RedisCache(redis_url, prefix=prefix, timeout=PATIENT)) as cache:
        yield cache


@pytest.fixture
async def raw(redis_url: str) -> AsyncIterator[redis.asyncio.Redis]:
    async with redis.asyncio.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


class TestValues:
    async def test_a_value_comes_back_as_it_went_in_and_the_last_one_counts(self, cache: RedisCache) -> None:
        assert isinstance(cache, Cache)
        assert await cache.get("k") is None
        for value in ("<a>é\r\n\0</a>", "", "x" * 1_000_000):
            await cache.set("k", value, 60)
            assert await cache.get("k") == value
        assert cache.statistics == CacheStatistics(hits=3, misses=1, writes=3)

    async def test_two_caches_of_one_prefix_share_and_of_two_do_not(self, redis_url: str, prefix: str) -> None:
        async with (
            aclosing(RedisCache(redis_url, prefix=prefix + "1:", timeout=PATIENT)) as one,
            aclosing(RedisCache(redis_url, prefix=prefix + "1:", timeout=PATIENT)) as same,
            aclosing(RedisCache(redis_url, prefix=prefix + "2:", timeout=PATIENT)) as other,
        ):
            await one.set("k", "v")
            assert await same.get("k") == "v"
            assert await other.get("k") is None
            assert (one.statistics.hits, same.statistics.hits) == (0, 1)

    async def test_a_value_expires_in_redis_by_its_own_ttl_or_that_of_the_cache(
        self, cache: RedisCache, raw: redis.asyncio.Redis, prefix: str
    ) -> None:
        await cache.set("default", "v")
        await cache.set("own", "v", 2.5)
        await cache.set("short", "v", 0.0001)
        assert 290_000 < await raw.pttl(f"{prefix}default") <= 300_000
        assert 1_500 < await raw.pttl(f"{prefix}own") <= 2_500
        assert await raw.pttl(f"{prefix}short") <= 1

    async def test_a_client_of_the_callers_may_decode_or_not_and_stays_open(self, redis_url: str, prefix: str) -> None:
        for decodes in (True, False):
            async with redis.asyncio.Redis.from_url(redis_url, decode_responses=decodes) as client:
                cache = RedisCache(client=client, prefix=prefix, timeout=PATIENT)
                await cache.set("k", "é")
                assert await cache.get("k") == "é"
                pool = client.connection_pool
                await cache.aclose()
                assert pool._available_connections[0].is_connected

    async def test_closing_leaves_no_connection_and_may_be_done_twice(self, redis_url: str) -> None:
        cache = RedisCache(redis_url, timeout=PATIENT)
        await cache.get("k")
        (connection,) = cache._redis.client.connection_pool._available_connections
        await cache.aclose()
        await cache.aclose()
        assert not connection.is_connected

    async def test_a_hundred_gets_at_once_share_a_few_connections(self, road: Any, prefix: str) -> None:
        async with aclosing(RedisCache(road.url, prefix=prefix, timeout=10)) as cache:
            await cache.set("k", "v")
            assert await asyncio.gather(*(cache.get("k") for _ in range(100))) == ["v"] * 100
            assert road.connections <= 16


class TestClear:
    async def test_only_keys_under_the_prefix_go_whatever_characters_are_in_it(
        self, redis_url: str, prefix: str, raw: redis.asyncio.Redis
    ) -> None:
        odd, near = f"{prefix}[a]*?\\:", f"{prefix}a!!/:"
        async with (
            aclosing(RedisCache(redis_url, prefix=odd, timeout=PATIENT)) as cache,
            aclosing(RedisCache(redis_url, prefix=near, timeout=PATIENT)) as other,
        ):
            for number in range(1500):
                await cache.set(f"t1*:{number}", "v")
            await cache.set("t10:", "v")
            await other.set("t1*:0", "v")
            assert await cache.clear("t1*:") == 1500
            assert await cache.get("t10:") == "v"
            assert await cache.clear() == 1
            assert await cache.clear() == 0
            assert await other.get("t1*:0") == "v"

    async def test_an_empty_prefix_is_refused(self) -> None:
        with pytest.raises(ValueError, match="prefix must not be empty"):
            RedisCache(prefix="")


class TestArguments:
    @pytest.mark.parametrize("options", [{"ttl": 0}, {"ttl": -1}, {"ttl": float("inf")}, {"timeout": 0}])
    def test_times_that_cannot_work_are_refused_by_name(self, options: dict[str, float]) -> None:
        with pytest.raises(ValueError, match=next(iter(options))):
            RedisCache(**options)

    async def test_a_ttl_of_nothing_is_refused_at_the_call(self, cache: RedisCache) -> None:
        with pytest.raises(ValueError, match="ttl must be"):
            await cache.set("k", "v", 0)

    def test_a_blocking_client_is_refused(self) -> None:
        with pytest.raises(TypeError, match=r"redis\.asyncio\.Redis, not redis\.client\.Redis"):
            RedisCache(client=redis.Redis())  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "url", ["localhost:6379", "http://u:sesame@h", "redis://u:ses/ame@h:1", "redis://u:sesame@h:port"]
    )
    def test_a_url_that_cannot_be_read_is_refused_without_its_password(self, url: str) -> None:
        with pytest.raises(ValueError, match="redis://user:password@host:port/db") as caught:
            RedisCache(url)
        assert "ses" not in "".join(traceback.format_exception(caught.value)).replace("sesame = ", "")


class TestFailures:
    async def test_a_redis_that_is_not_there_is_told_at_once_without_credentials(self) -> None:
        loop = asyncio.get_running_loop()
        async with aclosing(RedisCache("redis://user:sesame@127.0.0.1:1/0?client_name=hush", timeout=30)) as cache:
            began = loop.time()
            with pytest.raises(CacheError, match=r"The Redis at 127\.0\.0\.1:1 failed: ConnectionError") as caught:
                await cache.get("k")
            with pytest.raises(CacheError):
                await cache.set("k", "v")
            with pytest.raises(CacheError):
                await cache.clear()
            assert loop.time() - began < 5
            assert isinstance(caught.value, StoreError)
            assert "sesame" not in "".join(traceback.format_exception(caught.value))
            assert "hush" not in str(caught.value)
            assert cache.statistics == CacheStatistics(errors=3)

    async def test_a_wrong_password_is_told_without_it(self, redis_url: str, road: Any) -> None:
        url = road.url.replace("redis://", "redis://nobody:sesame@", 1)
        async with aclosing(RedisCache(url)) as cache:
            with pytest.raises(CacheError, match=r"AuthenticationError.*user and password") as caught:
                await cache.get("k")
        assert "sesame" not in "".join(traceback.format_exception(caught.value))

    async def test_the_values_of_a_refused_command_are_not_told(self, redis_url: str, prefix: str) -> None:
        class Renamed(redis.asyncio.Redis):
            async def set(self, *args: Any, **kwargs: Any) -> Any:
                return await self.execute_command("XMCPSET", *args)

        async with Renamed.from_url(redis_url) as client:
            with pytest.raises(CacheError, match="unknown command 'XMCPSET'") as caught:
                await RedisCache(client=client, prefix=prefix).set("k", "sesame")
        assert "sesame" not in str(caught.value)

    async def test_a_redis_that_does_not_answer_is_given_up_in_time_and_found_again(
        self, road: Any, prefix: str
    ) -> None:
        loop = asyncio.get_running_loop()
        async with aclosing(RedisCache(road.url, prefix=prefix, timeout=0.2)) as cache:
            await cache.set("one", "1")
            await cache.set("two", "2")
            road.open.clear()
            for wait in (cache.get("one"), cache.set("one", "3"), cache.clear()):
                began = loop.time()
                with pytest.raises(CacheError, match=r"did not answer within 0\.2 s"):
                    await wait
                assert loop.time() - began < 2
            road.open.set()
            # What is still on the way to the old connections is nobody's answer.
            assert await cache.get("two") == "2"

    @pytest.mark.parametrize("own", [True, False])
    async def test_a_cancelled_get_is_cancelled_and_leaves_its_answer_to_nobody(
        self, road: Any, prefix: str, own: bool
    ) -> None:
        async with redis.asyncio.Redis.from_url(road.url, socket_timeout=0.2) as client:
            cache = RedisCache(road.url, prefix=prefix, timeout=10, client=None if own else client)
            await cache.set("one", "1")
            await cache.set("two", "2")
            # After each turn of the loop a get is somewhere else.
            for turns in range(8):
                road.open.clear()
                gets = [asyncio.create_task(cache.get("one")) for _ in range(5)]
                for _ in range(turns):
                    await asyncio.sleep(0)
                for get in gets:
                    get.cancel()
                async with asyncio.timeout(2):
                    done = await asyncio.gather(*gets, return_exceptions=True)
                assert {type(outcome) for outcome in done} == {asyncio.CancelledError}, turns
                road.open.set()
                assert await asyncio.gather(*(cache.get("two") for _ in range(5))) == ["2"] * 5
            assert cache.statistics.errors == 0
            await cache.aclose()

    async def test_a_connection_that_broke_while_idle_costs_no_error(self, road: Any, prefix: str) -> None:
        async with aclosing(RedisCache(road.url, prefix=prefix)) as cache:
            await cache.set("k", "v")
            road.cut()
            await asyncio.sleep(0.01)  # the loop hears of it
            assert await cache.get("k") == "v"

    async def test_nothing_is_logged_of_keys_and_values(
        self, cache: RedisCache, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        await cache.set("sesame", "sesame")
        await cache.get("sesame")
        assert "sesame" not in caplog.text
