"""Quotas of tenants, as a middleware: tokens and dollars in a window of time, and tool calls at once.

A call of the model reserves what it may use and is settled with what it did use; a tool call holds a place while it
runs. All counts are in this process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from xmcp.chat.errors import QuotaExceeded
from xmcp.client.hooks.metering import Estimate, Meter
from xmcp.client.hooks.middleware import Middleware, named
from xmcp.client.hooks.quota_accounts import (
    NOTHING,
    Account,
    Accounts,
    Amount,
    Quota,
    check_count,
    is_amount,
)

if TYPE_CHECKING:
    from xmcp.client.hooks.middleware import LLMState, ToolState

__all__ = ["Limits", "Quota", "TenantQuotas"]

Limits: TypeAlias = Callable[[str | None], Quota | None] | Mapping[str, Quota]
"""The quota of a tenant by its id. `None` or no entry: the quota for all tenants."""


class TenantQuotas(Middleware):
    """Stops chats of a tenant that has used up its quota. Chats without a tenant id count as one tenant, `None`.

    Tokens and dollars: a request to the model is allowed if three amounts together are within the limit: what is
    spent, what running requests have reserved, and what this request may use. The last one is an estimate: the bytes of
    messages and tools divided by `BYTES_PER_TOKEN`, and `reserve_output_tokens` for the answer. An answer that is
    longer than estimated can end above the limit; the next request is then refused. Dollars are estimated with the
    average price of a token of this model for this tenant. Before the first request no price is known, and nothing is
    reserved. Models without a price never count in dollars.

    A request is counted when it ends: by its usage record, and where the record has no number, by the estimate, or by
    what the model wrote if that is more. A request that failed before anything arrived counts nothing; an answer that
    broke off or fell silent counts what arrived. A request that this side ended, by cancelling the chat, by its time
    limit, or because the model had sent nothing for `llm_timeout`, counts its whole estimate, or what was received if
    that is more: the vendor bills it, and otherwise cancelling, or asking what takes the model long, would be a way
    around the quota.

    A window begins with a tenant's first use after its last window ended. Requests that still run then stay reserved,
    and count in the new window. `reset` is the time until the window ends.

    Tool calls at the same time: the first call of a turn is refused if the tenant has no free place. Once a turn has
    had a place, its other calls wait for places, in order. So no chat fails because its own turn has many calls. Tools
    that run chats of the same tenant cannot block each other: the latest call with a place never depends on a call
    that waits.

    One object can serve several clients that share an event loop.

    Args:
        tokens: Maximum number of input and output tokens in a window, cached ones included.
        spend_usd: Maximum number of dollars in a window.
        parallel_calls: Maximum number of tool calls at the same time.
        window: Length of a window in seconds.
        reserve_output_tokens: Number of tokens that are reserved for each answer of the model.
        limits: Quotas of single tenants, in place of the three above: a mapping, or a function of the tenant's id. The
            function is called before every call, so it must be quick and must not block; an exception that it raises
            ends the call.
        queue_timeout: Maximum seconds for which a tool call waits for a place; it is then refused.
        clock: Returns seconds since any moment; it should not go back.

    Raises:
        ValueError: A limit or a time is not valid.
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
        check_count("reserve_output_tokens", reserve_output_tokens)
        for name, seconds in (("window", window), ("queue_timeout", queue_timeout)):
            if not is_amount(seconds) or seconds == 0:
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
        self._meter = Meter(reserve_output_tokens)
        self._queue_timeout = queue_timeout
        self._clock = clock
        self._accounts = Accounts(window, clock)
        # By id: a state cannot be hashed, and it is the same object, and alive, from `before_...` to `after_...`.
        self._reservations: dict[int, _Reservation] = {}
        self._places: dict[int, Account] = {}
        self._mark = f"xmcp.quotas.{id(self)}"
        """Where a chat's state has the number of the last turn that has had a place."""

    @property
    def counts_spend(self) -> bool:
        """Whether a limit is in dollars, which needs the prices of models."""
        named = self._limits.values() if isinstance(self._limits, Mapping) else ()
        return any(quota.spend_usd is not None for quota in (self._for_all, *named))

    async def before_llm(self, state: LLMState) -> None:
        """Reserve what the call may use.

        Raises:
            QuotaExceeded: that may be more than is left (`quota` is `tokens` or `spend_usd`).
        """
        account = self._account(state.tenant_id)
        estimate = self._meter.estimate(state)
        self._check(state.tenant_id, account, account.reserved, estimate.amount)
        account.llm_calls += 1
        account.reserved += estimate.amount
        self._reservations[id(state)] = _Reservation(account, estimate)

    async def after_llm(self, state: LLMState) -> None:
        """Count what the call used instead of what it had reserved."""
        reservation = self._reservations.pop(id(state), None)
        if reservation is None:
            return
        account = reservation.account
        self._accounts.renew(state.tenant_id, account)
        account.llm_calls -= 1
        # Differences of floats leave a small rest; without running calls nothing is reserved.
        account.reserved = account.reserved - reservation.estimate.amount if account.llm_calls else NOTHING
        account.spent += self._meter.used(state, reservation.estimate)

    async def before_tool(self, state: ToolState) -> None:
        """Take one of the tenant's places, or wait for one if the turn has had one already.

        Raises:
            QuotaExceeded: none is free, or none became free in time (`quota` is `parallel_calls`); or what is spent
                leaves nothing for the model to read the result with (`tokens`, `spend_usd`). Reservations do not count
                for that: a call of a tool uses none of it.
        """
        account = self._account(state.tenant_id)
        self._check(state.tenant_id, account, NOTHING, NOTHING)
        account.admit()
        if account.has_place:
            account.running += 1
        elif state.chat.state.get(self._mark) == state.turn:
            await self._wait(account, state)
        else:
            raise _no_place(state.tenant_id, account)
        state.chat.state[self._mark] = state.turn
        self._places[id(state)] = account

    def _check(self, tenant_id: str | None, account: Account, reserved: Amount, estimate: Amount) -> None:
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
        """Return what a tenant uses now, for dashboards. This opens no window.

        Returns:
            `tokens` and `spend_usd`: each `spent`, `reserved` and `limit`; `llm_calls`: how many run; `parallel_calls`:
            `running`, `waiting` and `limit`; `reset`: seconds until the window ends, `None` if none is open.
        """
        tenant_id = named("tenant_id", tenant_id)
        quota = self._quota(tenant_id)
        account = self._accounts.peek(tenant_id)
        now = self._clock()
        spent = account.spent if now < account.ends else NOTHING
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
            raise TypeError(f"limits must return a Quota or None for a tenant, not {type(own).__name__}.")
        return own or self._for_all

    def _account(self, tenant_id: str | None) -> Account:
        """Return the account that a call uses now, with the quota that counts now."""
        return self._accounts.open(tenant_id, self._quota(tenant_id))

    async def _wait(self, account: Account, state: ToolState) -> None:
        """Wait for a place. When this returns it is taken; when it raises nothing is left behind."""
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


@dataclass(frozen=True, slots=True)
class _Reservation:
    account: Account
    estimate: Estimate


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


def _no_place(tenant_id: str | None, account: Account, waited: float | None = None) -> QuotaExceeded:
    limit = account.quota.parallel_calls
    when = "" if waited is None else f", and for {waited:g} s none became free"
    message = (
        f"All {limit} tool calls that {_whose(tenant_id)} may run at once are running{when}. Try again when one of "
        "them has ended."
    )
    return QuotaExceeded(message, tenant_id=tenant_id, quota="parallel_calls", used=account.running, limit=limit)
