"""Quotas of tenants, as a middleware: tokens and dollars in a window of time, and tool calls at once (semantics 27).

A call of the model reserves what it may use and settles with what it did use; a tool call holds a place while it runs.
All counts are in this process.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from xmcp.chat.errors import QuotaExceeded
from xmcp.client.hooks.middleware import Middleware, named

if TYPE_CHECKING:
    from xmcp.chat.tool_schemas import ToolSchemas
    from xmcp.client.hooks.middleware import LLMState, ToolState

BYTES_PER_TOKEN: Final = 4
"""What vendors give as a rule of thumb for English; JSON and code have fewer."""
MESSAGE_BYTES: Final = 16
"""The role and the frame of a message."""
MEDIA_BYTES: Final = 4_000
"""A part of a message that is no text: vendors bill images and sounds by their measures, not by their bytes."""

KNOWN_PRICES: Final = 10_000
"""How many average prices are kept, one for each tenant and model; the one not updated for longest goes first."""
DROPPED_PER_USE: Final = 8
"""How many ended windows a call clears away: more than the one it can open, and few enough not to be felt."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant may use: `tokens` and `spend_usd` in a window, `parallel_calls` of tools at once. `None`: no limit.

    Raises ValueError for what is no count or no amount of money.
    """

    tokens: int | None = None
    spend_usd: float | None = None
    parallel_calls: int | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "parallel_calls"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name))
        if self.spend_usd is not None and not _is_number(self.spend_usd):
            raise ValueError(f"spend_usd takes dollars from 0 on, not {self.spend_usd!r}.")


Limits: TypeAlias = Callable[[str | None], Quota | None] | Mapping[str, Quota]
"""The quota of a tenant by its id; `None`, or no entry: the one for all."""


class TenantQuotas(Middleware):
    """Stops chats of a tenant that has used up its quota. Chats without a tenant id count as one tenant, `None`.

    Tokens and dollars: a call of the model is let in if what is spent, what running calls have reserved and what this
    one may use are together within the limit. That is an estimate: the bytes of messages and tools by
    `BYTES_PER_TOKEN`, and `reserve_output_tokens` for the answer, so a call that writes more can end above the limit;
    then the next is refused. Dollars come from the tenant's average price of a token of this model so far. Until a
    first call has told it nothing is reserved, and models without a price are never counted in dollars.

    A call counts when it ends: what the usage record says, and the estimate for what it does not say. A call that
    failed without an answer counts nothing. A cancelled one counts its whole estimate: the vendor bills it, and
    hanging up before the end must not be a way around the quota.

    A window begins with a tenant's first use after the last window ended; what still runs then stays reserved and
    counts in the new one. `reset` is the end of the window: there is room then at the latest.

    Tool calls at once: a chat with the first call of a turn is refused if the tenant has no place free. Once a turn has
    had a place its other calls wait for theirs, first come, first served. So no chat fails for the width of its own
    turn, and tools that themselves run chats of the same tenant cannot block each other: the latest call that has a
    place never depends on one that waits.

    One object can serve several clients that share an event loop.

    Args:
        tokens: Input and output tokens in a window; cached ones count.
        spend_usd: Dollars in a window.
        parallel_calls: Tool calls that run at once.
        window: Seconds.
        reserve_output_tokens: Tokens set aside for the answer of each call of the model.
        limits: Other quotas for some tenants, each in the place of all three above. A callable is asked before every
            call, so it must be quick and must not block; what it raises ends the call.
        queue_timeout: Seconds that a tool call waits for a place before it is refused all the same.
        clock: Seconds since whenever; it should not go back.

    Raises:
        ValueError: a limit or a time that is none.
    """

    def __init__(
        self,
        *,
        tokens: int | None = None,
        spend_usd: float | None = None,
        parallel_calls: int | None = None,
        window: float = 86_400,
        reserve_output_tokens: int = 1_000,
        limits: Limits | None = None,
        queue_timeout: float = 600.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        _check_count("reserve_output_tokens", reserve_output_tokens)
        for name, seconds in (("window", window), ("queue_timeout", queue_timeout)):
            if not _is_number(seconds) or seconds == 0:
                raise ValueError(f"{name} takes seconds above 0, not {seconds!r}.")
        self._for_all = Quota(tokens, spend_usd, parallel_calls)
        if limits is not None and not callable(limits) and not isinstance(limits, Mapping):
            raise TypeError(f"limits must be a mapping from tenants to quotas, or a function, not {limits!r}.")
        # A tenant is known by its text, as in `chat(tenant_id=...)`.
        self._limits = (
            {named("limits", tenant): quota for tenant, quota in limits.items()}
            if isinstance(limits, Mapping)
            else limits
        )
        self._window = window
        self._output_tokens = reserve_output_tokens
        self._queue_timeout = queue_timeout
        self._clock = clock
        self._accounts: OrderedDict[str | None, _Account] = OrderedDict()
        """By the end of the window, except that accounts in use may have moved back."""
        self._prices: OrderedDict[_Priced, _Price] = OrderedDict()
        """The one updated last is the last."""
        # The states are unhashable and the same object before and after; it is alive as long as its id is a key here.
        self._reservations: dict[int, _Reservation] = {}
        self._places: dict[int, _Account] = {}
        self._mark = f"xmcp.quotas.{id(self)}"
        """The key in a chat's state of the last turn that has had a place."""

    @property
    def counts_spend(self) -> bool:
        """Whether some limit is in dollars, for which somebody has to know prices."""
        named = self._limits.values() if isinstance(self._limits, Mapping) else ()
        return any(quota.spend_usd is not None for quota in (self._for_all, *named))

    async def before_llm(self, state: LLMState) -> None:
        """Reserve what the call may use.

        Raises:
            QuotaExceeded: it may be more than is left (`quota` is `tokens` or `spend_usd`).
        """
        account = self._account(state.tenant_id)
        priced = (state.tenant_id, state.provider, state.model)
        input_tokens = estimate_input_tokens(state.messages, state.tools)
        tokens = input_tokens + self._output_tokens
        estimate = _Amount(tokens, tokens * self._average(priced))
        self._check(state.tenant_id, account, account.reserved, estimate)
        account.llm_calls += 1
        account.reserved += estimate
        self._reservations[id(state)] = _Reservation(account, priced, input_tokens, estimate)

    async def after_llm(self, state: LLMState) -> None:
        """Count what the call used in the place of what it had reserved."""
        reservation = self._reservations.pop(id(state), None)
        if reservation is None:
            return
        account = reservation.account
        self._renew(state.tenant_id, account)
        account.llm_calls -= 1
        # Differences of floats leave a trace of the calls that went; where none is left there is nothing to reserve.
        account.reserved = account.reserved - reservation.amount if account.llm_calls else _NOTHING
        account.spent += self._used(state, reservation)

    async def before_tool(self, state: ToolState) -> None:
        """Take one of the tenant's places, or wait for one if the turn has had one already.

        Raises:
            QuotaExceeded: none is free, or none became free in time (`quota` is `parallel_calls`); or what is spent
                leaves nothing for the model to read the result with (`tokens`, `spend_usd`). Reservations do not count
                for that: a call of a tool uses none of it.
        """
        account = self._account(state.tenant_id)
        self._check(state.tenant_id, account, _NOTHING, _NOTHING)
        account.admit()
        if account.has_place:
            account.running += 1
        elif state.chat.state.get(self._mark) == state.turn:
            await self._wait(account, state)
        else:
            raise _no_place(state.tenant_id, account)
        state.chat.state[self._mark] = state.turn
        self._places[id(state)] = account

    def _check(self, tenant_id: str | None, account: _Account, reserved: _Amount, estimate: _Amount) -> None:
        for quota in ("tokens", "spend_usd"):
            limit = getattr(account.quota, quota)
            if limit is not None:
                spent, held, more = (getattr(one, quota) for one in (account.spent, reserved, estimate))
                if spent + held >= limit or spent + held + more > limit:
                    reset = max(account.ends - self._clock(), 0.0)
                    raise _used_up(tenant_id, quota, spent, held, more, limit, reset)

    async def after_tool(self, state: ToolState) -> None:
        """Give the place to the call that has waited longest."""
        account = self._places.pop(id(state), None)
        if account is not None:
            account.leave()

    def usage(self, tenant_id: str | UUID | int | None = None) -> dict[str, Any]:
        """What a tenant uses now, for dashboards. Asking begins no window.

        Returns:
            `tokens` and `spend_usd`: each `spent`, `reserved` and `limit`; `llm_calls`: how many run; `parallel_calls`:
            `running`, `waiting` and `limit`; `reset`: seconds until the window ends, `None` if none is open.
        """
        tenant_id = named("tenant_id", tenant_id)
        quota = self._quota(tenant_id)
        account = self._accounts.get(tenant_id) or _Account(-math.inf)
        now = self._clock()
        spent = account.spent if now < account.ends else _NOTHING
        return {
            "tenant_id": tenant_id,
            **{
                name: {
                    "spent": getattr(spent, name),
                    "reserved": getattr(account.reserved, name),
                    "limit": getattr(quota, name),
                }
                for name in ("tokens", "spend_usd")
            },
            "llm_calls": account.llm_calls,
            "parallel_calls": {
                "running": account.running,
                "waiting": len(account.waiting),
                "limit": quota.parallel_calls,
            },
            "reset": account.ends - now if now < account.ends else None,
        }

    def _quota(self, tenant_id: str | None) -> Quota:
        if self._limits is None:
            return self._for_all
        if isinstance(self._limits, Mapping):
            own = None if tenant_id is None else self._limits.get(tenant_id)
        else:
            own = self._limits(tenant_id)
        if own is not None and not isinstance(own, Quota):
            raise TypeError(f"limits gives a Quota or None for a tenant, not {type(own).__name__}.")
        return own or self._for_all

    def _account(self, tenant_id: str | None) -> _Account:
        """The account that a call uses now, in an open window, with the quota of now."""
        quota = self._quota(tenant_id)
        self._drop_ended()
        account = self._accounts.get(tenant_id)
        if account is None:
            account = self._accounts[tenant_id] = _Account(self._clock() + self._window)
        self._renew(tenant_id, account)
        account.quota = quota
        return account

    def _renew(self, tenant_id: str | None, account: _Account) -> None:
        now = self._clock()
        if now >= account.ends:
            account.spent, account.ends = _NOTHING, now + self._window
            self._accounts.move_to_end(tenant_id)

    def _drop_ended(self) -> None:
        now = self._clock()
        for _ in range(min(DROPPED_PER_USE, len(self._accounts))):
            tenant_id, account = next(iter(self._accounts.items()))
            if now < account.ends:
                return
            if account.in_use:
                self._accounts.move_to_end(tenant_id)
            else:
                del self._accounts[tenant_id]

    def _used(self, state: LLMState, reservation: _Reservation) -> _Amount:
        usage = state.usage
        if usage is None:
            hung_up = isinstance(state.error, asyncio.CancelledError | GeneratorExit)
            if state.completion is None and not hung_up:
                return _NOTHING
            tokens, cost = reservation.amount.tokens, None
        else:
            read, written, cost = usage["input_tokens"], usage["output_tokens"], usage["cost_usd"]
            tokens = (reservation.input_tokens if read is None else read) + (
                self._output_tokens if written is None else written
            )
        if cost is None:
            return _Amount(tokens, tokens * self._average(reservation.priced))
        self._learn(reservation.priced, tokens, cost)
        return _Amount(tokens, cost)

    def _average(self, priced: _Priced) -> float:
        price = self._prices.get(priced)
        return price.usd / price.tokens if price else 0.0

    def _learn(self, priced: _Priced, tokens: int, cost: float) -> None:
        if not tokens:
            return
        price = self._prices.setdefault(priced, _Price())
        price.tokens += tokens
        price.usd += cost
        self._prices.move_to_end(priced)
        if len(self._prices) > KNOWN_PRICES:
            self._prices.popitem(last=False)

    async def _wait(self, account: _Account, state: ToolState) -> None:
        """Wait for a place. On the way out it has been taken, or nothing is left behind."""
        place = asyncio.get_running_loop().create_future()
        account.waiting.append(place)
        try:
            async with asyncio.timeout(self._queue_timeout):
                await place
        except BaseException as exc:
            # The place may have come in the same moment as the cancellation.
            if place.done() and not place.cancelled():
                account.leave()
            else:
                with suppress(ValueError):
                    account.waiting.remove(place)
            if isinstance(exc, TimeoutError):
                raise _no_place(state.tenant_id, account, self._queue_timeout) from None
            raise


