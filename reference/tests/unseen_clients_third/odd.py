"""Four further clients that are unusual and obey every sentence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import messages
from xmcp.chat.completions import ToolCall
from xmcp.chat.events import ChatChunk, LLMDelta, ToolEvent, ToolRequested, ToolWarning
from xmcp.client.calls import cache, content_blocks, retry_policy, server_results
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools.catalogue import Entry
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse
from xmcp.wire.lexical import is_media_type
from xmcp_models.registry import RESULT_META_KEY


def letter_by_letter() -> None:
    """Tell the model's text one character at a time, and warn of each call: both are open (11.11, 10.2)."""
    right_run, right_turn = Chat.run, ToolTurn.run

    async def run(self: Chat) -> AsyncGenerator[ChatChunk, None]:
        async with aclosing(right_run(self)) as events:
            async for event in events:
                if isinstance(event, LLMDelta):
                    for character in event.text:
                        yield replace(event, text=character)
                else:
                    yield event

    async def run_turn(self: ToolTurn) -> AsyncGenerator[ToolEvent, None]:
        async with aclosing(right_turn(self)) as events:
            async for event in events:
                yield event
                if isinstance(event, ToolRequested):
                    text = "The model asked for this call."
                    yield ToolWarning(turn=event.turn, call_id=event.call_id, tool_name=event.tool_name, text=text)

    Chat.run = run
    ToolTurn.run = run_turn


def bare_messages() -> None:
    """Write tool messages without `name`, and an empty text beside calls without text: both are open (11.1)."""
    right_tool, right_assistant = messages.tool_message, messages.assistant_message

    def tool_message(call: ToolCall, content: str) -> dict[str, Any]:
        return {name: value for name, value in right_tool(call, content).items() if name != "name"}

    def assistant_message(text: str, calls: Any = ()) -> dict[str, Any]:
        made = right_assistant(text, calls)
        return {**made, "content": made["content"] or ""}

    messages.tool_message = tool_message
    messages.assistant_message = assistant_message


def hurried_and_even() -> None:
    """Wait no longer than a server asks, and take `1` and `1.0` for equal in the cache: both are open (11.4, 11.11)."""
    right_key = cache.key

    def wait(_policy: RetryPolicy, _failures: int, error: ErrorInfo, **_more: Any) -> float:
        return (error.retry_after_ms or 0) / 1000

    def even(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: even(member) for name, member in value.items()}
        if isinstance(value, list):
            return [even(item) for item in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        return right_key(tenant_id, entry, even(arguments))

    retry_policy.wait = wait
    cache.key = key


def repeats_the_marks_of_plain_results() -> None:
    """Repeat a plain result's `format`, `truncated` and `lossy`, and show the person empty blocks (11.11)."""
    right_members, right_words = server_results._read_members, content_blocks._words

    def read_members(result: Any, tool_name: str, text: str, meta: Mapping[str, Any]) -> ToolResponse:
        response = right_members(result, tool_name, text, meta)
        mark = meta.get(RESULT_META_KEY)
        if response.llm_output is None or not isinstance(mark, Mapping):
            return response
        named = mark.get("format")
        return replace(
            response,
            format=named if is_media_type(named) else None,
            truncated=mark.get("truncated") is True,
            lossy=mark.get("lossy") is True,
        )

    def words(block: Any) -> DisplayEnvelope | None:
        shown = right_words(block)
        return DisplayEnvelope(type="text", payload="") if shown is None and block.type == "text" else shown

    server_results._read_members = read_members
    content_blocks._words = words
