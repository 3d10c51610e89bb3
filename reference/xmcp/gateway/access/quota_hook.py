"""The hook that has every request to a model reserved and settled, for the key and the tenant whose chat it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from xmcp.client.hooks.metering import Estimate, Meter
from xmcp.client.hooks.middleware import Middleware
from xmcp.client.hooks.quota_accounts import Amount
from xmcp.gateway.access.ledger import Ledger, Reservation
from xmcp.gateway.access.quota_check import Account
from xmcp.gateway.runs.request import Caller, ChatRequest

if TYPE_CHECKING:
    from xmcp.client.hooks.middleware import LLMState

UNKNOWN_USD_PER_TOKEN: Final = 0.00001
"""What is reserved for a token of a model whose price is not known yet: the price of a large model."""


@dataclass(frozen=True, slots=True)
class _Spender:
    accounts: Sequence[Account]
    output_tokens: int | None


_spender: ContextVar[_Spender | None] = ContextVar("xmcp_quota_spender", default=None)


def spends_for(caller: Caller, request: ChatRequest) -> None:
    """Have what is asked of models in this context count for a caller."""
    sampler = request.options.get("sampler")
    _spender.set(_Spender(accounts_of(caller), None if sampler is None else sampler.max_tokens))


def accounts_of(caller: Caller) -> list[Account]:
    """Return for what the requests of a caller count: its tenant and its key, where they have a quota."""
    grant = caller.grant
    accounts = []
    if caller.tenant is not None and grant.tenant_limits.are_counted:
        accounts.append(Account(f"tenant:{caller.tenant}", f"the tenant {caller.tenant!r}", grant.tenant_limits))
    if grant.limits.are_counted:
        accounts.append(Account(f"key:{caller.key_name}", f"the key {caller.key_name!r}", grant.limits))
    return accounts


class QuotaHook(Middleware):
    """Stops a chat whose next request to a model may use more than is left.

    Args:
        ledger: Counts.
        output_tokens: Number of tokens that are reserved for an answer of which the request gives no limit.
    """

    def __init__(self, ledger: Ledger, output_tokens: int) -> None:
        self._ledger = ledger
        self._meter = Meter(output_tokens)
        # By id: a state cannot be hashed, and it is the same object, and alive, from `before_...` to `after_...`.
        self._reserved: dict[int, tuple[Reservation, Estimate]] = {}

    async def before_llm(self, state: LLMState) -> None:
        """Reserve what the request may use.

        Raises:
            QuotaExceeded: that may be more than is left.
            QuotaUnknown: what is left cannot be known.
        """
        spender = _spender.get()
        if spender is None or not spender.accounts:
            return
        estimate = self._meter.estimate(state, spender.output_tokens)
        tokens, usd = estimate.amount.tokens, estimate.amount.spend_usd
        amount = Amount(tokens, usd or tokens * UNKNOWN_USD_PER_TOKEN)
        self._reserved[id(state)] = await self._ledger.reserve(spender.accounts, amount), estimate

    async def after_llm(self, state: LLMState) -> None:
        """Count what the request used instead of what it had reserved."""
        reserved = self._reserved.pop(id(state), None)
        if reserved is not None:
            reservation, estimate = reserved
            self._ledger.settle(reservation, self._meter.used(state, estimate))
