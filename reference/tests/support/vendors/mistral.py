"""A stand-in for Mistral, written from the types of its SDK, which also judge what it is asked."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from mistralai.client import models

from support.vendors.stand_in import StandIn, event, halves
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import ErrorCategory
from xmcp.providers import LLMProvider, MistralProvider
from xmcp.providers.contract import SECRET, Answer, Asked, Feature, Raw, Said

MODEL = "mistral-test-latest"
SIGNATURE = "signature-of-mistral"

_MEMBERS: dict[str, set[str]] = {
    role: set(type_.model_fields)
    for role, type_ in {
        "system": models.SystemMessage,
        "user": models.UserMessage,
        "assistant": models.AssistantMessage,
        "tool": models.ToolMessage,
    }.items()
}
_ID = re.compile("[A-Za-z0-9]{9}")


def _error(message: Any, type_: str, code: str | None = None) -> dict[str, Any]:
    return {"object": "error", "message": message, "type": type_, "param": None, "code": code}


_TOO_LONG = "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
_REFUSALS: dict[ErrorCategory, tuple[int, Any]] = {
    ErrorCategory.QUOTA: (403, _error("Inactive subscription or usage limit reached", "subscription_error")),
    ErrorCategory.RATE_LIMIT: (429, _error("Rate limit exceeded", "rate_limited", "1300")),
    ErrorCategory.AUTH: (401, {"detail": f"Unauthorized: the key {SECRET} is not known"}),
    ErrorCategory.BALANCE: (402, {"detail": "The prepaid credit balance of your organization has reached zero"}),
    ErrorCategory.NETWORK: (503, _error("Service unavailable.", "internal_server_error", "3700")),
    ErrorCategory.CONTEXT: (400, _error(_TOO_LONG, "invalid_request_prompt", "3051")),
    ErrorCategory.CONTENT: (403, _error("The input was blocked by a guardrail", "guardrail_blocked")),
}


class Mistral(StandIn):
    """Mistral, as a `Vendor` of the contract."""

    models = (MODEL, "magistral-test-latest")
    # It has guardrails for what it is asked, but no reason of an answer that says so.
    lacks: frozenset[Feature] = frozenset({"content_filter"})

    def make(self, url: str) -> LLMProvider:
        """See `StandIn.make`."""
        return MistralProvider(SECRET, url, MODEL)

    def read(self, path: str, body: Any) -> Asked:
        """See `StandIn.read`."""
        assert path == "/v1/chat/completions", path
        assert self.headers[-1]["authorization"] == f"Bearer {SECRET}"
        assert body["stream"] is True
        request = models.ChatCompletionStreamRequest.model_validate(body)
        assert set(body) <= set(models.ChatCompletionStreamRequest.model_fields), body.keys()
        for message in body["messages"]:
            assert set(message) <= _MEMBERS[message["role"]], message
        for before, after in pairwise(message["role"] for message in body["messages"]):
            assert (before, after) != ("tool", "user"), "Unexpected role 'user' after role 'tool'"
        _check_ids(body["messages"])
        tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools", ())}
        names = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "stop": "stop"}
        options = {ours: body[theirs] for theirs, ours in {**names, "random_seed": "seed"}.items() if theirs in body}
        if (choice := body.get("tool_choice")) is not None:
            assert request.tool_choice
            words = {"any": "required"}
            by_name = not isinstance(choice, str)
            options["tool_choice"] = choice["function"]["name"] if by_name else words.get(choice, choice)
        return Asked(body["model"], tuple(map(_said, body["messages"])), tools, options)

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """See `StandIn.refused`."""
        unknown = (400, _error(f"Invalid model: {model}", "invalid_model", "1500"))
        return _REFUSALS.get(category, unknown)

    def streamed(self, answer: Answer) -> bytes:
        """See `StandIn.streamed`."""
        parts = [_delta({"role": "assistant", "content": ""})]
        if answer.reasoning:
            parts += [_delta({"content": [_thinking(one)]}) for one in halves(answer.reasoning)]
            parts += [_delta({"content": [{**_thinking(""), "signature": SIGNATURE, "closed": True}]})]
            parts += [_delta({"content": [{"type": "text", "text": one}]}) for one in halves(answer.text)]
        else:
            parts += [_delta({"content": one}) for one in halves(answer.text)]
        calls = [
            {"id": f"mistral{n:02}", "function": {"name": call.name, "arguments": call.arguments}, "index": n}
            for n, call in enumerate(answer.calls)
        ]
        usage = {
            "prompt_tokens": answer.usage.input_tokens,
            "total_tokens": (answer.usage.input_tokens or 0) + (answer.usage.output_tokens or 0),
            "completion_tokens": answer.usage.output_tokens,
            "prompt_tokens_details": {"cached_tokens": answer.usage.cached_tokens},
        }
        last = {"content": "", **({"tool_calls": calls} if calls else {})}
        parts += [_delta(last, answer.finish_reason, usage=usage), b"data: [DONE]\n\n"]
        return b"".join(parts)

    def begun(self, text: str) -> bytes:
        """See `StandIn.begun`."""
        return _delta({"role": "assistant", "content": text})

    def listed(self, path: str) -> Any:
        """See `StandIn.listed`."""
        assert path == "/v1/models", path
        capabilities = {"completion_chat": True, "function_calling": True, "completion_fim": False}
        shared = {"object": "model", "owned_by": "mistralai", "type": "base", "capabilities": capabilities}
        return {"object": "list", "data": [{"id": one, "created": 0, **shared} for one in self.models]}

    malformed: tuple[Raw, ...] = tuple(
        Raw(why, b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n", "text/event-stream")
        for why, chunk in {
            "a number as the name of a tool": {
                "choices": [{"delta": {"tool_calls": [{"function": {"name": 7, "arguments": "{}"}}]}}]
            },
            "an object as the finish reason": {"choices": [{"delta": {"content": "ok"}, "finish_reason": {"why": 1}}]},
            "a list of choices that are texts": {"choices": ["ok"]},
            "choices that are no list": {"choices": {"delta": {}}},
            "calls that are no list": {"choices": [{"delta": {"tool_calls": {"id": "abcdefghi"}}}]},
            "a delta that is a text": {"choices": [{"delta": "ok"}]},
            "a number as the model": {"model": 7, "choices": []},
            "a function that is a text": {"choices": [{"delta": {"tool_calls": [{"function": "add"}]}}]},
            "an error in the stream": _error("Internal error", "internal_server_error", "3700"),
        }.items()
    )


def _thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _delta(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    chunk = {"id": "b1", "object": "chat.completion.chunk", "created": 0, "model": MODEL, **more}
    chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
    models.CompletionChunk.model_validate(chunk)
    return event(chunk)


def _check_ids(messages: list[dict[str, Any]]) -> None:
    """Check that ids have Mistral's form, that no two calls share one, and that results follow their calls."""
    seen: set[str] = set()
    open_: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            open_.remove(message["tool_call_id"])
            continue
        assert not open_, "a call without a result"
        open_ = [call["id"] for call in message.get("tool_calls", ())]
        if message["role"] == "assistant":
            assert message.get("content") or open_, "an answer without content and calls"
        assert all(_ID.fullmatch(one) for one in open_), open_
        assert seen.isdisjoint(open_)
        assert len(set(open_)) == len(open_)
        seen.update(open_)


def _said(message: dict[str, Any]) -> Said:
    content, images, state = message.get("content") or "", [], None
    if isinstance(content, list):
        urls = [part["image_url"] for part in content if part["type"] == "image_url"]
        texts = [url if isinstance(url, str) else url["url"] for url in urls]
        images = [tuple(url.removeprefix("data:").split(";base64,")) for url in texts]
        thoughts = [part for part in content if part["type"] == "thinking"]
        state = [(one["signature"], "".join(part["text"] for part in one["thinking"])) for one in thoughts] or None
        content = "".join(part["text"] for part in content if part["type"] == "text")
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    return Said(message["role"], content, tuple(images), tuple(calls), message.get("tool_call_id", ""), state)
