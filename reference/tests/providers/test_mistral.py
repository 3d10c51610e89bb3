"""MistralProvider: what is particular to Mistral, with the real mistralai SDK against a server on the loopback."""

from __future__ import annotations

import asyncio
import builtins
import json
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mistralai.client import Mistral as Sdk
from support.http_host import http_host
from support.scripted_model import Reply
from support.vendors.mistral import SIGNATURE, Mistral
from support.vendors.stand_in import event

from xmcp.chat.completions import VendorState
from xmcp.chat.vendor_state import with_vendor_state
from xmcp.providers import (
    Completion,
    ErrorCategory,
    MistralProvider,
    ModelRequest,
    ProviderError,
    SamplerConfig,
    ToolCall,
    ToolSchemas,
    Usage,
    streamed_answers,
)
from xmcp.providers import mistral as provider_module
from xmcp.providers.base import Reasoning, Received
from xmcp.providers.contract import SECRET, Answer, Raw, ask
from xmcp.providers.formats import chat_completions, mistral

HELLO = [{"role": "user", "content": "hello"}]
TOOLS = ToolSchemas.of([{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}])


@pytest.fixture
async def vendor() -> AsyncIterator[Mistral]:
    async with Mistral() as vendor:
        yield vendor


@pytest.fixture
async def provider(chat_server: Any) -> AsyncIterator[MistralProvider]:
    provider = MistralProvider(SECRET, chat_server.url, "m")
    yield provider
    await provider.aclose()


async def failure(provider: MistralProvider, request: ModelRequest | None = None) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(request or ModelRequest(HELLO)):
            pass
    assert (caught.value.provider, SECRET in str(caught.value)) == ("mistral", False)
    return caught.value


def body(messages: Any, tools: ToolSchemas | None = None, **options: Any) -> Any:
    return json.loads(mistral.request_body("m", messages, tools or ToolSchemas(), SamplerConfig(**options)))


def call(id_: str, arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": "add", "arguments": arguments}}


def turn(*ids: str) -> list[dict[str, Any]]:
    results = [{"role": "tool", "tool_call_id": id_, "name": "add", "content": "7"} for id_ in ids]
    return [{"role": "assistant", "content": None, "tool_calls": [call(id_) for id_ in ids]}, *results]


def assembled(*deltas: dict[str, Any], finish: str = "stop", received: Received | None = None) -> Completion:
    assembly = mistral.Assembly("mistral", received)
    for delta in deltas:
        assembly.take({"choices": [{"delta": delta}]})
    assembly.take({"choices": [{"delta": {}, "finish_reason": finish}]})
    return assembly.finish(done=True)


def thinking(text: Any, **members: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **members}


# ---- requests


def test_the_request_is_what_the_types_of_the_sdk_say() -> None:
    written = body(
        [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi", "name": "ann"}],
        TOOLS,
        seed=7,
        stop=["END"],
        tool_choice="required",
        reasoning_effort="high",
        response_format={"type": "object"},
        extra_body={"safe_prompt": True},
    )
    assert written == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "stream": True,
        "tools": list(TOOLS.tools),
        "random_seed": 7,
        "stop": ["END"],
        "tool_choice": "any",
        "reasoning_effort": "high",
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}},
        "safe_prompt": True,
    }


def test_the_prepared_tools_go_out_byte_for_byte() -> None:
    prepared = ToolSchemas(TOOLS.tools, 1, b'[ {"made":  "once"} ]')
    assert prepared.json in mistral.request_body("m", HELLO, prepared)


def ids_of(messages: Any) -> tuple[list[str], list[str]]:
    written = body(messages)["messages"]
    calls = [one["id"] for message in written for one in message.get("tool_calls", ())]
    return calls, [message["tool_call_id"] for message in written if message["role"] == "tool"]


def test_ids_of_another_vendor_become_nine_letters_and_digits_in_calls_and_results_alike() -> None:
    calls, results = ids_of([*HELLO, *turn("call_0", "toolu_01A-b", "x" * 40), *HELLO, *turn("call_1")])
    assert calls == results
    assert all(len(one) == 9 and one.isascii() and one.isalnum() for one in calls)
    assert len(set(calls)) == 4


