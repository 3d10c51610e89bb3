"""Callers that leave, take nothing, or repeat themselves: what becomes of the chat, its record, and the others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.audited_runs import one, rows
from support.chat_script import ToldModel, call
from support.faulty_line import Witness
from support.gateway_process import GatewayProcess
from support.gateways import events_in
from support.http_host import listening
from support.lost_records import Recorded, Seen, lost, until_recorded
from support.stuck_reader import stuck_reader

pytestmark = pytest.mark.slow

SSE = {"accept": "text/event-stream"}
PIECE = "y" * 65_536
PIECES = 120
"""Almost 8 MB: more than the system takes of what nobody reads, and as much as an answer may have."""


async def test_callers_that_leave_take_nothing_or_repeat_harm_no_other_and_their_records_say_so(
    store: str, start: Any, model: ToldModel, record_property: Any
) -> None:
    witness = Witness()
    async with (
        listening(witness.hear) as port,
        start(store, runs={"client_gone_seconds": 0.2}) as gateway,
        gateway.http() as http,
    ):
        beside = asyncio.create_task(http.post("/chat", json={"input": "wait for the others"}))
        async with asyncio.timeout(60):
            while len(model.server.requests) < 1:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

        # One leaves while a tool runs, one in the middle of an answer.
        in_tool = await left(gateway, call("hang", port=port), witness.began)
        in_text = await left(gateway, "wait", None)
        async with asyncio.timeout(60):
            assert await witness.ended == "cancelled", "the tool is told"
            await model.server.left.wait()
        await gateway.until(2, "xmcp_sse_dropped_total", "client_gone")
        await gateway.until(2, "xmcp_runs_total", "m", "cancelled", "chat")

        # One takes nothing: it is dropped, and its run goes on, and can be read.
        model.server.replies, told = large(model), model.server.replies
        async with stuck_reader(gateway.url) as stuck:
            head = (await asyncio.get_running_loop().sock_recv(stuck, 4_096)).decode()
            await gateway.until(1, "xmcp_sse_dropped_total", "slow")
        await gateway.until(1, "xmcp_runs_total", "m", "finished", "chat")
        model.server.replies = told
        slow = head.partition("xmcp-run-id: ")[2].partition("\r\n")[0]
        again = await http.get(f"/runs/{slow}/events")
        last = events_in(again.text)[-1]
        assert last[0] == "run.finished"
        assert last[2]["answer"] == PIECE * PIECES

        # One repeats a request that has gone through.
        key = {"idempotency-key": "order-7"}
        first = await http.post("/chat", json={"input": "buy"}, headers=key)
        second = await http.post("/chat", json={"input": "buy"}, headers=key)
        assert second.headers["xmcp-replayed"] == "true"
        assert first.json()["run_id"] == second.json()["run_id"]

        model.go_on.set()
        whole = [Seen.of((await beside).json()), Seen.of(first.json()), Seen(slow, PIECE * PIECES)]
        await until_recorded(store, whole)
        assert (await http.get("/health")).json()["status"] == "ok"
        assert await gateway.terminate() == 0
    assert lost(store, whole) == {}
    found = Recorded(store)
    statuses = {"cancelled": {in_tool, in_text}, "finished": {chat.run_id for chat in whole}}
    assert found.runs == {run: status for status, runs in statuses.items() for run in runs}
    for run in statuses["cancelled"]:
        assert found.events_are_whole(run)
        assert found.last_event(run)[1] == "run.cancelled"
    assert "you said: wait".startswith(found.text(in_text))
    assert found.text(in_text)
    assert rows(store, "SELECT tool, status FROM tool_invocations") == [("fragile__hang", "cancelled")]
    # What was streamed is counted, also where the vendor did not come to say how much it was.
    assert rows(store, "SELECT estimated FROM usage WHERE run_id = ?", in_text) == [(1,)]
    assert rows(store, "SELECT estimated FROM usage WHERE run_id = ?", in_tool) == [(0,)]
    assert one(store, "SELECT count(*) FROM writer_gaps") == 0
    record_property("chats whose record lacks something", 0)


async def left(gateway: GatewayProcess, words: str, when: asyncio.Event | None) -> str:
    """Begin a chat and leave it when something has happened, or with its first text; return its id."""
    async with gateway.http() as http, http.stream("POST", "/chat", json={"input": words}, headers=SSE) as stream:
        if when is not None:
            await when.wait()
        else:
            async for line in stream.aiter_lines():
                if line == "event: text.delta":
                    break
        return str(stream.headers["xmcp-run-id"])


def large(model: ToldModel) -> Any:
    """Return what replies with a text that is larger than all buffers on the way."""
    delta = model.server.reply.delta
    reply = model.server.reply.streamed()
    reply.pieces[1:1] = [delta(content=PIECE) for _ in range(PIECES)]
    return lambda _: reply
