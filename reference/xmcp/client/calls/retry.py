"""Which failed calls are made again, and when (semantics 12, spec sections 4.5 and 11.4). The engine is tenacity's."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from xmcp.client.tools.catalogue import Entry
from xmcp.wire import ErrorInfo

LONGEST_WAIT: Final = 120.0
"""Seconds (XMCP-CLI-040). A server that asks for more is not called again by the client; the model is told."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently. Times are seconds.

    `max_attempts` counts the first one. The wait is drawn evenly from 0 to `backoff_base * 2 ** (failures - 1)`, which
    grows to `backoff_max` at most; a longer `retry_after_ms` of the server counts instead. `max_elapsed` bounds a call
    with all its attempts and waits: an attempt that could not begin within it is not made.
    """

    max_attempts: int = 3
    backoff_base: float = 0.5
    backoff_max: float = 30.0
    max_elapsed: float = 120.0

    def __post_init__(self) -> None:
        for name in ("max_attempts", "backoff_max", "max_elapsed"):
            if not getattr(self, name) > 0:
                raise ValueError(f"retry_policy: {name} must be above 0, not {getattr(self, name)!r}.")
        if self.backoff_base < 0:
            raise ValueError(f"retry_policy: backoff_base must not be negative, and is {self.backoff_base!r}.")

    @classmethod
    def of(cls, given: RetryPolicy | Mapping[str, Any] | None) -> RetryPolicy:
        """A policy as the application wrote it; `None` is the default one.

        Raises:
            TypeError, ValueError: a member that there is not, or a value that cannot work.
        """
        if given is None or isinstance(given, RetryPolicy):
            return given or cls()
        known = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping) or set(given) - set(known):
            raise TypeError(f"retry_policy takes a RetryPolicy or a mapping with {', '.join(known)}, not {given!r}.")
        return cls(**given)


def allowed(error: ErrorInfo, entry: Entry) -> bool:
    """Whether this error lets the client make the call again by itself (XMCP-ERR-040)."""
    if not error.retryable or error.code == "CIRCUIT_OPEN":
        # A call that the breaker holds back fails at once (semantics 13); waiting for the probe is no retry.
        return False
    return entry.read_only or entry.idempotent or (error.meta or {}).get("side_effects") == "none"


def wait(policy: RetryPolicy, failures: int, error: ErrorInfo, *, draw: Any = random.uniform) -> float:
    """Seconds until the next attempt: full jitter, and never less than the server asks for (XMCP-ERR-041)."""
    ceiling = min(policy.backoff_base * 2 ** min(failures - 1, 30), policy.backoff_max)
    return float(max(draw(0.0, ceiling), (error.retry_after_ms or 0) / 1000))


def ends(policy: RetryPolicy, failures: int, pause: float, elapsed: float, left: float | None) -> bool:
    """Whether the attempt that just failed was the last one.

    `pause` is the wait for the next, `elapsed` what the call has taken, `left` what the chat has (`None`: no end).
    """
    return (
        failures >= policy.max_attempts
        or pause > LONGEST_WAIT
        or elapsed + pause > policy.max_elapsed
        or (left is not None and pause >= left)
    )
