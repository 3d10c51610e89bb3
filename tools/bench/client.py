"""What the bench measures of a client: `AIClient` against a loop by hand on the openai SDK and `fastmcp.Client`.

Each client has an interpreter of its own (bench_client_peer.py), and so have the scripted model and the tool servers
(bench_model.py), which judge every chat: a wrong answer is an error, not a figure. Clients are on one processor and
servers on another where there are two. A figure is the median over the rounds of ours divided by the floor's in the
same round, who goes first changing from round to round.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from bench_model import Call, Script
from bench_server import Figure

START_SECONDS = 60.0
ANSWER_SECONDS = 120.0
CONCURRENT = 64
IDLE = 1000
WARM_UP = 4


class Failed(Exception):
    """A process did not answer, or a chat did not end as its script says; the message says which and why."""


class Process:
    """A server or a client in a process of its own, which ends when the bench does, however that ends."""

    def __init__(self, program: str, *arguments: str, cpu: int = 0) -> None:
        # Loopback needs no proxy, and a key or address in the environment is not the bench's.
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith("OPENAI_")
        }
        self.name = " ".join((program, *arguments))
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name(f"{program}.py")), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment,
        )
        if hasattr(os, "sched_setaffinity") and len(cpus := sorted(os.sched_getaffinity(0))) > 1:
            os.sched_setaffinity(self._process.pid, {cpus[cpu]})

    def line(self, seconds: float) -> str:
        """The next line it prints.

        Raises:
            Failed: there is none within so many seconds, or the process ended.
        """
        output = self._process.stdout
        if output is None or not select.select([output], [], [], seconds)[0]:
            raise Failed(f"{self.name} did not answer within {seconds:g} s")
        if not (told := output.readline()):
            raise Failed(f"{self.name} ended")
        return told.decode()

    def tell(self, command: object) -> None:
        """Write a line of JSON to it."""
        if self._process.stdin:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=START_SECONDS)


class Server(Process):
    """The model or a tool server."""

    def __init__(self, *arguments: str) -> None:
        super().__init__("bench_model", *arguments, cpu=0)
        self.port = 0

    def ready(self) -> str:
        """Its address, once it listens."""
        self.port = self.port or int(self.line(START_SECONDS))
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str) -> dict[str, int]:
        """Its state, or to let go what waits."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path)
            told: dict[str, int] = json.loads(connection.getresponse().read())
            return told
        finally:
            connection.close()

    def until_held(self, number: int) -> None:
        """Wait until so many requests wait there.

        Raises:
            Failed: they do not come.
        """
        deadline = time.monotonic() + ANSWER_SECONDS
        while (held := self.ask("GET", "/state")["held"]) < number:
            if time.monotonic() > deadline:
                raise Failed(f"only {held} of {number} requests reached {self.name}")
            time.sleep(0.05)


class Client(Process):
    """The floor or ours."""

    def __init__(self, kind: str) -> None:
        super().__init__("bench_client_peer", kind, cpu=1)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command of `bench_client_peer.Worker`.

        Raises:
            Failed: it could not be run, or a chat ended wrongly.
        """
        self.tell([do, arguments])
        told: dict[str, Any] = json.loads(self.line(ANSWER_SECONDS))
        if "error" in told:
            raise Failed(f"{self.name}: {told['error'][:200]}")
        return told

    def connect(self, peer: str, model: Server, *servers: Server, **options: Any) -> None:
        """Connect it to a model and servers."""
        addresses = [f"{server.ready()}/mcp" for server in servers]
        self.ask("connect", peer=peer, model=f"{model.ready()}/v1", servers=addresses, options=options)

    def measure(self, workload: Workload) -> dict[str, Any]:
        """Seconds and CPU seconds of a workload's chats."""
        _, _, script, chats, how, peer = workload
        return self.ask("measure", peer=peer, how=how, script=script, chats=chats)


# ---- what is asked ----


class Workload(NamedTuple):
    """Chats of one script, and how often in a round. `*` in an argument becomes a text of that chat and call alone."""

    name: str
    bar: float
    script: Script
    chats: int
    how: str = "chat"
    peer: str = "few"


