"""`/v1` as OpenAI's own client uses it: completions whole and streamed, errors, cuts, profiles, models."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import openai
import pytest
from support.clock import never
from support.gateways import chunks_in, served, until
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.usage import Usage
from xmcp.providers import Completion
from xmcp.providers.base import Reasoning

ASK: dict[str, Any] = {"model": "assistant", "messages": [{"role": "user", "content": "2+3?"}]}
USAGE = Usage(input_tokens=10, output_tokens=5, cached_tokens=2)


def adding() -> ScriptedModel:
    """A model that calls a tool, and then answers; each request has a usage."""
    call = asks(("add", {"a": 2, "b": 3}), text="I add.")
    return ScriptedModel(
        Completion(call.text, call.tool_calls, call.finish_reason, usage=USAGE), Completion("It is 5.", usage=USAGE)
    )


async def test_a_completion_in_one_piece_has_all_text_no_tool_calls_and_the_sum_of_the_usage() -> None:
    async with served(adding()) as gateway, gateway.openai() as client:
        raw = await client.chat.completions.with_raw_response.create(**ASK)
        completion = raw.parse()
    (choice,) = completion.choices
    assert choice.message.content == "I add.\n\nIt is 5."
    assert choice.message.tool_calls is None
    assert choice.message.refusal is None
    assert choice.message.annotations == []
    assert choice.finish_reason == "stop"
    assert completion.usage.prompt_tokens == 20
    assert completion.usage.completion_tokens == 10
    assert completion.usage.prompt_tokens_details.cached_tokens == 4
    assert completion.object == "chat.completion"
    assert completion.id == f"chatcmpl-{raw.headers['xmcp-run-id']}"
    assert gateway.shop.calls == ["add"]


async def test_a_stream_has_the_role_first_one_finish_reason_and_usage_only_if_asked() -> None:
    async with served(adding()) as gateway, gateway.http() as http:
        without = await http.post("/v1/chat/completions", json={**ASK, "stream": True})
    async with served(adding()) as gateway, gateway.http() as http:
        asked = {**ASK, "stream": True, "stream_options": {"include_usage": True}}
        with_usage = await http.post("/v1/chat/completions", json=asked)
    for text, wants_usage in ((without.text, False), (with_usage.text, True)):
        *chunks, done = chunks_in(text)
        assert done == "[DONE]"
        assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        assert len({chunk["id"] for chunk in chunks}) == 1
        for chunk in chunks:
            assert chunk["object"] == "chat.completion.chunk"
            assert chunk["model"] == "assistant"
            assert isinstance(chunk["created"], int)
            for choice in chunk["choices"]:
                assert choice.keys() == {"index", "delta", "finish_reason", "logprobs"}
                assert "tool_calls" not in choice["delta"]
        finished = [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]]
        assert finished == [None] * (len(finished) - 1) + ["stop"]
        assert "event:" not in text
        if wants_usage:
            assert chunks[-1]["choices"] == []
            assert chunks[-1]["usage"]["total_tokens"] == 30
            assert all(chunk["usage"] is None for chunk in chunks[:-1])
        else:
            assert all("usage" not in chunk for chunk in chunks)


async def test_openais_client_streams_a_chat_with_tools_inside() -> None:
    async with served(adding()) as gateway, gateway.openai() as client:
        stream = await client.chat.completions.create(**ASK, stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "I add.\n\nIt is 5."
    assert chunks[-1].usage.prompt_tokens == 20


async def test_the_helper_of_openais_client_reads_the_stream_in_every_profile() -> None:
    for profile in ("none", "xmcp", "openwebui"):
        config = {"openai": {"events": profile}}
        async with (
            served(adding(), config) as gateway,
            gateway.openai() as client,
            client.chat.completions.stream(**ASK) as stream,
        ):
            events = [event.type async for event in stream]
            completion = await stream.get_final_completion()
        assert completion.choices[0].message.content == "I add.\n\nIt is 5."
        assert "content.done" in events


@pytest.mark.parametrize("profile", ["none", "xmcp", "openwebui"])
async def test_a_profile_says_what_happens_beside_the_text_in_chunks_without_choices(profile: str) -> None:
    call = asks(("sales", {"region": "EMEA", "show_user": True}))
    model = ScriptedModel([Reasoning("hm"), call], "Above.")
    async with (
        served(model, {"openai": {"events": profile}}, display="continue") as gateway,
        gateway.http() as http,
    ):
        answer = await http.post("/v1/chat/completions", json={**ASK, "stream": True})
    *chunks, _ = chunks_in(answer.text)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    text = "".join(delta.get("content", "") for delta in deltas)
    assert ("| EMEA" in text) is (profile != "xmcp")
    assert text.endswith("Above.")
    assert any("reasoning_content" in delta for delta in deltas) is (profile != "none")
    beside = [chunk for chunk in chunks if not chunk["choices"]]
    told = [chunk["xmcp"]["type"] for chunk in beside if "xmcp" in chunk]
    lines = [chunk["event"]["data"] for chunk in beside if "event" in chunk]
    if profile == "xmcp":
        assert [kind for kind in told if kind.startswith(("tool", "display"))] == [
            "tool.started",
            "tool.finished",
            "display",
        ]
        assert next(c["xmcp"] for c in beside if c["xmcp"]["type"] == "display")["data"]["envelope"]["type"] == "table"
    elif profile == "openwebui":
        assert told == []
        assert [line["done"] for line in lines] == [False, True]
        assert all(chunk["event"]["type"] == "status" for chunk in beside)
    else:
        assert beside == []


async def test_a_display_that_ends_the_chat_is_the_content() -> None:
    model = ScriptedModel(asks(("sales", {"region": "EMEA", "show_user": True})))
    async with served(model, display="exit") as gateway, gateway.openai() as client:
        completion = await client.chat.completions.create(**ASK)
    assert "| EMEA" in completion.choices[0].message.content
    assert completion.choices[0].finish_reason == "stop"


async def test_an_answer_that_breaks_off_is_an_error_for_the_client_and_not_a_short_success() -> None:
    failure = ProviderError("gone", category=ErrorCategory.CONTENT, provider="p", began=True)
    model = ScriptedModel(["half an ", failure])
    async with served(model) as gateway, gateway.openai() as client:
        stream = await client.chat.completions.create(**ASK, stream=True)
        text = ""

        async def read() -> None:
            nonlocal text
            async for chunk in stream:
                text += chunk.choices[0].delta.content or ""

        with pytest.raises(openai.APIError) as told:
            await read()
    assert text == "half an "
    assert told.value.body["code"] == "content_filter"


@pytest.mark.parametrize("by", ["cancel", "deadline", "crash"])
async def test_every_end_without_a_result_is_an_error_chunk_and_done(by: str) -> None:
    config = {"runs": {"deadline_seconds": 0.3}} if by == "deadline" else {}
    rest = RuntimeError("secret") if by == "crash" else never
    async with served(ScriptedModel(["half ", rest]), config) as gateway, gateway.http() as http:
        asking = asyncio.create_task(http.post("/v1/chat/completions", json={**ASK, "stream": True}))
        if by == "cancel":
            runs = gateway.gateway.runs
            await until(lambda: any(run.state.text for run in runs.running))
            runs.running[0].cancel("caller")
        *_, error, done = chunks_in((await asking).text)
    assert done == "[DONE]"
    assert error["error"].keys() == {"message", "type", "param", "code"}
    assert error["error"]["code"] == {"cancel": "cancelled", "deadline": "timeout", "crash": "internal"}[by]
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("category", "raised", "status"),
    [
        (ErrorCategory.RATE_LIMIT, openai.RateLimitError, 429),
        (ErrorCategory.AUTH, openai.InternalServerError, 502),
        (ErrorCategory.NETWORK, openai.InternalServerError, 503),
        (ErrorCategory.CONTEXT, openai.BadRequestError, 400),
        (ErrorCategory.CONTENT, openai.BadRequestError, 400),
        (ErrorCategory.UNKNOWN, openai.InternalServerError, 500),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_of_the_model_has_the_status_that_clients_expect(
    category: ErrorCategory, raised: type[openai.APIStatusError], status: int, stream: bool
) -> None:
    model = ScriptedModel(then=ProviderError("internal words", category=category, provider="p"))
    async with served(model) as gateway, gateway.openai() as client:
        with pytest.raises(raised) as told:
            await client.chat.completions.create(**ASK, stream=stream)
    assert told.value.status_code == status
    assert "internal words" not in str(told.value)
    assert told.value.body["message"]


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"messages": []}, "messages", "invalid_value"),
        ({"messages": "hi"}, "messages", "invalid_type"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "messages[0].role", "invalid_value"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content", "invalid_type"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content", "invalid_type"),
        ({"model": None}, "model", "missing_required_parameter"),
        ({"model": "gone"}, "model", "model_not_found"),
        ({"temperature": 3}, "temperature", "invalid_value"),
        ({"temperature": "warm"}, "temperature", "invalid_type"),
        ({"max_tokens": 0}, "max_tokens", "invalid_value"),
        ({"max_completion_tokens": 0}, "max_tokens", "invalid_value"),
        ({"stream": "yes"}, "stream", "invalid_type"),
        ({"n": 2}, "n", "unsupported_value"),
        ({"tools": [{"type": "function"}]}, "tools", "invalid_value"),
        ({"logprobs": True}, "logprobs", "unsupported_parameter"),
        ({"response_format": {"type": "poem"}}, "response_format", "invalid_value"),
    ],
)
async def test_what_is_wrong_in_a_body_is_named(change: dict[str, Any], param: str, code: str) -> None:
    model = ScriptedModel("hi")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/v1/chat/completions", json={**ASK, **change})
    error = answer.json()["error"]
    assert answer.status_code == (404 if code == "model_not_found" else 400)
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")
    assert model.requests == []


async def test_what_a_caller_sets_reaches_the_model() -> None:
    model = ScriptedModel("{}")
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    body = {
        "model": "assistant",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "1"},
            {"role": "user", "content": [{"type": "text", "text": "two"}]},
        ],
        "temperature": 1,
        "max_completion_tokens": 7,
        "stop": "END",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
        "user": "u",
        "metadata": {"conversation_id": "c-1"},
        "parallel_tool_calls": False,
    }
    async with served(model) as gateway, gateway.openai() as client:
        await client.chat.completions.create(**body)
    (request,) = model.requests
    assert [message["role"] for message in request.messages] == ["system", "user", "assistant", "user"]
    sampler = request.sampler
    assert (sampler.temperature, sampler.max_tokens, list(sampler.stop)) == (1, 7, ["END"])
    assert sampler.response_format == schema


async def test_models_are_listed_with_and_without_tools() -> None:
    model = ScriptedModel("a title")
    async with served(model) as gateway, gateway.openai() as client:
        listed = [one.id async for one in client.models.list()]
        one = await client.models.retrieve("assistant:plain")
        with pytest.raises(openai.NotFoundError) as told:
            await client.models.retrieve("gone")
        await client.chat.completions.create(**{**ASK, "model": "assistant:plain"})
    assert listed == ["assistant", "assistant:plain"]
    assert (one.id, one.object, one.owned_by) == ("assistant:plain", "model", "xmcp")
    assert told.value.code == "model_not_found"
    assert list(model.requests[0].tools.tools) == []


async def test_a_stream_that_waits_gets_comments_that_the_client_leaves_out() -> None:
    async def pause() -> None:
        await asyncio.sleep(0.35)

    model = ScriptedModel(["a", pause, "b", Completion("ab")], then=["a", pause, "b", Completion("ab")])
    async with served(model, {"listen": {"ping_seconds": 0.1}}) as gateway, gateway.openai() as client:
        stream = await client.chat.completions.create(**ASK, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        async with gateway.http() as http:
            raw = await http.post("/v1/chat/completions", json={**ASK, "stream": True, "user": "other"})
    assert text == "ab"
    assert raw.text.count(": ping\n\n") >= 2


async def test_text_that_a_second_attempt_replaces_is_followed_by_a_note() -> None:
    broken = ProviderError("gone", category=ErrorCategory.NETWORK, provider="p", began=True)
    model = ScriptedModel(["half an ", broken], "An answer.")
    async with served(model) as gateway, gateway.http() as http:
        streamed = await http.post("/v1/chat/completions", json={**ASK, "stream": True})
        run_id = streamed.headers["xmcp-run-id"]
        state = (await http.get(f"/runs/{run_id}")).json()
    deltas = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks_in(streamed.text)[:-1]]
    assert "".join(itertools.chain(deltas)) == "half an \n\n*(The answer broke off. It begins again.)*\n\nAn answer."
    assert state["segments"] == [{"text": "An answer."}]
