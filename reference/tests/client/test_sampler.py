"""How models are to write their answers: options of the client, and of a chat, reach each request to a model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp import AIClient, SamplerConfig
from xmcp.providers import OpenAIProvider

CLIENTS = SamplerConfig(temperature=0.5, max_tokens=100)


async def test_the_options_of_a_client_and_of_a_chat_reach_every_request() -> None:
    model = ScriptedModel(asks("t"), "done", "done")
    async with AIClient([ScriptedServer({"t": "7"})], llm_provider=model, sampler=CLIENTS) as ai:
        await ai.chat("q", [], sampler=SamplerConfig(temperature=0, stop=["END"]))
        await ai.chat("q", [])
    first, second, other_chat = [request.sampler.to_dict() for request in model.requests]
    assert first == second == {"temperature": 0, "max_tokens": 100, "stop": ["END"]}
    assert other_chat == {"temperature": 0.5, "max_tokens": 100}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"temperature": 3}, "temperature is 3: it is a number from 0 to 2."),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"top_p": True}, "top_p is True"),
        ({"max_tokens": 0}, "max_tokens is 0: it is a whole number from 1 on."),
        ({"seed": 1.5}, "seed is 1.5: it is a whole number."),
        ({"stop": "END"}, "stop is 'END': give a list of texts"),
        ({"stop": [""]}, "none of them empty"),
        ({"tool_choice": ""}, "tool_choice is ''"),
        ({"reasoning_effort": "huge"}, "it is one of none, minimal, low, medium, high"),
        ({"response_format": "json"}, "response_format is a str: it is a JSON object."),
        ({"extra_body": []}, "extra_body is a list"),
    ],
)
def test_a_value_that_no_vendor_takes_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        SamplerConfig(**options)
    assert said in str(caught.value)


async def test_something_else_is_refused_before_a_model_is_asked() -> None:
    wrong: Any = {"temperature": 0}
    with pytest.raises(TypeError, match="sampler must be a SamplerConfig, such as"):
        AIClient([], llm_provider=ScriptedModel(), sampler=wrong)
    async with AIClient([], llm_provider=ScriptedModel()) as ai:
        with pytest.raises(TypeError, match="sampler must be a SamplerConfig, such as"):
            ai.stream_chat("q", [], sampler=wrong)


async def test_all_options_are_in_the_request_for_openai(chat_server: Any) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    sampler = SamplerConfig(
        temperature=0,
        top_p=1,
        max_tokens=9,
        stop=["a", "b"],
        seed=7,
        tool_choice="t",
        response_format=schema,
        reasoning_effort="low",
        extra_body={"store": True},
    )
    provider = OpenAIProvider("k", chat_server.url, "m")
    async with AIClient([ScriptedServer({"t": "7"})], llm_provider=provider, sampler=sampler) as ai:
        await ai.chat("q", [])
    await provider.aclose()
    (request,) = chat_server.requests
    names = ("temperature", "top_p", "max_tokens", "stop", "seed", "reasoning_effort", "store")
    assert [request[name] for name in names] == [0, 1, 9, ["a", "b"], 7, "low", True]
    assert request["tool_choice"] == {"type": "function", "function": {"name": "t"}}
    assert json.loads(json.dumps(request["response_format"]["json_schema"]["schema"])) == schema
