"""The words for what a chat used. Pure."""

from __future__ import annotations

from xmcp.chat.usage import ChatUsage


def used(usage: ChatUsage) -> str:
    """Return tokens and cost in words: `1,412 tokens in (1,024 cached), 86 out · $0.0031 · 2 requests`."""
    cached = f" ({usage['cached_tokens']:,} cached)" if usage["cached_tokens"] else ""
    read, written = usage["input_tokens"], usage["output_tokens"]
    counted = read is not None or written is not None
    tokens = f"{_count(read)} tokens in{cached}, {_count(written)} out" if counted else ""
    requests = usage["llm_calls"]
    parts = [tokens, cost(usage["cost_usd"]), f"{requests} request{'' if requests == 1 else 's'}"]
    return " · ".join(filter(None, parts))


def cost(dollars: float | None) -> str:
    """Return an amount of US dollars with two digits that say something; empty if it is not known."""
    if dollars is None:
        return ""
    if dollars == 0 or dollars >= 0.995:
        return f"${dollars:,.2f}"
    return f"${dollars:.2g}" if dollars >= 0.0001 else "less than $0.0001"


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"
