"""LocalProvider, DeepSeekProvider and MiniMaxProvider: what each of them does besides OpenAIProvider."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import openai
import pytest
from support.growth import is_linear
from support.http_host import http_host
from support.vendors.chat_completions import delta
from support.vendors.presets import DeepSeek, MiniMax, Ollama

from xmcp.chat.completions import VendorState
from xmcp.chat.vendor_state import with_vendor_state
from xmcp.providers import (
    Completion,
    DeepSeekProvider,
    ErrorCategory,
    LocalProvider,
    MiniMaxProvider,
    ModelRequest,
    OpenAIProvider,
    ProviderError,
    SamplerConfig,
    ToolCall,
    ToolSchemas,
    Usage,
)
from xmcp.providers.base import Reasoning, Received
from xmcp.providers.contract import Answer, Raw, all_of, ask
from xmcp.providers.formats import chat_completions, deepseek, minimax

HELLO = [{"role": "user", "content": "hello"}]
TOOLS = ToolSchemas.of([{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}])
CALL = ToolCall("c1", "add", '{"a": 1}')
VARIABLES = [f"{vendor}_{what}" for vendor in ("OPENAI", "DEEPSEEK", "MINIMAX") for what in ("API_KEY", "BASE_URL")]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [*VARIABLES, "OLLAMA_HOST"]:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
async def deep_seek() -> AsyncIterator[DeepSeek]:
    async with DeepSeek() as vendor:
        yield vendor


@pytest.fixture
async def mini_max() -> AsyncIterator[MiniMax]:
    async with MiniMax() as vendor:
        yield vendor


def answered(completion: Completion, *results: str) -> list[dict[str, Any]]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in completion.tool_calls
    ]
    message = {"role": "assistant", "content": completion.text, **({"tool_calls": calls} if calls else {})}
    told = [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(completion.tool_calls, results, strict=True)
    ]
    return [with_vendor_state(message, completion.vendor_state), *told]


def stream_of(*deltas: dict[str, Any], finish: str = "stop") -> Raw:
    body = b"".join([*map(delta, deltas), delta({}, finish), b"data: [DONE]\n\n"])
    return Raw("a stream", body, "text/event-stream")


# ---- names, keys and addresses


@pytest.mark.parametrize(
    ("vendor", "key", "title"),
    [(DeepSeekProvider, "DEEPSEEK_API_KEY", "DeepSeek"), (MiniMaxProvider, "MINIMAX_API_KEY", "MiniMax")],
)
def test_each_vendor_has_a_key_of_its_own(
    vendor: type[OpenAIProvider], key: str, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://of-openai")
    with pytest.raises(ProviderError, match=f"No {title} API key.*{key}") as caught:
        vendor()
    assert (caught.value.category, caught.value.provider) == (ErrorCategory.AUTH, vendor.name)
    with pytest.raises(ProviderError, match=f"{title} API key .* placeholder"):
        vendor("sk-…")
    monkeypatch.setenv(key, "k")
    provider = vendor()
    assert (provider._api_key, provider._base_url) == ("k", vendor.default_url)
    assert provider._called == provider.name == title.lower()


@pytest.mark.parametrize("vendor", [DeepSeekProvider, MiniMaxProvider])
def test_another_address_of_a_vendor_needs_no_key(
    vendor: type[OpenAIProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(str(vendor.url_variable), "http://proxy:8000/v1")
    assert vendor()._called == vendor(None, "http://proxy:8000")._called == "proxy:8000"


async def test_a_client_of_the_caller_is_named_by_its_own_address() -> None:
    async with openai.AsyncOpenAI(api_key="k", base_url="http://proxy:8000/v1") as client:
        made = [LocalProvider(client=client), DeepSeekProvider(client=client), MiniMaxProvider(client=client)]
        assert {one._called for one in made} == {"proxy:8000"}


def test_each_has_a_model_of_its_own() -> None:
    made = [LocalProvider(), DeepSeekProvider("k"), MiniMaxProvider("k"), OpenAIProvider("k")]
    assert [one.model for one in made] == ["gpt-oss:20b", "deepseek-flash", "MiniMax-M3", "gpt-4o"]
    assert [one.name for one in made] == ["local", "deepseek", "minimax", "openai"]


async def test_what_is_for_openai_is_not_told_to_others(deep_seek: DeepSeek, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "my-organization")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "my-project")
    await ask(deep_seek)
    assert "my-" not in str(deep_seek.headers)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://localhost:11434/v1"),
        ("0.0.0.0", "http://localhost:11434/v1"),
        ("0.0.0.0:8080", "http://localhost:8080/v1"),
        (":8080", "http://localhost:8080/v1"),
        ("[::]:8080", "http://localhost:8080/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("gpu", "http://gpu:11434/v1"),
        ("http://gpu:1234/", "http://gpu:1234/v1"),
        ("https://me:pw@gpu.example/ollama/", "https://me:pw@gpu.example/ollama/v1"),
    ],
)
def test_the_host_of_ollama_is_read_as_ollama_reads_it(host: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert LocalProvider()._base_url == url
    assert LocalProvider(base_url="http://vllm:8000/v1")._base_url == "http://vllm:8000/v1"


def test_a_local_server_gets_no_key_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    assert LocalProvider()._api_key == "none"
    assert LocalProvider(api_key="mine")._api_key == "mine"


def test_a_local_model_may_have_no_tools() -> None:
    assert LocalProvider().supports_tools
    assert not LocalProvider(supports_tools=False).supports_tools
    assert LocalProvider(max_context_tokens=4096).max_context_tokens == 4096
    assert LocalProvider.supports_tools


async def test_a_local_server_that_is_down_says_how_to_start_it() -> None:
    async with http_host() as host:
        provider = LocalProvider(base_url=f"{host.url}/v1")
        with pytest.raises(ProviderError, match=r"cannot be reached: .*\. Is it running\? .*ollama serve") as caught:
            _ = [piece async for piece in provider.stream(ModelRequest(HELLO))]
        await provider.aclose()
    assert (caught.value.category, caught.value.provider) == (ErrorCategory.NETWORK, "local")


async def test_what_a_local_model_thinks_is_no_text() -> None:
    async with Ollama() as vendor:
        received = Received()
        vendor.answers(Answer("ok"))
        pieces, completion = await ask(vendor, received=received)
    assert "".join(pieces) == completion.text == "ok"
    assert received.bytes == 0


# ---- DeepSeek


async def test_thoughts_of_a_turn_without_tools_are_dropped(deep_seek: DeepSeek) -> None:
    deep_seek.answers(Answer("Hi.", reasoning="Hm."))
    _, completion = await ask(deep_seek)
    assert completion.vendor_state is None


async def test_thoughts_of_a_turn_with_tools_go_back_with_each_of_its_answers(deep_seek: DeepSeek) -> None:
    deep_seek.answers(
        Answer("I look.", (CALL,), "tool_calls", reasoning="Hm, hm."), Answer("7", reasoning="So 7."), Answer("ok")
    )
    _, first = await ask(deep_seek, tools=TOOLS)
    turn = [*HELLO, *answered(first, "7")]
    _, second = await ask(deep_seek, turn, TOOLS)
    await ask(deep_seek, [*turn, *answered(second), *HELLO], TOOLS)
    states = [said.state for said in deep_seek.asked[2].messages if said.role == "assistant"]
    assert states == ["Hm, hm.", "So 7."]


async def test_the_last_answer_to_results_keeps_its_thoughts_though_no_tool_is_offered(deep_seek: DeepSeek) -> None:
    deep_seek.answers(Answer("", (CALL,), "tool_calls", reasoning="Hm."), Answer("7", reasoning="So 7."))
    _, first = await ask(deep_seek, tools=TOOLS)
    _, second = await ask(deep_seek, [*HELLO, *answered(first, "7")])
    assert second.vendor_state == VendorState("deepseek", {"reasoning_content": "So 7."})
    assert [said.state for said in deep_seek.asked[1].messages] == [None, "Hm.", None]


async def test_answers_of_others_get_empty_thoughts_where_deepseek_wants_some(deep_seek: DeepSeek) -> None:
    history = [*HELLO, {"role": "assistant", "content": "Hi."}, *HELLO]
    before = json.dumps(history)
    await ask(deep_seek, history, TOOLS)
    await ask(deep_seek, history)
    assert [asked.messages[1].state for asked in deep_seek.asked] == ["", None]
    assert json.dumps(history) == before


async def test_calls_of_others_get_empty_thoughts_though_no_tool_is_offered(deep_seek: DeepSeek) -> None:
    await ask(deep_seek, [*HELLO, *answered(Completion("", (CALL,)), "7")])
    assert [said.state for said in deep_seek.asked[0].messages] == [None, "", None]


async def test_a_schema_becomes_json_and_a_sentence(deep_seek: DeepSeek) -> None:
    await ask(deep_seek, sampler=SamplerConfig(response_format={"type": "object", "title": "Grüße"}))
    assert deep_seek.bodies[0]["response_format"] == {"type": "json_object"}
    assert deep_seek.asked[0].messages[-1].role == "system"
    assert deep_seek.asked[0].messages[-1].text.endswith('JSON Schema: {"type":"object","title":"Grüße"}')


async def test_no_effort_is_no_thinking(deep_seek: DeepSeek) -> None:
    await ask(deep_seek, sampler=SamplerConfig(reasoning_effort="none", extra_body={"logprobs": True}))
    await ask(deep_seek, sampler=SamplerConfig(reasoning_effort="high"))
    first, second = deep_seek.bodies
    assert (first["thinking"], first["logprobs"], "reasoning_effort" in first) == ({"type": "disabled"}, True, False)
    assert (second["reasoning_effort"], "thinking" in second) == ("high", False)


async def test_an_answer_that_ran_out_of_resources_can_be_tried_again(deep_seek: DeepSeek) -> None:
    deep_seek.answers(stream_of({"content": "half"}, finish="insufficient_system_resource"))
    with pytest.raises(ProviderError, match="not enough resources") as caught:
        await ask(deep_seek)
    assert caught.value.to_error_info().retryable is True


async def test_thoughts_in_an_answer_in_one_piece_are_kept(deep_seek: DeepSeek) -> None:
    message = {"content": "ok", "reasoning_content": "Hm."}
    whole = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}
    deep_seek.answers(Raw("in one piece", json.dumps(whole).encode()))
    received = Received()
    _, completion = await ask(deep_seek, tools=TOOLS, received=received)
    assert completion.vendor_state == VendorState("deepseek", {"reasoning_content": "Hm."})
    assert received.usage == Usage(3)


@pytest.mark.parametrize("made", [deepseek.Assembly, minimax.Assembly])
def test_thoughts_count_to_the_size_of_an_answer(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MAX_ANSWER_CHARACTERS", 1000)
    assembly = made("v", Received())
    with pytest.raises(ProviderError, match="too large"):
        assembly.take({"choices": [{"delta": {"reasoning_content": "x" * 1001}}]})


@pytest.mark.parametrize("value", [None, 7, [], "x"])
async def test_a_state_that_is_no_object_is_passed_over(deep_seek: DeepSeek, value: Any) -> None:
    message = with_vendor_state({"role": "assistant", "content": "Hi."}, VendorState("deepseek", value))
    await ask(deep_seek, [*HELLO, message, *HELLO])
    assert deep_seek.bodies[0]["messages"][1] == {"role": "assistant", "content": "Hi."}


# ---- MiniMax


def details_of(*texts: Any, **members: Any) -> Completion:
    assembly = minimax.Assembly("minimax", Received())
    for text in texts:
        assembly.take({"choices": [{"delta": {"reasoning_details": [{"index": 0, "text": text, **members}]}}]})
    assembly.take({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]})
    return assembly.finish(done=True)


def shown(*texts: str) -> str:
    assembly = minimax.Assembly("minimax", Received())
    parts = [{"choices": [{"delta": {"reasoning_details": [{"index": 0, "text": text}]}}]} for text in texts]
    return chat_completions.reasoning_in([piece for part in parts for piece in assembly.take(part)])


def thought(completion: Completion) -> str:
    assert completion.vendor_state is not None
    (detail,) = completion.vendor_state.value["reasoning_details"]
    assert isinstance(detail["text"], str)
    return detail["text"]


def test_details_are_put_together_with_all_their_members() -> None:
    completion = details_of("The user", " asks.", type="reasoning.text", id="r1", format="MiniMax-response-v1")
    assert completion.vendor_state == VendorState(
        "minimax",
        {
            "reasoning_details": [
                {
                    "index": 0,
                    "type": "reasoning.text",
                    "id": "r1",
                    "format": "MiniMax-response-v1",
                    "text": "The user asks.",
                }
            ]
        },
    )


@pytest.mark.parametrize(
    "parts",
    [
        ["a", "and", " b"],
        ["ha", "ha", "ha"],
        ["The user", " asks", " The user asks again"],
        ["The user", "again and", "again and again"],
    ],
)
def test_parts_of_details_are_added_to_each_other(parts: list[str]) -> None:
    assert thought(details_of(*parts)) == "".join(parts)


@pytest.mark.parametrize(
    "parts", [["The user", "The user asks", "The user asks."], ["T", "The", "The user as", "The user asks."]]
)
def test_parts_that_have_all_so_far_replace_each_other(parts: list[str]) -> None:
    assert thought(details_of(*parts)) == shown(*parts) == "The user asks."


def test_parts_that_are_added_to_each_other_are_shown_once() -> None:
    assert shown("The user", " asks", " The user asks again") == "The user asks The user asks again"


def test_parts_that_have_all_so_far_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MAX_ANSWER_CHARACTERS", 2000)
    parts = ["x" * size for size in range(8, 1000)]
    assert thought(details_of(*parts)) == parts[-1]
    with pytest.raises(ProviderError, match="too large"):
        details_of("x" * 2000)


def test_details_of_several_entries_stay_apart_and_strange_ones_are_passed_over() -> None:
    assembly = minimax.Assembly("minimax", Received())
    entries = [
        {"index": 0, "text": "a"},
        {"index": 1, "text": "b"},
        {"id": "z", "data": "x"},
        7,
        {"index": 0, "text": 1},
    ]
    assembly.take({"choices": [{"delta": {"reasoning_details": entries}, "finish_reason": "stop"}]})
    state = assembly.finish(done=True).vendor_state
    assert state is not None
    assert state.value["reasoning_details"] == [
        {"index": 0, "text": "a"},
        {"index": 1, "text": "b"},
        {"id": "z", "data": "x"},
    ]


def test_details_that_are_nested_too_deeply_are_passed_over() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert details_of("a", data=deep).vendor_state is None


def test_many_entries_of_details_count_to_the_size_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MAX_ANSWER_CHARACTERS", 10_000)
    assembly = minimax.Assembly("minimax", Received())
    with pytest.raises(ProviderError, match="too large"):
        assembly.take({"choices": [{"delta": {"reasoning_details": [{"index": n} for n in range(100)]}}]})


def test_parts_of_a_text_after_all_of_it_take_time_in_proportion() -> None:
    def work(times: int) -> Callable[[], Any]:
        begun, parts = "x" * (500_000 * times), 1000 * times

        def take() -> None:
            detail = minimax._Detail()
            for text in (begun, begun + "y", *("z" * parts)):
                detail.take({"text": text})
            assert detail.whole() == {"text": f"{begun}y{'z' * parts}"}

        return take

    assert is_linear(work)


@pytest.mark.parametrize("beside", [{}, {"reasoning_details": []}, {"reasoning_details": None}])
async def test_reasoning_content_goes_back_where_there_are_no_details(
    mini_max: MiniMax, beside: dict[str, Any]
) -> None:
    thoughts = [{"reasoning_content": text, **beside} for text in ("Hm", ".")]
    mini_max.answers(stream_of(*thoughts, {"content": "ok"}), Answer("ok"))
    _, completion = await ask(mini_max)
    await ask(mini_max, [*HELLO, *answered(completion), *HELLO])
    assert mini_max.bodies[1]["messages"][1] == {"role": "assistant", "content": "ok", "reasoning_content": "Hm."}


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("<think>\nHm </thin k>.\n</think>\n\nHello <think> there\n", "Hello <think> there\n"),
        (" \n<think></think>ok", "ok"),
        ("<think>cut", ""),
        ("<think>", ""),
        ("<think>a</think> \n", ""),
        ("<thi", "<thi"),
        ("<thinking>no tag</thinking>", "<thinking>no tag</thinking>"),
        ("  plain", "  plain"),
        (" \n ", " \n "),
        ("plain <think>x</think>", "plain <think>x</think>"),
    ],
)
async def test_thoughts_in_the_text_are_no_text(mini_max: MiniMax, written: str, text: str, size: int) -> None:
    parts = [{"content": written[begin : begin + size]} for begin in range(0, len(written), size)]
    mini_max.answers(stream_of(*parts), Answer("ok"))
    pieces, completion = await ask(mini_max)
    assert "".join(pieces) == completion.text == text
    await ask(mini_max, [*HELLO, *answered(completion), *HELLO])
    assert mini_max.bodies[1]["messages"][1]["content"] == written


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("written", "reasoning"),
    [
        ("<think>\nHm </thin k>.\n</think>\n\nHello <think> there", "\nHm </thin k>.\n"),
        ("<think></think>ok", ""),
        ("<think>cut</th", "cut</th"),
        ("<think>a", "a"),
        ("plain <think>x</think>", ""),
        ("<thi", ""),
    ],
)
async def test_thoughts_in_the_text_are_shown_as_reasoning(
    mini_max: MiniMax, written: str, reasoning: str, size: int
) -> None:
    parts = [{"content": written[begin : begin + size]} for begin in range(0, len(written), size)]
    mini_max.answers(stream_of(*parts))
    pieces, completion = await all_of(mini_max)
    assert "".join(piece.text for piece in pieces if isinstance(piece, Reasoning)) == reasoning
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == completion.text


@pytest.mark.parametrize(("written", "text"), [("<think>Hm.</think>ok", "ok"), ("<thi", "<thi")])
async def test_thoughts_in_the_text_of_an_answer_in_one_piece_are_no_text(
    mini_max: MiniMax, written: str, text: str
) -> None:
    choice = {"message": {"content": written}, "finish_reason": "stop"}
    mini_max.answers(Raw("in one piece", json.dumps({"choices": [choice]}).encode()))
    pieces, completion = await ask(mini_max)
    assert (pieces, completion.text) == ([text], text)


async def test_thoughts_in_the_text_and_beside_it_go_back_once(mini_max: MiniMax) -> None:
    details = [{"index": 0, "text": "Hm."}]
    mini_max.answers(stream_of({"content": "<think>Hm.</think>ok", "reasoning_details": details}), Answer("ok"))
    _, completion = await ask(mini_max)
    assert completion.text == "ok"
    assert completion.vendor_state == VendorState("minimax", {"reasoning_details": details})


@pytest.mark.parametrize(("asked", "sent"), [(0, 0.01), (0.5, 0.5), (2, 1.0)])
async def test_temperatures_that_minimax_refuses_become_the_nearest(
    mini_max: MiniMax, asked: float, sent: float
) -> None:
    await ask(mini_max, sampler=SamplerConfig(temperature=asked, extra_body={"thinking": {"type": "disabled"}}))
    assert (mini_max.bodies[0]["temperature"], mini_max.bodies[0]["thinking"]) == (sent, {"type": "disabled"})


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("code", "category"), [(1002, "rate_limit"), (1008, "balance"), (1026, "content"), (2056, "quota"), (2049, "auth")]
)
async def test_a_refusal_under_the_status_of_an_answer_has_its_category(
    mini_max: MiniMax, code: int, category: str, streams: bool
) -> None:
    body = json.dumps({"choices": None, "base_resp": {"status_code": code, "status_msg": "because"}}).encode()
    kind = "text/event-stream" if streams else "application/json"
    mini_max.answers(Raw("refused", b"data: " + body + b"\n\n" if streams else body, kind))
    with pytest.raises(ProviderError, match=rf"because \({code}\)") as caught:
        await ask(mini_max)
    assert caught.value.category == category


async def test_an_answer_that_says_that_all_is_well_is_one(mini_max: MiniMax) -> None:
    fine = stream_of({"content": "ok"})
    body = fine.body.replace(b'"choices"', b'"base_resp": {"status_code": 0, "status_msg": ""}, "choices"')
    mini_max.answers(replace(fine, body=body))
    assert (await ask(mini_max))[1].text == "ok"


def test_blanks_without_end_before_a_tag_are_held_back_no_longer() -> None:
    assembly = minimax.Assembly("minimax", Received())
    said = [assembly.take({"choices": [{"delta": {"content": " "}}]}) for _ in range(5000)]
    assert said[-1] == [" "]
    assert "".join(str(piece) for pieces in said for piece in pieces) == assembly.finish(done=True).text == " " * 5000
