"""The parent of workers, with programs of a few lines in place of workers: what it does when they end, or do not."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.worker_processes import PATIENCE, Marked, until

from xmcp.gateway.workers.process import WorkerProcess
from xmcp.gateway.workers.supervisor import CannotStart, Supervisor
from xmcp.http_listening import listen

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the command refuses workers there")

BEGIN = "import json, os, signal, socket, sys, time\nchannel = socket.socket(fileno=int(sys.argv[1]))\n"
BEGIN += "told = json.loads(channel.makefile().readline())\n"
READY = 'channel.sendall(b\'{"models": ["m"]}\\n\')\n'
UNTIL_SIGNALLED = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n" + READY + "time.sleep(600)"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + "time.sleep(600)"


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Marked]:
    made = Marked()
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    # What inherits the variable is ended, and the process of the tests has it only from now on.
    yield made
    made.kill()


class Supervised:
    """A supervisor of programs; each start of a worker runs the next of its programs, or the last one again."""

    def __init__(self, *programs: list[str], patience: float = PATIENCE) -> None:
        self.listener = listen("127.0.0.1", 0)
        self.starts: list[int] = []
        self.ready: list[Any] = []
        self.closed = asyncio.Event()
        self._programs = programs
        self.supervisor = Supervisor(len(programs), self._start, patience, self._stopping)

    def _stopping(self) -> None:
        self.listener.close()
        self.closed.set()

    async def _start(self, number: int) -> WorkerProcess:
        programs = self._programs[number]
        program = programs[min(self.starts.count(number), len(programs) - 1)]
        self.starts.append(number)
        command = [sys.executable, "-S", "-c", BEGIN + program]
        return await WorkerProcess.start(command, {"number": number}, self.listener)

    def run(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.supervisor.run(self.ready.append))


async def ended(task: asyncio.Task[None]) -> None:
    async with asyncio.timeout(PATIENCE):
        await task


def log(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "xmcp.gateway.workers"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    def after(seconds: float) -> None:
        monkeypatch.setattr("xmcp.gateway.workers.supervisor.next_delay", lambda last, served: seconds)

    return after


async def test_the_others_start_when_the_first_serves_and_one_signal_ends_all(
    marked: Marked, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    may_serve = tmp_path / "may_serve"
    slow = f"while not os.path.exists({str(may_serve)!r}): time.sleep(0.01)\n"
    supervised = Supervised([slow + UNTIL_SIGNALLED], [UNTIL_SIGNALLED], [UNTIL_SIGNALLED])
    task = supervised.run()
    await until(lambda: supervised.starts)
    await asyncio.sleep(0.3)
    assert supervised.starts == [0]
    may_serve.touch()
    await until(lambda: supervised.ready)
    assert sorted(supervised.starts) == [0, 1, 2]
    assert supervised.ready == [{"models": ["m"]}]
    os.kill(os.getpid(), signal.SIGTERM)
    await ended(task)
    assert supervised.closed.is_set()
    assert log(caplog) == []
    assert supervised.supervisor.restarts == [0, 0, 0]


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ('channel.sendall(b\'{"failed": "no database"}\\n\')\nsys.exit(1)', "no database"),
        ("sys.exit(7)", r"Worker 1 of the gateway could not start \(exit code 7\)\. The log above says why\."),
        ("os.kill(os.getpid(), 9)", r"could not start \(signal SIGKILL\)"),
        ("channel.sendall(b'not JSON\\n')\nsys.exit(1)", r"could not start \(exit code 1\)"),
        ("channel.sendall(b'{\"mod')\nsys.exit(1)", r"could not start \(exit code 1\)"),
    ],
)
async def test_one_that_ends_before_it_ever_served_ends_all(marked: Marked, program: str, told: str) -> None:
    supervised = Supervised([UNTIL_SIGNALLED], [program], [UNTIL_SIGNALLED])
    with pytest.raises(CannotStart, match=told):
        await ended(supervised.run())
    assert supervised.ready == []
    assert supervised.starts.count(1) == 1


async def test_where_the_first_cannot_start_no_other_is_started(marked: Marked) -> None:
    supervised = Supervised(["sys.exit(1)"], [UNTIL_SIGNALLED])
    with pytest.raises(CannotStart):
        await ended(supervised.run())
    assert supervised.starts == [0]


async def test_one_that_ends_is_tried_until_it_serves_again(
    marked: Marked, caplog: pytest.LogCaptureFixture, quick: Callable[[float], None]
) -> None:
    quick(0.01)
    caplog.set_level(logging.INFO, "xmcp.gateway.workers")
    failing = ['channel.sendall(b\'{"failed": "no disk"}\\n\')\nsys.exit(1)'] * 2
    supervised = Supervised([UNTIL_SIGNALLED], [READY + "sys.exit(5)", *failing, UNTIL_SIGNALLED])
    task = supervised.run()
    await until(lambda: "worker 1 serves again" in log(caplog))
    assert log(caplog) == [
        "worker 1 ended (exit code 5) and is started again in 0.01 s",
        "worker 1 ended (exit code 1: no disk) and is started again in 0.01 s",
        "worker 1 ended (exit code 1: no disk) and is started again in 0.01 s",
        "worker 1 serves again",
    ]
    assert supervised.supervisor.restarts == [0, 3]
    assert supervised.starts.count(0) == 1
    supervised.supervisor.stop()
    await ended(task)


async def test_a_signal_while_one_waits_for_its_new_start_ends_all_at_once(
    marked: Marked, caplog: pytest.LogCaptureFixture, quick: Callable[[float], None]
) -> None:
    quick(10_000)
    supervised = Supervised([UNTIL_SIGNALLED], [READY + "sys.exit(5)"])
    task = supervised.run()
    await until(lambda: log(caplog))
    supervised.supervisor.stop()
    await ended(task)
    assert supervised.starts.count(1) == 1


async def test_a_signal_while_the_first_starts_ends_it(marked: Marked) -> None:
    supervised = Supervised(["time.sleep(600)"], [UNTIL_SIGNALLED])
    task = supervised.run()
    await until(lambda: supervised.starts)
    supervised.supervisor.stop()
    await ended(task)
    assert supervised.starts == [0]
    assert supervised.ready == []


async def test_those_that_do_not_end_are_killed_and_named(marked: Marked, caplog: pytest.LogCaptureFixture) -> None:
    supervised = Supervised([STUBBORN], [UNTIL_SIGNALLED], patience=0.5)
    task = supervised.run()
    await until(lambda: supervised.ready)
    supervised.supervisor.stop()
    await ended(task)
    assert "worker 0 had not ended after 0.5 s and was killed" in log(caplog)
    await marked.gone()


async def test_a_second_signal_is_passed_on_too(marked: Marked, tmp_path: Path) -> None:
    first = tmp_path / "first"
    twice = f"signal.signal(signal.SIGTERM, lambda *_: open({str(first)!r}, 'w').close())\n"
    twice += "signal.signal(signal.SIGINT, lambda *_: sys.exit(0))\n"
    supervised = Supervised([twice + READY + "while True: time.sleep(600)"])
    task = supervised.run()
    await until(lambda: supervised.ready)
    os.kill(os.getpid(), signal.SIGINT)
    await until(first.exists)
    assert not task.done()
    os.kill(os.getpid(), signal.SIGINT)
    await ended(task)


SEEN = """
def is_open(number):
    try:
        return number > 2 and bool(os.fstat(number))
    except OSError:
        return False
open_files = [int(name) for name in os.listdir("/dev/fd") if is_open(int(name))]
shared = [told["listener"][0], channel.fileno()]
told = {"files": open_files, "shared": shared, "ids": [os.getpid(), os.getpgid(0), os.getsid(0)]}
channel.sendall(json.dumps(told).encode() + b"\\n")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
time.sleep(600)
"""


async def test_workers_share_nothing_but_the_listener_and_are_in_no_group_that_a_terminal_signals(
    marked: Marked,
) -> None:
    supervised = Supervised([SEEN])
    task = supervised.run()
    await until(lambda: supervised.ready)
    supervised.supervisor.stop()
    await ended(task)
    told = supervised.ready[0]
    assert sorted(told["files"]) == sorted(told["shared"])
    assert len(set(told["ids"])) == 1
