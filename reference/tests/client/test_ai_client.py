"""AIClient from the outside: histories, options, running chats."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Any
from uuid import UUID

import fastmcp
import pytest
from support.http_host import HttpHost, http_host
from support.scripted_server import ScriptedServer

from xmcp import XMCP
from xmcp.client import AIClient, ServersUnavailable
from xmcp.providers import ErrorCategory, OpenAIProvider, ProviderError, ScriptedProvider, Turn
from xmcp.storage import MemoryCache
from xmcp.wire import ToolResponse


def ai(script: Any = ("hi",), targets: Any = (), **options: Any) -> AIClient:
    return AIClient(targets, llm_provider=ScriptedProvider(script), **options)


@pytest.mark.parametrize("history", [(), (None,)], ids=["omitted", "None"])
async def test_a_chat_without_a_history_is_refused_and_the_message_says_what_to_pass(history: Any) -> None:
    async with ai() as client:
        with pytest.raises(ValueError, match=r"\[\] for a new conversation"):
            await client.chat("q", *history)
        with pytest.raises(ValueError, match="history"):
            client.stream_chat("q", *history)


async def test_the_loop_of_the_readme_works_with_the_query_appended_or_not() -> None:
    histories: list[Any] = [[], []]
    async with ai(["one", "two"]) as client:
        for turn, expected in enumerate(["one", "two"]):
            for place, appended in enumerate([True, False]):
                history = histories[place]
                if appended:
                    history.append({"role": "user", "content": f"q{turn}"})
                result = await client.chat(f"q{turn}", history)
                assert result["answer"] == expected
                histories[place] = result["history"]
    assert histories[0] == histories[1]
    assert [message["role"] for message in histories[0]] == ["user", "assistant"] * 2


async def test_the_callers_list_and_its_messages_are_not_changed() -> None:
    message = {"role": "user", "content": "before"}
    history = [message]
    async with ai() as client:
        result = await client.chat("q", history)
    assert history == [message] == [{"role": "user", "content": "before"}]
    assert len(result["history"]) == 3


async def test_one_list_in_two_running_chats_is_an_error_and_two_lists_are_not() -> None:
    gate = asyncio.Event()

    async def script(messages: Any, tools: Any) -> str:
        await gate.wait()
        return "ok"

    history: list[Any] = []
    async with ai(script) as client:
        first = asyncio.create_task(client.chat("a", history))
        other = asyncio.create_task(client.chat("b", []))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="its own list"):
            await client.chat("c", history)
        gate.set()
        assert (await first)["answer"] == (await other)["answer"] == "ok"
        assert (await client.chat("d", history))["answer"] == "ok"


async def test_a_broken_off_chat_gives_its_list_back() -> None:
    history: list[Any] = []
    async with ai() as client:
        async with aclosing(client.stream_chat("q", history)) as events:
            await anext(events)
        assert (await client.chat("q", history))["answer"] == "hi"


async def test_a_stream_that_was_dropped_gives_its_list_back_at_once() -> None:
    history: list[Any] = []
    async with ai() as client:
        async for _ in client.stream_chat("q", history):
            break
        assert (await client.chat("q", history))["answer"] == "hi"
        assert client._running == {}


async def test_the_end_of_a_dropped_stream_does_not_free_the_list_for_a_third_chat() -> None:
    history: list[Any] = []
    async with ai() as client:
        async for _ in client.stream_chat("q", history):
            break
        async with aclosing(client.stream_chat("q", history)) as second:
            await anext(second)
            for _ in range(5):
                await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="its own list"):
                await client.chat("q", history)


async def test_a_history_that_no_model_takes_is_refused() -> None:
    async with ai() as client:
        with pytest.raises(ValueError, match=r"history\[0\]"):
            await client.chat("q", [{"role": "tool", "tool_call_id": "x", "content": ""}])
        with pytest.raises(TypeError, match="list of messages"):
            await client.chat("q", "text")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="user_query must be a text"):
            await client.chat(5, [])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="pass a query"):
            await client.chat(None, [])


async def test_a_client_that_is_not_entered_says_how_to() -> None:
    client = ai()
    with pytest.raises(RuntimeError, match="async with"):
        await client.chat("q", [])
    async with client:
        with pytest.raises(RuntimeError, match="in use"):
            await client.__aenter__()
    async with client:
        assert (await client.chat("q", []))["answer"] == "hi"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_turns": 0}, "max_turns must be above 0"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"tool_timeout": -1}, "tool_timeout"),
        ({"connect_timeout": 0}, "connect_timeout"),
        ({"display": "never"}, "'exit' or 'continue'"),
        ({"openai_api_key": "k"}, "not both"),
        ({"openai_base_url": "http://h"}, "not both"),
    ],
)
def test_options_that_cannot_work_are_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ai(**options)


def test_servers_and_provider_must_be_what_they_are_called() -> None:
    with pytest.raises(TypeError, match="must be a list, such as"):
        AIClient("http://localhost:3333", openai_api_key="k")
    with pytest.raises(TypeError, match="llm_provider"):
        AIClient([], llm_provider="gpt")  # type: ignore[arg-type]


def test_no_key_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ProviderError) as caught:
        AIClient([])
    assert caught.value.category is ErrorCategory.AUTH


async def test_many_chats_share_a_client_without_seeing_each_other(servers: Any) -> None:
    script = [Turn(calls=[("add", {"a": 1, "b": 1})]), "done"]
    async with ai(script, [servers.plain()]) as client:
        results = await asyncio.gather(*(client.chat(f"q{n}", []) for n in range(20)))
    for n, result in enumerate(results):
        assert result["answer"] == "done"
        assert [message["content"] for message in result["history"] if message["role"] == "user"] == [f"q{n}"]
        assert len(result["history"]) == 4


async def test_what_a_plain_server_returns_reaches_the_model_as_text_and_forges_no_display(servers: Any) -> None:
    shown: list[Any] = []
    async with ai(
        [Turn(calls=[("forge", {}), ("nothing", {})]), "done"], [servers.plain()], on_display=lambda *a: shown.append(a)
    ) as client:
        result = await client.chat("q", [])
    assert (shown, result["displays"]) == ([], [])
    forge, nothing = [ToolResponse.from_xml(m["content"]) for m in result["history"] if m["role"] == "tool"]
    assert (forge.tool_name, forge.llm_output, forge.display) == ("forge", servers.FORGED, None)
    assert nothing.error is None


async def test_a_document_that_cannot_be_read_never_reaches_the_model(servers: Any) -> None:
    async with ai([Turn(calls=[("garble", {}), ("bad_display", {})]), "done"], [servers.xmcp_style()]) as client:
        told = [chunk async for chunk in client.stream_chat("q", [])]
    result = told[-1].result
    assert result is not None
    garble, bad = [m["content"] for m in result["history"] if m["role"] == "tool"]
    assert "INVALID_XML" in garble
    assert "secret" not in garble
    assert ToolResponse.from_xml(bad).llm_output == "kept"
    assert "oops" not in bad
    assert [chunk.tool_name for chunk in told if chunk.type == "warning"] == ["bad_display"]


async def test_the_model_sees_a_reference_for_a_large_display_and_the_person_the_whole(servers: Any) -> None:
    script = [Turn(calls=[("show", {"title": "Big", "rows": 1000})])]
    async with ai(script, [servers.xmcp_style()]) as client:
        result = await client.chat("q", [])
    assert result["display"] is not None
    assert len(result["display"].payload) == 1000
    read = ToolResponse.from_xml(result["history"][-1]["content"])
    assert read.display is not None
    assert read.display.payload["type"] == "table"
    assert read.display.title == "Big"


async def test_the_log_has_fields_and_neither_arguments_nor_results(
    servers: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "xmcp")
    async with ai([Turn(calls=[("tell", {"text": "confidential"})]), "classified"], [servers.xmcp_style()]) as client:
        await client.chat("private", [], session_id="s-1")
    mine = [record for record in caplog.records if record.name == "xmcp"]
    call = next(record for record in mine if record.getMessage().startswith("tool_call"))
    assert call.xmcp["session_id"] == "s-1"  # type: ignore[attr-defined]
    assert {"tool_name", "duration_ms", "outcome"} < {*call.xmcp}  # type: ignore[attr-defined]
    text = " ".join(record.getMessage() for record in mine)
    assert not any(word in text for word in ("confidential", "classified", "private"))


async def test_a_server_that_cannot_be_reached_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    nobody = HttpHost()
    async with ai(targets=[nobody.url]) as client:
        await client.chat("q", [])
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert "cannot be reached, its tools are missing" in warning


async def test_a_structlog_like_logger_gets_event_and_fields() -> None:
    events: list[tuple[str, str, dict[str, Any]]] = []

    class Logger:
        def __getattr__(self, level: str) -> Any:
            return lambda event, **fields: events.append((level, event, fields))

    async with ai(logger=Logger()) as client:
        await client.chat("q", [], tenant_id="t", session_id="s")
    (done,) = [(level, fields) for level, event, fields in events if event == "chat_done"]
    assert len(done[1].pop("chat_id")) == 32
    assert done == (
        "info",
        {"tenant_id": "t", "session_id": "s", "turn": 1, "stop_reason": "stop", "displays": 0},
    )


@pytest.mark.parametrize(
    ("own", "given", "expected"), [(7.0, None, 7), (7.0, 2.4, 2), (None, None, 300), (0.2, None, 1)]
)
async def test_answers_are_kept_as_long_as_the_application_says_else_the_cache(
    own: float | None, given: float | None, expected: int
) -> None:
    kept: list[int] = []

    class Kept:
        ttl = own

        async def get(self, key: str) -> None:
            return None

        async def set(self, key: str, value: str, ttl: int) -> None:
            kept.append(ttl)

    server = ScriptedServer({"t": "ok"}, t={"annotations": {"readOnlyHint": True}})
    async with ai(
        [Turn(calls=[("t", {})]), "x"], [server], cache=Kept(), cache_ttl=given, cache_read_only=True
    ) as client:
        await client.chat("q", [])
    assert kept == [expected]


def Tools(name: str = "t", **described: Any) -> ScriptedServer:
    """An application's own tool, which waits for nothing but its turn."""
    return ScriptedServer({name: "ok"}, speaks_xmcp=False, delays=[3] * 99, **{name: described})


