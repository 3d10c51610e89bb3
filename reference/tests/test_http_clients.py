"""An application hands over its HTTP client (`http_client=`): for every vendor, for tool servers, and what is none."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx2
import pytest
from support.http_host import hosted
from support.mcp_servers import plain
from support.scripted_model import ScriptedModel, asks
from support.vendors.every import EVERY
from support.vendors.stand_in import StandIn

import xmcp.providers.gemini as gemini_module
from xmcp.client import AIClient, ServerTarget
from xmcp.client.servers.targets import source
from xmcp.http_clients import MAX_COOKIES, check, new_client
from xmcp.providers import (
    AnthropicProvider,
    ErrorCategory,
    GeminiProvider,
    ModelRequest,
    OpenAIProvider,
    ProviderError,
    ScriptedProvider,
)
from xmcp.providers.contract import SECRET, Answer
from xmcp.providers.sdk_provider import SDKProvider

HELLO = [{"role": "user", "content": "hello"}]
OF_AN_SDK = [vendor for vendor in EVERY if issubclass(type(vendor().make("http://h")), SDKProvider)]


class Noting(httpx2.AsyncClient):
    """A client of an application, with a hook, a header and a parameter of its own."""

    def __init__(self, **options: Any) -> None:
        self.requests: list[httpx2.Request] = []
        super().__init__(event_hooks={"request": [self._note]}, headers={"X-App": "shop"}, **options)

    async def _note(self, request: httpx2.Request) -> None:
        self.requests.append(request)


@pytest.fixture
async def given() -> AsyncIterator[Noting]:
    async with Noting() as client:
        yield client


async def ask(provider: Any) -> str:
    *_, completion = [piece async for piece in provider.stream(ModelRequest(HELLO))]
    return str(completion.text)


@pytest.mark.parametrize("vendor", OF_AN_SDK)
async def test_requests_to_every_vendor_go_through_the_client_and_leave_it_open(
    vendor: type[StandIn], given: Noting
) -> None:
    async with vendor() as stand_in:
        made: Any = stand_in.provider
        stand_in.answers(Answer("hello there"))
        providers = [
            type(made)(api_key=SECRET, base_url=made._base_url, model=made.model, http_client=given) for _ in range(2)
        ]
        assert await asyncio.gather(*map(ask, providers)) == ["hello there"] * 2
        for provider in providers:
            await provider.aclose()
        assert len(given.requests) == 2
        assert {headers["x-app"] for headers in stand_in.headers} == {"shop"}
        assert {headers["accept-encoding"] for headers in stand_in.headers} == {"identity"}
        assert not given.is_closed


class Breaking(httpx2.AsyncByteStream):
    """A body that breaks off as no body of httpx2 does."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"data: "
        raise RuntimeError("of another library")


@pytest.mark.parametrize("where", ["request", "response", "body"])
@pytest.mark.parametrize("vendor", OF_AN_SDK)
async def test_what_fails_in_the_application_is_a_failure_of_the_provider(
    vendor: type[StandIn], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xmcp.providers.mistral.RETRIES_END_MS", -1)
    monkeypatch.setitem(gemini_module._ATTEMPTS, "attempts", 1)

    async def fails(_: Any) -> None:
        raise RuntimeError("of a hook")

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Breaking())

    made: Any = vendor().make("http://host")
    hooks = {} if where == "body" else {where: [fails]}
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer), event_hooks=hooks) as client:
        provider = type(made)(api_key=SECRET, base_url="http://host", model=made.model, http_client=client)
        sdk = await provider._sdk()
        if hasattr(sdk, "max_retries"):
            sdk.max_retries = 0
        with pytest.raises(ProviderError) as caught:
            await ask(provider)
        await provider.aclose()
    assert (caught.value.category, caught.value.began) == (ErrorCategory.NETWORK, where == "body")
    said = "broke in the middle of its answer" if where == "body" else "the http_client failed: RuntimeError"
    assert said in caught.value.message
    assert "of a hook" not in caught.value.message  # it may quote keys


