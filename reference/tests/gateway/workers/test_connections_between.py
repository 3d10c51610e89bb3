"""Connections between the processes of a gateway: who leaves, who takes nothing, who dies, and who only pretends."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.clock import never
from support.gateways import Served, types_in, until
from support.scripted_model import ScriptedModel, asks
from support.stuck_reader import stuck_reader
from support.workers import Workers, workers

from xmcp.gateway.workers.connections import PeerClient, is_from_peer
from xmcp.gateway.workers.peers import PeerAnswer
from xmcp.providers import Completion

SSE = {"accept": "text/event-stream"}
SOON = {"runs": {"client_gone_seconds": 0.2}}


def cut_off(one: Served) -> None:
    """Cut what others asked a process, as its death does."""
    for connection in [*one.server.server_state.connections]:
        if isinstance(getattr(connection, "client", None), PeerClient):
            connection.transport.abort()


def dead(one: Served) -> None:
    """Let a process answer nobody any more."""
    for listener in one.server.servers:
        listener.close()


def stuck_at_the_wrong_one(up: Workers) -> AbstractAsyncContextManager[socket.socket]:
    """A client that asks process 0 for a stream that belongs to 1, and reads nothing of it."""
    return stuck_reader(up.all[0].url, chat=f'{{"input": "much", "session_id": "{up.session_at(1)}"}}')


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_is_gone_has_its_run_cancelled_in_the_other_process(tmp_path: Path, stream: bool) -> None:
    model = ScriptedModel(asks("wait"))
    async with workers(tmp_path, model, SOON) as up:
        home = up.all[1]
        async with up.all[0].http(headers=SSE if stream else {}) as http:
            body = {"input": "hi", "session_id": up.session_at(1)}
            asking = asyncio.create_task(http.post("/chat", json=body))
            async with asyncio.timeout(30):
                await home.shop.began.wait()
            (run,) = home.gateway.runs.running
            asking.cancel()
            await asyncio.wait({asking})
        async with asyncio.timeout(30):
            await home.shop.stopped.wait()
            await run.over()
        assert run.state.status == "cancelled"
        await until(lambda: not home.server.server_state.connections)


async def test_a_reader_that_takes_nothing_is_dropped_by_both_and_the_run_goes_on(tmp_path: Path) -> None:
    piece = "€" * 65_536

    async def pause() -> None:
        await asyncio.sleep(0.005)

    pieces = [one for _ in range(100) for one in (piece, pause)]
    model = ScriptedModel([*pieces, Completion(piece * 100)])
    config = {"listen": {"send_seconds": 0.5}}
    async with workers(tmp_path, model, config) as up, stuck_at_the_wrong_one(up) as stuck:
        await model.asked.wait()
        (run,) = up.all[1].gateway.runs.running
        await until(lambda: not up.all[0].server.server_state.connections)
        await until(lambda: not up.all[1].server.server_state.connections)
        await run.over()
        assert run.state.status == "finished"
        received = b""
        while data := await asyncio.get_running_loop().sock_recv(stuck, 1_000_000):
            received += data
        assert received.startswith(b"HTTP/1.1 200")
        assert not received.endswith(b"0\r\n\r\n")


async def test_a_reader_that_is_dropped_takes_no_other_with_it(tmp_path: Path) -> None:
    """uvicorn knows no addresses of connections over a Unix socket."""
    go_on, dropped = asyncio.Event(), asyncio.Event()

    async def answer(request: Any) -> Any:
        if "much" in str(request.messages):
            return ["€" * 7_000_000, dropped.wait, "€" * 300_000]
        return ["a", go_on.wait, Completion("ab")]

    async with workers(tmp_path, ScriptedModel(then=answer)) as up, up.all[0].http(headers=SSE) as http:
        home = up.all[1]
        bodies = [{"input": "little", "session_id": up.session_at(1, after=after)} for after in range(100, 900, 100)]
        asking = [asyncio.create_task(http.post("/chat", json=body)) for body in bodies]
        await until(lambda: len(home.gateway.runs.running) == 8)
        async with stuck_at_the_wrong_one(up):
            await until(lambda: len(home.server.server_state.connections) == 9)
            await until(
                lambda: any(run.request.query == "much" and run.state.text for run in home.gateway.runs.running)
            )
            dropped.set()
            await until(lambda: len(home.server.server_state.connections) == 8)
        go_on.set()
        assert [types_in(answer.text)[-1] for answer in await asyncio.gather(*asking)] == ["run.finished"] * 8


async def test_a_model_that_is_faster_than_what_is_handed_on_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As who reads a connection of the right process gets all: the system holds some megabytes for it."""
    pieces = [str(number % 10) * 10_000 for number in range(100)]
    said, piece = asyncio.Event(), PeerAnswer.piece

    async def later(answer: PeerAnswer) -> bytes:
        await said.wait()
        return await piece(answer)

    async def all_said() -> None:
        said.set()

    monkeypatch.setattr(PeerAnswer, "piece", later)
    model = ScriptedModel([*pieces, all_said, Completion("".join(pieces))])
    async with workers(tmp_path, model) as up, up.all[0].http(headers=SSE) as http:
        answer = await http.post("/chat", json={"input": "hi", "session_id": up.session_at(1)})
    assert types_in(answer.text)[-1] == "run.finished"
    assert len(answer.text) > 2_000_000


