"""A stand-in for Anthropic's Messages API, in its version of 2026-10-21, written from the types of its SDK."""

from __future__ import annotations

import json
from typing import Any

from support.vendors.stand_in import QUOTED_KEY, StandIn, event, halves
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import ErrorCategory
from xmcp.providers import AnthropicProvider, LLMProvider
from xmcp.providers.contract import SECRET, Answer, Asked, Feature, Raw, Said

MODEL = "claude-sonnet-4-6"
SIGNATURE = "EqQBCgIYAhIM+signed/by=the+vendor=="

_MEMBERS = frozenset(
    {
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "output_config",
        "stop_sequences",
        "stream",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    }
)
"""Members of a request; with any other one the vendor refuses it, `temperature` among them."""

_REFUSALS: dict[ErrorCategory, tuple[int, str, str, str | None]] = {
    ErrorCategory.QUOTA: (
        429,
        "rate_limit_error",
        "Your organization has reached its limit for this month.",
        "enforced_spend_limit_reached",
    ),
    ErrorCategory.RATE_LIMIT: (
        429,
        "rate_limit_error",
        "This request would exceed the rate limit of 50 a minute.",
        None,
    ),
    ErrorCategory.AUTH: (401, "authentication_error", QUOTED_KEY, None),
    ErrorCategory.BALANCE: (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
        None,
    ),
    ErrorCategory.NETWORK: (529, "overloaded_error", "Overloaded", None),
    ErrorCategory.CONTEXT: (
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
        None,
    ),
    ErrorCategory.CONTENT: (400, "invalid_request_error", "Output blocked by content filtering policy", None),
}
_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


class AnthropicMessages(StandIn):
    """Anthropic, as a `Vendor` of the contract."""

    models: tuple[str, ...] = (MODEL, "claude-haiku-4-5")
    lacks: frozenset[Feature] = frozenset({"sampling"})

    def make(self, url: str) -> LLMProvider:
        """See `StandIn.make`."""
        return AnthropicProvider(SECRET, url, MODEL)

    def read(self, path: str, body: Any) -> Asked:
        """See `StandIn.read`."""
        assert path == "/v1/messages", path
        assert self.headers[-1]["authorization"] == f"Bearer {SECRET}"
        assert self.headers[-1]["anthropic-version"] == "2026-10-21"
        assert body["stream"] is True
        assert isinstance(body["max_tokens"], int)
        assert not (extra := body.keys() - _MEMBERS), f"{extra}: Extra inputs are not permitted"
        tools = {tool["name"]: tool["input_schema"] for tool in body.get("tools", ())}
        assert all(schema["type"] == "object" for schema in tools.values())
        options: dict[str, Any] = {"max_tokens": body["max_tokens"]}
        if "stop_sequences" in body:
            options["stop"] = body["stop_sequences"]
        if "tool_choice" in body:
            assert tools
            choice = body["tool_choice"]
            options["tool_choice"] = {"any": "required", "tool": choice.get("name")}.get(choice["type"], choice["type"])
            forced = choice["type"] in ("any", "tool")
            assert not (forced and body.get("thinking", {}).get("type") in ("adaptive", "enabled"))
        said = [Said("system", body["system"])] if "system" in body else []
        return Asked(body["model"], (*said, *_conversation(body["messages"])), tools, options)

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """See `StandIn.refused`."""
        status, kind, message, code = _REFUSALS.get(category, (404, "not_found_error", f"model: {model}", None))
        return status, error(kind, message, code)

    def streamed(self, answer: Answer) -> bytes:
        """See `StandIn.streamed`."""
        assert answer.usage.input_tokens is not None
        cached = answer.usage.cached_tokens or 0
        counts = {
            "input_tokens": answer.usage.input_tokens - cached - 3,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": cached,
        }
        blocks = []
        if answer.reasoning:
            blocks.append(thinking(answer.reasoning, SIGNATURE))
        if answer.text:
            blocks.append(text(*halves(answer.text)))
        blocks += [tool_use(call.id, call.name, *halves(call.arguments)) for call in answer.calls]
        return b"".join(
            [
                message_start({**counts, "output_tokens": 1}),
                event({"type": "ping"}, "ping"),
                *(block(index, begun, deltas) for index, (begun, deltas) in enumerate(blocks)),
                message_delta(_REASONS[answer.finish_reason], {**counts, "output_tokens": answer.usage.output_tokens}),
                event({"type": "message_stop"}, "message_stop"),
            ]
        )

    def begun(self, text_: str) -> bytes:
        """See `StandIn.begun`."""
        return message_start() + block(0, *text(text_)).partition(b"event: content_block_stop")[0]

    def listed(self, path: str) -> Any:
        """See `StandIn.listed`."""
        assert path == "/v1/models", path
        models = [{"type": "model", "id": one, "display_name": one, "lifecycle": "active"} for one in self.models]
        return {"data": models, "has_more": False, "first_id": self.models[0], "last_id": self.models[-1]}

    malformed: tuple[Raw, ...] = (
        *(
            Raw(why, json.dumps(answer).encode())
            for why, answer in {  # in one piece
                "no content": {"type": "message", "stop_reason": "end_turn"},
                "a content that is a text": {"type": "message", "content": "ok", "stop_reason": "end_turn"},
                "a number as the content": {"content": 7},
                "blocks that are texts": {"content": ["ok"]},
                "a number as a text": {"content": [{"type": "text", "text": 7}]},
                "a number as the name of a tool": {
                    "content": [{"type": "tool_use", "id": "t", "name": 7, "input": {}}]
                },
                "a list as an input": {"content": [{"type": "tool_use", "id": "t", "name": "add", "input": [1]}]},
                "an object as the reason": {"content": [], "stop_reason": {"why": "end_turn"}},
                "a number as the signature": {"content": [{"type": "thinking", "thinking": "Hm.", "signature": 7}]},
            }.items()
        ),
        *(
            Raw(why, event(data), "text/event-stream")
            for why, data in {
                "a message that is a text": {"type": "message_start", "message": "ok"},
                "a delta of no block": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}},
                "a block that is a list": {"type": "content_block_start", "index": 0, "content_block": []},
                "a list as an index": {
                    "type": "content_block_start",
                    "index": [0],
                    "content_block": {"type": "text", "text": ""},
                },
                "an end without a delta": {"type": "message_delta", "delta": None},
            }.items()
        ),
    )


