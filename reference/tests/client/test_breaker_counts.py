"""What a circuit breaker counts, over real wires: restarts, closing, cancelling, answers that cannot be read."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import fastmcp
import mcp_types as mt
import pytest
from fastmcp.client.transports import StdioTransport
from support.chats import chat, events_of, make_pipeline
from support.clock import Clock, never
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.chat.errors import CallFailed
from xmcp.client import AIClient
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.storage import Admitted, MemoryBreakers
from xmcp.wire import ErrorInfo, ToolResponse

CALLS = 6
"""More than failures open a breaker by default."""

LOST = CallFailed(ErrorInfo("CONNECTION_FAILED", "gone"), transport=True)

ERAS = pytest.mark.parametrize("era", ["modern", "legacy"])


class Told:
    """A store of breakers that notes the outcomes it is told."""

    def __init__(self, store: Any = None) -> None:
        self.store = MemoryBreakers() if store is None else store
        self.outcomes: Counter[str] = Counter()
        self.state = "closed"

    async def admit(self, server: str) -> Any:
        return await self.store.admit(server)

    async def record(self, server: str, admitted: Admitted, outcome: Any) -> Any:
        self.outcomes[outcome] += 1
        self.state = await self.store.record(server, admitted, outcome)
        return self.state


@pytest.fixture
async def hanging(peers: Any) -> AsyncIterator[tuple[Any, asyncio.Event]]:
    """The model's calls of `CALLS` tools that hang, and an event: all of them have begun."""
    begun: list[object] = []
    all_begun = asyncio.Event()

    async def hear(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        begun.append(await reader.readline())
        if len(begun) == CALLS:
            all_begun.set()
        await reader.read()

    async with peers.listening(hear) as port:
        yield asks(*[("hang", {"port": port})] * CALLS), all_begun


@pytest.fixture
def mortal(peers: Any) -> Any:
    """A `Program` of this test alone."""
    program = peers.Program()
    program.listen()
    yield program
    program.kill()


def speaking(url: str, era: str) -> Any:
    return fastmcp.Client(url, mode="auto" if era == "modern" else "legacy")


def client(target: Any, model: Any, breakers: Any, **options: Any) -> AIClient:
    return AIClient([target], llm_provider=model, breakers=breakers, connect_timeout=60, **options)


def codes(history: Any) -> list[str | None]:
    errors = [ToolResponse.from_xml(m["content"]).error for m in history if m["role"] == "tool"]
    return [error and error.code for error in errors]


@pytest.mark.slow
@ERAS
async def test_a_restart_with_six_calls_under_way_is_one_failure(hanging: Any, mortal: Any, era: str) -> None:
    calls, all_begun = hanging
    told = Told(MemoryBreakers(threshold=2))
    async with asyncio.timeout(300), client(speaking(mortal.url(), era), ScriptedModel(calls, "bye"), told) as ai:
        running = asyncio.create_task(ai.chat("q", []))
        await all_begun.wait()
        mortal.kill()
        result = await running
    assert codes(result["history"]) == ["CONNECTION_FAILED"] * CALLS
    assert (told.outcomes, told.state) == ({"lost": CALLS}, "closed")


@pytest.mark.slow
async def test_a_program_that_dies_with_six_calls_under_way_is_one_failure(hanging: Any, peers: Any) -> None:
    calls, all_begun = hanging
    command, *arguments = peers.stdio_command()
    target = StdioTransport(command=command, args=arguments, keep_alive=False)
    told = Told(MemoryBreakers(threshold=2))
    model = ScriptedModel(asks("pid"), calls, asks("pid"), "bye")
    async with asyncio.timeout(300), client(target, model, told) as ai:
        running = asyncio.create_task(ai.chat("q", []))
        await all_begun.wait()
        pid = ToolResponse.from_xml(model.requests[1].messages[-1]["content"]).llm_output
        os.kill(int(pid or ""), signal.SIGKILL)
        result = await running
    assert codes(result["history"]) == [None, *["CONNECTION_FAILED"] * CALLS, None]
    assert (told.outcomes, told.state) == ({"ok": 2, "lost": CALLS}, "closed")


def mortal_server() -> ScriptedServer:
    """A server whose read-only tool loses the connection once `CALLS` calls are under way, and ever after."""
    all_running = asyncio.Event()

    async def lose(_: Any) -> Any:
        if server.running == CALLS:
            all_running.set()
        await all_running.wait()
        raise LOST

    server = ScriptedServer({"look": lose}, look={"annotations": {"readOnlyHint": True}})
    return server


async def test_attempts_that_repeat_lost_calls_are_no_new_failures() -> None:
    server, told = mortal_server(), Told(MemoryBreakers(threshold=2))
    pipeline = make_pipeline(breakers=told, retry=RetryPolicy(max_attempts=3))
    await events_of(chat(ScriptedModel(asks(*["look"] * CALLS), "bye"), server, pipeline=pipeline))
    assert server.count("look") == 3 * CALLS
    assert (told.outcomes, told.state) == ({"lost": CALLS, "unknown": 2 * CALLS}, "closed")
    await events_of(chat(ScriptedModel(asks("look"), "bye"), server, pipeline=pipeline))
    assert told.state == "open"


async def test_an_attempt_that_is_a_probe_counts_also_if_its_call_was_lost_before() -> None:
    clock = Clock()

    async def later(_: float) -> None:
        clock.now += 10

    server = ScriptedServer({"look": LOST}, look={"annotations": {"readOnlyHint": True}})
    told = Told(MemoryBreakers(threshold=1, reset_after=10, clock=clock))
    pipeline = make_pipeline(breakers=told, retry=RetryPolicy(max_attempts=3), sleep=later)
    await events_of(chat(ScriptedModel(asks("look"), "bye"), server, pipeline=pipeline))
    assert (told.outcomes, told.state) == ({"lost": 3}, "open")


@pytest.mark.slow
@ERAS
@pytest.mark.parametrize("ending", ["aclose", "cancel", "leave"])
async def test_what_the_client_ends_itself_counts_nothing(hanging: Any, program: Any, era: str, ending: str) -> None:
    calls, all_begun = hanging
    told = Told(MemoryBreakers(threshold=1))
    async with asyncio.timeout(300), client(speaking(program.url(), era), ScriptedModel(calls, "bye"), told) as ai:

        async def consume() -> None:
            async with aclosing(ai.stream_chat("q", [])) as chunks:
                async for chunk in chunks:
                    if chunk.type == "tool_started" and ending == "leave":
                        await all_begun.wait()
                        break

        running = asyncio.create_task(consume())
        await all_begun.wait()
        if ending == "aclose":
            await ai.aclose()
        elif ending == "cancel":
            running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert (told.outcomes, told.state) == ({"unknown": CALLS}, "closed")


async def test_calls_that_the_time_limit_of_their_chat_ends_count_nothing() -> None:
    told = Told(MemoryBreakers(threshold=1))
    server = ScriptedServer({"t": never})
    async with client(server, ScriptedModel(asks("t", "t")), told, chat_timeout=0.1) as ai:
        result = await ai.chat("q", [])
    assert result["stop_reason"] == "timeout"
    assert (told.outcomes, told.state) == ({"unknown": 2}, "closed")


@pytest.mark.slow
async def test_a_client_that_closes_leaves_the_breaker_that_it_shares_closed(hanging: Any, program: Any) -> None:
    calls, all_begun = hanging
    shared = MemoryBreakers(threshold=1)
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "bye")
    async with asyncio.timeout(300), client(program.url(), model, shared) as other:
        async with client(program.url(), ScriptedModel(calls, "bye"), shared) as ai:
            running = asyncio.create_task(ai.chat("q", []))
            await all_begun.wait()
        await asyncio.gather(running, return_exceptions=True)
        result = await other.chat("q", [])
    assert codes(result["history"]) == [None]


