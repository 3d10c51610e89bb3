"""Answers of a model that do not arrive whole: what the history keeps of them, and what they count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import httpx2
import openai
import pytest
from support.chats import chat, events_of, make_pipeline
from support.clock import never, run
from support.http_host import listening
from support.scripted_model import ChatServer, ScriptedModel, asks
from support.scripted_server import ScriptedServer
from support.vendors.every import EVERY
from support.vendors.stand_in import StandIn

from xmcp.chat.errors import QuotaExceeded
from xmcp.chat.usage import UsageRecord
from xmcp.client import AIClient, Conversation
from xmcp.client.hooks.middleware import Stack
from xmcp.client.hooks.quotas import TenantQuotas
from xmcp.providers import Completion, ModelRequest, OpenAIProvider, ProviderError, Reasoning, Usage
from xmcp.providers.contract import Answer

TEXT = "word " * 40
"""About 50 tokens."""
BROKE = ProviderError("broke", category="network", began=True)


HEADERS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
SOME_TEXT = b'data: {"choices": [{"index": 0, "delta": {"content": "Well"}}]}\n\n'


def endless(*first: Any) -> ScriptedModel:
    return ScriptedModel(then=[*first, *[TEXT] * 400, never])


async def cut_off(running: Any, after: int = 400) -> None:
    """Leave the chat after so many pieces of text."""
    pieces = 0
    async with aclosing(running.run()) as events:
        async for event in events:
            pieces += event.type == "llm_delta"
            if pieces == after:
                return


def metered(records: list[UsageRecord], quotas: TenantQuotas) -> dict[str, Any]:
    settings = {"usage_sink": records.append}
    return {"settings": settings, "pipeline": make_pipeline(middleware=Stack([quotas])), "tenant": "t"}


def spent(quotas: TenantQuotas) -> int:
    count: int = quotas.usage("t")["tokens"]["spent"]
    return count


async def test_a_stream_that_is_left_counts_what_was_received_and_has_a_record() -> None:
    records: list[UsageRecord] = []
    quotas = TenantQuotas()
    await cut_off(chat(endless(), **metered(records, quotas)))
    assert [record["output_tokens"] for record in records] == [400 * len(TEXT) // 4]
    assert [record.get("estimated") for record in records] == [True]
    assert spent(quotas) == 400 * len(TEXT) // 4 + (records[0]["input_tokens"] or 0)


async def test_cancelling_streams_does_not_pass_a_quota() -> None:
    quotas = TenantQuotas(tokens=30_000)
    known = metered([], quotas)
    for _ in range(2):
        await cut_off(chat(endless(), **known))
    with pytest.raises(QuotaExceeded):
        await cut_off(chat(endless(), **known))


async def test_a_stream_that_is_left_at_once_still_counts_its_whole_estimate() -> None:
    quotas = TenantQuotas(reserve_output_tokens=1_000)
    await cut_off(chat(endless(), **metered([], quotas)), after=1)
    assert 1_000 <= spent(quotas) < 1_100


@pytest.mark.parametrize("limit", [{"chat_timeout": 5.0}, {"settings": {"llm_timeout": 5.0}}])
def test_an_answer_that_a_time_out_ends_counts_what_was_received(limit: dict[str, Any]) -> None:
    async def main() -> None:
        records: list[UsageRecord] = []
        quotas = TenantQuotas()
        known = metered(records, quotas)
        known["settings"] |= limit.get("settings", {})
        told: list[Any] = []
        with suppress(ProviderError):
            async for event in chat(endless(), **{**limit, **known}).run():
                told.append(event.type)  # noqa: PERF401 - also where it raises
        assert told.count("usage") == len(records)
        assert [record["output_tokens"] for record in records] == [20_000] * len(records) != []
        assert spent(quotas) >= 20_000

    run(main())


@pytest.mark.parametrize(
    ("pieces", "counted"), [([TEXT, BROKE], True), ([Reasoning(TEXT), BROKE], True), ([BROKE], False)]
)
async def test_an_answer_that_broke_off_counts_if_anything_had_arrived(pieces: list[Any], counted: bool) -> None:
    records: list[UsageRecord] = []
    quotas = TenantQuotas()
    told = await events_of(chat(ScriptedModel(pieces, "whole"), **metered(records, quotas)))
    assert [record.get("estimated") for record in records] == [True, None][not counted :]
    assert [record["output_tokens"] for record in records[:-1]] == [50][not counted :]
    assert [event.type for event in told].count("usage") == len(records)
    assert told[-1].result["usage"]["llm_calls"] == len(records)


@pytest.mark.parametrize("vendor", EVERY, ids=lambda vendor: vendor.__name__)
async def test_what_a_model_thought_before_its_answer_broke_off_counts_once(vendor: type[StandIn]) -> None:
    records: list[UsageRecord] = []
    thought = "so, " * 100

    async def breaks_off(request: ModelRequest) -> AsyncGenerator[Any, None]:
        async with aclosing(stream(request)) as pieces:
            async for piece in pieces:
                yield piece
                if isinstance(piece, str):
                    raise BROKE

    async with vendor() as stand_in:
        if "shown_reasoning" in stand_in.lacks:
            pytest.skip("the vendor shows none")
        stand_in.answers(Answer("text", reasoning=thought))
        stream = stand_in.provider.stream
        await events_of(chat(ScriptedModel(breaks_off, "whole"), **metered(records, TenantQuotas())))
    first, _ = records
    assert first["output_tokens"] is not None
    if first.get("estimated"):  # else the vendor has counted them already
        assert 101 <= first["output_tokens"] <= 115


def test_a_model_that_sends_nothing_until_it_is_given_up_counts_its_whole_estimate() -> None:
    """It has read the request, and the vendor bills that; asking what takes long would be a way around the quota."""

    async def main() -> None:
        records: list[UsageRecord] = []
        quotas = TenantQuotas(reserve_output_tokens=1_000)
        known = metered(records, quotas)
        known["settings"]["llm_timeout"] = 5.0
        with pytest.raises(ProviderError, match="silent") as caught:
            await events_of(chat(ScriptedModel(then=[never]), **known))
        assert caught.value.unanswered
        (record,) = records
        assert (record["output_tokens"], record.get("estimated")) == (0, True)
        assert (record["input_tokens"] or 0) > 0
        assert 1_000 < spent(quotas) < 1_100

    run(main())


@pytest.mark.parametrize("sent", [b"", HEADERS, HEADERS + SOME_TEXT])
async def test_a_model_that_is_silent_for_the_time_limit_of_the_sdk_counts_its_estimate_or_what_arrived(
    sent: bytes,
) -> None:
    quotas, requests = TenantQuotas(reserve_output_tokens=1_000), 0

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        with suppress(ConnectionError):
            await reader.read()
            await never()

    async with listening(hear) as port:
        sdk = openai.AsyncOpenAI(
            api_key="k", base_url=f"http://127.0.0.1:{port}/v1", timeout=httpx2.Timeout(5, read=0.2), max_retries=0
        )
        with pytest.raises(ProviderError) as caught:
            await events_of(chat(OpenAIProvider(model="m", client=sdk), **metered([], quotas)))
        await sdk.close()
    assert caught.value.unanswered is (SOME_TEXT not in sent)
    least = 0 if SOME_TEXT in sent else requests * 1_000
    assert least < spent(quotas) < least + requests * 100


async def test_what_the_vendor_has_counted_by_then_is_no_estimate() -> None:
    def answer(request: Any) -> Any:
        request.received.usage, request.received.model = Usage(70, 30), "big-1"
        return [TEXT, never]

    records: list[UsageRecord] = []
    await cut_off(chat(ScriptedModel(answer), settings={"usage_sink": records.append}), after=1)
    (record,) = records
    assert (record["input_tokens"], record["output_tokens"], record["model"]) == (70, 30, "big-1")
    assert "estimated" not in record


async def test_a_sink_that_hangs_does_not_hold_a_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xmcp.client.loop.chat.CANCEL_SECONDS", 0.01)
    async with asyncio.timeout(300):
        await cut_off(chat(endless(), settings={"usage_sink": never}))


async def test_the_text_of_an_answer_that_was_cut_off_is_in_the_history_once() -> None:
    async with AIClient([], llm_provider=endless()) as ai:
        async with aclosing(ai.stream_chat("q", [])) as stream:
            async for event in stream:
                if event.type == "llm_delta":
                    break
        assert stream.history == [{"role": "user", "content": "q"}, {"role": "assistant", "content": TEXT}]
        assert (await asyncio.wait_for(_begun_again(ai, stream.history), 300))["role"] == "user"


async def _begun_again(ai: AIClient, history: list[Any]) -> Any:
    """Continue from a history; return the message that the model is asked with."""
    async with aclosing(ai.stream_chat("more", history)) as stream:
        async for _ in stream:
            break
        return stream.history[2]


async def test_a_cancelled_task_leaves_the_text_in_the_history_too() -> None:
    running = chat(endless(), history=[{"role": "system", "content": "Be brief."}])
    task = asyncio.create_task(events_of(running))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    assert [message["role"] for message in running.history] == ["system", "user", "assistant"]


async def test_text_beside_calls_stands_in_the_history_once() -> None:
    running = chat(ScriptedModel(asks("hang", text="I look.")), ScriptedServer({"hang": never}))
    async with aclosing(running.run()) as events:
        async for event in events:
            assert [m["content"] for m in running.history if m["role"] == "assistant"] in ([], ["I look."])
            if event.type == "tool_started":
                break
    assert [m["content"] for m in running.history if m["role"] == "assistant"] == ["I look."]


async def test_text_that_a_model_writes_again_is_not_kept() -> None:
    running = chat(ScriptedModel(["half an ", BROKE], ["whole", Completion("whole")]))
    seen = [
        (event.type, [m["content"] for m in running.history if m["role"] == "assistant"])
        async for event in running.run()
    ]
    assert ("retry", []) in seen
    assert seen[-1] == ("done", ["whole"])


async def test_a_failed_chat_keeps_no_half_answer_so_that_the_query_can_be_tried_again() -> None:
    running = chat(ScriptedModel(*[["half an ", BROKE]] * 2))
    with pytest.raises(ProviderError) as caught:
        await events_of(running)
    assert caught.value.history == running.history == [{"role": "user", "content": "query"}]


async def test_a_conversation_counts_and_keeps_what_was_cut_off() -> None:
    async with AIClient([], llm_provider=endless()) as ai:
        conversation = Conversation(ai)
        async with aclosing(conversation.stream_chat("q")) as events:
            async for _ in events:
                break
        assert [message["content"] for message in conversation.history] == ["q", TEXT]
        assert conversation.usage["llm_calls"] == 1
        assert conversation.usage["output_tokens"] == len(TEXT) // 4
        kinds = [record["kind"] for record in conversation.traces[0].records]
        assert kinds == ["chat_started", "usage", "message", "message", "chat_ended"]


async def test_arguments_and_reasoning_that_arrived_count_too(chat_server: ChatServer) -> None:
    """The client never sees them as text, and the vendor bills them."""
    hang = asyncio.Event()
    call = {"index": 0, "id": "c", "function": {"name": "write", "arguments": "x" * 4_000}}
    reply = chat_server.reply.streamed("text")
    reply.pieces[1:] = [
        chat_server.reply.delta(reasoning_content="r" * 2_000),
        chat_server.reply.delta(tool_calls=[call]),
        chat_server.reply.delta(content="t" * 400),
        hang,
    ]
    chat_server.replies = [reply]
    records: list[UsageRecord] = []
    provider = OpenAIProvider("k", chat_server.url)
    try:
        await cut_off(chat(provider, settings={"usage_sink": records.append}), after=1)
    finally:
        await provider.aclose()
    assert [record["output_tokens"] for record in records] == [(4_000 + len("write") + 2_000 + 400 + 3) // 4]
    assert records[0]["model"] == "m-1"


async def test_a_chat_that_is_cancelled_in_the_usage_sink_still_counts_the_request() -> None:
    entered = asyncio.Event()

    async def sink(_: UsageRecord) -> None:
        entered.set()
        await never()

    async with AIClient([], llm_provider=ScriptedModel("ok"), usage_sink=sink) as ai:
        conversation = Conversation(ai)
        chat = asyncio.create_task(conversation.chat("q"))
        await entered.wait()
        chat.cancel()
        with pytest.raises(asyncio.CancelledError):
            await chat
        assert conversation.usage["llm_calls"] == 1
