"""What the soak demands of a client, each demand as one pure function of what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from tools.soak.script import storms

RATIO: Final = 2.0
"""Maximum of the 99th percentile of honest chats in the storm, divided by that of the quiet."""
GROWTH: Final = 1.10
"""Maximum of the lower quartile of the memory in the last third of the run, divided by that of the middle third.

Bodies that are being read come and go; what is never given back raises the quartile."""
GROWTH_AT_FIRST: Final = 1.25
"""The same for a run of less than `FILLED` seconds, in which caches still fill. Thirds had 215, 223 and 243 MB."""
FILLED: Final = 600.0
"""Length of a run in seconds from which on `GROWTH` holds."""
PEAK: Final = 1 << 30
"""Maximum resident memory in bytes: a hostile body of 64 MB costs a part of it, one without a bound costs all."""
CLOSING: Final = 20.0
"""Maximum seconds for `aclose()`."""
TERMINAL: Final = 64 << 10
"""Maximum bytes on the standard error of the client's process."""

LINE: Final = 200
"""Maximum characters of an entry in the report; the file of `--json` has all of it."""

STARVED: Final = 0.4
"""Share of the time in which the client could have run, but other programs had the processors, above which its latency
is theirs: the quiet client needs less of a processor, so it suffers less."""

LEAST_CHATS: Final = 100
"""Honest chats at each client below which a 99th percentile says nothing."""
LEAST_SECONDS: Final = 100.0
"""Length of a run below which memory still grows because caches fill, and not every hostile chat has its turn."""

State = Literal["ok", "FAILED", "not judged"]


