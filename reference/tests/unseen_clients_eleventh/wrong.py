"""Changes that each make a client break one sentence, as hasty implementations do."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xmcp.chat import messages
from xmcp.chat.events import ToolDisplay, ToolError, ToolEvent, ToolResult
from xmcp.chat.messages import Message
from xmcp.client.calls import app_parameters, breaker_guard, cache, content_blocks, context_budget, retry_policy
from xmcp.client.calls.active_call import ChatScope, Event, Request
from xmcp.client.calls.pipeline import Outcome, Pipeline
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.tool_client_adapter import ToolClientAdapter
from xmcp.client.tools import dependencies
from xmcp.client.tools.catalogue import Entry
from xmcp.storage import breakers
from xmcp.wire import DisplayEnvelope, ErrorInfo


def ids_unique_in_one_chat_only() -> None:
    """A vendor's id for a call is kept even if a call in the history of the application has it (XMCP-CLI-005)."""

    def of_no_history(history: Sequence[Message]) -> set[str]:
        return set()

    messages.call_ids = of_no_history


def null_arguments_left_out() -> None:
    """What the model wrote as `null` is taken for "not set" and not sent to the server (XMCP-CLI-012)."""
    run = Pipeline.run

    async def without_nulls(
        self: Pipeline, request: Request, turn: int, scope: ChatScope, emit: Callable[[Event], None]
    ) -> Outcome:
        if turn and isinstance(request.arguments, dict):
            handed_on = request.handed_on
            kept = {name: value for name, value in request.arguments.items() if value is not None or name in handed_on}
            request = replace(request, arguments=kept)
        return await run(self, request, turn, scope, emit)

    Pipeline.run = without_nulls  # type: ignore[method-assign]


def later_call_goes_first() -> None:
    """Of equally near predecessors, the one that the model called later counts, not the one that is declared later.

    It breaks XMCP-CLI-032.
    """
    successes = dependencies._successes

    def in_call_order(
        row: Sequence[int], entries: Sequence[Entry], results: Sequence[dependencies.Result | None]
    ) -> list[int]:
        return sorted(successes(row, entries, results))

    dependencies._successes = in_call_order


def waits_whole_seconds() -> None:
    """The wait that a server asks for is cut to whole seconds, so that the next attempt comes early (XMCP-ERR-041)."""
    wait = retry_policy.wait

    def in_seconds(policy: RetryPolicy, failures: int, error: ErrorInfo, **options: Any) -> float:
        if error.retry_after_ms is not None:
            error = replace(error, retry_after_ms=error.retry_after_ms // 1000 * 1000)
        return wait(policy, failures, error, **options)

    retry_policy.wait = in_seconds


def cancelled_calls_are_failures() -> None:
    """A circuit breaker counts a call that ended with its cancelled chat as a failure (XMCP-CLI-101)."""
    report = breaker_guard.Ticket.report

    async def any_exception_counts(self: breaker_guard.Ticket, outcome: breakers.Outcome) -> None:
        cancelled = isinstance(sys.exc_info()[1], asyncio.CancelledError)
        await report(self, "failed" if cancelled and outcome == "unknown" else outcome)

    breaker_guard.Ticket.report = any_exception_counts  # type: ignore[method-assign]


def cache_key_of_texts() -> None:
    """The key of the cache has each argument as a text, so that `7` gets the answer to `"7"` (XMCP-CLI-051)."""
    key = cache.key

    def as_text(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: as_text(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [as_text(part) for part in value]
        return str(value)

    def of_texts(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        return key(tenant_id, entry, {name: as_text(value) for name, value in arguments.items()})

    cache.key = of_texts


def display_budget_in_characters() -> None:
    """The length of a display before the model is counted in characters and not in bytes of UTF-8 (XMCP-DSP-040)."""
    in_bytes, reference = context_budget.size, context_budget.reference

    def in_characters(display: DisplayEnvelope) -> int:
        return len(json.dumps(display.to_dict(), ensure_ascii=False, separators=(",", ":")))

    def with_its_bytes(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        made = reference(display, note=note)
        payload: Any = made.payload
        return made.model_copy(update={"payload": {**payload, "bytes": in_bytes(display)}})

    context_budget.size = in_characters
    context_budget.reference = with_its_bytes


def time_over_answers_with_the_last_text() -> None:
    """At the end of the chat's time, what the model wrote beside the running calls is the `answer` (XMCP-CLI-124)."""
    take, done = Chat._take, Chat._done

    def remember(self: Any, turn: Any) -> None:
        take(self, turn)
        self.text_beside_calls = turn._text if turn.timed_out else ""

    def with_some_text(self: Any, stop_reason: Any, answer: str = "") -> Any:
        if stop_reason == "timeout":
            answer = answer or getattr(self, "text_beside_calls", "")
        return done(self, stop_reason, answer)

    Chat._take = remember  # type: ignore[method-assign]
    Chat._done = with_some_text  # type: ignore[method-assign]


def false_is_no_value() -> None:
    """A value of the application that is `False`, 0 or an empty text is taken for none, and not sent (XMCP-CLI-083)."""
    filled = app_parameters.filled

    def if_true(given: Any) -> Any:
        if not callable(given):
            return given or None

        async def ask(state: ToolState) -> Any:
            value = given(state)
            return (await value if inspect.isawaitable(value) else value) or None

        return ask

    async def with_true_values(params: Mapping[str, Any], entry: Entry, state: ToolState) -> dict[str, Any] | ErrorInfo:
        return await filled({name: if_true(value) for name, value in params.items()}, entry, state)

    app_parameters.filled = with_true_values


def last_part_of_a_prefixed_name() -> None:
    """The tool of a named server is called by what follows the last two underscores of its offered name.

    A tool `sales__list` of the server `crm` is called as `list` (XMCP-CLI-093).
    """
    over_mcp, of_object = Server.execute_tool_call, ToolClientAdapter.execute_tool_call

    def cut(tool: str) -> str:
        return tool.rpartition("__")[2] or tool

    async def call_mcp(self: Server, tool_name: str, *given: Any) -> Any:
        return await over_mcp(self, cut(tool_name) if self.named else tool_name, *given)

    async def call_object(self: ToolClientAdapter, tool_name: str, *given: Any) -> Any:
        return await of_object(self, cut(tool_name) if self.named else tool_name, *given)

    Server.execute_tool_call = call_mcp  # type: ignore[method-assign]
    ToolClientAdapter.execute_tool_call = call_object  # type: ignore[method-assign]


def outcome_named_by_the_document() -> None:
    """The events of a call's outcome have the `tool_name` of the server's document, not the offered name.

    It breaks XMCP-REC-006 where the application named the server.
    """
    events_of = ToolTurn._outcome_events

    def named_anew(self: ToolTurn, index: int) -> Sequence[ToolEvent]:
        events, outcome = events_of(self, index), self.outcomes[index]
        if outcome is None:
            return events
        name = outcome.response.tool_name
        return [
            replace(event, tool_name=name) if isinstance(event, ToolResult | ToolError | ToolDisplay) else event
            for event in events
        ]

    ToolTurn._outcome_events = named_anew  # type: ignore[method-assign]


def for_both_is_for_the_user() -> None:
    """A block whose audience is the user and the assistant is kept from the model (XMCP-MCP-011)."""

    def names_the_user(block: Any) -> bool:
        return "user" in content_blocks._audience(block)

    content_blocks.is_for_user_alone = names_the_user
