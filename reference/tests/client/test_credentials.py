"""Servers whose credentials depend on the chat: nobody uses another's connection, tools or answers (XMCP-CLI-119)."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import logging
from collections import Counter
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import fastmcp
import httpx2
import pytest
from fastmcp.server.dependencies import get_http_headers
from fastmcp.server.middleware import Middleware
from support.chats import answers_in
from support.clock import never
from support.http_host import HttpHost
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.client import AIClient
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext
from xmcp.client.servers import credential_pool, credentials
from xmcp.client.servers.credential_pool import CredentialPool
from xmcp.client.servers.credentials import Credentials
from xmcp.client.servers.errors import ConnectionsBusy
from xmcp.client.servers.targets import ServerTarget
from xmcp.client.tools.catalogue import Entry
from xmcp.storage import MemoryCache


def bearer() -> str:
    return get_http_headers(include={"authorization"}).get("authorization", "nobody").removeprefix("Bearer ")


class Listed(Middleware):
    """Counts listings by credential, and hides `secret_tool` from everybody but `boss`."""

    def __init__(self) -> None:
        self.listings: Counter[str] = Counter()

    async def on_list_tools(self, context: Any, call_next: Any) -> Any:
        self.listings[bearer()] += 1
        return [tool for tool in await call_next(context) if tool.name != "secret_tool" or bearer() == "boss"]


class Echo:
    """A server that says which credential it saw, and what was called."""

    def __init__(self, url: str, listed: Listed) -> None:
        self.url = url
        self.listings = listed.listings
        self.calls: Counter[str] = Counter()


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    listed = Listed()
    mcp: Any = fastmcp.FastMCP("echo", middleware=[listed])
    host = HttpHost()
    made = Echo(host.url, listed)

    @mcp.tool(annotations={"readOnlyHint": True})
    async def whoami(n: int = 0) -> str:
        seen = bearer()
        made.calls[seen] += 1
        await asyncio.sleep(0.002 * (n % 5))
        return f"{seen}/{bearer()}"

    @mcp.tool
    def secret_tool() -> str:
        return "secret"

    await host.serve(mcp.http_app())
    yield made
    await host.close()


def by_tenant(chat: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {chat.tenant_id}"}


def client(echo: Echo, model: Any, headers: Any = by_tenant, mode: str = "auto", **options: Any) -> AIClient:
    target = ServerTarget(target=echo.url, headers=headers, mode=mode)
    return AIClient([target], llm_provider=model, retry_policy={"max_attempts": 1}, **options)


def asking(turns: int = 1) -> ScriptedModel:
    """A model that calls `whoami` three times in each of so many turns of every chat."""

    def answer(request: Any) -> Any:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        return asks(*[("whoami", {"n": n + turn}) for n in range(3)]) if turn < turns else "end"

    return ScriptedModel(then=lambda _: answer)


def seen(result: Any) -> list[str]:
    return [answer.llm_output or "" for answer in answers_in(result["history"]).values()]


def pool_of(ai: AIClient) -> Any:
    (pool,) = ai._servers.credential_pools.values()
    return pool


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_twenty_tenants_interleaved_are_each_seen_as_themselves(echo: Echo, mode: str) -> None:
    async with client(echo, asking(turns=2), mode=mode, cache=MemoryCache(), cache_read_only=True) as ai:
        chats = [(f"t{number % 20}", ai.chat("q", [], tenant_id=f"t{number % 20}")) for number in range(60)]
        results = await asyncio.gather(*(running for _, running in chats))
        assert len(pool_of(ai)) == 20
    for (tenant, _), result in zip(chats, results, strict=True):
        assert [text for text in seen(result) if f"{tenant}/{tenant}" not in text] == []
        assert len(seen(result)) == 6
    assert set(echo.calls) == {f"t{number}" for number in range(20)}


async def test_answers_in_the_cache_and_calls_under_way_are_of_one_credential_even_within_a_tenant(echo: Echo) -> None:
    def by_user(chat: Any) -> dict[str, str]:
        return {"Authorization": f"Bearer {chat.session_id}"}

    async with client(echo, asking(), by_user, cache=MemoryCache(), cache_read_only=True) as ai:
        users = ["ann", "bob"] * 4
        results = await asyncio.gather(*(ai.chat("q", [], tenant_id="one", session_id=user) for user in users))
    for user, result in zip(users, results, strict=True):
        assert all(f"{user}/{user}" in text for text in seen(result))
    assert echo.calls == {"ann": 3, "bob": 3}  # the cache works, for each of them


async def test_a_call_of_the_application_itself_has_the_credentials_of_its_tenant(echo: Echo) -> None:
    async with client(echo, ScriptedModel()) as ai:
        answers = await asyncio.gather(*(ai.call_tool("whoami", tenant_id=tenant) for tenant in ("ann", "bob")))
        unknown = await ai.call_tool("secret_tool", tenant_id="ann")
        secret = await ai.call_tool("secret_tool", tenant_id="boss")
    assert [answer.llm_output for answer in answers] == ["ann/ann", "bob/bob"]
    assert unknown.error is not None
    assert unknown.error.code == "UNKNOWN_TOOL"
    assert secret.llm_output == "secret"


async def test_each_credential_has_a_list_of_tools_of_its_own(echo: Echo) -> None:
    model = ScriptedModel()
    async with client(echo, model) as ai:
        for tenant in ("boss", "clerk", "boss"):
            await ai.chat("q", [], tenant_id=tenant)
        assert ai.tools == []
        offered = [[tool["function"]["name"] for tool in request.tools.tools] for request in model.requests]
    assert offered == [["whoami", "secret_tool"], ["whoami"], ["whoami", "secret_tool"]]
    assert echo.listings == {"boss": 1, "clerk": 1}  # the third chat found the connection of the first


async def test_a_tool_that_the_application_calls_itself_gets_the_credentials_of_the_tenant(echo: Echo) -> None:
    async with client(echo, ScriptedModel()) as ai:
        for tenant in ("acme", "bolt"):
            answer = await ai.call_tool("whoami", tenant_id=tenant)
            assert f"{tenant}/{tenant}" in (answer.llm_output or "")
        assert pool_of(ai)._slots._free == credential_pool.MAX_CONNECTIONS


@pytest.mark.parametrize("kind", ["sync", "async", "auth"])
async def test_a_function_may_be_async_and_may_return_a_token(echo: Echo, kind: str) -> None:
    async def headers(chat: Any) -> dict[str, str]:
        await asyncio.sleep(0)
        return by_tenant(chat)

    options: dict[str, Any] = {"sync": {"headers": by_tenant}, "async": {"headers": headers}}.get(
        kind, {"auth": lambda chat: chat.tenant_id}
    )
    async with AIClient([ServerTarget(target=echo.url, **options)], llm_provider=asking()) as ai:
        assert "acme/acme" in seen(await ai.chat("q", [], tenant_id="acme"))[0]


async def test_a_renewed_token_is_used_from_the_next_turn_on(echo: Echo) -> None:
    tokens = iter(["old", "new"])
    async with client(echo, asking(turns=2), lambda _: {"Authorization": f"Bearer {next(tokens)}"}) as ai:
        texts = seen(await ai.chat("q", []))
    assert ["old" in text for text in texts] == [True] * 3 + [False] * 3
    assert all("new/new" in text for text in texts[3:])


async def test_chats_that_renew_their_tokens_do_not_wait_for_each_others_connections(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each chat holds one of all the connections that there may be when it comes with its next token."""
    monkeypatch.setattr(credential_pool, "MAX_CONNECTIONS", 3)
    tokens, begun = iter(range(1_000)), asyncio.Barrier(3)

    async def answer(request: Any) -> Any:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        if turn == 0:
            await begun.wait()
        return asks(("whoami", {"n": turn})) if turn < 3 else "end"

    model = ScriptedModel(then=lambda _: answer)
    async with client(echo, model, lambda _: {"Authorization": f"Bearer {next(tokens)}"}, connect_timeout=20) as ai:
        pool_of(ai)._connect_timeout = 5  # of which nothing is used
        results = await asyncio.gather(*(ai.chat("q", [], tenant_id=f"t{n}") for n in range(3)))
        assert pool_of(ai)._slots._free == 3
    errors = [answer.error for result in results for answer in answers_in(result["history"]).values() if answer.error]
    assert errors == []


