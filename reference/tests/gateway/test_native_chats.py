"""`POST /chat` and `/runs` over a real socket: answers in one piece and streamed, states, resuming, cancelling."""

from __future__ import annotations

import asyncio

import pytest
from support.clock import never
from support.gateways import events_in, served, types_in
from support.scripted_model import ScriptedModel, asks

from xmcp import DisplayEnvelope
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.providers import Completion

SSE = {"accept": "text/event-stream"}


async def test_a_chat_in_one_piece_says_what_was_called_and_how_long_it_took() -> None:
    model = ScriptedModel(asks(("add", {"a": 2, "b": 3}), text="I add."), "It is 5.")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json={"input": "2+3?", "history": True})
    assert answer.status_code == 200
    told = answer.json()
    assert told["answer"] == "It is 5."
    assert [(call["tool"], call["status"], call["cached"]) for call in told["tools_used"]] == [("add", "ok", False)]
    assert told["latency_ms"] > 0
    assert told["stop_reason"] == "stop"
    assert told["model"] == "assistant"
    assert [message["role"] for message in told["history"]] == ["user", "assistant", "tool", "assistant"]
    assert answer.headers["xmcp-run-id"] == told["run_id"]


async def test_a_display_is_in_the_answer_and_the_history_only_on_request() -> None:
    model = ScriptedModel(asks(("sales", {"region": "EMEA", "show_user": True})), "Above.")
    async with served(model, display="continue") as gateway, gateway.http() as http:
        told = (await http.post("/chat", json={"input": "show"})).json()
    assert [display["type"] for display in told["displays"]] == ["table"]
    assert "history" not in told


async def test_a_stream_has_every_step_in_order_with_ids_and_ends_with_run_finished() -> None:
    model = ScriptedModel(asks(("add", {"a": 2, "b": 3}), text="I add."), "It is 5.")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json={"input": "2+3?"}, headers=SSE)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache, no-transform"
    events = events_in(answer.text)
    assert types_in(answer.text) == [
        "run.started",
        "step.started",
        "text.delta",
        "usage",
        "tool.started",
        "tool.finished",
        "step.finished",
        "step.started",
        "text.delta",
        "usage",
        "step.finished",
        "run.finished",
    ]
    run_id = answer.headers["xmcp-run-id"]
    assert [place for _, place, _ in events] == [f"{run_id}:1:{seq}" for seq in range(1, len(events) + 1)]
    started = next(data for name, _, data in events if name == "tool.started")
    assert started["arguments"] == {"a": 2, "b": 3}
    finished = next(data for name, _, data in events if name == "tool.finished")
    assert finished["text"] == "5"
    assert finished["status"] == "ok"
    assert events[-1][2]["answer"] == "It is 5."


async def test_a_stream_that_breaks_is_resumed_after_the_last_event_that_was_seen() -> None:
    go_on = asyncio.Event()

    async def pause() -> None:
        await go_on.wait()

    model = ScriptedModel(["one ", pause, "two", Completion("one two")])
    async with served(model) as gateway, gateway.http() as http:
        async with http.stream("POST", "/chat", json={"input": "hi"}, headers=SSE) as answer:
            run_id = answer.headers["xmcp-run-id"]
            text = ""
            async for piece in answer.aiter_text():
                text += piece
                if "text.delta" in text:
                    break
        last = events_in(text)[-1][1]
        go_on.set()
        rest = await http.get(f"/runs/{run_id}/events", headers={"last-event-id": last})
        again = await http.get(f"/runs/{run_id}/events?after={last}")
        state = (await http.get(f"/runs/{run_id}")).json()
        over = await http.get(f"/runs/{run_id}/events", headers={"last-event-id": state["last_event_id"]})
    assert [data["text"] for name, _, data in events_in(rest.text) if name == "text.delta"] == ["two"]
    assert events_in(rest.text)[0][1].endswith(f":{int(last.rpartition(':')[2]) + 1}")
    assert rest.text == again.text
    assert state["status"] == "finished"
    assert state["segments"] == [{"text": "one two"}]
    assert over.status_code == 204