@pytest.mark.parametrize("failure", [RuntimeError("Bearer sk-1"), httpx2.HTTPStatusError])
async def test_what_the_application_raises_is_named_and_not_quoted(failure: Any) -> None:
    async def fails(response: httpx2.Response) -> None:
        if isinstance(failure, Exception):
            raise failure
        await response.aread()
        response.raise_for_status()  # its message has the URL

    transport = httpx2.MockTransport(lambda _: httpx2.Response(401))
    async with httpx2.AsyncClient(transport=transport, event_hooks={"response": [fails]}) as inner:
        target = ServerTarget("http://host/mcp?key=sk-1", http_client=inner)
        async with AIClient([target], llm_provider=ScriptedProvider(["hi"])) as ai:
            events = [event async for event in ai.stream_chat("q", [])]
            (status,) = ai.servers
        async with new_client(httpx2.AsyncClient, inner) as client:
            with pytest.raises(httpx2.ReadError, match=r"^the http_client failed: \w+$") as caught:
                await client.get("http://host/?key=sk-1")
    assert "sk-1" in str(caught.value.__cause__)
    assert "sk-1" not in repr(status)
    assert "sk-1" not in repr(events)


async def test_what_the_application_set_for_its_client_counts_unless_the_request_has_it_itself() -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        if request.url.path == "/moved":
            return httpx2.Response(307, headers={"location": "http://elsewhere/"})
        return httpx2.Response(200, headers=[("set-cookie", f"c{len(seen)}=1; Path=/")])

    inner = httpx2.AsyncClient(
        transport=httpx2.MockTransport(answer),
        auth=("user", "secret"),
        headers={"x-app": "shop", "x-both": "app"},
        params={"tenant": "7"},
        cookies={"a": "b"},
        timeout=3,
    )
    async with inner, new_client(httpx2.AsyncClient, inner, timeout=9, headers={"x-both": "ours"}) as client:
        await client.get("http://host/x")
        (first,) = seen
        assert (first.headers["x-app"], first.headers["x-both"]) == ("shop", "ours")
        assert (first.headers["authorization"], first.url.params["tenant"]) == ("Basic dXNlcjpzZWNyZXQ=", "7")
        assert "cookie" not in first.headers
        assert first.extensions["timeout"]["read"] == 9
        await client.get("http://host/moved", follow_redirects=True)
        assert seen[-1].url.host == "elsewhere"
        assert "authorization" not in seen[-1].headers
    assert inner.is_closed


def noted(seen: list[httpx2.Request]) -> httpx2.MockTransport:
    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(500)

    return httpx2.MockTransport(answer)


async def test_the_key_of_a_provider_and_the_query_of_its_url_stay() -> None:
    seen: list[httpx2.Request] = []
    options: Any = {"auth": ("user", "pass"), "params": {"alt": "json", "tenant": "t1"}}
    async with httpx2.AsyncClient(transport=noted(seen), **options) as given:
        for provider in (OpenAIProvider("sk-own", http_client=given), GeminiProvider("g-own", http_client=given)):
            with pytest.raises(ProviderError):
                await ask(provider)
            await provider.aclose()
    to_openai = [request for request in seen if request.url.host == "api.openai.com"]
    to_gemini = [request for request in seen if request not in to_openai]
    assert {request.headers["authorization"] for request in to_openai} == {"Bearer sk-own"}
    assert {request.headers["x-goog-api-key"] for request in to_gemini} == {"g-own"}
    assert {request.headers["authorization"] for request in to_gemini} == {"Basic dXNlcjpwYXNz"}
    assert {request.url.query for request in to_openai} == {b"alt=json&tenant=t1"}
    assert {request.url.query for request in to_gemini} == {b"alt=sse&tenant=t1"}