BROKEN_ARGUMENTS = {
    "too deep": '{"x": ' + "[" * 300 + "]" * 300 + "}",
    "too large": '{"x": 1e999}',
    "no number": '{"x": NaN}',
    "too many digits": '{"x": ' + "9" * 5_000 + "}",
}


@pytest.mark.parametrize("written", BROKEN_ARGUMENTS)
async def test_no_arguments_of_a_model_end_the_connection_to_a_server(
    written: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = fastmcp.FastMCP("s")

    @server.tool
    def t(x: object = None) -> str:
        return "fine"

    calls: Any = [("t", BROKEN_ARGUMENTS[written])] * 6
    async with ai([Turn(calls=calls), Turn(calls=[("t", {"x": 1})]), "done"], [server]) as client:
        async with asyncio.timeout(300):
            result = await client.chat("q", [])
    *broken, good = [ToolResponse.from_xml(m["content"]) for m in result["history"] if m["role"] == "tool"]
    assert [answer.error and answer.error.code for answer in broken] == ["VALIDATION_FAIL"] * 6
    assert good.llm_output == "fine"
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


async def test_an_empty_history_that_nobody_can_change_is_in_any_number_of_chats() -> None:
    gate = asyncio.Event()

    async def script(messages: Any, tools: Any) -> str:
        await gate.wait()
        return "ok"

    async with ai(script) as client, asyncio.timeout(5):
        chats = [asyncio.create_task(client.chat("q", ())) for _ in range(3)]
        for _ in range(5):
            await asyncio.sleep(0)
        gate.set()
        assert [(await task)["answer"] for task in chats] == ["ok"] * 3
        assert client._running == {}


async def test_providers_made_from_the_names_of_their_classes_are_closed_and_those_given_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[Any] = []

    async def aclose(self: Any) -> None:
        closed.append(self)

    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr(OpenAIProvider, "aclose", aclose)
    given = OpenAIProvider()
    client = ai(fallback_models=[("OpenAIProvider", "one"), (given, "two")])
    async with client:
        assert closed == []
    assert closed == [client._settings.models[1].provider]
    closed.clear()
    async with AIClient([]) as own:
        pass
    assert closed == [own._settings.models[0].provider]


def test_a_client_can_be_entered_in_one_event_loop_after_another_with_calls_that_wait_for_their_slot() -> None:
    tools = Tools()
    client = ai([Turn(calls=[("t", {"n": n}) for n in range(3)]), "done"], [tools], max_concurrency=1)

    async def once() -> list[Any]:
        async with client, asyncio.timeout(300):
            result = await client.chat("q", [])
        return [ToolResponse.from_xml(m["content"]).llm_output for m in result["history"] if m["role"] == "tool"]

    assert [asyncio.run(once()) for _ in range(2)] == [["ok"] * 3] * 2


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"tool_timeout": None}, TypeError, "tool_timeout"),
        ({"tool_timeout": {"t": None}}, TypeError, "tool_timeout"),
        ({"tool_timeout": "5"}, TypeError, "tool_timeout"),
        ({"tool_timeout": {"t": "5"}}, TypeError, r"tool_timeout\['t'\]"),
        ({"tool_timeout": True}, TypeError, "tool_timeout"),
        ({"tool_timeout": float("inf")}, ValueError, "tool_timeout"),
        ({"tool_timeout": float("nan")}, ValueError, "tool_timeout"),
        ({"max_concurrency": 1.5}, TypeError, "max_concurrency"),
        ({"max_concurrency": True}, TypeError, "max_concurrency"),
        ({"max_concurrency": None}, TypeError, "max_concurrency"),
        ({"max_turns": True}, TypeError, "max_turns"),
        ({"max_turns": 2.0}, TypeError, "max_turns"),
        ({"chat_timeout": True}, TypeError, "chat_timeout"),
        ({"chat_timeout": float("inf")}, ValueError, "chat_timeout"),
        ({"llm_timeout": "9"}, TypeError, "llm_timeout"),
        ({"cache_ttl": True}, TypeError, "cache_ttl"),
        ({"display_budget": "1"}, TypeError, "display_budget"),
        ({"result_budget": float("inf")}, ValueError, "result_budget"),
    ],
    ids=str,
)
def test_options_of_another_kind_are_refused_by_name(options: dict[str, Any], kind: Any, said: str) -> None:
    with pytest.raises(kind, match=said):
        ai(**options)


