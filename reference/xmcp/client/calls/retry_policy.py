"""Which failed calls are made again, and when (spec sections 4.5 and 11.4): pure decisions, and the loop over them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from xmcp.chat.errors import CallFailed
from xmcp.client.calls import server_results
from xmcp.client.calls.active_call import ActiveCall, Next, Retrying, Stage
from xmcp.client.calls.server_results import Reading
from xmcp.client.tools.catalogue import Entry
from xmcp.wire import ErrorInfo

LONGEST_WAIT: Final = 120.0
"""Seconds (XMCP-CLI-040). If a server asks for a longer wait, the model gets its error instead of another attempt."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a call is made again, and after what time. Times are seconds.

    `max_attempts` includes the first one. The wait is drawn evenly from 0 to `backoff_base * 2 ** (failures - 1)`, at
    most `backoff_max`; a longer `retry_after_ms` of the server takes its place. `max_elapsed` bounds a call with all
    its attempts and waits: an attempt that could not begin within it is not made.
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
        """Return the policy that the application gave; `None` means the default one.

        Raises:
            TypeError, ValueError: an unknown member, or a value that cannot work.
        """
        if given is None or isinstance(given, RetryPolicy):
            return given or cls()
        known = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping) or set(given) - set(known):
            raise TypeError(f"retry_policy takes a RetryPolicy or a mapping with {', '.join(known)}, not {given!r}.")
        return cls(**given)


def stage(policy: RetryPolicy, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> Stage:
    """Return the stage that makes attempts until one has answered for good."""

    async def retry(call: ActiveCall, proceed: Next) -> Reading:
        now = asyncio.get_running_loop().time
        begun, failures, doubtful = now(), 0, False
        while True:
            last = None
            try:
                reading = await proceed(call)
            except CallFailed as exc:
                reading = server_results.failed(call.name, exc.error)
                last = _in_doubt(exc.error) if doubtful else None
            error = reading.response.error
            if error is None or not allowed(error, call.entry):
                return server_results.failed(call.name, last) if last else reading
            doubtful |= (error.meta or {}).get("side_effects") != "none"
            failures += 1
            pause, until = wait(policy, failures, error), call.deadline()
            if ends(policy, failures, pause, now() - begun, None if until is None else until - now()):
                return server_results.failed(call.name, last) if last else reading
            call.log.warning("tool_retry", tool_name=call.name, attempt=failures, code=error.code)
            if call.state.attempts:  # the attempt that failed can have been that of an equal call (section 11.11)
                call.emit(Retrying(call.request.call, call.state.attempts, round(pause * 1000), error))
            await sleep(pause)

    return retry


def _in_doubt(error: ErrorInfo) -> ErrorInfo:
    """Return the error of a call of which an earlier attempt may have changed something (spec section 11.4)."""
    meta = error.meta or {}
    return replace(error, meta={**meta, "side_effects": "unknown"}) if meta.get("side_effects") == "none" else error


def allowed(error: ErrorInfo, entry: Entry) -> bool:
    """Return whether this error allows the client to repeat the call automatically (XMCP-ERR-040)."""
    if not error.retryable or error.code == "CIRCUIT_OPEN":
        # A call that the open breaker refuses fails immediately: waiting for the probe would defeat the breaker.
        return False
    return entry.read_only or entry.idempotent or (error.meta or {}).get("side_effects") == "none"


def wait(policy: RetryPolicy, failures: int, error: ErrorInfo, *, draw: Any = random.uniform) -> float:
    """Return the seconds until the next attempt: full jitter, never less than the server asks for (XMCP-ERR-041)."""
    ceiling = min(policy.backoff_base * 2 ** min(failures - 1, 30), policy.backoff_max)
    return float(max(draw(0.0, ceiling), (error.retry_after_ms or 0) / 1000))


def ends(policy: RetryPolicy, failures: int, pause: float, elapsed: float, left: float | None) -> bool:
    """Return whether the attempt that just failed was the last one.

    `pause` is the wait before the next one, `elapsed` the time that the call has taken, `left` the time that the chat
    has left (`None`: no limit).
    """
    return (
        failures >= policy.max_attempts
        or pause > LONGEST_WAIT
        or elapsed + pause > policy.max_elapsed
        or (left is not None and pause >= left)
    )
