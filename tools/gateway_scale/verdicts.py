"""What is demanded of a gateway with many tenants, each demand as one pure function of what was measured."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tools.gateway_scale.clients import Notes
from tools.gateway_scale.records import Counted, Records
from tools.gateway_scale.served import RESERVED_OUTPUT
from tools.soak.verdicts import Verdict, listed, percentile

GROWTH: Final = 1.15
"""Maximum of the memory in the last third of the run, divided by that of the middle third (lower quartiles)."""

LEAST_CHATS: Final = 2_000
"""Chats below which memory still grows because caches fill."""

_EXPECTED: Final = (re.compile(r"run run_[0-9a-f]{32} failed: The quota of the tenant '\w+' is used up"),)
"""What the log may say at the level of warnings."""


@dataclass
class Measured:
    """What a run has measured."""

    workers: int = 1
    chats: int = 0
    """Chats that were planned."""
    names: Sequence[str] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    """Tokens that a tenant with a quota may use."""
    notes: Notes = field(default_factory=Notes)
    records: Records = field(default_factory=Records)
    answered: Mapping[str, int] = field(default_factory=dict)
    """Tokens by tenant of the answers that the model gave whole."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """Answers by tenant that the model could not finish."""
    crossed: Sequence[str] = ()
    """Words of other tenants that the model was sent."""
    memory: Sequence[tuple[float, int]] = ()
    """Seconds, and resident bytes of all processes of the gateway together."""
    log: str = ""
    """The standard error of the command."""
    ended: str = ""
    """What was not clean about the end."""
    broken: str = ""
    """Why the run could not be finished."""


def finished(measured: Measured) -> Verdict:
    """All chats of the plan took place."""
    seen = len(measured.notes.chats)
    good = not measured.broken and seen > 0
    return _verdict("the run goes on to its end", good, measured.broken or f"{seen} chats of {measured.chats} planned")


def apart(measured: Measured) -> Verdict:
    """Each answer has the words of its tenant, all of them, and no others; so has what the model was sent."""
    wrong = [*measured.notes.wrong, *measured.crossed]
    return _verdict("nothing crosses from tenant to tenant", not wrong, listed(wrong) if wrong else "nothing did")


def hidden(measured: Measured) -> Verdict:
    """Runs, conversations and sessions of other tenants are 404."""
    tried, seen = measured.notes.trespasses, measured.notes.trespassed
    return _verdict("what others have is 404", tried > 0 and not seen, f"{tried} tries; shown: {listed(seen)}")


def statuses(measured: Measured) -> Verdict:
    """Each chat was answered, was left by its client, or was refused by the quota of a tenant that has one."""
    strange = Counter(
        f"{chat.kind} {chat.status} {chat.told}"
        for chat in measured.notes.chats
        if chat.ending == "other" or (chat.ending == "quota" and chat.tenant not in measured.limits)
    )
    by_ending = Counter(chat.ending for chat in measured.notes.chats)
    text = ", ".join(f"{number} {ending}" for ending, number in sorted(by_ending.items()))
    text += f"; {measured.notes.busy} were told to come back later"
    return _verdict("no unexpected answer", not strange, f"{text}; unexpected: {listed(strange)}")


def repeated(measured: Measured) -> Verdict:
    """A request that comes again with its `Idempotency-Key` gets the run of the first."""
    tried, other = measured.notes.replays, measured.notes.repeated
    text = f"{tried} came again; others: {listed(other)}"
    return _verdict("a retry gets the run of the first request", tried > 0 and not other, text)


def recorded(measured: Measured) -> Verdict:
    """The audit has each chat once, with its tenant and an end, and no other; nothing was lost."""
    seen = {chat.run: chat for chat in measured.notes.chats if chat.run}
    found = measured.records.runs
    nameless = sum(chat.ending != "other" and not chat.run for chat in measured.notes.chats)
    faults = Counter(
        {
            "chats without the id of a run": nameless,
            "chats that are not recorded": len(seen.keys() - found.keys()),
            "records of no chat": len(found.keys() - seen.keys()),
            "records of another tenant": sum(
                run in found and found[run].tenant != chat.tenant for run, chat in seen.items()
            ),
            "records with another end": sum(
                run in found and found[run].status not in _STATUS[chat.ending] for run, chat in seen.items()
            ),
            "records that were given up": measured.records.lost,
        }
    )
    wrong = +faults
    by_status = Counter(row.status for row in found.values())
    text = ", ".join(f"{number} {status}" for status, number in sorted(by_status.items()))
    return _verdict("the audit has each chat once", bool(found) and not wrong, f"{text}; wrong: {listed(wrong)}")


_STATUS: Final[Mapping[str, frozenset[str]]] = {
    "answered": frozenset({"finished"}),
    "quota": frozenset({"error"}),
    "left": frozenset({"cancelled"}),
    "other": frozenset({"finished", "error", "cancelled", "interrupted"}),
}


def counted(measured: Measured) -> Verdict:
    """The audit and the ledger have what the model counted for each tenant.

    An answer that was cut off is an estimate in the audit, also where the model had not begun it. Tenants with a quota
    leave no chat, so that their ledger is exact.
    """
    wrong = []
    left = Counter(chat.tenant for chat in measured.notes.chats if chat.ending == "left")
    for name in measured.names:
        told, cut = measured.answered.get(name, 0), measured.cut.get(name, 0)
        audit = measured.records.usage.get(name, Counted())
        if audit.reported != told or not cut <= audit.estimates <= left[name]:
            wrong.append(
                f"{name}: the audit has {audit.reported} tokens, not {told}; {audit.estimates} cut off, not {cut}"
            )
        if name in measured.limits:
            if (ledger := measured.records.ledger.get(name, 0)) != told:
                wrong.append(f"{name}: the ledger has {ledger} tokens, not {told}")
            if open_ := measured.records.open.get(name):
                wrong.append(f"{name}: {open_} reservations are not settled")
    total = sum(measured.answered.values())
    text = f"{total} tokens, and {sum(measured.cut.values())} answers cut off; wrong: {listed(wrong)}"
    return _verdict("usage is what the model counted", total > 0 and not wrong, text)


def kept_within(measured: Measured) -> Verdict:
    """Each tenant with a quota reaches it, and exceeds it by what one call of each process reserves at most."""
    allowed = RESERVED_OUTPUT * measured.workers
    over = {name: measured.answered.get(name, 0) - limit for name, limit in measured.limits.items()}
    refused = {chat.tenant for chat in measured.notes.chats if chat.ending == "quota"}
    wrong = [f"{name} exceeds it by {more} tokens" for name, more in over.items() if more > allowed]
    wrong += [f"{name} was never refused" for name in over.keys() - refused]
    most = max(over.values(), default=0)
    text = f"{len(over)} tenants with one, at most {most} tokens above it ({allowed} allowed); wrong: {listed(wrong)}"
    return _verdict("quotas hold", bool(over) and not wrong, text)


def memory(measured: Measured) -> Verdict:
    """The memory of all processes does not go on growing."""
    demand = "memory stays flat"
    if len(measured.memory) < 3:
        return Verdict(demand, "FAILED", "it was not measured")
    begun, ended = measured.memory[0][0], measured.memory[-1][0]
    thirds: list[list[int]] = [[], [], []]
    for moment, size in measured.memory:
        thirds[min(2, int(3 * (moment - begun) / ((ended - begun) or 1)))].append(size)
    low = [percentile(third, 0.25) for third in thirds]
    text = f"MB in each third: {', '.join(f'{size / 2**20:.0f}' for size in low)}"
    if len(measured.notes.chats) < LEAST_CHATS:
        return Verdict(demand, "not judged", f"{text}; fewer than {LEAST_CHATS} chats only fill caches")
    return _verdict(demand, low[1] > 0 and low[2] <= GROWTH * low[1], text)


def quiet(measured: Measured) -> Verdict:
    """The log has no warning that is not expected, and nothing that is not a line of the log."""
    strange: Counter[str] = Counter()
    for line in filter(None, measured.log.splitlines()):
        try:
            told = json.loads(line)
        except ValueError:
            strange[line] += 1
            continue
        if told["level"] not in ("debug", "info") and not any(one.match(told["message"]) for one in _EXPECTED):
            strange[f"{told['level']} {told['message']} {str(told.get('exception', ''))[-200:]}"] += 1
    lines = measured.log.count("\n")
    return _verdict("the log has nothing unexpected", not strange, f"{lines} lines; unexpected: {listed(strange)}")


def stopped(measured: Measured) -> Verdict:
    """At SIGTERM all processes end, and the exit code is 0."""
    return _verdict("the end is clean", not measured.ended, measured.ended or "exit code 0, no process left")


DEMANDS: Final = (
    finished,
    apart,
    hidden,
    statuses,
    repeated,
    recorded,
    counted,
    kept_within,
    memory,
    quiet,
    stopped,
)


def judge(measured: Measured) -> list[Verdict]:
    """Return the verdict of every demand."""
    return [demand(measured) for demand in DEMANDS]


def _verdict(demand: str, good: bool, figures: str) -> Verdict:
    return Verdict(demand, "ok" if good else "FAILED", figures)
