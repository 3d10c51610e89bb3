"""A run of the soak: start the processes, let quiet and storm take turns, collect what was measured.

There are two clients, each in a process of its own. One has the honest server only and works in the quiet slices; the
other has the hostile servers too and works in the storm slices. Both run the same honest chats. The slices take turns,
so that whatever else runs on the machine hits both. In a quiet slice, burners use the processors as much as the storm
did beyond the honest chats: what is left of the difference is the client's own doing.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tools.bench.processes import START_SECONDS, Failed, Process
from tools.soak.process_tree import cpu_seconds, resident
from tools.soak.serving import WEATHER
from tools.soak.verdicts import Measured

SLICE = 5.0
"""Seconds of a slice. A short run has shorter ones."""
WARM_UP = 2.0
"""Seconds of honest chats at each client before anything counts."""
SETTLE = 0.5
"""Seconds between two slices."""
ANSWER_SECONDS = 60.0
"""Seconds beyond its slice after which a client that has not answered counts as hung."""
MOST_MEMORY = 3 << 30
"""Resident memory in bytes at which a client is killed, before it takes the whole machine."""
BURNERS = 2
SAMPLE = 0.25
"""Seconds between two looks at the memory."""


class Peer(Process):
    """A process of the soak. One that serves prints its port; one that obeys gets commands."""

    def ready(self) -> str:
        """Return the address of the server as soon as it listens."""
        return f"http://127.0.0.1:{int(self.line(START_SECONDS))}"

    def ask(self, limit: float, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command of `client_process.Soak`.

        Raises:
            Failed: the command failed, or there was no answer within `limit` seconds.
        """
        self.send([do, arguments])
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


def slices(seconds: float) -> tuple[int, float]:
    """Return the number of pairs of slices in a run, and the seconds of each slice."""
    pairs = max(2, round(seconds / (2 * SLICE)))
    return pairs, seconds / (2 * pairs)


def run(seconds: float, seed: int, say: Callable[[str], None]) -> Measured:
    """Run the soak for some seconds, and a few more to begin and to end. A client that hangs ends it early."""
    measured = Measured(seconds=seconds)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        weather, stderr = folder / "storm", folder / "stderr"
        variables = {WEATHER: str(weather)}

        def start(*words: str, **options: Any) -> Peer:
            peer = Peer(f"tools.soak.{words[0]}", *words[1:], cpu=None, variables=variables, **options)
            return stack.enter_context(peer)

        models = [start("scripted_model"), start("scripted_model")]
        honest, *hostile = (start("http_peers", kind) for kind in ("honest", "hostile", "hostile"))
        burners = [start("burner") for _ in range(BURNERS)]
        quiet = start("client_process")
        storm = start("client_process", stderr=stack.enter_context(stderr.open("wb")))
        sampler = Sampler(storm.pid)
        sampler.start()
        try:
            addresses = {"models": [f"{model.ready()}/v1" for model in models], "honest": honest.ready(), "seed": seed}
            liars, mortal = (one.ready() for one in hostile)
            quiet.ask(START_SECONDS, "connect", hostile=None, mortal=None, **addresses)
            storm.ask(START_SECONDS, "connect", hostile=liars, mortal=mortal, **addresses)
            say("everything is connected")
            _take_turns(measured, quiet, storm, burners, weather, sampler, seed, say)
            sampler.stop()
            _finish(measured, storm)
        except Failed as exc:
            killed = f": it was killed at {MOST_MEMORY >> 30} GB of memory" if sampler.killed else ""
            measured.broken = f"{exc}{killed}"
        sampler.stop()
        measured.memory = sampler.sizes
        measured.terminal = stderr.read_text(encoding="utf-8", errors="replace")
    return measured


def _take_turns(
    measured: Measured,
    quiet: Peer,
    storm: Peer,
    burners: list[Peer],
    weather: Path,
    sampler: Sampler,
    seed: int,
    say: Callable[[str], None],
) -> None:
    pairs, length = slices(measured.seconds)
    without = [burner.pid for burner in burners]
    in_use: dict[str, list[float]] = {"quiet": [], "storm": [], "burners": []}
    measured.cpu = in_use

    def measure(client: Peer, seconds: float, number: int, *, hostile: bool) -> tuple[dict[str, Any], float]:
        cpu, begun = cpu_seconds(os.getpid(), *without), time.monotonic()
        told = client.ask(seconds + ANSWER_SECONDS, "slice", seconds=seconds, period=number, storm=hostile)
        return told, (cpu_seconds(os.getpid(), *without) - cpu) / (time.monotonic() - begun)

    for client in (storm, quiet):
        _, alone = measure(client, WARM_UP, -1, hostile=False)
    sampler.sizes.clear()  # what the warm-up loads is no growth
    failures: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for number in range(pairs):
        with _storm(weather):
            told, used = measure(storm, length, seed + number, hostile=True)
        in_use["storm"].append(used)
        measured.storm += told["latencies"]
        measured.stalls = sorted([*measured.stalls, *map(tuple, told["stalls"])], reverse=True)[:20]
        measured.lags["storm"] = max([measured.lags.get("storm", 0.0), *told["lags"]])
        failures.update({f"storm: {text}": times for text, times in told["failures"].items()})
        outcomes.update(told["outcomes"])
        measured.failures, measured.outcomes = dict(failures), dict(outcomes)
        time.sleep(SETTLE)
        share = max(0.0, used - alone)
        in_use["burners"].append(share)
        for burner in burners:
            burner.send(round(min(1.0, share / len(burners)), 3))
        told, alone = measure(quiet, length, seed + number, hostile=False)
        for burner in burners:
            burner.send(0)
        in_use["quiet"].append(alone)
        measured.quiet += told["latencies"]
        measured.lags["quiet"] = max([measured.lags.get("quiet", 0.0), *told["lags"]])
        failures.update({f"quiet: {text}": times for text, times in told["failures"].items()})
        measured.failures = dict(failures)
        time.sleep(SETTLE)
        say(f"{number + 1} of {pairs} storms are over; the last used {used:.2f} processors")


@contextmanager
def _storm(weather: Path) -> Iterator[None]:
    weather.touch()
    try:
        yield
    finally:
        weather.unlink()


def _finish(measured: Measured, storm: Peer) -> None:
    told = storm.ask(ANSWER_SECONDS, "finish")
    for name in ("left", "closing", "crossed", "storms", "log", "opened"):
        setattr(measured, name, told[name])
