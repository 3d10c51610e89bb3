"""Calls that the application makes itself, without a model: `AIClient.call_tool`."""

from __future__ import annotations

import asyncio
import datetime
import uuid
from typing import Any

import pytest
from support.mcp_servers import stdio_command
from support.scripted_model import ScriptedModel
from support.scripted_server import ScriptedServer, in_turn

from xmcp import CircuitOpenError, DisplayEnvelope, ErrorInfo, QuotaExceeded, SyncAIClient, ToolResponse
from xmcp.chat.arguments import MAX_BYTES
from xmcp.client import AIClient, Middleware, ServerTarget
from xmcp.storage import MemoryCache

LOST = ConnectionResetError("gone")
SHOWN = ToolResponse("t", "x", DisplayEnvelope(type="text", payload="p"))


def client(server: Any, **options: Any) -> AIClient:
    return AIClient([server], llm_provider=ScriptedModel(), **options)


async def test_the_response_comes_with_both_channels_and_the_server_gets_the_arguments() -> None:
    server = ScriptedServer({"t": SHOWN})
    given = {"a": {"b": 1}}
    async with client(server) as ai:
        response = await ai.call_tool("t", given)
    assert (response.llm_output, response.display) == ("x", SHOWN.display)
    assert server.calls == [("t", given)]
    assert server.calls[0][1]["a"] is not given["a"]


async def test_an_open_breaker_is_an_exception_that_says_for_how_long() -> None:
    server = ScriptedServer({"t": in_turn(LOST, LOST, "back")}, "crm")
    async with client(server, breaker_threshold=2, breaker_reset_after=40) as ai:
        codes = [(await ai.call_tool("t")).error for _ in range(2)]
        with pytest.raises(CircuitOpenError, match="crm failed too often") as caught:
            await ai.call_tool("t")
    assert [error and error.code for error in codes] == ["CONNECTION_FAILED"] * 2
    assert caught.value.server == "crm"
    assert 30 < caught.value.retry_after <= 40
    assert server.count("t") == 2


async def test_errors_of_the_tool_and_names_that_do_not_exist_are_responses() -> None:
    server = ScriptedServer({"fails": ErrorInfo("GONE", "It is gone.")})
    async with client(server) as ai:
        failed, unknown = await ai.call_tool("fails"), await ai.call_tool("fail")
    assert failed.error is not None
    assert failed.error.code == "GONE"
    assert unknown.error is not None
    assert (unknown.error.code, "fails" in unknown.error.message) == ("UNKNOWN_TOOL", True)


async def test_an_unknown_tool_says_which_servers_cannot_be_used_and_why() -> None:
    def no_token(chat: Any) -> dict[str, str]:
        raise LookupError("vault")

    theirs = ServerTarget("http://127.0.0.1:9/mcp", headers=no_token)
    async with AIClient({"away": "http://127.0.0.1:9/mcp", "theirs": theirs}, llm_provider=ScriptedModel()) as ai:
        error = (await ai.call_tool("theirs__find")).error
    assert error is not None
    assert error.code == "UNKNOWN_TOOL"
    for part in ("The server away", "cannot be reached", "The server theirs", "`headers` failed with LookupError"):
        assert part in error.message, error.message
    assert "vault" not in error.message


async def test_middleware_approval_parameters_and_cache_are_those_of_a_chat() -> None:
    class Noting(Middleware):
        async def before_tool(self, state: Any) -> None:
            seen.append((state.tenant_id, state.tool_name))

    seen: list[Any] = []
    server = ScriptedServer(
        {"t": lambda arguments: f"for {arguments['user']}", "u": "never"},
        t={
            "metadata": {"cacheable": True},
            "inputSchema": {"type": "object", "properties": {"user": {"type": "string"}}},
        },
    )
    options: dict[str, Any] = {"params": {"user": "ann"}, "approve": lambda call: call.tool_name == "t"}
    async with client(server, middleware=[Noting()], cache=MemoryCache(), **options) as ai:
        answers = [await ai.call_tool("t", tenant_id="acme") for _ in range(2)]
        refused = await ai.call_tool("u", tenant_id="acme")
    assert [answer.llm_output for answer in answers] == ["for ann"] * 2
    assert server.count("t") == 1
    assert refused.error is not None
    assert refused.error.code == "FORBIDDEN"
    assert seen == [("acme", "t"), ("acme", "t"), ("acme", "u")]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    ["\ud800", {"\ud800": 1}, nested(200), nested(400), nested(100_000)],
    ids=["half a pair", "half a pair as a name", "deep", "deeper", "deepest"],
)
async def test_parameters_of_the_application_that_cannot_be_sent_are_an_error_and_disturb_no_other_call(
    value: Any, witness: Any
) -> None:
    async with client(stdio_command(), breaker_threshold=1, connect_timeout=60, params={"b": value}) as ai:
        other = asyncio.create_task(ai.call_tool("hang", {"port": witness.port}))
        await asyncio.wait_for(witness.began.wait(), 300)
        bad = [(await ai.call_tool("add", {"a": 1})).error for _ in range(3)]
        assert not other.done()
        assert (await ai.call_tool("look")).llm_output == "seen"  # its breaker is closed
        other.cancel()
        await asyncio.wait({other})
    assert [error and (error.code, (error.meta or {}).get("side_effects")) for error in bad] == [
        ("INTERNAL", "none")
    ] * 3


