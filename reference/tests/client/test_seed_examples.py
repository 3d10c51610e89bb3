"""The client's examples of the project's first design document, unchanged, against our names.

The model is a loopback server of OpenAI's format, found by the variables of the environment; `3333` is a port of this
test's.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from typing import Any

import pytest
from starlette.responses import JSONResponse
from support.scripted_model import ScriptedModel
from support.scripted_server import ScriptedServer

from xmcp import XMCP, AIClient, ChatChunk, CircuitOpenError, DisplayEnvelope, QuotaExceeded, XMCPError
from xmcp.client import Middleware
from xmcp.providers import OpenAIProvider, ProviderError
from xmcp.storage import RedisCache
from xmcp.wire import ToolResponse

pytestmark = pytest.mark.usefixtures("openai")
SALES = ("c1", "sales_summary", '{"region": "EMEA"}')
CHART = ("c1", "sales_summary", '{"region": "EMEA", "show_user": true}')
TABLE = {"type": "table", "payload": [{"region": "EMEA", "sales": 42}]}


class Server(XMCP):
    """The server of the quick start, and its counters."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.running = 0
        self.most = 0

        @self.display_tool(cacheable=True)
        def sales_summary(region: str, show_user: bool = False) -> Any:
            self.calls += 1
            summary = {"region": region, "sales": 42}
            if show_user:
                return DisplayEnvelope(type="table", payload=[summary])
            return summary

        @self.tool(annotations={"readOnlyHint": True})
        async def slow(seconds: float) -> str:
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                await asyncio.sleep(seconds)
            finally:
                self.running -= 1
            return "done"

        @self.tool(annotations={"readOnlyHint": True})
        def run_query(sql: str) -> str:
            self.calls += 1
            if self.calls < 3:
                raise XMCPError(code="DB_TIMEOUT", retryable=True, detail="database timeout after 5 s")
            return "one row"


