"""Stand-ins for vendors with OpenAI's chat completions, each with what it does otherwise."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from support.vendors.chat_completions import MODEL, ChatCompletions, delta
from support.vendors.stand_in import QUOTED_KEY, event, halves
from xmcp.chat.errors import ErrorCategory
from xmcp.chat.usage import Usage
from xmcp.providers import DeepSeekProvider, LLMProvider, LocalProvider, MiniMaxProvider
from xmcp.providers.contract import SECRET, Answer, Asked, Feature, Raw


class Ollama(ChatCompletions):
    """Ollama, by its endpoint with OpenAI's format."""

    lacks: frozenset[Feature] = frozenset({"reasoning", "images_in_results", "cached_tokens", "content_filter"})

    def make(self, url: str) -> LLMProvider:
        """See `StandIn.make`."""
        return LocalProvider(MODEL, f"{url}/v1", SECRET)

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """See `StandIn.refused`."""
        if category is not ErrorCategory.MODEL:
            return super().refused(category, model)
        message = f'model "{model}" not found, try pulling it first'
        return 404, {"error": {"message": message, "type": "not_found_error", "param": None, "code": None}}

    def streamed(self, answer: Answer) -> bytes:
        """See `StandIn.streamed`: what the model thinks is in `reasoning`."""
        thought = [
            delta({"role": "assistant", "content": "", "reasoning": one})
            for one in halves(answer.reasoning or "Hm, hm.")
        ]
        return b"".join(thought) + super().streamed(answer)

    def cached(self, usage: Usage) -> dict[str, Any]:
        """See `ChatCompletions.cached`: it does not tell."""
        return {"total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0)}


class DeepSeek(ChatCompletions):
    """DeepSeek, whose models think in `reasoning_content`."""

    lacks: frozenset[Feature] = frozenset({"images_in_results"})

    def make(self, url: str) -> LLMProvider:
        """See `StandIn.make`."""
        return DeepSeekProvider(SECRET, url, MODEL)

    def read(self, path: str, body: Any) -> Asked:
        """See `StandIn.read`."""
        assert path == "/chat/completions", path
        assert body.get("response_format") in (None, {"type": "json_object"})
        asked = super().read("/v1/chat/completions", body)
        thoughts = [message.get("reasoning_content") for message in body["messages"]]
        answers = [one for one, said in zip(thoughts, asked.messages, strict=True) if said.role == "assistant"]
        if "tools" in body or any(said.role == "tool" for said in asked.messages):
            # Else: 400, "The `reasoning_content` in the thinking mode must be passed back to the API."
            assert all(isinstance(one, str) for one in answers), "an answer without its reasoning_content"
        else:
            assert not any(answers), "reasoning_content for nothing"
        told = [replace(said, state=one) for said, one in zip(asked.messages, thoughts, strict=True)]
        return replace(asked, messages=tuple(told))

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """See `StandIn.refused`."""
        words = {
            ErrorCategory.CONTENT: (400, "Content Exists Risk", "invalid_request_error"),
            ErrorCategory.RATE_LIMIT: (429, "Too many requests", "rate_limit_reached_error"),
            ErrorCategory.MODEL: (400, f"Model Not Exist: {model}", "invalid_request_error"),
        }
        if category not in words:
            return super().refused(category, model)
        status, message, kind = words[category]
        return status, {"error": {"message": message, "type": kind, "param": None, "code": "invalid_request_error"}}

    def streamed(self, answer: Answer) -> bytes:
        """See `StandIn.streamed`."""
        thought = [
            delta({"role": "assistant", "content": None, "reasoning_content": one}) for one in halves(answer.reasoning)
        ]
        return b": keep-alive\n\n" + b"".join(thought) + super().streamed(answer)

    def cached(self, usage: Usage) -> dict[str, Any]:
        """See `ChatCompletions.cached`."""
        missed = (usage.input_tokens or 0) - (usage.cached_tokens or 0)
        return {"prompt_cache_hit_tokens": usage.cached_tokens, "prompt_cache_miss_tokens": missed}

    def listed(self, path: str) -> Any:
        """See `StandIn.listed`."""
        assert path == "/models", path
        return super().listed("/v1/models")

    malformed: tuple[Raw, ...] = (
        *ChatCompletions.malformed,
        *(
            Raw(why, event({"choices": [choice]}) + b"data: [DONE]\n\n", "text/event-stream")
            for why, choice in {
                "a delta that is a text": {"delta": "ok"},
                "an answer that ran out of resources": {"delta": {}, "finish_reason": "insufficient_system_resource"},
            }.items()
        ),
    )


class MiniMax(ChatCompletions):
    """MiniMax, whose models think in `reasoning_details`."""

    lacks: frozenset[Feature] = frozenset({"images_in_results"})

    def make(self, url: str) -> LLMProvider:
        """See `StandIn.make`."""
        return MiniMaxProvider(SECRET, f"{url}/v1", MODEL)

    def read(self, path: str, body: Any) -> Asked:
        """See `StandIn.read`."""
        assert body["reasoning_split"] is True
        assert 0 < body.get("temperature", 1) <= 1
        asked = super().read(path, body)
        states = [message.get("reasoning_details") for message in body["messages"]]
        told = [replace(said, state=one) for said, one in zip(asked.messages, states, strict=True)]
        return replace(asked, messages=tuple(told))

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """See `StandIn.refused`."""
        status, kind, message = _OF_MINIMAX.get(category, (400, "bad_request_error", f"unknown model '{model}' (2013)"))
        error = {"type": kind, "message": message, "http_code": str(status)}
        return status, {"type": "error", "error": error, "request_id": "r1"}

    def streamed(self, answer: Answer) -> bytes:
        """See `StandIn.streamed`."""
        shared = {"type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0}
        thought = [
            delta({"role": "assistant", "reasoning_details": [{**shared, "text": one}]})
            for one in halves(answer.reasoning)
        ]
        return b"".join(thought) + super().streamed(answer)

    malformed: tuple[Raw, ...] = (
        *ChatCompletions.malformed,
        *(
            Raw(why, json.dumps({"choices": None, "base_resp": base_resp}).encode())
            for why, base_resp in {
                "a refusal with the status of an answer": {"status_code": 1002, "status_msg": "rate limit"},
                "a refusal without a reason": {"status_code": 1000, "status_msg": None},
            }.items()
        ),
    )


_OF_MINIMAX: dict[ErrorCategory, tuple[int, str, str]] = {
    ErrorCategory.QUOTA: (429, "rate_limit_error", "usage limit exceeded (2056)"),
    ErrorCategory.RATE_LIMIT: (429, "rate_limit_error", "rate limit exceeded(RPM) (1002)"),
    ErrorCategory.AUTH: (401, "authorized_error", f"{QUOTED_KEY} (2049)"),
    ErrorCategory.BALANCE: (429, "insufficient_balance_error", "insufficient balance (1008)"),
    ErrorCategory.NETWORK: (500, "api_error", "unknown error (1000)"),
    ErrorCategory.CONTEXT: (400, "bad_request_error", "invalid params, context window exceeds limit (2013)"),
    ErrorCategory.CONTENT: (400, "bad_request_error", "input new_sensitive (1026)"),
}