async def test_credentials_of_which_no_connection_can_be_made_fail_this_chat_and_leave_nothing(echo: Echo) -> None:
    answers: list[Any] = [([],), lambda: "no Auth"]

    async def slowly(chat: Any) -> dict[str, str]:
        with contextlib.suppress(asyncio.CancelledError):  # it does not obey
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.01)
        return by_tenant(chat)

    for answer in answers:

        async def unusable(_: Any, answer: Any = answer) -> Any:
            await asyncio.sleep(0.05)
            return answer

        targets = [ServerTarget(echo.url, auth=unusable), ServerTarget(echo.url, headers=slowly)]
        async with AIClient(targets, llm_provider=ScriptedModel()) as ai:
            told = [event async for event in ai.stream_chat("q", [], tenant_id="a")]
            cancelled = asyncio.create_task(ai.chat("q", [], tenant_id="b"))
            await asyncio.sleep(0.01)
            cancelled.cancel()
            await asyncio.wait({cancelled})
            await asyncio.sleep(0.1)
            pools = ai._servers.credential_pools.values()
            assert [kept.users for pool in pools for kept in pool._kept.values()] == [0] * sum(map(len, pools))
            assert {pool._slots._free for pool in pools} == {credential_pool.MAX_CONNECTIONS}
        assert ["cannot be used in this chat" in event.text for event in told if event.type == "warning"] == [True]


