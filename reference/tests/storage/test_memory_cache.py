"""The cache in memory: what it keeps, for how long, and what it evicts first."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clock import Clock

from xmcp.storage import Cache, CacheStatistics, MemoryCache


class UsersCache:
    """As the requirement sketches it: two methods and no more."""

    async def get(self, key: str) -> Any: ...

    async def set(self, key: str, value: Any, ttl: int) -> None: ...


class OnlyGet:
    async def get(self, key: str) -> Any: ...


def test_two_methods_make_a_cache_and_one_does_not() -> None:
    assert isinstance(UsersCache(), Cache)
    assert isinstance(MemoryCache(), Cache)
    assert not isinstance(OnlyGet(), Cache)
    assert not isinstance({}, Cache)


async def test_a_value_comes_back_as_it_went_in_and_the_last_one_counts() -> None:
    cache = MemoryCache()
    assert await cache.get("k") is None
    for value in ("<a>é\ud800</a>", "", "x" * 100_000):
        await cache.set("k", value, 60)
        assert await cache.get("k") == value
    assert cache.statistics == CacheStatistics(hits=3, misses=1, writes=3)


async def test_a_value_lives_for_its_own_ttl_and_else_for_that_of_the_cache() -> None:
    clock = Clock(1000.0)
    cache = MemoryCache(ttl=10, clock=clock)
    await cache.set("default", "1")
    await cache.set("longer", "2", 20)
    clock.now += 9.999
    assert await cache.get("default") == "1"
    clock.now += 0.001
    assert await cache.get("default") is None
    assert await cache.get("longer") == "2"
    clock.now += 10
    assert await cache.get("longer") is None
    assert cache.statistics == CacheStatistics(hits=2, misses=2, writes=2)


async def test_writing_again_gives_a_value_a_new_life() -> None:
    clock = Clock(1000.0)
    cache = MemoryCache(ttl=10, clock=clock)
    await cache.set("k", "1")
    clock.now += 9
    await cache.set("k", "2")
    clock.now += 9
    assert await cache.get("k") == "2"


async def test_the_value_that_was_not_used_for_the_longest_time_goes_first() -> None:
    cache = MemoryCache(max_entries=3)
    for key in "abc":
        await cache.set(key, key)
    await cache.get("a")
    await cache.set("b", "b again")
    await cache.set("d", "d")
    assert [await cache.get(key) for key in "abcd"] == ["a", "b again", None, "d"]
    assert cache.statistics.evictions == 1


async def test_values_go_until_the_new_one_has_room() -> None:
    value = "x" * 1000
    size = sys.getsizeof(value) + sys.getsizeof("a")
    cache = MemoryCache(max_bytes=3 * size)
    for key in "abc":
        await cache.set(key, value)
    assert cache.statistics.evictions == 0
    await cache.set("d", "x" * 1001)
    assert [await cache.get(key) is None for key in "abcd"] == [True, True, False, False]
    assert cache.statistics.evictions == 2


async def test_a_value_written_again_gives_its_room_back() -> None:
    value = "x" * 1000
    cache = MemoryCache(max_bytes=2 * (sys.getsizeof(value) + sys.getsizeof("a")))
    await cache.set("a", value)
    for _ in range(10):
        await cache.set("b", value)
    assert await cache.get("a") == value
    assert cache.statistics.evictions == 0


async def test_a_value_larger_than_the_cache_is_not_kept_and_drives_nothing_out_but_its_elder() -> None:
    cache = MemoryCache(max_bytes=10_000)
    await cache.set("a", "small")
    await cache.set("b", "small")
    await cache.set("b", "x" * 10_000)
    assert await cache.get("a") == "small"
    assert await cache.get("b") is None
    assert cache.statistics == CacheStatistics(hits=1, misses=1, writes=2, evictions=1)


async def test_clearing_drops_what_begins_with_the_prefix_and_its_room_is_free_again() -> None:
    value = "x" * 1000
    cache = MemoryCache(max_bytes=2 * (sys.getsizeof(value) + sys.getsizeof("t1:a")))
    await cache.set("t1:a", value)
    await cache.set("t2:a", value)
    assert await cache.clear("t1:") == 1
    assert await cache.get("t1:a") is None
    await cache.set("t3:a", value)
    assert await cache.get("t2:a") == value
    assert cache.statistics.evictions == 0
    assert await cache.clear() == 2
    assert await cache.clear() == 0


@pytest.mark.parametrize(
    "options",
    [{"ttl": 0}, {"ttl": -1}, {"ttl": float("nan")}, {"ttl": float("inf")}, {"max_entries": 0}, {"max_bytes": 0}],
)
def test_limits_that_cannot_work_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        MemoryCache(**options)


async def test_a_ttl_of_nothing_is_refused_and_the_elder_value_stays() -> None:
    cache = MemoryCache()
    await cache.set("k", "v")
    with pytest.raises(ValueError, match="ttl must be"):
        await cache.set("k", "w", 0)
    assert await cache.get("k") == "v"


def test_the_hit_rate_is_of_the_answered_gets() -> None:
    assert CacheStatistics().hit_rate == 0.0
    assert CacheStatistics(hits=3, misses=1, errors=5).hit_rate == 0.75


KEYS = st.sampled_from("abc")
STEPS = st.lists(
    st.tuples(st.just("get"), KEYS)
    | st.tuples(st.just("get"), KEYS)
    | st.tuples(st.just("set"), KEYS, st.sampled_from([0, 10, 300]), st.integers(2, 9))
    | st.tuples(st.just("set"), KEYS, st.integers(0, 20), st.just(100))
    | st.tuples(st.just("tick"), st.just(1))
    | st.tuples(st.just("clear"), st.sampled_from(["a", "z", "b", ""])),
    min_size=30,
    max_size=60,
)


@pytest.mark.slow
@settings(max_examples=200)
@given(STEPS, st.sampled_from([1, 2, 2]), st.sampled_from([200, 10_000]))
async def test_a_cache_agrees_with_a_list_of_what_was_used_last(
    steps: list[tuple[Any, ...]], max_entries: int, max_bytes: int
) -> None:
    clock = Clock(1000.0)
    cache = MemoryCache(max_entries, max_bytes, ttl=5, clock=clock)
    used: list[tuple[str, str, float]] = []  # the one used last comes last

    def size() -> int:
        return sum(sys.getsizeof(key) + sys.getsizeof(value) for key, value, _ in used)

    for step in steps:
        if step[0] == "tick":
            clock.now += step[1]
        elif step[0] == "clear":
            kept = [entry for entry in used if not entry[0].startswith(step[1])]
            assert await cache.clear(step[1]) == len(used) - len(kept)
            used = kept
        elif step[0] == "get":
            found = next((entry for entry in used if entry[0] == step[1]), None)
            used = [entry for entry in used if entry is not found]
            if found is not None and found[2] > clock.now:
                used.append(found)
            else:
                found = None
            assert await cache.get(step[1]) == (found and found[1])
        else:
            _, key, length, ttl = step
            await cache.set(key, "v" * length, ttl)
            used = [entry for entry in used if entry[0] != key]
            elders = used
            used = [*used, (key, "v" * length, clock.now + ttl)]
            while used and (len(used) > max_entries or size() > max_bytes):
                used = used[1:]
            if not used:
                used = elders
    for key in "abc":
        kept = next((value for name, value, expires in used if name == key and expires > clock.now), None)
        assert await cache.get(key) == kept


async def test_a_hundred_thousand_values_take_no_more_memory_than_a_thousand() -> None:
    cache = MemoryCache(max_entries=1000)
    empty = sys.getallocatedblocks()
    for number in range(2000):
        await cache.set(f"key {number:09}", f"value {number:0100}")
    full = sys.getallocatedblocks()
    for number in range(100_000):
        await cache.set(f"key {number:09}", f"value {number:0100}")
    assert full - empty > 2000  # the measure sees keys and values
    assert sys.getallocatedblocks() - full < 1000
