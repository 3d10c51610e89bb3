"""A stand-in for OpenAI's chat completions, which many other vendors and servers speak, too."""

from __future__ import annotations

import json
from typing import Any

from support.vendors.stand_in import QUOTED_KEY, StandIn, event, halves
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import ErrorCategory
from xmcp.chat.usage import Usage
from xmcp.providers import LLMProvider, OpenAIProvider
from xmcp.providers.contract import SECRET, Answer, Asked, Feature, Raw, Said

MODEL = "gpt-test"
_REFUSALS: dict[ErrorCategory, tuple[int, str, str]] = {
    ErrorCategory.QUOTA: (429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
    ErrorCategory.RATE_LIMIT: (429, "rate_limit_exceeded", "Rate limit reached for requests per minute."),
    ErrorCategory.AUTH: (401, "invalid_api_key", QUOTED_KEY),
    ErrorCategory.BALANCE: (402, "insufficient_balance", "Insufficient Balance"),
    ErrorCategory.NETWORK: (503, "server_error", "The engine is currently overloaded."),
    ErrorCategory.CONTEXT: (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    ErrorCategory.CONTENT: (400, "content_policy_violation", "The prompt was refused by our safety system."),
}


class ChatCompletions(StandIn):
    """OpenAI, as a `Vendor` of the contract."""

    models = (MODEL, "gpt-other")
    lacks: frozenset[Feature] = frozenset({"reasoning", "shown_reasoning", "images_in_results"})

    def make(self, url: str) -> LLMProvider:
        """See `StandIn.make`."""
        return OpenAIProvider(SECRET, f"{url}/v1", MODEL)

    def read(self, path: str, body: Any) -> Asked:
        """See `StandIn.read`."""
        assert path == "/v1/chat/completions", path
        assert body["stream"] is True
        tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools", ())}
        options = {name: body[name] for name in ("temperature", "top_p", "max_tokens", "stop", "seed") if name in body}
        if (choice := body.get("tool_choice")) is not None:
            options["tool_choice"] = choice if isinstance(choice, str) else choice["function"]["name"]
        return Asked(body["model"], tuple(map(_said, body["messages"])), tools, options)

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """See `StandIn.refused`."""
        unknown = (404, "model_not_found", f"The model `{model}` does not exist or you do not have access to it.")
        status, code, message = _REFUSALS.get(category, unknown)
        return status, {"error": {"message": message, "type": "invalid_request_error", "code": code, "param": None}}

    def streamed(self, answer: Answer) -> bytes:
        """See `StandIn.streamed`."""
        parts = [
            delta({"role": "assistant", "content": ""}),
            *(delta({"content": one}) for one in halves(answer.text)),
        ]
        for index, call in enumerate(answer.calls):
            first, *rest = halves(call.arguments) or [""]
            function = {"name": call.name, "arguments": first}
            parts.append(
                delta({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
            )
            parts += [delta({"tool_calls": [{"index": index, "function": {"arguments": one}}]}) for one in rest]
        usage = {
            "prompt_tokens": answer.usage.input_tokens,
            "completion_tokens": answer.usage.output_tokens,
            **self.cached(answer.usage),
        }
        parts += [delta({}, answer.finish_reason), _chunk(choices=[], usage=usage), b"data: [DONE]\n\n"]
        return b"".join(parts)

    def cached(self, usage: Usage) -> dict[str, Any]:
        """Return the members of `usage` that tell cached tokens."""
        return {"prompt_tokens_details": {"cached_tokens": usage.cached_tokens}}

    def begun(self, text: str) -> bytes:
        """See `StandIn.begun`."""
        return delta({"role": "assistant", "content": text})

    def listed(self, path: str) -> Any:
        """See `StandIn.listed`."""
        assert path == "/v1/models", path
        return {
            "object": "list",
            "data": [{"id": one, "object": "model", "created": 0} for one in self.models],
        }

    malformed: tuple[Raw, ...] = tuple(
        Raw(why, json.dumps({"model": MODEL, "choices": [choice]}).encode())
        for why, choice in {
            "a number as the name of a tool": {
                "message": {
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": 7, "arguments": "{}"}}]
                }
            },
            "an object as the finish reason": {"message": {"content": "ok"}, "finish_reason": {"why": "stop"}},
            "a list of choices that are texts": "ok",
            "calls that are no list": {"message": {"tool_calls": {"id": "c1"}}},
        }.items()
    )


def _chunk(**members: Any) -> bytes:
    return event({"id": "x", "object": "chat.completion.chunk", "created": 0, "model": MODEL, **members})


def delta(members: dict[str, Any], finish: str | None = None) -> bytes:
    """Return a chunk with a part of the answer."""
    return _chunk(choices=[{"index": 0, "delta": members, "finish_reason": finish}])


def _said(message: dict[str, Any]) -> Said:
    content, images = message.get("content") or "", []
    if isinstance(content, list):
        urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        images = [tuple(url.removeprefix("data:").split(";base64,")) for url in urls]
        content = "".join(part["text"] for part in content if part["type"] == "text")
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    ]
    return Said(message["role"], content, tuple(images), tuple(calls), message.get("tool_call_id", ""))
