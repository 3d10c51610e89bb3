"""A provider that has one method, `chat_complete`, is asked like any other."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from openai.types.chat import ChatCompletion
from support.mcp_servers import plain
from support.scripted_model import ScriptedModel
from support.vendors.one_method import OneMethod

from xmcp.chat.vendor_state import VENDOR_STATE_KEY
from xmcp.client import AIClient
from xmcp.providers import Completion, ErrorCategory, ModelRequest, ProviderError, SamplerConfig, ToolCall
from xmcp.providers.chat_complete import ChatCompleteAdapter, as_provider
from xmcp.providers.contract import Answer, ProviderContract, Vendor


class TestOneMethod(ProviderContract):
    """The adapter keeps the contract."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a provider with one method."""
        return OneMethod()


class Plain:
    """The least that is taken."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.max_tokens: int | None = None

    async def chat_complete(self, messages: list[Any], tools: Any, *, max_tokens: int | None = None) -> Any:
        self.max_tokens = max_tokens
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def said(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


async def ask(asked: Any, **request: Any) -> list[Any]:
    provider = as_provider("it", asked)
    messages = request.pop("messages", [{"role": "user", "content": "hi"}])
    return [piece async for piece in provider.stream(ModelRequest(messages, **request))]


async def test_a_client_chats_with_it_and_calls_tools() -> None:
    call = ToolCall("c1", "add", '{"a": 1, "b": 2}')
    old = OneMethod(Answer("", (call,), "tool_calls"), Answer("three"))
    async with AIClient([plain()], llm_provider=old, display="continue") as ai:
        chunks = [chunk async for chunk in ai.stream_chat("1 + 2?", [])]
    result = chunks[-1].result  # type: ignore[union-attr]
    assert result["answer"] == "three"
    assert [chunk.text for chunk in chunks if chunk.type == "llm_delta"] == ["three"]
    assert [one.role for one in old.asked[1].messages] == ["user", "assistant", "tool"]
    assert "add" in old.asked[0].tools


async def test_what_it_does_to_its_arguments_reaches_no_other_chat() -> None:
    class Rude(Plain):
        async def chat_complete(self, messages: list[Any], tools: Any, **_: Any) -> Any:
            messages[0]["content"] = tools[0]["function"]["name"] = "changed"
            tools[0]["function"]["parameters"].clear()
            return said("ok")

    async with AIClient([plain()], llm_provider=Rude(None)) as ai:
        before = [*ai.tools]
        offered = str(before)
        result = await ai.chat("hi", [])
        assert str(ai.tools) == offered
    assert result["history"][0]["content"] == "hi"


async def test_it_can_be_a_fallback() -> None:
    down = ScriptedModel(ProviderError("down", category="network"))
    async with AIClient([], llm_provider=down, fallback_models=[(OneMethod(Answer("here")), "m-2")]) as ai:
        result = await ai.chat("hi", [])
    assert (result["answer"], result["usage"]["llm_calls"]) == ("here", 1)


async def test_a_completion_of_an_sdk_is_read() -> None:
    sdk = ChatCompletion.model_validate(
        {
            **said("from a model"),
            "id": "x",
            "created": 0,
            "model": "m",
            "object": "chat.completion",
            "choices": [{**said("from a model")["choices"][0], "index": 0}],
        }
    )
    *_, completion = await ask(Plain(sdk))
    assert (completion.text, completion.model) == ("from a model", "m")


async def test_the_state_of_a_vendor_is_not_shown_to_it_and_its_messages_are_copies() -> None:
    seen: list[Any] = []

    class Changes:
        async def chat_complete(self, messages: list[Any], tools: Any) -> Any:
            assert tools is None
            seen.extend(dict(message) for message in messages)
            messages[0]["content"] = "changed"
            messages.clear()
            return said("ok")

    messages = [{"role": "assistant", "content": "a", VENDOR_STATE_KEY: {"vendor": "Changes", "value": 1}}]
    await ask(Changes(), messages=messages)
    assert seen == [{"role": "assistant", "content": "a"}]
    assert messages[0]["content"] == "a"


async def test_an_option_without_a_parameter_is_left_out() -> None:
    asked = Plain(said("ok"))
    await ask(asked, sampler=SamplerConfig(temperature=1, max_tokens=5))
    assert asked.max_tokens == 5


KEY = "no-form-of-4711-that-is-known"


class Refused(Exception):
    status_code = 429


class Unknown(Exception):
    status_code = 404


@pytest.mark.parametrize(
    ("answer", "category", "words"),
    [
        (Refused(f"slow down, {KEY}"), "rate_limit", r"^The provider 'Plain' failed: Refused \(HTTP status 429\)\.$"),
        (Refused(f"insufficient_quota, {KEY}"), "quota", r"Refused \(HTTP status 429\)\.$"),
        (ConnectionResetError(f"https://u:{KEY}@models.example"), "network", r"failed: ConnectionResetError\.$"),
        (KeyError(KEY), "unknown", r"failed: KeyError\.$"),
        (ProviderError("mine", category="content"), "content", "^mine$"),
        ("text", "unknown", "not an object"),
        (7, "unknown", "not an object"),
        (object(), "unknown", "returned a object, which is no chat completion"),
        ({"choices": []}, "unknown", "without a choice"),
        ({"choices": [{"message": {"tool_calls": [{"function": {"name": 7}}]}}]}, "unknown", "Plain"),
        ({"error": {"message": "maximum context length"}}, "context", "maximum context length"),
    ],
)
async def test_what_is_no_answer_is_a_failure_of_the_provider(answer: Any, category: str, words: str) -> None:
    with pytest.raises(ProviderError, match=words) as caught:
        await ask(Plain(answer))
    assert caught.value.category is ErrorCategory(category)
    assert KEY not in caught.value.message
    if isinstance(answer, Exception) and not isinstance(answer, ProviderError):
        assert caught.value.__cause__ is answer  # where whoever runs the application finds its words


async def test_an_unknown_model_is_one() -> None:
    class Other(Plain):
        model = "m-1"

        async def chat_complete(self, messages: list[Any], tools: Any, *, model: str = "", **_: Any) -> Any:
            raise Unknown(f"no such model: {model}")

    with pytest.raises(ProviderError, match=r"failed: Unknown \(HTTP status 404\)\.$") as caught:
        await ask(Other(None))
    assert caught.value.category is ErrorCategory.MODEL


async def test_a_method_that_needs_a_model_says_so() -> None:
    old = OneMethod(Answer("ok"))
    old.model = None  # type: ignore[assignment]
    with pytest.raises(ProviderError, match=r"missing a required argument: 'model'\. Give llm_model="):
        await ask(old)
    *_, completion = await ask(old, model="m-7")
    assert isinstance(completion, Completion)
    assert old.asked[0].model == "m-7"


def test_attributes_of_a_provider_are_taken_where_there_are_any() -> None:
    plain: Any = Plain(said(""))
    assert vars(ChatCompleteAdapter(plain)) == {
        "asked": plain,
        "name": "Plain",
        "supports_tools": True,
        "max_context_tokens": None,
    }
    plain.name, plain.supports_tools, plain.max_context_tokens = "mine", False, 8192
    adapter = ChatCompleteAdapter(plain)
    assert (adapter.name, adapter.supports_tools, adapter.max_context_tokens) == ("mine", False, 8192)


@pytest.mark.parametrize("option", ["llm_provider", "fallback_models"])
def test_what_is_neither_is_refused_in_words(option: str) -> None:
    value: Any = object() if option == "llm_provider" else [(object(), "m")]
    options = {"llm_provider": Plain(""), option: value}
    with pytest.raises(TypeError, match=f"{option} must be a provider .* and has no method chat_complete either"):
        AIClient([], **options)