async def test_the_query_and_the_credentials_in_the_url_of_a_server_stay() -> None:
    seen: list[httpx2.Request] = []
    options: Any = {"auth": ("user", "pass"), "params": {"tenant": "t1", "app": "a b"}}
    async with httpx2.AsyncClient(transport=noted(seen), headers={"user-agent": "shop/1"}, **options) as given:
        for url in ("http://host/mcp?tenant=of%20target", "http://me:mine@host/mcp"):
            target = ServerTarget(url, http_client=given)
            async with AIClient([target], llm_provider=ScriptedProvider(["hi"])) as ai:
                await ai.chat("q", [])
    assert {(request.url.query, request.headers["authorization"]) for request in seen} == {
        (b"tenant=of%20target&app=a+b", "Basic dXNlcjpwYXNz"),
        (b"tenant=t1&app=a+b", "Basic bWU6bWluZQ=="),
    }
    assert {request.headers["user-agent"] for request in seen} == {"shop/1"}


async def test_parameters_of_the_application_stay_with_the_host_that_was_asked() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(307, headers={"location": "http://b/"}) if len(seen) == 1 else httpx2.Response(200)

    seen: list[str] = []
    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(answer), params={"key": "k"}) as given,
        new_client(httpx2.AsyncClient, given, follow_redirects=True) as client,
    ):
        await client.get("http://a/")
    assert seen == ["http://a/?key=k", "http://b/"]


class Challenged(httpx2.Auth):
    """Authentication in two steps."""

    closed = 0

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        try:
            response = yield request
            if response.status_code == 401:
                request.headers["authorization"] = "Answer 1"
                yield request
        finally:
            self.closed += 1


async def test_authentication_of_the_application_may_take_several_requests() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200 if "authorization" in request.headers else 401)

    auth = Challenged()
    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(answer), auth=auth) as given,
        new_client(httpx2.AsyncClient, given) as client,
    ):
        assert (await client.get("http://host/")).status_code == 200
        assert auth.closed == 1
        assert (await client.get("http://host/", headers={"Authorization": "own"})).status_code == 200
        assert auth.closed == 1


async def test_cookies_of_servers_do_not_pile_up_and_those_of_the_application_stay() -> None:
    numbers = itertools.count()
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers.get("cookie", ""))
        cookies = ["session=of-server", *(f"c{next(numbers)}=1" for _ in range(60))]
        return httpx2.Response(200, headers=[("set-cookie", cookie) for cookie in cookies])

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as inner:
        inner.cookies.set("session", "of-app", domain="host.local")
        inner.cookies.set("other", "of-app")
        for _ in range(5):
            async with new_client(httpx2.AsyncClient, inner) as client:
                for _ in range(5):
                    await client.get("http://host/")
        kept = {(cookie.name, cookie.value) for cookie in inner.cookies.jar}
    assert kept == {("session", "of-app"), ("other", "of-app")}
    assert [cookies.count("=") for cookies in sent[:5]] == [0, 61, 0, 61, 0]
    assert "of-app" not in "".join(sent)
    assert sent[5] == ""  # another provider


async def test_cookies_do_not_pile_up_in_a_client_over_our_transport() -> None:
    async with new_client(httpx2.AsyncClient, None) as client:
        for number in range(MAX_COOKIES + 1):
            client.cookies.set(f"c{number}", "1")
        for hook in client.event_hooks["response"]:
            await hook(httpx2.Response(200))
        assert len(client.cookies) == 0


SYNC = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200)))


class Session:
    """What another library has."""