async def test_a_quota_stops_it() -> None:
    class Broke(Middleware):
        async def before_tool(self, state: Any) -> None:
            raise QuotaExceeded(tenant_id=state.tenant_id, quota="calls")

    async with client(ScriptedServer({"t": "x"}), middleware=[Broke()]) as ai:
        with pytest.raises(QuotaExceeded):
            await ai.call_tool("t", tenant_id="acme")


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server() -> None:
    ended: list[str] = []

    async def hang(_: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    server = ScriptedServer({"t": hang})
    async with client(server) as ai:
        call = asyncio.create_task(ai.call_tool("t"))
        await server.called.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert ended == ["cancelled"]


@pytest.mark.parametrize(("name", "arguments"), [(1, {}), ("t", [1]), ("t", "{}")])
async def test_arguments_of_a_wrong_type_are_refused_by_name(name: Any, arguments: Any) -> None:
    async with client(ScriptedServer({"t": "x"})) as ai:
        with pytest.raises(TypeError, match=r"^(name|arguments) must be"):
            await ai.call_tool(name, arguments)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("\ud800", "not_text"),
        (float("nan"), "not_json"),
        ("x" * (MAX_BYTES + 1), "too_large"),
        (nested(100), "too_deep"),
        (nested(50_000), "too_deep"),
    ],
    ids=["half of a surrogate pair", "no number", "too large", "too deep", "far too deep"],
)
async def test_arguments_have_the_limits_of_a_models(value: Any, reason: str) -> None:
    server = ScriptedServer({"t": "x"})
    async with client(server) as ai:
        response = await ai.call_tool("t", {"x": value})
    assert response.error is not None
    assert response.error.meta is not None
    assert (response.error.code, response.error.meta["fields"][0]["reason"]) == ("VALIDATION_FAIL", reason)
    assert server.calls == []


async def test_arguments_that_json_has_another_form_for_are_sent_in_it() -> None:
    server = ScriptedServer({"t": "x"})
    given = {"id": uuid.UUID(int=1), "day": datetime.date(2026, 11, 22), "range": (1, 2)}
    async with client(server) as ai:
        await ai.call_tool("t", given)
        with pytest.raises(TypeError, match="nothing but JSON values: object has no JSON form"):
            await ai.call_tool("t", {"x": object()})
    assert server.calls == [("t", {"id": str(uuid.UUID(int=1)), "day": "2026-11-22", "range": [1, 2]})]


async def test_a_tenant_that_is_a_uuid_is_one() -> None:
    seen: list[Any] = []

    class Noting(Middleware):
        async def before_tool(self, state: Any) -> None:
            seen.append((state.tenant_id, state.session_id))

    async with client(ScriptedServer({"t": "x"}), middleware=[Noting()]) as ai:
        await ai.call_tool("t", tenant_id=uuid.UUID(int=1), session_id=7)
    assert seen == [(str(uuid.UUID(int=1)), "7")]


async def test_a_client_that_is_not_entered_says_so() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await client(ScriptedServer({"t": "x"})).call_tool("t")


def test_without_await_it_is_the_same() -> None:
    with SyncAIClient(
        [ScriptedServer({"t": in_turn("x", LOST)})], llm_provider=ScriptedModel(), breaker_threshold=1
    ) as ai:
        assert ai.call_tool("t").llm_output == "x"
        assert ai.call_tool("t").error is not None
        with pytest.raises(CircuitOpenError):
            ai.call_tool("t")
