"""ScriptedProvider: a model that says what its script says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp.providers import (
    Completion,
    LLMProvider,
    Message,
    ModelRequest,
    OpenAIProvider,
    ProviderError,
    ScriptedProvider,
    ToolSchemas,
    Turn,
)
from xmcp.providers.scripted import pieces

USER: Message = {"role": "user", "content": "q"}
ASSISTANT: Message = {"role": "assistant", "content": "a"}


async def ask(provider: LLMProvider, *messages: Message, tools: ToolSchemas | None = None) -> Completion:
    said = [piece async for piece in provider.stream(ModelRequest(messages, tools or ToolSchemas()))]
    completion = said[-1]
    assert isinstance(completion, Completion)
    assert "".join(piece for piece in said[:-1] if isinstance(piece, str)) == completion.text
    return completion


async def test_the_turn_is_chosen_by_the_assistant_messages_so_far() -> None:
    provider = ScriptedProvider([Turn("look", [("add", {"a": 1})]), "done"])
    first, second, again = await asyncio.gather(
        ask(provider, USER), ask(provider, USER, ASSISTANT), ask(provider, USER)
    )
    assert (second.text, second.tool_calls, second.finish_reason) == ("done", (), "stop")
    assert first == again
    assert first.finish_reason == "tool_calls"
    assert [(call.name, json.loads(call.arguments)) for call in first.tool_calls] == [("add", {"a": 1})]


async def test_the_calls_of_a_conversation_never_share_an_id() -> None:
    provider = ScriptedProvider([Turn(calls=[("f", {}), ("f", {})])] * 2)
    turns = [await ask(provider, USER), await ask(provider, USER, ASSISTANT)]
    assert len({call.id for turn in turns for call in turn.tool_calls}) == 4


async def test_arguments_given_as_text_go_out_as_they_stand() -> None:
    completion = await ask(ScriptedProvider([Turn(calls=[("f", "{broken")])]), USER)
    assert completion.tool_calls[0].arguments == "{broken"


async def test_a_script_may_be_a_function_of_messages_and_tools() -> None:
    def script(messages: list[Message], tools: list[Mapping[str, Any]]) -> str:
        return f"{len(messages)} messages, {len(tools)} tools"

    async def slow(messages: list[Message], tools: list[Mapping[str, Any]]) -> Turn:
        return Turn(script(messages, tools))

    for each in (script, slow):
        completion = await ask(ScriptedProvider(each), USER, tools=ToolSchemas.of([{}, {}]))
        assert completion.text == "1 messages, 2 tools"


async def test_a_script_that_is_too_short_says_so() -> None:
    with pytest.raises(ProviderError, match="has 1 turns and the chat asks for turn 2"):
        await ask(ScriptedProvider(["only"]), USER, ASSISTANT)


@given(st.text())
def test_the_pieces_of_a_text_are_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text


def test_a_long_text_comes_in_several_pieces() -> None:
    assert len(pieces("one two three four five six seven eight nine")) == 3


def test_what_we_ship_is_a_provider_by_the_protocol() -> None:
    assert isinstance(ScriptedProvider([]), LLMProvider)
    assert isinstance(OpenAIProvider("key"), LLMProvider)
