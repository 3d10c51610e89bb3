"""What model calls used: the tokens of one completion, the record of one call, and the sum of a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NotRequired, TypedDict


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request to a model as the vendor counted them; `None` if it gave no count.

    `input_tokens` and `output_tokens` are all of them: those of the cache and of reasoning are in them.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """How many of the input tokens came from the vendor's cache."""
    cache_write_tokens: int | None = None
    """How many of the input tokens the vendor wrote into its cache, for which some take more."""
    reasoning_tokens: int | None = None
    """How many of the output tokens the model thought with."""


class UsageRecord(TypedDict):
    """The usage of one request to a model (spec section 10.3); a member is `None` if it is not known.

    The client always writes `reasoning_tokens`; records of earlier versions lack it.

    `estimated` is there, and true, if the answer was not received to its end and the client estimated counts of it.
    """

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: NotRequired[int | None]
    cost_usd: float | None
    timestamp: str
    session_id: str | None
    tenant_id: str | None
    provider: str
    model: str
    estimated: NotRequired[bool]


class ChatUsage(TypedDict):
    """The usage of a chat: tokens as the vendor counted them (`None`: it gave no count), and requests to the model.

    A request whose answer was not received to its end is among them, with what was received.

    `cost_usd` is the sum of the known costs, `None` if no cost is known.
    """

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: NotRequired[int | None]
    cost_usd: float | None
    llm_calls: int