async def test_credentials_that_cannot_be_had_fail_this_chat_and_no_other(echo: Echo) -> None:
    def headers(chat: Any) -> dict[str, str]:
        if chat.tenant_id == "poor":
            raise KeyError("s3cret of poor")
        return by_tenant(chat)

    async with client(echo, asking(), headers) as ai:
        stream = ai.stream_chat("q", [], tenant_id="poor")
        rich = asyncio.create_task(ai.chat("q", [], tenant_id="rich"))
        told = [event async for event in stream]
        assert "rich/rich" in seen(await rich)[0]
    warning = next(event.text for event in told if event.type == "warning")
    assert "cannot be used in this chat: the function `headers` failed with KeyError" in warning
    assert "s3cret" not in str(told[-1].result)
    assert set(echo.calls) == {"rich"}


async def test_credentials_that_are_lost_during_a_chat_fail_its_calls_with_what_to_do(echo: Echo) -> None:
    left = [1]

    def headers(chat: Any) -> dict[str, str]:
        left.append(left.pop() - 1)
        if left[0] < 0:
            raise KeyError
        return by_tenant(chat)

    async with client(echo, asking(turns=2), headers) as ai:
        result = await ai.chat("q", [], tenant_id="acme")
    codes = [answer.error.code if answer.error else None for answer in answers_in(result["history"]).values()]
    assert codes == [None] * 3 + ["AUTH_REQUIRED"] * 3
    assert echo.calls == {"acme": 3}


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("headers", "Bearer x", "returned a str, not a mapping"),
        ("headers", {"Authorization": 7}, "cannot be sent as a header"),
        ("headers", {"X": "a\r\nAuthorization: Bearer root"}, "cannot be sent as a header"),
        ("auth", 7, "returned a int"),
        ("auth", ["x"], "returned a list"),
    ],
)
async def test_what_is_no_credential_is_refused_before_anything_is_sent(
    echo: Echo, option: str, value: Any, said: str
) -> None:
    options = {option: lambda _: value}
    async with AIClient([ServerTarget(target=echo.url, **options)], llm_provider=ScriptedModel()) as ai:
        told = [event async for event in ai.stream_chat("q", [])]
    assert [said in event.text for event in told if event.type == "warning"] == [True]
    assert not echo.listings


