"""What requests cost, without any set-up: by the price library, for each vendor, and however a request ended."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import threading
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import replace
from decimal import Decimal
from itertools import starmap
from typing import Any

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import TieredPrices
from support.chats import chat, events_of
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer
from support.vendors.anthropic_messages import AnthropicMessages
from support.vendors.chat_completions import ChatCompletions
from support.vendors.gemini import Gemini
from support.vendors.stand_in import StandIn

from xmcp.chat.errors import ErrorCategory, ProviderError, QuotaExceeded
from xmcp.chat.token_estimate import estimated_tokens
from xmcp.chat.usage import ChatUsage, Usage, UsageRecord
from xmcp.client import AIClient, FilePart, ImagePart, SyncAIClient, TenantQuotas, TextPart
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext
from xmcp.client.loop import library_prices
from xmcp.client.loop import usage as accounting
from xmcp.client.loop.library_prices import MAX_MODELS, MAX_NAME, LibraryPrices
from xmcp.providers import (
    AnthropicProvider,
    Completion,
    DeepSeekProvider,
    GeminiCLIProvider,
    GeminiProvider,
    LocalProvider,
    MiniMaxProvider,
    MistralProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ScriptedProvider,
    ToolSchemas,
)
from xmcp.providers.contract import Answer, BreaksOff, Hangs, Refusal
from xmcp_conformance.reader.schemas import validator

MILLION = Decimal(1_000_000)
PNG = b"\x89PNG\r\n\x1a\n"

MODELS = [
    (OpenAIProvider, "gpt-4o"),
    (OpenAIResponsesProvider, "gpt-5"),
    (AnthropicProvider, "claude-sonnet-5-5"),
    (GeminiProvider, "gemini-2.5-pro"),
    (MistralProvider, "mistral-medium-latest"),
    (DeepSeekProvider, "deepseek-chat"),
    (MiniMaxProvider, "MiniMax-M2"),
]


class Billed:
    """A provider of which only the address matters."""

    def __init__(self, api_url: Any) -> None:
        self.api_url = api_url


def cost(url: Any, model: str, usage: Usage, log: EventLog | None = None) -> float | None:
    return LibraryPrices(log or EventLog()).of(Billed(url))("any", model, usage)


def per_million(url: str, model: str, kind: str, tier: int | None = None) -> Decimal:
    """Return the library's price of a million tokens of one kind."""
    prices = genai_prices.calc_price(genai_prices.Usage(), model, provider_api_url=url).model_price
    price = getattr(prices, f"{kind}_mtok")
    if isinstance(price, TieredPrices):
        price = price.base if tier is None else price.tiers[tier].price
    assert isinstance(price, Decimal), kind
    return price


@pytest.mark.parametrize(("vendor", "model"), MODELS, ids=lambda one: getattr(one, "__name__", one))
def test_a_request_costs_what_the_vendor_takes_for_a_million_tokens(vendor: Any, model: str) -> None:
    provider = vendor("sk-test")
    new, cached, written = (per_million(provider.api_url, model, kind) for kind in ("input", "cache_read", "output"))
    assert 0 < cached < new < written
    expected = (800 * new + 200 * cached + 50 * written) / MILLION
    price = LibraryPrices(EventLog()).of(provider)
    assert price(provider.name, model, Usage(1_000, 50, 200)) == pytest.approx(float(expected), rel=1e-12)
    assert price(provider.name, model, Usage(1_000, 50)) == pytest.approx(float((1_000 * new + 50 * written) / MILLION))


def test_what_is_written_into_a_cache_costs_more_where_the_vendor_takes_more() -> None:
    url, model = "https://api.anthropic.com", "claude-sonnet-5-5"
    kinds = ("input", "cache_read", "cache_write", "output")
    new, cached, stored, written = (per_million(url, model, kind) for kind in kinds)
    assert stored > new
    expected = (500 * new + 200 * cached + 300 * stored + 50 * written) / MILLION
    assert cost(url, model, Usage(1_000, 50, 200, 300)) == pytest.approx(float(expected))
    url, model = "https://api.openai.com/v1", "gpt-4o"  # its writes cost what other input costs
    assert cost(url, model, Usage(1_000, 50, 200, 300)) == cost(url, model, Usage(1_000, 50, 200))


