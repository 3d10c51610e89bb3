"""Circuit breakers, one per server: the rules as pure functions, the store protocol, and the store in memory.

    closed ── threshold failures in a row ──▶ open ── reset_after seconds, then the next call ──▶ half_open
       ▲                                       ▲                                                    │
       └──────────────── probe succeeded ──────────── probe failed, or was given back ──────────────┘

All transitions are decided here; `redis_breakers` has the same rules in Lua. Each change of state begins a new
generation, and a call carries the generation that admitted it: the outcome of a call of an older generation is
ignored. So a late answer cannot close a breaker that opened meanwhile, and only the newest probe decides.

A server that restarts loses all its connections at once. So a loss is counted only for a call that was admitted after
the loss counted before it: all calls that were under way count as one failure, in all processes of a shared store.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, Protocol, TypeAlias, runtime_checkable

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]
"""The state of a breaker, as `record` returns it."""

Outcome: TypeAlias = Literal["ok", "failed", "lost", "unknown"]
"""The outcome of a call, for its server.

`ok`: the server answered, even if the tool failed or the answer cannot be read. `failed`: it did not answer in time.
`lost`: the connection was lost, or could not be opened. `unknown`: the client ended the call, by cancelling or closing,
or could not make it.
"""

MIN_RETRY_AFTER: Final = 0.001
"""Seconds; the minimum of `retry_after`, because errors count whole milliseconds."""


MAX_CIRCUITS: Final = 10_000
"""Maximum number of servers whose failures `MemoryBreakers` remembers."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The call is allowed; its outcome must be recorded with this object in every case."""

    probe: bool
    """Whether this is the call that decides if the breaker closes."""
    token: str
    """When the call was admitted, for the store that admitted it: the generation, and the losses counted until then."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call is not allowed."""

    retry_after: float
    """Seconds, above 0, until a call may be admitted; during a probe, the seconds that remain of its lease."""


@runtime_checkable
class BreakerStore(Protocol):
    """The state of breakers, by server. A client that cannot reach the store allows the call and records nothing.

    `server` is any text that identifies the server for all users of the store. It may appear in keys, so it must not
    contain credentials.

    A class may declare `never_waits: ClassVar[bool] = True`, which is not required: neither of its methods ever awaits
    anything, so that the client calls them without a time-out. It counts for exactly that class, not for subclasses.
    """

    async def admit(self, server: str) -> Admitted | Refused:
        """Decide whether a call to `server` is allowed now.

        Raises:
            StoreError: The store cannot be used.
        """
        ...

    async def record(self, server: str, admitted: Admitted, outcome: Outcome) -> BreakerState:
        """Record the outcome of an admitted call, and return the new state.

        Raises:
            StoreError: The store cannot be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """When breakers open and close.

    Args:
        threshold: Number of consecutive failures that open a breaker.
        reset_after: Seconds after which an open breaker admits a probe.
        probe_timeout: Seconds of a probe's lease. If no outcome is recorded by then, because its process died, the
            next call is the probe. It should be longer than any call may take.

    Raises:
        ValueError: A number is not above 0.
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
    """Consecutive failures while closed."""
    until: float = 0.0
    """While open or half open: the time from which a call is admitted as a probe."""
    losses: int = 0
    """Lost connections counted in this generation. An answer sets back `failures`, but not this number."""

    @property
    def token(self) -> str:
        """See `Admitted.token`."""
        return f"{self.generation}.{self.losses}"


def admit(circuit: Circuit, rules: Rules, now: float) -> tuple[Circuit, Admitted | Refused]:
    """Return the new state, and whether a call is allowed at `now`."""
    if circuit.state == "closed":
        return circuit, Admitted(probe=False, token=circuit.token)
    if now < circuit.until:
        return circuit, Refused(max(circuit.until - now, MIN_RETRY_AFTER))
    probing = Circuit("half_open", circuit.generation + 1, until=now + rules.probe_timeout)
    return probing, Admitted(probe=True, token=probing.token)


def record(circuit: Circuit, rules: Rules, token: str, outcome: Outcome, now: float) -> Circuit:
    """Return the new state after the outcome of a call that was admitted with `token`."""
    generation, _, losses = token.partition(".")
    if generation != str(circuit.generation):
        return circuit
    probing, following = circuit.state == "half_open", circuit.generation + 1
    if outcome == "ok":
        return Circuit("closed", following) if probing else replace(circuit, failures=0)
    if outcome == "unknown":
        return Circuit("open", following, until=now) if probing else circuit
    if outcome == "lost" and losses != str(circuit.losses):
        return circuit
    if probing or circuit.failures + 1 >= rules.threshold:
        return Circuit("open", following, until=now + rules.reset_after)
    return replace(circuit, failures=circuit.failures + 1, losses=circuit.losses + (outcome == "lost"))


class MemoryBreakers:
    """Breakers in the memory of this process, for the tasks of one event loop. Arguments and errors as in `Rules`.

    `clock` returns seconds that never decrease; for tests.
    """

    never_waits: ClassVar[bool] = True
    """See `BreakerStore`. A subclass does not inherit it."""

    def __init__(
        self,
        threshold: int = 5,
        reset_after: float = 30.0,
        probe_timeout: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules = Rules(threshold, reset_after, probe_timeout)
        self._clock = clock
        self._circuits: OrderedDict[str, Circuit] = OrderedDict()
        """The one used last is the last."""

    async def admit(self, server: str) -> Admitted | Refused:
        """See `BreakerStore`; never raises."""
        circuit, answer = admit(self._circuits.get(server, Circuit()), self._rules, self._clock())
        self._keep(server, circuit)
        return answer

    async def record(self, server: str, admitted: Admitted, outcome: Outcome) -> BreakerState:
        """See `BreakerStore`; never raises."""
        known = self._circuits.get(server, Circuit())
        circuit = record(known, self._rules, admitted.token, outcome, self._clock())
        self._keep(server, circuit)
        return circuit.state

    def state_of(self, server: str) -> BreakerState:
        """Return the state of a breaker, without a change: an open one admits a probe only when a call asks for it."""
        return self._circuits.get(server, Circuit()).state

    def _keep(self, server: str, circuit: Circuit) -> None:
        """Keep nothing of a server without failures, and no more than `MAX_CIRCUITS` of the others.

        With credentials that are renewed there are ever new ones, and the old ones are never asked for again.
        """
        if circuit == Circuit():
            self._circuits.pop(server, None)
            return
        self._circuits[server] = circuit
        self._circuits.move_to_end(server)
        if len(self._circuits) > MAX_CIRCUITS:
            self._circuits.popitem(last=False)