@dataclass
class Measured:
    """What a run of the soak has measured. Times are seconds, sizes are bytes, counts are by what was seen."""

    seconds: float = 0.0
    quiet: list[float] = field(default_factory=list)
    """The latency of each honest chat at the client without hostile peers."""
    storm: list[float] = field(default_factory=list)
    """The latency of each honest chat at the client among hostile peers."""
    failures: dict[str, int] = field(default_factory=dict)
    """Honest chats that did not end as they should, in the storm or in the quiet."""
    memory: list[tuple[float, int]] = field(default_factory=list)
    """The resident memory of the client in the storm, from time to time."""
    opened: list[str] = field(default_factory=list)
    """Each time that the breaker of the honest server opened."""
    crossed: dict[str, int] = field(default_factory=dict)
    """What one tenant got of another."""
    left: list[str] = field(default_factory=list)
    """Tasks and processes that are there after `aclose()`."""
    closing: float = 0.0
    log: dict[str, int] = field(default_factory=dict)
    """What no log should have, and exceptions that no chat should raise."""
    terminal: str = ""
    """The standard error of the client's process."""
    storms: dict[str, int] = field(default_factory=dict)
    """How many hostile chats of each kind were begun."""
    broken: str = ""
    """Why the run could not be finished; empty if it could."""
    stalls: list[tuple[float, str]] = field(default_factory=list)
    """The longest times for which the event loop of the storm's client stood still, with the place in the code."""
    lags: dict[str, float] = field(default_factory=dict)
    """The longest such time of each client."""
    outcomes: dict[str, int] = field(default_factory=dict)
    """How hostile chats ended."""
    starved: float = 0.0
    """Of the time in which the storm's client could have run, the share in which it had no processor."""
    cpu: dict[str, float] = field(default_factory=dict)
    """The processors in use, by who used them."""

    def to_json(self) -> dict[str, Any]:
        """Return everything as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Verdict:
    """Whether one demand is met, and the figures that show it."""

    demand: str
    state: State
    figures: str


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not below `share` of all values; 0 if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def listed(counts: Mapping[str, int] | Sequence[str], number: int = 4) -> str:
    """Return the first entries as one line."""
    if isinstance(counts, Mapping):
        entries = [f"{times} x {text}" for text, times in sorted(counts.items(), key=lambda entry: -entry[1])]
    else:
        entries = list(counts)
    more = [f"and {len(entries) - number} more"] if len(entries) > number else []
    return "; ".join([*(" ".join(entry.split())[:LINE] for entry in entries[:number]), *more]) or "none"


def finished(measured: Measured) -> Verdict:
    """The run came to its end: the client answered every command in time."""
    return _verdict("the client goes on to the end", not measured.broken, measured.broken or "it did")


def answered(measured: Measured) -> Verdict:
    """Every honest chat ended as its plan says."""
    chats = len(measured.quiet) + len(measured.storm)
    failed = sum(measured.failures.values())
    text = f"{failed} of {chats} did not" + (f": {listed(measured.failures)}" if failed else "")
    return _verdict("honest chats end as they should", chats > 0 and not failed, text)


def latency(measured: Measured) -> Verdict:
    """The 99th percentile of honest chats is at most twice that of the quiet."""
    demand = f"honest chats take at most {RATIO:g} x as long"
    if not measured.quiet or not measured.storm:
        return Verdict(demand, "FAILED", "there are no chats to compare")
    ratio = percentile(measured.storm, 0.99) / percentile(measured.quiet, 0.99)
    text = f"p99 {ratio:.2f} x; quiet {_spread(measured.quiet)}; storm {_spread(measured.storm)}"
    if min(len(measured.quiet), len(measured.storm)) < LEAST_CHATS and ratio > RATIO:
        return Verdict(demand, "not judged", f"{text}; fewer than {LEAST_CHATS} chats")
    if measured.starved > STARVED and ratio > RATIO:
        busy = f"without a processor in {measured.starved:.0%} of the time in which it could have run"
        return Verdict(demand, "not judged", f"{text}; {busy}")
    return _verdict(demand, ratio <= RATIO, text)


def _spread(values: Sequence[float]) -> str:
    p50, p99 = (percentile(values, share) * 1000 for share in (0.5, 0.99))
    return f"p50 {p50:.0f} ms, p99 {p99:.0f} ms ({len(values)} chats)"


def memory(measured: Measured) -> Verdict:
    """The memory of the client does not go on growing, and has a bound at all times."""
    demand = "memory stays flat"
    if not measured.memory:
        return Verdict(demand, "FAILED", "it was not measured")
    begun, ended = measured.memory[0][0], measured.memory[-1][0]
    thirds: list[list[int]] = [[], [], []]
    for moment, size in measured.memory:
        place = int(3 * (moment - begun) / (ended - begun)) if ended > begun else 2
        thirds[min(place, 2)].append(size)
    peak = max(size for _, size in measured.memory)
    low = [percentile(third, 0.25) for third in thirds]
    text = f"MB in each third: {', '.join(f'{size / 2**20:.0f}' for size in low)}; peak {peak / 2**20:.0f}"
    if peak > PEAK:
        return Verdict(demand, "FAILED", f"{text}, above {PEAK / 2**20:.0f}")
    if measured.seconds < LEAST_SECONDS:
        return Verdict(demand, "not judged", f"{text}; a run of less than {LEAST_SECONDS:g} s only fills caches")
    growth = GROWTH if measured.seconds >= FILLED else GROWTH_AT_FIRST
    return _verdict(demand, low[1] > 0 and low[2] <= growth * low[1], text)


def breakers(measured: Measured) -> Verdict:
    """No breaker of an honest server opens."""
    text = listed(measured.opened) if measured.opened else "none opened"
    return _verdict("no breaker opens for the honest server", not measured.opened, text)


def apart(measured: Measured) -> Verdict:
    """Nothing of a tenant is in a chat, a callback or a record of another."""
    return _verdict("nothing crosses from tenant to tenant", not measured.crossed, listed(measured.crossed))


def closed(measured: Measured) -> Verdict:
    """No task and no process is left after `aclose()`, which takes a bounded time."""
    good = not measured.left and measured.closing <= CLOSING and not measured.broken
    text = f"closed in {measured.closing:.1f} s, left: {listed(measured.left)}"
    return _verdict("nothing is left after aclose()", good, text)


def logged(measured: Measured) -> Verdict:
    """The log has no traceback, no exception that nobody retrieved and no escape sequence of a peer."""
    return _verdict("no unexpected exception, and a clean log", not measured.log, listed(measured.log))


def quiet_terminal(measured: Measured) -> Verdict:
    """The standard error of the process has no escape sequence, no traceback and no flood."""
    text = measured.terminal
    found = [f"{text.count(mark)} x {what}" for mark, what in _MARKS.items() if mark in text]
    size = len(text.encode(errors="replace"))
    said = f"{size:,} bytes on standard error" + (f", with {', '.join(found)}" if found else "")
    return _verdict("peers write nothing to the terminal", not found and size <= TERMINAL, said)


_MARKS: Final = {
    "\x1b": "an escape sequence",
    "Traceback (most recent call last)": "a traceback",
    "was never retrieved": "an exception that was never retrieved",
    "was destroyed but it is pending": "a task that was destroyed",
    "was never awaited": "a coroutine that was never awaited",
}


def complete(measured: Measured) -> Verdict:
    """Every kind of hostile chat was begun: a storm that did not take place proves nothing."""
    kinds = [storm.name for storm in storms()]
    missing = [kind for kind in kinds if not measured.storms.get(kind)]
    text = f"{sum(measured.storms.values())} hostile chats of {len(kinds) - len(missing)} of {len(kinds)} kinds"
    demand = "the storm took place"
    if missing and len(missing) < len(kinds) and measured.seconds < LEAST_SECONDS:
        return Verdict(demand, "not judged", f"{text}; in less than {LEAST_SECONDS:g} s not every kind has its turn")
    return _verdict(demand, not missing, text + (f"; missing: {listed(missing)}" if missing else ""))


DEMANDS: Final = (
    finished,
    complete,
    answered,
    latency,
    memory,
    breakers,
    apart,
    closed,
    logged,
    quiet_terminal,
)


def judge(measured: Measured) -> list[Verdict]:
    """Return the verdict of every demand."""
    return [demand(measured) for demand in DEMANDS]


def _verdict(demand: str, good: bool, figures: str) -> Verdict:
    return Verdict(demand, "ok" if good else "FAILED", figures)
