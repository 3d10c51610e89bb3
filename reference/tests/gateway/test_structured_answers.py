"""Answers with a format, of `/v1` and its responses: they are alone, without what was said or shown before them."""

from __future__ import annotations

from typing import Any

import openai
import pydantic
import pytest
from support.gateways import chunks_in, served
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.providers import Completion

SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
FORMATS: Any = [{"type": "json_schema", "json_schema": {"name": "sum", "schema": SCHEMA}}, {"type": "json_object"}]
ASK: dict[str, Any] = {
    "model": "assistant",
    "messages": [{"role": "user", "content": "2+3?"}],
    "response_format": FORMATS[0],
}
JSON = '{"sum": 5}'


def adding(*pieces: str) -> ScriptedModel:
    """A model that announces what it does, calls a tool, shows a display, and then answers by the schema."""
    calls = asks(("add", {"a": 2, "b": 3}), ("sales", {"region": "EMEA", "show_user": True}), text="I add.")
    return ScriptedModel(calls, [*pieces, Completion(JSON)])


def contents(text: str) -> list[str]:
    """Return the pieces of content in a stream."""
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks_in(text)[:-1] if chunk["choices"]]
    return [delta["content"] for delta in deltas if delta.get("content")]


@pytest.mark.parametrize("profile", ["none", "xmcp", "openwebui"])
@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one["type"])
@pytest.mark.parametrize("stream", [False, True])
async def test_what_is_said_and_shown_before_the_answer_is_not_in_its_way(
    profile: str, format_: Any, stream: bool
) -> None:
    config = {"openai": {"events": profile}}
    async with served(adding(JSON), config, display="continue") as gateway, gateway.http() as http:
        asked = {**ASK, "response_format": format_, "stream": stream}
        answer = await http.post("/v1/chat/completions", json=asked)
    assert sorted(gateway.shop.calls) == ["add", "sales"]
    if stream:
        assert contents(answer.text) == [JSON]
        finished = [chunk["choices"][0]["finish_reason"] for chunk in chunks_in(answer.text)[:-1] if chunk["choices"]]
        assert finished == [None] * (len(finished) - 1) + ["stop"]
    else:
        assert answer.json()["choices"][0]["message"]["content"] == JSON


async def test_an_answer_that_begins_again_is_whole() -> None:
    broken = ProviderError("gone", category=ErrorCategory.NETWORK, provider="p", began=True)
    async with served(ScriptedModel(['{"su', broken], JSON)) as gateway, gateway.http() as http:
        answer = await http.post("/v1/chat/completions", json={**ASK, "stream": True})
    assert contents(answer.text) == [JSON]


@pytest.mark.parametrize("change", [{"model": "assistant:plain"}, {"tool_choice": "none"}])
async def test_without_tools_inside_the_answer_is_streamed_as_it_is_written(change: dict[str, Any]) -> None:
    model = ScriptedModel(['{"sum"', ": 5}", Completion(JSON)])
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/v1/chat/completions", json={**ASK, "stream": True, **change})
    assert contents(answer.text) == ['{"sum"', ": 5}"]


async def test_an_answer_that_breaks_off_is_an_error() -> None:
    failure = ProviderError("gone", category=ErrorCategory.CONTENT, provider="p", began=True)
    async with served(ScriptedModel(then=['{"sum', failure])) as gateway, gateway.openai() as client:
        with pytest.raises(openai.APIError):
            await client.chat.completions.create(**ASK)
        with pytest.raises(openai.APIError):
            [chunk async for chunk in await client.chat.completions.create(**ASK, stream=True)]


@pytest.mark.parametrize("stream", [False, True])
async def test_words_beside_a_call_of_the_clients_own_tool_are_no_answer_to_parse(stream: bool) -> None:
    own = {"type": "function", "function": {"name": "ask_page", "parameters": {"type": "object"}}}
    model = ScriptedModel(asks(("add", {"a": 2, "b": 3}), text="I add."), asks(("ask_page", {}), text="I ask."))
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/v1/chat/completions", json={**ASK, "tools": [own], "stream": stream})
    if stream:
        assert contents(answer.text) == []
        assert chunks_in(answer.text)[-2]["choices"][0]["finish_reason"] == "tool_calls"
    else:
        (choice,) = answer.json()["choices"]
        assert choice["message"]["tool_calls"][0]["function"]["name"] == "ask_page"
        assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)


@pytest.mark.parametrize("profile", ["none", "xmcp", "openwebui"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_with_a_format_is_parsed_whatever_was_said_and_shown_before(
    profile: str, stream: bool
) -> None:
    class Sum(pydantic.BaseModel):
        sum: int

    config = {"openai": {"events": profile}}
    async with served(adding(JSON), config, display="continue") as gateway, gateway.openai() as client:
        if stream:
            async with client.responses.stream(model="assistant", input="2+3?", text_format=Sum) as events:
                response = await events.get_final_response()
        else:
            response = await client.responses.parse(model="assistant", input="2+3?", text_format=Sum)
        kept = await client.responses.retrieve(response.id)
    assert response.output_parsed == Sum(sum=5)
    assert [item.type for item in response.output if item.type != "reasoning"] == ["message"]
    assert kept.output_text == JSON


async def test_a_display_does_not_end_a_chat_whose_answer_has_a_format() -> None:
    shows = asks(("sales", {"region": "EMEA", "show_user": True}))
    async with served(ScriptedModel(shows, JSON, shows, JSON)) as gateway, gateway.openai() as client:
        completion = await client.chat.completions.create(**ASK)
        format_ = {"type": "json_schema", "name": "sum", "schema": SCHEMA}
        response = await client.responses.create(model="assistant", input="2+3?", text={"format": format_})
    assert (completion.choices[0].message.content, response.output_text) == (JSON, JSON)
