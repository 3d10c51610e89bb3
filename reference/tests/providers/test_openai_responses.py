"""OpenAIResponsesProvider: its format, what of an answer goes back, and the real SDK against a loopback server."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from support.http_host import http_host
from support.scripted_model import Reply
from support.vendors import responses as stand_in

from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.vendor_state import VENDOR_STATE_KEY, with_vendor_state
from xmcp.providers import (
    Completion,
    ErrorCategory,
    ModelRequest,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ProviderError,
    ToolCall,
    ToolSchemas,
    Usage,
)
from xmcp.providers.base import Reasoning, Received
from xmcp.providers.contract import Answer
from xmcp.providers.formats import responses
from xmcp.providers.formats.responses import Assembly, request_body, whole
from xmcp.providers.formats.sse import EventReader

HELLO = [{"role": "user", "content": "hello"}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "add", "description": "Add.", "parameters": SCHEMA}}
CALLS = (ToolCall("c1", "add", '{"a": 1}'), ToolCall("c2", "add", '{"a": 2}'))
THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAA1"}


@pytest.fixture
async def provider(chat_server: Any) -> Any:
    provider = OpenAIResponsesProvider("sk-secret-key", chat_server.url, "m")
    yield provider
    await provider.aclose()


async def ask(provider: OpenAIResponsesProvider, request: ModelRequest | None = None) -> tuple[list[str], Completion]:
    *pieces, completion = [piece async for piece in provider.stream(request or ModelRequest(HELLO))]
    assert isinstance(completion, Completion)
    return [str(piece) for piece in pieces], completion


def sse(*events: Mapping[str, Any]) -> bytes:
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def streamed(answer: Answer) -> Reply:
    return Reply([sse(one) for one in stand_in.events(answer)])


def body(messages: Sequence[Mapping[str, Any]] = HELLO, tools: Any = (), **options: Any) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(request_body("m", messages, ToolSchemas.of(tools), SamplerConfig(**options)))
    return written


def items_of(*items: Mapping[str, Any], **members: Any) -> Completion:
    _, completion = whole({**stand_in.response("completed", items), **members}, "openai")
    return completion


def message(text: str, **members: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg", "type": "message", "role": "assistant", "content": [part], "status": "completed", **members}


def call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def again(completion: Completion, **changes: Any) -> list[dict[str, Any]]:
    """Return the items of the next request for this answer."""
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in completion.tool_calls
    ]
    answer = {"role": "assistant", "content": completion.text or None, **({"tool_calls": calls} if calls else {})}
    kept = json.loads(json.dumps(with_vendor_state(answer, completion.vendor_state)))
    items: list[dict[str, Any]] = body([{**kept, **changes}])["input"]
    return items


def called(one: ToolCall) -> dict[str, Any]:
    return {"type": "function_call", "call_id": one.id, "name": one.name, "arguments": one.arguments}


def said(text: str, **members: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **members}


# ---- the stand-in


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "length", "content_filter"])
def test_the_stand_in_says_what_the_sdk_understands(finish: str) -> None:
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    adapter = TypeAdapter(ResponseStreamEvent)
    answer = Answer("some text", CALLS if finish == "tool_calls" else (), finish, reasoning="Hm.")
    for event in stand_in.events(answer):
        read = adapter.validate_python(event)
        assert read.type == event["type"]
        if event["type"] not in responses.Assembly.unread:
            assert event["type"] in responses._TAKES


def test_every_event_that_is_not_read_is_one_of_the_api() -> None:
    from typing import get_args

    from openai.types.responses import ResponseStreamEvent

    known = {get_args(one.model_fields["type"].annotation)[0] for one in get_args(get_args(ResponseStreamEvent)[0])}
    assert Assembly.unread <= known
    assert responses._TAKES.keys() <= known


# ---- requests


async def test_the_request_is_what_the_api_says(chat_server: Any, provider: OpenAIResponsesProvider) -> None:
    chat_server.replies = [streamed(Answer("ok"))]
    history = [{"role": "system", "content": "Be brief."}, *HELLO]
    await ask(provider, ModelRequest(history, ToolSchemas.of([TOOL]), "other"))
    assert chat_server.paths == ["/v1/responses"]
    assert chat_server.requests[0] == {
        "model": "other",
        "instructions": "Be brief.",
        "input": HELLO,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tools": [{"type": "function", "name": "add", "description": "Add.", "parameters": SCHEMA, "strict": False}],
    }
    assert chat_server.headers[0]["authorization"] == "Bearer sk-secret-key"
    assert chat_server.headers[0]["accept-encoding"] == "identity"


def test_without_instructions_and_tools_the_request_has_none() -> None:
    assert body().keys() == {"model", "input", "stream", "store", "include"}


def test_system_messages_at_the_beginning_are_instructions_and_later_ones_stay_where_they_are() -> None:
    parts = [{"type": "text", "text": "Two"}, {"type": "text", "text": "."}]
    later = {"role": "system", "content": "From now on in French."}
    written = body(
        [{"role": "system", "content": "One."}, {"role": "developer", "content": parts}, *HELLO, later, *HELLO]
    )
    assert written["instructions"] == "One.\n\nTwo."
    assert written["input"] == [*HELLO, later, *HELLO]


def test_options_have_the_names_of_this_api_and_what_it_does_not_have_is_left_out() -> None:
    written = body(
        tools=[TOOL],
        temperature=0.5,
        top_p=0.25,
        max_tokens=100,
        stop=["END"],
        seed=7,
        tool_choice="add",
        response_format=SCHEMA,
        reasoning_effort="low",
        extra_body={"service_tier": "flex"},
    )
    options = {name: written[name] for name in written if name not in ("model", "input", "stream", "store", "include")}
    del options["tools"]
    assert options == {
        "temperature": 0.5,
        "top_p": 0.25,
        "max_output_tokens": 100,
        "tool_choice": {"type": "function", "name": "add"},
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": False}},
        "reasoning": {"effort": "low"},
        "service_tier": "flex",
    }


def test_a_member_of_the_extra_body_stands_in_the_place_of_ours() -> None:
    written = request_body("m", HELLO, ToolSchemas.of([TOOL]), SamplerConfig(extra_body={"store": True, "tools": []}))
    assert (written.count(b'"store"'), written.count(b'"tools"')) == (1, 1)
    assert (json.loads(written)["store"], json.loads(written)["tools"]) == (True, [])


def test_tools_are_written_once_for_all_requests_that_offer_them() -> None:
    tools = ToolSchemas.of([TOOL])
    assert responses._flat_tools(tools) is responses._flat_tools(tools)
    before = len(responses._FLAT_TOOLS)
    del tools
    gc.collect()
    assert len(responses._FLAT_TOOLS) == before - 1


def test_a_tool_that_says_that_it_is_strict_is() -> None:
    tool = {"type": "function", "function": {**TOOL["function"], "strict": True}}  # type: ignore[dict-item]
    bare = {"type": "function", "function": {"name": "bare"}}
    strict, without = body(tools=[tool, bare])["tools"]
    assert strict["strict"] is True
    assert without == {
        "type": "function",
        "name": "bare",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }


def test_pictures_and_parts_that_only_this_api_has_arrive() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/dot.png", "detail": "low"}}
    file = {"type": "input_file", "file_id": "file_1"}
    (item,) = body([{"role": "user", "content": [{"type": "text", "text": "see"}, picture, file]}])["input"]
    assert item["content"] == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "https://example.com/dot.png", "detail": "low"},
        file,
    ]


def test_the_history_of_another_vendor_is_accepted() -> None:
    function = {"name": "add", "arguments": {"a": 1}}
    history: list[dict[str, Any]] = [
        *HELLO,
        {"role": "assistant", "content": None, "tool_calls": [{"id": "x_1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "x_1", "name": "add", "content": None},
        {"role": "assistant", "content": None, "refusal": "I must not."},
        {"role": "assistant", "content": ""},
    ]
    assert body(history)["input"] == [
        *HELLO,
        {"type": "function_call", "call_id": "x_1", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "x_1", "output": ""},
        said("I must not."),
    ]


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "user", "content": b"bytes"}],
        [{"role": "assistant", "content": None, "tool_calls": [{"id": "x"}]}],
        [{"role": "assistant", "content": None, "tool_calls": [{"id": "x", "function": "add"}]}],
    ],
)
async def test_messages_that_cannot_be_written_are_refused(
    provider: OpenAIResponsesProvider, history: list[dict[str, Any]]
) -> None:
    with pytest.raises(ProviderError, match="cannot be written as JSON") as caught:
        await ask(provider, ModelRequest(history))
    assert caught.value.category is ErrorCategory.CONTENT


# ---- what goes back


def test_an_answer_goes_back_as_the_model_made_it() -> None:
    second = {**THOUGHT, "id": "rs_2", "encrypted_content": "gAAAAA2", "status": "completed", "more": [1]}
    completion = items_of(
        THOUGHT,
        message("I look.", phase="commentary"),
        second,
        call(CALLS[0]),
        call(CALLS[1]),
        message("And wait.", phase="final_answer"),
    )
    assert completion.text == "I look.\n\nAnd wait."
    assert completion.tool_calls == CALLS
    assert again(completion) == [
        THOUGHT,
        said("I look.", phase="commentary"),
        second,
        called(CALLS[0]),
        called(CALLS[1]),
        said("And wait.", phase="final_answer"),
    ]


def test_calls_are_found_by_their_position_since_the_client_may_have_renamed_them() -> None:
    completion = items_of(call(CALLS[0]), THOUGHT, call(CALLS[1]))
    renamed = [
        {"id": f"n{n}", "type": "function", "function": {"name": "add", "arguments": "{}"}} for n in range(len(CALLS))
    ]
    first, kept, second = again(completion, tool_calls=renamed)
    assert (first["call_id"], kept, second["call_id"]) == ("n0", THOUGHT, "n1")


def test_the_phase_of_a_message_goes_back_without_any_reasoning() -> None:
    completion = items_of(message("I look.", phase="commentary"), call(CALLS[0]))
    assert again(completion) == [said("I look.", phase="commentary"), called(CALLS[0])]


def test_an_answer_without_reasoning_has_no_state() -> None:
    completion = items_of(message("I look."), call(CALLS[0]))
    assert completion.vendor_state is None
    assert again(completion) == [said("I look."), called(CALLS[0])]


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "Something else that I said."},
        {"content": None},
        {"tool_calls": []},
        {"content": [{"type": "text", "text": "I look!!"}]},
    ],
)
def test_reasoning_does_not_go_back_with_another_answer_than_its_own(changes: dict[str, Any]) -> None:
    completion = items_of(THOUGHT, message("I look."), call(CALLS[0]))
    assert THOUGHT not in again(completion, **changes)


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        {},
        {"output": 7},
        {"output": [7]},
        {"output": [{}]},
        {"output": [{"call": 1}, {"call": 0}]},
        {"output": [{"call": []}]},
        {"output": [{"kept": "x"}]},
        {"output": [{"text": "7"}]},
        {"output": [{"text": -7}]},
        {"output": [{"text": 7}, {"call": 0}, {"call": 1}]},
    ],
)
def test_a_state_that_is_none_is_left_out(value: Any) -> None:
    state = {"vendor": responses.NAME, "value": value}
    completion = Completion("I look.", CALLS[:1])
    assert again(completion, **{VENDOR_STATE_KEY: state}) == again(completion) == [said("I look."), called(CALLS[0])]


def test_reasoning_that_nothing_followed_is_not_kept() -> None:
    completion = items_of(THOUGHT, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert (completion.finish_reason, completion.vendor_state) == ("length", None)


def test_reasoning_that_the_vendor_cannot_read_again_is_not_kept() -> None:
    bare = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    assert items_of(bare, message("ok")).vendor_state is None
    # Open models give theirs as it is.
    plain = {**bare, "content": [{"type": "reasoning_text", "text": "Hm."}]}
    assert again(items_of(plain, message("ok"))) == [plain, said("ok")]


# ---- answers


def events(*items: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a stream of items that are given only when they are complete."""
    return [
        *({"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)),
        {"type": "response.completed", "response": stand_in.response("completed", items)},
    ]


def assembled(stream: Sequence[Mapping[str, Any]], received: Received | None = None) -> tuple[list[str], Completion]:
    assembly = Assembly("openai", received)
    pieces = [piece for event in stream for piece in assembly.take(event) if isinstance(piece, str)]
    return pieces, assembly.finish(done=False)


def test_items_count_once_however_often_the_vendor_says_them() -> None:
    items = [THOUGHT, message("I look."), *map(call, CALLS)]
    for stream in (events(*items), events(*items)[-1:]):
        pieces, completion = assembled(stream)
        assert "".join(pieces) == completion.text == "I look."
        assert completion.tool_calls == CALLS
        assert completion.vendor_state == items_of(*items).vendor_state


def test_what_was_begun_and_not_said_to_be_complete_is_taken_from_the_end() -> None:
    begun = {"type": "response.output_item.added", "output_index": 0, "item": {**call(CALLS[0]), "arguments": ""}}
    piece = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a"'}
    _, completion = assembled([begun, piece, events(call(CALLS[0]))[-1]])
    assert completion.tool_calls == CALLS[:1]


def test_a_refusal_of_the_model_is_text() -> None:
    part = {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "I must not."}
    pieces, completion = assembled([part, *events()])
    assert pieces == [completion.text] == ["I must not."]
    assert items_of({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}).text == "No."


def test_two_messages_of_an_answer_are_two_paragraphs() -> None:
    piece = {"type": "response.output_text.delta", "content_index": 0}
    stream = [
        {**piece, "output_index": n // 2, "delta": text} for n, text in enumerate(["I ", "look.", "And ", "wait."])
    ]
    pieces, completion = assembled([*stream, *events()])
    assert pieces == ["I ", "look.", "\n\nAnd ", "wait."]
    assert completion.text == "I look.\n\nAnd wait."


def test_an_emoji_that_is_cut_in_two_spoils_nothing_else() -> None:
    data = b'{"type":"response.output_text.delta","output_index":0,"delta":"a\\ud83d"}'
    assert Assembly("openai").take(responses.parse(data, "openai")) == ("a�",)


def test_parts_of_the_reasoning_are_paragraphs_whatever_its_items_are() -> None:
    kind = "response.reasoning_summary_text.delta"
    places = [(0, 0, "**Plan**"), (0, 0, " a"), (0, 1, "**Doubt**"), (1, 1, "b"), (1, 1, ""), (1, 1, " c")]
    assembly, thoughts = Assembly("openai"), []
    for item, part, text in places:
        thoughts += assembly.take({"type": kind, "output_index": item, "summary_index": part, "delta": text})
    assert "".join(one.text for one in thoughts) == "**Plan** a\n\n**Doubt**\n\nb c"
    assert len(thoughts) == 5


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ({"summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]}, "a\n\nb"),
        ({"summary": [], "content": [{"type": "reasoning_text", "text": "c"}]}, "c"),
        ({"summary": "a", "content": None}, ""),
        ({"summary": [7, {"text": 7}, {"text": ""}]}, ""),
        ({}, ""),
    ],
)
def test_an_answer_in_one_piece_has_its_reasoning(item: dict[str, Any], shown: str) -> None:
    items = [{"id": "rs_1", "type": "reasoning", **item}, message("ok")]
    reasoning, completion = whole(stand_in.response("completed", items), "openai")
    assert (reasoning, completion.text) == (shown, "ok")


def test_what_arrives_besides_the_text_is_counted_while_it_arrives() -> None:
    received = Received()
    assembly = Assembly("openai", received)
    stream = list(stand_in.events(Answer("ok", (ToolCall("c1", "add", '{"of": "é"}'),), "tool_calls", reasoning="Hm.")))
    for event in stream[:-1]:
        assembly.take(event)
    assert received.bytes == len("add") + len('{"of": "é"}'.encode())
    assert (received.model, received.usage) == (stand_in.MODEL, Usage())
    assembly.take(stream[-1])
    assert received.usage == Usage(10, 5, 2, 0, 1)


def test_the_usage_of_an_answer_that_fails_counts() -> None:
    received = Received()
    failed = stand_in.response("failed", error={"code": "server_error", "message": "oops"}, usage={"input_tokens": 7})
    with pytest.raises(ProviderError):
        Assembly("openai", received).take({"type": "response.failed", "response": failed})
    assert received.usage.input_tokens == 7


@pytest.mark.parametrize(
    ("code", "text", "category"),
    [
        ("server_error", "The server had an error.", "network"),
        ("rate_limit_exceeded", "Rate limit reached.", "rate_limit"),
        ("insufficient_quota", "You exceeded your current quota.", "quota"),
        ("context_length_exceeded", "Your input exceeds the context window of this model.", "context"),
        ("bio_policy", "No.", "content"),
        ("misalignment_policy_violation", "No.", "content"),
        ("image_content_policy_violation", "No.", "content"),
        ("invalid_prompt", "Your prompt was flagged as potentially violating our usage policy.", "content"),
        ("invalid_image_url", "Cannot be read.", "unknown"),
        ("image_too_large", "Too large.", "unknown"),
        (None, "Something went wrong.", "network"),
        (429, "Slow down.", "rate_limit"),
    ],
)
@pytest.mark.parametrize("way", ["failed", "error", "nested", "nameless", "whole"])
def test_a_failure_in_the_middle_has_its_category(code: Any, text: str, category: str, way: str) -> None:
    error = {"code": code, "message": text}
    answer = stand_in.response("failed", error=error)
    told = {
        "failed": {"type": "response.failed", "response": answer},
        "error": {"type": "error", **error, "param": None, "sequence_number": 3},
        "nested": {"type": "error", "error": error},
        "nameless": {"error": error},
    }
    with pytest.raises(ProviderError, match="refused the request") as caught:
        whole(answer, "openai") if way == "whole" else Assembly("openai").take(told[way])
    assert caught.value.category == category
    assert text in str(caught.value)


def test_a_piece_of_text_costs_no_more_than_ten_calls_of_functions() -> None:
    piece = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": " word"}
    event = sse({**piece, "item_id": "msg_1", "logprobs": [], "sequence_number": 3})
    reader, assembly, received, calls = EventReader(), Assembly("test"), "", []
    sys.setprofile(lambda frame, kind, _: calls.append(frame.f_code.co_name) if kind == "call" else None)
    try:
        for _ in range(20):
            for read in reader.feed(event):
                received += "".join(assembly.take(responses.parse(read.data, "test")))
    finally:
        sys.setprofile(None)
    assert received == " word" * 20
    assert len(calls) <= 10 * 20, calls[:20]


# ---- the provider


async def test_an_answer_in_one_piece_is_read_too(chat_server: Any, provider: OpenAIResponsesProvider) -> None:
    output = list(stand_in.output(Answer("Let me see.", CALLS, reasoning="Hm.")))
    answer = stand_in.response("completed", output, usage={"input_tokens": 10, "output_tokens": 5})
    chat_server.replies = [Reply([json.dumps(answer).encode()], 200, "application/json")]
    pieces, completion = await ask(provider)
    assert pieces == [str(Reasoning("Hm.")), "Let me see."]
    assert completion.text == "Let me see."
    assert (completion.tool_calls, completion.finish_reason) == (CALLS, "tool_calls")
    assert (completion.usage, completion.model) == (Usage(10, 5), stand_in.MODEL)
    assert completion.vendor_state is not None


async def test_a_connection_is_used_again(chat_server: Any, provider: OpenAIResponsesProvider) -> None:
    chat_server.replies = [streamed(Answer("ok"))]
    for _ in range(3):
        await ask(provider)
    assert (len(chat_server.requests), chat_server.connections) == (3, 1)


async def test_a_connection_whose_last_bytes_come_late_is_used_again(
    chat_server: Any, provider: OpenAIResponsesProvider
) -> None:
    gate = asyncio.Event()
    chat_server.replies = [Reply([*streamed(Answer("ok")).pieces, gate])]
    asyncio.get_running_loop().call_later(0.2, gate.set)
    for _ in range(2):
        await ask(provider)
    assert chat_server.connections == 1


async def test_nobody_waits_for_the_end_of_a_stream_after_the_last_event(
    chat_server: Any, provider: OpenAIResponsesProvider
) -> None:
    never = asyncio.Event()
    chat_server.replies = [Reply([*streamed(Answer("ok")).pieces, never])]
    async with asyncio.timeout(30):
        assert (await ask(provider))[1].text == "ok"


async def test_a_server_may_end_with_done(chat_server: Any, provider: OpenAIResponsesProvider) -> None:
    reply = streamed(Answer("ok"))
    chat_server.replies = [Reply([*reply.pieces, b"data: [DONE]\n\n"])]
    assert (await ask(provider))[1].text == "ok"


@pytest.mark.parametrize("last", [None, b"", b"data: [DONE]\n\n"], ids=["broken", "ended early", "done too early"])
async def test_an_answer_without_its_end_is_a_network_error(
    chat_server: Any, provider: OpenAIResponsesProvider, last: bytes | None
) -> None:
    begun = streamed(Answer("half of it")).pieces[:-1]
    chat_server.replies = [Reply([*begun, last] if last != b"" else begun)]
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    assert (caught.value.category, caught.value.began) == (ErrorCategory.NETWORK, True)


async def test_a_model_without_reasoning_is_asked_again_and_then_no_more_for_it(
    chat_server: Any, provider: OpenAIResponsesProvider
) -> None:
    def reply(asked: Mapping[str, Any]) -> Reply:
        if "include" not in asked or asked["model"] != "m":
            return streamed(Answer("ok"))
        error = {"message": "Encrypted content is not supported with this model.", "param": "include", "code": None}
        return Reply(
            [json.dumps({"error": {**error, "type": "invalid_request_error"}}).encode()], 400, "application/json"
        )

    chat_server.replies = reply
    other = ModelRequest(HELLO, model="other")
    await ask(provider, other)  # loads the SDK, so that both of the next begin before one is refused
    both = await asyncio.gather(ask(provider), ask(provider))
    assert [completion.text for _, completion in both] == ["ok", "ok"]
    assert sorted("include" in asked for asked in chat_server.requests[1:]) == [False, False, True, True]
    await ask(provider)
    await ask(provider, other)
    assert ["include" in asked for asked in chat_server.requests[5:]] == [False, True]
    insisting = SamplerConfig(extra_body={"include": ["reasoning.encrypted_content"]})
    with pytest.raises(ProviderError, match="Encrypted content is not supported"):
        await ask(provider, ModelRequest(HELLO, sampler=insisting))
    assert len(chat_server.requests) == 8


@pytest.mark.parametrize(
    ("answer", "bound"),
    [
        (Answer("x" * 5000), "formats.responses.MAX_ANSWER_CHARACTERS"),
        (Answer("", (ToolCall("c", "add", json.dumps("x" * 5000)),)), "formats.responses.MAX_ANSWER_CHARACTERS"),
        (Answer("ok", reasoning="x" * 5000), "formats.responses.MAX_ANSWER_CHARACTERS"),
        (Answer("x" * 5000), "streamed_answers.MAX_STREAM_BYTES"),
    ],
)
async def test_an_answer_above_a_bound_is_an_error_that_asks_for_less(
    chat_server: Any, provider: OpenAIResponsesProvider, monkeypatch: pytest.MonkeyPatch, answer: Answer, bound: str
) -> None:
    monkeypatch.setattr(f"xmcp.providers.{bound}", 3000)
    chat_server.replies = [streamed(answer)]
    with pytest.raises(ProviderError, match="too large to be read") as caught:
        await ask(provider)
    assert caught.value.category is ErrorCategory.TOO_LARGE


def test_what_is_said_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "MAX_ANSWER_CHARACTERS", 12_000)
    answer = Answer("x" * 4000, (ToolCall("c", "add", json.dumps({"a": "x" * 4000})),), "tool_calls")
    assert assembled(list(stand_in.events(answer)))[1].tool_calls == answer.calls


def test_any_number_of_items_is_bounded() -> None:
    piece = {"type": "response.function_call_arguments.delta", "delta": ""}
    with pytest.raises(ProviderError, match="too large to be read"):
        assembled([{**piece, "output_index": place} for place in range(100_000)])


async def test_events_that_say_nothing_new_are_not_parsed(
    chat_server: Any, provider: OpenAIResponsesProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed, parse = [], responses.parse

    def noted(*args: Any) -> Any:
        parsed.append(parse(*args)["type"])
        return parse(*args)

    monkeypatch.setattr(responses, "parse", noted)
    chat_server.replies = [streamed(Answer("some text", CALLS, "tool_calls", reasoning="Hm."))]
    await ask(provider)
    assert Assembly.unread.isdisjoint(parsed)
    assert parsed.count("response.output_text.delta") == 2


async def test_a_large_event_is_read_in_a_worker(
    chat_server: Any, provider: OpenAIResponsesProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, parse = [], responses.parse

    def noted(*args: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return parse(*args)

    monkeypatch.setattr(responses, "parse", noted)
    last = {"type": "response.completed", "response": stand_in.response("completed", tools=[[]] * 20_000)}
    chat_server.replies = [Reply([sse(last)])]
    await ask(provider)
    assert threads == [False]


@pytest.mark.parametrize("deployment", [None, "of-the-client"])
async def test_azure_gets_the_deployment_in_the_body(chat_server: Any, deployment: str | None) -> None:
    import openai

    chat_server.replies = [streamed(Answer("ok"))]
    endpoint = chat_server.url.removesuffix("/v1")
    async with openai.AsyncAzureOpenAI(
        api_key="k", azure_endpoint=endpoint, api_version="v", azure_deployment=deployment
    ) as client:
        provider = OpenAIResponsesProvider(client=client, model="my-deployment")
        await ask(provider)
        await provider.aclose()
        assert not client.is_closed()
    assert chat_server.paths == ["/openai/responses?api-version=v"]
    assert chat_server.requests[0]["model"] == "my-deployment"
    assert chat_server.headers[0]["api-key"] == "k"


async def test_the_next_generation_of_azure_is_a_base_url(chat_server: Any) -> None:
    chat_server.replies = [streamed(Answer("ok"))]
    provider = OpenAIResponsesProvider("k", chat_server.url.replace("/v1", "/openai/v1/"), "my-deployment")
    await ask(provider)
    await provider.aclose()
    assert chat_server.paths == ["/openai/v1/responses"]


async def test_a_server_without_this_api_is_named() -> None:
    async with http_host() as nobody:
        provider = OpenAIResponsesProvider(base_url=f"{nobody.url}/v1")
        with pytest.raises(ProviderError, match=r"127\.0\.0\.1:\d+/v1 cannot be reached") as caught:
            await ask(provider)
        await provider.aclose()
    assert (caught.value.category, caught.value.provider) == (ErrorCategory.NETWORK, "openai_responses")


async def test_a_page_is_called_what_it_is_not(chat_server: Any, provider: OpenAIResponsesProvider) -> None:
    chat_server.replies = [Reply([b"<html>"], 200, "text/html")]
    with pytest.raises(ProviderError, match="text/html, which is not OpenAI's Responses API"):
        await ask(provider)


def test_no_key_anywhere_is_an_auth_error_of_this_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY") as caught:
        OpenAIResponsesProvider()
    assert (caught.value.category, caught.value.provider) == (ErrorCategory.AUTH, "openai_responses")
    with pytest.raises(ValueError, match="Give OpenAIResponsesProvider either a client"):
        OpenAIResponsesProvider("key", client=object())  # type: ignore[arg-type]


def test_its_state_is_not_that_of_chat_completions() -> None:
    assert OpenAIResponsesProvider.name != OpenAIProvider.name
