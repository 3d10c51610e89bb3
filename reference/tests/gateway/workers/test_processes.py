"""`xmcp gateway --workers 2` as a person starts it: who serves, who ends whom, and what is said of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.gateways import chunks_in, types_in
from support.prometheus_server import program
from support.scripted_model import ChatServer, Reply
from support.terminal import Terminal
from support.worker_processes import PATIENCE, Marked, Workers, in_workers, until

from xmcp.gateway.config import GatewayConfig
from xmcp.gateway.config_file import config_of
from xmcp.http_listening import listen

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found in /proc"),
]

DEMO = ["--provider", "demo", "--workers", "2"]
KEY = {"OPENAI_API_KEY": "sk-test"}
SSE = {"accept": "text/event-stream"}
ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": True}


def of(model: ChatServer) -> list[str]:
    return ["--provider", "openai", "--model", "m", "--base-url", model.url, "--workers", "2"]


def paced(model: ChatServer) -> asyncio.Event:
    """Have the model begin each answer; it goes on when the event is set."""
    go_on = asyncio.Event()
    begin, *rest = model.reply.streamed("half an answer").pieces
    model.replies = [Reply([begin, rest[0], go_on, *rest[1:]])]
    return go_on


async def begun(model: ChatServer, http: httpx2.AsyncClient, path: str, **request: Any) -> asyncio.Task[Any]:
    """Begin a chat, and return its request once the model was asked."""
    before = len(model.requests)
    task = asyncio.create_task(http.post(path, **request))
    await until(lambda: len(model.requests) > before or task.done())
    assert not task.done(), task.result().text
    await asyncio.sleep(0.3)
    return task


async def both_answer(gateway: Workers) -> None:
    """Ask on connections of their own until both workers have answered."""

    async def ask() -> int:
        async with gateway.http() as http:
            return (await http.get("/openapi.json")).status_code

    async with asyncio.timeout(PATIENCE):
        while True:
            assert set(await asyncio.gather(*(ask() for _ in range(20)))) == {200}
            found = await gateway.samples()
            if all(found.get(("xmcp_http_requests_total", "GET", "/openapi.json", "200", n)) for n in "01"):
                return


async def test_two_processes_serve_on_one_port_and_end_quietly(tmp_path: Path) -> None:
    async with in_workers(tmp_path, *DEMO, "--metrics-port", "0") as gateway:
        line = (
            r"The gateway is served on http://[0-9.:]+, with demo, demo:plain, in 2 processes; its metrics on http://.+"
        )
        assert re.fullmatch(line, gateway.said[0])
        await both_answer(gateway)
        async with gateway.http() as http:
            told = (await http.post("/chat", json={"input": "sales_summary region=EMEA"})).json()
        assert [call["tool"] for call in told["tools_used"]] == ["sales_summary"]
        assert len(gateway.marked.workers()) == 2
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            metrics = (await http.get(gateway.metrics_url)).content
        lint = [program("promtool"), "check", "metrics"]
        checked = await asyncio.to_thread(subprocess.run, lint, input=metrics, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, b"")
        gateway.process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0
        await gateway.marked.gone()
        assert len(gateway.said) == 1, gateway.said
        assert not list(gateway.folders.glob("xmcp-*"))


async def test_no_setting_is_on_the_command_line_of_a_worker(tmp_path: Path, chat_server: ChatServer) -> None:
    url = chat_server.url.replace("//", "//user:s3cr3t@")
    async with in_workers(tmp_path, "--base-url", url, "--model", "m", "--workers", "2", environment=KEY) as gateway:
        running = gateway.marked.running()
        workers = gateway.marked.workers()
        assert sorted(workers) == [0, 1]
        assert not any("s3cr3t" in word for pid in workers.values() for word in running[pid])
        assert all(len(running[pid]) == 5 for pid in workers.values())
        # Nor is there a socket that programs which a worker starts would inherit, and keep the port open.
        for pid in workers.values():
            assert sockets_to_inherit(pid) == []


def sockets_to_inherit(pid: int) -> list[str]:
    """Return the numbers of the sockets of a process that stay open in what it executes."""
    files = [path for path in Path(f"/proc/{pid}/fd").iterdir() if int(path.name) > 2]
    sockets = [path.name for path in files if path.exists() or "socket:" in str(path.readlink())]
    flags = {name: Path(f"/proc/{pid}/fdinfo/{name}").read_text() for name in sockets}
    return [name for name, text in flags.items() if not int(text.split("flags:")[1].split()[0], 8) & os.O_CLOEXEC]


async def test_a_stream_ends_whole_or_as_interrupted_when_the_gateway_is_ended(
    tmp_path: Path, chat_server: ChatServer
) -> None:
    go_on = paced(chat_server)
    async with in_workers(tmp_path, *of(chat_server), environment=KEY) as gateway, gateway.http() as http:
        streams = [await begun(chat_server, http, "/v1/chat/completions", json={**ASK, "user": f"{n}"}) for n in "ab"]
        gateway.process.send_signal(signal.SIGTERM)
        await until(lambda: refuses(gateway))
        go_on.set()
        answers = await asyncio.gather(*streams)
        assert await gateway.ended() == 0
    for answer in answers:
        *chunks, done = chunks_in(answer.text)
        assert done == "[DONE]"
        assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks) == "half an answer"


async def test_a_stream_ends_whole_when_the_system_signals_all_processes(
    tmp_path: Path, chat_server: ChatServer
) -> None:
    go_on = paced(chat_server)
    async with in_workers(tmp_path, *of(chat_server), environment=KEY) as gateway, gateway.http() as http:
        streams = [await begun(chat_server, http, "/v1/chat/completions", json={**ASK, "user": f"{n}"}) for n in "ab"]
        # As systemd does by default; each worker gets a second signal by its parent.
        for pid in (*gateway.marked.workers().values(), gateway.process.pid):
            os.kill(pid, signal.SIGTERM)
        await until(lambda: refuses(gateway))
        await asyncio.sleep(0.5)  # for what must not end the streams
        go_on.set()
        answers = await asyncio.gather(*streams)
        assert await gateway.ended() == 0
    assert [chunks_in(answer.text)[-1] for answer in answers] == ["[DONE]"] * 2
    assert not any('"error"' in answer.text for answer in answers)


def refuses(gateway: Workers) -> bool:
    """Return whether nobody accepts connections any more."""
    try:
        httpx2.get(f"{gateway.url}/livez", timeout=PATIENCE)
    except httpx2.TransportError:
        return True
    return False


async def test_a_stream_that_takes_too_long_is_told_so(tmp_path: Path, chat_server: ChatServer) -> None:
    paced(chat_server)
    config = "drain_seconds = 0.5"
    async with (
        in_workers(tmp_path, *of(chat_server), config=config, environment=KEY) as gateway,
        gateway.http() as http,
    ):
        stream = await begun(chat_server, http, "/chat", json={"input": "a"}, headers=SSE)
        gateway.process.send_signal(signal.SIGTERM)
        assert types_in((await stream).text)[-1] == "run.interrupted"
        assert await gateway.ended() == 0
        assert [line for line in gateway.said if "[worker " in line and "ended before they were finished" in line]


async def test_a_second_signal_ends_at_once(tmp_path: Path, chat_server: ChatServer) -> None:
    paced(chat_server)
    config = "drain_seconds = 3600.0"
    async with (
        in_workers(tmp_path, *of(chat_server), config=config, environment=KEY) as gateway,
        gateway.http() as http,
    ):
        stream = await begun(chat_server, http, "/chat", json={"input": "a"}, headers=SSE)
        gateway.process.send_signal(signal.SIGTERM)
        await until(lambda: refuses(gateway))
        gateway.process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0
        await asyncio.wait({stream})


async def test_one_ctrl_c_in_a_terminal_lets_chats_finish(tmp_path: Path, chat_server: ChatServer) -> None:
    go_on = paced(chat_server)
    marked = Marked()
    words = [sys.executable, "-m", "xmcp", "gateway", "--port", "0", *of(chat_server)]
    with Terminal(words, {**marked.environment, **KEY}, columns=200) as terminal:
        try:
            text = await asyncio.to_thread(terminal.wait_for, r"in 2 processes")
            url = re.search(r"http://[^\s,]+", text)
            assert url is not None
            async with httpx2.AsyncClient(base_url=url[0], timeout=PATIENCE) as http:
                stream = await begun(chat_server, http, "/chat", json={"input": "a"}, headers=SSE)
                terminal.type("\x03")
                await asyncio.sleep(1)  # for what must not end the stream
                assert not stream.done()
                go_on.set()
                assert types_in((await stream).text)[-1] == "run.finished"
            assert await asyncio.to_thread(terminal.end) == 0
            assert "Traceback" not in terminal.text
            await marked.gone()
        finally:
            marked.kill()


async def test_a_worker_that_is_killed_comes_back_and_the_other_serves(tmp_path: Path) -> None:
    words = [*DEMO, "--metrics-port", "0", "--log-format", "json"]
    async with in_workers(tmp_path, *words) as gateway:
        before = gateway.marked.workers()
        os.kill(before[1], signal.SIGKILL)
        said = json.loads(await gateway.says("worker 1 ended"))
        assert said["message"] == "worker 1 ended (signal SIGKILL) and is started again in 1 s"
        assert (said["level"], said["process"]) == ("warning", gateway.process.pid)
        async with gateway.http() as http:
            assert (await http.get("/livez")).status_code == 200
        found = await gateway.samples()
        if 1 not in gateway.marked.workers():
            assert found["xmcp_worker_up", "1"] == 0
        assert found["xmcp_worker_up", "0"] == 1
        async with asyncio.timeout(PATIENCE):
            while (found := await gateway.samples())["xmcp_worker_up", "1"] == 0:
                pass  # a scrape takes its time
        assert found["xmcp_worker_restarts_total", "1"] == 1
        assert found["xmcp_worker_restarts_total", "0"] == 0
        await both_answer(gateway)
        after = gateway.marked.workers()
        assert after[0] == before[0]
        assert after[1] != before[1]
        gateway.process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0


async def test_a_worker_that_finds_no_folder_for_its_sockets_says_so(tmp_path: Path) -> None:
    async with in_workers(tmp_path, *DEMO) as up:
        (folder,) = up.folders.iterdir()
        shutil.rmtree(folder)
        os.kill(up.marked.workers()[1], signal.SIGKILL)
        told = await up.says(r"worker 1 ended \(exit code 1")
        assert f"{folder} is gone" in told
        assert not any("Traceback" in line for line in up.said)
        up.process.send_signal(signal.SIGTERM)
        assert await up.ended() == 0


@pytest.mark.parametrize("asked", [False, True], ids=["serving", "draining"])
async def test_workers_whose_parent_is_killed_finish_their_chats_and_end(
    tmp_path: Path, chat_server: ChatServer, asked: bool
) -> None:
    go_on = paced(chat_server)
    async with in_workers(tmp_path, *of(chat_server), environment=KEY) as gateway, gateway.http() as http:
        stream = await begun(chat_server, http, "/chat", json={"input": "a"}, headers=SSE)
        if asked:
            gateway.process.send_signal(signal.SIGTERM)
            await until(lambda: refuses(gateway))
        gateway.process.kill()
        # Both drain. Which of them are left depends on whether the stream came to the process that it belongs to.
        await until(lambda: refuses(gateway))
        go_on.set()
        assert types_in((await stream).text)[-1] == "run.finished"
        await gateway.marked.gone()
        assert not list(gateway.folders.glob("xmcp-*"))


async def test_what_keeps_workers_from_starting_is_said_once(tmp_path: Path) -> None:
    config = f'[audit]\ndatabase = "{tmp_path}/no/such/folder/audit.db"'
    async with in_workers(tmp_path, *DEMO, config=config) as gateway:
        assert await gateway.ended() == 1
        await gateway.marked.gone()
        assert len(gateway.said) == 1, gateway.said
        assert gateway.said[0].startswith("Error: [audit] database: ")
        assert not list(gateway.folders.glob("xmcp-*"))


async def test_a_signal_while_workers_start_ends_without_a_word(tmp_path: Path) -> None:
    began = tmp_path / "began"
    program = f"import pathlib, time; pathlib.Path({str(began)!r}).touch(); time.sleep(600)"
    ending: list[asyncio.Task[None]] = []

    async def end(gateway: Workers) -> None:
        await until(began.exists)
        gateway.process.send_signal(signal.SIGTERM)

    def started(gateway: Workers) -> None:
        ending.append(asyncio.create_task(end(gateway)))

    words = [*DEMO, "--server", f'{sys.executable} -c "{program}"']
    async with in_workers(tmp_path, *words, started=started) as gateway:
        assert await gateway.ended() == 0
        await gateway.marked.gone()
        assert gateway.said == []
    assert ending[0].done()


async def test_nobody_can_connect_before_all_workers_serve(tmp_path: Path) -> None:
    first, second, go_on = tmp_path / "first", tmp_path / "second", tmp_path / "go-on"
    program = (  # of a tool server, which ends at once in the first worker
        f"import pathlib, time\nfirst, second, go_on = map(pathlib.Path, {[*map(str, (first, second, go_on))]})\n"
        "if first.exists():\n    second.touch()\n    while not go_on.exists(): time.sleep(0.05)\nfirst.touch()\n"
    )
    (tmp_path / "tools.py").write_text(program)
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
    early: list[asyncio.Task[bool]] = []

    async def knock(gateway: Workers) -> bool:
        gateway.url = f"http://127.0.0.1:{port}"
        await until(second.exists)  # the first serves
        refused = await asyncio.to_thread(refuses, gateway)
        go_on.touch()
        return refused

    words = [*DEMO, "--server", f"{sys.executable} {tmp_path}/tools.py", "--port", str(port)]
    async with in_workers(
        tmp_path, *words, started=lambda gateway: early.append(asyncio.create_task(knock(gateway)))
    ) as gateway:
        assert await early[0]
        async with gateway.http() as http:
            chats = [http.post("/chat", json={"input": "hi", "session_id": f"s-{n}"}) for n in range(20)]
            assert {answer.status_code for answer in await asyncio.gather(*chats)} == {200}
            assert (await http.get("/health")).json()["workers"] == {"count": 2, "answering": 2}


async def test_the_log_of_each_worker_names_it(tmp_path: Path) -> None:
    async with in_workers(tmp_path, *DEMO, "--log-level", "debug") as gateway:
        async with gateway.http() as http:
            await http.get("/livez")
        await gateway.says(r"INFO \[worker [01]\] uvicorn\.access: .*GET /livez")
        gateway.process.send_signal(signal.SIGHUP)  # its terminal was closed
        assert await gateway.ended() == 0


def test_a_worker_gets_the_configuration_that_its_parent_has_read() -> None:
    config = config_of(
        {
            "listen": {"allow_origins": ["https://a.example"], "workers": 2},
            "chat": {"approve": ["delete_*"]},
            "models": [{"id": "a", "provider": "demo"}],
            "servers": {"shop": {"url": "https://shop.example/mcp", "tenants": {"t": {"headers": {"A": "b"}}}}},
            "tenants": [{"name": "t", "usd_per_month": 1}],
            "keys": [{"name": "k", "tenant": "t", "env": "K", "models": ["a"], "scopes": ["read"], "tools": ["x"]}],
        },
        "gateway.toml",
    )
    told = config.model_dump(mode="json")
    assert GatewayConfig.model_validate(json.loads(json.dumps(told))).model_dump(mode="json") == told


def test_the_parent_loads_no_model_no_client_s_server_and_no_database() -> None:
    code = (
        "import sys\nimport xmcp.cli.gateway_workers, xmcp.gateway.config_file, xmcp.gateway.config_rules\n"
        "import xmcp.gateway.metrics.exposed, xmcp.gateway.metrics.merged\n"
        "print(*sorted({'fastmcp', 'mcp', 'openai', 'anthropic', 'google.genai', 'mistralai', 'sqlalchemy', 'alembic'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.strip() == ""