def test_ids_of_mistral_stay_and_others_do_not_take_them() -> None:
    (foreign,), _ = ids_of(turn("call_0"))
    # The id that stands later is the one that the first would be given.
    calls, results = ids_of([*turn("call_0"), *turn("D681PevKs", foreign)])
    assert calls[1:] == ["D681PevKs", foreign]
    assert calls[0] != foreign
    assert calls == results


def test_ids_that_come_again_in_a_later_turn_differ_there() -> None:
    calls, results = ids_of([*turn("call_0", "D681PevKs"), *turn("call_0", "D681PevKs")])
    assert calls == results
    assert len(set(calls)) == 4


def test_ids_do_not_change_when_the_history_grows() -> None:
    begun = [*HELLO, *turn("call_0", "call_1")]
    assert ids_of(begun)[0] == ids_of([*begun, *turn("call_2")])[0][:2]


@pytest.mark.parametrize("arguments", ["", "{oops", "[1]", None, {"a": 1}])
def test_arguments_that_are_no_object_are_written_as_an_empty_one(arguments: Any) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [call("call_0", arguments)]}
    assert body([message])["messages"][0]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_an_answer_without_text_and_calls_is_left_out() -> None:
    written = body([*HELLO, {"role": "assistant", "content": ""}, {"role": "user", "content": "well?"}])
    assert [message["content"] for message in written["messages"]] == ["hello", "well?"]


async def test_messages_that_are_not_json_are_refused_by_name(provider: MistralProvider) -> None:
    error = await failure(provider, ModelRequest([{"role": "user", "content": b"bytes"}]))
    assert "cannot be written as JSON" in error.message
    assert error.category is ErrorCategory.CONTENT


# ---- what the model thinks


def test_thoughts_go_back_at_their_places_with_all_their_members() -> None:
    received = Received()
    answer = assembled(
        {"content": [thinking("Hm"), {"type": "thinking", "thinking": [{"type": "text", "text": ", é."}]}]},
        {"content": [{"type": "thinking", "thinking": [], "signature": "s1", "closed": True, "new": {"a": [1]}}]},
        {"content": [{"type": "text", "text": "Let me "}]},
        {"content": "see."},
        {"content": [thinking("Again."), {"type": "reference", "reference_ids": [1]}, {"type": "text", "text": " Ok"}]},
        received=received,
    )
    assert answer.text == "Let me see. Ok"
    assert received.bytes == len('"s1"true{"a":[1]}')
    message = with_vendor_state({"role": "assistant", "content": answer.text}, answer.vendor_state)
    assert body(json.loads(json.dumps([message])))["messages"][0]["content"] == [
        thinking("Hm, é.", signature="s1", closed=True, new={"a": [1]}),
        {"type": "text", "text": "Let me see."},
        thinking("Again."),
        {"type": "text", "text": " Ok"},
    ]


def test_a_signed_thought_ends_and_the_next_one_is_another() -> None:
    answer = assembled({"content": [thinking("a", signature="1"), thinking("b"), thinking("c", signature="2")]})
    assert answer.vendor_state == VendorState(
        "mistral",
        [{"at": 0, "chunk": thinking("a", signature="1")}, {"at": 0, "chunk": thinking("bc", signature="2")}],
    )


def test_thoughts_on_both_sides_of_a_text_are_two() -> None:
    answer = assembled({"content": [thinking("a"), {"type": "text", "text": "ok"}, thinking("b")]})
    assert answer.vendor_state is not None
    assert [one["at"] for one in answer.vendor_state.value] == [0, 2]


def test_a_thought_keeps_its_references() -> None:
    reference = {"type": "tool_reference", "tool": "web_search", "title": "t"}
    answer = assembled({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}, reference]}]})
    assert answer.vendor_state is not None
    assert answer.vendor_state.value[0]["chunk"]["thinking"] == [{"type": "text", "text": "a"}, reference]


@pytest.mark.parametrize("part", [None, 7, "x", {"type": "thinking"}, {"type": "thinking", "thinking": [7, None]}])
def test_thoughts_of_another_form_are_passed_over(part: Any) -> None:
    assert assembled({"content": [part, {"type": "text", "text": "ok"}]}).text == "ok"


