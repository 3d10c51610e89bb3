"""Circuit breakers: the rules, in memory and in Redis, and that both follow the same rules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import redis.asyncio
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.clock import Clock

from xmcp.storage import Admitted, BreakerStore, MemoryBreakers, RedisBreakers, Refused, StoreError
from xmcp.storage import breakers as breakers_module

NOW = 1_700_000_000.123456
THRESHOLD, RESET_AFTER, PROBE_TIMEOUT = 3, 30.0, 60.0
NUMBERS: dict[str, Any] = {"threshold": THRESHOLD, "reset_after": RESET_AFTER, "probe_timeout": PROBE_TIMEOUT}


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture(params=["memory", "redis"])
async def breakers(request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[BreakerStore]:
    """Each test of the rules runs against both stores."""
    if request.param == "memory":
        yield MemoryBreakers(**NUMBERS, clock=clock)
        return
    url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("prefix")
    async with aclosing(RedisBreakers(url, **NUMBERS, prefix=prefix, clock=clock, timeout=300)) as breakers:
        yield breakers


async def admitted(breakers: BreakerStore, server: str = "s") -> Admitted:
    answer = await breakers.admit(server)
    assert isinstance(answer, Admitted)
    return answer


async def opened(breakers: BreakerStore, server: str = "s") -> None:
    for _ in range(THRESHOLD):
        state = await breakers.record(server, await admitted(breakers, server), "failed")
    assert state == "open"


class TestRules:
    async def test_failures_in_a_row_open_it_and_the_last_of_them_does(self, breakers: BreakerStore) -> None:
        states = [await breakers.record("s", await admitted(breakers), "failed") for _ in range(THRESHOLD)]
        assert states == ["closed", "closed", "open"]
        assert await breakers.admit("s") == Refused(pytest.approx(RESET_AFTER, abs=1e-6))

    async def test_a_success_between_failures_begins_the_row_anew(self, breakers: BreakerStore) -> None:
        outcomes = ["failed", "failed", "ok", "failed", "failed"]
        states = [await breakers.record("s", await admitted(breakers), outcome) for outcome in outcomes]
        assert set(states) == {"closed"}

    async def test_a_cancelled_call_counts_as_neither(self, breakers: BreakerStore) -> None:
        outcomes = ["failed", "failed", "unknown", "unknown", "unknown", "failed"]
        states = [await breakers.record("s", await admitted(breakers), outcome) for outcome in outcomes]
        assert states == ["closed"] * 5 + ["open"]

    async def test_calls_that_run_at_once_count_as_they_end(self, breakers: BreakerStore) -> None:
        calls = [await admitted(breakers) for _ in range(6)]
        assert not any(call.probe for call in calls)
        outcomes = ["failed", "failed", "ok", "failed", "failed", "failed"]
        states = [await breakers.record("s", *pair) for pair in zip(calls, outcomes, strict=True)]
        assert states == ["closed"] * 5 + ["open"]

    async def test_a_loss_counts_once_for_all_calls_that_were_under_way(self, breakers: BreakerStore) -> None:
        calls = [await admitted(breakers) for _ in range(6)]
        assert {await breakers.record("s", call, "lost") for call in calls} == {"closed"}
        states = [await breakers.record("s", await admitted(breakers), "lost") for _ in range(THRESHOLD - 1)]
        assert states == ["closed", "open"]

    async def test_an_answer_does_not_make_the_same_loss_count_again(self, breakers: BreakerStore) -> None:
        calls = [await admitted(breakers) for _ in range(THRESHOLD + 1)]
        await breakers.record("s", calls[0], "lost")
        await breakers.record("s", await admitted(breakers), "ok")
        assert {await breakers.record("s", call, "lost") for call in calls[1:]} == {"closed"}
        states = [await breakers.record("s", await admitted(breakers), "lost") for _ in range(THRESHOLD)]
        assert states == ["closed", "closed", "open"]

    async def test_a_time_out_counts_for_each_call_that_was_under_way_at_a_loss(self, breakers: BreakerStore) -> None:
        calls = [await admitted(breakers) for _ in range(THRESHOLD)]
        outcomes = ["lost", *["failed"] * (THRESHOLD - 1)]
        states = [await breakers.record("s", *pair) for pair in zip(calls, outcomes, strict=True)]
        assert states == ["closed", "closed", "open"]

    async def test_a_probe_whose_connection_is_lost_opens_it_again(self, breakers: BreakerStore, clock: Clock) -> None:
        late = await admitted(breakers)
        await opened(breakers)
        clock.now += RESET_AFTER
        probe = await admitted(breakers)
        assert await breakers.record("s", late, "lost") == "half_open"
        assert await breakers.record("s", probe, "lost") == "open"
        assert await breakers.admit("s") == Refused(pytest.approx(RESET_AFTER, abs=1e-6))

    async def test_servers_do_not_know_each_other(self, breakers: BreakerStore) -> None:
        await opened(breakers, "down")
        assert isinstance(await breakers.admit("down"), Refused)
        assert not (await admitted(breakers, "up")).probe

    async def test_it_refuses_for_reset_after_and_then_lets_one_probe_go(
        self, breakers: BreakerStore, clock: Clock
    ) -> None:
        await opened(breakers)
        clock.now += RESET_AFTER - 0.01
        assert await breakers.admit("s") == Refused(pytest.approx(0.01, abs=1e-6))
        clock.now += 0.01
        assert (await admitted(breakers)).probe
        assert await breakers.admit("s") == Refused(pytest.approx(PROBE_TIMEOUT, abs=1e-6))

    async def test_a_refusal_is_never_for_less_than_a_millisecond(self, breakers: BreakerStore, clock: Clock) -> None:
        await opened(breakers)
        clock.now += RESET_AFTER - 0.00001
        assert await breakers.admit("s") == Refused(0.001)

    async def test_a_probe_that_came_through_closes_it_for_a_full_row(
        self, breakers: BreakerStore, clock: Clock
    ) -> None:
        await opened(breakers)
        clock.now += RESET_AFTER
        assert await breakers.record("s", await admitted(breakers), "ok") == "closed"
        states = [await breakers.record("s", await admitted(breakers), "failed") for _ in range(THRESHOLD)]
        assert states == ["closed", "closed", "open"]

    async def test_a_probe_that_failed_opens_it_for_all_of_reset_after(
        self, breakers: BreakerStore, clock: Clock
    ) -> None:
        await opened(breakers)
        clock.now += RESET_AFTER
        probe = await admitted(breakers)
        clock.now += 5
        assert await breakers.record("s", probe, "failed") == "open"
        assert await breakers.admit("s") == Refused(pytest.approx(RESET_AFTER, abs=1e-6))

    async def test_a_cancelled_probe_is_given_back_to_the_next_call(self, breakers: BreakerStore, clock: Clock) -> None:
        await opened(breakers)
        clock.now += RESET_AFTER
        assert await breakers.record("s", await admitted(breakers), "unknown") == "open"
        assert (await admitted(breakers)).probe
        assert isinstance(await breakers.admit("s"), Refused)

    async def test_a_probe_that_is_not_heard_of_is_given_up_after_its_lease(
        self, breakers: BreakerStore, clock: Clock
    ) -> None:
        await opened(breakers)
        clock.now += RESET_AFTER
        lost = await admitted(breakers)
        clock.now += PROBE_TIMEOUT - 0.01
        assert isinstance(await breakers.admit("s"), Refused)
        clock.now += 0.01
        probe = await admitted(breakers)
        assert probe.probe
        # The lost one comes back; the newer decides.
        assert await breakers.record("s", lost, "ok") == "half_open"
        assert await breakers.record("s", probe, "failed") == "open"

    async def test_a_probe_that_outlives_its_lease_still_decides_while_it_is_the_newest(
        self, breakers: BreakerStore, clock: Clock
    ) -> None:
        await opened(breakers)
        clock.now += RESET_AFTER
        probe = await admitted(breakers)
        clock.now += 2 * PROBE_TIMEOUT
        assert await breakers.record("s", probe, "ok") == "closed"

    @pytest.mark.parametrize("outcome", ["ok", "failed", "lost", "unknown"])
    async def test_what_is_heard_late_changes_nothing_in_any_later_state(
        self, breakers: BreakerStore, clock: Clock, outcome: Any
    ) -> None:
        late = await admitted(breakers)
        await opened(breakers)
        assert await breakers.record("s", late, outcome) == "open"
        clock.now += RESET_AFTER
        probe = await admitted(breakers)
        assert await breakers.record("s", late, outcome) == "half_open"
        assert isinstance(await breakers.admit("s"), Refused)
        assert await breakers.record("s", probe, "ok") == "closed"
        for _ in range(THRESHOLD - 1):
            await breakers.record("s", await admitted(breakers), "failed")
        assert await breakers.record("s", late, outcome) == "closed"
        assert await breakers.record("s", probe, "ok") == "closed"
        assert await breakers.record("s", await admitted(breakers), "failed") == "open"

    @pytest.mark.parametrize(
        "options",
        [{"threshold": 0}, {"threshold": -1}, {"reset_after": 0}, {"probe_timeout": 0}, {"reset_after": float("inf")}],
    )
    @pytest.mark.parametrize("store", [MemoryBreakers, RedisBreakers])
    def test_numbers_that_cannot_work_are_refused_by_name(self, store: Any, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(options))):
            store(**{**NUMBERS, **options})

    async def test_both_stores_are_breaker_stores(self, breakers: BreakerStore) -> None:
        assert isinstance(breakers, BreakerStore)


STEPS = st.lists(
    st.just(("admit",))
    | st.just(("admit",))
    # Which of the calls under way, counted from the newest; few are old.
    | st.tuples(
        st.just("record"), st.integers(0, 3), st.sampled_from(["ok", "failed", "failed", "lost", "lost", "unknown"])
    )
    | st.tuples(st.just("tick"), st.sampled_from([0.5, 10.0, 20.0])),
    min_size=40,
    max_size=80,
)
NARROW: dict[str, Any] = {"threshold": 2, "reset_after": 10.0, "probe_timeout": 20.0}
A_WHOLE_LIFE = [
    *[("admit",), ("record", 0, "failed")] * 2,
    *[("admit",), ("tick", 10.0), ("admit",), ("admit",), ("record", 0, "unknown")],
    *[("admit",), ("record", 0, "failed"), ("tick", 10.0), ("admit",), ("tick", 20.0), ("admit",)],
    *[("record", 0, "ok"), ("record", 0, "failed"), ("admit",), ("record", 0, "ok")],
]


class Period:
    """A time in which a breaker stays as it is. A call belongs to the one it was let go in, and says nothing later."""

    def __init__(self, kind: str, until: float = 0.0) -> None:
        self.kind, self.until, self.row, self.losses = kind, until, 0, 0


@pytest.mark.slow
@settings(max_examples=300)
@given(STEPS)
@example(A_WHOLE_LIFE)
async def test_memory_breakers_agree_with_a_model_in_periods(steps: list[tuple[Any, ...]]) -> None:
    clock = Clock(1000.0)
    breakers = MemoryBreakers(**NARROW, clock=clock)
    period = Period("closed")
    calls: list[tuple[Admitted, Period, int]] = []
    for step in steps:
        if step[0] == "tick":
            clock.now += step[1]
        elif step[0] == "admit":
            answer = await breakers.admit("s")
            if period.kind == "closed":
                assert isinstance(answer, Admitted)
                assert not answer.probe
                calls.append((answer, period, period.losses))
            elif clock.now < period.until:
                assert answer == Refused(period.until - clock.now)
            else:
                assert isinstance(answer, Admitted)
                assert answer.probe
                period = Period("half_open", clock.now + 20.0)
                calls.append((answer, period, 0))
        elif step[1] < len(calls):
            call, its_period, losses = calls.pop(-1 - step[1])
            state = await breakers.record("s", call, step[2])
            if its_period is period:
                if step[2] == "failed" or (step[2] == "lost" and losses == period.losses):
                    period.row += 1
                    period.losses += step[2] == "lost"
                    if call.probe or period.row == 2:
                        period = Period("open", clock.now + 10.0)
                elif step[2] == "ok" and call.probe:
                    period = Period("closed")
                elif step[2] == "ok":
                    period.row = 0
                elif call.probe:
                    period = Period("open", clock.now)
            assert state == period.kind
        probes = [1 for _, its_period, _ in calls if its_period is period and period.kind == "half_open"]
        assert len(probes) <= 1


async def test_memory_breakers_keep_nothing_of_servers_that_work() -> None:
    """A server with other credentials is another server, so their number has no limit."""
    breakers = MemoryBreakers(**NUMBERS)
    for number in range(1_000):
        for outcome in ("failed", "ok"):
            await breakers.record(f"s{number}", await admitted(breakers, f"s{number}"), outcome)
    assert not breakers._circuits


async def test_in_memory_the_servers_that_fail_are_limited_too(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(breakers_module, "MAX_CIRCUITS", 10)
    breakers = MemoryBreakers(**NUMBERS | {"threshold": 1}, clock=clock)
    for number in range(100):
        await breakers.record(f"s{number}", await admitted(breakers, f"s{number}"), "failed")
        await breakers.admit("s0")  # which is still called, and stays open
    assert len(breakers._circuits) == 10
    assert isinstance(await breakers.admit("s0"), Refused)


class TestInRedis:
    @pytest.mark.slow
    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(steps=STEPS)
    @example(steps=A_WHOLE_LIFE)
    async def test_it_answers_as_in_memory(self, redis_url: str, prefix: str, steps: list[tuple[Any, ...]]) -> None:
        clock = Clock(NOW)
        memory = MemoryBreakers(**NARROW, clock=clock)
        async with redis.asyncio.Redis.from_url(redis_url) as client:
            # Each step through another object, as another process would.
            shared = [RedisBreakers(**NARROW, client=client, prefix=prefix, clock=clock, timeout=300) for _ in range(2)]
            await client.delete(prefix + "s")
            calls: list[tuple[Admitted, Admitted]] = []
            for number, step in enumerate(steps):
                here = shared[number % 2]
                if step[0] == "tick":
                    clock.now += step[1]
                elif step[0] == "admit":
                    expected, answer = await memory.admit("s"), await here.admit("s")
                    if isinstance(expected, Admitted):
                        assert isinstance(answer, Admitted)
                        assert answer.probe == expected.probe
                        calls.append((expected, answer))
                    else:
                        assert answer == expected
                elif step[1] < len(calls):
                    expected, answer = calls.pop(-1 - step[1])
                    assert await here.record("s", answer, step[2]) == await memory.record("s", expected, step[2])

    async def test_of_fifty_calls_in_two_processes_one_probes(self, redis_url: str, prefix: str, clock: Clock) -> None:
        async with (
            aclosing(RedisBreakers(redis_url, **NUMBERS, prefix=prefix, clock=clock, timeout=300)) as one,
            aclosing(RedisBreakers(redis_url, **NUMBERS, prefix=prefix, clock=clock, timeout=300)) as other,
        ):
            await opened(one)
            clock.now += RESET_AFTER
            answers = await asyncio.gather(*(store.admit("s") for _ in range(25) for store in (one, other)))
            probes = [answer for answer in answers if isinstance(answer, Admitted)]
            assert len(answers) == 50
            assert len(probes) == 1
            assert await other.record("s", probes[0], "ok") == "closed"
            assert not (await admitted(one)).probe

    async def test_a_restart_with_calls_of_two_processes_under_way_is_one_failure(
        self, redis_url: str, prefix: str
    ) -> None:
        async with (
            aclosing(RedisBreakers(redis_url, threshold=2, prefix=prefix, timeout=300)) as one,
            aclosing(RedisBreakers(redis_url, threshold=2, prefix=prefix, timeout=300)) as other,
        ):
            calls = [(store, await admitted(store)) for _ in range(3) for store in (one, other)]
            assert {await store.record("s", call, "lost") for store, call in calls} == {"closed"}
            assert await other.record("s", await admitted(one), "lost") == "open"

    async def test_the_time_is_that_of_redis(self, redis_url: str, prefix: str) -> None:
        async with aclosing(
            RedisBreakers(redis_url, threshold=1, reset_after=0.05, prefix=prefix, timeout=300)
        ) as breakers:
            await breakers.record("s", await admitted(breakers), "failed")
            refused = await breakers.admit("s")
            assert isinstance(refused, Refused)
            assert 0 < refused.retry_after <= 0.05
            await asyncio.sleep(refused.retry_after + 0.001)
            assert (await admitted(breakers)).probe

    async def test_the_state_expires_a_day_after_it_could_last_decide(self, redis_url: str, prefix: str) -> None:
        async with (
            aclosing(RedisBreakers(redis_url, threshold=1, reset_after=100, prefix=prefix, timeout=300)) as breakers,
            redis.asyncio.Redis.from_url(redis_url) as raw,
        ):
            call = await admitted(breakers)
            assert 86_400 < await raw.ttl(prefix + "s") <= 86_500
            await raw.persist(prefix + "s")
            await breakers.record("s", call, "failed")
            assert 86_400 < await raw.ttl(prefix + "s") <= 86_500

    async def test_a_call_from_before_redis_forgot_says_nothing_of_the_new_state(
        self, redis_url: str, prefix: str
    ) -> None:
        async with (
            aclosing(RedisBreakers(redis_url, threshold=1, prefix=prefix, timeout=300)) as breakers,
            redis.asyncio.Redis.from_url(redis_url) as raw,
        ):
            late = await admitted(breakers)
            await raw.delete(prefix + "s")
            assert await breakers.record("s", late, "failed") == "closed"
            assert not await raw.exists(prefix + "s")
            await admitted(breakers)
            assert await breakers.record("s", late, "failed") == "closed"

    async def test_scripts_that_redis_forgot_are_sent_again(self, redis_url: str, prefix: str) -> None:
        async with (
            aclosing(RedisBreakers(redis_url, threshold=1, prefix=prefix, timeout=300)) as breakers,
            redis.asyncio.Redis.from_url(redis_url) as raw,
        ):
            call = await admitted(breakers)
            await raw.script_flush()
            assert await breakers.record("s", call, "failed") == "open"

    async def test_a_client_of_the_callers_may_decode(self, redis_url: str, prefix: str) -> None:
        async with redis.asyncio.Redis.from_url(redis_url, decode_responses=True) as client:
            breakers = RedisBreakers(threshold=1, client=client, prefix=prefix, timeout=300)
            assert await breakers.record("s", await admitted(breakers), "failed") == "open"
            assert isinstance(await breakers.admit("s"), Refused)

    async def test_a_redis_that_fails_is_a_store_error(self, road: Any, prefix: str) -> None:
        async with aclosing(RedisBreakers(road.url, prefix=prefix, timeout=0.2)) as breakers:
            call = await admitted(breakers)
            road.open.clear()
            with pytest.raises(StoreError, match=r"did not answer within 0\.2 s"):
                await breakers.admit("s")
            with pytest.raises(StoreError, match=r"did not answer within 0\.2 s"):
                await breakers.record("s", call, "ok")

    async def test_a_failure_whose_answer_got_lost_is_counted_once(
        self, road: Any, redis_url: str, prefix: str
    ) -> None:
        async with (
            aclosing(RedisBreakers(road.url, threshold=3, prefix=prefix)) as breakers,
            aclosing(RedisBreakers(redis_url, threshold=3, prefix=prefix, timeout=300)) as beside,
        ):
            calls = [await admitted(breakers) for _ in range(3)]
            road.lose_answer = True
            with pytest.raises(StoreError):
                await breakers.record("s", calls[0], "failed")
            assert await beside.record("s", calls[1], "failed") == "closed"
            assert await beside.record("s", calls[2], "failed") == "open"
