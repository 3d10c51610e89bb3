"""Interruptions: a consumer that leaves, a cancellation, a hook that hangs, a client that is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from support.chats import answers_in, by_type, chat, events_of, make_pipeline
from support.clock import Clock, never, run
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.chat.errors import CallFailed, QuotaExceeded
from xmcp.client import AIClient
from xmcp.client.calls import app_parameters
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.hooks import callbacks
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import LLMState, Middleware, Stack, ToolState
from xmcp.providers import Completion, ScriptedProvider, Turn, Usage
from xmcp.storage import Admitted, MemoryBreakers, MemoryCache
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

CACHEABLE: Any = {"metadata": {"cacheable": True}, "annotations": {"readOnlyHint": True}}
SHOWN = ToolResponse("t", "x", DisplayEnvelope(type="text", payload="p"))
LOST = CallFailed(ErrorInfo("CONNECTION_FAILED", "gone"), transport=True)


async def settled(steps: int = 30) -> None:
    """Let everything happen that waits for nothing but its turn."""
    for _ in range(steps):
        await asyncio.sleep(0)


def codes(history: Any) -> list[str | None]:
    return [None if answer.error is None else answer.error.code for answer in answers_in(history).values()]


def caches() -> dict[str, Any]:
    return {"cache": ResponseCache(MemoryCache(), None, EventLog())}


# What is known of a turn that is cut short.


async def test_a_call_that_had_ended_stands_in_the_history_as_it_is_also_when_nobody_was_told() -> None:
    server = ScriptedServer({"look": lambda _: "looked", "pay": lambda _: "receipt 17", "hang": never})
    running = chat(ScriptedModel(asks("look", "pay", "hang")), server)
    async with aclosing(running.run()) as events:
        async for event in events:
            if event.type == "tool_result":
                break
        await settled()
    answers = answers_in(running.messages)
    assert (answers["c0"].llm_output, answers["c1"].llm_output) == ("looked", "receipt 17")
    assert codes(running.messages) == [None, None, "CANCELLED"]


async def test_a_quota_that_stops_a_chat_takes_no_call_away_that_had_ended() -> None:
    gate = asyncio.Event()

    class Quota(Middleware):
        async def before_tool(self, state: ToolState) -> None:
            if state.tool_name == "stops":
                await gate.wait()
                raise QuotaExceeded("no more")

    async def pay(_: Any) -> str:
        gate.set()
        return "receipt 17"

    server = ScriptedServer({"stops": never, "pay": pay, "hang": never})
    with pytest.raises(QuotaExceeded) as caught:
        await events_of(chat(ScriptedModel(asks("stops", "hang", "pay")), server, middleware=Stack([Quota()])))
    assert caught.value.history is not None
    assert codes(caught.value.history) == ["QUOTA_EXCEEDED", "CANCELLED", None]
    assert answers_in(caught.value.history)["c2"].llm_output == "receipt 17"


OLD: list[Any] = [{"role": "user", "content": "my account is 17"}, {"role": "assistant", "content": "noted"}]


@pytest.mark.parametrize(
    "own", [("__summarize__", {"summary": "gone"}), ("__clarify__", {"question": "Which?"})], ids=lambda own: own[0]
)
async def test_a_turn_that_was_cancelled_before_it_began_leaves_the_older_history_as_it_was(own: Any) -> None:
    running = chat(ScriptedModel(asks("t", own)), ScriptedServer({"t": never}), history=OLD, meta_tools=True)
    async with aclosing(running.run()) as events:
        async for event in events:
            if event.type == "tool_call":
                break
    assert running.messages[:3] == [*OLD, {"role": "user", "content": "query"}]
    assert codes(running.messages) == ["CANCELLED", "CANCELLED"]


async def test_a_summary_that_was_made_counts_although_its_turn_was_cut_short() -> None:
    summarize = ("__summarize__", {"summary": "Account 17."})
    running = chat(ScriptedModel(asks("t", summarize)), ScriptedServer({"t": never}), history=OLD, meta_tools=True)
    async with aclosing(running.run()) as events:
        async for event in events:
            if event.type == "tool_result":
                break
    assert "my account" not in str(running.messages)
    assert "Account 17." in running.messages[0]["content"]
    assert codes(running.messages) == ["CANCELLED", None]


async def test_what_a_model_call_used_is_accounted_for_before_a_hook_can_be_cancelled() -> None:
    inside, sunk = asyncio.Event(), list[Any]()

    class Slow(Middleware):
        async def after_llm(self, state: LLMState) -> None:
            assert state.usage is not None
            inside.set()
            await asyncio.Event().wait()

    model = ScriptedModel(Completion("hi", usage=Usage(1000, 10)))
    running = chat(model, middleware=Stack([Slow()]), settings={"usage_sink": sunk.append})
    task = asyncio.create_task(events_of(running))
    async with asyncio.timeout(5):
        await inside.wait()
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    assert task.cancelled()
    assert [(record["input_tokens"], record["output_tokens"]) for record in sunk] == [(1000, 10)]
    assert (running._usage["input_tokens"], running._usage["llm_calls"]) == (1000, 1)


# The time of a chat.


def test_when_the_time_is_over_every_call_is_told_of_once_also_one_that_others_wait_for() -> None:
    async def main() -> tuple[list[Any], int]:
        server = ScriptedServer(
            {"before": lambda _: asyncio.sleep(60), "after": lambda _: "x", "done": lambda _: "ok"},
            after={"metadata": {"depends_on": ["before"]}},
        )
        calls = asks("before", "after", "done")
        return await events_of(chat(ScriptedModel(calls), server, chat_timeout=5)), server.running

    told, running = run(main())
    ended = sorted(
        (event.call_id, event.error.code if event.type == "tool_error" else None)
        for event in told
        if event.type in ("tool_result", "tool_error")
    )
    assert ended == [("c0", "TIMEOUT"), ("c1", "TIMEOUT"), ("c2", None)]
    result = told[-1].result
    assert (result["stop_reason"], codes(result["history"]), running) == ("timeout", ["TIMEOUT", "TIMEOUT", None], 0)


class Hangs:
    """A hook that is never done, under a name."""

    def __init__(self, name: str) -> None:
        setattr(self, name, never)


@pytest.mark.parametrize("hook", ["before_llm", "before_tool"])
async def test_a_hook_that_hangs_on_the_way_in_ends_the_chat_when_its_time_is_over(hook: str) -> None:
    model, server = ScriptedModel(asks("t")), ScriptedServer({"t": lambda _: "ok"})
    async with asyncio.timeout(5):
        told = await events_of(chat(model, server, chat_timeout=0.05, middleware=Stack([Hangs(hook)])))
    assert told[-1].result is not None
    assert (told[-1].result["stop_reason"], server.calls) == ("timeout", [])


@pytest.mark.parametrize("hook", ["usage_sink", "on_display", "on_error"])
async def test_a_hook_that_looks_on_holds_a_chat_no_longer_than_the_chat_has(hook: str) -> None:
    server = ScriptedServer({"t": lambda _: SHOWN, "fails": lambda _: ErrorInfo("NOT_FOUND", "m")})
    options: dict[str, Any] = {"settings": {hook: never}} if hook == "usage_sink" else {hook: never}
    async with asyncio.timeout(5):
        told = await events_of(chat(ScriptedModel(asks("t", "fails")), server, chat_timeout=0.05, **options))
    assert told[-1].result is not None
    assert told[-1].type == "done"


async def test_a_hook_that_hangs_after_the_last_failure_of_the_model_keeps_nobody_from_hearing_of_it() -> None:
    from xmcp.providers import ProviderError

    failing = ScriptedModel(ProviderError("no", category="auth"))
    with pytest.raises(ProviderError, match="no"):
        async with asyncio.timeout(5):
            await events_of(chat(failing, chat_timeout=0.05, on_error=never))


async def test_a_parameter_of_the_application_that_never_comes_fails_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_parameters, "CALLBACK_SECONDS", 0.02)
    server = ScriptedServer({"t": lambda _: "ok"}, t={"inputSchema": {"type": "object", "properties": {"user": {}}}})
    model = ScriptedModel(asks("t"))
    async with asyncio.timeout(5):
        told = await events_of(chat(model, server, params={"user": never}))
    assert told[-1].result is not None
    assert (told[-1].result["stop_reason"], codes(told[-1].result["history"])) == ("stop", ["INTERNAL"])
    assert server.calls == []


async def test_a_hook_that_looks_on_is_waited_for_no_longer_than_it_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "CALLBACK_SECONDS", 0.02)
    async with asyncio.timeout(5):
        told = await events_of(chat(ScriptedModel("hi"), settings={"usage_sink": never}))
    assert told[-1].result is not None
    assert told[-1].result["answer"] == "hi"


# A cancellation that is not of the chat.


async def cancelled_inside(*_: Any) -> None:
    """A hook one of whose own tasks was cancelled."""
    task = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    task.cancel()
    await task


def cancelled_at_once(*_: Any) -> None:
    """A hook that asks for the result of what was cancelled."""
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    future.result()


class Calls:
    """A middleware with one hook."""

    def __init__(self, name: str, hook: Callable[..., Any]) -> None:
        setattr(self, name, hook)


HOOKS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "on_display": lambda hook: {"on_display": hook},
    "usage_sink": lambda hook: {"settings": {"usage_sink": hook, "display": "continue"}},
    "after_tool": lambda hook: {"middleware": Stack([Calls("after_tool", hook)])},
    "after_llm": lambda hook: {"middleware": Stack([Calls("after_llm", hook)])},
    "before_tool": lambda hook: {"middleware": Stack([Calls("before_tool", hook)])},
    "approve": lambda hook: {"approve": hook},
    "params": lambda hook: {"params": {"user": hook}},
}
FAILED = {"before_tool": "INTERNAL", "approve": "FORBIDDEN", "params": "INTERNAL"}
"""What the call of the tool comes to; a hook that only looks on changes nothing."""


@pytest.mark.parametrize("hook", [cancelled_inside, cancelled_at_once])
@pytest.mark.parametrize("place", HOOKS)
async def test_a_cancellation_inside_a_hook_is_a_failure_of_that_hook(
    place: str, hook: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    server = ScriptedServer({"t": lambda _: SHOWN}, t={"inputSchema": {"type": "object", "properties": {"user": {}}}})
    options = {"settings": {"display": "continue"}, **HOOKS[place](hook)}
    model = ScriptedModel(asks("t"), "went on")
    told = await events_of(chat(model, server, **options))
    assert told[-1].result is not None
    assert (told[-1].result["answer"], codes(told[-1].result["history"])) == ("went on", [FAILED.get(place)])
    assert any(record.levelname == "ERROR" for record in caplog.records)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("place", ["on_display", "usage_sink", "after_tool", "approve", "before_tool"])
async def test_a_cancellation_of_the_chat_while_a_hook_runs_is_one_of_the_chat(place: str) -> None:
    inside, tasks = asyncio.Event(), asyncio.all_tasks()

    async def hook(*_: Any) -> None:
        inside.set()
        await asyncio.Event().wait()

    server = ScriptedServer({"t": lambda _: SHOWN})
    task = asyncio.create_task(events_of(chat(ScriptedModel(asks("t")), server, **HOOKS[place](hook))))
    async with asyncio.timeout(5):
        await inside.wait()
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    assert task.cancelled()
    assert asyncio.all_tasks() == tasks


# Flights and probes.


class SlowBreakers(MemoryBreakers):
    """Records what it is told when `gate` opens, as a store on a network would."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(threshold=1, reset_after=1, probe_timeout=600, clock=clock)
        self.gate, self.recording = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def record(self, server: str, admitted: Admitted, outcome: Any) -> Any:
        self.recording.set()
        await self.gate.wait()
        return await super().record(server, admitted, outcome)