def nonsense(answer: Any) -> bytes:
    """A result with a block of a type that MCP does not know."""
    return bytes(answer.written(body=answer.body.replace(b'"type":"text"', b'"type":"nonsense"')))


def unauthorized(answer: Any) -> bytes:
    """A refusal that is no JSON-RPC error."""
    return bytes(answer.written(status="401 Unauthorized", body=b'{"detail": "who are you"}'))


@asynccontextmanager
async def damaged(line: Any, faults: list[Any], era: str, told: Told) -> AsyncIterator[AIClient]:
    line.faults.extend(faults)
    model = ScriptedModel(*[asks(("add", {"a": 1, "b": 2}))] * (len(faults) + 1), "bye")
    async with asyncio.timeout(300), client(speaking(line.url(), era), model, told) as ai:
        yield ai


@pytest.mark.slow
@ERAS
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (nonsense, "TOOL_ERROR"),
        (unauthorized, "AUTH_REQUIRED"),
        ("no_json", "CONNECTION_FAILED"),
        ("an_event_of_no_json", "CONNECTION_FAILED"),
        ("a_page", "CONNECTION_FAILED"),
        ("only_accepted", "CONNECTION_FAILED"),
        ("elsewhere", "CONNECTION_FAILED"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_no_failure_of_the_server(
    peers: Any, line: Any, era: str, fault: Any, code: str
) -> None:
    told = Told(MemoryBreakers(threshold=1))
    fault = getattr(peers, fault) if isinstance(fault, str) else fault
    async with damaged(line, [fault] * 2, era, told) as ai:
        result = await ai.chat("q", [])
    assert codes(result["history"]) == [code, code, None]
    assert (told.outcomes, told.state) == ({"ok": 3}, "closed")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["a_gateways_page", "half_a_body", "broken_stream", "nothing_at_all"])
