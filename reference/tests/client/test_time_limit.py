"""One time limit for many waits in a row: what it ends, and what it leaves alone."""

from __future__ import annotations

import asyncio

import pytest

from xmcp.client.loop.time_limit import TimeLimit


def soon(seconds: float = 0.05) -> float:
    return asyncio.get_running_loop().time() + seconds


def timers() -> int:
    scheduled = asyncio.get_running_loop()._scheduled
    return sum(not timer.cancelled() for timer in scheduled)


@pytest.fixture
async def limit():
    limit = TimeLimit()
    yield limit
    limit.close()


async def test_a_wait_that_lasts_too_long_is_a_timeout_and_the_task_goes_on(limit):
    with pytest.raises(TimeoutError), limit.at(soon()):
        await asyncio.sleep(10)
    assert asyncio.current_task().cancelling() == 0
    await asyncio.sleep(0)


async def test_many_waits_have_one_timer(limit):
    before = timers()
    for _ in range(1000):
        with limit.at(soon(60)):
            await asyncio.sleep(0)
    assert timers() == before + 1


async def test_each_wait_has_its_own_end(limit):
    for _ in range(5):
        with limit.at(soon(0.2)):
            await asyncio.sleep(0.06)  # together longer than one limit
    with pytest.raises(TimeoutError), limit.at(soon(0.2)):
        await asyncio.sleep(10)


async def test_a_wait_can_end_before_the_one_before_it_could(limit):
    with limit.at(soon(60)):
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError), limit.at(soon()):
        await asyncio.sleep(10)


async def test_nothing_is_ended_between_the_waits(limit):
    with limit.at(soon(0.01)):
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)


async def test_who_is_cancelled_by_somebody_else_is_cancelled(limit):
    async def waits():
        with limit.at(soon(60)):
            await asyncio.sleep(60)

    task = asyncio.create_task(waits())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_cancelled_by_both_is_cancelled(limit):
    async def waits():
        with limit.at(asyncio.get_running_loop().time()):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                asyncio.current_task().cancel()
                raise

    task = asyncio.create_task(waits())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_another_exception_in_the_place_of_the_cancellation_stays_and_the_task_goes_on(limit):
    async def fails():
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            raise LookupError from None

    with pytest.raises(LookupError), limit.at(soon()):
        await fails()
    assert asyncio.current_task().cancelling() == 0


async def test_each_wait_can_be_in_a_task_of_its_own(limit):
    async def waits(seconds: float) -> None:
        with limit.at(soon()):
            await asyncio.sleep(seconds)

    await asyncio.create_task(waits(0))
    with pytest.raises(TimeoutError):
        await asyncio.create_task(waits(10))


async def test_a_limit_that_is_closed_leaves_no_timer():
    before, limit = timers(), TimeLimit()
    with limit.at(soon(60)):
        await asyncio.sleep(0)
    limit.close()
    assert timers() == before
