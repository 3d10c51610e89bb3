"""AIClient and real MCP servers: transports, eras, names, servers that are down, that die, that come back."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import fastmcp
import pytest
from support.http_host import HttpHost, listening, never_answer

from xmcp.client import AIClient, ServerTarget
from xmcp.providers import ScriptedProvider, Turn
from xmcp.wire import ToolResponse
from xmcp_models.registry import EXTENSION_ID


def ai(targets: Any, *turns: Any, **options: Any) -> AIClient:
    # A program takes its time to start on a busy machine.
    return AIClient(targets, llm_provider=ScriptedProvider([*turns, "done"]), **{"connect_timeout": 60, **options})


def offered(names: list[str]) -> Any:
    """A script that notes the names of the tools it is offered."""

    def script(messages: Any, tools: Any) -> str:
        names.extend(tool["function"]["name"] for tool in tools)
        return "done"

    return ScriptedProvider(script)


async def tool_reads(client: AIClient, history: Any = ()) -> list[ToolResponse]:
    result = await client.chat("q", list(history))
    return [ToolResponse.from_xml(m["content"]) for m in result["history"] if m["role"] == "tool"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["memory", "http", "stdio"])
async def test_a_tool_answers_over_every_transport_in_both_eras(
    servers: Any, http: Any, stdio: Any, transport: str, mode: str
) -> None:
    before = asyncio.all_tasks()
    if transport == "http":
        target = await http(servers.plain()) + "/mcp"
    else:
        target = servers.plain() if transport == "memory" else _stdio(stdio("plain"))
    serving = asyncio.all_tasks()
    async with ai([fastmcp.Client(target, mode=mode)], Turn(calls=[("add", {"a": 2, "b": 3})])) as client:
        (read,) = await tool_reads(client)
    assert read.llm_output == "5"
    left = {task for task in asyncio.all_tasks() - before - serving if "xmcp" in task.get_name()}
    assert left == set()


def _stdio(argv: list[str]) -> Any:
    from fastmcp.client.transports import StdioTransport

    return StdioTransport(command=argv[0], args=argv[1:], keep_alive=False)


async def test_named_servers_prefix_and_the_wire_carries_the_servers_own_name(servers: Any) -> None:
    names: list[str] = []
    async with AIClient({"one": servers.plain(), "two": servers.plain()}, llm_provider=offered(names)) as client:
        await client.chat("q", [])
    assert names.count("one__add") == names.count("two__add") == 1
    assert all(name.startswith(("one__", "two__")) for name in names)
    async with ai({"one": servers.plain()}, Turn(calls=[("one__add", {"a": 1, "b": 1})])) as client:
        (read,) = await tool_reads(client)
    assert (read.tool_name, read.llm_output) == ("one__add", "2")


async def test_a_clash_in_a_list_renames_the_later_tool_and_says_so_in_every_chat(servers: Any) -> None:
    async with ai(
        [servers.plain("a"), servers.plain("b")], Turn(calls=[("add", {"a": 1, "b": 1}), ("b__add", {"a": 2, "b": 2})])
    ) as client:
        for _ in range(2):
            told = [chunk async for chunk in client.stream_chat("q", [])]
            warnings = [chunk.text for chunk in told if chunk.type == "warning"]
            assert any("'b__add'" in (text or "") for text in warnings)
        reads = await tool_reads(client)
    assert [read.llm_output for read in reads] == ["2", "4"]


async def test_a_server_that_is_down_is_left_out_with_a_reason_and_the_others_work(
    servers: Any, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = HttpHost()
    port = nobody.port
    targets = {
        "gone": f"http://user:secret@127.0.0.1:{port}",
        "typo": "no-such-program-anywhere --token=secret",
        "quits": [sys.executable, "-c", "raise SystemExit(3)"],
        "here": servers.plain(),
    }
    async with ai(targets, Turn(calls=[("here__add", {"a": 1, "b": 2})])) as client:
        told = [chunk async for chunk in client.stream_chat("q", [])]
    await nobody.close()
    warnings = [chunk.text or "" for chunk in told if chunk.type == "warning"]
    assert [text.split(" ")[2] for text in warnings] == ["gone", "typo", "quits"]
    assert f"http://127.0.0.1:{port}/mcp" in warnings[0]
    assert told[-1].result is not None
    assert told[-1].result["answer"] == "done"
    assert [chunk.text for chunk in told if chunk.type == "tool_result"] == ["3"]
    assert "secret" not in " ".join(warnings)
    assert "secret" not in " ".join(r.getMessage() for r in caplog.records if r.name == "xmcp")


async def test_a_server_that_never_answers_costs_no_more_than_the_connect_timeout(servers: Any) -> None:
    before = asyncio.all_tasks()
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    async with (
        listening(never_answer) as port,
        ai(
            [*(ServerTarget(one, connect_timeout=1) for one in (silent, f"http://127.0.0.1:{port}")), servers.plain()],
            connect_timeout=300,
        ) as client,
        asyncio.timeout(60),
    ):
        told = [chunk async for chunk in client.stream_chat("q", [])]
    warnings = [chunk.text or "" for chunk in told if chunk.type == "warning"]
    assert len(warnings) == 2
    assert all("within 1 s" in text or "initialize" in text for text in warnings), warnings
    assert not [task for task in asyncio.all_tasks() - before if "xmcp" in task.get_name()]


@pytest.mark.parametrize("headers", [None, {"x-a": "b"}, lambda chat: {"x-tenant": chat.tenant_id}])
async def test_a_server_can_have_a_connect_timeout_of_its_own(servers: Any, headers: Any) -> None:
    async with listening(never_answer) as port:
        hasty = ServerTarget(f"http://127.0.0.1:{port}", headers=headers, connect_timeout=0.5)
        async with asyncio.timeout(30), ai([hasty, servers.plain()], connect_timeout=300) as client:
            told = [chunk async for chunk in client.stream_chat("q", [], tenant_id="a")]
    (warning,) = [chunk.text or "" for chunk in told if chunk.type == "warning"]
    assert "within 0.5 s" in warning


@pytest.mark.parametrize("seconds", [0, -1, True, "3", float("nan")])
def test_a_connect_timeout_that_is_no_number_of_seconds_is_refused(seconds: Any) -> None:
    with pytest.raises(ValueError, match="connect_timeout must be a number of seconds above 0, not "):
        ai([ServerTarget("http://localhost:1", connect_timeout=seconds)])


async def test_a_chat_without_any_server_is_a_chat() -> None:
    async with ai([]) as client:
        assert (await client.chat("q", []))["answer"] == "done"


async def test_a_server_lost_in_the_middle_is_an_error_for_the_model_and_found_again_by_the_next_call(
    servers: Any, stdio: Any
) -> None:
    turns = [
        Turn(calls=[("fragile__pid", {})]),
        Turn(calls=[("fragile__die", {}), ("steady__add", {"a": 1, "b": 1})]),
        Turn(calls=[("fragile__pid", {})]),
    ]
    async with ai({"fragile": stdio("plain"), "steady": servers.plain()}, *turns) as client:
        pid, died, added, again = await tool_reads(client)
    assert died.error is not None
    assert (died.error.code, died.error.retryable) == ("CONNECTION_FAILED", True)
    assert died.error.meta == {"side_effects": "unknown"}
    assert "fragile" in died.error.message
    assert added.llm_output == "2"
    assert again.error is None
    assert again.llm_output != pid.llm_output
    with pytest.raises(ProcessLookupError):
        os.kill(int(again.llm_output or 0), 0)  # the program ended with the client that started it


async def test_a_server_that_stays_away_is_an_error_that_says_nothing_was_done(
    servers: Any, http: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xmcp.client.servers.connection import Connection

    async with ai([servers.plain()], *[Turn(calls=[("add", {"a": 1, "b": 1})])] * 2) as client:
        server: Any = client._servers._members[0].server
        connection = server._connection
        assert connection is not None
        server._retire(connection, ConnectionError("test"))
        server._connect_timeout = 0.05
        monkeypatch.setattr(Connection, "_run", lambda self: asyncio.Event().wait())
        first, second = await tool_reads(client)
    assert first.error is not None
    assert second.error is not None
    assert first.error.meta == {"side_effects": "none"}


async def test_cancelling_a_chat_cancels_the_tool_at_its_server(http: Any) -> None:
    mcp = fastmcp.FastMCP("slow")
    started, cancelled = asyncio.Event(), asyncio.Event()

    @mcp.tool
    async def slow() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    async with ai([mcp], Turn(calls=[("slow", {})])) as client:
        before = asyncio.all_tasks()
        task = asyncio.create_task(client.chat("q", []))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(cancelled.wait(), 30)
        assert not [left for left in asyncio.all_tasks() - before if "xmcp" in left.get_name()]


async def test_a_tool_that_takes_too_long_is_cancelled_at_its_server_which_stays_usable() -> None:
    mcp = fastmcp.FastMCP("slow")
    cancelled = asyncio.Event()

    @mcp.tool
    async def slow() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    @mcp.tool
    def fast() -> str:
        return "quick"

    async with ai([mcp], Turn(calls=[("slow", {})]), Turn(calls=[("fast", {})]), tool_timeout=3) as client:
        slow_read, fast_read = await tool_reads(client)
        await asyncio.wait_for(cancelled.wait(), 30)
    assert slow_read.error is not None
    assert slow_read.error.code == "TIMEOUT"
    assert fast_read.llm_output == "quick"


async def test_a_time_out_of_the_servers_own_is_the_tools_error_and_costs_no_connection() -> None:
    mcp = fastmcp.FastMCP("strict")

    @mcp.tool(timeout=0.05)
    async def slow() -> str:
        await asyncio.Event().wait()
        return "never"

    async with ai([mcp], Turn(calls=[("slow", {})])) as client:
        server: Any = client._servers._members[0].server
        connection = server._connection
        (read,) = await tool_reads(client)
        assert server._connection is connection
    assert read.error is not None
    assert read.error.code == "TOOL_ERROR"
    assert "timed out" in read.error.message


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_server_that_restarts_is_found_again(servers: Any, http: Any, mode: str) -> None:
    url = await http(servers.plain())
    turns = [Turn(calls=[("add", {"a": n, "b": n})]) for n in range(3)]
    async with ai([fastmcp.Client(url + "/mcp", mode=mode)], *turns) as client:
        told = client.stream_chat("q", [])
        reads = []
        async for chunk in told:
            if chunk.type == "usage" and chunk.turn == 2:
                await http(servers.plain(), replaces=url)
            if chunk.type in ("tool_result", "tool_error"):
                reads.append(chunk.response)
    # A stateless connection does not notice. One with a session learns of its end from the first call.
    assert [read.llm_output or (read.error and read.error.code) for read in reads] == (
        ["0", "2", "4"] if mode == "auto" else ["0", "CONNECTION_FAILED", "4"]
    )


async def test_a_result_that_breaks_the_tools_output_schema_is_still_a_result(servers: Any) -> None:
    async with ai([servers.plain()], Turn(calls=[("breaks_schema", {})])) as client:
        (read,) = await tool_reads(client)
    assert read.llm_output == "still a result"


async def test_the_client_announces_the_extension() -> None:
    mcp = fastmcp.FastMCP("curious")

    @mcp.tool
    def told(ctx: fastmcp.Context) -> str:
        params = ctx.session.client_params
        return str(params.capabilities.extensions if params else None)

    async with ai([mcp], Turn(calls=[("told", {})])) as client:
        (read,) = await tool_reads(client)
    assert EXTENSION_ID in (read.llm_output or "")
