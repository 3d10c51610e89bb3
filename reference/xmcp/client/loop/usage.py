"""Accounts for model calls: the usage record of one, and the sum over a chat (spec section 10.3). Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias, TypeVar

from xmcp.chat.completions import Completion
from xmcp.chat.token_estimate import estimated_output_tokens, estimated_tokens
from xmcp.chat.usage import ChatUsage, Usage, UsageRecord
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext, LLMState
from xmcp.providers.base import Received

Price: TypeAlias = Callable[[str, str, Usage], float | None]
"""Returns the US dollars of one call, given provider, model and tokens; `None` if the price is not known."""

NOTHING: ChatUsage = ChatUsage(
    input_tokens=None, output_tokens=None, cached_tokens=None, reasoning_tokens=None, cost_usd=None, llm_calls=0
)

_Number = TypeVar("_Number", int, float)


def record(
    completion: Completion,
    provider: str,
    model: str | None,
    chat: ChatContext,
    price: Price | None,
    log: EventLog | None = None,
) -> UsageRecord:
    """Return the record of a model call that ended now. If `price` fails or returns no price, the cost is unknown."""
    named = completion.model or model or "unknown"
    return UsageRecord(
        input_tokens=_count(completion.usage.input_tokens),
        output_tokens=_count(completion.usage.output_tokens),
        cached_tokens=_count(completion.usage.cached_tokens),
        reasoning_tokens=_count(completion.usage.reasoning_tokens),
        cost_usd=_cost(price, provider, named, completion.usage, log),
        timestamp=datetime.now(UTC).isoformat(timespec="milliseconds"),
        session_id=chat.session_id,
        tenant_id=chat.tenant_id,
        provider=provider or "unknown",
        model=named,
    )


def interrupted(state: LLMState, pieces: Sequence[str], received: Received) -> tuple[Completion, bool]:
    """Return what arrived of an answer that did not arrive whole, for `record`; and whether its counts are estimates.

    Counts that the vendor did not give are estimated: the vendor bills what it has read and written by then.
    """
    said = received.usage
    read, written = _count(said.input_tokens), _count(said.output_tokens)
    counted = replace(
        said,
        input_tokens=estimated_tokens(state.messages, state.tools) if read is None else read,
        output_tokens=estimated_output_tokens(pieces, received.bytes) if written is None else written,
    )
    return Completion("".join(pieces), usage=counted, model=received.model), None in (read, written)


def add(total: ChatUsage, one: UsageRecord) -> ChatUsage:
    """Return the sum with one more call. The sum of a known and an unknown count is the known one, a lower bound."""
    return ChatUsage(
        input_tokens=_plus(total["input_tokens"], one["input_tokens"]),
        output_tokens=_plus(total["output_tokens"], one["output_tokens"]),
        cached_tokens=_plus(total["cached_tokens"], one["cached_tokens"]),
        # Records and snapshots of earlier versions lack it.
        reasoning_tokens=_plus(total.get("reasoning_tokens"), one.get("reasoning_tokens")),
        cost_usd=_plus(total["cost_usd"], one["cost_usd"]),
        llm_calls=total["llm_calls"] + 1,
    )


def _count(value: object) -> int | None:
    """Return a provider's token count; `None` if it is not a valid count, since a provider can be third-party code."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _cost(price: Price | None, provider: str, model: str, usage: Usage, log: EventLog | None) -> float | None:
    if price is None:
        return None
    try:
        known = price(provider, model, usage)
        cost = None if known is None else float(known)
    except Exception:
        # A price function returns `None` for an unknown model; raising is a fault.
        if log is not None:
            log.exception("callback_failed", callback="price", provider=provider, model=model)
        return None
    return cost if cost is not None and math.isfinite(cost) and cost >= 0 else None


def _plus(total: _Number | None, more: _Number | None) -> _Number | None:
    if more is None:
        return total
    return more if total is None else total + more
