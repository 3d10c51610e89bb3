"""Measure `AIClient` against the floor, a loop by hand on the openai SDK and `fastmcp.Client`.

Each client has an interpreter of its own (client_process.py), and so have the scripted model and the tool servers
(scripted_servers.py). The model checks every chat: a wrong answer is an error, not a figure. If there are two
processors, clients run on one and servers on the other. A figure is the median, over the rounds, of our time divided by
the time of the floor in the same round; the two take turns in going first.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tools.bench.figure import Figure
from tools.bench.processes import ANSWER_SECONDS, Client, Failed, Server
from tools.bench.script import Call, Script

CONCURRENT = 64
IDLE = 1000
WARM_UP = 4


# ---- workloads ----


class Workload(NamedTuple):
    """Chats of one script, `chats` of them in a round. An argument `*` becomes a text unique to its chat and call."""

    name: str
    bar: float
    script: Script
    chats: int
    how: str = "chat"
    peer: str = "few"


def echo(turns: int = 1, calls: int = 1) -> list[list[Call]]:
    """Return turns of calls whose results are their arguments."""
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
"""The workloads, with the maximum of the ratio of ours to the floor."""

BUSY: dict[str, Any] = {"script": Script(echo(), tools=FEW), "chats": CONCURRENT}
WAITING = {
    "in a tool call": Script([[Call("wait", {"text": "*"})]]),
    "for the model": Script([], held=True),
}
"""Where chats can wait. While one waits for the model, the model has sent its headers and nothing more."""


_STEPS = (
    Call("find_order", {"customer": "7"}),
    Call("find_invoice", {"order": "order-of-7"}),
    Call("send_reminder", {"invoice": "invoice-of-order-of-7"}),
)
CHAIN = (
    Script([[_STEPS[0], *(Call(step.name, {}, step.arguments) for step in _STEPS[1:])]], pause=0.05),
    Script([[step] for step in _STEPS], pause=0.05),
)
"""Three tools that depend on each other, called in one turn and in three. The model needs 50 ms for each answer."""


# ---- figures ----


def speeds(rounds: int) -> Iterator[Figure]:
    """Measure every workload. One that fails becomes a figure with its error, and is left out of later rounds."""
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
        # The first round warms up connections and caches; it is not counted.
        for number in range(rounds + 1):
            for workload in (workload for workload in WORKLOADS if workload.name not in faults):
                try:
                    pair = {client: measure(client, workload) for client in (ours, floor)[:: 1 if number % 2 else -1]}
                except Failed as exc:
                    faults[workload.name] = str(exc)
                else:
                    taken.setdefault(workload.name, []).append((pair[ours], pair[floor]))
    for workload in WORKLOADS:
        if workload.name in faults:
            yield Figure(workload.name, math.inf, workload.bar, faults[workload.name])
        else:
            yield ratio(workload, taken[workload.name][1:])


def measure(client: Client, workload: Workload) -> dict[str, Any]:
    """Run the chats of a workload once; return their seconds and CPU seconds."""
    return client.measure(workload.peer, workload.how, workload.script, workload.chats)


def ratio(workload: Workload, pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> Figure:
    """Return the median ratio over the rounds, with its quartiles and the median ratio of the CPU time."""
    by_time = [statistics.median(ours["seconds"]) / statistics.median(floor["seconds"]) for ours, floor in pairs]
    by_cpu = statistics.median(ours["cpu"] / floor["cpu"] for ours, floor in pairs)
    low, _, high = statistics.quantiles(by_time, n=4, method="inclusive")
    ms = statistics.median(second for ours, _ in pairs for second in ours["seconds"]) * 1000
    rest = f"{ms:8.1f} ms  {low:.2f} to {high:.2f}  CPU {by_cpu:.2f}"
    return Figure(workload.name, statistics.median(by_time), workload.bar, rest)


def peak(batches: int = 5) -> Figure:
    """Measure the peak memory, in MB, of a process that runs CONCURRENT chats at once and nothing else."""
    found = {}
    with Server("model") as model, Server("tools") as tools:
        for kind in ("xmcp", "floor"):
            with Client(kind) as client:
                client.connect("few", model, tools)
                found[kind] = max(client.ask("peak", peer="few", **BUSY)["mb"] for _ in range(batches))
    return Figure("peak RSS, MB", found["xmcp"], 125, f"{found['floor']:8.1f} MB the floor")


def idle(chats: int) -> Iterator[Figure]:
    """Measure the memory, in kB, of each of `chats` chats that wait.

    The bar applies to the memory that `AIClient` itself allocates for a chat, with stand-ins for the model and the
    tools, as tracemalloc counts it. Over the SDKs, their memory for each connection is added, for ours and the floor
    alike; that figure is resident memory and has no bar.
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
    """Memory of each chat in kB."""

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

        # A few chats first, for what is loaded only once. More would leave open connections to the measured chats.
        wait("few", WARM_UP)
        resident = wait("few", chats)["resident"]
        # tracemalloc makes allocations several times slower: fewer chats, on their own client, give the same figure.
        client.ask("trace")
        client.connect("traced", model, tools, max_concurrency=chats, tool_timeout=ANSWER_SECONDS)
        wait("traced", WARM_UP)
        return Weight(resident / 1000, wait("traced", CONCURRENT)["traced"] / 1000)


def chain(rounds: int) -> Iterator[Figure]:
    """Measure three dependent tools called in one turn, against the same tools called in three turns."""
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
    """Yield every figure of the client."""
    yield from speeds(rounds)
    yield peak()
    yield from idle(min(IDLE, 70 * rounds))
    yield from chain(rounds)
