"""What a request to a model may use, before it is made, and what it used, afterwards. Whoever has quotas counts so."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xmcp.chat.errors import ProviderError
from xmcp.chat.token_estimate import estimated_output_tokens, estimated_tokens
from xmcp.client.hooks.quota_accounts import NOTHING, Amount, AveragePrices, Priced

if TYPE_CHECKING:
    from xmcp.chat.completions import Completion
    from xmcp.client.hooks.middleware import LLMState


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a request may use.

    Attributes:
        priced: By what its price is known.
        input_tokens: Tokens that the model reads.
        output_tokens: Tokens that are reserved for the answer.
        amount: All tokens, and dollars.
    """

    priced: Priced
    input_tokens: int
    output_tokens: int
    amount: Amount


class Meter:
    """Estimates requests and counts them. It learns what a token of a model costs a tenant on average.

    Args:
        output_tokens: Number of tokens that are reserved for each answer of the model.
    """

    def __init__(self, output_tokens: int) -> None:
        self._output_tokens = output_tokens
        self._prices = AveragePrices()

    def estimate(self, state: LLMState, output_tokens: int | None = None) -> Estimate:
        """Return what a request may use; `output_tokens` is the limit that the request has itself."""
        priced = (state.tenant_id, state.provider, state.model)
        read = estimated_tokens(state.messages, state.tools)
        written = self._output_tokens if output_tokens is None else output_tokens
        tokens = read + written
        return Estimate(priced, read, written, Amount(tokens, tokens * self._prices.of(priced)))

    def used(self, state: LLMState, estimate: Estimate) -> Amount:
        """Return what a request that has ended counts."""
        usage = state.usage
        if usage is None:
            if state.completion is None and not isinstance(state.error, asyncio.CancelledError | GeneratorExit):
                return NOTHING
            tokens, cost = estimate.input_tokens + _written(state.completion, estimate), None
        else:
            read, written, cost = usage["input_tokens"], usage["output_tokens"], usage["cost_usd"]
            tokens = (estimate.input_tokens if read is None else read) + (
                _written(state.completion, estimate) if written is None else written
            )
            if state.completion is None and _ended_here(state.error) and tokens < estimate.amount.tokens:
                tokens, cost = estimate.amount.tokens, None
        if cost is None:
            return Amount(tokens, tokens * self._prices.of(estimate.priced))
        paid = Amount(tokens, cost)
        self._prices.learn(estimate.priced, paid)
        return paid


def _written(answer: Completion | None, estimate: Estimate) -> int:
    """Return the tokens of an answer that the vendor did not count: what was reserved, or what came if more did."""
    if answer is None:
        return estimate.output_tokens
    calls = [part for call in answer.tool_calls for part in (call.name, call.arguments)]
    return max(estimate.output_tokens, estimated_output_tokens([answer.text, *calls]))


def _ended_here(error: BaseException | None) -> bool:
    """Return whether this side ended a request to a model that the vendor had accepted."""
    unanswered = isinstance(error, ProviderError) and error.unanswered
    return unanswered or isinstance(error, asyncio.CancelledError | GeneratorExit | TimeoutError)
