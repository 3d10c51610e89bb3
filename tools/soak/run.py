"""A run of the soak: start the processes, let a quiet and a stormy client work at the same time, collect what happened.

There are two clients, each in a process of its own. One has the honest server and model only; the other has the hostile
ones too. Both run the same honest chats at the same moments. So whatever uses the processors, the storm or another
program on the machine, takes as much from both: what is left of the difference is the client's own doing.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tools.bench.processes import START_SECONDS, Failed, Process
from tools.soak.process_tree import cpu_seconds, resident, scheduled
from tools.soak.verdicts import Measured

WARM_UP = 2.0
"""Seconds of honest chats at both clients before anything counts."""
ANSWER_SECONDS = 150.0
"""Seconds beyond the run after which a client that has not answered counts as hung."""
FREED_AT_ONCE: Final = {"MALLOC_MMAP_THRESHOLD_": str(256 << 10)}
"""Has the C library of Linux give back a large message when it is freed. Otherwise it keeps more and more of them (371
MB against 243 in the last third), though only 43 MB are in use: a leak could hide in that."""
MOST_MEMORY = 3 << 30
"""Resident memory in bytes at which the client is killed, before it takes the whole machine."""
SAMPLE = 0.25
"""Seconds between two looks at the memory."""


class Peer(Process):
    """A process of the soak: one that serves prints its port, a client gets commands."""

    def ready(self) -> str:
        """Return the address of the server as soon as it listens."""
        return f"http://127.0.0.1:{int(self.line(START_SECONDS))}"

    def begin(self, do: str, **arguments: Any) -> None:
        """Send a command of `client_process.Soak`; `end` returns its answer."""
        self.send([do, arguments])

    def end(self, limit: float) -> dict[str, Any]:
        """Return the answer to the command that was sent last.

        Raises:
            Failed: the command failed, or there was no answer within `limit` seconds.
        """
        answer: dict[str, Any] = json.loads(self.line(limit))
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer


class Sampler(threading.Thread):
    """Notes the memory of a process from time to time, and kills it when it takes too much."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._done = threading.Event()
        self.sizes: list[tuple[float, int]] = []
        self.killed = False

    def run(self) -> None:
        """Look until `stop`."""
        while not self._done.wait(SAMPLE):
            if (size := resident(self._pid)) > 0:
                self.sizes.append((time.monotonic(), size))
            if size > MOST_MEMORY:
                self.killed = True
                os.kill(self._pid, 9)
                return

    def stop(self) -> None:
        """Look no more."""
        self._done.set()
        self.join(10)


def run(seconds: float, seed: int, say: Callable[[str], None]) -> Measured:
    """Run the soak for some seconds, and a few more to begin and to end. A client that hangs ends it early."""
    measured = Measured(seconds=seconds)
    with ExitStack() as stack:
        stderr = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-"))) / "stderr"

        def start(*words: str, **options: Any) -> Peer:
            return stack.enter_context(Peer(f"tools.soak.{words[0]}", *words[1:], cpu=None, **options))

        models = [start("scripted_model"), start("scripted_model")]
        honest, *hostile = (start("http_peers", kind) for kind in ("honest", "hostile", "hostile"))
        quiet = start("client_process")
        storm = start("client_process", stderr=stack.enter_context(stderr.open("wb")), variables=FREED_AT_ONCE)
        sampler = Sampler(storm.pid)
        sampler.start()
        try:
            addresses = {"models": [f"{model.ready()}/v1" for model in models], "honest": honest.ready(), "seed": seed}
            liars, mortal = (one.ready() for one in hostile)
            quiet.begin("connect", hostile=None, mortal=None, **addresses)
            storm.begin("connect", hostile=liars, mortal=mortal, **addresses)
            for client in (quiet, storm):
                client.end(START_SECONDS)
            for client in (quiet, storm):
                client.begin("work", seconds=WARM_UP, seed=seed, storm=False)
            for client in (quiet, storm):
                client.end(WARM_UP + ANSWER_SECONDS)
            sampler.sizes.clear()  # what the warm-up loads is no growth
            say("everything is connected, the storm begins")
            _work(measured, quiet, storm, seed)
            sampler.stop()
            say("the storm is over")
            storm.begin("finish")
            _take(measured, storm.end(ANSWER_SECONDS))
        except Failed as exc:
            killed = f": it was killed at {MOST_MEMORY >> 30} GB of memory" if sampler.killed else ""
            measured.broken = f"{exc}{killed}"
        sampler.stop()
        measured.memory = sampler.sizes
        measured.terminal = stderr.read_text(encoding="utf-8", errors="replace")
    return measured


def _work(measured: Measured, quiet: Peer, storm: Peer, seed: int) -> None:
    processes = {"everything": os.getpid(), "quiet client": quiet.pid, "storm client": storm.pid}
    before, begun = {name: cpu_seconds(pid) for name, pid in processes.items()}, time.monotonic()
    ran, waited = scheduled(storm.pid)
    for client in (quiet, storm):
        client.begin("work", seconds=measured.seconds, seed=seed, storm=client is storm)
    # The storm's client is the one that may be late: the quiet one has answered by then.
    for name, client in (("storm", storm), ("quiet", quiet)):
        told = client.end(measured.seconds + ANSWER_SECONDS)
        setattr(measured, name, told["latencies"])
        measured.lags[name] = told["lag"]
        measured.failures |= {f"{name}: {text}": times for text, times in told["failures"].items()}
        if client is storm:
            measured.stalls = [(late, place) for late, place in told["stalls"]]
            measured.outcomes = told["outcomes"]
    elapsed = time.monotonic() - begun
    ran, waited = (now - then for now, then in zip(scheduled(storm.pid), (ran, waited), strict=True))
    measured.starved = waited / (ran + waited) if waited else 0.0
    measured.cpu = {name: (cpu_seconds(pid) - before[name]) / elapsed for name, pid in processes.items()}


def _take(measured: Measured, told: dict[str, Any]) -> None:
    for name in ("left", "closing", "crossed", "storms", "log", "opened"):
        setattr(measured, name, told[name])