async def test_events_that_are_not_kept_any_more_are_replaced_by_a_gap_and_a_snapshot() -> None:
    pieces = [f"{number} " for number in range(3_000)]
    model = ScriptedModel([*pieces, Completion("".join(pieces))])
    async with served(model) as gateway, gateway.http() as http:
        run_id = (await http.post("/chat", json={"input": "count"})).json()["run_id"]
        answer = await http.get(f"/runs/{run_id}/events")
    events = events_in(answer.text)
    assert [name for name, _, _ in events] == ["stream.gap", "snapshot", "run.finished"]
    assert events[0][1] == ""
    assert events[1][2]["segments"] == [{"text": "".join(pieces)}]


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_a_cancelled_run_stops_its_model_and_tools_and_ends_with_run_cancelled(where: str) -> None:
    left = asyncio.Event()

    async def hang() -> None:
        try:
            await never()
        finally:
            left.set()

    model = ScriptedModel(["half an ", hang] if where == "model" else asks("wait"))
    async with served(model) as gateway, gateway.http() as http:
        streaming = asyncio.create_task(http.post("/chat", json={"input": "go"}, headers=SSE))
        await (model.asked if where == "model" else gateway.shop.began).wait()
        (run,) = gateway.gateway.runs.running
        state = await http.post(f"/runs/{run.id}/cancel")
        answer = await streaming
        async with asyncio.timeout(10):
            await (left if where == "model" else gateway.shop.stopped).wait()
        again = await http.post(f"/runs/{run.id}/cancel")
    assert state.json()["status"] == "cancelled"
    assert types_in(answer.text)[-1] == "run.cancelled"
    # What the model had written is counted, also where it was cut off.
    assert types_in(answer.text).count("usage") == 1
    assert again.status_code == 200
    assert len(model.requests) == 1


async def test_a_failure_before_anything_was_shown_has_a_status_of_its_own() -> None:
    secret = "http://10.0.0.7/v1 refused sk-123"
    failure = ProviderError(secret, category=ErrorCategory.RATE_LIMIT, provider="p")
    model = ScriptedModel(then=failure)
    async with served(model) as gateway, gateway.http() as http:
        whole = await http.post("/chat", json={"input": "hi"})
        streamed = await http.post("/chat", json={"input": "ho"}, headers=SSE)
    for answer in (whole, streamed):
        assert answer.status_code == 429
        assert answer.json()["error"]["code"] == "rate_limit_exceeded"
        assert "10.0.0.7" not in answer.text


async def test_an_exception_that_nobody_foresaw_ends_the_stream_with_an_error_without_its_text() -> None:
    model = ScriptedModel(["some ", RuntimeError("the password is hunter2")])
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json={"input": "hi"}, headers=SSE)
    assert types_in(answer.text)[-1] == "run.error"
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("settings", "pieces"),
    [
        ({"deadline_seconds": 0.3}, ["some ", never]),
        ({"idle_seconds": 0.3}, ["some ", never]),
        ({"first_event_seconds": 0.3}, [never]),
    ],
    ids=["deadline", "idle", "first event"],
)
async def test_a_run_that_takes_too_long_is_ended_with_an_error(
    settings: dict[str, float], pieces: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    async with served(ScriptedModel(then=pieces), {"runs": settings}) as gateway, gateway.http() as http:
        streamed = await http.post("/chat", json={"input": "hi"}, headers=SSE)
        whole = await http.post("/chat", json={"input": "ho"})
    if pieces[0] == "some ":
        name, _, data = events_in(streamed.text)[-1]
        assert (name, data["code"]) == ("run.error", "TIMEOUT")
    else:
        assert streamed.status_code == 504
    assert whole.status_code == 504
    assert sum(", and was ended" in line for line in caplog.messages) == 2, "the log says so, too"


async def test_a_request_can_ask_for_less_time() -> None:
    async with served(ScriptedModel([never], then=[never])) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json={"input": "hi", "deadline_ms": 200})
    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "timeout"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": 3}, "input"),
        ({"input": "hi", "temprature": 1}, "temprature"),
        ({"input": "hi", "temperature": 9}, "temperature"),
        ({"input": "hi", "tools": ["nothing"]}, "tools"),
        ({"input": "hi", "tools": [1]}, "tools"),
        ({"input": "hi", "model": "gone"}, "model"),
        ({"input": "hi", "deadline_ms": 0}, "deadline_ms"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "sound"}]}]}, "messages[0].content[0]"),
        ({"messages": ["x"]}, "messages[0]"),
    ],
)
async def test_a_body_that_is_wrong_is_refused_with_the_place(body: object, param: str) -> None:
    model = ScriptedModel("hi")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json=body)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["param"] == param
    assert model.requests == []


