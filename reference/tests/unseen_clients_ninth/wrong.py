"""Twelve changes of the reference client, each of which breaks one sentence of the specification."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import messages
from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import ToolCall
from xmcp.client.calls import approval, attempt, breaker_guard, cache, content_blocks, context_budget
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, NextOfAttempt
from xmcp.client.calls.content_blocks import Parts
from xmcp.client.calls.server_results import Reading, ServerResult
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop import usage
from xmcp.client.loop.chat import Chat
from xmcp.client.tools import dependencies
from xmcp.storage.breakers import Outcome
from xmcp.wire import DisplayEnvelope, ErrorInfo


def empty_arguments_as_written() -> None:
    """Keep arguments that are an empty text, or white space, in the history, where `{}` belongs (XMCP-CLI-007)."""

    def written(call: ToolCall) -> str:
        return call.arguments if isinstance(parse_arguments(call.arguments), dict) else "{}"

    messages._object = written


def nulls_left_out() -> None:
    """Leave arguments that the model wrote as `null` out of the request to the server (XMCP-CLI-012)."""
    original = attempt.call_server

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        ask = original(timeouts)

        async def without_nulls(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            handed_on = call.request.handed_on
            call.settled = {
                name: value for name, value in call.arguments.items() if value is not None or name in handed_on
            }
            return await ask(call, proceed)

        return without_nulls

    attempt.call_server = call_server


def calls_only_at_tool_calls() -> None:
    """Take an answer whose `finish_reason` is `stop` for one without calls, also where it has some (XMCP-CLI-123)."""
    original = Chat._pieces

    async def pieces(self: Chat, model: Any, state: Any) -> AsyncGenerator[str, None]:
        async with aclosing(original(self, model, state)) as answer:
            async for piece in answer:
                yield piece
        if self._completion.finish_reason == "stop":
            self._completion = replace(self._completion, tool_calls=())

    Chat._pieces = pieces  # type: ignore[method-assign]


def fit_by_type() -> None:
    """Check a value that is handed on against the `type` of its parameter, and no other keyword (XMCP-CLI-036)."""
    original = dependencies._refused

    def refused(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str | None]:
        parts = schema["properties"]
        types = {
            name: {"type": parts[name]["type"]}
            for name in original(schema, values)
            if isinstance(parts[name], Mapping) and "type" in parts[name]
        }
        return original({"properties": types}, {name: values[name] for name in types})

    dependencies._refused = refused


def cancelled_calls_are_failures() -> None:
    """Let a circuit breaker count a call that the end of its chat cancelled as a failure (XMCP-CLI-101)."""
    original = breaker_guard.Ticket.report

    async def report(self: breaker_guard.Ticket, outcome: Outcome) -> None:
        task = asyncio.current_task()
        cancelled = task is not None and task.cancelling() > 0
        await original(self, "failed" if cancelled and outcome == "unknown" else outcome)

    breaker_guard.Ticket.report = report  # type: ignore[method-assign]


def what_is_not_found_is_cached() -> None:
    """Put errors of the category `not_found` into the cache, like any lasting answer (XMCP-CLI-052)."""
    original = cache.can_be_kept

    def can_be_kept(reading: Reading) -> bool:
        error = reading.response.error
        return original(reading) or (error is not None and error.category == "not_found")

    cache.can_be_kept = can_be_kept


def display_budget_in_characters() -> None:
    """Compare the characters, and not the bytes, of a display with the display budget (XMCP-DSP-040)."""
    size_in_bytes, original = context_budget.size, context_budget.reference

    def characters(display: DisplayEnvelope) -> int:
        return len(json.dumps(display.to_dict(), ensure_ascii=False, separators=(",", ":")))

    def reference(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        shown = original(display, note=note)
        payload: Any = shown.payload
        return shown.model_copy(update={"payload": {**payload, "bytes": size_in_bytes(display)}})

    context_budget.size = characters
    context_budget.reference = reference


def words_beside_a_display_are_the_answer() -> None:
    """Give what the model wrote beside its calls as the answer of a chat that a display ended (XMCP-CLI-124)."""
    original = Chat._done

    def done(self: Chat, stop_reason: Any, answer: str = "") -> Any:
        return original(self, stop_reason, self._completion.text if stop_reason == "display" else answer)

    Chat._done = done  # type: ignore[method-assign]


def approved_once_for_the_chat() -> None:
    """Take an approval of one call for an approval of all later calls of that tool in the chat (XMCP-CLI-080)."""
    original = approval.refusal
    approved: set[tuple[str, str]] = set()

    async def refusal(
        approve: approval.Approve, state: ToolState, timeout: float | None, log: EventLog
    ) -> ErrorInfo | None:
        tool = (state.chat.chat_id, state.tool_name)
        if tool in approved:
            return None
        error = await original(approve, state, timeout, log)
        if error is None:
            approved.add(tool)
        return error

    approval.refusal = refusal


def server_name_cut_at_the_last_underscores() -> None:
    """Call a tool of a named server by what follows the last two underscores of the offered name (XMCP-CLI-093)."""
    original = attempt.call_server

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        ask = original(timeouts)

        async def by_the_last_part(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            entry = call.entry
            if entry.server.named:
                tool = entry.tool.rpartition("__")[2] or entry.tool
                call.request = replace(call.request, entry=replace(entry, tool=tool))
            return await ask(call, proceed)

        return by_the_last_part

    attempt.call_server = call_server


def unknown_cached_tokens_are_none_used() -> None:
    """Write 0 into `cached_tokens` of a usage record where the vendor gave no such count (XMCP-REC-010)."""
    original = usage.record

    def record(*args: Any, **options: Any) -> Any:
        made = original(*args, **options)
        made["cached_tokens"] = made["cached_tokens"] or 0
        return made

    usage.record = record


def audience_of_texts_only() -> None:
    """Give the model the text of an embedded resource also where that is for the user alone (XMCP-MCP-045)."""
    original = content_blocks.divide

    def for_everybody(block: Any) -> Any:
        is_text = block.type == "resource" and vars(block.resource).get("text")
        return block.model_copy(update={"annotations": None}) if is_text else block

    def divide(blocks: Sequence[Any]) -> Parts:
        return replace(original(blocks), text=original([for_everybody(block) for block in blocks]).text)

    content_blocks.divide = divide
