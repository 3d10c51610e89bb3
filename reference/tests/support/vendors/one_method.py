"""A stand-in for a provider of somebody else that has one method, `chat_complete`, and no transport."""

from __future__ import annotations

from typing import Any

from support.vendors.chat_completions import MODEL, ChatCompletions
from xmcp.providers.chat_complete import as_provider
from xmcp.providers.contract import Answer, Asked, Feature, Raw, Scripted


class OneMethod:
    """Such a provider, as a `Vendor` of the contract, and as an async context manager."""

    model = MODEL
    models: tuple[str, ...] = ()
    malformed: tuple[Raw, ...] = ()
    lacks: frozenset[Feature] = frozenset({"images_in_results", "models", "reasoning", "refusals", "streams"})
    left = 0

    def __init__(self, *answers: Any) -> None:
        self.provider = as_provider("the provider", self)
        self.asked: list[Asked] = []
        self._script = list(answers)

    async def __aenter__(self) -> OneMethod:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    def answers(self, *answers: Scripted) -> None:
        """See `Vendor.answers`."""
        self._script = list(answers)

    async def chat_complete(
        self, model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **options: Any
    ) -> Any:
        """Return the next answer: what is scripted, or a completion of it; an exception is raised."""
        body = {"model": model, "messages": messages, "tools": tools or (), "stream": True, **options}
        self.asked.append(ChatCompletions().read("/v1/chat/completions", body))
        scripted = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(scripted, Exception):
            raise scripted
        return _completion(scripted) if isinstance(scripted, Answer) else scripted


def _completion(answer: Answer) -> dict[str, Any]:
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in answer.calls
    ]
    message = {"role": "assistant", "content": answer.text or None, **({"tool_calls": calls} if calls else {})}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    usage = {
        "prompt_tokens": answer.usage.input_tokens,
        "completion_tokens": answer.usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.usage.cached_tokens},
    }
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    return {"id": "x", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}
