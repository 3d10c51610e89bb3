"""Calls that need the approval of a person: the run waits, whoever may answers, and every surface does what it can."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.clock import Clock
from support.gateways import Served, chunks_in, events_in, served, types_in, until
from support.scripted_model import ScriptedModel, asks

from xmcp.client import ChatContext, ToolState
from xmcp.gateway.approval import matches, reason_to_ask
from xmcp.gateway.config import ChatSettings
from xmcp.gateway.keys import digest
from xmcp.gateway.runs.events import EventType, RunEvent, new_run_id
from xmcp.gateway.runs.patience import Patience, RunLimits
from xmcp.gateway.runs.state import RunState

SSE = {"accept": "text/event-stream"}
ADDS = asks(("add", {"a": 2, "b": 3}))
ASKING: Mapping[str, Any] = {"chat": {"approve": ["ad*"]}}


def keys(*names: str, **profile: str) -> dict[str, Any]:
    return {
        "keys": [
            {"name": one, "tenant": one[0], "hash": f"sha256:{digest(f'xmcp_{one}').hex()}", **profile} for one in names
        ]
    }


@asynccontextmanager
async def asking(gateway: Served, path: str = "/chat", body: Any = None, **headers: str) -> Any:
    """Begin a chat whose model wants to add; give the HTTP client, the stream as a task, and the run that waits."""
    async with gateway.http(headers=headers) as http:
        stream = asyncio.create_task(http.post(path, json=body or {"input": "go"}, headers=SSE))
        await until(lambda: gateway.gateway.runs.running and gateway.gateway.runs.running[0].state.approvals)
        (run,) = gateway.gateway.runs.running
        yield http, stream, run
        await stream


def answer(approve: bool = True, call_id: str = "c0", **reason: str) -> dict[str, Any]:
    return {"call_id": call_id, "approve": approve, **reason}


def last_result(model: ScriptedModel) -> str:
    return str(model.requests[-1].messages[-1]["content"])


async def test_a_run_waits_for_a_yes_and_makes_the_call() -> None:
    model = ScriptedModel(ADDS, "It is 5.")
    async with served(model, ASKING) as gateway:
        async with asking(gateway) as (http, stream, run):
            state = (await http.get(f"/runs/{run.id}")).json()
            (asked,) = state["approvals"]
            assert (asked["call_id"], asked["tool"], asked["arguments"]) == ("c0", "add", {"a": 2, "b": 3})
            assert (state["status"], gateway.shop.calls) == ("running", [])
            told = (await http.post(f"/runs/{run.id}/input", json=answer())).json()
            assert told["approvals"] == []
        events = {name: value for name, _, value in events_in((await stream).text)}
    assert types_in((await stream).text)[2:7] == [
        "usage",
        "approval.required",
        "approval.answered",
        "tool.started",
        "tool.finished",
    ]
    assert events["approval.required"]["reason"] == "Calls of ad* need an approval here."
    assert events["approval.required"]["server"] == "shop"
    assert (events["approval.answered"]["approved"], events["approval.answered"]["by"]) == (True, "local")
    assert events["run.finished"]["answer"] == "It is 5."
    assert gateway.shop.calls == ["add"]


async def test_a_no_is_what_the_model_reads_with_its_reason_and_no_call_is_made() -> None:
    model = ScriptedModel(ADDS, "As you like.")
    async with served(model, ASKING) as gateway:
        async with asking(gateway) as (http, _, run):
            refused = await http.post(f"/runs/{run.id}/input", json=answer(False, reason="Not on Mondays."))
            assert refused.status_code == 200
        assert gateway.shop.calls == []
    assert 'code="FORBIDDEN"' in last_result(model)
    assert "Not on Mondays." in last_result(model)
    assert run.state.status == "finished"


async def test_the_same_answer_again_changes_nothing_and_another_one_is_refused() -> None:
    async with served(ScriptedModel(ADDS, "done"), ASKING) as gateway:
        async with asking(gateway) as (http, _, run):
            path = f"/runs/{run.id}/input"
            assert (await http.post(path, json=answer(call_id="c7"))).status_code == 409
            assert [(await http.post(path, json=answer())).status_code for _ in range(2)] == [200, 200]
            assert (await http.post(path, json=answer(False))).status_code == 409
        async with gateway.http() as http:
            assert (await http.post(path, json=answer())).status_code == 200
            assert (await http.post(path, json=answer(False))).json()["error"]["code"] == "not_asked"
    assert gateway.shop.calls == ["add"]


async def test_another_tenant_can_neither_see_nor_answer_and_another_key_of_the_tenant_can() -> None:
    config = {**ASKING, **keys("a1", "a2", "b1")}
    async with served(ScriptedModel(ADDS, "done"), config) as gateway:
        async with asking(gateway, authorization="Bearer xmcp_a1") as (http, stream, run):
            evil = await http.post(f"/runs/{run.id}/input", json=answer(), headers={"authorization": "Bearer xmcp_b1"})
            assert evil.status_code == 404
            assert run.state.approvals
            other = await http.post(f"/runs/{run.id}/input", json=answer(), headers={"authorization": "Bearer xmcp_a2"})
            assert other.status_code == 200
        told = {name: value for name, _, value in events_in((await stream).text)}
    assert told["approval.answered"]["by"] == "a2"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "call_id"),
        ({"call_id": "c0"}, "approve"),
        ({"call_id": "c0", "approve": "yes"}, "approve"),
        ({"call_id": "c0", "approve": True, "reason": "x" * 1001}, "reason"),
    ],
)
async def test_an_answer_that_is_none_is_refused_with_its_place(body: Any, param: str) -> None:
    async with served(ScriptedModel(ADDS, "done"), ASKING) as gateway, asking(gateway) as (http, _, run):
        refused = await http.post(f"/runs/{run.id}/input", json=body)
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
        await http.post(f"/runs/{run.id}/input", json=answer())


async def test_without_an_answer_in_time_the_call_is_refused_and_the_chat_goes_on() -> None:
    model = ScriptedModel(ADDS, "done")
    config = {"chat": {"approve": ["add"], "approval_seconds": 0.05}}
    async with served(model, config) as gateway, gateway.http() as http:
        stream = (await http.post("/chat", json={"input": "go"}, headers=SSE)).text
        run_id = events_in(stream)[0][2]["run_id"]
        assert (await http.post(f"/runs/{run_id}/input", json=answer())).status_code == 409
    told = {name: value for name, _, value in events_in(stream)}
    assert told["approval.answered"]["approved"] is False
    assert "by" not in told["approval.answered"]
    assert "Nobody approved this call in time" in last_result(model)
    assert told["run.finished"]["answer"] == "done"


async def test_the_time_of_the_chat_stands_still_while_it_waits() -> None:
    async with served(ScriptedModel(ADDS, "done"), ASKING) as gateway, asking(gateway) as (http, _, run):
        day = asyncio.get_running_loop().time() + 86_400
        assert run._patience.until > day
        await http.post(f"/runs/{run.id}/input", json=answer())
        assert run._patience.until < day


async def test_a_wait_for_a_person_is_added_to_the_time_of_the_run() -> None:
    clock = Clock(asyncio.get_running_loop().time())
    began = clock.now
    patience = Patience(RunLimits(deadline=100, first_event=10, idle=20, grace=1), 50)
    patience._now = clock
    assert patience.until == pytest.approx(began + 10, abs=1)
    clock.now += 5
    patience.heard()
    assert patience.until == pytest.approx(began + 25, abs=1)
    patience.stop()
    clock.now += 1_000
    patience.heard()
    assert not patience.is_over
    patience.go_on()
    assert patience.until == pytest.approx(began + 1_025, abs=1)
    clock.now += 40
    patience.heard()
    assert patience.until == pytest.approx(began + 1_050, abs=1)
    assert not patience.is_whole
    clock.now += 10
    assert patience.is_whole
    assert patience.is_over


async def test_a_chat_ends_in_its_time_also_if_that_stood_still_in_the_middle_of_a_wait() -> None:
    patience = Patience(RunLimits(deadline=100, first_event=0.2, idle=0.1, grace=1), None)
    loop = asyncio.get_running_loop()
    began = loop.time()
    loop.call_later(0.1, patience.stop)
    loop.call_later(0.5, patience.go_on)
    with pytest.raises(TimeoutError), patience.listening():
        await asyncio.sleep(20)
    assert 0.5 <= loop.time() - began < 10
    assert patience.is_over
    patience.close()


async def test_a_run_that_waits_needs_no_reader_and_goes_on_when_it_is_answered() -> None:
    soon = {**ASKING, "runs": {"client_gone_seconds": 0.05}}
    async with served(ScriptedModel(ADDS, "done"), soon) as gateway, gateway.http() as http:
        async with http.stream("POST", "/chat", json={"input": "go"}, headers=SSE) as stream:
            run_id = stream.headers["xmcp-run-id"]
            (run,) = gateway.gateway.runs.running
            await until(lambda: run.state.approvals)
        await until(lambda: run.is_alone)
        await asyncio.sleep(0.3)
        assert (await http.post(f"/runs/{run_id}/input", json=answer())).status_code == 200
        await run.over()
    assert run.state.status == "finished"


async def test_a_run_that_was_answered_goes_on_to_its_end_without_a_reader() -> None:
    go_on = asyncio.Event()

    async def later(_: Any) -> str:
        await go_on.wait()
        return "done"

    soon = {**ASKING, "runs": {"client_gone_seconds": 0.05}}
    async with served(ScriptedModel(ADDS, later), soon) as gateway, gateway.http() as http:
        async with http.stream("POST", "/chat", json={"input": "go"}, headers=SSE):
            (run,) = gateway.gateway.runs.running
            await until(lambda: run.state.approvals)
        await http.post(f"/runs/{run.id}/input", json=answer())
        await until(lambda: run.is_alone)
        await asyncio.sleep(0.3)
        go_on.set()
        await run.over()
    assert run.state.answer == "done"


async def test_a_run_whose_question_ends_without_an_answer_ends_if_nobody_reads_it() -> None:
    config = {"chat": {"approve": ["add"], "approval_seconds": 0.3}, "runs": {"client_gone_seconds": 0.05}}
    async with served(ScriptedModel(ADDS, asks("wait")), config) as gateway, gateway.http() as http:
        async with http.stream("POST", "/chat", json={"input": "go"}, headers=SSE):
            (run,) = gateway.gateway.runs.running
            await until(lambda: run.state.approvals)
        async with asyncio.timeout(10):
            await run.over()
    assert run.state.status == "cancelled"


async def test_a_run_that_waits_can_be_cancelled_and_drained() -> None:
    async with served(ScriptedModel(then=ADDS), ASKING) as gateway:
        async with asking(gateway) as (http, _, run):
            cancelled = (await http.post(f"/runs/{run.id}/cancel")).json()
            assert (cancelled["status"], cancelled["approvals"]) == ("cancelled", [])
        async with asking(gateway) as (_, _, run):
            assert await gateway.gateway.runs.drain(0) == 1
        assert run.state.status == "interrupted"


async def test_several_questions_of_a_turn_are_open_at_the_same_time() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 1}), "fail", ("add", {"a": 2, "b": 2})), "done")
    async with served(model, ASKING) as gateway, asking(gateway) as (http, _, run):
        await until(lambda: len(run.state.approvals) == 2)
        await http.post(f"/runs/{run.id}/input", json=answer(call_id="c2"))
        await until(lambda: "add" in gateway.shop.calls)
        assert list(run.state.approvals) == ["c0"]
        await http.post(f"/runs/{run.id}/input", json=answer(False, "c0"))
    assert sorted(gateway.shop.calls) == ["add", "fail"]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_of_openais_api_cannot_be_asked_so_the_model_is_told(stream: bool) -> None:
    model = ScriptedModel(ADDS, "It needs an approval.")
    body = {"model": "assistant", "messages": [{"role": "user", "content": "go"}], "stream": stream}
    async with served(model, ASKING) as gateway, gateway.http() as http:
        told = await http.post("/v1/chat/completions", json=body)
    assert "It needs an approval." in told.text
    assert "nobody can be asked" in last_result(model)
    assert gateway.shop.calls == []


async def test_a_chat_in_one_piece_cannot_be_asked_either() -> None:
    model = ScriptedModel(ADDS, "no")
    async with served(model, ASKING) as gateway, gateway.http() as http:
        told = (await http.post("/chat", json={"input": "go"})).json()
    assert told["tools_used"][0]["code"] == "FORBIDDEN"


async def test_a_stream_of_openais_api_with_xmcps_events_can_be_asked() -> None:
    body = {"model": "assistant", "messages": [{"role": "user", "content": "go"}], "stream": True}
    config = {**ASKING, "openai": {"events": "xmcp"}}
    async with served(ScriptedModel(ADDS, "done"), config) as gateway:
        async with asking(gateway, "/v1/chat/completions", body) as (http, stream, run):
            await http.post(f"/runs/{run.id}/input", json=answer())
        *chunks, _ = chunks_in((await stream).text)
    assert [one["xmcp"]["type"] for one in chunks if "xmcp" in one][2:4] == ["approval.required", "approval.answered"]


async def test_an_ag_ui_client_is_asked_by_a_custom_event() -> None:
    run_input = {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "go"}]}
    async with served(ScriptedModel(ADDS, "done"), ASKING) as gateway:
        async with asking(gateway, "/ui/ag-ui", run_input) as (http, stream, run):
            await http.post(f"/runs/{run.id}/input", json=answer())
        values = [value for _, _, value in events_in((await stream).text)]
    assert values[0]["metadata"]["xmcpRunId"] == run.id
    custom = [(one["name"], one["value"].get("call_id")) for one in values if one["type"] == "CUSTOM"]
    assert ("xmcp.approval.required", "c0") in custom
    assert ("xmcp.approval.answered", "c0") in custom


PARTS: list[Any] = [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "go"}]}]


def responded(values: list[Any], approved: bool, **reason: str) -> dict[str, Any]:
    """Return the message of the assistant that `useChat` sends when its person has answered all questions."""
    parts = [
        {
            "type": "dynamic-tool",
            "toolName": "add",
            "toolCallId": one["toolCallId"],
            "state": "approval-responded",
            "approval": {"id": one["approvalId"], "approved": approved, **reason},
        }
        for one in values
        if one != "[DONE]" and one["type"] == "tool-approval-request"
    ]
    return {"id": "2", "role": "assistant", "parts": [{"type": "step-start"}, *parts]}


@pytest.mark.parametrize("approved", [True, False])
async def test_a_page_of_the_ai_sdk_answers_in_its_next_request_which_streams_the_rest(approved: bool) -> None:
    async with served(ScriptedModel(ADDS, "done"), ASKING) as gateway, gateway.http() as http:
        first = [value for _, _, value in events_in((await http.post("/ui/ai-sdk", json={"messages": PARTS})).text)]
        assert [one if one == "[DONE]" else one["type"] for one in first[2:]] == [
            "tool-input-available",
            "tool-approval-request",
            "finish",
            "[DONE]",
        ]
        (run,) = gateway.gateway.runs.running
        body = {"messages": [*PARTS, responded(first, approved)]}
        rest = [value for _, _, value in events_in((await http.post("/ui/ai-sdk", json=body)).text)]
        again = await http.post("/ui/ai-sdk", json=body)
    types = [one if one == "[DONE]" else one["type"] for one in rest]
    assert types[0] == ("tool-output-available" if approved else "tool-output-denied")
    assert types[-2:] == ["finish", "[DONE]"]
    assert "tool-input-available" not in types
    assert "".join(one.get("delta", "") for one in rest if one != "[DONE]") == "done"
    assert gateway.shop.calls == (["add"] if approved else [])
    assert run.state.status == "finished"
    assert events_in(again.text)[-1][2] == "[DONE]"


async def test_a_page_of_the_ai_sdk_sees_what_else_ran_before_its_stream_pauses() -> None:
    model = ScriptedModel(asks(("add", {"a": 2, "b": 3}), "fail", ("add", {"a": 1, "b": 1})), "done")
    async with served(model, ASKING) as gateway, gateway.http() as http:
        first = [value for _, _, value in events_in((await http.post("/ui/ai-sdk", json={"messages": PARTS})).text)]
        seen = {one["type"] for one in first if one != "[DONE]"}
        body = {"messages": [*PARTS, responded(first, True)]}
        while gateway.gateway.runs.running:
            rest = [value for _, _, value in events_in((await http.post("/ui/ai-sdk", json=body)).text)]
            body = {"messages": [*PARTS, responded(rest, True)]}
    assert "tool-approval-request" in seen
    assert sorted(gateway.shop.calls) == ["add", "add", "fail"]
    assert rest[-2]["type"] == "finish"


async def test_an_answer_of_a_page_for_a_run_that_is_gone_or_of_others_is_refused() -> None:
    config = {**ASKING, **keys("a1", "b1")}
    own = {"authorization": "Bearer xmcp_a1"}
    async with served(ScriptedModel(ADDS, "done"), config) as gateway, gateway.http(headers=own) as http:
        first = [value for _, _, value in events_in((await http.post("/ui/ai-sdk", json={"messages": PARTS})).text)]
        body = {"messages": [*PARTS, responded(first, True)]}
        evil = await http.post("/ui/ai-sdk", json=body, headers={"authorization": "Bearer xmcp_b1"})
        assert evil.status_code == 404
        (run,) = gateway.gateway.runs.running
        await http.post(f"/runs/{run.id}/input", json=answer(False))
        assert (await http.post("/ui/ai-sdk", json=body)).status_code == 409
        await run.over()
        assert run.is_alone


def test_a_run_waits_for_a_person_only_when_nothing_else_goes_on() -> None:
    state = RunState()
    call = {"step": 1, "call_id": "c0", "tool": "add"}
    other = {**call, "call_id": "c1"}
    told: list[tuple[EventType, Any, bool]] = [
        ("tool.started", other, False),
        ("approval.required", call, False),
        ("tool.finished", {**other, "status": "ok"}, True),
        ("approval.answered", {**call, "approved": True}, False),
    ]
    for seq, (kind, data, waits) in enumerate(told, start=1):
        state.apply(RunEvent(new_run_id(), 1, seq, kind, data, b""))
        assert state.waits_for_person is waits


def call(tool: str, *, read_only: bool = False) -> ToolState:
    return ToolState(
        chat=ChatContext("c"), turn=1, call_id="c0", tool_name=tool, server="s", arguments={}, read_only=read_only
    )


def test_what_needs_an_approval_is_said_by_the_configuration() -> None:
    by_name = ChatSettings(approve=["delete_*", "send?"])
    assert reason_to_ask(by_name, call("delete_all")) == "Calls of delete_* need an approval here."
    assert reason_to_ask(by_name, call("sends")) is not None
    assert reason_to_ask(by_name, call("DELETE_all")) is None
    assert reason_to_ask(by_name, call("undelete_all")) is None
    assert reason_to_ask(ChatSettings(), call("delete_all")) is None
    changes = ChatSettings(approve_changes=True)
    assert reason_to_ask(changes, call("look", read_only=True)) is None
    assert reason_to_ask(changes, call("look")) == "The tool does not say that it changes nothing."


@pytest.mark.parametrize(
    ("pattern", "tool", "named"),
    [
        ("sales_summary", "sales_summary", True),
        ("sales_summary", "sales__sales_summary", True),
        ("sales__*", "sales__sales_summary", True),
        ("delete_*", "shop__delete_order", True),
        ("summary", "sales__sales_summary", False),
        ("sales", "sales__sales_summary", False),
    ],
)
def test_a_pattern_names_a_tool_with_its_server_or_without(pattern: str, tool: str, named: bool) -> None:
    assert matches(pattern, tool) is named


async def test_a_pattern_that_names_no_tool_is_said_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    async with served(ScriptedModel(), {"chat": {"approve": ["ad*", "del"]}}):
        pass
    told = [record.getMessage() for record in caplog.records if "approve" in record.getMessage()]
    assert told == ["[chat] approve: 'del' names no tool of the servers that are connected"]


async def test_a_tool_of_a_key_that_is_none_is_said_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    front = {"name": "front", "tenant": "acme", "hash": f"sha256:{digest('a').hex()}", "tools": ["add", "sales__add"]}
    back = {"name": "back", "tenant": "acme", "hash": f"sha256:{digest('b').hex()}"}
    async with served(ScriptedModel(), {"keys": [front, back]}):
        pass
    told = [record.getMessage() for record in caplog.records if "keys" in record.getMessage()]
    wrong = "[[keys]] 'front', tools: 'sales__add' names no tool of the servers that are connected: GET /tools has them"
    assert told == [wrong]