def error(kind: str, message: str, code: str | None = None) -> dict[str, Any]:
    """Return the body of an error."""
    details = {"details": {"error_code": code}} if code else {}
    return {"type": "error", "error": {"type": kind, "message": message, **details}, "request_id": "req_1"}


def message_start(usage: dict[str, Any] | None = None) -> bytes:
    """Return the first event of a stream."""
    message: dict[str, Any] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 10, "output_tokens": 1},
    }
    return event({"type": "message_start", "message": message}, "message_start")


def message_delta(reason: str, usage: dict[str, Any] | None = None) -> bytes:
    """Return the event that says why an answer ends."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    return event({"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": 5}}, "message_delta")


Block = tuple[dict[str, Any], list[dict[str, Any]]]
"""A block as it begins, and its deltas."""


def text(*pieces: str) -> Block:
    """Return a block of text."""
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


def thinking(said: str, signature: str) -> Block:
    """Return a block of signed thinking."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in halves(said)]
    begun = {"type": "thinking", "thinking": "", "signature": ""}
    return begun, [*deltas, *([{"type": "signature_delta", "signature": signature}] if signature else [])]


def tool_use(id_: str, name: str, *pieces: str) -> Block:
    """Return a call."""
    begun = {"type": "tool_use", "id": id_, "name": name, "input": {}}
    return begun, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]


def block(index: int, begun: dict[str, Any], deltas: list[dict[str, Any]]) -> bytes:
    """Return the events of a block."""
    parts: list[tuple[str, dict[str, Any]]] = [("content_block_start", {"content_block": begun})]
    parts += [("content_block_delta", {"delta": delta}) for delta in deltas]
    parts.append(("content_block_stop", {}))
    return b"".join(event({"type": name, "index": index, **members}, name) for name, members in parts)


def _conversation(messages: list[Any]) -> list[Said]:
    said: list[Said] = []
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        assert message["role"] == ("assistant" if place % 2 else "user"), "the roles alternate"
        assert message["content"], "no message is empty"
        last = message["content"][-1]["type"]
        assert last not in ("thinking", "redacted_thinking"), "The final block in an assistant message cannot be that."
        results = [one for one in message["content"] if one["type"] == "tool_result"]
        assert [one["tool_use_id"] for one in results] == open_ids, "each call has its result in the next message"
        assert message["content"][: len(results)] == results, "results come before everything else"
        open_ids = [one["id"] for one in message["content"] if one["type"] == "tool_use"]
        said += [Said("tool", *_seen(one.get("content", [])), of=one["tool_use_id"]) for one in results]
        if rest := message["content"][len(results) :]:
            said.append(_one(message["role"], rest))
    assert not open_ids
    return said


def _one(role: Any, blocks: list[Any]) -> Said:
    uses = [one for one in blocks if one["type"] == "tool_use"]
    assert all(isinstance(one["input"], dict) for one in uses)
    calls = tuple(ToolCall(one["id"], one["name"], json.dumps(one["input"])) for one in uses)
    thought = [one for one in blocks if one["type"] == "thinking"]
    assert all(one == {"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE} for one in thought)
    shown = [one for one in blocks if one["type"] in ("text", "image")]
    return Said(role, *_seen(shown), calls, state=SIGNATURE if thought else None)


def _seen(content: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    if isinstance(content, str):
        assert content.strip()
        return content, ()
    texts = [one["text"] for one in content if one["type"] == "text"]
    assert all(one.strip() for one in texts), "text content blocks must contain non-whitespace text"
    sources = [one["source"] for one in content if one["type"] == "image"]
    assert all(source["type"] == "base64" for source in sources)
    return "".join(texts), tuple((source["media_type"], source["data"]) for source in sources)
