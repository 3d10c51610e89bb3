"""What the chats of the soak are about: tenants, canaries, the plan that a prompt carries, and the hostile chats.

Pure functions and data. The prompt carries the plan, so the scripted model keeps no state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

TENANTS = tuple(f"t{n:02}" for n in range(20))
HONEST, HOSTILE = TENANTS[:15], TENANTS[15:]
"""The tenants whose chats are measured, and those whose models and servers misbehave."""

# ---- canaries ----

_CANARY = re.compile(r"\b(t\d\d)-canary-\d{6}\b")
_TICKET = re.compile(r"\bticket-\d{6}\b")


def canary(tenant: str, number: int) -> str:
    """Return a text that belongs to one tenant, and that nothing of another tenant may contain."""
    return f"{tenant}-canary-{number:06}"


def foreign(text: str, tenant: str) -> list[str]:
    """Return the canaries in `text` that belong to other tenants."""
    return sorted({found[0] for found in _CANARY.finditer(text) if found[1] != tenant})


def ticket(number: int) -> str:
    """Return a text that is of the tenant who got it first: the answer of a cacheable tool to equal calls of all."""
    return f"ticket-{number:06}"


def tickets(text: str) -> list[str]:
    """Return the tickets in `text`."""
    return _TICKET.findall(text)


def owners(text: str) -> list[str]:
    """Return the tenants whose canaries are in `text`."""
    return sorted({found[1] for found in _CANARY.finditer(text)})


# ---- plans ----


class Call(NamedTuple):
    """A call that the model asks for, `times` times."""

    name: str
    arguments: dict[str, Any]
    times: int = 1


class Plan(NamedTuple):
    """What the model does in a chat: it asks for the calls of each turn, and ends as `end` says.

    `canary` comes back in the last answer; it is empty in a hostile chat. `end` is a key of `scripted_model.ENDS`.
    """

    turns: list[list[Call]]
    canary: str = ""
    end: str = "answers"

    @property
    def prompt(self) -> str:
        """Return the user message that makes the model follow this plan."""
        return f"#soak {json.dumps(self)}"

    @property
    def answer(self) -> str:
        """Return the correct last answer."""
        return " ".join([*(f"word{n}" for n in range(10)), self.canary]).strip()


def plan_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Plan, Sequence[Mapping[str, Any]]]:
    """Return the plan in the last user message, and the messages after it."""
    place = max(n for n, message in enumerate(messages) if message["role"] == "user")
    turns, *rest = json.loads(messages[place]["content"].removeprefix("#soak "))
    return Plan([[Call(*call) for call in turn] for turn in turns], *rest), messages[place + 1 :]


def fault(plan: Plan, after: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what is wrong with the messages after an honest prompt, or None if nothing is."""
    results = [message for message in after if message["role"] == "tool"]
    asked = [message for message in after if message["role"] == "assistant"]
    expected = sum(call.times for turn in plan.turns[: len(asked)] for call in turn)
    if len(results) != expected:
        return f"{len(results)} results of {expected} calls came back"
    tenant = plan.canary.partition("-")[0]
    for result in results:
        if tenant not in owners(result["content"]) and not tickets(result["content"]):
            return f"a result is not what the tool returned: {result['content'][:200]}"
    return None


# ---- honest chats ----

HONEST_TOOLS = ("honest__look", "honest__draw", "honest__table", "vault__whose")
"""The tools of the honest server. As `vault` it gets the credential of the tenant."""


def honest_plan(own: str, chance: Random) -> Plan:
    """Return the plan of an honest chat about a canary: one or two turns of calls, then an answer."""
    look = Call("honest__look", {"text": own})
    first = [look, chance.choice([look, Call("honest__draw", {}), Call("vault__whose", {})])]
    show = [Call("honest__table", {"text": own, "show_user": True})]
    return Plan([first, show] if chance.random() < 0.5 else [first], own)


def arrivals(tenants: Sequence[str], seconds: float, period: float, chance: Random) -> list[tuple[float, str]]:
    """Return when chats begin, in seconds from now, and whose they are: each tenant has one in each period.

    They begin whether or not earlier ones have ended, so a client that stands still is measured by everyone who waits.
    """
    found = []
    for tenant in tenants:
        moment = chance.uniform(0, period)
        while moment < seconds:
            found.append((moment, tenant))
            moment += period * chance.uniform(0.8, 1.2)
    return sorted(found)


# ---- hostile chats ----


class Storm(NamedTuple):
    """A hostile chat. `leaves` is the time in seconds after which the application ends it."""

    name: str
    plan: Plan
    leaves: float = 4.0


HTTP_FAULTS = (
    "wrong_id",
    "no_json",
    "wrong_types",
    "bad_document",
    "bad_display",
    "half_a_body",
    "endless_body",
    "bomb",
    "huge",
    "deep",
    "drip",
    "silence",
    "flood",
    "page",
)
"""The tools of the hostile HTTP servers; `http_peers` says what each does."""

STDIO_FAULTS = ("wrong_id", "no_json", "bad_display", "huge", "silence", "stderr", "die")
FLOODS = ("endless_line", "flood", "pings")
"""The tools of the hostile stdio servers; `stdio_peer` says what each does. Floods have a server of their own, because
its breaker is open most of the time."""

MODEL_FAULTS = (
    "breaks_off",
    "never_ends",
    "silent",
    "drips",
    "wrong_types",
    "no_json",
    "one_big_event",
    "overloaded",
    "unauthorised",
    "closes",
)
"""The hostile ways in which the model ends a chat; `scripted_model` says what each does."""


def storms() -> list[Storm]:
    """Return every kind of hostile chat."""
    found = []
    for server, tools in {"liar": HTTP_FAULTS, "elder": HTTP_FAULTS, "pipe": STDIO_FAULTS, "hose": FLOODS}.items():
        for tool in tools:
            calls = [Call(f"{server}__{tool}", {}, 3), Call(f"{server}__quick", {})]
            found.append(Storm(f"{server}: {tool}", Plan([calls])))
    found += [Storm(f"model: {end}", Plan([], end=end)) for end in MODEL_FAULTS]
    bulk = "x" * 10_000
    return [
        *found,
        Storm("mortal: die with six calls in flight", Plan([[Call("mortal__slow", {}, 6), Call("mortal__die", {})]])),
        Storm("shifty: calls tools that come and go", Plan([[Call(f"shifty__tool_{n}", {}) for n in range(12)]])),
        Storm("model: storms", Plan([[Call("liar__quick", {"text": bulk}, 300)]])),
        Storm("model: storms with unknown tools", Plan([[Call(f"liar__quikc_{n}", {}) for n in range(300)]])),
        Storm("model: storms with equal ids", Plan([[Call("liar__quick", {}, 300)]], end="equal_ids")),
        Storm("application: leaves an endless stream", Plan([], end="never_ends"), leaves=0.4),
        Storm("application: leaves calls in flight", Plan([[Call("liar__silence", {}, 6)]]), leaves=0.4),
        Storm("application: leaves calls of a program", Plan([[Call("pipe__silence", {}, 6)]]), leaves=0.4),
    ]


class Deck:
    """Deals every hostile chat once, in random order, then all of them again."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._left: list[Storm] = []

    def deal(self) -> Storm:
        """Return the next hostile chat."""
        if not self._left:
            self._left = storms()
            self._chance.shuffle(self._left)
        return self._left.pop()
