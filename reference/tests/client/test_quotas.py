"""Quotas of tenants: what is allowed, what is counted, who waits and who is refused."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from support.clock import Clock
from support.scripted_model import ScriptedModel

from xmcp.chat import token_estimate
from xmcp.chat.errors import ProviderError, QuotaExceeded
from xmcp.chat.token_estimate import estimated_tokens
from xmcp.chat.usage import UsageRecord
from xmcp.client import AIClient
from xmcp.client.hooks import quota_accounts
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext, LLMState, Middleware, Stack, ToolState
from xmcp.client.hooks.quotas import Quota, TenantQuotas
from xmcp.providers import Completion, ScriptedProvider, ToolCall, ToolSchemas, Usage

PRICED = Completion("hi", usage=Usage(10_000, 10_000))
"""An answer of a model whose vendor counts tokens."""
NO_TOOLS = len(ToolSchemas().json)


def llm(tenant: str | None = "acme", input_tokens: int = 100, model: str = "m") -> LLMState:
    """A call of the model whose request is estimated at `input_tokens`, 5 or more."""
    text = "x" * (4 * input_tokens - token_estimate.MESSAGE_BYTES - NO_TOOLS)
    chat = ChatContext("c", tenant)
    messages = [{"role": "user", "content": text}]
    return LLMState(chat=chat, turn=1, provider="p", model=model, messages=messages, tools=ToolSchemas())


def chat(name: str = "c", tenant: str | None = "acme") -> ChatContext:
    return ChatContext(name, tenant)


def tool(context: ChatContext, turn: int = 1) -> ToolState:
    return ToolState(chat=context, turn=turn, call_id="1", tool_name="t", server=None, arguments={})


def used(input_tokens: int | None, output_tokens: int | None, cost_usd: float | None = None) -> UsageRecord:
    return UsageRecord(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=None,
        cost_usd=cost_usd,
        timestamp="2026-11-22T09:30:00Z",
        session_id=None,
        tenant_id=None,
        provider="p",
        model="m",
    )


async def spend(quotas: TenantQuotas, state: LLMState, usage: UsageRecord | None) -> None:
    """One call of the model that answers."""
    await quotas.before_llm(state)
    state.completion, state.usage = state.completion or Completion("hi"), usage
    await quotas.after_llm(state)


async def refused(hook: Awaitable[Any]) -> QuotaExceeded:
    with pytest.raises(QuotaExceeded) as caught:
        async with asyncio.timeout(5):
            await hook
    return caught.value


def at_once(hook: Coroutine[Any, Any, None]) -> None:
    """Run a hook that never gives way, so that no cancellation can come between."""
    with pytest.raises(StopIteration):
        hook.send(None)


async def waits(hook: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """The task of a hook that is stopped where it waits."""
    task = asyncio.create_task(hook)
    await asyncio.sleep(0)
    assert not task.done()
    return task


def tokens(quotas: TenantQuotas, tenant: str | None = "acme") -> tuple[int, int]:
    counts = quotas.usage(tenant)["tokens"]
    return counts["spent"], counts["reserved"]


def dollars(quotas: TenantQuotas, tenant: str | None = "acme") -> tuple[float, float]:
    counts = quotas.usage(tenant)["spend_usd"]
    return counts["spent"], counts["reserved"]


def calls(quotas: TenantQuotas, tenant: str | None = "acme") -> tuple[int, int]:
    counts = quotas.usage(tenant)["parallel_calls"]
    return counts["running"], counts["waiting"]


class TestTokens:
    async def test_a_call_reserves_its_estimate_and_settles_with_what_it_used(self) -> None:
        quotas = TenantQuotas(tokens=1_000, reserve_output_tokens=50)
        state = llm(input_tokens=100)
        await quotas.before_llm(state)
        assert tokens(quotas) == (0, 150)
        state.completion, state.usage = Completion("hi"), used(90, 20)
        await quotas.after_llm(state)
        assert tokens(quotas) == (110, 0)

    async def test_the_limit_itself_is_still_allowed_and_one_token_more_is_not(self) -> None:
        quotas = TenantQuotas(tokens=250, reserve_output_tokens=50)
        await spend(quotas, llm(input_tokens=100), used(90, 10))
        await refused(quotas.before_llm(llm(input_tokens=101)))
        await spend(quotas, llm(input_tokens=100), used(100, 50))
        assert tokens(quotas) == (250, 0)

    async def test_a_refusal_says_whose_what_how_much_and_until_when(self) -> None:
        clock = Clock(1_000.0)
        quotas = TenantQuotas(tokens=1_000, reserve_output_tokens=50, window=60, clock=clock)
        await quotas.before_llm(llm(input_tokens=350))
        await spend(quotas, llm(input_tokens=100), used(450, 50))
        clock.now += 20
        error = await refused(quotas.before_llm(llm(input_tokens=100)))
        assert (error.tenant_id, error.quota, error.used, error.limit) == ("acme", "tokens", 900, 1_000)
        assert error.reset == 40
        for part in ("'acme'", "500 tokens are spent", "400 tokens reserved", "1,000", "150", "40 s"):
            assert part in str(error)

    async def test_a_call_larger_than_the_whole_quota_is_refused_and_no_time_helps(self) -> None:
        error = await refused(TenantQuotas(tokens=1_000, reserve_output_tokens=50).before_llm(llm(input_tokens=951)))
        assert (error.used, error.limit, error.reset) == (0, 1_000, None)
        assert "more than the whole quota" in str(error)

    async def test_a_call_that_wrote_more_than_was_reserved_stops_the_next(self) -> None:
        quotas = TenantQuotas(tokens=200, reserve_output_tokens=0)
        await spend(quotas, llm(input_tokens=100), used(100, 300))
        error = await refused(quotas.before_llm(llm(input_tokens=5)))
        assert error.used == 400

    async def test_a_quota_of_zero_lets_nothing_in(self) -> None:
        await refused(TenantQuotas(tokens=0).before_llm(llm()))
        await refused(TenantQuotas(spend_usd=0).before_llm(llm()))
        await refused(TenantQuotas(parallel_calls=0).before_tool(tool(chat())))

    @pytest.mark.parametrize("limits", [{"tokens": 20_000}, {"spend_usd": 1.0}, {"tokens": 20_000, "spend_usd": 1.0}])
    async def test_sixty_four_chats_at_once_never_pass_the_limit_together(self, limits: dict[str, Any]) -> None:
        price, peak, answers = 0.0000625, 0.0, asyncio.Semaphore(0)
        quotas = TenantQuotas(**limits, reserve_output_tokens=200)
        await spend(quotas, llm(), used(100, 100, 200 * price))  # now the price of a token is known

        def watch() -> None:
            nonlocal peak
            for quota, limit in limits.items():
                counts = quotas.usage("acme")[quota]
                peak = max(peak, (counts["spent"] + counts["reserved"]) / limit)

        async def one(number: int) -> None:
            turn = 0
            while True:
                state = llm(input_tokens=50 + number)
                await quotas.before_llm(state)
                watch()
                await answers.acquire()
                turn += 1
                written = number * turn % 200
                state.completion, state.usage = (
                    Completion(),
                    used(50 + number, written, (50 + number + written) * price),
                )
                await quotas.after_llm(state)
                watch()

        chats = [asyncio.create_task(refused(one(number))) for number in range(64)]
        async with asyncio.timeout(5):
            while not all(task.done() for task in chats):
                answers.release()
                await asyncio.sleep(0)
        assert {(await task).quota for task in chats} <= set(limits)
        assert 0.98 < peak <= 1
        assert tokens(quotas)[1] == dollars(quotas)[1] == 0


class TestWhatACallCounts:
    @pytest.mark.parametrize(
        ("usage", "counted"),
        [
            (used(90, 20), 110),
            (used(None, 20), 120),
            (used(90, None), 140),
            (used(None, None), 150),
            (used(0, 0), 0),
            (None, 150),
        ],
    )
    async def test_what_the_vendor_did_not_say_counts_as_estimated(
        self, usage: UsageRecord | None, counted: int
    ) -> None:
        quotas = TenantQuotas(reserve_output_tokens=50)
        await spend(quotas, llm(input_tokens=100), usage)
        assert tokens(quotas) == (counted, 0)

    @pytest.mark.parametrize(
        ("error", "counted"), [(OSError(), 0), (asyncio.CancelledError(), 150), (GeneratorExit(), 150)]
    )
    async def test_a_failed_call_counts_nothing_and_a_cancelled_one_its_estimate(
        self, error: BaseException, counted: int
    ) -> None:
        quotas = TenantQuotas(reserve_output_tokens=50)
        state = llm(input_tokens=100)
        await quotas.before_llm(state)
        state.error = error
        await quotas.after_llm(state)
        assert tokens(quotas) == (counted, 0)

    async def test_a_long_answer_that_the_vendor_did_not_count_counts_as_long_as_it_is(self) -> None:
        quotas = TenantQuotas(reserve_output_tokens=50)
        state = llm(input_tokens=100)
        state.completion = Completion("word " * 400, (ToolCall("1", "find", "x" * 396),))
        await spend(quotas, state, used(None, None))
        assert tokens(quotas) == (100 + 500 + 100, 0)

    async def test_a_refused_call_leaves_nothing_behind(self) -> None:
        quotas = TenantQuotas(tokens=10)
        state = llm()
        await refused(quotas.before_llm(state))
        await quotas.after_llm(state)
        assert tokens(quotas) == (0, 0)
        assert quotas.usage("acme")["llm_calls"] == 0

    def test_the_estimate_is_of_bytes_and_takes_media_by_the_piece(self) -> None:
        schemas = ToolSchemas.of([{"type": "function", "function": {"name": "n" * 300}}])
        call = {"id": "1", "type": "function", "function": {"name": "abcd", "arguments": "x" * 400}}
        image = {"type": "image_url", "image_url": {"url": "data:" + "x" * 1_000_000}}
        frame = token_estimate.MESSAGE_BYTES / 4
        for message, size in (
            ({"role": "user", "content": "x" * 400}, 100),
            ({"role": "user", "content": "é" * 400}, 200),
            ({"role": "user", "content": "\ud800" * 400}, 300),
            ({"role": "user", "content": None}, 0),
            ({"role": "assistant", "content": "", "tool_calls": [call]}, 101),
            ({"role": "assistant", "tool_calls": None}, 0),
            ({"role": "user", "content": [{"type": "text", "text": "x" * 400}, image]}, 100 + 1_000),
        ):
            assert estimated_tokens([message], schemas) == math.ceil(frame + size + len(schemas.json) / 4)
        assert estimated_tokens([{"tool_calls": [{"id": "a", "function": "f"}, {"id": "b"}, 7]}], schemas) > 0
        assert estimated_tokens([{"content": "abc"}] * 2, ToolSchemas()) == math.ceil(2 * (frame + 0.75) + 0.5)


class TestDollars:
    async def test_nothing_is_reserved_until_a_price_is_known_and_then_its_average(self) -> None:
        quotas = TenantQuotas(spend_usd=1.0, reserve_output_tokens=100)
        await quotas.before_llm(llm())
        assert dollars(quotas) == (0, 0)
        await spend(quotas, llm(), used(100, 100, 0.25))
        await spend(quotas, llm(), used(200, 0, 0.15))
        state = llm()
        await quotas.before_llm(state)
        assert dollars(quotas) == pytest.approx((0.4, 0.2))
        error = await refused(quotas.before_llm(llm(input_tokens=301)))
        assert (error.quota, error.limit) == ("spend_usd", 1.0)
        assert error.used == pytest.approx(0.6)
        assert "$0.4000 are spent" in str(error)

    async def test_a_spent_quota_stops_calls_whose_price_is_not_known(self) -> None:
        quotas = TenantQuotas(spend_usd=1.0)
        await spend(quotas, llm(), used(1, 1, 1.0))
        await refused(quotas.before_llm(llm(model="new")))

    async def test_averages_are_those_of_the_tenant_and_the_model(self) -> None:
        quotas = TenantQuotas()
        await spend(quotas, llm(), used(100, 100, 0.5))
        for other in (llm("other"), llm(model="other")):
            await quotas.before_llm(other)
        assert dollars(quotas)[1] == dollars(quotas, "other")[1] == 0

    async def test_a_cost_that_is_not_known_counts_the_average(self) -> None:
        quotas = TenantQuotas()
        await spend(quotas, llm(), used(100, 100, None))
        assert dollars(quotas) == (0, 0)
        await spend(quotas, llm(), used(100, 100, 0.5))
        await spend(quotas, llm(), used(100, 0, None))
        assert dollars(quotas) == pytest.approx((0.75, 0))

    async def test_free_models_and_calls_without_tokens_are_no_trouble(self) -> None:
        quotas = TenantQuotas(spend_usd=1.0)
        await spend(quotas, llm(), used(0, 0, 0))
        await spend(quotas, llm(), used(10, 10, 0))
        assert dollars(quotas) == (0, 0)


class TestWindows:
    async def test_there_is_room_again_after_reset_and_not_before(self) -> None:
        clock = Clock(1_000.0)
        quotas = TenantQuotas(tokens=150, reserve_output_tokens=50, window=60, clock=clock)
        clock.now += 500  # the window begins with the first use
        await spend(quotas, llm(), used(100, 50))
        clock.now += 59
        error = await refused(quotas.before_llm(llm()))
        assert error.reset == 1
        clock.now += error.reset
        assert quotas.usage("acme")["reset"] is None
        assert tokens(quotas) == (0, 0)
        await spend(quotas, llm(), used(100, 50))
        assert quotas.usage("acme")["reset"] == 60

    async def test_a_call_over_the_end_of_a_window_counts_in_the_next(self) -> None:
        clock = Clock(1_000.0)
        quotas = TenantQuotas(tokens=300, reserve_output_tokens=50, window=60, clock=clock)
        await spend(quotas, llm(), used(100, 50))
        state = llm()
        await quotas.before_llm(state)
        clock.now += 60
        assert tokens(quotas) == (0, 150)
        await refused(quotas.before_llm(llm(input_tokens=101)))
        state.completion, state.usage = Completion("hi"), used(100, 20)
        await quotas.after_llm(state)
        assert tokens(quotas) == (120, 0)

    async def test_a_window_renewed_in_the_middle_of_a_call_keeps_no_other_alive(self) -> None:
        clock = Clock(1_000.0)
        quotas = TenantQuotas(window=60, clock=clock)
        running = llm("first")
        await quotas.before_llm(running)
        await spend(quotas, llm("second"), used(1, 1))
        clock.now += 60
        await quotas.after_llm(running)
        await spend(quotas, llm("third"), used(1, 1))
        assert set(quotas._accounts) == {"first", "third"}

    @pytest.mark.slow
    async def test_a_hundred_thousand_tenants_leave_nothing_behind(self) -> None:
        clock = Clock(1_000.0)
        quotas = TenantQuotas(tokens=10_000, parallel_calls=1, window=10, clock=clock)
        running = llm("kept")
        await quotas.before_llm(running)
        largest = 0
        for number in range(100_000):
            clock.now += 0.01
            await spend(quotas, llm(f"t{number}", 5), used(1, 1, 0.1))
            state = tool(chat(tenant=f"t{number}"))
            await quotas.before_tool(state)
            await quotas.after_tool(state)
            largest = max(largest, len(quotas._accounts))
        assert largest <= 1_002
        assert len(quotas._meter._prices) == quota_accounts.KNOWN_PRICES
        clock.now += 10
        for _ in range(1_000):
            await spend(quotas, llm(), used(1, 1))
        assert set(quotas._accounts) == {"acme", "kept"}
        assert tokens(quotas, "kept")[1] > 0
        assert not quotas._places
        assert list(quotas._reservations) == [id(running)]


class TestTenants:
    async def test_tenants_do_not_affect_each_other(self) -> None:
        quotas = TenantQuotas(tokens=150, parallel_calls=1, reserve_output_tokens=50)
        for tenant in ("a", "b", None):
            state = llm(tenant)
            await quotas.before_llm(state)
            await quotas.before_tool(tool(chat(tenant=tenant)))
        for tenant in ("a", "b", None):
            assert (await refused(quotas.before_llm(llm(tenant)))).tenant_id == tenant
            assert (await refused(quotas.before_tool(tool(chat("other", tenant))))).tenant_id == tenant

    @pytest.mark.parametrize("as_mapping", [True, False])
    async def test_some_tenants_can_have_other_limits(self, as_mapping: bool) -> None:
        limits = {"big": Quota(tokens=10_000), "free": Quota()}
        quotas = TenantQuotas(
            tokens=100,
            parallel_calls=0,
            reserve_output_tokens=0,
            limits=limits if as_mapping else lambda tenant: limits.get(tenant or ""),
        )
        for tenant, limit in (("big", 10_000), ("small", 100), (None, 100)):
            assert quotas.usage(tenant)["tokens"]["limit"] == limit
            assert (await refused(quotas.before_llm(llm(tenant, limit + 1)))).limit == limit
            await quotas.before_llm(llm(tenant, limit))
        await quotas.before_llm(llm("free", 1_000_000))
        await quotas.before_tool(tool(chat(tenant="big")))
        await refused(quotas.before_tool(tool(chat(tenant="small"))))

    async def test_limits_that_are_no_quota_are_refused_by_name(self) -> None:
        quotas = TenantQuotas(limits=lambda tenant: 5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="Quota or None for a tenant, not int"):
            await quotas.before_llm(llm())

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *((name, value) for name in ("tokens", "parallel_calls") for value in (-1, 1.5, True, "9")),
            *(("spend_usd", value) for value in (-0.1, math.nan, math.inf, True, "9")),
            *(("reserve_output_tokens", value) for value in (-1, None, 0.5)),
            *((name, value) for name in ("window", "queue_timeout") for value in (0, -1, math.inf, math.nan, None)),
        ],
    )
    def test_what_is_no_limit_is_refused_by_name(self, name: str, value: Any) -> None:
        with pytest.raises(ValueError, match=name):
            TenantQuotas(**{name: value})


class TestParallelCalls:
    async def test_a_wide_turn_runs_as_many_calls_as_there_are_places_first_come_first_served(self) -> None:
        quotas = TenantQuotas(parallel_calls=2)
        context, most, begun = chat(), 0, []

        async def one(number: int) -> None:
            nonlocal most
            state = tool(context)
            await quotas.before_tool(state)
            begun.append(number)
            most = max(most, calls(quotas)[0])
            await asyncio.sleep(0)
            await quotas.after_tool(state)

        async with asyncio.timeout(300):
            await asyncio.gather(*map(one, range(64)))
        assert begun == list(range(64))
        assert most == 2
        assert calls(quotas) == (0, 0)

    async def test_a_chat_that_runs_none_is_refused_at_once(self) -> None:
        quotas = TenantQuotas(parallel_calls=1)
        first = tool(chat("a"))
        await quotas.before_tool(first)
        error = await refused(quotas.before_tool(tool(chat("b"))))
        assert (error.quota, error.used, error.limit, error.reset) == ("parallel_calls", 1, 1, None)
        assert "All 1 tool calls that tenant 'acme' may run at once are running" in str(error)
        await quotas.after_tool(first)
        await quotas.before_tool(tool(chat("b")))

    async def test_the_second_layer_of_a_turn_waits_and_the_next_turn_is_refused(self) -> None:
        quotas = TenantQuotas(parallel_calls=1)
        context, other = chat("a"), tool(chat("b"))
        first = tool(context)
        await quotas.before_tool(first)
        await quotas.after_tool(first)
        await quotas.before_tool(other)
        dependant = tool(context)
        task = await waits(quotas.before_tool(dependant))
        await refused(quotas.before_tool(tool(context, turn=2)))
        await quotas.after_tool(other)
        await asyncio.wait_for(task, 5)
        await quotas.after_tool(dependant)
        assert calls(quotas) == (0, 0)

    async def test_two_quotas_in_one_client_keep_apart(self) -> None:
        roomy, narrow = TenantQuotas(parallel_calls=9), TenantQuotas(parallel_calls=1)
        await narrow.before_tool(tool(chat("a")))
        state = tool(chat("b"))
        await roomy.before_tool(state)
        await refused(narrow.before_tool(state))

    async def test_nobody_overtakes_a_call_that_waits(self) -> None:
        quotas = TenantQuotas(parallel_calls=1)
        context = chat("a")
        first, second = tool(context), tool(context)
        await quotas.before_tool(first)
        task = await waits(quotas.before_tool(second))
        await quotas.after_tool(first)  # the place is the second's, although its task has not run yet
        await refused(quotas.before_tool(tool(chat("b"))))
        await asyncio.wait_for(task, 5)
        assert calls(quotas) == (1, 0)

    async def test_a_waiting_call_that_is_cancelled_leaves_nothing_behind(self) -> None:
        quotas = TenantQuotas(parallel_calls=1)
        context = chat()
        first, third = tool(context), tool(context)
        await quotas.before_tool(first)
        second_task = await waits(quotas.before_tool(tool(context)))
        third_task = await waits(quotas.before_tool(third))
        second_task.cancel()
        await asyncio.wait([second_task], timeout=5)
        assert second_task.cancelled()
        assert calls(quotas) == (1, 1)
        await quotas.after_tool(first)
        await asyncio.wait_for(third_task, 5)
        await quotas.after_tool(third)
        assert calls(quotas) == (0, 0)

    async def test_a_place_that_comes_with_the_cancellation_goes_to_the_next(self) -> None:
        quotas = TenantQuotas(parallel_calls=1)
        context = chat()
        first, third = tool(context), tool(context)
        await quotas.before_tool(first)
        second_task = await waits(quotas.before_tool(tool(context)))
        third_task = await waits(quotas.before_tool(third))
        await quotas.after_tool(first)
        second_task.cancel()
        await asyncio.wait([second_task], timeout=5)
        assert second_task.cancelled()
        await asyncio.wait_for(third_task, 5)
        await quotas.after_tool(third)
        assert calls(quotas) == (0, 0)

    async def test_no_call_waits_for_ever(self) -> None:
        quotas = TenantQuotas(parallel_calls=1, queue_timeout=0.01)
        context = chat()
        await quotas.before_tool(tool(context))
        error = await refused(quotas.before_tool(tool(context)))
        assert "for 0.01 s none became free" in str(error)
        assert calls(quotas) == (1, 0)

    async def test_a_tool_that_runs_chats_of_its_tenant_gets_done(self) -> None:
        quotas = TenantQuotas(parallel_calls=3)
        ended: list[str] = []

        async def turn(context: ChatContext, width: int, work: Callable[[int], Awaitable[None]]) -> None:
            async def one(number: int) -> None:
                state = tool(context)
                await quotas.before_tool(state)
                try:
                    await work(number)
                finally:
                    await quotas.after_tool(state)

            results = await asyncio.gather(*map(one, range(width)), return_exceptions=True)
            assert all(result is None or isinstance(result, QuotaExceeded) for result in results)
            ended.append(context.chat_id)

        async def leaf(number: int) -> None:
            await asyncio.sleep(0)

        async def inner(number: int) -> None:
            await turn(chat(f"inner {number}"), 3, leaf)
            await turn(chat(f"inner again {number}"), 3, leaf)

        async with asyncio.timeout(300):
            await turn(chat("outer"), 6, inner)
        assert len(ended) == 13
        assert calls(quotas) == (0, 0)

    async def test_a_limit_that_rises_lets_in_who_waits_first(self) -> None:
        quota = Quota(parallel_calls=1)
        quotas = TenantQuotas(limits=lambda tenant: quota)
        context = chat()
        await quotas.before_tool(tool(context))
        waiting = [await waits(quotas.before_tool(tool(context))) for _ in range(2)]
        quota = Quota(parallel_calls=3)
        later = await waits(quotas.before_tool(tool(context)))
        await asyncio.wait_for(asyncio.gather(*waiting), 5)
        assert calls(quotas) == (3, 1)
        later.cancel()
        await asyncio.wait([later], timeout=5)

    async def test_a_limit_that_falls_hands_no_place_on(self) -> None:
        quota = Quota(parallel_calls=2)
        quotas = TenantQuotas(limits=lambda tenant: quota)
        context = chat()
        running = [tool(context), tool(context)]
        for state in running:
            await quotas.before_tool(state)
        quota = Quota(parallel_calls=1)
        task = await waits(quotas.before_tool(tool(context)))
        await quotas.after_tool(running[0])
        assert calls(quotas) == (1, 1)
        await quotas.after_tool(running[1])
        await asyncio.wait_for(task, 5)

    async def test_a_call_that_something_else_refuses_or_cancels_gives_its_place_back(self) -> None:
        class Refuses(Middleware):
            async def before_tool(self, state: ToolState) -> None:
                raise RuntimeError

        quotas = TenantQuotas(parallel_calls=1)
        with pytest.raises(RuntimeError):
            async with Stack([quotas, Refuses()]).around("tool", tool(chat()), EventLog()):
                pass
        assert calls(quotas) == (0, 0)
        inside = asyncio.Event()

        async def call() -> None:
            async with Stack([quotas]).around("tool", tool(chat()), EventLog()):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(call())
        await asyncio.wait_for(inside.wait(), 5)
        assert calls(quotas) == (1, 0)
        task.cancel()
        await asyncio.wait([task], timeout=5)
        assert calls(quotas) == (0, 0)

    async def test_a_cancelled_model_call_is_counted_through_the_stack(self) -> None:
        quotas = TenantQuotas(reserve_output_tokens=50)
        inside = asyncio.Event()

        async def call() -> None:
            async with Stack([quotas]).around("llm", llm(input_tokens=100), EventLog()):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(call())
        await asyncio.wait_for(inside.wait(), 5)
        assert tokens(quotas) == (0, 150)
        task.cancel()
        await asyncio.wait([task], timeout=5)
        assert tokens(quotas) == (150, 0)


TENANTS: Sequence[str | None] = ("a", "b", None)
LIMITS: dict[str | None, Quota] = {
    "a": Quota(tokens=1_000, spend_usd=2.0, parallel_calls=2),
    "b": Quota(spend_usd=0.5, parallel_calls=1),
    None: Quota(tokens=400),
}
OUTPUT, WINDOW = 60, 100


@dataclass
class Book:
    """The naive model of one tenant: everything that ever happened, added up anew for every question."""

    begins: list[float] = field(default_factory=list)
    settled: list[tuple[float, int, Fraction]] = field(default_factory=list)
    held: dict[int, tuple[int, Fraction]] = field(default_factory=dict)
    paid: list[tuple[str, int, Fraction]] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    last_turn: dict[str, int] = field(default_factory=dict)

    def use(self, now: float) -> None:
        if not self.begins or now >= self.begins[-1] + WINDOW:
            self.begins.append(now)

    def spent(self, now: float) -> tuple[int, Fraction]:
        if not self.begins or now >= self.begins[-1] + WINDOW:
            return 0, Fraction(0)
        inside = [(size, cost) for when, size, cost in self.settled if when >= self.begins[-1]]
        return sum(size for size, _ in inside), sum((cost for _, cost in inside), Fraction(0))

    def reserved(self) -> tuple[int, Fraction]:
        held = self.held.values()
        return sum(size for size, _ in held), sum((cost for _, cost in held), Fraction(0))

    def price(self, model: str) -> Fraction:
        paid = [(size, cost) for name, size, cost in self.paid if name == model]
        size = sum(size for size, _ in paid)
        return sum((cost for _, cost in paid), Fraction(0)) / size if size else Fraction(0)


class QuotasAgainstTheModel(RuleBasedStateMachine):
    """Random calls, ends, cancellations and steps of the clock."""

    llm_calls, tool_calls = Bundle("llm_calls"), Bundle("tool_calls")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = Clock(1_000.0)
        self.quotas = TenantQuotas(
            reserve_output_tokens=OUTPUT, window=WINDOW, limits=LIMITS.__getitem__, clock=self.clock
        )
        self.books: dict[str | None, Book] = {tenant: Book() for tenant in TENANTS}
        self.chats = {(tenant, name): ChatContext(name, tenant) for tenant in TENANTS for name in "xy"}
        self.tasks: dict[int, tuple[ToolState, asyncio.Task[None]]] = {}
        self.numbers = iter(range(1_000_000))

    def teardown(self) -> None:
        for _, task in self.tasks.values():
            task.cancel()
        self.tick()
        self.loop.close()

    def tick(self) -> None:
        for _ in range(4):
            self.loop.run_until_complete(asyncio.sleep(0))

    @rule(seconds=st.sampled_from([0, 1, 33, 99, 100, 101, 450]))
    def time_passes(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule(
        target=llm_calls, tenant=st.sampled_from(TENANTS), size=st.integers(5, 500), model=st.sampled_from(["m", "n"])
    )
    def a_model_is_asked(self, tenant: str | None, size: int, model: str) -> Any:
        book, limits, now = self.books[tenant], LIMITS[tenant], self.clock.now
        book.use(now)
        need = (size + OUTPUT, (size + OUTPUT) * book.price(model))
        state, refusal = llm(tenant, size, model), None
        for place, quota in enumerate(("tokens", "spend_usd")):
            limit = getattr(limits, quota)
            if limit is None:
                continue
            exact, more = Fraction(book.spent(now)[place]) + book.reserved()[place], need[place]
            assume(quota == "tokens" or abs(exact - Fraction(limit)) > 1e-9 < abs(exact + more - Fraction(limit)))
            if exact >= limit or exact + more > limit:
                refusal = (quota, exact, None if more > limit else book.begins[-1] + WINDOW - now)
                break
        if refusal is not None:
            error = self.loop.run_until_complete(refused(self.quotas.before_llm(state)))
            assert (error.quota, error.reset) == (refusal[0], refusal[2])
            assert error.used == pytest.approx(float(refusal[1]))
            return multiple()
        self.loop.run_until_complete(self.quotas.before_llm(state))
        number = next(self.numbers)
        book.held[number] = need
        return (number, tenant, size, model, state)

    @rule(
        call=consumes(llm_calls),
        end=st.sampled_from(["failed", "cancelled", "without_usage", "unanswered"])
        | st.tuples(st.none() | st.integers(0, 700), st.none() | st.integers(0, 100), st.booleans()),
    )
    def a_model_ends(self, call: Any, end: Any) -> None:
        number, tenant, size, model, state = call
        book, now = self.books[tenant], self.clock.now
        book.use(now)
        del book.held[number]
        counted, cost = size + OUTPUT, None
        if end == "failed":
            state.error, counted = OSError(), 0
        elif end == "cancelled":
            state.error = asyncio.CancelledError()
        elif end == "unanswered":
            state.error, state.usage = ProviderError("silent", unanswered=True), used(size, 0, None)
        elif end == "without_usage":
            state.completion = Completion()
        else:
            read, written, priced = end
            counted = (size if read is None else read) + (OUTPUT if written is None else written)
            cost = counted * Fraction(1, 1024) if priced else None
            state.completion = Completion()
            state.usage = used(read, written, None if cost is None else float(cost))
        if cost is not None:
            book.paid.append((model, counted, cost))
        book.settled.append((now, counted, counted * book.price(model) if cost is None else cost))
        at_once(self.quotas.after_llm(state))

    @rule(
        target=tool_calls,
        tenant=st.sampled_from(TENANTS),
        name=st.sampled_from("xy"),
        turn=st.integers(1, 2),
        width=st.integers(1, 4),
    )
    def tools_are_called(self, tenant: str | None, name: str, turn: int, width: int) -> Any:
        return multiple(*filter(None, (self.call_tool(tenant, name, turn) for _ in range(width))))

    def call_tool(self, tenant: str | None, name: str, turn: int) -> tuple[int, str | None] | None:
        book, limit = self.books[tenant], LIMITS[tenant].parallel_calls
        book.use(self.clock.now)
        number = next(self.numbers)
        state = tool(self.chats[tenant, name], turn)
        task = self.loop.create_task(self.quotas.before_tool(state))
        self.tick()
        limits = (LIMITS[tenant].tokens, LIMITS[tenant].spend_usd)
        spent = book.spent(self.clock.now)
        if any(most is not None and float(used) >= most for used, most in zip(spent, limits, strict=True)):
            assert isinstance(task.exception(), QuotaExceeded)
            return None
        if limit is None or len(book.running) < limit:
            book.running.append(number)
            book.last_turn[name] = turn
        elif book.last_turn.get(name) == turn:
            book.waiting.append(number)
        else:
            assert isinstance(task.exception(), QuotaExceeded)
            return None
        self.tasks[number] = (state, task)
        return (number, tenant)

    @rule(call=consumes(tool_calls), cancel_next=st.booleans())
    def a_tool_call_ends_or_is_cancelled(self, call: Any, cancel_next: bool) -> None:
        number, tenant = call
        if number not in self.tasks:
            return  # it was the one cancelled with the end of another
        book = self.books[tenant]
        state, task = self.tasks.pop(number)
        if number in book.waiting:
            book.waiting.remove(number)
            self.cancel(task)
            return
        book.running.remove(number)
        at_once(self.quotas.after_tool(state))
        if cancel_next and book.waiting:
            self.cancel(self.tasks.pop(book.waiting.pop(0))[1])
        if book.waiting:
            number = book.waiting.pop(0)
            book.running.append(number)
            state = self.tasks[number][0]
            book.last_turn[state.chat.chat_id] = state.turn
        self.tick()

    def cancel(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        self.tick()
        assert task.cancelled()

    @invariant()
    def the_books_agree(self) -> None:
        for tenant, book in self.books.items():
            now, seen, limits = self.clock.now, self.quotas.usage(tenant), LIMITS[tenant]
            for place, quota in enumerate(("tokens", "spend_usd")):
                assert seen[quota] == {
                    "spent": pytest.approx(float(book.spent(now)[place])),
                    "reserved": pytest.approx(float(book.reserved()[place])),
                    "limit": getattr(limits, quota),
                }
            assert seen["llm_calls"] == len(book.held)
            assert calls(self.quotas, tenant) == (len(book.running), len(book.waiting))
            assert limits.parallel_calls is None or len(book.running) <= limits.parallel_calls
            for number in book.running:
                assert self.tasks[number][1].exception() is None
            for number in book.waiting:
                assert not self.tasks[number][1].done()


TestAgainstTheModel = pytest.mark.slow(QuotasAgainstTheModel.TestCase)
TestAgainstTheModel.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


async def test_a_tenant_that_has_spent_everything_calls_no_tool_and_reservations_do_not_count_for_that() -> None:
    quotas = TenantQuotas(tokens=1000, reserve_output_tokens=1)
    await quotas.before_llm(llm(input_tokens=900))
    await quotas.before_tool(tool(chat()))
    await spend(quotas, llm(input_tokens=20), used(970, 30))
    exc = await refused(quotas.before_tool(tool(chat())))
    assert (exc.quota, exc.used, exc.limit) == ("tokens", 1000, 1000)


ACCOUNT = UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(("given", "known_as"), [(ACCOUNT, str(ACCOUNT)), (42, "42"), ("acme", "acme")], ids=str)
async def test_limits_by_uuids_and_numbers_hold_for_the_tenants_of_a_chat(given: Any, known_as: str) -> None:
    limits: Any = {given: Quota(tokens=10)}
    quotas = TenantQuotas(tokens=1_000_000, limits=limits)
    async with AIClient([], llm_provider=ScriptedProvider(["hi"]), middleware=[quotas]) as ai:
        exc = await refused(ai.chat("q", [], tenant_id=given))
        assert (exc.tenant_id, exc.limit) == (known_as, 10)
        assert (await ai.chat("q", [], tenant_id="another"))["answer"] == "hi"
    assert quotas.usage(known_as)["tokens"]["limit"] == 10


@pytest.mark.parametrize("wrong", [True, 1.5, b"acme", ("a",)])
def test_a_limit_for_what_is_no_tenant_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="limits must be a string or a UUID"):
        TenantQuotas(limits={wrong: Quota(tokens=10)})


@pytest.mark.parametrize("price", [Decimal("5"), "5", 5], ids=repr)
async def test_a_price_of_another_kind_of_number_counts(price: Any) -> None:
    quotas = TenantQuotas(spend_usd=5.1)
    options: dict[str, Any] = {"price": lambda *_: price, "middleware": [quotas]}
    async with AIClient([], llm_provider=ScriptedModel(then=PRICED), **options) as ai:
        await ai.chat("q", [])
        assert dollars(quotas, None) == (5.0, 0.0)
        exc = await refused(ai.chat("q", []))
    assert (exc.quota, exc.used) == ("spend_usd", 5.0)


async def test_one_price_that_is_no_number_leaves_the_others_counted() -> None:
    quotas, prices = TenantQuotas(spend_usd=1_000_000), [math.nan, -50.0, math.inf, 5.0, 5.0]
    options: dict[str, Any] = {"price": lambda *_: prices.pop(0), "middleware": [quotas]}
    async with AIClient([], llm_provider=ScriptedModel(then=PRICED), **options) as ai:
        for _ in range(5):
            await ai.chat("q", [])
    assert dollars(quotas, None) == (10.0, 0.0)


async def test_usage_is_asked_for_by_whatever_names_the_tenant() -> None:
    quotas = TenantQuotas(tokens=1000, reserve_output_tokens=1)
    await spend(quotas, llm("42", 20), used(30, 0))
    assert quotas.usage(42)["tokens"]["spent"] == quotas.usage("42")["tokens"]["spent"] == 30
