"""Invalid options are refused at the constructor, with a message that says what is valid."""

from __future__ import annotations

import functools
import inspect
import math
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from support.scripted_server import ScriptedServer

from xmcp.client import AIClient, Conversation, EventStream, Middleware, Quota, SyncAIClient, TenantQuotas
from xmcp.client.options import ClientOptions
from xmcp.providers import (
    AnthropicProvider,
    GeminiCLIProvider,
    GeminiProvider,
    LocalProvider,
    MistralProvider,
    OpenAIProvider,
    ProviderError,
    SamplerConfig,
    ScriptedProvider,
)
from xmcp.storage import MemoryCache


class Misspelt(Middleware):
    def before_tol(self, state: Any) -> None: ...


class Callable:
    async def __call__(self, envelope: Any, history: Any) -> None: ...


def made(servers: Any = (), **options: Any) -> AIClient:
    return AIClient(servers, **{"llm_provider": ScriptedProvider(["hi"]), **options})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"servers": "http://h"}, r"a list, such as \['http://h'\]"),
        ({"servers": [42]}, "42 is not a valid server target; pass a URL, a command, or an object"),
        ({"servers": [None]}, "None is not a valid server target"),
        ({"servers": [TenantQuotas]}, r"not the class TenantQuotas; pass TenantQuotas\(...\)"),
        ({"servers": [["python", 3]]}, "a list of words"),
        ({"servers": ["server.py"]}, "such as 'python server.py'"),
        ({"servers": ["localhost:3333"]}, "write http://host:port"),
        ({"servers": ["htp://h"]}, "write http://host:port"),
        ({"max_concurrency": 1.5}, "max_concurrency must be a whole number, not 1.5"),
        ({"max_turns": True}, "max_turns must be a whole number"),
        ({"breaker_threshold": 0}, "breaker_threshold must be above 0, not 0"),
        ({"breaker_reset_after": "5"}, "breaker_reset_after must be a number, not '5'"),
        ({"tool_timeout": None}, "could hang forever"),
        ({"tool_timeout": {"report": "5"}}, r"tool_timeout\['report'\] must be a number, not '5'"),
        ({"tool_timeout": math.inf}, "tool_timeout"),
        ({"refresh_interval": -1}, "refresh_interval must be 0 or more"),
        ({"refresh_interval": math.nan}, "refresh_interval must be 0 or more"),
        ({"refresh_interval": None}, "refresh_interval must be a number of seconds, not None"),
        ({"refresh_interval": []}, "refresh_interval must be a number of seconds"),
        ({"refresh_interval": 1j}, "refresh_interval must be a number of seconds"),
        ({"connect_timeout": 0}, "connect_timeout must be a finite number above 0"),
        ({"approval_timeout": "5"}, "approval_timeout must be a number, not '5'"),
        ({"refresh_interval": "5"}, "refresh_interval must be a number of seconds, not '5'"),
        ({"display": "never"}, "display must be 'exit' or 'continue', not 'never'"),
        ({"openai_api_key": "k"}, "either llm_provider, or openai_api_key"),
        ({"on_display": "show"}, r"on_display must be a function of \(envelope, history\)"),
        ({"on_display": lambda envelope: None}, r"on_display is called with \(envelope, history\)"),
        ({"on_error": lambda: None}, r"\(error, history\)"),
        ({"usage_sink": lambda a, b: None}, r"\(record\)"),
        ({"price": 0.5}, r"\(provider, model, usage\)"),
        ({"price": lambda usage: 1.0}, r"\(provider, model, usage\)"),
        ({"approve": True}, r"\(call\)"),
        ({"cache": MemoryCache}, r"such as MemoryCache\(\)"),
        ({"cache": {}}, "cache must be a store"),
        ({"breakers": "redis://h"}, "breakers must be a store"),
        ({"params": ["user"]}, "params must be a mapping"),
        ({"logger": "xmcp"}, "logger must have the methods"),
        ({"middleware": Middleware()}, "middleware must be a list"),
        ({"middleware": [Middleware]}, "middleware takes objects"),
        ({"middleware": [Misspelt()]}, "has before_tol; the hooks are before_llm, after_llm, before_tool, after_tool"),
        ({"llm_provider": object()}, "it lacks name, supports_tools, max_context_tokens, stream"),
        ({"llm_provider": ScriptedProvider}, r"pass ScriptedProvider\(...\)"),
        ({"retry_policy": {"tries": 3}}, "max_attempts, backoff_base"),
        ({"meta_tools": ["stop"]}, "there are think, clarify, summarize"),
    ],
)
def test_what_cannot_work_is_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        made(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"on_display": Callable()},
        {"on_display": functools.partial(lambda extra, envelope, history: None, 1)},
        {"on_display": print, "usage_sink": [].append},
        {"price": lambda *given: None},
        {"approve": lambda call, more=None: True},
        {"tool_timeout": {"report": 300}},
        {"breaker_threshold": None},
        {"tool_timeout": 1, "chat_timeout": 2.5, "refresh_interval": 0.5},
        {"cache": MemoryCache(), "cache_ttl": 5},
        {"connect_timeout": None},
        {"approve": lambda call: True, "approval_timeout": None},
        *({"refresh_interval": seconds} for seconds in (True, False, Decimal(5), Fraction(1, 2), math.inf)),
    ],
)
def test_whatever_can_be_called_as_it_will_be_is_taken(options: dict[str, Any]) -> None:
    made(**options)