def test_a_long_context_costs_what_the_vendor_takes_for_one() -> None:
    url, model = "https://generativelanguage.googleapis.com", "gemini-2.5-pro"
    short, long = (per_million(url, model, "input", tier) for tier in (None, 0))
    short_out, long_out = (per_million(url, model, "output", tier) for tier in (None, 0))
    assert long > short
    assert cost(url, model, Usage(200_000, 10)) == pytest.approx(float((200_000 * short + 10 * short_out) / MILLION))
    assert cost(url, model, Usage(200_001, 10)) == pytest.approx(float((200_001 * long + 10 * long_out) / MILLION))


class TestWhoIsPaid:
    def test_a_model_of_the_same_name_at_another_server_has_the_price_of_that_server_or_none(self) -> None:
        usage = Usage(1_000, 50)
        own = cost("https://api.openai.com/v1", "gpt-4o", usage)
        assert own is not None
        assert cost("https://my-company.openai.azure.com/openai/", "gpt-4o-2024-08-06", usage) == own
        assert cost("https://openrouter.ai/api/v1", "openai/gpt-4o", usage) is not None
        assert cost("https://api.groq.com/openai/v1", "gpt-4o", usage) is None
        assert cost("https://llm.example.com/v1", "gpt-4o", usage) is None
        assert cost("http://localhost:8000/v1", "gpt-4o", usage) is None

    @pytest.mark.parametrize("url", [None, "", 7, b"https://api.openai.com", "api.openai.com"])
    def test_a_provider_that_does_not_say_where_it_asks_has_no_prices(self, url: Any) -> None:
        assert cost(url, "gpt-4o", Usage(1, 1)) is None

    @pytest.mark.parametrize(
        "provider", [LocalProvider(), GeminiCLIProvider(), ScriptedProvider(["ok"])], ids=lambda one: one.name
    )
    def test_what_nobody_bills_has_no_price(self, provider: Any) -> None:
        assert LibraryPrices(EventLog()).of(provider)(provider.name, "gpt-4o", Usage(1, 1)) is None

    @pytest.mark.parametrize(("vendor", "model"), MODELS, ids=lambda one: getattr(one, "__name__", one))
    def test_a_provider_says_the_address_that_it_was_given(self, vendor: Any, model: str) -> None:
        # With the credentials of an address, a log that shows the attribute would show them.
        assert vendor("k", "https://u:p4ssw0rd@llm.example.com/x").api_url.startswith("https://")
        assert "p4ssw0rd" not in vendor("k", "https://u:p4ssw0rd@llm.example.com/x").api_url
        assert cost(vendor("k", "https://llm.example.com/x").api_url, model, Usage(1, 1)) is None


class TestWhatIsNotKnown:
    @pytest.mark.parametrize("model", ["no-such-model", "", "é" * MAX_NAME, "x" * 1_000_000, "gpt-4o\n" * 100])
    def test_an_unknown_model_has_no_cost_and_is_said_once(self, model: str, caplog: pytest.LogCaptureFixture) -> None:
        price = LibraryPrices(EventLog()).of(Billed("https://api.openai.com/v1"))
        with caplog.at_level(logging.WARNING):
            for name in (model, model, "another-such-model"):
                assert price("openai", name, Usage(1, 1)) is None
        (said,) = (record.getMessage() for record in caplog.records)
        assert said.startswith("price_unknown ")
        assert len(said) < 1_000

    @pytest.mark.parametrize("usage", [Usage(), Usage(None, 5), Usage(5, None)])
    def test_a_request_whose_tokens_are_not_counted_has_no_cost(self, usage: Usage) -> None:
        assert cost("https://api.openai.com/v1", "gpt-4o", usage) is None

    def test_counts_that_disagree_do_no_harm(self) -> None:
        url, model = "https://api.anthropic.com", "claude-sonnet-5-5"
        cached, written = (per_million(url, model, kind) for kind in ("cache_read", "output"))
        expected = float((10 * cached + 5 * written) / MILLION)
        assert cost(url, model, Usage(10, 5, 2**53, 2**53)) == pytest.approx(expected)
        assert cost(url, model, Usage(0, 0, 7)) == 0

    def test_a_model_that_is_paid_by_the_second_has_no_cost(self) -> None:
        url, model = "https://api.openai.com/v1", "whisper-1"
        assert cost(url, model, Usage(10, 10)) is None
        assert genai_prices.calc_price(genai_prices.Usage(), model, provider_api_url=url) is not None

    def test_very_many_names_are_not_kept(self) -> None:
        prices = LibraryPrices(EventLog())
        price = prices.of(Billed("https://api.openai.com/v1"))
        before = len(get_snapshot()._provider_cache) + len(get_snapshot()._lookup_cache)
        for number in range(3 * MAX_MODELS):
            price("openai", f"model-{number}", Usage(1, 1))
        assert len(prices._models) <= MAX_MODELS
        assert len(get_snapshot()._provider_cache) + len(get_snapshot()._lookup_cache) <= before + 1


