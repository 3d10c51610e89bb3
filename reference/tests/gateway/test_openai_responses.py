"""`/v1/responses` as OpenAI's own client uses it: whole, streamed, going on from a response, errors, cuts, profiles."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import openai
import pytest
from pydantic import BaseModel
from support.clock import never
from support.gateways import events_in, served, until
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.usage import Usage
from xmcp.providers import Completion
from xmcp.providers.base import Reasoning

ASK: Mapping[str, Any] = {"model": "assistant", "input": "2+3?"}
USAGE = Usage(input_tokens=10, output_tokens=5, cached_tokens=2)
TOOL = {
    "type": "function",
    "name": "ask_page",
    "description": "Asks.",
    "strict": False,
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}},
}
CALL = ("ask_page", {"question": "which?"})
PROFILES = ("none", "xmcp", "openwebui")


def adding() -> ScriptedModel:
    """A model that calls a tool, and then answers; each request has a usage."""
    call = asks(("add", {"a": 2, "b": 3}), text="I add.")
    return ScriptedModel(
        Completion(call.text, call.tool_calls, call.finish_reason, usage=USAGE), Completion("It is 5.", usage=USAGE)
    )


def sent(model: ScriptedModel, request: int = -1) -> Sequence[tuple[str, Any]]:
    """Return role and content of what the model was sent."""
    return [(one["role"], one["content"]) for one in model.requests[request].messages]


def roles(model: ScriptedModel, request: int = -1) -> str:
    """Return the first letters of the roles of what the model was sent."""
    return "".join(role[0] for role, _ in sent(model, request))


async def test_a_response_in_one_piece_has_a_message_for_each_answer_and_the_sum_of_the_usage() -> None:
    async with served(adding()) as gateway, gateway.openai() as client:
        raw = await client.responses.with_raw_response.create(**ASK)
        response = raw.parse()
        again = await client.responses.retrieve(response.id)
    assert response.id == raw.headers["xmcp-run-id"].replace("run_", "resp_")
    assert (response.object, response.status, response.error) == ("response", "completed", None)
    assert [item.content[0].text for item in response.output] == ["I add.\n\n", "It is 5."]
    assert response.output_text == "I add.\n\nIt is 5."
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (20, 10, 30)
    assert response.usage.input_tokens_details.cached_tokens == 4
    assert gateway.shop.calls == ["add"]
    assert (again.output, again.usage) == (response.output, response.usage)


async def test_a_stream_has_the_events_of_openai_in_their_order_numbered_and_nothing_of_what_ran_inside() -> None:
    async with served(adding()) as gateway, gateway.http() as http:
        answer = await http.post("/v1/responses", json={**ASK, "stream": True})
    events = events_in(answer.text)
    assert all(name == value["type"] for name, _, value in events)
    assert [value["sequence_number"] for _, _, value in events] == [*range(len(events))]
    message = ["output_item.added", "content_part.added", *["output_text.delta"] * 2, "output_text.done"]
    message += ["content_part.done", "output_item.done"]
    last = [name for name in message if name != "output_text.delta"]
    last.insert(2, "output_text.delta")
    kinds = [name.removeprefix("response.") for name, _, _ in events]
    assert kinds == ["created", "in_progress", *message, *last, "completed"]
    response = events[-1][2]["response"]
    done = [value["item"] for name, _, value in events if name == "response.output_item.done"]
    assert response["output"] == done
    assert events[0][2]["response"]["output"] == []


@pytest.mark.parametrize("profile", PROFILES)
async def test_the_helper_of_openais_client_reads_the_stream_in_every_profile(profile: str) -> None:
    call = asks(("sales", {"region": "EMEA", "show_user": True}), text="I look.")
    model = ScriptedModel([Reasoning("hm"), "I look.", call], "Above.")
    config = {"openai": {"events": profile}}
    async with (
        served(model, config, display="continue") as gateway,
        gateway.openai() as client,
        client.responses.stream(**ASK) as stream,
    ):
        events = [event async for event in stream]
        response = await stream.get_final_response()
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == response.output_text
    assert text.startswith("I look.\n\n")
    assert text.endswith("Above.")
    assert ("| EMEA" in text) is (profile != "xmcp")
    kinds = [item.type for item in response.output]
    assert kinds == [*(["reasoning"] if profile != "none" else []), "message", "message"]
    told = [event.xmcp["type"] for event in events if hasattr(event, "xmcp")]
    assert [kind for kind in told if kind.startswith(("tool", "display"))] == (
        ["tool.started", "tool.finished", "display"] if profile == "xmcp" else []
    )
    assert not any("function" in event.type for event in events)


async def test_an_answer_is_parsed_as_the_type_that_the_client_gives() -> None:
    class Sum(BaseModel):
        total: int

    model = ScriptedModel(then='{"total": 5}')
    async with served(model) as gateway, gateway.openai() as client:
        parsed = await client.responses.parse(**ASK, text_format=Sum)
        async with client.responses.stream(**ASK, text_format=Sum) as stream:
            streamed = await stream.get_final_response()
    assert parsed.output_parsed == streamed.output_parsed == Sum(total=5)
    assert model.requests[0].sampler.response_format["required"] == ["total"]


async def test_a_client_runs_its_own_tool_and_sends_all_items_back() -> None:
    model = ScriptedModel(
        asks(("add", {"a": 1, "b": 1}), text="I add."), asks(CALL, CALL, text="I ask."), "It is blue."
    )
    async with served(model) as gateway, gateway.openai() as client:
        items: list[Any] = [{"role": "user", "content": "go"}]
        first = await client.responses.create(model="assistant", input=items, tools=[TOOL], store=False)
        assert [item.type for item in first.output] == ["message", "message", "function_call", "function_call"]
        items += first.output
        calls = [item for item in first.output if item.type == "function_call"]
        assert [(one.name, json.loads(one.arguments)) for one in calls] == [CALL, CALL]
        items += [
            {"type": "function_call_output", "call_id": one.call_id, "output": f"r{n}"} for n, one in enumerate(calls)
        ]
        last = await client.responses.create(model="assistant", input=items, tools=[TOOL], store=False)
    assert last.output_text == "It is blue."
    assert gateway.shop.calls == ["add"]
    assert roles(model) == "uatatt"
    assert [text for role, text in sent(model) if role == "tool"][1:] == ["r0", "r1"]


async def test_what_a_caller_sets_reaches_the_model() -> None:
    model = ScriptedModel("{}")
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    body: dict[str, Any] = {
        "model": "assistant",
        "instructions": "Be brief.",
        "input": [
            {"role": "developer", "content": "In rhyme."},
            {"role": "user", "content": "one"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"role": "assistant", "content": [{"type": "output_text", "text": "1"}]},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "two"},
                    {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
                ],
            },
        ],
        "temperature": 1,
        "max_output_tokens": 7,
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}, "verbosity": "low"},
        "include": ["reasoning.encrypted_content"],
        "metadata": {"conversation_id": "c-1"},
        "parallel_tool_calls": False,
        "truncation": "auto",
        "user": "u",
    }
    async with served(model) as gateway, gateway.openai() as client:
        response = await client.responses.create(**body)
    (request,) = model.requests
    assert sent(model)[0] == ("system", "Be brief.\n\nIn rhyme.")
    assert roles(model) == "suau"
    assert [part["type"] for part in request.messages[-1]["content"]] == ["text", "image_url"]
    sampler = request.sampler
    assert (sampler.temperature, sampler.max_tokens, sampler.reasoning_effort) == (1, 7, "low")
    assert sampler.response_format == schema
    assert (response.max_output_tokens, response.text.format.type, response.parallel_tool_calls) == (
        7,
        "json_schema",
        False,
    )


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"input": []}, "input", "invalid_value"),
        ({"input": None}, "input", "missing_required_parameter"),
        ({"input": 3}, "input", "invalid_type"),
        ({"input": [3]}, "input[0]", "invalid_type"),
        ({"input": [{"role": "nobody", "content": "x"}]}, "input[0].role", "invalid_value"),
        ({"input": [{"role": "user", "content": 3}]}, "input[0].content", "invalid_type"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input[0].content[0]", "invalid_value"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
            "input[0].content[0]",
            "invalid_value",
        ),
        ({"input": [{"role": "user", "content": []}]}, "input[0].content", "invalid_value"),
        ({"input": [{"type": "web_search_call", "id": "ws_1"}]}, "input[0].type", "unsupported_value"),
        ({"input": [{"type": "function_call", "call_id": "x"}]}, "input[0].name", "missing_required_parameter"),
        (
            {"input": [{"type": "function_call_output", "call_id": "x", "output": "y"}]},
            "input[0].call_id",
            "invalid_value",
        ),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].id", "item_not_found"),
        ({"model": None}, "model", "missing_required_parameter"),
        ({"model": "gone"}, "model", "model_not_found"),
        ({"temperature": 3}, "temperature", "invalid_value"),
        ({"max_output_tokens": 0}, "max_output_tokens", "invalid_value"),
        ({"max_output_tokens": "x"}, "max_output_tokens", "invalid_type"),
        ({"reasoning": {"effort": "wild"}}, "reasoning.effort", "invalid_value"),
        ({"stream": "yes"}, "stream", "invalid_type"),
        ({"background": True}, "background", "unsupported_parameter"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt", "unsupported_parameter"),
        ({"max_tool_calls": 3}, "max_tool_calls", "unsupported_parameter"),
        ({"top_logprobs": 3}, "top_logprobs", "unsupported_parameter"),
        ({"include": ["message.output_text.logprobs"]}, "include", "unsupported_value"),
        ({"tools": [{"type": "web_search"}]}, "tools", "unsupported_value"),
        ({"tools": [{"type": "function", "name": "a b"}]}, "tools", "invalid_value"),
        ({"tools": [{**TOOL, "name": "add"}]}, "tools", "tool_name_clash"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": "other"}}, "tool_choice", "invalid_value"),
        ({"tools": [TOOL], "tool_choice": {"type": "web_search"}}, "tool_choice", "invalid_value"),
        ({"text": {"format": {"type": "poem"}}}, "text.format", "invalid_value"),
        ({"previous_response_id": "resp_x"}, "previous_response_id", "previous_response_not_found"),
        ({"conversation": ""}, "conversation", "invalid_value"),
        ({"conversation": "c", "previous_response_id": "r"}, "conversation", "mutually_exclusive_parameters"),
    ],
)
async def test_what_is_wrong_in_a_body_is_named(change: dict[str, Any], param: str, code: str) -> None:
    model = ScriptedModel("hi")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/v1/responses", json={**ASK, **change})
    error = answer.json()["error"]
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")
    assert answer.status_code == (404 if code == "model_not_found" else 400)
    assert param.partition("[")[0].rpartition(".")[2] in error["message"] or code.endswith("not_found")
    assert model.requests == []


@pytest.mark.parametrize(
    ("wanted", "choice", "inside"),
    [
        ("auto", None, True),
        ("none", "none", False),
        ("required", "required", False),
        ({"type": "function", "name": "ask_page"}, "ask_page", False),
    ],
)
async def test_a_choice_of_tools_is_one_among_those_of_the_client(wanted: Any, choice: Any, inside: bool) -> None:
    model = ScriptedModel("hi")
    async with served(model) as gateway, gateway.openai() as client:
        await client.responses.create(**ASK, tools=[TOOL], tool_choice=wanted)
    assert model.requests[0].sampler.tool_choice == choice
    names = {one["function"]["name"] for one in model.requests[0].tools.tools}
    assert names == ({"ask_page", "add", "sales", "fail", "wait"} if inside else {"ask_page"})


async def test_an_answer_that_breaks_off_is_an_error_for_the_client_and_not_a_short_success() -> None:
    failure = ProviderError("gone", category=ErrorCategory.CONTENT, provider="p", began=True)
    model = ScriptedModel(then=["half an ", failure])
    text = ""
    async with served(model) as gateway, gateway.openai() as client, gateway.http() as http:
        stream = await client.responses.create(**ASK, stream=True)

        async def read() -> None:
            nonlocal text
            async for event in stream:
                text += event.delta if event.type == "response.output_text.delta" else ""

        with pytest.raises(openai.APIError) as told:
            await read()
        async with client.responses.stream(**ASK, user="other") as helper:
            with pytest.raises(openai.APIError) as helped:
                await helper.get_final_response()
        raw = await http.post("/v1/responses", json={**ASK, "stream": True, "user": "third"})
    assert text == "half an "
    assert told.value.code == helped.value.code == "content_filter"
    (_, _, error), (_, _, failed) = events_in(raw.text)[-2:]
    assert (error["type"], error["code"], error["error"]["code"]) == ("error", "content_filter", "content_filter")
    assert error["message"] == error["error"]["message"] == failed["response"]["error"]["message"]
    assert failed["response"]["status"] == "failed"
    (message,) = failed["response"]["output"]
    assert (message["status"], message["content"][0]["text"]) == ("incomplete", "half an ")


@pytest.mark.parametrize("by", ["cancel", "drain", "deadline", "crash"])
async def test_every_end_without_a_result_is_a_failed_response(by: str) -> None:
    config = {"runs": {"deadline_seconds": 0.3}} if by == "deadline" else {}
    rest = RuntimeError("secret") if by == "crash" else never
    async with served(ScriptedModel(["half ", rest]), config) as gateway, gateway.http() as http:
        asking = asyncio.create_task(http.post("/v1/responses", json={**ASK, "stream": True}))
        runs = gateway.gateway.runs
        if by in ("cancel", "drain"):
            await until(lambda: any(run.state.text for run in runs.running))
        if by == "drain":
            await runs.drain(0)
        if by == "cancel":
            name = runs.running[0].id.replace("run_", "resp_")
            cancelled = await http.post(f"/v1/responses/{name}/cancel", json={})
            assert cancelled.json()["status"] == "failed"
        *_, (_, _, last) = events_in((await asking).text)
    assert last["type"] == "response.failed"
    code = {"cancel": "cancelled", "drain": "upstream_unavailable", "deadline": "timeout", "crash": "internal"}[by]
    assert last["response"]["error"]["code"] == code
    assert "secret" not in str(last)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
async def test_an_answer_that_was_cut_is_incomplete(finish: str, reason: str, stream: bool) -> None:
    model = ScriptedModel(Completion("half", finish_reason=finish))
    async with served(model) as gateway, gateway.openai() as client:
        answer = await client.responses.create(**ASK, stream=stream)
        response = [event async for event in answer][-1].response if stream else answer
    assert (response.status, response.incomplete_details.reason) == ("incomplete", reason)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_of_the_model_has_the_status_that_clients_expect(stream: bool) -> None:
    model = ScriptedModel(then=ProviderError("internal words", category=ErrorCategory.RATE_LIMIT, provider="p"))
    async with served(model) as gateway, gateway.openai() as client:
        with pytest.raises(openai.RateLimitError) as told:
            await client.responses.create(**ASK, stream=stream)
    assert "internal words" not in str(told.value)


async def test_a_repeated_request_joins_the_run_and_a_key_of_another_one_is_refused() -> None:
    async with served(adding()) as gateway, gateway.openai() as client:
        headers = {"Idempotency-Key": "k"}
        first = await client.responses.create(**ASK, extra_headers=headers)
        again = await client.responses.with_raw_response.create(**ASK, extra_headers=headers)
        retried = await client.responses.create(**ASK, extra_headers={"x-stainless-retry-count": "1"})
        with pytest.raises(openai.ConflictError):
            await client.responses.create(model="assistant", input="other", extra_headers=headers)
    assert again.parse().id == retried.id == first.id
    assert again.headers["xmcp-replayed"] == "true"
    assert gateway.shop.calls == ["add"]


async def test_a_stream_asks_its_person_where_the_client_can_answer() -> None:
    config = {"openai": {"events": "xmcp"}, "chat": {"approve": ["add"]}}
    async with served(adding(), config) as gateway, gateway.openai() as client, gateway.http() as http:
        raw = await client.responses.with_raw_response.create(**ASK, stream=True)
        async for event in raw.parse():
            told = getattr(event, "xmcp", None) or {}
            if told.get("type") == "approval.required":
                answer = {"call_id": told["data"]["call_id"], "approve": True}
                await http.post(f"/runs/{raw.headers['xmcp-run-id']}/input", json=answer)
        response = event.response
    assert response.output_text == "I add.\n\nIt is 5."
    assert gateway.shop.calls == ["add"]


async def test_what_is_not_offered_of_openais_api_is_said() -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.openai() as client:
        response = await client.responses.create(**ASK)
        with pytest.raises(openai.BadRequestError):
            await client.responses.retrieve(response.id, stream=True)
        with pytest.raises(openai.APIStatusError) as told:
            await client.responses.delete(response.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve("resp_1")
    assert told.value.status_code == 405
