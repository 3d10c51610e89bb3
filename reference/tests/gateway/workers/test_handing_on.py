"""A gateway in several processes answers as one: whichever a request reaches, what it is about is found."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.clock import never
from support.gateways import Served, chunks_in, types_in, until
from support.scripted_model import ScriptedModel, asks
from support.workers import workers

from xmcp.gateway.ids import conversation_of
from xmcp.providers import Completion

SSE = {"accept": "text/event-stream"}
TURNS: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
STREAMED: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "native": ("/chat", {"input": "go"}, SSE),
    "openai": ("/v1/chat/completions", {"model": "assistant", "messages": TURNS, "stream": True}, {}),
    "ai-sdk": (
        "/ui/ai-sdk",
        {"id": "page", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "go"}]}]},
        {},
    ),
    "ag-ui": (
        "/ui/ag-ui",
        {"threadId": "page", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "go"}], "tools": []},
        {},
    ),
}


async def post(up: Served, path: str, body: Any, **headers: str) -> Any:
    async with up.http() as http:
        return await http.post(
            path, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()}
        )


async def get(up: Served, path: str, **headers: str) -> Any:
    async with up.http() as http:
        return await http.get(path, headers={name.replace("_", "-"): text for name, text in headers.items()})


async def test_a_session_goes_on_through_every_process(tmp_path: Path) -> None:
    model = ScriptedModel(then="ok")
    async with workers(tmp_path, model, count=3) as up:
        session = up.session_at(1)
        answers = [await post(one, "/chat", {"input": "hi", "session_id": session}) for one in up.all]
        assert [one.headers["xmcp-history"] for one in answers] == ["new", "remembered", "remembered"]
        seen = [(await get(one, f"/sessions/{session}")).json() for one in up.all]
        assert seen[0] == seen[1] == seen[2]
        async with up.all[2].http() as http:
            assert (await http.delete(f"/sessions/{session}")).status_code == 204
        assert [(await get(one, f"/sessions/{session}")).status_code for one in up.all] == [404] * 3
    assert [len(request.messages) for request in model.requests] == [1, 3, 5]


async def test_a_chat_of_a_session_that_runs_is_seen_by_every_process(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(["a", never])) as up:
        body = {"input": "hi", "session_id": up.session_at(1)}
        first = asyncio.create_task(post(up.all[0], "/chat", body))
        await until(lambda: up.all[1].gateway.runs.running)
        refused = await post(up.all[0], "/chat", {**body, "input": "and"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_busy")
        up.all[1].gateway.runs.running[0].cancel("caller")
        assert (await first).status_code == 499


async def test_a_conversation_is_deleted_by_every_process_with_its_session(tmp_path: Path) -> None:
    model = ScriptedModel(then="ok")
    async with workers(tmp_path, model, audit=tmp_path / "audit.db") as up:
        for number in (0, 1):
            session = up.session_at(number)
            await post(up.all[0], "/chat", {"input": "hi", "session_id": session})
            async with up.all[0].http() as http:
                name = conversation_of(None, session)
                assert (await http.delete(f"/conversations/{name}")).status_code == 204
            assert (await get(up.all[1], f"/sessions/{session}")).status_code == 404


async def test_a_request_with_a_key_runs_once_in_all_processes(tmp_path: Path) -> None:
    model = ScriptedModel(then="ok")
    async with workers(tmp_path, model, count=3) as up:
        for key in "abcde":
            answers = [await post(one, "/chat", {"input": key}, idempotency_key=key) for one in up.all]
            assert len({answer.json()["run_id"] for answer in answers}) == 1
            assert [answer.headers.get("xmcp-replayed") for answer in answers] == [None, "true", "true"]
            refused = [await post(one, "/chat", {"input": "ho"}, idempotency_key=key) for one in up.all]
            assert {answer.json()["error"]["code"] for answer in refused} == {"idempotency_key_reused"}
    assert len(model.requests) == 5


async def test_a_repetition_that_says_so_runs_once_in_all_processes(tmp_path: Path) -> None:
    model = ScriptedModel(then="ok")
    async with workers(tmp_path, model) as up:
        for words in "abcde":
            body = {"model": "assistant", "messages": [{"role": "user", "content": words}]}
            first = await post(up.all[0], "/v1/chat/completions", body)
            again = await post(up.all[1], "/v1/chat/completions", body, x_stainless_retry_count="1")
            assert again.json() == first.json()
    assert len(model.requests) == 5


@pytest.mark.parametrize("key", [{}, {"idempotency_key": "first"}])
async def test_a_round_of_the_clients_tools_goes_on_with_what_ran_inside(tmp_path: Path, key: dict[str, str]) -> None:
    tools = [{"type": "function", "function": {"name": "ask_page", "parameters": {"type": "object"}}}]
    calls = asks(("add", {"a": 1, "b": 2}), "ask_page")
    model = ScriptedModel(calls, "blue it is")
    async with workers(tmp_path, model) as up:
        body = {"model": "assistant", "messages": [*TURNS], "tools": tools}
        first = await post(up.all[0], "/v1/chat/completions", body, **key)
        message = first.json()["choices"][0]["message"]
        (call,) = message["tool_calls"]
        result = {"role": "tool", "tool_call_id": call["id"], "content": "blue"}
        again = {**body, "messages": [*TURNS, message, result]}
        wrong = up.wrong_for(first.headers["xmcp-run-id"])
        second = await post(wrong, "/v1/chat/completions", again, **({"idempotency_key": "second"} if key else {}))
    assert second.json()["choices"][0]["message"]["content"] == "blue it is"
    assert [one["role"] for one in model.requests[1].messages] == ["user", "assistant", "tool", "tool"]


async def test_a_run_is_followed_resumed_and_cancelled_through_every_process(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel([*"abc", never])) as up:
        (home, wrong), body = up.all, {"input": "hi", "session_id": up.session_at(0)}
        asking = asyncio.create_task(post(wrong, "/chat", body))
        await until(lambda: home.gateway.runs.running and home.gateway.runs.running[0].state.text)
        (run,) = home.gateway.runs.running
        assert (await get(wrong, f"/runs/{run.id}")).json()["status"] == "running"
        following = asyncio.create_task(get(wrong, f"/runs/{run.id}/events", last_event_id=f"{run.id}:1:2"))
        await until(lambda: run.readers == 2)
        cancelled = await post(wrong, f"/runs/{run.id}/cancel", {})
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
        right = await get(home, f"/runs/{run.id}/events?after={run.id}:1:2")
        assert (await following).text == right.text
        assert types_in(right.text)[-1] == "run.cancelled"
        last = f"{run.id}:1:{run.state.seq}"
        assert (await get(wrong, f"/runs/{run.id}/events", last_event_id=last)).status_code == 204
        assert (await asking).status_code == 499
        unknown = [await get(one, "/runs/run_0") for one in up.all]
        assert {(one.status_code, one.json()["error"]["code"]) for one in unknown} == {(404, "run_not_found")}


@pytest.mark.parametrize("surface", ["native", "ai-sdk"])
async def test_a_question_is_answered_through_every_process(tmp_path: Path, surface: str) -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "It is 3.")
    path, body, headers = STREAMED[surface]
    async with workers(tmp_path, model, {"chat": {"approve": ["add"]}}) as up:
        session = up.session_at(0)
        body = {**body, "session_id": session} if surface == "native" else {**body, "id": session}
        home, wrong = up.all
        asking = asyncio.create_task(post(wrong, path, body, **headers))
        await until(lambda: home.gateway.runs.running and home.gateway.runs.running[0].state.waits_for_person)
        (run,) = home.gateway.runs.running
        (event,) = [one for one in run.events_after(0) if one.type == "approval.required"]
        call_id = event.data["call_id"]
        if surface == "native":
            given = {"call_id": call_id, "approve": True}
            assert (await post(wrong, f"/runs/{run.id}/input", given)).json()["run_id"] == run.id
            again = await post(wrong, f"/runs/{run.id}/input", {"call_id": "c9", "approve": True})
            assert again.json()["error"]["code"] == "not_asked"
            assert types_in((await asking).text)[-1] == "run.finished"
            return
        await asking
        answered = {"id": f"{run.id}:{call_id}", "approved": True}
        part = {"type": "dynamic-tool", "state": "approval-responded", "approval": answered}
        turns = [*body["messages"], {"id": "a", "role": "assistant", "parts": [part]}]
        rest = await post(wrong, path, {**body, "messages": turns})
        assert "It is 3." in rest.text
        assert rest.headers["x-vercel-ai-ui-message-stream"] == "v1"


@pytest.mark.parametrize("surface", STREAMED)
async def test_a_stream_through_another_process_is_the_same_byte_for_byte(tmp_path: Path, surface: str) -> None:
    path, body, headers = STREAMED[surface]
    model = ScriptedModel(asks(("sales", {"region": "Ü", "show_user": True}), text="I look."), "It is 42.")
    key = {"idempotency_key": "k"}
    async with workers(tmp_path, model, display="continue") as up:
        first = await post(up.all[0], path, body, **headers, **key)
        home = up.home_of(first.headers["xmcp-run-id"])
        wrong = up.wrong_for(first.headers["xmcp-run-id"])
        right, other = await post(home, path, body, **headers, **key), await post(wrong, path, body, **headers, **key)
    assert len(model.requests) == 2
    assert first.content == right.content == other.content
    assert {**right.headers, "date": ""} == {**other.headers, "date": ""}


async def test_an_answer_in_one_piece_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel("x" * 1_000_000)) as up:
        first = await post(up.all[0], "/chat", {"input": "go"}, idempotency_key="k")
        right, other = [await post(one, "/chat", {"input": "go"}, idempotency_key="k") for one in up.all]
    assert first.content == right.content == other.content
    assert {**right.headers, "date": ""} == {**other.headers, "date": ""}


@pytest.mark.parametrize("http", ["h11", "httptools"])
async def test_a_stream_through_another_process_comes_piece_by_piece(tmp_path: Path, http: str) -> None:
    steps = [asyncio.Event() for _ in range(3)]
    pieces = [one for number, step in enumerate(steps) for one in (f"{number} ", step.wait)]
    async with workers(tmp_path, ScriptedModel([*pieces, Completion("0 1 2 ")]), http=http) as up:
        body = {"input": "go", "session_id": up.session_at(1)}
        async with up.all[0].http() as client, client.stream("POST", "/chat", json=body, headers=SSE) as answer:
            text, received = "", answer.aiter_text()
            for number, step in enumerate(steps):
                while f'"{number} "' not in text:
                    text += await asyncio.wait_for(anext(received), 30)
                step.set()
            text += "".join([piece async for piece in received])
    assert types_in(text)[-1] == "run.finished"
    assert chunks_in(text)[-1]["answer"] == "0 1 2 "


async def test_refusals_are_those_of_the_process_that_refuses(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok")) as up:
        session = up.session_at(1)
        for body, code in (
            ({"input": "hi", "session_id": session, "model": "none"}, "model_not_found"),
            ({"input": "hi", "session_id": session, "tools": ["none"]}, "unknown_tool"),
            ({"input": "hi", "session_id": session, "what": 1}, "unknown"),
        ):
            answers = [await post(one, "/chat", body) for one in up.all]
            assert {answer.json()["error"]["code"] for answer in answers} == {code}
        large = await post(up.wrong_for("run_0"), "/runs/run_0/input", {"call_id": "x" * 20_000_000})
        assert large.status_code == 413


@pytest.mark.parametrize("http", ["h11", "httptools"])
@pytest.mark.parametrize("key", ["café".encode(), b"caf\xe9", bytes(range(0x80, 0x100))])
async def test_a_header_is_the_same_in_every_process(tmp_path: Path, key: bytes, http: str) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok"), http=http) as up:
        ids = set()
        for one in up.all:
            async with one.http() as client:
                answer = await client.post("/chat", json={"input": "hi"}, headers=[(b"idempotency-key", key)])
                ids.add(answer.json()["run_id"])
    assert len(ids) == 1


@pytest.mark.parametrize("name", ["run_%2E%2E", "run_%23%3F%25", "run_%C3%A9%FF", "run_'a(b)c[d]e$f&g"])
async def test_a_path_and_a_query_are_the_same_in_every_process(tmp_path: Path, name: str) -> None:
    seen = []
    async with workers(tmp_path, ScriptedModel(then="ok")) as up:
        for one in up.all:
            get = one.gateway.runs.get
            one.gateway.runs.get = lambda run_id, caller, get=get: (seen.append(run_id), get(run_id, caller))[1]
        for one in up.all:
            assert (await get_raw(one, f"/runs/{name}/events?after=%C3%A9'&%FF")).status_code == 404
    assert len(seen) == 3
    assert len(set(seen)) == 1


async def get_raw(up: Served, target: str) -> Any:
    async with up.http() as http:
        request = http.build_request("GET", "/")
        request.url = request.url.copy_with(raw_path=target.encode())
        return await http.send(request)


async def test_what_begins_in_another_process_belongs_to_the_trace_of_the_caller(tmp_path: Path) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    async with workers(tmp_path, ScriptedModel(then="ok")) as up:
        body = {"input": "hi", "session_id": up.session_at(1)}
        await post(up.all[0], "/chat", body, traceparent=f"00-{trace}-b7ad6b7169203331-01")
        (run,) = up.all[1].gateway.runs._runs.values()
    assert run.trace_id == trace


async def test_a_web_page_reads_what_another_process_answers(tmp_path: Path) -> None:
    page = "https://page.example"
    async with workers(tmp_path, ScriptedModel(then="ok"), {"listen": {"allow_origins": [page]}}) as up:
        answers = [
            await post(one, "/chat", {"input": "hi", "session_id": up.session_at(1)}, origin=page) for one in up.all
        ]
    assert {answer.headers["access-control-allow-origin"] for answer in answers} == {page}
    assert {answer.headers["vary"] for answer in answers} == {"Origin"}