async def test_a_probe_that_is_cancelled_while_its_outcome_is_recorded_is_recorded() -> None:
    clock, answers = Clock(), [LOST, "ok", "ok"]
    breakers = SlowBreakers(clock)
    server = ScriptedServer({"t": lambda _: answers.pop(0)})
    pipeline = make_pipeline(breakers=breakers, retry=RetryPolicy(max_attempts=1))

    def running() -> asyncio.Task[Any]:
        return asyncio.create_task(events_of(chat(ScriptedModel(asks("t")), server, pipeline=pipeline)))

    await running()
    clock.now = 2.0
    breakers.gate.clear()
    breakers.recording.clear()
    probing = running()
    async with asyncio.timeout(5):
        await breakers.recording.wait()
    probing.cancel()
    await settled()
    breakers.gate.set()
    await asyncio.wait({probing}, timeout=5)
    assert probing.cancelled()
    told = by_type(await running())
    assert [event.text for event in told["tool_result"]] == ["ok"]


def test_a_call_is_tried_again_for_as_long_as_the_one_of_those_that_wait_who_has_most_time() -> None:
    attempts: list[float] = []

    async def t(_: Any) -> Any:
        attempts.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.9)
        return "ok" if len(attempts) == 2 else ErrorInfo("DB_TIMEOUT", "late", True, 300)

    async def main() -> list[Any]:
        server = ScriptedServer({"t": t}, t=CACHEABLE)
        pipeline = make_pipeline(**caches(), sleep=asyncio.sleep, retry=RetryPolicy(backoff_base=0))

        async def one(begin: float, seconds: float | None) -> Any:
            await asyncio.sleep(begin)
            told = await events_of(chat(ScriptedModel(asks("t")), server, pipeline=pipeline, chat_timeout=seconds))
            assert told[-1].result is not None
            return told[-1].result["stop_reason"], codes(told[-1].result["history"])

        return [*await asyncio.gather(one(0, 1.0), one(0.5, 5.0))]

    assert run(main()) == [("timeout", ["TIMEOUT"]), ("stop", [None])]
    assert attempts == [0, pytest.approx(1.2)]