@pytest.mark.parametrize("value", [None, {}, 7, [7], [{}], [{"at": "0", "chunk": thinking("a")}], [{"at": 0}]])
def test_a_state_of_another_form_is_passed_over(value: Any) -> None:
    message = with_vendor_state({"role": "assistant", "content": "ok"}, VendorState("mistral", value))
    assert body([message])["messages"] == [{"role": "assistant", "content": "ok"}]


def test_the_state_of_another_vendor_is_passed_over() -> None:
    state = VendorState("anthropic", [{"at": 0, "chunk": thinking("a")}])
    message = with_vendor_state({"role": "assistant", "content": "ok"}, state)
    assert body([message])["messages"] == [{"role": "assistant", "content": "ok"}]


@pytest.mark.parametrize(
    "part",
    [thinking("x" * 2000), {"type": "thinking", "thinking": [{"type": "reference", "reference_ids": [1] * 2000}]}],
)
def test_thoughts_count_to_the_size_of_an_answer(part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MAX_ANSWER_CHARACTERS", 1000)
    with pytest.raises(ProviderError, match="too large"):
        assembled({"content": [part]})


def test_thoughts_without_text_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MAX_ANSWER_CHARACTERS", 10_000)
    with pytest.raises(ProviderError, match="too large"):
        assembled({"content": [thinking("", closed=True)] * 100})


async def test_a_thought_comes_back_through_the_sdk(vendor: Mistral) -> None:
    vendor.answers(Answer("I look.", reasoning="Hm, hm."))
    _, first = await ask(vendor)
    message = with_vendor_state({"role": "assistant", "content": first.text}, first.vendor_state)
    await ask(vendor, [*HELLO, message, *HELLO])
    assert vendor.asked[1].messages[1].state == [(SIGNATURE, "Hm, hm.")]


# ---- answers


@pytest.mark.parametrize("reason", ["length", "model_length"])
def test_both_limits_of_length_are_one_reason(reason: str) -> None:
    assert assembled({"content": "a"}, finish=reason).finish_reason == "length"


def test_an_answer_that_ends_with_an_error_is_a_failure_that_can_be_tried_again() -> None:
    with pytest.raises(ProviderError, match="ended its answer with an error") as caught:
        assembled({"content": "a"}, finish="error")
    assert caught.value.to_error_info().retryable is True


def test_null_is_no_id() -> None:
    parts = [{"id": "D681PevKs", "index": 0, "function": {"name": "add", "arguments": '{"a"'}}]
    more = [{"id": "null", "index": 0, "function": {"name": "", "arguments": ":1}"}}]
    assert assembled({"tool_calls": parts}, {"tool_calls": more}).tool_calls == (
        ToolCall("D681PevKs", "add", '{"a":1}'),
    )


@pytest.mark.parametrize(
    "cached",
    [
        {"num_cached_tokens": 4},
        {"prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_token_details": {"cached_tokens": 4}},
    ],
)
def test_cached_tokens_are_found_under_each_of_their_names(cached: dict[str, Any]) -> None:
    assert mistral.usage({"prompt_tokens": 10, "completion_tokens": 5, **cached}) == Usage(10, 5, 4)


@pytest.mark.parametrize("said", [None, 7, [], {"prompt_tokens": "many", "prompt_tokens_details": 7}])
def test_usage_of_another_form_is_none(said: Any) -> None:
    assert mistral.usage(said) == Usage()


# ---- failures


@pytest.mark.parametrize(
    ("status", "said", "category", "words"),
    [
        (401, {"detail": "Unauthorized"}, "auth", "Unauthorized"),
        (401, {"message": "Unauthorized", "request_id": "1"}, "auth", "Unauthorized"),
        (402, {"detail": "Payment required"}, "balance", "Payment required"),
        (404, {"object": "error", "message": "No such model", "type": "invalid_model"}, "model", "No such model"),
        (400, {"object": "error", "message": "Invalid model: x", "code": "1500"}, "model", "Invalid model: x"),
        (422, {"detail": "nothing of it"}, "unknown", "nothing of it"),
        (418, {}, "unknown", "no reason given"),
        (418, [], "unknown", "HTTP status 418"),
    ],
)
async def test_a_refusal_of_each_form_is_read(
    chat_server: Any, provider: MistralProvider, status: int, said: Any, category: str, words: str
) -> None:
    chat_server.replies = [Reply([json.dumps(said).encode()], status, "application/json")]
    error = await failure(provider)
    assert (error.category, error.status, error.model, error.began) == (category, status, "m", False)
    assert f"refused the request: {words}" in error.message


@pytest.mark.parametrize("nested", [False, True])
async def test_a_list_of_details_says_what_and_where_but_not_what_was_there(
    chat_server: Any, provider: MistralProvider, nested: bool
) -> None:
    details = {"detail": [{"loc": ["body", "stop", 0], "msg": "Input should be a text", "input": "my secret diary"}]}
    said = {"object": "error", "message": details} if nested else details
    chat_server.replies = [Reply([json.dumps(said).encode()], 422, "application/json")]
    error = await failure(provider)
    assert error.message.endswith("refused the request: body.stop.0: Input should be a text")
    assert "diary" not in str(error)


def test_of_a_list_of_details_only_texts_are_told() -> None:
    deep: Any = "why"
    for _ in range(980):
        deep = [deep]
    error = mistral.reported({"detail": [{"loc": ["body", deep], "msg": deep}]}, "mistral", status=422)
    assert error.message == "mistral refused the request: body: not valid"


async def test_a_page_with_the_status_of_an_error_is_not_shown(chat_server: Any, provider: MistralProvider) -> None:
    chat_server.replies = [Reply([b"<html>internal host db-7</html>"], 418, "text/html")]
    error = await failure(provider)
    assert error.message.endswith("HTTP status 418")


async def test_an_error_inside_a_stream_is_an_error_with_its_status(
    chat_server: Any, provider: MistralProvider
) -> None:
    said = {"object": "error", "message": "Slow down", "type": "rate_limited", "raw_status_code": 429}
    chat_server.replies = [Reply([event(said)], 200, "text/event-stream")]
    error = await failure(provider)
    assert (error.category, error.began) == (ErrorCategory.RATE_LIMIT, True)


async def test_an_error_with_the_status_of_an_answer_is_an_error(chat_server: Any, provider: MistralProvider) -> None:
    said = {"object": "error", "message": f"Inactive subscription or usage limit reached ({SECRET})"}
    chat_server.replies = [Reply([json.dumps(said).encode()], 200, "application/json")]
    assert (await failure(provider)).category is ErrorCategory.QUOTA


async def test_an_answer_in_one_piece_is_read(chat_server: Any, provider: MistralProvider) -> None:
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hello"}]
    said = {"model": "m", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": content}}]}
    chat_server.replies = [Reply([json.dumps(said).encode()], 200, "application/json")]
    request = ModelRequest([{"role": "user", "content": "Hi"}])
    thought, text, completion = [piece async for piece in provider.stream(request)]
    assert isinstance(completion, Completion)
    assert thought == Reasoning("hm")
    assert text == completion.text == "Hello"
    assert completion.vendor_state is not None


async def test_an_address_that_is_no_api_is_named_with_what_it_answers(
    chat_server: Any, provider: MistralProvider
) -> None:
    chat_server.replies = [Reply([b"<!doctype html><title>Welcome</title>"], content_type="text/html; charset=utf-8")]
    error = await failure(provider)
    assert error.message.startswith(f"{chat_server.url}/chat/completions answers text/html, which is not Mistral's")


@pytest.mark.parametrize("ours", [True, False])
async def test_of_an_error_no_more_is_read_than_tells_what_it_is(
    chat_server: Any, provider: MistralProvider, ours: bool
) -> None:
    if not ours:
        provider = MistralProvider(client=Sdk(api_key="k", server_url=chat_server.url.removesuffix("/v1")), model="m")
    gate, endless = asyncio.Event(), b"x" * streamed_answers.MAX_ERROR_BYTES
    # After these pieces the vendor would go on for ever: it waits until the client has left.
    chat_server.replies = [Reply([b'{"message":"', endless, endless, gate], 400, "application/json")]
    error = await asyncio.wait_for(failure(provider), 300)
    assert error.message.endswith("HTTP status 400")


async def test_a_compressed_answer_is_not_asked_for_and_not_decompressed(
    chat_server: Any, provider: MistralProvider
) -> None:
    chat_server.replies = [Reply([b"bomb"], 200, "text/event-stream", {"content-encoding": "gzip"})]
    assert "compressed (gzip)" in (await failure(provider)).message
    assert chat_server.headers[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "bound",
    [
        "formats.chat_completions.MAX_ANSWER_CHARACTERS",
        "formats.sse.MAX_EVENT_BYTES",
        "streamed_answers.MAX_STREAM_BYTES",
    ],
)
async def test_an_answer_above_a_bound_is_an_error_that_asks_for_less(
    chat_server: Any, provider: MistralProvider, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(f"xmcp.providers.{bound}", 1000)
    chat_server.replies = [chat_server.reply.streamed("x" * 5000)]
    error = await failure(provider)
    assert (error.category, error.began) == (ErrorCategory.TOO_LARGE, True)


async def test_a_server_that_is_not_there_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_module, "RETRIES_END_MS", 0)
    async with http_host() as host:
        provider = MistralProvider(base_url=f"{host.url.replace('//', '//user:secret@')}/v1")
        error = await failure(provider)
        await provider.aclose()
    assert error.message == f"The model at {host.url} cannot be reached: Connection refused"
    assert error.category is ErrorCategory.NETWORK
    assert "site-packages" not in "".join(traceback.format_exception(error))


# ---- the SDK


async def test_what_passes_is_tried_again(chat_server: Any, provider: MistralProvider) -> None:
    refused = chat_server.reply.error(503, "oops")
    refused.headers = {"retry-after-ms": "3600000"}
    chat_server.replies = [refused, chat_server.reply.streamed("at last")]
    assert (await pieces_of(provider))[-1].text == "at last"
    assert chat_server.bodies[0] == chat_server.bodies[1]


@pytest.mark.parametrize("after", ["3600", "inf", "nan", "-1", "Wed, 01 Jan 2098 00:00:00 GMT"])
async def test_a_wait_of_an_hour_is_not_waited_for(chat_server: Any, provider: MistralProvider, after: str) -> None:
    refused = chat_server.reply.error(429, "Rate limit exceeded")
    refused.headers = {"retry-after": after}
    chat_server.replies = [refused, chat_server.reply.streamed("at last")]
    assert (await asyncio.wait_for(pieces_of(provider), 60))[-1].text == "at last"


async def pieces_of(provider: MistralProvider) -> list[Any]:
    return [piece async for piece in provider.stream(ModelRequest(HELLO))]


async def test_a_model_that_is_to_be_retired_answers_all_the_same(chat_server: Any, provider: MistralProvider) -> None:
    reply = chat_server.reply.streamed("ok")
    reply.headers = {"x-model-deprecation-timestamp": "2027-01-01"}
    chat_server.replies = [reply]
    assert (await pieces_of(provider))[-1].text == "ok"


@pytest.mark.parametrize(("given", "waits"), [(None, 300.0), (7000, 7.0)])
async def test_a_client_of_the_caller_waits_as_long_as_the_sdk_would(
    chat_server: Any, monkeypatch: pytest.MonkeyPatch, given: int | None, waits: float
) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    async with Sdk(api_key="k", server_url=chat_server.url.removesuffix("/v1"), timeout_ms=given) as client:
        send, timeouts = client.sdk_configuration.async_client.send, []

        async def noted(request: Any, **options: Any) -> Any:
            timeouts.append(request.extensions["timeout"]["read"])
            return await send(request, **options)

        monkeypatch.setattr(client.sdk_configuration.async_client, "send", noted)
        await pieces_of(MistralProvider(client=client))
    assert timeouts == [waits]


async def test_a_client_of_the_caller_is_used_as_it_is_and_left_open(chat_server: Any) -> None:
    chat_server.replies = [chat_server.reply.error(503, "oops"), chat_server.reply.streamed("ok")]
    async with Sdk(api_key="k", server_url=chat_server.url.removesuffix("/v1")) as client:
        provider = MistralProvider(client=client, model="theirs")
        assert (await failure(provider)).status == 503  # it has no retry_config
        assert (await pieces_of(provider))[-1].text == "ok"
        await provider.aclose()
        assert (await pieces_of(provider))[-1].text == "ok"
    assert chat_server.headers[0]["authorization"] == "Bearer k"
    assert chat_server.requests[0]["model"] == "theirs"


async def test_a_request_that_is_cancelled_in_the_hooks_lets_go_of_its_connection(
    chat_server: Any, provider: MistralProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    await pieces_of(provider)
    hooks = (await provider._sdk()).sdk_configuration.__dict__["_hooks"]
    in_hook, seen = asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def slow(_: Any, response: Any) -> Any:
        seen.append(response)
        loop.call_soon_threadsafe(in_hook.set)
        return response

    reply = chat_server.reply.streamed("ab")
    reply.pieces.insert(2, asyncio.Event())
    chat_server.replies = [reply]
    monkeypatch.setattr(hooks, "after_success", slow)
    task = asyncio.create_task(pieces_of(provider))
    await in_hook.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen[0].is_closed
    await asyncio.wait_for(chat_server.left.wait(), 5)


async def test_many_first_requests_make_one_client(chat_server: Any, provider: MistralProvider) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    clients = await asyncio.gather(*(provider._sdk() for _ in range(5)))
    assert len({id(client) for client in clients}) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply([b"<html></html>"], 200, "text/html"), "no list of models"),
        (Reply([b'{"data":7}'], 200, "application/json"), "no list of models"),
        (Reply([b'{"data":[{"name":"no id"}]}'], 200, "application/json"), "no list of models"),
        (Reply([b"no"], 200, "application/json"), "no list of models"),
        (Reply([json.dumps({"detail": f"no such key {SECRET}"}).encode()], 401, "application/json"), "no such key"),
        (Reply([b"<html></html>"], 401, "text/html"), "HTTP status 401"),
        (Reply([b'{"data":[' + b" " * 5000 + b"]}"], 200, "application/json"), "larger than 1000 bytes"),
        (Reply([b"bomb"], 200, "application/json", {"content-encoding": "gzip"}), "compressed"),
    ],
)
async def test_a_list_of_models_that_is_none_is_an_error(
    chat_server: Any, provider: MistralProvider, reply: Reply, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed_answers, "MAX_BODY_BYTES", 1000)
    chat_server.replies = [reply]
    with pytest.raises(ProviderError, match=said) as caught:
        await provider.list_models()
    assert SECRET not in str(caught.value)
    assert "cannot be reached" not in str(caught.value)


