"""Clients that come in crowds, say everything slowly, read nothing, or leave half: nobody else's chat feels it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest
from support.bystanders import ENDLESS, bystander
from support.gateways import Served, until
from support.raw_http import connected, head, post, told

CROWD = 300
"""How many connections there are at the same time: enough to see, few enough for any machine."""

SLOW_HEAD = b"POST /chat HTTP/1.1\r\nhost: localhost\r\nx: "
SLOW_BODY = head("POST", "/chat", "content-type: application/json", "content-length: 100") + b'{"input": "'
SLOW_CHUNKS = head("POST", "/chat", "content-type: application/json", "transfer-encoding: chunked") + b"1\r\n{\r\n"
CROWDS = {
    "nothing at all": b"",
    "half a method": b"PO",
    "a head without an end": SLOW_HEAD,
    "a body without an end": SLOW_BODY,
    "chunks without an end": SLOW_CHUNKS,
    "half a chunk size": SLOW_CHUNKS + b"f",
}


@contextlib.asynccontextmanager
async def crowd(url: str, number: int, first: bytes) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Open so many connections, and send the same on each."""
    async with contextlib.AsyncExitStack() as opened:
        writers = []
        for _ in range(number):
            _, writer = await opened.enter_async_context(connected(url))
            writer.write(first)
            writers.append(writer)
        yield writers


async def is_served(up: Served) -> None:
    """Ask as an ordinary caller does, and get an answer."""
    async with up.http(timeout=60) as http:
        answer = await http.post("/chat", json={"input": "an ordinary caller"})
        assert (answer.status_code, answer.json()["answer"]) == (200, "ok")


@pytest.mark.parametrize("first", CROWDS.values(), ids=CROWDS.keys())
async def test_connections_on_which_nothing_comes_to_an_end_keep_nobody_out(first: bytes) -> None:
    config = {"listen": {"body_seconds": 86_400}}
    async with bystander(config) as (up, model), crowd(up.url, CROWD, first) as writers:
        for _ in range(5):
            for writer in writers:
                writer.write(b" ")
            await is_served(up)
        assert up.gateway.runs.places.waiting == 0
        assert set(model.asked_by_others) == {"an ordinary caller"}


async def test_a_body_that_comes_a_byte_at_a_time_is_ended_by_its_time() -> None:
    async with bystander({"listen": {"body_seconds": 0.3}}) as (up, model):
        answers = await asyncio.gather(*(told(up.url, [SLOW_BODY]) for _ in range(50)))
        assert {tuple(answer.statuses) for answer in answers} == {(408,)}
        await until(lambda: len(up.server.server_state.connections) <= 1)
        assert model.asked_by_others == []


async def test_a_client_that_only_closes_its_side_is_a_client_that_has_left() -> None:
    async with bystander({"runs": {"client_gone_seconds": 0}}) as (up, model):
        for pieces in ([post("/chat", b'{"input": "half"}')], [SLOW_HEAD], [SLOW_BODY], [SLOW_CHUNKS]):
            async with connected(up.url) as (reader, writer):
                for piece in pieces:
                    writer.write(piece)
                writer.write_eof()
                async with asyncio.timeout(60):
                    await reader.read()  # an answer, or none: the connection comes to an end
        await is_served(up)
        assert set(model.asked_by_others) <= {"half", "an ordinary caller"}


async def test_connections_that_are_cut_in_the_middle_leave_nothing() -> None:
    async with bystander({"runs": {"client_gone_seconds": 0}}) as (up, _):
        body = post("/chat", json.dumps({"input": ENDLESS}).encode(), "accept: text/event-stream")
        for length in range(0, len(body) + 1, 7):
            async with connected(up.url) as (_, writer):
                writer.write(body[:length])
                await writer.drain()
        await until(lambda: len(up.gateway.runs.running) == 1, 60)
        await until(lambda: len(up.server.server_state.connections) == 1, 60)
        await is_served(up)