def test_a_call_is_not_tried_again_when_nobody_who_waits_has_time_for_it() -> None:
    attempts: list[Any] = []

    async def t(_: Any) -> ErrorInfo:
        attempts.append(1)
        await asyncio.sleep(0.9)
        return ErrorInfo("DB_TIMEOUT", "late", True, 300)

    async def main() -> list[Any]:
        server = ScriptedServer({"t": t}, t=CACHEABLE)
        pipeline = make_pipeline(**caches(), sleep=asyncio.sleep, retry=RetryPolicy(backoff_base=0))

        async def one() -> Any:
            told = await events_of(chat(ScriptedModel(asks("t")), server, pipeline=pipeline, chat_timeout=1.0))
            assert told[-1].result is not None
            return codes(told[-1].result["history"])

        return [*await asyncio.gather(one(), one())]

    assert (run(main()), attempts) == ([["DB_TIMEOUT"]] * 2, [1])


def test_attempts_after_the_end_of_a_chat_belong_to_the_one_that_has_waited_longest() -> None:
    attempts: list[float] = []

    async def t(_: Any) -> Any:
        attempts.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.3)
        return "ok" if len(attempts) == 3 else ErrorInfo("DB_TIMEOUT", "late", True, 1000)

    async def main() -> list[Any]:
        server = ScriptedServer({"t": t}, t=CACHEABLE)
        pipeline = make_pipeline(**caches(), sleep=asyncio.sleep, retry=RetryPolicy(backoff_base=0))

        async def one(begin: float, seconds: float | None) -> list[tuple[str, int | None]]:
            await asyncio.sleep(begin)
            told = await events_of(chat(ScriptedModel(asks("t")), server, pipeline=pipeline, chat_timeout=seconds))
            kinds = ("tool_call", "tool_started", "retry", "tool_result", "tool_error")
            return [(event.type, getattr(event, "attempt", None)) for event in told if event.type in kinds]

        return [*await asyncio.gather(one(0, 1.0), one(0.1, 9.0), one(0.2, 9.0))]

    call, started = ("tool_call", None), ("tool_started", None)
    assert run(main()) == [
        [call, started, ("retry", 1), ("tool_error", None)],
        [call, started, ("retry", 1), ("tool_result", None)],
        [call, ("tool_result", None)],
    ]
    assert attempts == [0, pytest.approx(1.3), pytest.approx(2.6)]