async def test_a_client_without_a_time_limit_for_connecting_connects() -> None:
    async with made([ScriptedServer({"t": "ok"})], connect_timeout=None) as ai:
        assert [tool["function"]["name"] for tool in ai.tools] == ["t"]


def test_a_limit_in_dollars_without_prices_is_said_at_once(caplog: pytest.LogCaptureFixture) -> None:
    made(middleware=[TenantQuotas(spend_usd=1)])
    assert "quota_without_price" in caplog.text
    caplog.clear()
    made(middleware=[TenantQuotas(limits={"acme": Quota(spend_usd=1)})])
    assert "quota_without_price" in caplog.text
    caplog.clear()
    made(middleware=[TenantQuotas(spend_usd=1)], price=lambda *given: 0.1)
    made(middleware=[TenantQuotas(tokens=1)])
    assert caplog.text == ""


def test_the_keywords_of_a_client_are_those_of_its_options_with_the_same_types_and_defaults() -> None:
    keywords = [*inspect.signature(AIClient).parameters.values()]
    assert [(keyword.name, keyword.annotation) for keyword in keywords] == [
        (option.name, option.type) for option in fields(ClientOptions)
    ]
    defaults = {keyword.name: keyword.default for keyword in keywords}
    assert defaults == {option.name: option.default for option in fields(ClientOptions)}
    assert len(defaults) == 40
    assert {keyword.kind for keyword in keywords[1:]} == {inspect.Parameter.KEYWORD_ONLY}


def test_an_option_that_no_check_knows_is_one_that_another_class_checks_or_that_cannot_be_wrong() -> None:
    assert {option.name for option in fields(ClientOptions) if "check" not in option.metadata} == {
        *("openai_api_key", "openai_base_url", "llm_model"),  # the provider's
        "fallback_models",  # `fallback.chain`
        "retry_policy",  # `RetryPolicy.of`
        "meta_tools",  # `meta_tools.selected`
        *("cache_read_only", "require_servers"),  # any value is true or false
    }


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({}, {"*": 60.0}),
        ({"tool_timeout": 5}, {"*": 5}),
        ({"tool_timeout": {"report": 300}}, {"*": 60.0, "report": 300}),
        ({"tool_timeout": {"*": 1, "report": 300}}, {"*": 1, "report": 300}),
    ],
)
def test_a_tool_without_a_limit_of_its_own_has_that_of_all_others(given: Any, limits: dict[str, float]) -> None:
    assert ClientOptions(servers=[], **given).time_limits == limits


def test_servers_of_a_list_have_no_names_and_those_of_a_mapping_have() -> None:
    assert ClientOptions(servers=["http://h"]).targets == [(None, "http://h")]
    assert ClientOptions(servers={"crm": "http://h"}).targets == [("crm", "http://h")]


def test_a_key_that_is_missing_is_asked_for_by_the_name_of_the_clients_own_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ProviderError, match=r"pass openai_api_key=.*, or openai_base_url="):
        AIClient([])


@pytest.mark.parametrize("kind", [AIClient, SyncAIClient])
def test_a_misspelt_option_is_named_with_the_one_that_was_meant(kind: Any) -> None:
    with pytest.raises(TypeError, match=f"^{kind.__name__} has no option 'max_turn'. Did you mean 'max_turns'"):
        kind([], max_turn=3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: AIClient([], llm_modl="m"), "AIClient has no option 'llm_modl'. Did you mean 'llm_model'"),
        (lambda: SyncAIClient([], sampelr=None), "SyncAIClient has no option 'sampelr'. Did you mean 'sampler' or"),
        (lambda: Conversation(made(), sytem="x"), "Conversation has no option 'sytem'. Did you mean 'system'?"),
        (lambda: SamplerConfig(temprature=0), "SamplerConfig has no option 'temprature'. Did you mean 'temperature'?"),
        (lambda: OpenAIProvider(api_kee="k"), "OpenAIProvider has no option 'api_kee'. Did you mean 'api_key'?"),
        (lambda: AnthropicProvider(baseurl="x"), "AnthropicProvider has no option 'baseurl'. Did you mean 'base_url'?"),
        (lambda: GeminiProvider(modle="m"), "GeminiProvider has no option 'modle'. Did you mean 'model'?"),
        (lambda: MistralProvider(clent=None), "MistralProvider has no option 'clent'. Did you mean 'client' or"),
        (lambda: LocalProvider(support_tools=True), "LocalProvider has no option 'support_tools'. Did you mean 'supp"),
        (lambda: GeminiCLIProvider(timout=1), "GeminiCLIProvider has no option 'timout'. Did you mean 'timeout'?"),
        (lambda: EventStream().sse(type=["done"]), "sse() has no option 'type'. Did you mean 'types'?"),
    ],
    ids=lambda one: one[:30] if isinstance(one, str) else "",
)
def test_a_misspelt_option_is_refused_with_the_one_that_was_meant(call: Any, said: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "owner", [Conversation, SamplerConfig, OpenAIProvider, LocalProvider, GeminiCLIProvider, EventStream.sse]
)
def test_editors_still_see_the_options(owner: Any) -> None:
    kinds = {one.kind for one in inspect.signature(owner).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert inspect.Parameter.VAR_POSITIONAL not in kinds
