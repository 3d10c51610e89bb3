"""Circuit breakers, one per server: the rules as pure functions, the store protocol, and the store in memory.

    closed ── threshold failures in a row ──▶ open ── reset_after seconds, then the next call ──▶ half_open
       ▲                                       ▲                                                    │
       └──────────────── the probe came through ──────── it failed, or was given back ──────────────┘

Everything that decides a transition is here; `redis_breakers` says the same in Lua. Each change of state begins a new
generation, and a call carries the generation that admitted it: what is heard of a call of an older one changes nothing.
So a late answer closes no breaker that opened meanwhile, and only the newest probe decides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]

Outcome: TypeAlias = Literal["ok", "failed", "unknown"]
"""What a call says of its server. `ok`: it was reached, also where the tool itself failed. `failed`: it was not, or
not in time. `unknown`: nothing, since the call was cancelled."""

MIN_RETRY_AFTER: Final = 0.001
"""Seconds; the least that a refusal says, since errors count milliseconds."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The call may go; its outcome is to be recorded with this, whatever happens."""

    probe: bool
    """It is the one call that decides whether the breaker closes."""
    token: str
    """The generation that admitted it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call must not go."""

    retry_after: float
    """Seconds, above 0, until a call may be admitted; while a probe is under way, those that remain of its lease."""


@runtime_checkable
class BreakerStore(Protocol):
    """The state of breakers, by server. Who cannot reach the store lets the call go, and records nothing.

    `server` is any text that means the same server to all who share the store. It may show up in keys: no credentials.
    """

    async def admit(self, server: str) -> Admitted | Refused:
        """Whether a call may go to `server` now.

        Raises:
            StoreError: the store cannot be used.
        """
        ...

    async def record(self, server: str, admitted: Admitted, outcome: Outcome) -> BreakerState:
        """Tell how an admitted call went; the state that follows.

        Raises:
            StoreError: the store cannot be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """When breakers open and close.

    Args:
        threshold: Failures in a row that open a breaker.
        reset_after: Seconds after which an open one lets a probe go.
        probe_timeout: Seconds of a probe's lease. A probe that was not heard of by then, since its process died, is
            given up for the next. It should be more than any call may take.

    Raises:
        ValueError: a number that is not above 0.
    """

    threshold: int
    reset_after: float
    probe_timeout: float

    def __post_init__(self) -> None:
        if not self.threshold >= 1:
            raise ValueError(f"threshold must be 1 or more failures, not {self.threshold!r}.")
        for option, seconds in (("reset_after", self.reset_after), ("probe_timeout", self.probe_timeout)):
            if not 0 < seconds < math.inf:
                raise ValueError(f"{option} must be a number of seconds above 0, not {seconds!r}.")


@dataclass(frozen=True, slots=True)
class Circuit:
    """The state of one breaker."""

    state: BreakerState = "closed"
    generation: int = 0
    failures: int = 0
    """In a row, while closed."""
    until: float = 0.0
    """While open and half open: the moment from which a call may probe."""


def admit(circuit: Circuit, rules: Rules, now: float) -> tuple[Circuit, Admitted | Refused]:
    """Whether a call may go at `now`, and the state that follows."""
    if circuit.state == "closed":
        return circuit, Admitted(probe=False, token=str(circuit.generation))
    if now < circuit.until:
        return circuit, Refused(max(circuit.until - now, MIN_RETRY_AFTER))
    probing = Circuit("half_open", circuit.generation + 1, until=now + rules.probe_timeout)
    return probing, Admitted(probe=True, token=str(probing.generation))


def record(circuit: Circuit, rules: Rules, token: str, outcome: Outcome, now: float) -> Circuit:
    """The state that follows the outcome of a call that was admitted with `token`."""
    if token != str(circuit.generation):
        return circuit
    probing, following = circuit.state == "half_open", circuit.generation + 1
    if outcome == "ok":
        return Circuit("closed", following if probing else circuit.generation)
    if outcome == "unknown":
        return Circuit("open", following, until=now) if probing else circuit
    if probing or circuit.failures + 1 >= rules.threshold:
        return Circuit("open", following, until=now + rules.reset_after)
    return replace(circuit, failures=circuit.failures + 1)


class MemoryBreakers:
    """Breakers in the memory of this process, for the tasks of one event loop. Arguments and errors as of `Rules`.

    `clock` gives seconds that only grow; for tests.
    """

    def __init__(
        self,
        threshold: int = 5,
        reset_after: float = 30.0,
        probe_timeout: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules = Rules(threshold, reset_after, probe_timeout)
        self._clock = clock
        self._circuits: dict[str, Circuit] = {}
        self.never_waits = type(self) is MemoryBreakers
        """Whether no call of this store awaits anything, so that callers need no time-out. A subclass may wait."""

    async def admit(self, server: str) -> Admitted | Refused:
        """See `BreakerStore`; never raises."""
        circuit = self._circuits.get(server, Circuit())
        self._circuits[server], answer = admit(circuit, self._rules, self._clock())
        return answer

    async def record(self, server: str, admitted: Admitted, outcome: Outcome) -> BreakerState:
        """See `BreakerStore`; never raises."""
        circuit = self._circuits.get(server, Circuit())
        circuit = self._circuits[server] = record(circuit, self._rules, admitted.token, outcome, self._clock())
        return circuit.state
