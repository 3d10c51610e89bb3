"""What a failure says, and what to change: the same from every provider, with the real SDKs against stand-ins."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from support.vendors.every import EVERY
from support.vendors.presets import Ollama
from support.vendors.stand_in import StandIn

from xmcp.chat.errors import CONSEQUENCES
from xmcp.providers import ErrorCategory, ModelRequest, OpenAIProvider, ProviderError
from xmcp.providers.contract import SECRET, Raw, Refusal, Scripted
from xmcp.providers.errors import MAX_ADDRESS, is_a_page, is_unknown_model, quotes_a_header

every_vendor = pytest.mark.parametrize("vendor", EVERY, ids=lambda vendor: vendor.__name__)


async def failure(provider: Any, model: str | None = None, secret: str = SECRET) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(ModelRequest([{"role": "user", "content": "hi"}], model=model)):
            pass
    assert secret not in caught.value.message
    return caught.value


async def refused(vendor: type[StandIn], answer: Scripted, model: str | None = None) -> ProviderError:
    async with vendor() as stand_in:
        stand_in.answers(answer)
        return await failure(stand_in.provider, model)


AGAIN = {ErrorCategory.QUOTA, ErrorCategory.RATE_LIMIT, ErrorCategory.NETWORK, ErrorCategory.UNKNOWN}
"""The categories of failures that can be over when the person asks again."""


@pytest.mark.parametrize("category", list(ErrorCategory))
def test_the_person_reads_what_happened_and_what_to_do_and_nothing_of_the_vendor(category: ErrorCategory) -> None:
    told = "openai refused the request: <b>secret</b> at http://internal:8000"
    error = ProviderError(told, category=category, provider="openai", model="gpt-4o", status=500)
    said = error.ui_message()
    assert said == CONSEQUENCES[category].ui_message
    assert "ry again" not in said or category in AGAIN
    for inner in ("openai", "gpt", "secret", "http", "500", category.value.upper() if "_" in category else "{"):
        assert inner not in said
    assert len(said.split(". ")) == 2, "what happened, and what to do"
    assert said.endswith(".")


def test_each_category_has_words_of_its_own() -> None:
    assert set(CONSEQUENCES) == set(ErrorCategory)
    assert len({one.ui_message for one in CONSEQUENCES.values()}) == len(ErrorCategory)


@every_vendor
async def test_a_page_says_to_check_the_base_url(vendor: type[StandIn]) -> None:
    page = Raw("a page", b"<html><body>Sign in</body></html>", "text/html")
    said = (await refused(vendor, page)).message
    assert "answers text/html" in said
    assert said.endswith("Check the base URL.")


@every_vendor
async def test_a_path_that_is_not_there_says_to_check_the_base_url(vendor: type[StandIn]) -> None:
    said = (await refused(vendor, Raw("no route", b"404 page not found", "text/plain", 404))).message
    assert said.endswith("HTTP status 404. Check the base URL.")


@every_vendor
async def test_a_key_that_was_passed_is_named_as_such(vendor: type[StandIn]) -> None:
    error = await refused(vendor, Refusal(ErrorCategory.AUTH))
    assert error.category is ErrorCategory.AUTH
    assert error.message.endswith("Check the api_key that was passed.")


@pytest.mark.parametrize("vendor", [one for one in EVERY if one is not Ollama], ids=lambda vendor: vendor.__name__)
async def test_a_key_of_the_environment_is_named_by_its_variable(
    vendor: type[StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with vendor() as stand_in:
        made: Any = type(stand_in.provider)
        for name in made.key_variables:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(made.key_variables[-1], SECRET)
        given: Any = stand_in.provider
        provider = made(base_url=given._base_url)
        stand_in.answers(Refusal(ErrorCategory.AUTH))
        try:
            error = await failure(provider)
        finally:
            await provider.aclose()
    assert error.message.endswith(f"Check the key in {made.key_variables[-1]}.")


async def test_a_server_that_wants_a_key_where_none_was_given_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with EVERY[0]() as stand_in:
        stand_in.answers(Refusal(ErrorCategory.AUTH))
        given: Any = stand_in.provider
        provider = OpenAIProvider(base_url=given._base_url)
        try:
            error = await failure(provider, secret="no secret of this provider")
            assert error.message.endswith("Pass a key as api_key=...")
        finally:
            await provider.aclose()


@every_vendor
async def test_an_unknown_model_is_named_with_where_to_look(vendor: type[StandIn]) -> None:
    error = await refused(vendor, Refusal(ErrorCategory.MODEL), "no-such-model")
    assert error.message.count("no-such-model") == 1
    assert error.message.endswith(". `list_models()` says which there are.")
    assert error.category is ErrorCategory.MODEL


async def test_an_unknown_model_that_the_vendor_does_not_name_is_named() -> None:
    body = b'{"error": {"message": "Model Not Exist"}}'
    error = await refused(EVERY[0], Raw("a refusal", body, status=400), "no-such-model")
    assert error.message.endswith("Not Exist. There is no model 'no-such-model'. `list_models()` says which there are.")


@pytest.mark.parametrize(
    ("status", "said", "unknown"),
    [
        (404, "The model `m-1` does not exist or you do not have access to it.", True),
        (404, "model: m-1", True),
        (404, "The API deployment for this resource does not exist.", True),
        (400, "Invalid model: m-1", True),
        (400, "Model Not Exist", True),
        (404, "Not Found", False),
        (400, "temperature 3 is not allowed for m-1", False),
        (500, "The model m-1 does not exist", False),
        (None, "model_not_found", False),
    ],
)
def test_what_tells_of_an_unknown_model(status: int | None, said: str, unknown: bool) -> None:
    assert is_unknown_model(status, said, "m-1") is unknown


@pytest.mark.parametrize("key", ["ollama", "k", "model", "Pass", "EMPTY"])
async def test_a_key_that_is_a_word_cuts_nothing_out_of_a_sentence(key: str) -> None:
    async with EVERY[0]() as stand_in:
        words = "ollama has no such model, k? Pass EMPTY."
        stand_in.answers(Raw("a refusal", f'{{"error": {{"message": "{words}"}}}}'.encode(), status=400))
        given: Any = stand_in.provider
        provider = OpenAIProvider(key, given._base_url)
        try:
            assert words.rstrip(".") in (await failure(provider)).message
        finally:
            await provider.aclose()


def test_of_a_long_address_that_answers_a_page_the_beginning_is_named() -> None:
    said = is_a_page("https://models.example.com/x" + "?" * 60_000, "text/html", "the API")
    assert said.startswith("https://models.example.com/x?")
    assert len(said) < MAX_ADDRESS + 100


@pytest.mark.parametrize(("fault", "header"), [("Illegal header value b'Bearer k'", True), ("bad port", False)])
def test_only_a_header_that_cannot_be_sent_is_taken_for_a_wrong_key(fault: str, header: bool) -> None:
    outer = ProviderError("failed")
    outer.__cause__ = httpx2.LocalProtocolError(fault)
    assert quotes_a_header(outer) is header
