"""The process ends in the middle of chats: by SIGTERM, as at a deployment, and by SIGKILL."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx2
import pytest
from support.audited_runs import one
from support.chat_script import ToldModel
from support.gateway_process import GatewayProcess
from support.gateways import chunks_in, events_in, eventually
from support.lost_records import Recorded, Seen, lost, until_recorded

from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.drivers import driver_for

pytestmark = pytest.mark.slow

SSE = {"accept": "text/event-stream"}
ASK = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "stay"}]}
CHATS = 4


async def finished(http: httpx2.AsyncClient) -> list[Seen]:
    """Hold some chats, and return them."""
    answers = [await http.post("/chat", json={"input": f"{number}"}) for number in range(CHATS)]
    return [Seen.of(answer.json()) for answer in answers]


async def have_begun(gateway: GatewayProcess, number: int) -> None:
    """Wait until so many chats have shown a text since the start."""
    await gateway.until(number, "xmcp_time_to_first_event_seconds_count", "m")


async def read_until_it_breaks(
    gateway: GatewayProcess, path: str, request: Any, headers: dict[str, str]
) -> tuple[str, str]:
    """Read a stream as far as it goes; return the id of the run, and what came."""
    text, run = "", ""
    async with gateway.http(**headers) as http:
        try:
            async with http.stream("POST", path, json=request) as stream:
                run = stream.headers["xmcp-run-id"]
                async for piece in stream.aiter_text():
                    text += piece
        except httpx2.TransportError:
            pass
    return run, text


async def test_sigterm_lets_chats_finish_and_tells_the_rest_that_they_were_interrupted(
    store: str, start: Any, model: ToldModel
) -> None:
    times = {"load_balancer_seconds": 1.0, "drain_seconds": 8.0}
    async with start(store, listen=times) as gateway, gateway.http() as http:
        seen = await finished(http)
        openai = asyncio.create_task(read_until_it_breaks(gateway, "/v1/chat/completions", ASK, {}))
        native = asyncio.create_task(read_until_it_breaks(gateway, "/chat", {"input": "stay"}, SSE))
        whole = asyncio.create_task(http.post("/chat", json={"input": "wait a moment"}))
        await have_begun(gateway, CHATS + 3)
        ending = asyncio.create_task(gateway.terminate())
        async with gateway.http() as balancer:
            await gateway.until(1, "xmcp_draining")
            assert (await balancer.get("/readyz")).status_code == 503
            assert (await balancer.get("/livez")).status_code == 200
        model.go_on.set()
        seen.append(Seen.of((await whole).json()))
        (native_run, events), (openai_run, chunks) = await native, await openai
        assert await ending == 0
    assert events_in(events)[-1][0] == "run.interrupted"
    error, done = chunks_in(chunks)[-2:]
    assert (error["error"]["code"], done) == ("upstream_unavailable", "[DONE]")
    assert lost(store, seen) == {}
    found = Recorded(store)
    cut = {native_run, openai_run}
    assert {run for run, status in found.runs.items() if status == "interrupted"} == cut
    assert found.runs.keys() == cut | {chat.run_id for chat in seen}
    for run in cut:
        assert found.events_are_whole(run)
        assert found.last_event(run)[1] == "run.interrupted"
    assert found.text(native_run) == "".join(
        data["text"] for kind, _, data in events_in(events) if kind == "text.delta"
    ), "all that the client got is recorded"
    assert one(store, "SELECT count(*) FROM writer_gaps") == 0
    assert one(store, "SELECT max(lease_until) FROM executors") <= time.time() * 1000, "its lease is given up"


async def test_sigkill_costs_what_had_not_been_written_yet_and_the_next_process_says_that_chats_were_interrupted(
    store: str, start: Any, model: ToldModel, record_property: Any
) -> None:
    async with start(store) as gateway, gateway.http() as http:
        seen = await finished(http)
        reading = [
            asyncio.create_task(read_until_it_breaks(gateway, "/chat", {"input": f"stay {number}"}, SSE))
            for number in range(CHATS)
        ]
        openai = asyncio.create_task(read_until_it_breaks(gateway, "/v1/chat/completions", ASK, {}))
        await have_begun(gateway, 2 * CHATS + 1)
        await until_recorded(store, seen)
        just_now = Seen.of((await http.post("/chat", json={"input": "just now"})).json())
        await gateway.kill()
        cut = [await one_reading for one_reading in reading]
        openai_run, chunks = await openai
    assert all(types[-1] != "run.finished" for types in ([kind for kind, _, _ in events_in(text)] for _, text in cut))
    assert "[DONE]" not in chunks, "the client sees the end of the connection, and no end of the answer"

    # Its lease would end by itself a minute after its last sign of life.
    await asyncio.to_thread(end_leases, store)
    running = {run for run, _ in cut} | {openai_run}
    async with start(store) as gateway, gateway.http() as http:
        await eventually(lambda: asyncio.to_thread(none_runs, store))
        after = await finished(http)
        assert await gateway.terminate() == 0

    missing = lost(store, [*seen, just_now, *after])
    record_property("chats whose record lacks something, of those that had ended", len(missing))
    assert missing.keys() <= {just_now.run_id}, "no chat that had ended before the last moment lacks anything"
    found = Recorded(store)
    there = [run for run in running if run in found.runs]
    record_property("chats that ran and of which nothing is there", len(running) - len(there))
    assert {found.runs[run] for run in there} == {"interrupted"}
    pieces = [text_of(text) for _, text in cut]
    recorded = [found.text(run) for run, _ in cut]
    assert all(got.startswith(kept) for got, kept in zip(pieces, recorded, strict=True))
    record_property("characters that clients got and no record has", len("".join(pieces)) - len("".join(recorded)))
    ended = {chat.run_id for chat in (*seen, *after)}
    assert found.runs.keys() - running - {just_now.run_id} == ended


def text_of(events: str) -> str:
    """Return the text in a native stream, which may be cut anywhere."""
    whole = events.rpartition("\n\n")[0]
    return "".join(data["text"] for kind, _, data in events_in(whole) if kind == "text.delta")


def none_runs(database: str) -> bool:
    """Return whether no run is said to be running."""
    return "running" not in Recorded(database).runs.values()


def end_leases(database: str) -> None:
    """Have all leases be over."""
    driver = driver_for(address_of(database))
    driver.connect()
    with driver.transaction() as run:
        run("UPDATE executors SET lease_until = ?", [int(time.time() * 1000) - 1])
    driver.close()