@pytest.fixture
def openai(chat_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    chat_server.replies = [chat_server.reply.streamed("It is 42.")]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def urls(server: Server) -> list[Any]:
    return [server]


def says(chat_server: Any, *replies: Any) -> None:
    """The model answers so: a text, or a list of calls."""
    reply = chat_server.reply.streamed
    asked = len(chat_server.requests)
    chat_server.replies = [None] * asked + [reply(one) if isinstance(one, str) else reply(calls=one) for one in replies]


def responses(result: Any) -> list[ToolResponse]:
    return [ToolResponse.from_xml(message["content"]) for message in result["history"] if message["role"] == "tool"]


async def test_quick_start_2_shows_the_chart(chat_server: Any, server: Server, http: Any) -> None:
    says(chat_server, [CHART])
    shown: list[Any] = []
    async with AIClient([await http(server)], openai_api_key="sk-test") as ai:
        with pytest.raises(ValueError, match=r"\[\] for a new conversation"):
            await ai.chat("Show me sales for EMEA using a chart")  # section 1 made the history required
        result = await ai.chat("Show me sales for EMEA using a chart", history=[])
        if result["display"]:
            shown.append(result["display"])
        else:
            shown.append(result["answer"])
    [chart] = shown
    assert chart.model_dump(exclude_none=True) == TABLE
    assert len(chat_server.requests) == 1


async def test_1_the_servers_are_urls_as_well(chat_server: Any, server: Server, http: Any) -> None:
    says(chat_server, [CHART])
    async with AIClient(urls=[await http(server)]) as ai:
        result = await ai.chat("Sales?", [])
    answer = json.loads(JSONResponse(result).body)
    assert (answer["display"], answer["displays"], answer["stop_reason"]) == (TABLE, [TABLE], "display")
    assert json.loads(json.dumps(result)) == answer
    for given in ({}, {"servers": [server], "urls": [server]}):
        with pytest.raises(TypeError, match="Pass servers or urls, which mean the same"):
            AIClient(**given)


async def test_1_what_the_document_puts_into_meta_is_refused_with_the_name_to_use(chat_server: Any) -> None:
    mcp = XMCP()

    @mcp.display_tool
    def themed(show_user: bool = False) -> Any:
        return DisplayEnvelope(type="text", payload="x", meta={"theme": "dark"})

    says(chat_server, [("c1", "themed", '{"show_user": true}')], "Sorry.")
    async with AIClient([mcp]) as ai:
        result = await ai.chat("Show!", [])
    [response] = responses(result)
    assert response.error is not None
    assert "'acme.example/theme'" in response.error.message


async def test_1_the_loop_whose_caller_keeps_the_history(chat_server: Any, urls: Any) -> None:
    says(chat_server, [SALES], "EMEA: 42.", [CHART], "You are welcome.")
    typed = iter(["Sales?", "As a chart!", "Thanks"])
    printed: list[Any] = []
    async with AIClient(urls) as ai:
        history: list[dict[str, Any]] = []
        while True:
            if (user_msg := next(typed, None)) is None:
                break
            history.append({"role": "user", "content": user_msg})
            result = await ai.chat(user_msg, history)
            history = result["history"]
            printed.append(result["answer"] or "[display payload sent]")
    assert printed == ["EMEA: 42.", "[display payload sent]", "You are welcome."]
    roles = [message["role"] for message in history]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool", "user", "assistant"]
    assert chat_server.requests[-1]["messages"] == history[:-1]


async def test_2_one_answer_leads_to_the_next(chat_server: Any, urls: Any) -> None:
    calls = [(f"c{turn}", "sales_summary", json.dumps({"region": f"R{turn}"})) for turn in range(3)]
    says(chat_server, *([call] for call in calls))
    async with AIClient(urls, max_turns=3) as ai:
        result = await ai.chat("How are R0, R1 and R2?", [])
    assert (result["stop_reason"], result["answer"]) == ("max_turns", None)
    assert len(responses(result)) == 3


async def test_4_2_a_retryable_error_is_retried_and_the_others_are_told(
    chat_server: Any, server: Server, urls: Any
) -> None:
    says(chat_server, [("c1", "run_query", '{"sql": "select 1"}'), ("c2", "nowhere", "{}")], "One row.")
    seen: list[Any] = []

    def on_error(envelope: Any, history: Any) -> None:
        seen.append((envelope.code, history[-1]["tool_call_id"]))

    async with AIClient(urls, on_error=on_error, retry_policy=dict(max_attempts=3, backoff_base=0.001)) as ai:  # noqa: C408
        result = await ai.chat("Query!", [])
    query, nowhere = responses(result)
    assert (server.calls, query.llm_output) == (3, "one row")
    assert nowhere.error is not None
    assert seen == [("UNKNOWN_TOOL", "c2")]


def chain(rows: Any, **options: Any) -> XMCP:
    """Return a server with the tools of section 4.3; `rows` makes what `run_query` returns."""
    mcp = XMCP()

    @mcp.tool()
    def generate_sql(question: str) -> str:
        return f"select 1 -- {question}"

    @mcp.tool(annotations={"depends_on": ["generate_sql"]}, **options)
    def run_query(sql: str):  # type: ignore[no-untyped-def]
        return rows(sql)

    @mcp.display_tool(annotations={"depends_on": ["run_query"]})
    def render_chart(rows: list[dict], show_user: bool = False):  # type: ignore[no-untyped-def,type-arg]
        return DisplayEnvelope(type="table", payload=rows) if show_user else rows

    return mcp


CHAIN = [
    ("c1", "render_chart", '{"show_user": true}'),
    ("c2", "run_query", "{}"),
    ("c3", "generate_sql", '{"question": "how many"}'),
]


async def test_4_3_a_chain_runs_in_one_turn_and_hands_its_results_on(chat_server: Any) -> None:
    says(chat_server, CHAIN)
    async with AIClient([chain(lambda sql: {"rows": [{"n": 1, "of": sql}], "more": False})]) as ai:
        result = await ai.chat("How many?", [])
    assert [reply.error for reply in responses(result)] == [None] * 3
    assert result["display"] is not None
    assert result["display"].payload == [{"n": 1, "of": "select 1 -- how many"}]
    offered = {tool["function"]["name"]: tool["function"] for tool in chat_server.requests[0]["tools"]}
    assert [offered[name]["parameters"].get("required") for name in ("generate_sql", "run_query", "render_chart")] == [
        ["question"],
        None,
        None,
    ]


async def test_4_3_rows_without_a_name_go_to_the_chart_as_well(chat_server: Any) -> None:
    """The formatter is not the document's: the default text of a list is not JSON yet, so no client can read it."""
    mcp = chain(lambda sql: [{"n": 1, "of": sql}], xml_formatter=lambda data, indent_level: json.dumps(data))
    says(chat_server, CHAIN)
    async with AIClient([mcp]) as ai:
        result = await ai.chat("How many?", [])
    assert result["display"] is not None
    assert result["display"].payload == [{"n": 1, "of": "select 1 -- how many"}]


async def test_4_3_what_the_model_writes_into_the_chain_stays(chat_server: Any) -> None:
    says(chat_server, [("c1", "generate_sql", '{"question": "?"}'), ("c2", "run_query", '{"sql": "mine"}')], "Done.")
    async with AIClient([chain(lambda sql: {"of": sql})]) as ai:
        result = await ai.chat("How many?", [])
    assert "mine" in (responses(result)[1].llm_output or "")


def LocalProvider() -> ScriptedModel:
    """In the place of the document's `AnthropicProvider(api_key="sk-claude-…")`: any provider that cannot answer."""
    return ScriptedModel(then=ProviderError("overloaded", category="network", provider="local"), name="local")


async def test_4_4_another_provider_falls_back_to_openai_by_name(chat_server: Any, urls: Any) -> None:
    async with AIClient(
        urls,
        llm_provider=LocalProvider(),
        fallback_models=[("OpenAIProvider", "gpt-3.5-turbo")],
    ) as aiclient:
        result = await aiclient.chat("Sales?", [])
    assert result["answer"] == "It is 42."
    assert [request["model"] for request in chat_server.requests] == ["gpt-3.5-turbo"]


async def test_4_4_a_fallback_is_also_just_a_name_of_the_same_provider(chat_server: Any, urls: Any) -> None:
    provider = OpenAIProvider(api_key="sk-test")
    async with AIClient(urls, llm_provider=provider, fallback_models=["gpt-3.5-turbo"]) as ai:
        assert (await ai.chat("Sales?", []))["answer"] == "It is 42."
    await provider.aclose()


class Structlog:
    """As much of structlog as its users use: `bind`, and events with fields."""

    def __init__(self, lines: list[dict[str, Any]], **bound: Any) -> None:
        self._lines = lines
        self._bound = bound

    def bind(self, **fields: Any) -> Structlog:
        return Structlog(self._lines, **{**self._bound, **fields})

    def info(self, event: str, **fields: Any) -> None:
        self._lines.append({"event": event, **self._bound, **fields})

    debug = warning = error = exception = info


async def test_9_a_bound_structlog_logger_gets_every_event_with_its_fields(chat_server: Any, urls: Any) -> None:
    says(chat_server, [SALES], "42.")
    lines: list[dict[str, Any]] = []
    session_id = "s-1"
    async with AIClient(urls, logger=Structlog(lines).bind(session_id=session_id)) as ai:
        await ai.chat("Sales?", [])
    assert {line["session_id"] for line in lines} == {"s-1"}
    [call] = [line for line in lines if line["event"] == "tool_call"]
    assert (call["turn"], call["tool_name"]) == (1, "sales_summary")
    assert call["duration_ms"] >= 0


async def test_9_without_a_logger_it_is_the_standard_one_named_xmcp(
    chat_server: Any, urls: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    says(chat_server, [SALES], "42.")
    with caplog.at_level(logging.INFO, "xmcp"):
        async with AIClient(urls) as ai:
            await ai.chat("Sales?", [])
    [call] = [record for record in caplog.records if record.getMessage().startswith("tool_call ")]
    assert call.name == "xmcp"
    assert call.__dict__["xmcp"]["tool_name"] == "sales_summary"
    assert capsys.readouterr() == ("", "")


async def test_10_no_more_calls_at_once_and_none_for_longer(chat_server: Any, server: Server, urls: Any) -> None:
    quick = [(f"c{n}", "slow", '{"seconds": 0.01}') for n in range(6)]
    says(chat_server, [*quick, ("c6", "slow", '{"seconds": 60}')], "Done.")
    async with AIClient(
        urls,
        max_concurrency=2,
        tool_timeout=3,
        retry_policy=dict(max_attempts=1),  # noqa: C408
    ) as ai:
        result = await ai.chat("Go", [])
    *done, hung = responses(result)
    assert [reply.llm_output for reply in done] == ["done"] * 6
    assert hung.error is not None
    assert hung.error.code == "TIMEOUT"
    assert (server.most, server.running) == (2, 0)


async def test_11_a_call_is_tried_again_and_a_bad_server_is_quarantined(chat_server: Any) -> None:
    find = ("c1", "find", "{}")
    says(chat_server, *[[find]] * 6, "It is down.")
    broken = ScriptedServer({"find": ConnectionResetError()}, find={"annotations": {"readOnlyHint": True}})
    async with AIClient(
        [broken],
        retry_policy=dict(max_attempts=3, backoff_base=0.001),  # noqa: C408
        breaker_threshold=5,
        breaker_reset_after=60,
    ) as ai:
        result = await ai.chat("Find it", [])
    # Each call counts once for the breaker, however often it is tried; it opens at the first attempt of the fifth.
    assert len(broken.calls) == 4 * 3 + 1
    codes = [reply.error.code for reply in responses(result) if reply.error is not None]
    assert codes == ["CONNECTION_FAILED"] * 4 + ["CIRCUIT_OPEN"] * 2
    # A tripped breaker is nothing that `chat` raises: the model is told. The name is there for who calls on its own.
    assert issubclass(CircuitOpenError, Exception)


async def test_12_the_models_are_asked_in_turn_at_the_address_given(
    chat_server: Any, urls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    error, answer = chat_server.reply.error(404, "no such model"), chat_server.reply.streamed("Hello.")
    chat_server.replies = lambda request: answer if request["model"] == "gpt-3.5-turbo" else error
    async with AIClient(
        urls,
        llm_model="gpt-4o",
        fallback_models=["gpt-4o-mini", "gpt-3.5-turbo"],
        openai_base_url=chat_server.url,
    ) as ai:
        assert (await ai.chat("Hi", []))["answer"] == "Hello."
    assert [request["model"] for request in chat_server.requests] == ["gpt-4o", "gpt-4o-mini", "gpt-3.5-turbo"]


async def test_13_text_and_displays_arrive_as_they_come(chat_server: Any, urls: Any) -> None:
    says(chat_server, [CHART], "Here you are.")
    text, rendered, history = "", [], [{"role": "system", "content": "Be brief."}]
    async with AIClient(urls, display="continue") as ai:
        async for chunk in ai.stream_chat("Sales?", history):
            assert isinstance(chunk, ChatChunk)
            if chunk.type == "llm_delta":
                text += chunk.text or ""
            elif chunk.type == "tool_display":
                assert text == ""
                rendered.append(chunk.envelope)
    assert text == "Here you are."
    assert [envelope.payload for envelope in rendered if envelope] == [TABLE["payload"]]


async def test_14_the_hook_renders_before_the_chat_is_over(chat_server: Any, urls: Any) -> None:
    says(chat_server, [CHART])
    rendered: list[Any] = []
    async with AIClient(urls, on_display=lambda env, hist: rendered.append((env, hist))) as ai:
        result = await ai.chat("Sales?", [])
    [(envelope, history)] = rendered
    assert envelope == result["display"]
    assert [message["role"] for message in history] == ["user", "assistant", "tool"]


class Table(dict[str, list[Any]]):
    """As much of a database as the examples use."""

    def insert(self, name: str, row: Any) -> None:
        self.setdefault(name, []).append(row)

    def log(self, row: Any) -> None:
        self.insert("usage", row)


async def test_15_every_call_of_the_model_is_a_row(chat_server: Any, urls: Any) -> None:
    says(chat_server, [SALES], "42.")
    db = Table()
    async with AIClient(urls, usage_sink=lambda usage: db.insert("llm_usage", usage)) as ai:
        await ai.chat("Sales?", [], session_id="s-1")
    assert len(db["llm_usage"]) == 2
    for row in db["llm_usage"]:
        assert (row["input_tokens"], row["output_tokens"], row["cost_usd"], row["session_id"]) == (10, 5, None, "s-1")
        assert row["timestamp"].startswith("20")


class DictCache:
    """The document's `CacheProtocol`, by somebody who keeps what he is given."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.ttls: list[int] = []

    async def get(self, key: str) -> Any:
        return self.kept.get(key)

    async def set(self, key: str, value: Any, ttl: int) -> None:
        self.kept[key] = value
        self.ttls.append(ttl)


async def test_16_a_cache_of_the_users_own_answers_the_second_call(chat_server: Any, server: Server, urls: Any) -> None:
    says(chat_server, [SALES], "42.", [SALES], "42.")
    cache = DictCache()
    async with AIClient(urls, cache=cache) as ai:
        first, second = [await ai.chat("Sales?", []) for _ in range(2)]
    assert server.calls == 1
    assert responses(first)[0].llm_output == responses(second)[0].llm_output
    assert len(cache.kept) == 1
    assert [(type(ttl), ttl) for ttl in cache.ttls] == [(int, 300)]


async def test_16_no_cache_is_no_cache(chat_server: Any, server: Server, urls: Any) -> None:
    says(chat_server, [SALES], "42.", [SALES], "42.")
    async with AIClient(urls) as ai:
        for _ in range(2):
            await ai.chat("Sales?", [])
    assert server.calls == 2


def redis_answers(url: str) -> str | None:
    """Why there is no Redis to test with; `None` if there is one."""
    import redis

    try:
        with redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2, retry=None) as client:
            client.ping()
    except (redis.RedisError, OSError) as exc:
        return f"no Redis at REDIS_URL ({type(exc).__name__}): start one, or set the variable"
    return None


async def test_16_redis_by_its_url(chat_server: Any, server: Server, urls: Any) -> None:
    url = os.environ.get("REDIS_URL", "redis://localhost:6379")
    if reason := redis_answers(url):
        pytest.fail(reason) if os.environ.get("CI", "").lower() == "true" else pytest.skip(reason)
    says(chat_server, [SALES], "42.", [SALES], "42.")
    cache, tenant_id = RedisCache(url=url, ttl=300), secrets.token_hex(8)
    async with AIClient(urls, cache=cache) as ai:
        for _ in range(2):
            await ai.chat("Sales?", [], tenant_id=tenant_id)
        await ai.clear_cache(tenant_id)
    assert server.calls == 1
    assert (cache.statistics.hits, cache.statistics.errors) == (1, 0)
    await cache.aclose()


async def test_17_new_tools_are_found_by_asking(chat_server: Any, server: Server, urls: Any) -> None:
    async with AIClient(urls, refresh_interval=300) as ai:

        @server.tool
        def brand_new() -> str:
            return "new"

        assert "brand_new" in (await ai.refresh_tools()).added
        says(chat_server, [("c1", "brand_new", "{}")], "It works.")
        result = await ai.chat("Try it", [])
    assert [reply.llm_output for reply in responses(result)] == ["new"]
    offered = [tool["function"]["name"] for tool in chat_server.requests[0]["tools"]]
    assert {"brand_new", "sales_summary"} <= set(offered)


async def test_18_a_request_handler_with_tenants_and_a_quota(chat_server: Any, server: Server, urls: Any) -> None:
    says(chat_server, [SALES], "42.", [SALES], "42.")
    usage_db, cache = Table(), DictCache()
    over: set[str] = set()

    class TenantQuota(Middleware):
        async def before_llm(self, state: Any) -> None:
            if state.tenant_id in over:
                raise QuotaExceeded()

    ai = AIClient(urls, cache=cache, usage_sink=usage_db.log, middleware=[TenantQuota()])

    async def handle(headers: dict[str, str], session: dict[str, Any], body: dict[str, Any]) -> Any:
        tenant_id = headers["X-Tenant"]
        history = session.get("history", [])
        result = await ai.chat(
            user_query=body["msg"],
            history=history,
            tenant_id=tenant_id,
        )
        session["history"] = result["history"]
        return result

    session: dict[str, Any] = {}
    async with ai:
        await handle({"X-Tenant": "acme"}, session, {"msg": "Sales?"})
        await handle({"X-Tenant": "other"}, {}, {"msg": "Sales?"})
        over.add("acme")
        with pytest.raises(QuotaExceeded, match="quota is used up") as stopped:
            await handle({"X-Tenant": "acme"}, session, {"msg": "And now?"})
    assert server.calls == len(cache.kept) == 2
    assert len({key.partition(":")[0] for key in cache.kept}) == 2
    assert [row["tenant_id"] for row in usage_db["usage"]] == ["acme", "acme", "other", "other"]
    assert stopped.value.history == [*session["history"], {"role": "user", "content": "And now?"}]
    assert len(chat_server.requests) == 4