def echo(turns: int = 1, calls: int = 1) -> list[list[Call]]:
    """Turns of calls that come back as they are."""
    return [[Call("echo", {"text": "*"})] * calls] * turns


FEW, MANY = 5, 105
WORKLOADS = (
    Workload("a one tool turn", 0.85, Script(echo(), tools=FEW), 12),
    Workload("b eight 100 ms tools in one turn", 1.0, Script([[Call("pause", {"ms": 100})] * 8], tools=FEW), 2),
    Workload(f"c {CONCURRENT} chats at once", 1.0, Script(echo(), tools=FEW), CONCURRENT, "at_once"),
    Workload("d first token of a stream", 0.8, Script([], words=50, gap=0.002, tools=FEW), 4, "first_token"),
    Workload("e 20 turns", 0.75, Script(echo(turns=20), tools=FEW), 1),
    Workload("f eight echoes in one turn", 1.0, Script(echo(calls=8), tools=FEW), 4),
    Workload("g result of 200 kB", 1.0, Script([[Call("report", {"size": 200_000})]], tools=FEW), 4),
    Workload(f"h {MANY} tools on two servers", 0.55, Script(echo(), tools=MANY), 6, peer="many"),
)
"""What ours is held against the floor in, and the ratio it is to stay below."""

BUSY: dict[str, Any] = {"script": Script(echo(), tools=FEW), "chats": CONCURRENT}
WAITING = {
    "in a tool call": Script([[Call("wait", {"text": "*"})]]),
    "for the model": Script([], held=True),
}
"""Where chats can wait: the model has sent its headers then, and nothing more."""


_STEPS = (
    Call("find_order", {"customer": "7"}),
    Call("find_invoice", {"order": "order-of-7"}),
    Call("send_reminder", {"invoice": "invoice-of-order-of-7"}),
)
CHAIN = (
    Script([[_STEPS[0], *(Call(step.name, {}, step.arguments) for step in _STEPS[1:])]], pause=0.05),
    Script([[step] for step in _STEPS], pause=0.05),
)
"""Three tools that depend on each other, asked for in one turn and in three; the model takes 50 ms for each answer."""


# ---- figures ----


def speeds(rounds: int) -> Iterator[Figure]:
    """Every workload, ours by the floor's; a workload that fails says so and is left out of the later rounds."""
    taken: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    faults: dict[str, str] = {}
    with (
        Server("model") as model,
        Server("tools") as tools,
        Server("many", str(MANY - FEW)) as many,
        Client("floor") as floor,
        Client("xmcp") as ours,
    ):
        for client in (floor, ours):
            client.connect("few", model, tools)
            client.connect("many", model, tools, many)
        # The first round warms up connections and caches, and is not counted.
        for number in range(rounds + 1):
            for workload in (workload for workload in WORKLOADS if workload.name not in faults):
                try:
                    pair = {client: client.measure(workload) for client in (ours, floor)[:: 1 if number % 2 else -1]}
                except Failed as exc:
                    faults[workload.name] = str(exc)
                else:
                    taken.setdefault(workload.name, []).append((pair[ours], pair[floor]))
    for workload in WORKLOADS:
        if workload.name in faults:
            yield Figure(workload.name, math.inf, workload.bar, faults[workload.name])
        else:
            yield ratio(workload, taken[workload.name][1:])


