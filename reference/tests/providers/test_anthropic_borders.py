"""What a first provider for Anthropic got wrong, or another one got right."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest
from support.vendors.anthropic_messages import AnthropicMessages

from xmcp.chat.sampler_config import SamplerConfig
from xmcp.providers import AnthropicProvider, ErrorCategory, ModelRequest, ProviderError, ToolSchemas
from xmcp.providers.contract import ask
from xmcp.providers.formats import anthropic_messages

HELLO = [{"role": "user", "content": "hello"}]
HAIKU = "claude-haiku-5-5"
TOOLS = ToolSchemas.of([{"type": "function", "function": {"name": "f", "parameters": {"properties": {}}}}])


@pytest.fixture
async def vendor() -> AsyncIterator[AnthropicMessages]:
    async with (vendor := AnthropicMessages()):
        yield vendor


def written(messages: Any = HELLO, tools: ToolSchemas = TOOLS, model: str = HAIKU, **options: Any) -> Any:
    return json.loads(anthropic_messages.write(model, messages, tools, SamplerConfig(**options)).body)


def test_texts_to_stop_at_that_are_blank_are_left_out() -> None:
    assert written(stop=["END", "\n"])["stop_sequences"] == ["END"]
    assert "stop_sequences" not in written(stop=[" "])


def test_the_person_begins_and_has_the_last_word() -> None:
    answer, blank = {"role": "assistant", "content": "Hi!"}, {"role": "user", "content": " "}
    for messages in ([answer, *HELLO], [*HELLO, answer, blank], [blank]):
        turns = written(messages)["messages"]
        assert (turns[0]["role"], turns[-1]["role"]) == ("user", "user")
        assert all(block["text"].strip() for turn in turns for block in turn["content"])


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}},
        {"type": "image_url", "image_url": {"url": "ftp://example.org/a.png"}},
    ],
)
async def test_a_part_that_has_no_form_is_an_error_and_not_left_out(part: Any) -> None:
    with pytest.raises(ProviderError, match="has no form in it") as caught:
        [_ async for _ in AnthropicProvider("k").stream(ModelRequest([{"role": "user", "content": [part]}]))]
    assert caught.value.category is ErrorCategory.CONTENT


def test_a_picture_is_of_a_type_that_the_vendor_knows() -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/JPG;base64,AAAA"}}
    (block,) = written([{"role": "user", "content": [part]}])["messages"][0]["content"]
    assert block["source"] == {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}


def test_the_arguments_of_a_tool_are_an_object() -> None:
    assert written()["tools"][0]["input_schema"] == {"type": "object", "properties": {}}


def test_haiku_can_be_told_not_to_think_and_to_call() -> None:
    assert written(reasoning_effort="none")["thinking"] == {"type": "disabled"}
    asked = written(tool_choice="required")
    assert (asked["tool_choice"], asked["thinking"]) == ({"type": "any"}, {"type": "disabled"})


@pytest.mark.parametrize("event", [{"type": "error"}, {"type": "error", "error": None}])
def test_an_error_that_says_nothing_is_one(event: Any) -> None:
    with pytest.raises(ProviderError, match="refused the request"):
        anthropic_messages.parse(json.dumps(event).encode(), "anthropic")


async def test_the_schema_of_an_answer_is_written_as_the_vendor_takes_it(vendor: AnthropicMessages) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}
    await ask(vendor, sampler=SamplerConfig(response_format=schema))
    told = vendor.bodies[0]["output_config"]["format"]["schema"]
    assert told["additionalProperties"] is False
    assert told["properties"]["a"] == {"type": "integer", "description": "{minimum: 1}"}
    unknown = {"type": ["object", "null"]}
    await ask(vendor, sampler=SamplerConfig(response_format=unknown))
    assert vendor.bodies[1]["output_config"]["format"]["schema"] == unknown


async def test_a_client_without_a_key_is_an_auth_error() -> None:
    async with anthropic.AsyncAnthropic(api_key="k") as client:
        client.api_key = None
        with pytest.raises(ProviderError, match="authentication") as caught:
            [_ async for _ in AnthropicProvider(client=client).stream(ModelRequest(HELLO))]
    assert caught.value.category is ErrorCategory.AUTH


def test_keys_and_addresses_as_people_write_them() -> None:
    provider = AnthropicProvider("key\n", "http://models:8500/v1/")
    assert (provider._api_key, provider._base_url) == ("key", "http://models:8500")


@pytest.mark.parametrize("listed", [{"data": [{}]}, {"data": [{"id": 7}]}])
async def test_what_is_no_list_of_models_is_an_error(
    vendor: AnthropicMessages, monkeypatch: pytest.MonkeyPatch, listed: Any
) -> None:
    monkeypatch.setattr(vendor, "listed", lambda path: listed)
    assert isinstance(vendor.provider, AnthropicProvider)
    with pytest.raises(ProviderError, match="no list of models"):
        await vendor.provider.list_models()


@pytest.mark.parametrize(("different", "known"), [(True, 5), (False, 1)])
async def test_of_an_endless_list_of_models_no_more_is_read_than_anybody_has(
    vendor: AnthropicMessages, monkeypatch: pytest.MonkeyPatch, different: bool, known: int
) -> None:
    monkeypatch.setattr("xmcp.providers.stainless.MAX_MODELS", 5)
    pages = iter(range(50))  # a request beyond them fails

    def listed(path: str) -> Any:
        page = next(pages) * different
        return {"data": [{"id": f"m{page}"}], "has_more": True, "last_id": f"m{page}"}

    monkeypatch.setattr(vendor, "listed", listed)
    assert isinstance(vendor.provider, AnthropicProvider)
    assert len(await vendor.provider.list_models()) == known
    assert next(pages) == 5