def ask(provider: Any, **options: Any) -> AIClient:
    return AIClient([], llm_provider=provider, **options)


async def test_it_asks_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a look at the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    await LibraryPrices(EventLog()).load()
    assert cost("https://api.openai.com/v1", "gpt-4o", Usage(1, 1)) is not None


def test_a_client_of_a_model_that_nobody_bills_does_not_load_the_library() -> None:
    code = (
        "import asyncio, sys\n"
        "from xmcp.client import AIClient\n"
        "from xmcp.providers import ScriptedProvider\n"
        "async def main():\n"
        "    async with AIClient([], llm_provider=ScriptedProvider(['ok'])) as ai:\n"
        "        return await ai.chat('q', [])\n"
        "print(asyncio.run(main())['answer'], *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    answer, *loaded = done.stdout.split()
    assert answer == "ok"
    assert "genai_prices" not in loaded


async def test_it_is_loaded_beside_the_event_loop_also_for_a_model_of_one_chat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []

    def noting() -> Any:
        threads.append(threading.get_ident())
        return get_snapshot()

    monkeypatch.setattr(library_prices, "_snapshot", noting)
    paid: Any = ScriptedModel(then=Completion("ok", usage=Usage(1_000, 10), model="gpt-4o"))
    async with ask(ScriptedModel("ok")) as ai:
        await ai.chat("q", [])
        assert threads == []
        paid.api_url = "https://api.openai.com/v1"
        for _ in range(2):
            result = await ai.chat("q", [], model=(paid, None))
            assert result["usage"]["cost_usd"]
    first, *later = threads
    assert first != threading.get_ident()
    assert set(later) == {threading.get_ident()}, "it is loaded once"


async def test_without_the_library_chats_work(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    provider: Any = ScriptedModel("one")
    provider.api_url = "https://api.openai.com/v1"
    async with ask(provider) as ai:
        result = await ai.chat("q", [])
    assert (result["answer"], result["usage"]["cost_usd"]) == ("one", None)
    assert "prices_not_loaded" in caplog.text


PRICED = [
    (AnthropicMessages, AnthropicProvider, "https://api.anthropic.com", "claude-sonnet-5-5"),
    (ChatCompletions, OpenAIProvider, "https://api.openai.com/v1", "gpt-4o"),
    (Gemini, GeminiProvider, "https://generativelanguage.googleapis.com", "gemini-2.5-pro"),
]
"""Stand-ins on the loopback for what an address of the vendor is priced as."""


@pytest.fixture(params=PRICED, ids=[url for *_, url, _ in PRICED])
async def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    stand_in, provider, url, model = request.param
    monkeypatch.setattr(provider, "api_url", url)
    monkeypatch.setattr(sys.modules[stand_in.__module__], "MODEL", model)
    async with stand_in() as made:
        yield made


def expected_cost(vendor: StandIn, record: UsageRecord) -> float:
    """Return the cost of a record by hand: of its counts, and of the three tokens that Anthropic has in its cache."""
    url: Any = vendor.provider.api_url  # type: ignore[attr-defined]
    model = record["model"]
    read, written, cached = (record[name] or 0 for name in ("input_tokens", "output_tokens", "cached_tokens"))
    total = (read - cached) * per_million(url, model, "input") + cached * per_million(url, model, "cache_read")
    if isinstance(vendor, AnthropicMessages) and "estimated" not in record:
        total += 3 * (per_million(url, model, "cache_write") - per_million(url, model, "input"))
    return float((total + written * per_million(url, model, "output")) / MILLION)


def total(records: list[UsageRecord]) -> float:
    return sum(record["cost_usd"] or 0 for record in records)


async def test_a_chat_has_its_cost_without_any_set_up(vendor: StandIn) -> None:
    records: list[UsageRecord] = []
    vendor.answers(Answer("Hello.", usage=Usage(1_000, 200, 300)))
    async with ask(vendor.provider, usage_sink=records.append) as ai:
        result = await ai.chat("q", [])
        more = await ai.chat("again", result["history"])
    assert [record["cost_usd"] for record in records] == [pytest.approx(expected_cost(vendor, records[0]))] * 2
    assert result["usage"]["cost_usd"] == more["usage"]["cost_usd"] == records[0]["cost_usd"] != 0


async def test_an_answer_that_broke_off_is_paid_and_then_the_next_one(vendor: StandIn) -> None:
    records: list[UsageRecord] = []
    vendor.answers(BreaksOff("word " * 400), Answer("Hello.", usage=Usage(1_000, 200, 300)))
    async with ask(vendor.provider, usage_sink=records.append) as ai:
        result = await ai.chat("q", [])
    assert [record.get("estimated") for record in records] == [True, None]
    assert records[0]["output_tokens"] == 500
    assert [record["cost_usd"] for record in records] == [
        pytest.approx(expected_cost(vendor, record)) for record in records
    ]
    assert result["usage"]["cost_usd"] == pytest.approx(total(records))
    assert result["usage"]["llm_calls"] == 2


async def test_an_answer_that_is_left_is_paid_as_far_as_it_came(vendor: StandIn) -> None:
    records: list[UsageRecord] = []
    vendor.answers(Hangs("word " * 400))
    async with ask(vendor.provider, usage_sink=records.append) as ai, aclosing(ai.stream_chat("q", [])) as events:
        async for event in events:
            if event.type == "llm_delta":
                break
    (record,) = records
    assert (record["output_tokens"], record.get("estimated")) == (500, True)
    assert record["cost_usd"] == pytest.approx(expected_cost(vendor, record))
    if isinstance(vendor, AnthropicMessages):  # it says at the beginning what it has read
        assert record["input_tokens"] == 10


async def test_a_cancelled_chat_is_paid_as_far_as_it_came(vendor: StandIn) -> None:
    records: list[UsageRecord] = []
    began = asyncio.Event()
    vendor.answers(Hangs("word " * 400))
    async with ask(vendor.provider, usage_sink=records.append) as ai:

        async def read() -> None:
            async for event in ai.stream_chat("q", []):
                if event.type == "llm_delta":
                    began.set()

        running = asyncio.create_task(read())
        await began.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert [record["cost_usd"] for record in records] == [pytest.approx(expected_cost(vendor, records[0]))]
    assert records[0]["output_tokens"] == 500


async def test_a_refusal_costs_nothing(vendor: StandIn) -> None:
    records: list[UsageRecord] = []
    vendor.answers(Refusal(ErrorCategory.AUTH))
    async with ask(vendor.provider, usage_sink=records.append) as ai:
        with pytest.raises(ProviderError):
            await ai.chat("q", [])
    assert records == []


async def test_a_chat_that_went_over_to_another_vendor_costs_what_each_was_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records: list[UsageRecord] = []
    async with AsyncExitStack() as stack:
        vendors = []
        for stand_in, provider, url, model in PRICED:
            monkeypatch.setattr(provider, "api_url", url)
            monkeypatch.setattr(sys.modules[stand_in.__module__], "MODEL", model)
            vendors.append(await stack.enter_async_context(stand_in()))
        for one in vendors[:2]:
            one.answers(BreaksOff("word " * 400))
        vendors[2].answers(Answer("Hello.", usage=Usage(1_000, 200, 300)))
        first, *others = (one.provider for one in vendors)
        fallbacks = [(provider, None) for provider in others]
        async with ask(first, usage_sink=records.append, fallback_models=fallbacks) as ai:
            result = await ai.chat("q", [])
    asked = [vendors[0]] * 2 + [vendors[1]] * (len(records) - 3) + [vendors[2]]
    assert [record["provider"] for record in records] == [one.provider.name for one in asked]
    assert [record["cost_usd"] for record in records] == [
        pytest.approx(one) for one in starmap(expected_cost, zip(asked, records, strict=True))
    ]
    assert len({record["cost_usd"] for record in records}) == 3
    assert result["usage"]["cost_usd"] == pytest.approx(total(records))


async def test_tokens_of_reasoning_are_in_each_record_and_summed_in_the_chat() -> None:
    def used(answer: Completion, reasoning: Any) -> Completion:
        return replace(answer, usage=Usage(10, 5, reasoning_tokens=reasoning))

    answers = [used(asks("t"), 3), used(asks("t"), None), used(asks("t"), "7"), used(Completion("ok"), 4)]
    records: list[UsageRecord] = []
    settings = {"usage_sink": records.append}
    told = await events_of(chat(ScriptedModel(*answers), ScriptedServer({"t": "ok"}), settings=settings))
    assert [record["reasoning_tokens"] for record in records] == [3, None, None, 4]
    assert told[-1].result["usage"]["reasoning_tokens"] == 7
    valid = validator("usage_record").is_valid
    assert all(valid(dict(record)) for record in records)


def test_records_and_sums_of_earlier_versions_lack_reasoning() -> None:
    earlier = ChatUsage(input_tokens=1, output_tokens=2, cached_tokens=None, cost_usd=None, llm_calls=1)
    record = accounting.record(
        Completion("ok", usage=Usage(1, 1, reasoning_tokens=1)), "p", "m", ChatContext("c"), None
    )
    assert accounting.add(earlier, record)["reasoning_tokens"] == 1
    del record["reasoning_tokens"]
    assert accounting.add(earlier, record)["reasoning_tokens"] is None


class TestTheEstimate:
    async def test_it_is_of_the_request_that_the_chat_then_makes(self) -> None:
        model = ScriptedModel("ok", "ok", "ok", "ok")
        history = [{"role": "user", "content": "earlier " * 50}, {"role": "assistant", "content": "said"}]
        chats: list[dict[str, Any]] = [{}, {"system": "Be brief. " * 40}, {"tools": []}, {"tools": ["one"]}]
        servers = [ScriptedServer({"one": "ok"}), ScriptedServer({"two": "ok"})]
        estimates = []
        async with AIClient(servers, llm_provider=model) as ai:
            for options in chats:
                estimates.append(ai.estimate_tokens("word " * 100, history, **options))
                await ai.chat("word " * 100, history, **options)
        sent = [estimated_tokens(request.messages, request.tools) for request in model.requests]
        assert estimates == sent
        assert estimates[1] == estimates[0] + 104  # 400 bytes, and the frame of a message
        assert estimates[2] < estimates[3] < estimates[0]

    async def test_a_model_without_tools_is_sent_none(self) -> None:
        model = ScriptedModel("ok")
        async with AIClient([ScriptedServer({"t": "ok"})], llm_provider=model) as ai:
            offered = ai.estimate_tokens("q")
            model.supports_tools = False
            assert ai.estimate_tokens("q") < offered

    @pytest.mark.parametrize("options", [{"tools": ["missing"]}, {"sytem": "x"}, {"history": [{"role": "tool"}]}])
    async def test_what_no_chat_takes_is_refused(self, options: dict[str, Any]) -> None:
        async with AIClient([ScriptedServer({"t": "ok"})], llm_provider=ScriptedModel("ok")) as ai:
            with pytest.raises((TypeError, ValueError)):
                ai.estimate_tokens("q", **options)

    async def test_parts_are_as_in_a_chat(self) -> None:
        async with AIClient([], llm_provider=ScriptedModel("ok")) as ai:
            assert ai.estimate_tokens([TextPart("x" * 400)]) == ai.estimate_tokens("x" * 400)
            with pytest.raises(TypeError, match="user_query must be a text or a list of parts"):
                ai.estimate_tokens(5)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("part", "tokens"),
        [
            (FilePart(b"x" * 4_000, "text/csv"), 1_000),
            (FilePart(b"{}" * 2_000, "application/json"), 1_000),
            (FilePart(b"x" * 400_000, "application/pdf"), 4_000),
            (FilePart(b"x", "application/pdf"), 1_500),
            (FilePart(b"x" * 50_000, "audio/mpeg"), 100),
            (ImagePart(PNG), 100),
            (ImagePart(PNG + bytes(256 * 1_000)), 1_000),
            (ImagePart(PNG + bytes(2 * 1024**2)), 1_600),
            (ImagePart("https://pictures.example/a.png"), 1_000),
        ],
        ids=lambda one: str(one)[:40],
    )
    async def test_pictures_and_files_count_by_their_kind_and_size(self, part: Any, tokens: int) -> None:
        async with AIClient([], llm_provider=ScriptedModel("ok")) as ai:
            counted = ai.estimate_tokens(["", part]) - ai.estimate_tokens([""])
        assert counted == pytest.approx(tokens, abs=1 + tokens // 100)

    @pytest.mark.parametrize("kind", ["application/pdf", "audio/wav", "application/zip"])
    def test_a_large_file_has_a_limit(self, kind: str) -> None:
        url = f"data:{kind};base64,{'A' * 30 * 1024**2}"
        message = {"role": "user", "content": [{"type": "file", "file": {"file_data": url}}]}
        assert estimated_tokens([message], ToolSchemas()) <= 200_020

    @pytest.mark.parametrize("part", [7, {"type": "file", "file": {"file_id": "f-1"}}, {"image_url": "data:"}, {}])
    def test_a_part_that_is_something_else_counts_as_well(self, part: Any) -> None:
        assert 0 < estimated_tokens([{"role": "user", "content": [part]}], ToolSchemas()) <= 1_010

    def test_the_blocking_client_has_it(self) -> None:
        with SyncAIClient([], llm_provider=ScriptedModel("ok")) as ai:
            assert ai.estimate_tokens("x" * 400) == 105


class TestTheOption:
    def test_it_is_not_async(self) -> None:
        async def price(*_: object) -> float:
            return 1.0

        class Called:
            async def __call__(self, _usage: object, *_: object) -> float:
                return 1.0

        for given in (price, Called()):
            with pytest.raises(TypeError, match="price must not be async"):
                AIClient([], llm_provider=ScriptedModel("ok"), price=given)  # type: ignore[arg-type]

    async def test_a_quota_in_dollars_works_without_any_set_up(self, caplog: pytest.LogCaptureFixture) -> None:
        provider: Any = ScriptedModel(then=[_completion()])
        provider.api_url = "https://api.openai.com/v1"
        async with ask(provider, middleware=[TenantQuotas(spend_usd=10.0)]) as ai:
            first = await ai.chat("q", [])
            with pytest.raises(QuotaExceeded, match=r"\$12\.5"):
                await ai.chat("q", [])
        assert first["usage"]["cost_usd"] == 12.5
        assert "quota_without_price" not in caplog.text

    @pytest.mark.parametrize("price", [None, lambda *_: 0.25])
    async def test_what_the_application_says_comes_before_the_library(self, price: Any) -> None:
        provider: Any = ScriptedModel(then=[_completion()])
        provider.api_url = "https://api.openai.com/v1"
        async with ask(provider, price=price) as ai:
            result = await ai.chat("q", [])
        assert result["usage"]["cost_usd"] == (None if price is None else 0.25)

    @pytest.mark.parametrize(
        ("provider", "options", "warned"),
        [
            (OpenAIProvider("k"), {}, False),
            (OpenAIProvider("k"), {"price": None}, True),
            (LocalProvider(), {}, True),
            (LocalProvider(), {"price": lambda *_: 0.1}, False),
            (LocalProvider(), {"fallback_models": [(OpenAIProvider("k"), "gpt-4o")]}, False),
        ],
    )
    def test_a_quota_in_dollars_that_can_have_no_effect_is_said_at_once(
        self, provider: Any, options: dict[str, Any], warned: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        ask(provider, middleware=[TenantQuotas(spend_usd=1.0)], **options)
        assert ("quota_without_price" in caplog.text) is warned

    @pytest.mark.parametrize("price", ["libary", "", 0.5])
    def test_another_word_is_refused(self, price: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="price must be"):
            ask(OpenAIProvider("k"), price=price)


def _completion() -> Any:
    """Return an answer that costs 12.50 dollars of gpt-4o."""
    return Completion("ok", usage=Usage(1_000_000, 1_000_000), model="gpt-4o")
