"""The key and the address of each provider on a vendor's SDK: where they come from, and that nothing repeats a key."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from mistralai.client import Mistral
from support.growth import is_linear

from xmcp.providers import (
    AnthropicProvider,
    ErrorCategory,
    GeminiProvider,
    MistralProvider,
    ModelRequest,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ProviderError,
)
from xmcp.providers.errors import redact
from xmcp.providers.sdk_provider import SDKProvider

HELLO = [{"role": "user", "content": "hello"}]
KEY = "a-key-of-no-known-form"
URL = "http://127.0.0.1:9"
VENDORS: list[type[SDKProvider[Any]]] = [
    OpenAIProvider,
    OpenAIResponsesProvider,
    AnthropicProvider,
    MistralProvider,
    GeminiProvider,
]
WITH_VARIABLE = [vendor for vendor in VENDORS if vendor.url_variable]


def azure(**key: Any) -> openai.AsyncAzureOpenAI:
    return openai.AsyncAzureOpenAI(azure_endpoint=URL, api_version="v", max_retries=0, **key)


OF_THE_CALLER: dict[str, Callable[[str], SDKProvider[Any]]] = {
    "openai": lambda url: OpenAIProvider(client=openai.AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0)),
    "azure": lambda _: OpenAIResponsesProvider(client=azure(api_key=KEY)),
    "azure with a token": lambda _: OpenAIProvider(client=azure(azure_ad_token=KEY)),
    "anthropic": lambda url: AnthropicProvider(client=anthropic.AsyncAnthropic(api_key=KEY, base_url=url)),
    "anthropic with a token": lambda url: AnthropicProvider(
        client=anthropic.AsyncAnthropic(auth_token=KEY, base_url=url)
    ),
    "mistral": lambda url: MistralProvider(client=Mistral(api_key=KEY, server_url=url)),
    "gemini": lambda url: GeminiProvider(
        client=genai.Client(api_key=KEY, vertexai=False, http_options={"base_url": url})
    ),
}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("OPENAI", "ANTHROPIC", "MISTRAL", "GOO", "GEMINI"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("name", OF_THE_CALLER)
def test_a_message_does_not_repeat_the_key_of_a_client_of_the_caller(name: str) -> None:
    provider = OF_THE_CALLER[name](URL)
    error = provider._error(f"The key {KEY} is not valid.", ErrorCategory.AUTH, "m")
    assert error.message == "The key [redacted] is not valid."
    assert KEY not in repr(provider)


@pytest.mark.parametrize("token", ["eyJ0eXAiOiJKV1Qi.eyJhdWQiOi.c2lnbmF0dXJl", "ya29.a0AfB_byC-0123456789abcdef.x"])
def test_a_token_that_a_client_fetches_for_itself_is_not_repeated(token: str) -> None:
    assert redact(f"the token {token} has expired") == "the token [redacted] has expired"


@pytest.mark.parametrize("name", ["openai", "anthropic", "anthropic with a token", "mistral"])
async def test_a_key_that_no_header_can_carry_is_not_repeated(
    chat_server: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.KEY", f"{KEY}\nof two lines")
    provider = OF_THE_CALLER[name](chat_server.url)
    with pytest.raises(ProviderError, match="character that no key has") as caught:
        await anext(provider.stream(ModelRequest(HELLO)))
    told = "".join(traceback.format_exception(caught.value))
    assert caught.value.category is ErrorCategory.AUTH
    assert KEY.partition("\n")[0] not in told
    assert "of two lines" not in told
    assert not chat_server.requests


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("key", ["one\ntwo", "one\0two", "one\x7ftwo"])
def test_a_key_with_a_control_character_is_refused_at_once(vendor: type[SDKProvider[Any]], key: str) -> None:
    with pytest.raises(ProviderError, match="has a character that no key has") as caught:
        vendor(key)
    assert caught.value.category is ErrorCategory.AUTH
    assert "two" not in str(caught.value)


@pytest.mark.parametrize("vendor", VENDORS)
def test_blanks_around_a_key_or_an_address_do_not_count(vendor: type[SDKProvider[Any]]) -> None:
    provider = vendor(f" {KEY}\r\n", f" {URL}/v2\n")
    assert (provider._api_key, provider._base_url) == (KEY, f"{URL}/v2")
    assert vendor(KEY, "HTTP://models:8000")._called == "models:8000"


@pytest.mark.parametrize("vendor", WITH_VARIABLE)
@pytest.mark.parametrize("set_to", ["", " \n"])
async def test_a_variable_that_is_empty_is_no_address(
    vendor: type[SDKProvider[Any]], set_to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert vendor.url_variable
    monkeypatch.setenv(vendor.url_variable, set_to)
    provider: Any = vendor(KEY)
    client: Any = await provider._sdk()
    address = provider._address_of(client) or client._api_client._http_options.base_url
    assert address.startswith(f"https://{vendor.host}")
    await provider.aclose()


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    "url", ["http://[::1", "http://models:many/v1", "http://", "http:///v1", "http://models\n:1/v1"]
)
def test_an_address_without_a_host_or_with_a_port_that_is_none_is_refused_at_once(
    vendor: type[SDKProvider[Any]], url: str
) -> None:
    with pytest.raises(ValueError, match="has no host, or a port that is none"):
        vendor(KEY, url)


def test_what_looks_like_many_tokens_is_searched_in_linear_time() -> None:
    assert is_linear(lambda times: partial(redact, "eyJ-" * (times * 2000)))
