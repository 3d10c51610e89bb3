"""What a server reports of the progress of a call: which reports the application is told, when, and what they cost."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine
from typing import Any

import fastmcp
import mcp_types as mt
import pytest
from fastmcp.client.transports import StdioTransport
from mcp.shared.message import SessionMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support import clock, flooding_program
from support.chats import chat, events_of, make_pipeline
from support.http_host import hosted
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import Reporting, ScriptedServer, in_turn

from xmcp.chat.completions import ToolCall
from xmcp.chat.events import ToolProgress
from xmcp.client import AIClient, ServerTarget
from xmcp.client.calls import progress
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.progress import AttemptProgress, Report
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.progress_reports import MAX_HELD, REPORT_SECONDS, NewestReports
from xmcp.storage import MemoryCache
from xmcp.wire import ErrorInfo
from xmcp_conformance.reader.schemas import faults

CALL = ToolCall("c0", "work", "{}")
BUSY = ErrorInfo("DB_TIMEOUT", "busy", retryable=True)
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


def in_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    def run(*given: Any, **named: Any) -> None:
        clock.run(test(*given, **named))

    run.__name__ = test.__name__
    return run


# ---- the reports of one attempt


class Told:
    """The reports that an application takes as soon as it is told of them, with the seconds at which it was."""

    def __init__(self) -> None:
        self.reports: list[tuple[float, Report]] = []

    def __call__(self, event: AttemptProgress) -> None:
        self.reports.append((round(asyncio.get_running_loop().time(), 3), event.take()))

    @property
    def progress(self) -> list[tuple[float, float]]:
        return [(at, report.progress) for at, report in self.reports]


@in_virtual_time
async def test_the_first_report_comes_at_once_then_the_newest_of_each_tenth_of_a_second_and_the_last() -> None:
    told = Told()
    attempt = AttemptProgress(CALL, told)
    for number in range(60):
        attempt.report(number)
        await asyncio.sleep(0.007)
    attempt.end()
    assert told.progress == [(0, 0), (0.1, 14), (0.2, 28), (0.3, 42), (0.4, 57), (0.42, 59)]


@in_virtual_time
async def test_a_report_that_waits_is_told_without_another_one() -> None:
    told = Told()
    attempt = AttemptProgress(CALL, told)
    attempt.report(1)
    attempt.report(2)
    await asyncio.sleep(5)
    assert told.progress == [(0, 1), (0.1, 2)]
    attempt.report(3)
    assert told.progress[2:] == [(5, 3)]


@in_virtual_time
async def test_what_comes_after_the_end_is_left_out() -> None:
    told = Told()
    attempt = AttemptProgress(CALL, told)
    attempt.end()
    attempt.report(1)
    await asyncio.sleep(1)
    assert told.reports == []


@in_virtual_time
async def test_a_reader_that_is_slow_gets_the_newest_report_and_only_that() -> None:
    events: list[AttemptProgress] = []
    attempt = AttemptProgress(CALL, events.append)
    for number in range(10_000):
        attempt.report(number, 9999, f"row {number}")
        if number % 1000 == 0:
            await asyncio.sleep(1)
    attempt.end()
    assert len(events) == 1
    assert events[0].take() == Report(9999, 9999, "row 9999")


@in_virtual_time
async def test_what_is_no_number_is_no_report_and_no_total() -> None:
    told = Told()
    attempt = AttemptProgress(CALL, told)
    values: list[Any] = [math.nan, math.inf, 10**400, True, "1", None]
    for value in values:
        attempt.report(value)
        await asyncio.sleep(1)
    assert told.reports == []
    for value in values:
        attempt.report(1, value)
        await asyncio.sleep(1)
    assert [report.total for _, report in told.reports] == [None] * len(values)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("\x1b[2Jone\r\ntwo\x00\u2028three", "[2Jone two three"),
        ("12\u00a0% 世界 👩‍👩‍👧", "12\u00a0% 世界 👩‍👩‍👧"),
        ("x" * 5_000_000, "x" * progress.MAX_TEXT),
        ("\n \t", ""),
        (None, ""),
        (["a"], ""),
    ],
)
def test_the_text_of_a_server_is_one_bounded_line(said: Any, text: str) -> None:
    async def taken() -> Report:
        told = Told()
        AttemptProgress(CALL, told).report(1, None, said)
        return told.reports[0][1]

    report = asyncio.run(taken())
    assert report == Report(1, None, text)
    event = ToolProgress(turn=1, call_id="c", tool_name="t", progress=1, total=report.total, text=report.text)
    assert [*faults("chat_event", event.to_json())] == []
    assert ("text" in event.to_json()) is bool(text)


# ---- the events of a chat


def kinds(told: list[Any]) -> list[Any]:
    return [event.progress if event.type == "tool_progress" else event.type for event in told]


async def test_progress_stands_between_the_start_and_the_result_of_its_call() -> None:
    server = ScriptedServer({"work": Reporting("done", (1, 2, "one"), (2, 2, None))})
    told = await events_of(chat(ScriptedModel(asks("work"), "ok"), server))
    of_call = [event for event in told if getattr(event, "call_id", None) == "c0"]
    assert kinds(of_call) == ["tool_call", "tool_started", 2.0, "tool_result"]
    (event,) = [one for one in told if isinstance(one, ToolProgress)]
    assert event.to_json() == {
        "type": "tool_progress",
        "turn": 1,
        "call_id": "c0",
        "tool_name": "work",
        "progress": 2.0,
        "total": 2.0,
    }


async def test_after_a_retry_it_begins_anew() -> None:
    acts = in_turn(Reporting(BUSY, (7,)), Reporting("done", (1,)))

    class Twice(ScriptedServer):
        async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
            self.acts["work"] = acts(None)
            return await super().execute_tool_call(tool_name, arguments, on_progress)

    server = Twice({"work": "done"}, work={"annotations": {"readOnlyHint": True}})
    told = await events_of(chat(ScriptedModel(asks("work"), "ok"), server))
    of_call = [event for event in told if getattr(event, "call_id", None) == "c0"]
    assert kinds(of_call) == ["tool_call", "tool_started", 7.0, "retry", 1.0, "tool_result"]


@in_virtual_time
async def test_progress_does_not_prolong_the_time_of_a_call() -> None:
    async def report_for_ever(on_progress: Any) -> None:
        while True:
            on_progress(1, None, "still here")
            await asyncio.sleep(1)

    class Endless(ScriptedServer):
        async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
            await report_for_ever(on_progress)

    told = await events_of(chat(ScriptedModel(asks("work"), "ok"), Endless({"work": "done"}), timeout=3.5))
    (failed,) = [event for event in told if event.type == "tool_error"]
    assert failed.error.code == "TIMEOUT"
    assert kinds(told).count(1.0) == 4
    assert asyncio.get_running_loop().time() < 4


async def test_a_call_that_waits_for_an_equal_one_or_is_answered_from_the_cache_has_no_progress() -> None:
    gate = asyncio.Event()

    async def opened(_: Any) -> str:
        await gate.wait()
        return "done"

    def opens(_: Any) -> str:
        gate.set()
        return "open"

    server = ScriptedServer({"work": Reporting(opened, (1,)), "open": opens}, work={"metadata": {"cacheable": True}})
    cache = ResponseCache(MemoryCache(), None, EventLog())
    model = ScriptedModel(asks("work", "work", "open"), asks("work"), "ok")
    told = await events_of(chat(model, server, pipeline=make_pipeline(cache=cache)))
    started = [event.call_id for event in told if event.type == "tool_started"]
    assert sorted(started) == ["c0", "c2"]
    assert [event.call_id for event in told if event.type == "tool_progress"] == ["c0"]
    assert server.count("work") == 1


@in_virtual_time
async def test_a_chat_that_inherits_an_attempt_is_told_nothing_of_it() -> None:
    async def works(on_progress: Any) -> str:
        for number in range(6):
            on_progress(number, 6, None)
            await asyncio.sleep(1)
        return "done"

    class Slow(ScriptedServer):
        async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
            self.calls.append((tool_name, arguments))
            return self._written(tool_name, await works(on_progress))

    server = Slow({"work": "done"}, work={"metadata": {"cacheable": True}})
    shared = make_pipeline(cache=ResponseCache(MemoryCache(), None, EventLog()))
    first = asyncio.create_task(events_of(chat(ScriptedModel(asks("work")), server, pipeline=shared)))
    await asyncio.sleep(0.5)
    second = asyncio.create_task(events_of(chat(ScriptedModel(asks("work"), "ok"), server, pipeline=shared)))
    await asyncio.sleep(2)
    first.cancel()
    told = await second
    assert len(server.calls) == 1
    assert [event.type for event in told if getattr(event, "call_id", None) == "c0"] == ["tool_call", "tool_result"]


async def test_an_object_in_the_place_of_a_server_can_report_too() -> None:
    class Own:
        async def discover_tools(self) -> list[Any]:
            return [{"name": "work"}]

        async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any], on_progress: Any) -> str:
            on_progress(1, 4, "a quarter")
            return "done"

    async with AIClient([Own()], llm_provider=ScriptedModel(asks("work"), "ok")) as ai:
        told = [event async for event in ai.stream_chat("q", [])]
        assert (await ai.call_tool("work", {})).llm_output == "done"
    (event,) = [one for one in told if isinstance(one, ToolProgress)]
    assert (event.progress, event.total, event.text) == (1, 4, "a quarter")


# ---- on the way from a server


def note(token: Any, number: Any, **other: Any) -> SessionMessage:
    params = {"progressToken": token, "progress": number, **other}
    return SessionMessage(mt.JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params=params))


ANSWER = SessionMessage(mt.JSONRPCResponse(jsonrpc="2.0", id=1, result={}))


def numbers(messages: list[Any]) -> list[Any]:
    return [one.message.params["progress"] if one is not ANSWER else "answer" for one in messages]


def test_of_many_reports_the_newest_are_handed_on_and_the_last_before_the_answer() -> None:
    now = clock.Clock()
    reports = NewestReports(now)
    assert numbers(reports.passing(note(1, 1))) == [1]
    assert reports.due is None
    assert [numbers(reports.passing(note(token, n))) for n in range(2, 9) for token in (1, 2)] == [[]] * 14
    assert reports.due == REPORT_SECONDS
    now.now = REPORT_SECONDS
    assert numbers(reports.held()) == [8, 8]
    assert reports.due is None
    assert numbers(reports.passing(note(1, 9))) == []
    assert numbers(reports.passing(note(1, 10))) == []
    assert numbers(reports.passing(ANSWER)) == [10, "answer"]
    assert numbers(reports.passing(ANSWER)) == ["answer"]


def test_reports_of_more_calls_than_are_kept_are_handed_on() -> None:
    reports = NewestReports(clock.Clock())
    passed = [reports.passing(note(token, token)) for token in range(3 * MAX_HELD)]
    assert sum(map(len, passed)) + len(reports.held()) == 3 * MAX_HELD
    assert max(map(len, passed)) <= MAX_HELD + 1


@pytest.mark.parametrize("value", [math.nan, -math.inf, 10**400, True, "1", None])
def test_reports_that_are_none_go_nowhere(value: Any) -> None:
    reports = NewestReports(clock.Clock())
    assert reports.passing(note(1, value)) == []
    assert reports.passing(note(None, 1)) == []
    (passed,) = reports.passing(note(1, 1, total=value))
    assert passed.message.params.get("total") is None


@MODES
@pytest.mark.parametrize("wire", ["stdio", "http"])
async def test_progress_comes_while_the_call_runs_in_both_eras(mode: Any, wire: str, stdio: Any, servers: Any) -> None:
    transport: Any
    async with hosted(servers.fragile().http_app()) as url:
        program, *arguments = stdio("fragile")
        transport = StdioTransport(program, arguments, keep_alive=False) if wire == "stdio" else f"{url}/mcp"
        target = ServerTarget(fastmcp.Client(transport, mode=mode))
        model = ScriptedModel(asks(("count", {"to": 3, "seconds": 0.2})), "ok")
        async with asyncio.timeout(60), AIClient([target], llm_provider=model) as ai:
            told = [event async for event in ai.stream_chat("q", [])]
    assert kinds(told)[-8:] == ["tool_started", 1.0, 2.0, 3.0, "tool_result", "llm_delta", "usage", "done"]
    assert [(one.total, one.text) for one in told if isinstance(one, ToolProgress)] == [
        (3, "step 1"),
        (3, "step 2"),
        (3, "step 3"),
    ]


async def test_a_client_of_the_application_still_hears_of_progress(servers: Any) -> None:
    heard: list[Any] = []

    async def handler(*said: Any) -> None:
        heard.append(said)

    target = ServerTarget(fastmcp.Client(servers.fragile(), progress_handler=handler))
    async with AIClient([target], llm_provider=ScriptedModel(asks(("count", {"to": 1})), "ok")) as ai:
        told = [event async for event in ai.stream_chat("q", [])]
    assert heard == [(1.0, 1.0, "step 1")]
    assert kinds(told).count(1.0) == 1


def flooding_app(reports: int, *, handshake: bool) -> Starlette:
    """A server over HTTP whose tool sends so many reports at once, and then its answer."""
    told = {"serverInfo": {"name": "flood", "version": "1"}, "capabilities": {"tools": {}}}
    results: dict[str, dict[str, Any]] = {
        "server/discover": {**told, "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private"},
        "initialize": {**told, "protocolVersion": "2025-11-25"},
        "tools/list": {"tools": [flooding_program.TOOL], "ttlMs": 0, "cacheScope": "private"},
        "tools/call": {"content": [{"type": "text", "text": "poured"}]},
    }
    if handshake:
        del results["server/discover"]

    async def answer(request: Request) -> Response:
        asked = await request.json()
        if "id" not in asked:
            return Response(status_code=202)
        result = results.get(asked["method"])
        if result is None:
            error = {"code": -32601, "message": "Method not found"}
            return JSONResponse({"jsonrpc": "2.0", "id": asked["id"], "error": error}, 404)
        whole = {"jsonrpc": "2.0", "id": asked["id"], "result": {"resultType": "complete", **result}}
        if asked["method"] != "tools/call":
            return JSONResponse(whole)
        token = asked["params"]["_meta"]["progressToken"]
        events = [json.dumps(one) for one in (*flooding_program.reports(token, reports), whole)]
        return Response("".join(f"event: message\ndata: {one}\n\n" for one in events), media_type="text/event-stream")

    async def listens(_: Request) -> Response:
        return Response(status_code=405)

    return Starlette(
        routes=[Route("/mcp", answer, methods=["POST"]), Route("/mcp", listens, methods=["GET", "DELETE"])]
    )


@pytest.mark.parametrize("wire", ["stdio", "http", "http of the handshake"])
async def test_ten_thousand_reports_at_once_fail_no_call_and_most_are_left_out_on_the_way(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    many, handed_on, report = 10_000, [0], AttemptProgress.report

    def counted(attempt: AttemptProgress, *said: Any) -> None:
        handed_on[0] += 1
        report(attempt, *said)

    monkeypatch.setattr(AttemptProgress, "report", counted)
    async with hosted(flooding_app(many, handshake="handshake" in wire)) as url:
        target: Any = flooding_program.command("reports") if wire == "stdio" else f"{url}/mcp"
        model = ScriptedModel(asks(("pour", {"size": many})), asks(("pour", {"size": many})), "ok")
        async with asyncio.timeout(240), AIClient([target], llm_provider=model) as ai:
            told = [event async for event in ai.stream_chat("q", [])]
    assert [event.type for event in told if event.type in ("tool_result", "tool_error")] == ["tool_result"] * 2
    for turn in (1, 2):
        of_turn = [event for event in told if isinstance(event, ToolProgress) and event.turn == turn]
        assert of_turn[-1].progress == many
    assert handed_on[0] < many
