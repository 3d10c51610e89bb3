"""A stand-in for OpenAI's Responses API, written from the types of the openai SDK."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from typing import Any

from support.vendors.stand_in import QUOTED_KEY, StandIn, event, halves
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import ErrorCategory
from xmcp.chat.usage import Usage
from xmcp.providers import LLMProvider, OpenAIResponsesProvider
from xmcp.providers.contract import SECRET, Answer, Asked, Feature, Raw, Said

MODEL = "gpt-test"
REFUSALS: dict[ErrorCategory, tuple[int, str, str]] = {
    ErrorCategory.QUOTA: (429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
    ErrorCategory.RATE_LIMIT: (429, "rate_limit_exceeded", "Rate limit reached for requests per minute."),
    ErrorCategory.AUTH: (401, "invalid_api_key", QUOTED_KEY),
    ErrorCategory.BALANCE: (402, "insufficient_balance", "Insufficient Balance"),
    ErrorCategory.NETWORK: (503, "server_error", "The engine is currently overloaded."),
    ErrorCategory.CONTEXT: (
        400,
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    ErrorCategory.CONTENT: (
        400,
        "invalid_prompt",
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
    ),
}
_MEMBERS = {
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "model",
    "reasoning",
    "store",
    "stream",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
}
"""What a request may have: the API refuses others as unknown parameters."""


class Responses(StandIn):
    """OpenAI's Responses API, as a `Vendor` of the contract."""

    models = (MODEL, "gpt-other")
    lacks: frozenset[Feature] = frozenset({"stop"})

    def make(self, url: str) -> LLMProvider:
        """See `StandIn.make`."""
        return OpenAIResponsesProvider(SECRET, f"{url}/v1", MODEL)

    def read(self, path: str, body: Any) -> Asked:
        """See `StandIn.read`."""
        assert path == "/v1/responses", path
        assert (body["stream"], body["store"]) == (True, False)
        assert body["include"] == ["reasoning.encrypted_content"]
        assert body.keys() <= _MEMBERS, body.keys()
        for tool in body.get("tools", ()):
            assert (tool["type"], tool["strict"]) == ("function", False)
            assert tool.keys() == {"type", "name", "description", "parameters", "strict"}, tool
        tools = {tool["name"]: tool["parameters"] for tool in body.get("tools", ())}
        options = {name: body[name] for name in ("temperature", "top_p") if name in body}
        if "max_output_tokens" in body:
            options["max_tokens"] = body["max_output_tokens"]
        if (choice := body.get("tool_choice")) is not None:
            assert isinstance(choice, str) or choice.keys() == {"type", "name"}
            options["tool_choice"] = choice if isinstance(choice, str) else choice["name"]
        instructions = [Said("system", body["instructions"])] if "instructions" in body else []
        return Asked(body["model"], (*instructions, *_said(body["input"])), tools, options)

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """See `StandIn.refused`."""
        unknown = (404, "model_not_found", f"The model `{model}` does not exist or you do not have access to it.")
        status, code, message = REFUSALS.get(category, unknown)
        return status, {"error": {"message": message, "type": "invalid_request_error", "code": code, "param": None}}

    def streamed(self, answer: Answer) -> bytes:
        """See `StandIn.streamed`."""
        return b"".join(event(one, one["type"]) for one in events(answer))

    def begun(self, text: str) -> bytes:
        """See `StandIn.begun`."""
        whole = list(events(Answer(text)))
        last = max(place for place, one in enumerate(whole) if one["type"] == "response.output_text.delta")
        return b"".join(event(one, one["type"]) for one in whole[: last + 1])

    def listed(self, path: str) -> Any:
        """See `StandIn.listed`."""
        assert path == "/v1/models", path
        return {
            "object": "list",
            "data": [{"id": one, "object": "model", "created": 0, "owned_by": "openai"} for one in self.models],
        }

    malformed: tuple[Raw, ...] = (
        *(
            Raw(why, json.dumps({"object": "response", "model": MODEL, "status": "completed", **members}).encode())
            for why, members in {
                "an output that is no list": {"output": {"type": "message"}},
                "an output of texts": {"output": ["ok"]},
                "a number as the name of a function": {
                    "output": [{"type": "function_call", "call_id": "c1", "name": 7, "arguments": "{}"}]
                },
                "arguments that are an object": {
                    "output": [{"type": "function_call", "call_id": "c1", "name": "add", "arguments": {"a": 1}}]
                },
                "a message of texts": {"output": [{"type": "message", "role": "assistant", "content": ["ok"]}]},
                "a text that is a list": {
                    "output": [{"type": "message", "content": [{"type": "output_text", "text": ["ok"]}]}]
                },
                "a status that is an object": {"output": [], "status": {"why": "completed"}},
                "an incomplete answer for an object as its reason": {
                    "output": [],
                    "status": "incomplete",
                    "incomplete_details": {"reason": {"why": "max_output_tokens"}},
                },
                "a chat completion": {"choices": []},
                "an error that is a list": {"output": [], "error": ["broken"]},
            }.items()
        ),
        *(
            Raw(why, event({"output_index": 0, "sequence_number": 0, **members}), "text/event-stream")
            for why, members in {
                "a number as a piece of text": {"type": "response.output_text.delta", "delta": 7},
                "no piece of text": {"type": "response.output_text.delta"},
                "a list as a piece of arguments": {"type": "response.function_call_arguments.delta", "delta": []},
                "a list as the place of a piece": {
                    "type": "response.output_text.delta",
                    "delta": "ok",
                    "output_index": [],
                },
                "a text as an item": {"type": "response.output_item.added", "item": "ok"},
                "an item whose type is a list": {"type": "response.output_item.done", "item": {"type": []}},
                "a text as the answer": {"type": "response.completed", "response": "ok"},
                "an event without a type": {"delta": "ok"},
                "an event whose type is a list": {"type": ["response.completed"]},
                "a failure without its reason": {"type": "response.failed", "response": {"error": 7}},
            }.items()
        ),
    )