async def test_a_function_that_hangs_is_not_waited_for(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "CREDENTIAL_SECONDS", 0.01)
    async with client(echo, ScriptedModel(), never) as ai:
        told = [event async for event in ai.stream_chat("q", [])]
    assert "did not return in time" in next(event.text for event in told if event.type == "warning")


async def test_a_chats_time_limit_holds_for_its_credentials_too(echo: Echo) -> None:
    async with client(echo, ScriptedModel(), never, chat_timeout=0.05) as ai:
        result = await ai.chat("q", [])
    assert result["stop_reason"] == "timeout"


async def test_a_connection_that_no_chat_uses_is_closed_and_opened_again_when_needed(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credential_pool, "IDLE_SECONDS", 0.05)
    async with client(echo, ScriptedModel()) as ai:
        await ai.chat("q", [], tenant_id="a")
        assert ai.servers[0].connected
        async with asyncio.timeout(300):
            while len(pool_of(ai)):  # noqa: ASYNC110 - nothing tells when it is closed
                await asyncio.sleep(0.01)
        assert not ai.servers[0].connected
        await ai.chat("q", [], tenant_id="a")
    assert echo.listings == {"a": 2}


async def test_there_are_never_more_connections_than_allowed(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credential_pool, "MAX_CONNECTIONS", 2)
    most = 0
    async with client(echo, asking(turns=2)) as ai:
        pool = pool_of(ai)
        make = pool._make_room

        def watched() -> None:
            nonlocal most
            make()
            most = max(most, len(pool) + 1)

        pool._make_room = watched
        results = await asyncio.gather(*(ai.chat("q", [], tenant_id=f"t{n}") for n in range(8)))
        assert [f"t{n}/t{n}" in text for n, result in enumerate(results) for text in seen(result)] == [True] * 48
        assert pool._slots._free == 2
    assert most == 2


async def test_a_chat_for_which_there_is_no_connection_left_says_so(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credential_pool, "MAX_CONNECTIONS", 1)
    hang = ScriptedModel(then=[never])
    async with client(echo, hang, connect_timeout=10) as ai:
        pool_of(ai)._connect_timeout = 0.05
        busy = asyncio.create_task(ai.chat("q", [], tenant_id="a"))
        await asyncio.wait_for(hang.asked.wait(), 300)
        hang.then = "end"
        told = [event async for event in ai.stream_chat("q", [], tenant_id="b")]
        busy.cancel()
        await asyncio.wait({busy})
        assert pool_of(ai)._slots._free == 1
    assert "none of the 1 connections" in next(e.text for e in told if e.type == "warning")


async def test_calls_for_which_there_is_no_connection_now_say_that_they_can_be_made_later(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credential_pool, "MAX_CONNECTIONS", 1)
    renewed, asked, holding = asyncio.Event(), asyncio.Event(), asyncio.Event()
    tokens = itertools.count()

    async def answer(request: Any) -> Any:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        if request.messages[0]["content"] == "hold":
            holding.set()
            await asyncio.Event().wait()
        if turn == 0:
            asked.set()
            await renewed.wait()
        return asks(("whoami", {"n": turn})) if turn < 2 else "end"

    def headers(chat: Any) -> dict[str, str]:
        return {"Authorization": f"Bearer {chat.tenant_id}{next(tokens)}"}

    model = ScriptedModel(then=lambda _: answer)
    async with client(echo, model, headers, connect_timeout=10) as ai:
        pool = pool_of(ai)
        chat = asyncio.create_task(ai.chat("q", [], tenant_id="b"))
        await asked.wait()
        waiting = asyncio.create_task(ai.chat("hold", [], tenant_id="a"))
        while not pool._slots._waiting:  # noqa: ASYNC110 - for the connection of `b`, which comes with its next token
            await asyncio.sleep(0.01)
        pool._connect_timeout = 0.05
        renewed.set()
        await holding.wait()
        result = await chat
        direct = await ai.call_tool("whoami", tenant_id="b")
        waiting.cancel()
        await asyncio.wait({waiting})
    errors = [answer.error for answer in answers_in(result["history"]).values()]
    assert [error and (error.code, error.retryable) for error in errors] == [None, ("RATE_LIMIT", True)]
    assert direct.error is not None
    assert (direct.error.code, direct.error.retryable) == ("RATE_LIMIT", True)