async def test_no_whole_answer_of_the_server_is_a_lost_connection_each_time(peers: Any, line: Any, fault: str) -> None:
    told = Told(MemoryBreakers(threshold=2))
    async with damaged(line, [getattr(peers, fault)] * 2, "modern", told) as ai:
        result = await ai.chat("q", [])
    assert codes(result["history"]) == ["CONNECTION_FAILED", "CONNECTION_FAILED", "CIRCUIT_OPEN"]
    assert (told.outcomes, told.state) == ({"lost": 2}, "open")


def says(message: str, code: int = -32000, **answer: str) -> Any:
    """A protocol error of a server."""
    return lambda a: a.written(body=json_rpc_error(message, code), content_type="application/json", **answer)


def json_rpc_error(message: str, code: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}).encode()


@pytest.mark.slow
@ERAS
async def test_what_a_tool_says_of_a_session_of_its_own_costs_no_connection(line: Any, era: str) -> None:
    """A user's session at a bank is over again and again, and all others use the same connection."""
    told = Told(MemoryBreakers(threshold=1))

    def expired(answer: Any) -> Any:
        error = {"code": -32000, "message": "Your session at the bank has expired"}
        body = json.dumps({"jsonrpc": "2.0", "id": id_of(answer.event()), "error": error}).encode()
        return answer.written(body=body, content_type="application/json")

    async with damaged(line, [expired] * 2, era, told) as ai:
        result = await ai.chat("q", [])
        assert ai.servers[0].connected
    assert codes(result["history"]) == ["TOOL_ERROR", "TOOL_ERROR", None]
    assert (told.outcomes, told.state) == ({"ok": 3}, "closed")
    assert line.methods.count("initialize") == (era == "legacy")


def id_of(event: bytes) -> Any:
    return json.loads(event.partition(b"data: ")[2])["id"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        says("Session not found", -32600, status="404 Not Found"),
        says("No such thing", -32603, status="404 Not Found"),
        says("Bad Request: No valid session ID provided", status="400 Bad Request"),
        says("Unknown session 17", status="401 Unauthorized"),
    ],
)
async def test_a_server_that_has_lost_the_session_is_connected_to_again(line: Any, fault: Any) -> None:
    async with damaged(line, [fault], "legacy", Told()) as ai:
        result = await ai.chat("q", [])
    assert codes(result["history"]) == ["CONNECTION_FAILED", None]
    assert line.methods.count("initialize") == 2


