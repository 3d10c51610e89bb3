"""Options that cannot work are refused where they are given, in words that say what would."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest

from xmcp.client import AIClient, Middleware, Quota, TenantQuotas
from xmcp.providers import ScriptedProvider
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
        ({"servers": [42]}, "42 is no server: give a URL, a command, or an object"),
        ({"servers": [None]}, "None is no server"),
        ({"servers": [TenantQuotas]}, r"not the class TenantQuotas: give TenantQuotas\(...\)"),
        ({"servers": [["python", 3]]}, "a list of words"),
        ({"servers": ["server.py"]}, "such as 'python server.py'"),
        ({"servers": ["localhost:3333"]}, "write http://host:port"),
        ({"servers": ["htp://h"]}, "write http://host:port"),
        ({"max_concurrency": 1.5}, "max_concurrency must be a whole number, not 1.5"),
        ({"max_turns": True}, "max_turns must be a whole number"),
        ({"tool_timeout": None}, "could hang for ever"),
        ({"tool_timeout": {"report": "5"}}, r"tool_timeout\['report'\] must be a number, not '5'"),
        ({"tool_timeout": math.inf}, "tool_timeout"),
        ({"refresh_interval": -1}, "refresh_interval must be 0 or more"),
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
        ({"llm_provider": ScriptedProvider}, r"give ScriptedProvider\(...\)"),
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
        {"tool_timeout": 1, "chat_timeout": 2.5, "refresh_interval": 0.5},
        {"cache": MemoryCache(), "cache_ttl": 5},
    ],
)
def test_whatever_can_be_called_as_it_will_be_is_taken(options: dict[str, Any]) -> None:
    made(**options)


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
