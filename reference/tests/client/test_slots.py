"""Slots: fair by tenant, in order within one, constant work for each, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chats import chat, events_of, make_pipeline
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.client.slots import SHARE, FairShares, Slots


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Queue:
    """Slots that are all taken, and the order in which waiting calls get them."""

    def __init__(self, limit: int = 1) -> None:
        self.slots = Slots(limit)
        self.got: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def fill(self, limit: int = 1) -> None:
        for _ in range(limit):
            await self.slots.take("first")

    async def join(self, *calls: str) -> None:
        """Have calls wait; the tenant of each is its first letter."""
        for call in calls:
            self.tasks[call] = asyncio.create_task(self._wait(call))
            await asyncio.sleep(0)

    async def _wait(self, call: str) -> None:
        await self.slots.take(call[0])
        self.got.append(call)

    async def free(self, times: int) -> list[str]:
        for _ in range(times):
            self.slots.give_back()
            await settled()
        return self.got


async def test_tenants_that_wait_get_slots_in_turn_and_their_calls_in_order() -> None:
    queue = Queue()
    await queue.fill()
    await queue.join("a1", "a2", "a3", "b1", "c1", "b2")
    assert await queue.free(6) == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_a_tenant_that_comes_later_waits_for_one_slot_and_not_for_those_before_it() -> None:
    queue = Queue()
    await queue.fill()
    await queue.join(*(f"a{number}" for number in range(160)), "b")
    assert (await queue.free(2))[1] == "b"


async def test_a_tenant_that_is_alone_has_all_slots() -> None:
    slots = Slots(16)
    for _ in range(16):
        await asyncio.wait_for(slots.take("a"), 1)
    assert slots.all_taken


@pytest.mark.parametrize("granted", [False, True])
async def test_a_call_that_is_cancelled_while_it_waits_leaves_nothing_even_if_it_was_just_granted(
    granted: bool,
) -> None:
    queue = Queue()
    await queue.fill()
    await queue.join("a1", "b1")
    if granted:
        queue.slots.give_back()
    queue.tasks["a1"].cancel()
    await settled()
    if not granted:
        await queue.free(1)
    assert queue.got == ["b1"]
    queue.slots.give_back()
    assert not queue.slots._waiting
    assert not queue.slots.all_taken


@given(st.lists(st.sampled_from(["join a", "join b", "join c", "free", "cancel"]), max_size=40), st.integers(1, 3))
def test_slots_are_neither_lost_nor_made(steps: Sequence[str], limit: int) -> None:
    async def main() -> None:
        queue, given_back, serial = Queue(limit), 0, 0
        await queue.fill(limit)
        for step in steps:
            held = limit + len(queue.got) - given_back
            if step.startswith("join"):
                serial += 1
                await queue.join(f"{step[-1]}{serial}")
            elif step == "cancel" and queue.tasks:
                queue.tasks.popitem()[1].cancel()
            elif step == "free" and held:
                given_back += 1
                queue.slots.give_back()
            await settled()
            held = limit + len(queue.got) - given_back
            waiting = sum(map(len, queue.slots._waiting.values()))
            assert queue.slots._free == limit - held
            assert queue.slots.all_taken or not waiting
            assert waiting == sum(not task.done() for task in queue.tasks.values())
        for task in queue.tasks.values():
            task.cancel()
        await settled()
        assert not queue.slots._waiting

    asyncio.run(main())


async def test_nothing_is_kept_of_tenants_that_wait_for_nothing() -> None:
    slots = Slots(1)
    for number in range(1_000):
        await slots.take(f"t{number}")
        waiting = asyncio.create_task(slots.take(f"u{number}"))
        await asyncio.sleep(0)
        slots.give_back()
        await waiting
        slots.give_back()
    gc.collect()
    assert not slots._waiting
    assert not slots.all_taken


async def test_a_chat_with_many_calls_does_not_hold_up_another_tenant() -> None:
    """Counted in calls, not in time: of 60 calls of one tenant, few come before the one call of the other."""
    order: list[str] = []
    server = ScriptedServer({"t": lambda arguments: order.append(arguments["whose"]) or "ok"}, delays=[2] * 100)
    pipeline = make_pipeline(slots=Slots(4))
    many = chat(ScriptedModel(asks(*[("t", {"whose": "many"})] * 60)), server, tenant="many", pipeline=pipeline)
    one = chat(ScriptedModel(asks(("t", {"whose": "one"}))), server, tenant="one", pipeline=pipeline)
    await asyncio.gather(events_of(many), events_of(one))
    assert order.index("one") < 12
    assert len(order) == 61


# ---- slots that are kept for long ----


@given(
    st.integers(1, 30),
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=120),
)
def test_no_tenant_takes_all_slots_and_none_is_lost(limit: int, steps: Sequence[tuple[str, bool]]) -> None:
    """Tenants take and give back slots in any order; a step that takes may have to wait, and then is given up."""

    async def run() -> None:
        slots, held = FairShares(limit), dict.fromkeys("abc", 0)
        waiting: list[tuple[str, asyncio.Task[None]]] = []
        for tenant, takes in steps:
            if takes:
                waiting.append((tenant, asyncio.create_task(slots.take(tenant))))
            elif held[tenant]:
                held[tenant] -= 1
                slots.give_back(tenant)
            await settled()
            for who, task in [pair for pair in waiting if pair[1].done()]:
                held[who] += 1
                waiting.remove((who, task))
            free = limit - sum(held.values())
            assert slots._free == free >= 0
            for who in {who for who, _ in waiting}:
                assert held[who] >= SHARE * free  # nobody waits who may have one
            assert all(number <= max(1, -(-SHARE * limit // (SHARE + 1))) for number in held.values())
        for _, task in waiting:
            task.cancel()
        await settled()
        for tenant, number in held.items():
            for _ in range(number):
                slots.give_back(tenant)
        assert (slots._free, slots._waiting, +slots._taken) == (limit, {}, {})

    asyncio.run(run())
