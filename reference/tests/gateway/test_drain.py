"""SIGTERM while chats run, in a process of its own: `xmcp gateway` with a model behind HTTP that the test paces."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from support.gateway_process import GatewayProcess, gateway_process
from support.gateways import chunks_in, types_in, until
from support.scripted_model import ChatServer, Reply

pytestmark = pytest.mark.slow

ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "go"}]}


def gateway(folder: Path, model: ChatServer, **listen: float) -> AbstractAsyncContextManager[GatewayProcess]:
    """Start a gateway whose model is `model`; `listen` are settings of that table."""
    offered = {"id": "m", "provider": "openai", "model": "m", "base_url": model.url}
    return gateway_process(folder, {"listen": listen, "models": [offered]})


def paced(model: ChatServer) -> asyncio.Event:
    """Have the model begin an answer; it goes on when the event is set."""
    go_on = asyncio.Event()
    begin, *rest = model.reply.streamed("half an answer").pieces
    model.replies = [Reply([begin, rest[0], go_on, *rest[1:]])]
    return go_on


async def begun(
    process: GatewayProcess, http: httpx2.AsyncClient, path: str, **request: Any
) -> asyncio.Task[httpx2.Response]:
    """Begin a chat, and return its request once the model has begun to answer."""
    task = asyncio.create_task(http.post(path, **request))
    async with asyncio.timeout(30):
        while (await http.get("/health")).json()["runs"]["running"] == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    return task


async def test_chats_that_finish_within_the_time_are_whole_and_new_ones_are_refused_when_the_port_closes(
    tmp_path: Path, chat_server: ChatServer
) -> None:
    go_on = paced(chat_server)
    async with gateway(tmp_path, chat_server, load_balancer_seconds=2.0) as process, process.http() as http:
        streaming = await begun(process, http, "/v1/chat/completions", json={**ASK, "stream": True})
        assert (await http.get("/readyz")).status_code == 200
        process.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.3)
        ready, alive = await http.get("/readyz"), await http.get("/livez")
        late = asyncio.create_task(http.post("/chat", json={"input": "sent before the load balancer knows"}))
        kept_alive = process.http()
        await kept_alive.get("/livez")
        await asyncio.sleep(2.5)
        refused = await kept_alive.post("/chat", json={"input": "another"})
        with pytest.raises(httpx2.ConnectError):
            await httpx2.AsyncClient(base_url=process.url).get("/livez")
        go_on.set()
        answer, late_answer = await streaming, await late
        code = await process.ended()
    assert (ready.status_code, alive.status_code) == (503, 200)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
    assert late_answer.json()["answer"] == "half an answer"
    *chunks, done = chunks_in(answer.text)
    assert done == "[DONE]"
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks) == "half an answer"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert code == 0


async def test_a_chat_that_does_not_finish_ends_as_interrupted_in_every_format(
    tmp_path: Path, chat_server: ChatServer
) -> None:
    paced(chat_server)
    async with gateway(tmp_path, chat_server, drain_seconds=0.5) as process, process.http() as http:
        native = await begun(process, http, "/chat", json={"input": "a"}, headers={"accept": "text/event-stream"})
        whole = asyncio.create_task(http.post("/v1/chat/completions", json=ASK))
        client = openai.AsyncOpenAI(base_url=f"{process.url}/v1", api_key="none", max_retries=0)
        stream = await client.chat.completions.create(**ASK, stream=True, user="other")
        process.process.send_signal(signal.SIGTERM)
        text = ""

        async def read() -> None:
            nonlocal text
            async for chunk in stream:
                text += chunk.choices[0].delta.content or ""

        with pytest.raises(openai.APIError) as told:
            await read()
        events, answer = await native, await whole
        code = await process.ended()
    assert text == "half an"
    assert "stopping" in str(told.value)
    assert types_in(events.text)[-1] == "run.interrupted"
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "upstream_unavailable"
    assert code == 0
    async with asyncio.timeout(10):
        await chat_server.left.wait()


async def test_a_second_signal_ends_at_once(tmp_path: Path, chat_server: ChatServer) -> None:
    paced(chat_server)
    async with gateway(tmp_path, chat_server) as process, process.http() as http:
        task = await begun(process, http, "/chat", json={"input": "a"}, headers={"accept": "text/event-stream"})
        process.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.3)
        process.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(5):
            await process.process.wait()
        await asyncio.wait({task})


async def test_a_gateway_without_chats_ends_at_once(tmp_path: Path, chat_server: ChatServer) -> None:
    async with gateway(tmp_path, chat_server) as process:
        process.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(5):
            assert await process.process.wait() == 0
        assert process.log.read_text().count("\n") == 1, "the line that says where it is served"


async def test_a_signal_while_tool_servers_are_waited_for_ends_at_once_and_without_a_traceback(tmp_path: Path) -> None:
    began = tmp_path / "began"
    program = f"import pathlib, time; pathlib.Path({str(began)!r}).touch(); time.sleep(60)"
    words = ["gateway", "--provider", "demo", "--port", "0", "--server", f'{sys.executable} -c "{program}"']
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "xmcp", *words, stderr=asyncio.subprocess.PIPE)
    await until(began.exists)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(10):
        _, err = await process.communicate()
    assert process.returncode == 0
    assert err == b""