async def test_streams_that_nobody_reads_are_dropped_and_hold_up_no_other() -> None:
    config = {"listen": {"send_seconds": 0.5, "ping_seconds": 0.1}, "runs": {"client_gone_seconds": 0}}
    async with bystander(config) as (up, model):
        request = post("/chat", json.dumps({"input": ENDLESS}).encode(), "accept: text/event-stream")
        async with contextlib.AsyncExitStack() as opened:
            for _ in range(20):
                reader, writer = await opened.enter_async_context(connected(up.url))
                reader._transport.pause_reading()  # type: ignore[attr-defined]
                writer.write(request)
            await until(lambda: len(up.gateway.runs.running) == 21, 60)
            await until(lambda: sum(run.readers for run in up.gateway.runs.running) == 1, 60)
            spoken = model.spoken
            await until(lambda: model.spoken > spoken, 60)
            await is_served(up)
            assert len(up.gateway.runs.running) == 21  # whoever was dropped may come back
            for run in up.gateway.runs.running:
                if not run.readers:
                    run.cancel("caller")


async def test_requests_in_one_piece_are_answered_in_their_order() -> None:
    async with bystander() as (up, model):
        many = await told(up.url, [head("GET", "/livez") * 500], answers=500)
        assert [*many.statuses] == [200] * 500
        mixed = head("GET", "/livez") + head("GET", "/nothing") + post("/chat", b'{"input": "third"}')
        answer = await told(up.url, [mixed, b"GARBAGE\r\n\r\n"], answers=4)
        assert [*answer.statuses] in ([200, 404, 200, 400], [400])
        assert answer.closed
        assert model.asked_by_others in (["third"], [])


async def test_requests_behind_a_stream_wait_for_it_and_end_with_their_client() -> None:
    config = {"runs": {"client_gone_seconds": 0}, "listen": {"send_seconds": 3_600}}
    async with bystander(config) as (up, model):
        stream = post("/chat", json.dumps({"input": ENDLESS}).encode(), "accept: text/event-stream")
        async with connected(up.url) as (reader, writer):
            writer.write(stream + post("/chat", b'{"input": "behind"}') * 200)
            await until(lambda: len(up.gateway.runs.running) == 2, 60)
            await reader.read(1_000)
            await is_served(up)
            run = up.gateway.runs.running[-1]
            assert run.request.query == ENDLESS
        await until(lambda: run.ended, 60)
        assert run.state.status == "cancelled"  # and it did not run to its end, unread
        assert set(model.asked_by_others) == {ENDLESS, "an ordinary caller"}


async def test_half_a_million_messages_are_read_beside_a_chat_that_goes_on() -> None:
    message = b'{"role":"user","content":""}'
    many = b'{"model":"assistant","messages":[' + b",".join([message] * 500_000) + b"]}"
    async with bystander() as (up, model):
        answer = await told(up.url, [post("/v1/chat/completions", many)])
        assert answer.statuses[0] in (200, 400), answer.data[:500]
        spoken = model.spoken
        await until(lambda: model.spoken > spoken)
        await is_served(up)


async def test_a_crowd_of_forged_keys_is_turned_away_at_the_door() -> None:
    keys = {"keys": [{"name": "b", "tenant": "b", "env": "FRONT_END_KEY"}]}
    async with bystander(keys, headers={"authorization": "Bearer xmcp_front"}) as (up, model):
        lines = ("authorization: Bearer xmcp_{}", "content-type: application/json", "content-length: 16000000")
        asked = [head("POST", "/chat", lines[0].format(n), *lines[1:]) + b"x" * 60_000 for n in range(100)]
        answers = await asyncio.gather(*(told(up.url, [one]) for one in asked))
        assert {tuple(answer.statuses) for answer in answers} == {(401,)}
        assert model.asked_by_others == []
        assert up.server._app.state.arriving.bytes == 0