def estimate_input_tokens(messages: Sequence[Mapping[str, Any]], tools: ToolSchemas) -> int:
    """About how many tokens a request has: its bytes by `BYTES_PER_TOKEN`. Nothing is serialised for it."""
    return -(-(sum(map(_message_bytes, messages)) + len(tools.json)) // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class _Amount:
    tokens: int = 0
    spend_usd: float = 0.0

    def __add__(self, other: _Amount) -> _Amount:
        return _Amount(self.tokens + other.tokens, self.spend_usd + other.spend_usd)

    def __sub__(self, other: _Amount) -> _Amount:
        return _Amount(self.tokens - other.tokens, self.spend_usd - other.spend_usd)


_NOTHING: Final = _Amount()

_Priced: TypeAlias = tuple[str | None, str, str | None]
"""What an average price is of: tenant, provider, model, as they were asked for."""


@dataclass(slots=True)
class _Price:
    """All that was paid for tokens of a model whose price is known."""

    tokens: int = 0
    usd: float = 0.0


@dataclass(slots=True, eq=False)
class _Account:
    """What one tenant has used in its window and is using now."""

    ends: float
    quota: Quota = Quota()
    spent: _Amount = _NOTHING
    reserved: _Amount = _NOTHING
    llm_calls: int = 0
    running: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    @property
    def in_use(self) -> bool:
        return bool(self.llm_calls or self.running or self.waiting)

    @property
    def has_place(self) -> bool:
        return self.quota.parallel_calls is None or self.running < self.quota.parallel_calls

    def admit(self) -> None:
        """Give what places there are to those that wait."""
        while self.waiting and self.has_place:
            place = self.waiting.popleft()
            if not place.done():
                self.running += 1
                place.set_result(None)

    def leave(self) -> None:
        self.running -= 1
        self.admit()


@dataclass(frozen=True, slots=True)
class _Reservation:
    account: _Account
    priced: _Priced
    input_tokens: int
    amount: _Amount


def _message_bytes(message: Mapping[str, Any]) -> int:
    content = message.get("content")
    size = sum(map(_part_bytes, content)) if isinstance(content, list | tuple) else _part_bytes(content)
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        size += _part_bytes(function.get("name")) + _part_bytes(function.get("arguments"))
    return MESSAGE_BYTES + size


def _part_bytes(part: Any) -> int:
    text = part.get("text") if isinstance(part, Mapping) else part
    if isinstance(text, str):
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return 0 if part is None else MEDIA_BYTES


_IN_WORDS: Final = {"tokens": "{:,} tokens", "spend_usd": "${:,.4f}"}


def _whose(tenant_id: str | None) -> str:
    return "chats without a tenant" if tenant_id is None else f"tenant {tenant_id!r}"


def _used_up(
    tenant_id: str | None, quota: str, spent: float, reserved: float, more: float, limit: float, reset: float
) -> QuotaExceeded:
    words = _IN_WORDS[quota].format
    if more > limit:
        message = (
            f"This call of the model may use {words(more)}, more than the whole quota of {_whose(tenant_id)}, "
            f"{words(limit)}. Shorten the history or offer fewer tools."
        )
        return QuotaExceeded(message, tenant_id=tenant_id, quota=quota, used=spent + reserved, limit=limit)
    message = (
        f"The quota of {_whose(tenant_id)} is used up: {words(spent)} are spent and {words(reserved)} reserved by "
        f"running calls, of {words(limit)}; this call may use {words(more)}. There is room again in {reset:.0f} s at "
        "the latest."
    )
    return QuotaExceeded(message, tenant_id=tenant_id, quota=quota, used=spent + reserved, limit=limit, reset=reset)


def _no_place(tenant_id: str | None, account: _Account, waited: float | None = None) -> QuotaExceeded:
    limit = account.quota.parallel_calls
    when = "" if waited is None else f", and for {waited:g} s none became free"
    message = (
        f"All {limit} tool calls that {_whose(tenant_id)} may run at once are running{when}. Try again when one of "
        "them has ended."
    )
    return QuotaExceeded(message, tenant_id=tenant_id, quota="parallel_calls", used=account.running, limit=limit)


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} takes a whole number from 0 on, not {value!r}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