Session.__module__ = "requests.sessions"
OLD = type("AsyncClient", (), {"__module__": "httpx"})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (SYNC, "not a httpx2.Client. Requests are sent from an event loop: httpx2.AsyncClient(...) takes the same"),
        (httpx2.AsyncClient, "not the class AsyncClient. httpx2.AsyncClient(...) takes a proxy"),
        (httpx2.MockTransport(lambda _: httpx2.Response(200)), "Pass httpx2.AsyncClient(transport=...)"),
        (OLD(), "not a httpx.AsyncClient. httpx2 is the successor of httpx"),
        (Session(), "not a requests.sessions.Session. httpx2.AsyncClient(...) takes a proxy"),
        ("http://proxy", "not a builtins.str"),
    ],
)
def test_what_is_no_client_is_refused_where_it_is_given(value: Any, said: str) -> None:
    for refused in (
        lambda: check(value),
        lambda: OpenAIProvider("k", http_client=value),
        lambda: GeminiProvider("k", http_client=value),
        lambda: AIClient([], openai_api_key="k", http_client=value),
        lambda: AIClient([ServerTarget("http://h", http_client=value)], openai_api_key="k"),
    ):
        with pytest.raises(TypeError) as caught:
            refused()
        assert str(caught.value).startswith("http_client must be an httpx2.AsyncClient, ")
        assert said in str(caught.value)


async def test_a_client_that_is_closed_is_refused_and_one_that_is_closed_later_is_not_reached(given: Noting) -> None:
    provider = OpenAIProvider("k", "http://127.0.0.1:9", http_client=given)
    await given.aclose()
    with pytest.raises(ValueError, match="closed"):
        OpenAIProvider("k", http_client=given)
    with pytest.raises(ProviderError, match="cannot be reached: the http_client that sends the requests is closed"):
        await ask(provider)
    await provider.aclose()


def test_a_client_of_an_sdk_has_its_own(given: Any) -> None:
    with pytest.raises(ValueError, match="give that one the http_client"):
        AnthropicProvider(client=object(), http_client=given)  # type: ignore[arg-type]


async def test_the_built_in_provider_and_those_that_are_named_have_the_client(
    chat_server: Any, given: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", chat_server.url)
    chat_server.replies = [chat_server.reply.streamed(text) for text in ("one", "two")]
    options: Any = {"openai_api_key": "k", "openai_base_url": chat_server.url, "http_client": given}
    async with AIClient([], **options) as ai:
        assert (await ai.chat("q", []))["answer"] == "one"
        assert (await ai.chat("q", [], model=("DeepSeekProvider", None)))["answer"] == "two"
        with pytest.raises(ValueError, match="'GeminiCLIProvider', which sends no HTTP requests itself"):
            await ai.chat("q", [], model=("GeminiCLIProvider", None))
    assert len(given.requests) == 2
    assert not given.is_closed
    with pytest.raises(ValueError, match="fallback_models names the provider 'GeminiCLIProvider'"):
        AIClient([], fallback_models=[("GeminiCLIProvider", None)], **options)


def test_another_provider_gets_its_own(given: Any) -> None:
    with pytest.raises(ValueError, match="give it to your llm_provider when you make it"):
        AIClient([], llm_provider=ScriptedProvider(["hi"]), http_client=given)


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_requests_to_a_tool_server_go_through_its_client(given: Noting, path: str) -> None:
    app = plain().http_app(path=path, transport="sse" if path == "/sse" else "http")
    async with hosted(app) as url:
        target = ServerTarget(f"{url}{path}", http_client=given, headers={"x-mine": "1"}, auth="token")
        model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "three")
        async with AIClient([target], llm_provider=model) as ai:
            result = await ai.chat("q", [])
    assert result["answer"] == "three"
    posts = [request for request in given.requests if request.method == "POST"]
    assert len(posts) >= 2
    for request in posts:
        assert (request.headers["x-mine"], request.headers["x-app"]) == ("1", "shop")
        assert request.headers["authorization"] == "Bearer token"
        assert request.headers["accept-encoding"] == "identity"
    assert not given.is_closed


async def test_a_server_behind_a_client_is_another_than_without_and_a_command_has_none(given: Any) -> None:
    alone, again, behind = (
        source(ServerTarget("http://h", http_client=client), 1).identity for client in (None, None, given)
    )
    assert alone == again
    assert alone != behind
    with pytest.raises(ValueError, match="http_client is an option for a URL"):
        AIClient([ServerTarget("python server.py", http_client=given)], openai_api_key="k")