def events(answer: Answer) -> Iterator[dict[str, Any]]:
    """Yield the events in which the API streams an answer."""
    numbers = itertools.count()

    def said(kind: str, **members: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "sequence_number": next(numbers), **members}

    yield said("created", response=response("in_progress"))
    yield said("in_progress", response=response("in_progress"))
    items = list(output(answer))
    for place, item in enumerate(items):
        at = {"output_index": place, "item_id": item["id"]}
        match item["type"]:
            case "reasoning":
                begun = {**item, "summary": [], "encrypted_content": item["encrypted_content"][:8]}
                yield said("output_item.added", output_index=place, item=begun)
                (part,) = item["summary"]
                yield said("reasoning_summary_part.added", **at, summary_index=0, part={**part, "text": ""})
                for piece in halves(part["text"]):
                    yield said("reasoning_summary_text.delta", **at, summary_index=0, delta=piece)
                yield said("reasoning_summary_text.done", **at, summary_index=0, text=part["text"])
                yield said("reasoning_summary_part.done", **at, summary_index=0, part=part)
            case "message":
                (part,) = item["content"]
                begun = {**item, "content": [], "status": "in_progress"}
                yield said("output_item.added", output_index=place, item=begun)
                yield said("content_part.added", **at, content_index=0, part={**part, "text": ""})
                for piece in halves(part["text"]):
                    yield said("output_text.delta", **at, content_index=0, delta=piece, logprobs=[])
                yield said("output_text.done", **at, content_index=0, text=part["text"], logprobs=[])
                yield said("content_part.done", **at, content_index=0, part=part)
            case "function_call":
                begun = {**item, "arguments": "", "status": "in_progress"}
                yield said("output_item.added", output_index=place, item=begun)
                for piece in halves(item["arguments"]):
                    yield said("function_call_arguments.delta", **at, delta=piece)
                yield said("function_call_arguments.done", **at, name=item["name"], arguments=item["arguments"])
        yield said("output_item.done", output_index=place, item=item)
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    reason = reasons.get(answer.finish_reason)
    end = "completed" if reason is None else "incomplete"
    details = None if reason is None else {"reason": reason}
    yield said(end, response=response(end, items, incomplete_details=details, usage=_usage(answer.usage)))


def output(answer: Answer) -> Iterator[dict[str, Any]]:
    """Yield the items of an answer: reasoning, a message, calls."""
    status = "incomplete" if answer.finish_reason in ("length", "content_filter") else "completed"
    if answer.reasoning:
        thought = [{"type": "summary_text", "text": answer.reasoning}]
        yield {"id": "rs_1", "type": "reasoning", "summary": thought, "encrypted_content": encrypted(answer.reasoning)}
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        yield {"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": [part]}
    for place, call in enumerate(answer.calls):
        yield {
            "id": f"fc_{place}",
            "type": "function_call",
            "status": status,
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }


def encrypted(reasoning: str) -> str:
    """Return what the API makes of reasoning."""
    return "gAAAAA" + base64.urlsafe_b64encode(reasoning.encode()).decode()


def response(status: str, items: Any = (), **members: Any) -> dict[str, Any]:
    """Return a response object."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_764_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": MODEL,
        "output": list(items),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "medium", "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "metadata": {},
        **members,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 1},
        "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
    }


def _said(items: list[dict[str, Any]]) -> list[Said]:
    """Return the messages in an input. What one answer of the model consisted of is one message."""
    said: list[Said] = []
    answer: list[dict[str, Any]] = []
    for item in [*items, None]:
        if item is not None and (item.get("type") in ("reasoning", "function_call") or item.get("role") == "assistant"):
            answer.append(item)
            continue
        if answer:
            said.append(_answer(answer))
            answer = []
        if item is None:
            continue
        if item.get("type") == "function_call_output":
            said.append(Said("tool", *_content(item["output"]), of=item["call_id"]))
        else:
            assert item["role"] in ("user", "system", "developer"), item
            said.append(Said(item["role"], *_content(item["content"])))
    return said


def _answer(items: list[dict[str, Any]]) -> Said:
    text, calls, state = "", [], []
    for place, item in enumerate(items):
        match item.get("type", "message"):
            case "reasoning":
                assert place + 1 < len(items), "reasoning without the item that followed it"
                assert {"id", "summary", "encrypted_content"} <= item.keys(), item
                assert item["encrypted_content"].startswith("gAAAAA")
                state.append(item["encrypted_content"])
            case "function_call":
                assert isinstance(json.loads(item["arguments"]), dict)
                calls.append(ToolCall(item["call_id"], item["name"], item["arguments"]))
            case "message":
                text += item["content"]
    return Said("assistant", text, (), tuple(calls), state=state or None)


def _content(content: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    if isinstance(content, str):
        return content, ()
    assert all(part["type"] in ("input_text", "input_image") for part in content), content
    texts = [part["text"] for part in content if part["type"] == "input_text"]
    pictures = [part for part in content if part["type"] == "input_image"]
    assert all(part["detail"] in ("auto", "low", "high", "original") for part in pictures)
    images = [part["image_url"].removeprefix("data:").split(";base64,") for part in pictures]
    return "".join(texts), tuple((kind, data) for kind, data in images)
