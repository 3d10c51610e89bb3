"""Twelve more faults, each put into the reference client of this process by one function."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat.arguments import parse_arguments
from xmcp.chat.events import ChatChunk, LLMRetry
from xmcp.chat.messages import Message
from xmcp.client.ai_client import AIClient
from xmcp.client.calls import attempt, breaker_guard, cache, content_blocks, context_budget, server_results
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, NextOfAttempt
from xmcp.client.calls.server_results import ServerResult
from xmcp.client.loop.chat import Chat
from xmcp.client.tools import dependencies, meta_tools
from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import Result
from xmcp.client.tools.schemas import offered
from xmcp.providers.formats import chat_completions
from xmcp.wire import DisplayEnvelope, ToolResponse


def retry_forgets_what_was_handed_on() -> None:
    """Make the later attempts of a call with what the model wrote, not with what was handed on (XMCP-CLI-030)."""
    right_stage = attempt.call_server

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        right = right_stage(timeouts)

        async def ask_the_server(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            written = parse_arguments(call.request.call.arguments)
            if call.state.attempts and isinstance(written, dict):
                names = call.request.handed_on
                kept = {name: value for name, value in call.arguments.items() if name not in names}
                call.settled = {**kept, **{name: value for name, value in written.items() if name in names}}
            return await right(call, proceed)

        return ask_the_server

    attempt.call_server = call_server


def hands_on_converted_values() -> None:
    """Convert a member that does not fit the parameter, such as "7" to 7, and make the call (XMCP-CLI-036)."""
    right = dependencies._value_for

    def value_for(result: Result, name: str, schema: Mapping[str, Any]) -> Any:
        value = right(result, name, schema)
        if dependencies._fits_parameter(schema, name, value):
            return value
        converted = value
        if isinstance(value, str):
            try:
                converted = json.loads(value)
            except (ValueError, RecursionError):
                return value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            converted = str(value)
        return converted if dependencies._fits_parameter(schema, name, converted) else value

    dependencies._value_for = value_for


def summary_forgets_the_turns_of_the_chat() -> None:
    """Let a summary replace also the turns after the newest user message (XMCP-CLI-086)."""
    right = meta_tools.summarized

    def summarized(history: Sequence[Message], summary: str) -> list[dict[str, Any]]:
        messages = right(history, summary)
        if messages == [dict(message) for message in history]:
            return messages
        newest = max(place for place, message in enumerate(messages) if message["role"] == "user")
        return messages[: newest + 1]

    meta_tools.summarized = summarized


def cancelled_calls_count_as_answered() -> None:
    """Tell the breaker that the server is well when a call ends because its chat was cancelled (XMCP-CLI-101)."""
    right = breaker_guard.Ticket.report

    async def report(self: breaker_guard.Ticket, outcome: Any) -> None:
        task = asyncio.current_task()
        cancelled = outcome == "unknown" and task is not None and task.cancelling() > 0
        await right(self, "ok" if cancelled else outcome)

    breaker_guard.Ticket.report = report


def cache_takes_texts_for_numbers() -> None:
    """Make the key of a cached answer of arguments as texts, so that "7" and 7 are the same (XMCP-CLI-051)."""
    right = cache.key

    def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        texts = {name: value if isinstance(value, dict | list) else str(value) for name, value in arguments.items()}
        return right(tenant_id, entry, texts)

    cache.key = key


def budget_in_characters() -> None:
    """Measure displays in characters, where the budget is in bytes of UTF-8 (XMCP-DSP-040)."""

    def size(display: DisplayEnvelope) -> int:
        return len(json.dumps(display.to_dict(), ensure_ascii=False, separators=(",", ":")))

    context_budget.size = size


def counts_attempts_of_each_model_anew() -> None:
    """Begin the `attempt` of a turn's events `retry` with 1 again at each change of model (XMCP-REC-006)."""
    right = Chat._ask

    async def ask(self: Chat, catalogue: Any) -> AsyncGenerator[ChatChunk, None]:
        asked, failures = self._model, 0
        async with aclosing(right(self, catalogue)) as events:
            async for event in events:
                if isinstance(event, LLMRetry):
                    failures += 1
                    yield replace(event, attempt=failures)
                    if self._model != asked:
                        asked, failures = self._model, 0
                    continue
                yield event

    Chat._ask = ask


def takes_retryable_from_the_code() -> None:
    """Take an error without `retryable` for what the registry says of its code, and retry its call (XMCP-ERR-015)."""
    right, said = server_results.decode, re.compile(r"<error\b[^>]*\sretryable\s*=")

    def decode(text: str, **options: Any) -> ToolResponse:
        response = right(text, **options)
        if response.error is not None and not said.search(text):
            response.error = replace(response.error, retryable=None)
        return response

    server_results.decode = decode


def refreshed_lists_show_everything() -> None:
    """Hide the application's parameters in the tools of the start, not in lists that came later (XMCP-CLI-082)."""
    right = AIClient._openai_tool

    def openai_tool(self: AIClient, entry: Entry, siblings: Mapping[str, Entry]) -> Mapping[str, Any]:
        return offered(entry, siblings) if self._servers._open else right(self, entry, siblings)

    AIClient._openai_tool = openai_tool


def white_space_between_words_is_lost() -> None:
    """Drop pieces of the model's text that are nothing but white space (XMCP-CLI-124)."""
    right = chat_completions.content_text

    def content_text(content: Any) -> str:
        text = right(content)
        return text if text.strip() else ""

    chat_completions.content_text = content_text


def failures_tell_the_model_everything() -> None:
    """Make the message of another server's failure of all its texts, also of one for the user (XMCP-MCP-045)."""
    right = server_results._read_plain

    def read_plain(result: ServerResult, tool_name: str, text: str) -> ToolResponse:
        if result.is_error:
            blocks = [
                block.model_copy(update={"annotations": None}) if block.type == "text" else block
                for block in result.content
            ]
            text = content_blocks.divide(blocks).text
        return right(result, tool_name, text)

    server_results._read_plain = read_plain


def references_in_the_given_history() -> None:
    """Write the reference for a large display into the application's own messages, too (XMCP-CLI-001)."""
    right_init, right_fit = Chat.__init__, Chat._fit_displays
    given: dict[int, Collection[Any]] = {}

    def init(self: Chat, *arguments: Any) -> None:
        right_init(self, *arguments)
        given[id(self)] = arguments[4]

    async def fit_displays(self: Chat) -> None:
        await right_fit(self)
        for message, sent in zip(given.pop(id(self)), self.messages, strict=False):
            same = message["role"] == "tool" and message["tool_call_id"] == sent.get("tool_call_id")
            if same and message["content"] != sent["content"]:
                message["content"] = sent["content"]

    Chat.__init__ = init
    Chat._fit_displays = fit_displays
