"""What a gateway needs fails: the model is slow or breaks off, and one of two tool servers is down."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from support.audited_runs import rows
from support.chat_script import ToldModel, call
from support.gateways import chunks_in, events_in, eventually, types_in
from support.lost_records import Recorded, Seen, lost, until_recorded
from support.mcp_servers import Program

pytestmark = pytest.mark.slow

SSE = {"accept": "text/event-stream"}
PATIENCE = 5.0
"""Seconds that the gateway waits for the model; no other chat takes as long, on a busy machine either."""


@pytest.fixture
def shop() -> Iterator[Program]:
    """A tool server that the test stops."""
    program = Program()
    program.listen()
    yield program
    program.kill()


async def test_a_slow_model_and_a_tool_server_that_is_down_end_no_other_chat(
    store: str, start: Any, model: ToldModel, tools: Program, shop: Program
) -> None:
    tables = {
        "servers": {"fragile": {"url": tools.url("fragile")}, "shop": {"url": shop.url("plain")}},
        "runs": {"first_event_seconds": PATIENCE, "idle_seconds": PATIENCE},
        "listen": {"ping_seconds": 0.2},
        "chat": {"breaker_failures": 2, "breaker_seconds": 1.0},
    }
    seen: list[Seen] = []
    async with start(store, **tables) as gateway, gateway.http() as http:

        async def chat(words: str) -> str:
            answer = await http.post("/chat", json={"input": words})
            assert answer.status_code == 200, answer.text
            seen.append(Seen.of(answer.json()))
            return seen[-1].answer

        async def sells() -> bool:
            return ">3<" in await chat(call("shop__add", a=1, b=2))

        # The model does not begin, or does not go on; meanwhile others are answered.
        said = [{"role": "user", "content": "stay"}]
        slow = [
            asyncio.create_task(http.post("/chat", json={"input": "silence for ever"}, headers=SSE)),
            asyncio.create_task(http.post("/chat", json={"input": "stay"}, headers=SSE)),
            asyncio.create_task(
                http.post("/v1/chat/completions", json={"stream": True, "model": "m", "messages": said})
            ),
        ]
        assert ">seen<" in await chat(call("look"))
        silent, stopped, of_openai = [(await one).text for one in slow]
        asked = len(model.server.requests)
        for text, told in ((silent, "did not begin to answer in time"), (stopped, "Nothing happened for too long")):
            kind, _, data = events_in(text)[-1]
            assert (kind, data["code"]) == ("run.error", "TIMEOUT")
            assert told in data["message"]
            assert ": ping\n" in text
        error, done = chunks_in(of_openai)[-2:]
        assert (error["error"]["code"], done) == ("timeout", "[DONE]")
        late = asyncio.create_task(chat("silence for a moment"))
        await asyncio.sleep(0.5)
        model.go_on.set()
        assert await late == "you said: silence for a moment"
        assert await gateway.metric("xmcp_time_to_first_event_seconds_bucket", "0.32", "m") < await gateway.metric(
            "xmcp_time_to_first_event_seconds_count", "m"
        )
        assert len(model.server.requests) == asked + 1, "what was too slow is not asked again"

        # It breaks off: it is asked once more, and front ends are told that the text begins again.
        assert await chat("early") == "you said: early"
        assert await chat("flaky") == "you said: flaky"
        asked = len(model.server.requests)
        broken = await http.post("/chat", json={"input": "broken"}, headers=SSE)
        assert types_in(broken.text).count("stream.reset") == 1
        assert events_in(broken.text)[-1][2]["code"] == "UPSTREAM_UNAVAILABLE"
        assert len(model.server.requests) == asked + 2

        # One of two tool servers is down.
        assert await gateway.metric("xmcp_breaker_state", "shop") == 0
        assert ">3<" in await chat(call("shop__add", a=1, b=2))
        await asyncio.to_thread(shop.kill)
        while await gateway.metric("xmcp_breaker_state", "shop") != 2:
            assert "<error" in await chat(call("shop__add", a=1, b=2)), "the model is told"
        assert ">3<" in await chat(call("fragile__add", a=1, b=2))
        await gateway.until(0, "xmcp_server_up", "shop")
        listed = {tool["name"] for tool in (await http.get("/tools")).json()["tools"]}
        assert {"shop__add", "fragile__add"} <= listed, "the list of before is kept"
        health = (await http.get("/health")).json()
        assert health["status"] == "degraded"
        assert {server["name"]: server["connected"] for server in health["servers"]} == {"fragile": True, "shop": False}
        assert (await http.get("/readyz")).status_code == 200
        assert await gateway.metric("xmcp_breaker_state", "fragile") == 0

        successor = Program()
        try:
            await asyncio.to_thread(successor.listen, shop.port)
            await gateway.until(1, "xmcp_server_up", "shop")
            await eventually(sells)
            assert await gateway.metric("xmcp_breaker_state", "shop") == 0
            assert (await http.get("/health")).json()["status"] == "ok"
        finally:
            await asyncio.to_thread(successor.kill)
        await until_recorded(store, seen)
        assert await gateway.terminate() == 0
    assert lost(store, seen) == {}
    found = Recorded(store)
    failed = dict(rows(store, "SELECT id, error_code FROM runs WHERE status = 'error'"))
    assert sorted(failed.values()) == ["TIMEOUT", "TIMEOUT", "TIMEOUT", "UPSTREAM_UNAVAILABLE"]
    assert found.runs.keys() == {chat.run_id for chat in seen} | failed.keys()
    for run in failed:
        assert found.events_are_whole(run)
        assert found.last_event(run)[1] == "run.error"