def test_no_key_anywhere_is_an_auth_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="MISTRAL_API_KEY") as caught:
        MistralProvider()
    assert caught.value.category is ErrorCategory.AUTH
    assert MistralProvider(base_url="http://localhost:1").name == "mistral"
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    assert MistralProvider()._called == "mistral"


def test_what_is_no_key_and_no_address_is_refused() -> None:
    with pytest.raises(ProviderError, match="placeholder"):
        MistralProvider("…")
    with pytest.raises(ValueError, match="write http://models"):
        MistralProvider(base_url="user:secret@models:8500")
    with pytest.raises(ValueError, match="not both"):
        MistralProvider("key", client=object())  # type: ignore[arg-type]


async def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_mistralai(name: str, *rest: Any) -> Any:
        if name.startswith("mistralai"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_mistralai)
    with pytest.raises(ProviderError, match=r"pip install 'xmcp\[mistral\]'"):
        await pieces_of(MistralProvider("k"))


def test_importing_the_providers_loads_no_sdk() -> None:
    asked = "import sys, xmcp.providers; print([m for m in ('mistralai', 'openai') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=100)
    assert said.stdout.strip() == "[]"


async def test_a_raw_stream_may_end_without_done_after_its_finish_reason(vendor: Mistral) -> None:
    chunk = {"model": "m", "choices": [{"index": 0, "delta": {"content": "fine"}, "finish_reason": "stop"}]}
    vendor.answers(Raw("no done", event(chunk), "text/event-stream"))
    assert (await ask(vendor))[1].text == "fine"