# ---- the pool alone ----


class Chats:
    """A pool without servers, and leases of it by tenant and credential."""

    def __init__(self, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(credential_pool, "MAX_CONNECTIONS", limit)
        self.made: list[str] = []
        self.pool = CredentialPool(
            ServerTarget("http://host", headers=by_tenant),
            self._make,
            name="s",
            label="s",
            connect_timeout=0.05,
            refresh_interval=0,
            log=EventLog(),
        )

    def _make(self, target: ServerTarget) -> Any:
        self.made.append(dict(target.headers or {})["x"])  # type: ignore[arg-type]
        return SimpleNamespace(server=SimpleNamespace(close=never_mind))

    async def lease(self, tenant: str | None, credential: str) -> Any:
        return await self.pool.lease(ChatContext("c", tenant, None), Credentials({"x": credential}, None))

    def kept(self) -> list[str]:
        return [dict(kept.key[0])["x"] for kept in self.pool._kept.values()]  # type: ignore[index]


async def never_mind() -> None:
    """Close nothing."""


async def test_a_tenant_with_very_many_credentials_leaves_connections_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chats = Chats(100, monkeypatch)
    many = await asyncio.gather(*(chats.lease("a", f"a{n}") for n in range(100)), return_exceptions=True)
    had = [lease for lease in many if not isinstance(lease, BaseException)]
    assert len(had) == 80
    assert {type(lease) for lease in many if isinstance(lease, BaseException)} == {ConnectionsBusy}
    assert len(await asyncio.gather(*(chats.lease("b", f"b{n}") for n in range(10)))) == 10
    waiting = asyncio.create_task(chats.lease("a", "another"))
    await asyncio.sleep(0)
    chats.pool.release(had[0])
    chats.pool.release(had[1])
    assert not waiting.done()  # it has more than its share, since there is another tenant
    with pytest.raises(ConnectionsBusy):
        await waiting
    for lease in had[2:]:
        chats.pool.release(lease)
    await chats.lease("a", "another")


async def test_a_new_connection_takes_the_place_of_an_idle_one_of_the_tenant_that_has_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chats = Chats(4, monkeypatch)
    for tenant, credential in [("b", "b1"), ("a", "a1"), ("a", "a2"), ("a", "a3")]:
        chats.pool.release(await chats.lease(tenant, credential))
    await chats.lease("a", "a4")
    assert chats.kept() == ["b1", "a2", "a3", "a4"]
    await chats.lease("c", "c1")
    assert chats.kept() == ["b1", "a3", "a4", "c1"]


async def test_chats_that_waited_for_one_connection_have_one_place_together(monkeypatch: pytest.MonkeyPatch) -> None:
    chats = Chats(2, monkeypatch)
    first, second = await chats.lease("a", "1"), await chats.lease("b", "2")
    both = [asyncio.create_task(chats.lease(tenant, "3")) for tenant in "cd"]
    await asyncio.sleep(0)
    chats.pool.release(first)
    chats.pool.release(second)
    leases = await asyncio.gather(*both)
    assert leases[0] is leases[1]
    assert chats.pool._slots._free == 1
    for lease in leases:
        chats.pool.release(lease)
    assert chats.pool._slots._free == 2
    assert not chats.pool._slots._taken  # type: ignore[attr-defined]
    assert chats.made == ["1", "2", "3"]


@pytest.mark.usefixtures("nothing_left")
async def test_a_chat_that_is_cancelled_while_it_waits_for_credentials_or_a_connection_leaves_nothing(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credential_pool, "MAX_CONNECTIONS", 1)
    hang = ScriptedModel(then=[never])
    async with client(echo, hang) as ai:
        pool = pool_of(ai)
        chats = [asyncio.create_task(ai.chat("q", [], tenant_id=f"t{n}")) for n in range(3)]
        await asyncio.wait_for(hang.asked.wait(), 300)
        for chat in chats:
            chat.cancel()
        await asyncio.wait(chats)
        assert (pool._slots._free, [kept.users for kept in pool._kept.values()]) == (1, [0])
        assert not pool._slots._waiting


@pytest.mark.usefixtures("nothing_left")
async def test_a_closed_client_has_closed_every_connection(echo: Echo) -> None:
    async with client(echo, asking()) as ai:
        await asyncio.gather(*(ai.chat("q", [], tenant_id=f"t{n}") for n in range(5)))
        servers = [kept.member.server for kept in pool_of(ai)._kept.values()]
        assert [server.connected for server in servers] == [True] * 5
    assert [server.connected for server in servers] == [False] * 5


async def test_refreshing_lists_the_tools_of_every_credential_again(echo: Echo) -> None:
    async with client(echo, ScriptedModel()) as ai:
        for _ in range(2):
            await ai.chat("q", [], tenant_id="a")
        await ai.refresh_tools()
        await ai.chat("q", [], tenant_id="a")
    assert echo.listings == {"a": 2}


async def test_no_secret_is_logged_or_shown(echo: Echo, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "xmcp")
    async with client(echo, asking(), lambda _: {"Authorization": "Bearer s3cret"}) as ai:
        await ai.chat("q", [])
        pool = pool_of(ai)
        (kept,) = pool._kept.values()
        shown = repr((ai.servers, kept, kept.member.server.identity, kept.member.server.label))
    assert "s3cret" not in caplog.text + shown


TENANT: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


class FromContext(httpx2.Auth):
    """Takes the credential from where the request is sent."""

    def auth_flow(self, request: Any) -> Any:
        request.headers["Authorization"] = f"Bearer {TENANT.get()}"
        yield request


async def test_a_shared_connection_sends_in_the_context_of_each_call_and_not_of_the_chat_that_opened_it(
    echo: Echo,
) -> None:
    """The server is down at the start, so the first chat opens the connection that all others use."""
    async with AIClient([ServerTarget(target=echo.url, auth=FromContext())], llm_provider=asking()) as ai:
        (member,) = ai._servers.shared
        member.server._retire(member.server._connection, ConnectionError("gone"))

        async def chat(tenant: str) -> Any:
            TENANT.set(tenant)
            return await ai.chat("q", [], tenant_id=tenant)

        results = [await asyncio.create_task(chat(tenant)) for tenant in ("first", "second")]
    assert not [text for text in seen(results[1]) if "first" in text]


def test_a_function_that_is_no_function_of_the_chat_is_refused_when_the_client_is_made() -> None:
    for options in ({"headers": lambda _, __: {}}, {"auth": lambda: "t"}):
        with pytest.raises(TypeError, match="is called with"):
            AIClient([ServerTarget(target="http://localhost:1", **options)], llm_provider=ScriptedModel())
    with pytest.raises(ValueError, match="headers is an option for a URL"):
        AIClient([ServerTarget(target=["python"], headers=by_tenant)], llm_provider=ScriptedModel())


async def test_a_server_that_changes_costs_no_chat_the_tools_of_the_others(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    of = Entry.of.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(Entry, "of", classmethod(lambda cls, name, *rest: made.append(name) or of(cls, name, *rest)))
    shifting = ScriptedServer({"first": "x"}, "shifting")
    steady = ScriptedServer({f"t{n}": "x" for n in range(50)}, "steady")
    targets = [ServerTarget(target=echo.url, headers=by_tenant), shifting, steady]
    async with AIClient(targets, llm_provider=ScriptedModel(*["end"] * 6)) as ai:
        for tenant in ("a", "b", "c"):
            await ai.chat("q", [], tenant_id=tenant)
        made.clear()
        shifting.acts = {"second": "x"}
        await ai.refresh_tools()
        for tenant in ("a", "b", "c"):
            await ai.chat("q", [], tenant_id=tenant)
    # Those that were listed again once, for all chats.
    assert Counter(made)["second"] == 1
    assert Counter(made)["t7"] <= 1
