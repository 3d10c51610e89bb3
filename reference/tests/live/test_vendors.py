"""The basics against the real vendors. They cost money and need a key, so each has to be asked for, by its name:

    XMCP_LIVE=anthropic ANTHROPIC_API_KEY=... pytest reference/tests/live

`XMCP_LIVE=openai,gemini` runs several, `XMCP_LIVE_MODEL` replaces the default model. Everything else is skipped.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.mcp_servers import plain

from xmcp.client import AIClient
from xmcp.providers import (
    AnthropicProvider,
    DeepSeekProvider,
    ErrorCategory,
    GeminiCLIProvider,
    GeminiProvider,
    LocalProvider,
    MiniMaxProvider,
    MistralProvider,
    ModelRequest,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ProviderError,
)

VENDORS: dict[str, Any] = {
    "openai": OpenAIProvider,
    "openai_responses": OpenAIResponsesProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
    "gemini_cli": GeminiCLIProvider,
    "mistral": MistralProvider,
    "deepseek": DeepSeekProvider,
    "minimax": MiniMaxProvider,
    "local": LocalProvider,
}
ASKED = {name.strip() for name in os.environ.get("XMCP_LIVE", "").split(",")} - {""}
SECONDS = 120.0


def test_only_vendors_that_there_are_are_asked_for() -> None:
    assert set(VENDORS) >= ASKED, f"XMCP_LIVE takes {', '.join(VENDORS)}"


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> Any:
    """The class of a provider, if it was asked for."""
    name: str = request.param
    if name not in ASKED:
        key = next(iter(getattr(VENDORS[name], "key_variables", ())), None)
        command = f"XMCP_LIVE={name} {f'{key}=... ' if key else ''}pytest reference/tests/live"
        pytest.skip(f"the real vendor is asked only by: {command}")
    return VENDORS[name]


@pytest.fixture
async def provider(vendor: Any) -> AsyncIterator[Any]:
    """A provider with the key and the address of the environment."""
    made = vendor(model=os.environ.get("XMCP_LIVE_MODEL"))
    yield made
    await made.aclose()


def with_tools(provider: Any) -> Any:
    if not provider.supports_tools:
        pytest.skip(f"{provider.name} has no tools")
    return provider


async def test_a_text_with_its_usage(provider: Any) -> None:
    async with AIClient([], llm_provider=provider, chat_timeout=SECONDS) as ai:
        result = await ai.chat("Answer with one word, in lower case: what is the opposite of cold?", [])
    assert "hot" in (result["answer"] or "").lower() or "warm" in (result["answer"] or "").lower()
    assert result["stop_reason"] == "stop"
    assert (result["usage"]["input_tokens"] or 0) > 0
    assert (result["usage"]["output_tokens"] or 0) > 0


async def test_a_tool_and_a_history_that_goes_on(provider: Any) -> None:
    """The second chat sends back what the vendor wants back, such as signed thinking."""
    async with AIClient([plain()], llm_provider=with_tools(provider), chat_timeout=SECONDS) as ai:
        first = await ai.chat("Call the tool `add` with a=1718 and b=2541, and tell me the number it returns.", [])
        assert [message["role"] for message in first["history"]][:3] == ["user", "assistant", "tool"]
        assert "4259" in (first["answer"] or "").replace(",", "")
        second = await ai.chat("Call it again, with that number and 1.", first["history"])
    assert "4260" in (second["answer"] or "").replace(",", "")


async def test_the_list_of_models(provider: Any) -> None:
    if not hasattr(provider, "list_models"):
        pytest.skip(f"{provider.name} has no list of models")
    assert await provider.list_models()


async def test_a_wrong_key_is_one(vendor: Any) -> None:
    if not getattr(vendor, "key_variables", ()):
        pytest.skip(f"{vendor.name} has no key")
    wrong = vendor(api_key="sk-no-such-key-0123456789abcdef")
    with pytest.raises(ProviderError) as caught:
        async for _ in wrong.stream(ModelRequest([{"role": "user", "content": "hi"}])):
            pass
    await wrong.aclose()
    assert (caught.value.category, caught.value.provider) == (ErrorCategory.AUTH, vendor.name)
    assert "no-such-key" not in caught.value.message


async def test_an_unknown_model_is_one(provider: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(ModelRequest([{"role": "user", "content": "hi"}], model="no-such-model-0")):
            pass
    assert caught.value.category is ErrorCategory.UNKNOWN