async def test_what_was_forgotten_while_it_was_asked_for_is_neither_kept_nor_joined() -> None:
    stored, gates = ["old"], list[asyncio.Event]()

    async def answer(_: Any) -> str:
        value, gate = stored[0], asyncio.Event()
        gates.append(gate)
        await gate.wait()
        return value

    server = ScriptedServer({"t": answer}, speaks_xmcp=False, t={"annotations": {"readOnlyHint": True}})
    options: dict[str, Any] = {"cache": MemoryCache(), "cache_read_only": True}
    async with AIClient([server], llm_provider=ScriptedProvider([Turn(calls=[("t", {})]), "x"]), **options) as ai:

        async def ask(tenant: str = "acme") -> str:
            answer = (await ai.chat("q", [], tenant_id=tenant))["history"][2]["content"]
            return "old" if "old" in answer else "new"

        async with asyncio.timeout(5):
            before, others = asyncio.create_task(ask()), asyncio.create_task(ask("other"))
            await settled()
            stored[0] = "new"
            await ai.clear_cache("acme")
            after, joins = asyncio.create_task(ask()), asyncio.create_task(ask("other"))
            await settled()
            assert len(gates) == 3
            gates[2].set()
            assert await after == "new"
            for gate in gates:
                gate.set()
            # The old answer comes last, and goes to nobody but who asked for it before.
            assert [await before, await ask()] == ["old", "new"]
            assert [await others, await joins, await ask("other")] == ["old"] * 3
    assert server.count("t") == 3


# A client that is closed while chats run.


async def test_a_chat_whose_client_is_closed_ends_with_an_error_and_asks_the_model_no_more(valid: Any) -> None:
    gate = asyncio.Event()

    async def answer(_: Any) -> str:
        await gate.wait()
        return "ok"

    server = ScriptedServer({"t": answer}, speaks_xmcp=False)
    provider = ScriptedModel(*[asks("t")] * 3, "bye")
    async with AIClient([server], llm_provider=provider) as ai:
        chatting = asyncio.create_task(ai.chat("q", []))
        async with asyncio.timeout(5):
            await server.called.wait()
    gate.set()
    with pytest.raises(RuntimeError, match="was closed while this chat was running") as caught:
        async with asyncio.timeout(5):
            await chatting
    assert len(provider.requests) == 1
    history: Any = getattr(caught.value, "history", None)
    valid(history)
    assert [message["role"] for message in history] == ["user", "assistant", "tool"]