@pytest.mark.slow
async def test_a_method_that_a_server_does_not_have_and_bad_parameters_cost_no_connection(line: Any) -> None:
    faults = [
        says("Method not found", -32601, status="404 Not Found"),
        says("x must be a number", -32602, status="400 Bad Request"),
    ]
    async with damaged(line, faults, "legacy", Told()) as ai:
        result = await ai.chat("q", [])
    assert codes(result["history"]) == ["TOOL_ERROR", "VALIDATION_FAIL", None]
    assert line.methods.count("initialize") == 1


@pytest.mark.slow
async def test_a_result_that_mcp_does_not_allow_costs_no_connection(peers: Any, line: Any) -> None:
    async with damaged(line, [nonsense] * 2, "legacy", Told()) as ai:
        await ai.chat("q", [])
        assert ai.servers[0].connected
    assert line.methods.count("initialize") == 1


async def test_a_forbidden_result_of_an_applications_object_is_an_answer() -> None:
    told = Told(MemoryBreakers(threshold=1))
    server = ScriptedServer({"t": lambda _: mt.CallToolResult.model_validate({"content": [{"type": "nonsense"}]})})
    async with client(server, ScriptedModel(asks("t"), asks("t"), "bye"), told) as ai:
        result = await ai.chat("q", [])
    assert codes(result["history"]) == ["TOOL_ERROR", "TOOL_ERROR"]
    assert (told.outcomes, told.state) == ({"ok": 2}, "closed")


@pytest.mark.parametrize("kind", ["memory", "object"])
async def test_a_call_that_cannot_be_made_says_nothing_of_the_server(servers: Any, kind: str) -> None:
    told = Told(MemoryBreakers(threshold=1))
    schema = {"type": "object", "properties": {"a": {}}}
    server = servers.plain() if kind == "memory" else ScriptedServer({"add": "x"}, add={"inputSchema": schema})
    async with client(server, ScriptedModel(), told, params={"a": threading.Lock()}) as ai:
        response = await ai.call_tool("add", {"b": 2})
    assert response.error is not None
    assert response.error.code == "INTERNAL"
    assert (told.outcomes, told.state) == ({"unknown": 1}, "closed")


@pytest.mark.slow
async def test_no_exception_is_left_unseen_when_servers_never_answer_or_refuse(peers: Any, line: Any) -> None:
    unseen: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context["message"]))
    silent_command = [sys.executable, "-c", "import time; time.sleep(60)"]
    line.at = "tools/list"
    line.faults.extend([peers.silence] * 20)
    async with asyncio.timeout(300), peers.listening(peers.never_answer) as port, peers.http_host() as nobody:
        for target in (f"http://127.0.0.1:{port}/mcp", nobody.url, silent_command, line.url()):
            async with AIClient([target], llm_provider=ScriptedModel("hi"), connect_timeout=0.3) as ai:
                # Those that waited for the connection have left; what becomes of it is the client's own affair.
                if openings := [t for t in asyncio.all_tasks() if t.get_name().startswith("xmcp connect")]:
                    await asyncio.wait(openings)
                del openings
                await ai.chat("q", [])
                await ai.refresh_tools()
            entering = asyncio.create_task(AIClient([target], llm_provider=ScriptedModel("hi")).__aenter__())
            await asyncio.sleep(0.1)
            entering.cancel()
            await asyncio.gather(entering, return_exceptions=True)
    gc.collect()
    await asyncio.sleep(0)
    assert unseen == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refused", "code", "is_answer"),
    [
        (unauthorized, "AUTH_REQUIRED", True),
        (says("who are you", status="403 Forbidden"), "CONNECTION_FAILED", False),
    ],
)
async def test_credentials_refused_when_a_session_is_opened_again_are_an_answer(
    line: Any, refused: Any, code: str, is_answer: bool
) -> None:
    told = Told(MemoryBreakers(threshold=9))

    def lost_and_then_refused(answer: Any) -> Any:
        line.at = "initialize"
        line.faults.extend([refused] * 20)
        return says("Session not found", -32600, status="404 Not Found")(answer)

    async with damaged(line, [lost_and_then_refused], "legacy", told) as ai:
        result = await ai.chat("q", [])
    assert codes(result["history"]) == ["CONNECTION_FAILED", code]
    assert ("ok" in told.outcomes) is is_answer
