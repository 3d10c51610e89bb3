"""Circuit breakers in Redis, shared by all processes that use one prefix of one Redis.

The rules of `breakers` in Lua: Redis runs a script atomically, so exactly one of all processes gets the probe. The
time is that of Redis, the same for all processes.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from xmcp.storage.breakers import MIN_RETRY_AFTER, Admitted, BreakerState, Outcome, Refused, Rules
from xmcp.storage.errors import StoreError
from xmcp.storage.redis_connection import RedisConnection

if TYPE_CHECKING:
    from redis.asyncio import Redis

_FORGOTTEN_AFTER: Final = 86_400
"""Seconds after which Redis drops a state that has no effect any more; the breaker is then closed."""

# Redis stores numbers with 17 digits, which keeps a double exactly; in an answer it would drop the fraction.
_BEGIN: Final = """
local now, seed, keep_for = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local stored = redis.call('HMGET', KEYS[1], 'state', 'generation', 'failures', 'until', 'losses')
local state, generation = stored[1] or 'closed', stored[2] or seed
local failures, until_, losses = tonumber(stored[3] or 0), tonumber(stored[4] or 0), tonumber(stored[5] or 0)
local following = string.format('%.0f', generation + 1)
local function keep(state, generation, failures, until_, losses)
  redis.call(
    'HSET', KEYS[1], 'state', state, 'generation', generation, 'failures', failures, 'until', until_, 'losses', losses)
  redis.call('EXPIRE', KEYS[1], keep_for)
  return state
end
"""

_ADMIT: Final = f"""{_BEGIN}
local probe_timeout = tonumber(ARGV[4])
if state == 'closed' then
  keep(state, generation, failures, until_, losses)
  return {{'admitted', string.format('%s.%.0f', generation, losses)}}
end
if now < until_ then
  return {{'refused', string.format('%.17g', until_ - now)}}
end
keep('half_open', following, 0, now + probe_timeout, 0)
return {{'probe', following .. '.0'}}
"""

_RECORD: Final = f"""{_BEGIN}
local threshold, reset_after, token, outcome = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]
local admitted_in, losses_then = string.match(token, '^(%d+)%.(%d+)$')
if admitted_in ~= generation then
  return state
end
local probing, lost = state == 'half_open', outcome == 'lost'
if outcome == 'ok' then
  if probing then
    return keep('closed', following, 0, 0, 0)
  end
  return keep('closed', generation, 0, 0, losses)
end
if outcome == 'unknown' then
  return probing and keep('open', following, 0, now, 0) or state
end
if lost and tonumber(losses_then) ~= losses then
  return state
end
if probing or failures + 1 >= threshold then
  return keep('open', following, 0, now + reset_after, 0)
end
return keep(state, generation, failures + 1, until_, losses + (lost and 1 or 0))
"""


class RedisBreakers:
    """Breakers in Redis 5 or newer; all processes that share a prefix should use the same numbers.

    Args:
        url: See `RedisConnection`; it connects at the first use.
        threshold: As in `breakers.Rules`, like the next two.
        reset_after: Seconds.
        probe_timeout: Seconds.
        prefix: The start of all keys; the rest is the server.
        client: Your own `redis.asyncio.Redis` instead of `url`. You have to close it.
        timeout: Maximum seconds of an operation, connecting included.
        clock: Returns seconds that never decrease, instead of the time of Redis; for tests.

    Raises:
        ModuleNotFoundError: redis-py is not installed: `pip install "xmcp[redis]"`.
        TypeError, ValueError: An argument is not valid.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379",
        *,
        threshold: int = 5,
        reset_after: float = 30.0,
        probe_timeout: float = 60.0,
        prefix: str = "xmcp:breaker:",
        client: Redis | None = None,
        timeout: float = 1.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._rules = Rules(threshold, reset_after, probe_timeout)
        self._prefix = prefix
        self._clock = clock
        self._keep_for = math.ceil(max(reset_after, probe_timeout)) + _FORGOTTEN_AFTER
        self._redis = RedisConnection(url, client, timeout, StoreError)
        self._admit = self._redis.client.register_script(_ADMIT)
        self._record = self._redis.client.register_script(_RECORD)

    async def admit(self, server: str) -> Admitted | Refused:
        """See `BreakerStore`.

        Raises:
            StoreError: Redis failed or took too long. If it had admitted a probe nevertheless, the lease ends it.
        """
        kind, value = await self._run(self._admit, server, self._rules.probe_timeout)
        if _text(kind) == "refused":
            return Refused(max(float(value), MIN_RETRY_AFTER))
        return Admitted(probe=_text(kind) == "probe", token=_text(value))

    async def record(self, server: str, admitted: Admitted, outcome: Outcome) -> BreakerState:
        """See `BreakerStore`.

        Raises:
            StoreError: Redis failed or took too long.
        """
        rules = self._rules
        state = await self._run(self._record, server, rules.threshold, rules.reset_after, admitted.token, outcome)
        return _STATES[_text(state)]

    async def aclose(self) -> None:
        """Close the connections. Never raises."""
        await self._redis.aclose()

    async def _run(self, script: Any, server: str, *arguments: str | float) -> Any:
        now = "" if self._clock is None else repr(self._clock())
        # If Redis has dropped the state, the generations start again at a random number, which no older call has.
        seed = str(secrets.randbits(48))
        async with self._redis.bounded():
            return await script(keys=[self._prefix + server], args=[now, seed, self._keep_for, *arguments])


_STATES: Final[dict[str, BreakerState]] = {"closed": "closed", "open": "open", "half_open": "half_open"}


def _text(value: bytes | str) -> str:
    # A client given by the caller may decode by itself.
    return value.decode() if isinstance(value, bytes) else value