async def test_a_process_that_is_not_there_is_unavailable_and_the_others_serve_on(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok")) as up:
        dead(up.all[1])
        async with up.all[0].http() as http:
            for path in ("/chat", "/v1/chat/completions"):
                body = {"model": "assistant", "messages": [{"role": "user", "content": "hi"}]}
                refused = await http.post(path, json=body, headers={"idempotency-key": up.key_at(1)})
                assert refused.status_code == 503
                assert refused.json()["error"]["code"] == "worker_unavailable"
                assert refused.headers["retry-after"] == "1"
                assert "x-should-retry" not in refused.headers
            own = await http.post("/chat", json={"input": "hi", "session_id": up.session_at(0)})
            assert own.status_code == 200


async def test_a_chat_that_goes_on_from_nothing_needs_no_process_that_is_not_there(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok")) as up:
        dead(up.all[1])
        async with up.all[0].http() as http:
            answers = [await http.post("/chat", json={"input": f"{number}"}) for number in range(20)]
            refused = [answer for answer in answers if answer.status_code != 200]
            assert {answer.status_code for answer in refused} == {503}
            assert len(refused) == 1, "the one that finds that the process is not there"
            kept = await http.post("/chat", json={"input": "hi", "session_id": up.session_at(1)})
            assert kept.status_code == 503


async def test_a_process_that_dies_before_it_answers_is_unavailable(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel([never])) as up, up.all[0].http() as http:
        asking = asyncio.create_task(http.post("/chat", json={"input": "hi", "session_id": up.session_at(1)}))
        await until(lambda: up.all[1].gateway.runs.running)
        cut_off(up.all[1])
        refused = await asking
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "worker_unavailable")
        assert refused.headers["x-should-retry"] == "false"  # its tools may have been called


@pytest.mark.parametrize("path", ["/chat", "/v1/chat/completions"])
async def test_a_process_that_dies_in_mid_stream_cuts_the_connection_of_the_client(tmp_path: Path, path: str) -> None:
    async with workers(tmp_path, ScriptedModel(["half an answer", never])) as up:
        key = up.key_at(1)
        body = {"model": "assistant", "messages": [{"role": "user", "content": "hi"}]}
        body = {**body, "stream": True} if path != "/chat" else body
        headers = {**SSE, "idempotency-key": key}
        async with up.all[0].http() as http, http.stream("POST", path, json=body, headers=headers) as answer:
            text, received = "", answer.aiter_text()
            while "half an answer" not in text:
                text += await anext(received)
            cut_off(up.all[1])
            with pytest.raises(httpx2.TransportError):
                await anext(received)
        assert "[DONE]" not in text


async def test_what_only_processes_ask_is_there_for_nobody_else(tmp_path: Path) -> None:
    forged = {
        "x-forwarded-for": "worker",
        "forwarded": "for=worker",
        "x-real-ip": "worker",
        "host": "localhost",
    }
    async with workers(tmp_path, ScriptedModel(then="ok")) as up, up.all[0].http() as http:
        for path in ("/_workers/rates", "/_workers/keys", "/_workers/", "//_workers/rates", "/%5fworkers/rates"):
            for headers in ({}, forged):
                assert (await http.post(path, json=[], headers=headers)).status_code == 404
        # What pretends to be handed on is handed on all the same.
        body = {"input": "hi", "session_id": up.session_at(1)}
        answer = await http.post("/chat", json=body, headers=forged)
        assert up.places[0].home_of(answer.json()["run_id"]) == 1


async def test_nothing_is_handed_on_twice(tmp_path: Path) -> None:
    """As where two processes do not agree about how many they are."""
    async with workers(tmp_path, ScriptedModel(then="ok")) as up:
        transport = httpx2.AsyncHTTPTransport(uds=str(up.places[0].socket_of(0)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            answer = await http.post("/chat", json={"input": "hi", "session_id": up.session_at(1)})
            assert up.places[0].home_of(answer.json()["run_id"]) == 0
            assert (await http.get("/runs/run_0")).status_code == (await http.get("/runs/run_1")).status_code == 404


@pytest.mark.parametrize("http", ["h11", "httptools"])
async def test_connections_over_a_unix_socket_alone_are_those_of_processes(tmp_path: Path, http: str) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok"), http=http) as up:
        path = str(up.places[0].socket_of(0))
        async with AsyncExitStack() as exits:
            for transport in (None, httpx2.AsyncHTTPTransport(uds=path), httpx2.AsyncHTTPTransport(uds=path)):
                client = await exits.enter_async_context(up.all[0].http(transport=transport))
                assert (await client.get("/livez")).status_code == 200
            scopes = [{"client": connection.client} for connection in up.all[0].server.server_state.connections]
    assert sorted(map(is_from_peer, scopes)) == [False, True, True]
    assert len({scope["client"] for scope in scopes}) == 3


async def test_no_proxy_makes_a_caller_a_process() -> None:
    """uvicorn's middleware, where somebody serves the application with it, writes what a header says."""
    assert not is_from_peer({"type": "http", "client": ("worker", 1)})
    assert not is_from_peer({"type": "http", "client": None})
    assert is_from_peer({"type": "http", "client": PeerClient("worker", 1)})
