"""Circuit breakers in Redis, shared by all processes that use one prefix of one Redis.

The rules are those of `breakers`, said in Lua: Redis runs a script as one step, so that of all processes exactly one
gets the probe. The time is Redis' own, one for all.
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
"""Seconds that the state outlives what it may still decide; then Redis drops it, and the breaker is closed."""

# Redis writes the numbers it stores with 17 digits, which no double loses; in an answer it would cut the fraction off.
_BEGIN: Final = """
local now, seed, keep_for = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local stored = redis.call('HMGET', KEYS[1], 'state', 'generation', 'failures', 'until')
local state, generation = stored[1] or 'closed', stored[2] or seed
local failures, until_ = tonumber(stored[3] or 0), tonumber(stored[4] or 0)
local following = string.format('%.0f', generation + 1)
local function keep(state, generation, failures, until_)
  redis.call('HSET', KEYS[1], 'state', state, 'generation', generation, 'failures', failures, 'until', until_)
  redis.call('EXPIRE', KEYS[1], keep_for)
  return state
end
"""

_ADMIT: Final = f"""{_BEGIN}
local probe_timeout = tonumber(ARGV[4])
if state == 'closed' then
  keep(state, generation, failures, until_)
  return {{'admitted', generation}}
end
if now < until_ then
  return {{'refused', string.format('%.17g', until_ - now)}}
end
keep('half_open', following, 0, now + probe_timeout)
return {{'probe', following}}
"""

_RECORD: Final = f"""{_BEGIN}
local threshold, reset_after, token, outcome = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]
if token ~= generation then
  return state
end
local probing = state == 'half_open'
if outcome == 'ok' then
  return keep('closed', probing and following or generation, 0, 0)
end
if outcome == 'unknown' then
  return probing and keep('open', following, 0, now) or state
end
if probing or failures + 1 >= threshold then
  return keep('open', following, 0, now + reset_after)
end
return keep(state, generation, failures + 1, until_)
"""


class RedisBreakers:
    """Breakers in Redis 5 or newer; all who share one prefix should have the same numbers.

    Args:
        url: See `RedisConnection`; the first use connects.
        threshold: As of `breakers.Rules`, like the next two.
        reset_after: Seconds.
        probe_timeout: Seconds.
        prefix: All keys begin with it; the rest is the server.
        client: Your own `redis.asyncio.Redis` instead of `url`. It is yours to close.
        timeout: Seconds that an operation may take, connecting included.
        clock: Seconds that only grow, in the place of Redis' time; for tests.

    Raises:
        ModuleNotFoundError: redis-py is not installed: `pip install "xmcp[redis]"`.
        TypeError, ValueError: an argument that cannot work.
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
            StoreError: Redis failed or took too long. If it had given the probe away all the same, the lease ends it.
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
        # Where Redis forgot the state, the generations begin anew at a place where no older call can be.
        seed = str(secrets.randbits(48))
        async with self._redis.bounded():
            return await script(keys=[self._prefix + server], args=[now, seed, self._keep_for, *arguments])


_STATES: Final[dict[str, BreakerState]] = {"closed": "closed", "open": "open", "half_open": "half_open"}


def _text(value: bytes | str) -> str:
    # A client of the caller's may decode by itself.
    return value.decode() if isinstance(value, bytes) else value
