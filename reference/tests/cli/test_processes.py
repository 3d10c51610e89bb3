"""`xmcp serve` in several processes: which serves, which ends which, and the message when one cannot start."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastmcp import Client

from xmcp.cli.processes import Workers

pytestmark = pytest.mark.slow

SOURCE = """
import os
from xmcp import XMCP
mcp = XMCP("ours")
@mcp.tool
def pid() -> int:
    return os.getpid()
"""
IN_A_WORKER = "import multiprocessing, os\nif multiprocessing.parent_process():\n    "
FAILING_LIFESPAN = """
from contextlib import asynccontextmanager
@asynccontextmanager
async def lifespan(_):
    raise RuntimeError("no database")
    yield
mcp = XMCP("ours", lifespan=lifespan)
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(workplace: Path) -> Iterator[Start]:
    """Start `xmcp serve` on a free port, as a terminal does: in a session of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(source: str, *options: str) -> subprocess.Popen[str]:
        (workplace / "server.py").write_text(source)
        command = [sys.executable, "-m", "xmcp", "serve", "server.py", "--port", "0", *options]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=workplace,
            start_new_session=True,
            # Whoever runs the tests in the background has them, and what they start, ignore Ctrl-C.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def line_with(process: subprocess.Popen[str], words: str) -> str:
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if words in line:
            return line
    raise AssertionError(f"{words!r} was not said, but: {''.join(seen)}")


def url_in(line: str) -> str:
    found = re.search(r"http://[^\s\"]+", line)
    assert found is not None
    return found[0]


async def pids(url: str, era: str, wanted: int) -> set[int]:
    """Call on connections of their own until `wanted` processes have answered."""

    async def one() -> int:
        async with Client(url, mode=era, timeout=300) as client:
            return int((await client.call_tool("pid", {})).data)

    seen: set[int] = set()
    for _ in range(50):
        seen |= set(await asyncio.gather(*(one() for _ in range(4))))
        if len(seen) >= wanted:
            break
    return seen


def ended(*of: int) -> bool:
    """Say whether each of these processes has ended; one that nobody has waited for has, too."""

    def state(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return "X"

    return all(state(pid) in "XZ" for pid in of)


@pytest.mark.parametrize("signals", ["Ctrl-C", "SIGTERM", "the terminal closes"])
async def test_two_workers_serve_on_one_port_and_end_quietly(start: Start, signals: str) -> None:
    process = start(SOURCE, "--workers", "2")
    line = line_with(process, "served on")
    assert line.endswith("/mcp by 2 workers\n")
    serving = await pids(url_in(line), "auto", 2)
    assert len(serving) == 2
    assert process.pid not in serving
    assert await pids(url_in(line), "legacy", 2) == serving
    match signals:
        case "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)  # which a terminal sends to all of them
        case "SIGTERM":
            process.send_signal(signal.SIGTERM)
        case _:
            os.killpg(process.pid, signal.SIGHUP)
    out, err = await asyncio.to_thread(process.communicate, timeout=300)
    assert (process.returncode, out, err) == (0, "", "")
    assert ended(*serving)


async def test_a_worker_that_ends_is_replaced(start: Start) -> None:
    process = start(SOURCE, "--workers", "2")
    url = url_in(line_with(process, "served on"))
    before = await pids(url, "auto", 2)
    os.kill(min(before), signal.SIGKILL)
    for _ in range(200):
        if len(after := await pids(url, "auto", 2)) == 2 and after != before:
            break
    assert after & before == {max(before)}
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert ended(*after)


async def test_workers_do_not_outlive_a_parent_that_is_killed(start: Start) -> None:
    process = start(SOURCE, "--workers", "2")
    serving = await pids(url_in(line_with(process, "served on")), "auto", 2)
    process.kill()
    # The workers hold stderr open: it ends when they have.
    await asyncio.to_thread(process.communicate, timeout=300)
    assert ended(*serving)


def test_ctrl_c_while_the_workers_start_is_quiet(
    start: Start, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Runs when an interpreter starts, long before anything of ours: a worker gets no further until Ctrl-C is there.
    (workplace / "sitecustomize.py").write_text(
        "import signal, sys\n"
        "if '--multiprocessing-fork' in sys.orig_argv:\n"
        "    print('born', file=sys.stderr, flush=True)\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"  # which the command sends next
        "    while signal.SIGINT not in signal.sigpending(): pass\n"
        "    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(workplace), prepend=os.pathsep)
    process = start(SOURCE, "--workers", "2")
    line_with(process, "born")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", "")


def test_the_first_worker_is_tried_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dead:
        def has_started(self) -> bool:
            return False

        def runs(self) -> bool:
            return False

    monkeypatch.setattr("uvicorn.supervisors.multiprocess.signal.signal", lambda *_: None)
    workers = Workers(uvicorn.Config("app:app", workers=3, log_config=None), socket.socket(), ready=lambda: None)
    monkeypatch.setattr(workers, "_started", Dead)
    workers.init_processes()
    assert len(workers.processes) == 1
    assert workers.failed


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (f"{SOURCE}\n{IN_A_WORKER}raise ValueError('not here')", "ValueError: not here (server.py, line "),
        (f"{SOURCE}\n{IN_A_WORKER}os._exit(7)", ""),
        ("from xmcp import XMCP" + FAILING_LIFESPAN, "RuntimeError: no database"),
    ],
    ids=["import", "exit", "lifespan"],
)
def test_a_worker_that_cannot_start_ends_the_command(start: Start, source: str, why: str) -> None:
    process = start(source, "--workers", "3")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert err.splitlines()[-1] == "Error: ours could not start in a worker. The lines above say why."
    assert why in err
    assert "served on" not in err


async def test_a_file_that_changes_is_served_anew(start: Start, workplace: Path) -> None:
    process = start(SOURCE, "--reload")
    url = url_in(line_with(process, "served on"))
    before = await pids(url, "auto", 1)
    (workplace / "server.py").write_text(SOURCE + "\nx = 1 +\n")
    assert "server.py" in line_with(process, "changes in")
    assert "SyntaxError: invalid syntax (server.py, line 9)" in line_with(process, "Error")
    assert line_with(process, "The server could not start; it is started again when a file changes.")
    (workplace / "server.py").write_text(SOURCE)
    assert url_in(line_with(process, "served on")) == url
    after = await pids(url, "auto", 1)
    assert after != before
    os.killpg(process.pid, signal.SIGINT)
    out, err = await asyncio.to_thread(process.communicate, timeout=300)
    assert (process.returncode, out, err) == (0, "", "")
    assert ended(*before, *after)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--workers", "2", "--transport", "sse"], "--workers needs --transport http"),
        (["--workers", "2", "--transport", "stdio"], "--workers cannot be used with --transport stdio"),
        (["--reload", "--transport", "stdio"], "--reload cannot be used with --transport stdio"),
        (["--workers", "2", "--reload"], "--reload and --workers exclude each other"),
        (["--workers", "0"], "0 is not in the range"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    failing: Callable[..., tuple[int, str]], options: list[str], words: str
) -> None:
    code, line = failing("serve", "server.py", *options)
    assert code == 2
    assert words in line


@pytest.mark.parametrize("framework", ["from xmcp import XMCP as Server", "from fastmcp import FastMCP as Server"])
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_other_hosts_and_origins_are_refused(start: Start, transport: str, framework: str) -> None:
    process = start(f"{framework}\nmcp = Server('ours')", "--transport", transport)
    url = url_in(line_with(process, "served on"))
    headers = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient() as http:
        assert (await http.get(url, headers={**headers, "Origin": "https://evil.example"})).status_code == 403
        assert (await http.get(url, headers={**headers, "Host": "evil.example"})).status_code == 421


async def test_with_json_logs_each_line_is_an_object_and_info_has_one_for_each_call(start: Start) -> None:
    process = start(
        SOURCE + "import logging\nlogging.getLogger('shop').info('imported', extra={'rows': 3})",
        *("--log-format", "json", "--log-level", "info", "--workers", "2"),
    )
    ready = line_with(process, "served on")
    assert json.loads(ready)["logger"] == "xmcp.serve"
    await pids(url_in(ready), "auto", 1)
    process.send_signal(signal.SIGTERM)
    _, err = await asyncio.to_thread(process.communicate, timeout=300)
    records: list[dict[str, Any]] = [json.loads(line) for line in err.splitlines()]
    calls = [record for record in records if record["logger"] == "xmcp.server"]
    assert calls
    assert all(record["tool"] == "pid" and record["level"] == "info" for record in calls)
    assert {record["logger"] for record in records} == {"xmcp.server"}


async def test_by_default_nothing_is_logged_of_a_call(start: Start) -> None:
    process = start(SOURCE)
    url = url_in(line_with(process, "served on"))
    await pids(url, "auto", 1)
    await pids(url, "legacy", 1)
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.to_thread(process.communicate, timeout=300)
    assert (process.returncode, out, err) == (0, "", "")


async def test_debug_has_a_line_for_each_request_without_its_query(start: Start) -> None:
    process = start(SOURCE, "--log-level", "debug", "--transport", "sse")
    url = url_in(line_with(process, "served on"))
    assert await pids(url, "legacy", 1) == {process.pid}
    process.send_signal(signal.SIGINT)
    _, err = await asyncio.to_thread(process.communicate, timeout=300)
    assert '"POST /messages/ HTTP/1.1" 202' in err
    assert "session_id" not in err