async def test_only_the_tools_that_a_request_names_are_offered() -> None:
    model = ScriptedModel("hi", then="hi")
    async with served(model) as gateway, gateway.http() as http:
        await http.post("/chat", json={"input": "hi", "tools": ["add"]})
        await http.post("/chat", json={"input": "hi", "model": "assistant:plain"})
    assert [[tool["function"]["name"] for tool in request.tools.tools] for request in model.requests] == [["add"], []]


async def test_an_id_that_is_not_of_this_run_is_refused() -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        run_id = (await http.post("/chat", json={"input": "hi"})).json()["run_id"]
        for wrong in ("x", f"{run_id}:1:999999", f"{run_id}:2:1", f"run_{'0' * 32}:1:1", f"{run_id}:1:-1"):
            answer = await http.get(f"/runs/{run_id}/events", headers={"last-event-id": wrong})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_event_id")
        assert (await http.get("/runs/run_nothing")).status_code == 404


async def test_the_events_of_a_run_that_failed_at_once_can_be_read() -> None:
    failure = ProviderError("internal words", category=ErrorCategory.RATE_LIMIT, provider="p")
    async with served(ScriptedModel(then=failure)) as gateway, gateway.http() as http:
        failed = await http.post("/chat", json={"input": "hi"})
        answer = await http.get(f"/runs/{failed.headers['xmcp-run-id']}/events")
    assert (failed.status_code, answer.status_code) == (429, 200)
    name, _, data = events_in(answer.text)[-1]
    assert (name, data["code"]) == ("run.error", "RATE_LIMIT")
    assert "internal words" not in answer.text


async def test_a_display_of_megabytes_arrives_whole_in_every_view_and_can_be_resumed() -> None:
    rows = [{"number": number, "text": "x" * 90} for number in range(20_000)]
    ask = asks(("many", {"show_user": True}))
    model = ScriptedModel(ask, "Above.", ask, "Above.", ask, "Above.")
    async with served(model, display="continue") as gateway, gateway.http() as http:

        @gateway.shop.mcp.display_tool
        def many(show_user: bool = False) -> DisplayEnvelope:
            """Many rows."""
            return DisplayEnvelope(type="table", payload=rows, alt="many")

        await http.post("/tools/refresh")
        streamed = await http.post("/chat", json={"input": "a"}, headers=SSE)
        whole = (await http.post("/chat", json={"input": "b"})).json()
        body = {"model": "assistant", "messages": [{"role": "user", "content": "c"}], "stream": True}
        chunks = await http.post("/v1/chat/completions", json=body)
        resumed = await http.get(f"/runs/{streamed.headers['xmcp-run-id']}/events")
    shown = [data["envelope"] for name, _, data in events_in(streamed.text) if name == "display"]
    assert [len(envelope["payload"]) for envelope in (*shown, *whole["displays"])] == [20_000, 20_000]
    assert chunks.text.count("xxxxxxxxxx |") == 200  # Markdown shows the first rows of a table
    assert chunks.text.endswith("data: [DONE]\n\n")
    segments = next(data["segments"] for name, _, data in events_in(resumed.text) if name == "snapshot")
    assert [list(segment) for segment in segments] == [["display"], ["text"]]
    assert types_in(resumed.text)[-1] == "run.finished"


async def test_no_caller_has_more_turns_than_the_gateway_gives() -> None:
    model = ScriptedModel(then=asks(("add", {"a": 1, "b": 2})))
    async with served(model, {"chat": {"max_turns": 3}}, max_turns=3) as gateway, gateway.http() as http:
        answer = (await http.post("/chat", json={"input": "go", "max_turns": 40})).json()
    assert (answer["stop_reason"], len(model.requests)) == ("max_turns", 3)