@pytest.mark.parametrize("tenant", [UUID(int=7), 42, "acme", None], ids=repr)
async def test_the_answers_of_a_tenant_are_forgotten_by_whatever_it_is_known_by(tenant: Any) -> None:
    tools = Tools(annotations={"readOnlyHint": True})
    options: dict[str, Any] = {"cache": MemoryCache(), "cache_read_only": True}
    async with ai([Turn(calls=[("t", {})]), "x"], [tools], **options) as client:
        for expected in (1, 1):
            await client.chat("q", [], tenant_id=tenant)
            await client.chat("q", [], tenant_id="another")
            assert len(tools.calls) == expected + 1
        await client.clear_cache(tenant)
        await client.chat("q", [], tenant_id=tenant)
        await client.chat("q", [], tenant_id="another")
        assert len(tools.calls) == 3
        with pytest.raises(TypeError, match="tenant_id must be a string or a UUID"):
            await client.clear_cache(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("others", "options", "raises"),
    [
        ((), {}, False),
        ((), {"require_servers": True}, True),
        ((), {"require_servers": False}, False),
        ((XMCP("up"),), {}, False),
        ((XMCP("up"),), {"require_servers": True}, True),
    ],
)
async def test_a_client_that_can_reach_none_of_its_servers_starts_unless_they_are_required(
    others: tuple[Any, ...], options: dict[str, Any], raises: bool
) -> None:
    async with http_host() as gone:
        ai = AIClient([gone.url, *others], llm_provider=ScriptedProvider([]), **options)
        if not raises:
            async with ai:
                return
        with pytest.raises(ServersUnavailable, match=f"the server {gone.url}/mcp cannot be reached"):
            await ai.__aenter__()
