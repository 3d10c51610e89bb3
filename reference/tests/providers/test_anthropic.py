"""What is particular to Anthropic: thinking that is signed, results in one message, its options and its errors."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest
from support.vendors import anthropic_messages as said
from support.vendors.anthropic_messages import AnthropicMessages
from support.vendors.stand_in import event

from xmcp.chat.completions import Completion, ToolCall, VendorState
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.messages import turn_messages
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.usage import Usage
from xmcp.chat.vendor_state import with_vendor_state
from xmcp.providers import AnthropicProvider, ModelRequest
from xmcp.providers.base import Received
from xmcp.providers.contract import SECRET, Answer, Raw, ask
from xmcp.providers.formats import anthropic_messages as form

HELLO = [{"role": "user", "content": "hello"}]
TOOLS = ToolSchemas.of(
    [
        {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}},
        {"type": "function", "function": {"name": "now"}},
    ]
)
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": said.SIGNATURE}
HIDDEN = {"type": "redacted_thinking", "data": "EmwKAhgB+encrypted"}


@pytest.fixture
async def vendor() -> AsyncIterator[AnthropicMessages]:
    stand_in = AnthropicMessages()
    async with stand_in:
        yield stand_in


def streamed(*blocks: said.Block, reason: str = "end_turn") -> Raw:
    """Return an answer of these blocks."""
    parts = [said.block(index, *block) for index, block in enumerate(blocks)]
    body = b"".join([said.message_start(), *parts, said.message_delta(reason), event({"type": "message_stop"})])
    return Raw("", body, "text/event-stream")


def written(messages: list[Any], sampler: SamplerConfig | None = None, **more: Any) -> dict[str, Any]:
    """Return a request as the vendor reads it."""
    request = form.write(
        more.pop("model", said.MODEL), messages, more.pop("tools", ToolSchemas()), sampler or SamplerConfig()
    )
    body: dict[str, Any] = json.loads(request.body)
    return body | ({"beta": request.beta} if request.beta else {})


def turn(completion: Completion, *results: Any) -> list[Any]:
    """Return the messages of an answer with calls as they come out of a stored history."""
    assistant, *told = turn_messages(completion.text, completion.tool_calls, [""] * len(results))
    kept = [with_vendor_state(assistant, completion.vendor_state)]
    kept += [{**message, "content": result} for message, result in zip(told, results, strict=True)]
    stored: list[Any] = json.loads(json.dumps(kept))
    return stored


# ---- thinking


async def test_thinking_comes_back_first_and_unchanged(vendor: AnthropicMessages) -> None:
    vendor.answers(
        streamed(
            said.thinking("Hm.", said.SIGNATURE),
            (HIDDEN, []),
            said.text("I ", "look."),
            said.tool_use("toolu_1", "add", '{"a"', ": 1}"),
            reason="tool_use",
        )
    )
    pieces, completion = await ask(vendor, tools=TOOLS)
    assert pieces == ["I ", "look."]
    (call,) = completion.tool_calls
    assert call == ToolCall("toolu_1", "add", '{"a": 1}')
    await ask(vendor, [*HELLO, *turn(completion, "7")], TOOLS)
    assert vendor.bodies[1]["messages"][1] == {
        "role": "assistant",
        "content": [
            THOUGHT,
            HIDDEN,
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}},
        ],
    }


async def test_thinking_between_texts_and_calls_keeps_its_place(vendor: AnthropicMessages) -> None:
    vendor.answers(
        streamed(
            said.text("One."),
            said.thinking("Hm.", said.SIGNATURE),
            said.text("Two."),
            said.tool_use("t1", "add"),
            (HIDDEN, []),
            said.tool_use("t2", "now"),
            reason="tool_use",
        )
    )
    _, completion = await ask(vendor, tools=TOOLS)
    kinds = ["text", "thinking", "text", "tool_use", "redacted_thinking", "tool_use"]
    blocks = written([*HELLO, *turn(completion, "1", "2")])["messages"][1]["content"]
    assert [one["type"] for one in blocks] == kinds
    assert [one["text"] for one in blocks if one["type"] == "text"] == ["One.", "Two."]

    changed = turn(completion, "1", "2")
    changed[0]["content"] = "One. Another."
    blocks = written([*HELLO, *changed])["messages"][1]["content"]
    assert [one["type"] for one in blocks] == ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    assert blocks[2]["text"] == "One. Another."


async def test_thinking_that_was_cut_before_its_signature_is_not_kept(vendor: AnthropicMessages) -> None:
    vendor.answers(streamed(said.thinking("Hm.", ""), reason="max_tokens"))
    _, completion = await ask(vendor)
    assert (completion.text, completion.finish_reason, completion.vendor_state) == ("", "length", None)


async def test_a_search_of_the_vendor_goes_back_with_its_result(vendor: AnthropicMessages) -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted_content": "x"}]}
    query = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"query"', ': "xmcp"}')]
    vendor.answers(streamed((search, query), (found, []), said.text("Found.")))
    _, completion = await ask(vendor)
    blocks = written([*HELLO, *turn(completion)])["messages"][1]["content"]
    assert blocks == [{**search, "input": {"query": "xmcp"}}, found, {"type": "text", "text": "Found."}]


@pytest.mark.parametrize("text", ["", "ok"])
def test_no_answer_ends_with_thinking(text: str) -> None:
    layout = [THOUGHT, {"type": "text", "characters": len(text)}, HIDDEN, THOUGHT]
    message = with_vendor_state({"role": "assistant", "content": text}, VendorState("anthropic", layout))
    sent = written([*HELLO, message, *HELLO])["messages"]
    assert [one["content"] for one in sent[1:-1]] == ([[THOUGHT, {"type": "text", "text": "ok"}]] if text else [])


@pytest.mark.parametrize("state", [None, "x", 7, {"type": "text"}, [1], [{"kind": "text"}], [{"type": 7}]])
def test_a_state_that_is_none_is_left_out(state: Any) -> None:
    message = with_vendor_state({"role": "assistant", "content": "ok"}, VendorState("anthropic", state))
    assert written([*HELLO, message])["messages"][1]["content"] == [{"type": "text", "text": "ok"}]


def test_a_state_of_another_vendor_is_left_out_even_if_it_looks_like_one_of_this() -> None:
    message = with_vendor_state({"role": "assistant", "content": "ok"}, VendorState("another", [THOUGHT]))
    assert written([*HELLO, message])["messages"][1]["content"] == [{"type": "text", "text": "ok"}]


@pytest.mark.parametrize("more", [{"type": "tool_use", "call": 5}, {"type": "tool_use"}, {"type": "text"}])
def test_a_place_that_nothing_has_is_no_place(more: dict[str, Any]) -> None:
    layout = [THOUGHT, {"type": "text", "characters": 2}, more]
    message = with_vendor_state({"role": "assistant", "content": "ok"}, VendorState("anthropic", layout))
    assert written([*HELLO, message])["messages"][1]["content"] == [THOUGHT, {"type": "text", "text": "ok"}]


# ---- calls and results


@pytest.mark.parametrize("pieces", [(), ("",), ("{}",)])
async def test_a_call_with_an_empty_input(vendor: AnthropicMessages, pieces: tuple[str, ...]) -> None:
    vendor.answers(streamed(said.tool_use("t1", "now", *pieces), reason="tool_use"))
    _, completion = await ask(vendor, tools=TOOLS)
    assert completion.tool_calls == (ToolCall("t1", "now", "{}"),)
    await ask(vendor, [*HELLO, *turn(completion, "noon")], TOOLS)
    (use,) = vendor.bodies[1]["messages"][1]["content"]
    assert use == {"type": "tool_use", "id": "t1", "name": "now", "input": {}}


def test_results_of_a_turn_stand_in_one_message_in_call_order() -> None:
    calls = [ToolCall(f"t{n}", "add", "{}") for n in range(3)]
    assistant, *told = turn_messages("", calls, ["a", "b", "c"])
    messages = written([*HELLO, assistant, told[2], told[0], told[1], {"role": "user", "content": "and?"}])["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[2]["content"] == [
        *({"type": "tool_result", "tool_use_id": f"t{n}", "content": "abc"[n]} for n in range(3)),
        {"type": "text", "text": "and?"},
    ]


def test_messages_of_equal_role_are_one() -> None:
    messages = [*HELLO, {"role": "user", "content": "you"}, {"role": "assistant", "content": "a"}]
    messages += [{"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    sent = written(messages)["messages"]
    assert [[block["text"] for block in one["content"]] for one in sent] == [["hello", "you"], ["a", "b"], ["c"]]


def test_blank_texts_are_not_sent() -> None:
    assistant, result = turn_messages(" \n", [ToolCall("t1", "add", "{}")], [""])
    blank = {"role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "b"}]}
    messages = [{"role": "system", "content": " "}, {"role": "user", "content": ""}, *HELLO]
    body = written([*messages, {"role": "assistant", "content": ""}, blank, assistant, result])
    assert "system" not in body
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "add", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]},
    ]


def test_instructions_stand_outside_wherever_they_were() -> None:
    body = written([{"role": "system", "content": "A."}, *HELLO, {"role": "developer", "content": "B."}])
    assert (body["system"], len(body["messages"])) == ("A.\n\nB.", 1)


def test_pictures_by_address_and_by_value() -> None:
    urls = ["https://example.org/a.png", "data:image/webp;base64,UklG"]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    assistant, result = turn_messages("", [ToolCall("t1", "add", "{}")], [""])
    sent = written([{"role": "user", "content": parts}, assistant, {**result, "content": parts}])["messages"]
    sources = [{"type": "url", "url": urls[0]}, {"type": "base64", "media_type": "image/webp", "data": "UklG"}]
    blocks = [{"type": "image", "source": source} for source in sources]
    assert sent[0]["content"] == blocks
    assert sent[2]["content"][0]["content"] == blocks


def test_large_integers_in_arguments_keep_their_value_and_unreadable_ones_are_none() -> None:
    calls = [
        ToolCall("t1", "add", f'{{"a": {2**70 + 1}}}'),
        ToolCall("t2", "add", "{oops"),
        ToolCall("t3", "add", "[1]"),
    ]
    message = {
        "role": "assistant",
        "tool_calls": [{"id": one.id, "function": {"name": one.name, "arguments": one.arguments}} for one in calls],
    }
    sent = written([*HELLO, message])["messages"][1]["content"]
    assert [use["input"] for use in sent] == [{"a": 2**70 + 1}, {}, {}]


def test_a_history_is_not_changed_and_tools_are_written_once() -> None:
    state = VendorState("anthropic", [THOUGHT, {"type": "tool_use", "call": 0}])
    history = [*HELLO, *HELLO, *turn(Completion("", (ToolCall("t1", "add", "{}"),), vendor_state=state), "7"), *HELLO]
    before = json.dumps(history)
    first, second = written(history, tools=TOOLS), written(history, tools=TOOLS)
    assert first == second
    assert json.dumps(history) == before
    assert first["tools"] == [
        {"name": "add", "description": "Adds.", "input_schema": {"type": "object"}},
        {"name": "now", "input_schema": {"type": "object"}},
    ]


# ---- options


def test_a_request_says_how_long_the_answer_may_be_and_nothing_that_is_refused() -> None:
    body = written(HELLO, SamplerConfig(temperature=0, top_p=1, seed=1))
    assert body == {
        "model": said.MODEL,
        "max_tokens": form.DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "stream": True,
    }


def test_a_schema_for_the_answer_and_members_of_the_caller() -> None:
    schema = {"type": "object", "properties": {}}
    extra = {"metadata": {"user_id": "u"}, "max_tokens": 5, "tools": [{"type": "web_search_20260209"}]}
    sampler = SamplerConfig(response_format=schema, reasoning_effort="low", max_tokens=9, extra_body=extra)
    body = written(HELLO, sampler, tools=TOOLS)
    assert body["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": schema}}
    assert {name: body[name] for name in extra} == extra


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "level"),
    [
        ("claude-sonnet-4-6", "minimal", {"type": "adaptive"}, "low"),
        ("claude-sonnet-4-6", "high", {"type": "adaptive"}, "high"),
        ("claude-sonnet-4-6", "none", {"type": "disabled"}, None),
        ("claude-sonnet-4-6", None, None, None),
        ("claude-haiku-4-5-20251001", "medium", {"type": "enabled", "budget_tokens": 8192}, None),
        ("claude-haiku-4-5", "none", None, None),
        ("claude-opus-4-20250514", "low", {"type": "enabled", "budget_tokens": 2048}, None),
        ("claude-opus-5-5", "none", None, "low"),
        ("claude-fable-5", "none", None, "low"),
        ("claude-sonnet-5-5", "none", {"type": "between_tools"}, None),
        ("claude-sonnet-5-5", "medium", {"type": "adaptive"}, "medium"),
        ("our-own-model", "medium", {"type": "adaptive"}, "medium"),
    ],
)
def test_effort_is_how_a_model_thinks(model: str, effort: Any, thinking: Any, level: str | None) -> None:
    body = written(HELLO, SamplerConfig(reasoning_effort=effort), model=model)
    assert body.get("thinking") == thinking
    assert body.get("output_config") == (None if level is None else {"effort": level})


def test_a_budget_leaves_room_for_the_answer_and_not_below_the_vendors_least() -> None:
    for most, budget in ((4000, 3000), (1400, 1050), (1300, None)):
        body = written(HELLO, SamplerConfig(reasoning_effort="high", max_tokens=most), model="claude-haiku-4-5")
        assert body.get("thinking", {}).get("budget_tokens") == budget


def test_a_turn_that_began_without_thinking_goes_on_without() -> None:
    sampler = SamplerConfig(reasoning_effort="high")
    calls = (ToolCall("t1", "add", "{}"),)
    foreign = [*HELLO, *turn_messages("", calls, ["7"])]
    assert "thinking" not in written(foreign, sampler, model="claude-haiku-4-5")
    assert "thinking" in written(foreign, sampler, model="claude-sonnet-4-6")
    state = VendorState("anthropic", [THOUGHT, {"type": "tool_use", "call": 0}])
    own = [*HELLO, *turn(Completion("", calls, vendor_state=state), "7")]
    assert "thinking" in written(own, sampler, model="claude-haiku-4-5")


@pytest.mark.parametrize(
    ("model", "choice", "sent", "thinking"),
    [
        ("claude-sonnet-4-6", "required", {"type": "any"}, None),
        ("claude-haiku-4-5", "add", {"type": "tool", "name": "add"}, None),
        ("claude-opus-5", "required", {"type": "any"}, {"type": "disabled"}),
        ("claude-sonnet-5-5", "required", None, {"type": "adaptive"}),
        ("claude-sonnet-5-5", "none", {"type": "none"}, {"type": "adaptive"}),
        ("claude-sonnet-4-6", "auto", {"type": "auto"}, {"type": "adaptive"}),
    ],
)
def test_a_call_is_forced_without_thinking_and_only_where_it_can_be(
    model: str, choice: str, sent: Any, thinking: Any
) -> None:
    sampler = SamplerConfig(tool_choice=choice, reasoning_effort="low")
    body = written(HELLO, sampler, model=model, tools=TOOLS)
    assert (body.get("tool_choice"), body.get("thinking")) == (sent, thinking)
    assert "tool_choice" not in written(HELLO, sampler, model=model)


def test_thinking_whose_prefix_has_changed_is_dropped_by_the_models_that_would_refuse_it() -> None:
    message = with_vendor_state({"role": "assistant", "content": "ok"}, VendorState("anthropic", [THOUGHT]))
    history = [*HELLO, message, *HELLO]
    body = written(history, model="claude-sonnet-5-5")
    assert body["thinking"] == {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert body["beta"] == form.BINDING_BETA
    for model, messages in (("claude-sonnet-4-6", history), ("claude-sonnet-5-5", HELLO)):
        assert written(messages, model=model).keys().isdisjoint({"beta", "thinking"})


async def test_the_beta_stands_in_the_header(vendor: AnthropicMessages) -> None:
    message = with_vendor_state({"role": "assistant", "content": "ok"}, VendorState("anthropic", [THOUGHT]))
    await ask(vendor, [*HELLO, message, *HELLO], model="claude-sonnet-5-5")
    assert vendor.headers[0]["anthropic-beta"] == form.BINDING_BETA
    assert vendor.headers[0]["accept-encoding"] == "identity"


# ---- answers


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("a_new_one", "a_new_one"),
    ],
)
async def test_reasons(vendor: AnthropicMessages, reason: str, expected: str) -> None:
    vendor.answers(streamed(said.text("ok"), reason=reason))
    assert (await ask(vendor))[1].finish_reason == expected


async def test_all_input_counts_and_the_last_count_is_the_right_one(vendor: AnthropicMessages) -> None:
    begun = {"input_tokens": 7, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 1}
    ended = {"output_tokens": 42, "input_tokens": None, "cache_read_input_tokens": 301}
    body = said.message_start(begun) + said.block(0, *said.text("ok")) + said.message_delta("end_turn", ended)
    vendor.answers(Raw("", body, "text/event-stream"))
    received = Received()
    _, completion = await ask(vendor, received=received)
    assert completion.usage == received.usage == Usage(328, 42, 301, 20)


async def test_what_has_arrived_is_known_when_the_answer_breaks_off(vendor: AnthropicMessages) -> None:
    blocks = said.block(0, *said.thinking("Hmé", "s")) + said.block(1, *said.tool_use("t", "add", '{"a"'))
    vendor.answers(Raw("", said.message_start() + blocks, "text/event-stream"))
    received = Received()
    with pytest.raises(ProviderError) as caught:
        await ask(vendor, received=received)
    assert caught.value.category is ErrorCategory.NETWORK
    assert (received.bytes, received.usage, received.model) == (3 + 4, Usage(10), said.MODEL)


async def test_what_is_not_known_yet_is_left_out(vendor: AnthropicMessages) -> None:
    new = event({"type": "weather"}, "weather") + event({"type": "ping"}, "ping")
    cited, deltas = said.text("ok")
    deltas.append({"type": "citations_delta", "citation": {}})
    body = said.message_start() + new + said.block(0, cited, deltas) + said.message_delta("end_turn")
    vendor.answers(Raw("", body, "text/event-stream"))
    assert (await ask(vendor))[1].text == "ok"


async def test_an_answer_in_one_piece(vendor: AnthropicMessages) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}
    answer = {
        "type": "message",
        "model": "m",
        "content": [THOUGHT, {"type": "text", "text": "ok"}, use],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    vendor.answers(Raw("", json.dumps(answer).encode()))
    pieces, completion = await ask(vendor)
    assert pieces == ["ok"]
    assert completion == Completion(
        "ok",
        (ToolCall("t1", "add", '{"a":1}'),),
        "tool_calls",
        Usage(3, 4),
        "m",
        VendorState("anthropic", [THOUGHT, {"type": "text", "characters": 2}, {"type": "tool_use", "call": 0}]),
    )


@pytest.mark.parametrize("kind", ["text", "thinking", "signature", "call", "redacted"])
async def test_an_answer_has_a_limit(vendor: AnthropicMessages, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "MAX_ANSWER_CHARACTERS", 2000)
    large = "x" * 1900
    block = {
        "text": said.text(large),
        "thinking": said.thinking(large, "s"),
        "signature": said.thinking("Hm.", large),
        "call": said.tool_use("t", "add", large),
        "redacted": ({"type": "redacted_thinking", "data": large}, []),
    }[kind]
    vendor.answers(streamed(block))
    with pytest.raises(ProviderError) as caught:
        await ask(vendor)
    assert caught.value.category is ErrorCategory.TOO_LARGE


# ---- errors


@pytest.mark.parametrize(
    ("status", "kind", "message", "category"),
    [
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context"),
        (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 9 + 9 > 10", "context"),
        (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", "balance"),
        (400, "invalid_request_error", "You have reached your specified API usage limits.", "quota"),
        (400, "invalid_request_error", "messages: at least one message is required", "unknown"),
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (402, "billing_error", "There is a problem with your payment method.", "quota"),
        (403, "permission_error", "Your API key does not have permission.", "auth"),
        (404, "not_found_error", "model: claude-9", "unknown"),
        (413, "request_too_large", "Request exceeds the maximum size", "context"),
        (429, "rate_limit_error", "This request would exceed your rate limit.", "rate_limit"),
        (500, "api_error", "Internal server error", "network"),
        (529, "overloaded_error", "Overloaded", "network"),
    ],
)
async def test_statuses(vendor: AnthropicMessages, status: int, kind: str, message: str, category: str) -> None:
    client = anthropic.AsyncAnthropic(api_key=SECRET, base_url=_address(vendor), max_retries=0)
    async with client:
        vendor.provider = AnthropicProvider(client=client)
        vendor.answers(Raw("", json.dumps(said.error(kind, message)).encode(), status=status))
        with pytest.raises(ProviderError) as caught:
            await ask(vendor)
        assert (caught.value.category, caught.value.status) == (category, status)
        assert message in caught.value.message
        assert caught.value.__cause__ is None

        # The same in the middle of a stream, where it has no status.
        body = said.message_start() + event(said.error(kind, message), "error")
        vendor.answers(Raw("", body, "text/event-stream"))
        with pytest.raises(ProviderError) as caught:
            await ask(vendor)
        assert (caught.value.category, caught.value.status, caught.value.began) == (category, status, True)


def _address(vendor: AnthropicMessages) -> str:
    address: str = vendor.provider._base_url  # type: ignore[attr-defined]
    return address


async def test_the_vendor_is_asked_again_when_it_is_overloaded(vendor: AnthropicMessages) -> None:
    overloaded = Raw("", json.dumps(said.error("overloaded_error", "Overloaded")).encode(), status=529)
    vendor.answers(overloaded, Answer("ok"))
    assert (await ask(vendor))[1].text == "ok"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ["hello"]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
        {"role": "user", "content": [{"type": "text", "text": {1}}]},
        {"role": "assistant", "tool_calls": [{"id": "t1", "function": {"name": "add", "arguments": {1}}}]},
        {"content": "hello"},
    ],
)
async def test_messages_of_another_form_are_refused(vendor: AnthropicMessages, message: Any) -> None:
    with pytest.raises(ProviderError, match="cannot be written") as caught:
        await ask(vendor, [message])
    assert caught.value.category is ErrorCategory.CONTENT
    assert not vendor.asked


async def test_the_page_of_a_proxy_is_not_shown(vendor: AnthropicMessages) -> None:
    vendor.answers(Raw("", b"<html>Sign in</html>", "text/html", 403))
    with pytest.raises(ProviderError) as caught:
        await ask(vendor)
    assert (caught.value.category, caught.value.status) == (ErrorCategory.AUTH, 403)
    assert "Sign in" not in caught.value.message


async def test_a_page_is_called_one(vendor: AnthropicMessages) -> None:
    vendor.answers(Raw("", b"<html>Sign in</html>", "text/html"))
    with pytest.raises(ProviderError, match="answers text/html, which is not Anthropic's Messages API") as caught:
        await ask(vendor)
    assert caught.value.category is ErrorCategory.UNKNOWN


async def test_nobody_listens() -> None:
    client = anthropic.AsyncAnthropic(api_key=SECRET, base_url="http://127.0.0.1:9", max_retries=0)
    async with client:
        with pytest.raises(ProviderError, match=r"The model at http://127.0.0.1:9 cannot be reached") as caught:
            await anext(AnthropicProvider(client=client).stream(ModelRequest(HELLO)))
    assert caught.value.category is ErrorCategory.NETWORK


async def test_a_list_that_is_none(vendor: AnthropicMessages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor, "listed", lambda path: ["x"])
    with pytest.raises(ProviderError, match="list of models"):
        await vendor.provider.list_models()  # type: ignore[attr-defined]


# ---- the provider


@pytest.fixture
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_no_environment")
def test_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY") as caught:
        AnthropicProvider()
    assert caught.value.category is ErrorCategory.AUTH
    AnthropicProvider(base_url="http://localhost:1")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        with monkeypatch.context() as environment:
            environment.setenv(name, "sk-ant-key")
            AnthropicProvider()
    with pytest.raises(ProviderError, match="placeholder"):
        AnthropicProvider("sk-ant-…")


@pytest.mark.usefixtures("_no_environment")
def test_arguments_that_contradict_each_other_or_are_no_address() -> None:
    client = anthropic.AsyncAnthropic(api_key="x")
    with pytest.raises(ValueError, match="not both"):
        AnthropicProvider("x", client=client)
    with pytest.raises(ValueError, match="write http://") as caught:
        AnthropicProvider(base_url="u:secret@host")
    assert "secret" not in str(caught.value)


async def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(ProviderError, match=r"pip install 'xmcp\[anthropic\]'"):
        await anext(AnthropicProvider("x").stream(ModelRequest(HELLO)))


async def test_the_package_of_providers_loads_no_sdk() -> None:
    code = "import sys, xmcp.providers; print(sorted({'anthropic', 'openai', 'httpx2'} & sys.modules.keys()))"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out.strip() == b"[]"


async def test_a_client_of_the_caller_stays_open(vendor: AnthropicMessages) -> None:
    async with anthropic.AsyncAnthropic(api_key=SECRET, base_url=_address(vendor)) as client:
        provider = AnthropicProvider(client=client)
        await provider.aclose()
        vendor.provider = provider
        await ask(vendor)
        assert vendor.headers[0]["accept-encoding"] == "identity"
        assert not client.is_closed()