def ratio(workload: Workload, pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> Figure:
    """The median over the rounds of ours by the floor's, with its middle half and the same of the CPU time."""
    by_time = [statistics.median(ours["seconds"]) / statistics.median(floor["seconds"]) for ours, floor in pairs]
    by_cpu = statistics.median(ours["cpu"] / floor["cpu"] for ours, floor in pairs)
    low, _, high = statistics.quantiles(by_time, n=4, method="inclusive")
    ms = statistics.median(second for ours, _ in pairs for second in ours["seconds"]) * 1000
    rest = f"{ms:8.1f} ms  {low:.2f} to {high:.2f}  CPU {by_cpu:.2f}"
    return Figure(workload.name, statistics.median(by_time), workload.bar, rest)


def peak(batches: int = 5) -> Figure:
    """The most memory of a process that has done nothing but 64 chats at once, ours, in MB."""
    found = {}
    with Server("model") as model, Server("tools") as tools:
        for kind in ("xmcp", "floor"):
            with Client(kind) as client:
                client.connect("few", model, tools)
                found[kind] = max(client.ask("peak", peer="few", **BUSY)["mb"] for _ in range(batches))
    return Figure("peak RSS, MB", found["xmcp"], 125, f"{found['floor']:8.1f} MB the floor")


def idle(chats: int) -> Iterator[Figure]:
    """Memory of each of so many chats that wait, in kB.

    The bar is for what a chat costs in `AIClient`, with stand-ins of model and tools, as Python counts it. With the
    SDKs between, a chat costs what they keep for its connection besides, ours as the floor: resident memory.
    """
    for name, script in WAITING.items():
        with Client("xmcp") as client:
            weighed = client.ask("own", how=name, chats=chats)["traced"] / 1000
        yield Figure(f"{chats} chats wait {name}, kB each", weighed, 20, "AIClient's own")
        try:
            ours, floor = (_idle(kind, script, chats) for kind in ("xmcp", "floor"))
        except Failed as exc:
            yield Figure("  over connections of the SDKs", math.inf, None, str(exc))
            continue
        rest = f"{ours.traced:8.1f} kB traced; the floor {floor.resident:.1f} and {floor.traced:.1f}"
        yield Figure("  over connections of the SDKs", ours.resident, None, rest)


class Weight(NamedTuple):
    """kB for each chat."""

    resident: float
    traced: float


def _idle(kind: str, script: Script, chats: int) -> Weight:
    how = "first_token" if script.held else "chat"
    with Server("model") as model, Server("tools") as tools, Client(kind) as client:
        client.connect("few", model, tools, max_concurrency=chats, tool_timeout=ANSWER_SECONDS)
        where = model if script.held else tools

        def wait(peer: str, chats: int) -> dict[str, float]:
            client.ask("begin", peer=peer, how=how, script=script, chats=chats)
            where.until_held(chats)
            weighed = client.ask("weigh")
            where.ask("POST", "/release")
            client.ask("finish")
            return weighed

        # A few chats load what is loaded once; more would leave connections behind for those that are weighed.
        wait("few", WARM_UP)
        resident = wait("few", chats)["resident"]
        # Counting makes allocations several times slower: fewer chats, on a client of their own, tell the same.
        client.ask("trace")
        client.connect("traced", model, tools, max_concurrency=chats, tool_timeout=ANSWER_SECONDS)
        wait("traced", WARM_UP)
        return Weight(resident / 1000, wait("traced", CONCURRENT)["traced"] / 1000)


def chain(rounds: int) -> Iterator[Figure]:
    """Three dependent tools: asked for in one turn, by the same asked for one after the other in three."""
    name = "three dependent tools in one turn"
    with Server("model") as model, Server("chain") as tools, Client("xmcp") as client:
        client.connect("few", model, tools)

        def run(script: Script) -> tuple[float, int]:
            before = model.ask("GET", "/state")["requests"]
            taken = client.ask("measure", peer="few", how="chat", script=script, chats=1)["seconds"]
            return taken[0], model.ask("GET", "/state")["requests"] - before

        try:
            # The first round warms up.
            pairs = [tuple(run(script) for script in CHAIN) for _ in range(rounds + 1)][1:]
        except Failed as exc:
            yield Figure(f"{name}, model calls", math.inf, 0.5, str(exc))
            return
    (_, calls), (_, more) = pairs[0]
    yield Figure(f"{name}, model calls", calls / more, 0.5, f"{calls:8} calls against {more}")
    ms = statistics.median(together[0] for together, _ in pairs) * 1000
    times = statistics.median(together[0] / apart[0] for together, apart in pairs)
    yield Figure(f"{name}, time", times, 1, f"{ms:8.1f} ms")


def figures(rounds: int) -> Iterator[Figure]:
    """All of it."""
    yield from speeds(rounds)
    yield peak()
    yield from idle(min(IDLE, 70 * rounds))
    yield from chain(rounds)
