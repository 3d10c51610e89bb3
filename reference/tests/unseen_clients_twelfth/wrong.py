"""Clients that are wrong: each function changes the reference client of this process, and breaks one sentence."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from xmcp.chat import messages
from xmcp.chat.completions import Completion
from xmcp.chat.events import StopReason, ToolEvent, ToolResult
from xmcp.chat.messages import Message
from xmcp.client.calls import app_parameters, attempt, breaker_guard, cache, content_blocks, retry_policy
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, Next, NextOfAttempt, Stage
from xmcp.client.calls.content_blocks import Parts
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import Reading, ServerResult
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop import chat, stop_reason
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools import dependencies, names
from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import Result
from xmcp.client.tools.names import Listing
from xmcp.storage.breakers import BreakerStore, Outcome
from xmcp.wire import XML_WHITE_SPACE, DecodeError, DisplayEnvelope, ErrorInfo, ToolResponse, decode


def forgets_the_ids_of_earlier_chats() -> None:
    """Keep the ids of calls apart within one chat, but not from those in the history that it continues (XMCP-CLI-005).

    A vendor that numbers the calls of each request from 0 has the same ids again in the next chat.
    """

    def no_ids(history: Sequence[Message]) -> set[str]:
        return set()

    messages.call_ids = no_ids


def leaves_out_what_is_null() -> None:
    """Send the server no argument that the model wrote as `null` (XMCP-CLI-012).

    What a predecessor handed on stays, also where it is `null`.
    """
    original = attempt.call_server

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        ask = original(timeouts)

        async def without_nulls(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            handed_on = call.request.handed_on
            given = call.arguments.items()
            call.settled = {name: value for name, value in given if value is not None or name in handed_on}
            return await ask(call, proceed)

        return without_nulls

    attempt.call_server = call_server


def looks_in_earlier_calls_of_the_tool() -> None:
    """Where the last successful call of a tool has no value for a parameter, take that of a call before it.

    By XMCP-CLI-034 only the last one that succeeded hands anything on.
    """

    def successes(row: Sequence[int], entries: Sequence[Entry], results: Sequence[Result | None]) -> list[int]:
        return [place for place in row if results[place] is not None]

    dependencies._successes = successes


def prefers_what_the_server_said() -> None:
    """Where the last attempt lost its connection, answer with the error that the server gave to an earlier attempt.

    By XMCP-CLI-125 the code is `CONNECTION_FAILED`.
    """
    original = retry_policy.stage

    def stage(policy: RetryPolicy, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> Stage:
        retry = original(policy, sleep)

        async def retry_and_compare(call: ActiveCall, proceed: Next) -> Reading:
            said: list[Reading] = []

            async def noted(one: ActiveCall) -> Reading:
                reading = await proceed(one)
                if reading.response.error is not None:
                    said.append(reading)
                return reading

            reading = await retry(call, noted)
            error = reading.response.error
            if not said or reading is said[-1] or error is None or error.code != "CONNECTION_FAILED":
                return reading
            return said[-1]

        return retry_and_compare

    retry_policy.stage = stage


def closes_only_after_a_success() -> None:
    """Keep a circuit breaker open where the tool answered the probe with an error (XMCP-CLI-045).

    While the breaker is closed, such an answer is no failure.
    """
    tool_failed: ContextVar[bool] = ContextVar("tool_failed", default=False)
    original_stage, original_report = breaker_guard.stage, breaker_guard.Ticket.report

    def stage(breakers: BreakerStore | None) -> AttemptStage | None:
        ask = original_stage(breakers)
        if ask is None:
            return None

        async def ask_and_note(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            async def noted(one: ActiveCall) -> ServerResult:
                tool_failed.set(False)
                result = await proceed(one)
                tool_failed.set(result.is_error is True)
                return result

            return await ask(call, noted)

        return ask_and_note

    async def report(self: breaker_guard.Ticket, outcome: Outcome) -> None:
        failed = self.is_probe and outcome == "ok" and tool_failed.get()
        await original_report(self, "failed" if failed else outcome)

    breaker_guard.stage = stage
    breaker_guard.Ticket.report = report  # type: ignore[method-assign]


def takes_lists_for_sets() -> None:
    """Answer a call from the cache where its arguments differ in the order of a list only (XMCP-CLI-051)."""
    original = cache.key

    def sorted_lists(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: sorted_lists(part) for name, part in value.items()}
        if isinstance(value, list):
            parts = [sorted_lists(part) for part in value]
            return sorted(parts, key=lambda part: json.dumps(part, sort_keys=True))
        return value

    def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        try:
            return original(tenant_id, entry, sorted_lists(arguments))
        except TypeError:
            return original(tenant_id, entry, arguments)

    cache.key = key


def shows_no_display_beside_an_error() -> None:
    """Show the person the display of a call only if the call succeeded (XMCP-DSP-042).

    Blocks for the person are shown beside an error, too.
    """

    def displays(self: ToolResponse) -> tuple[DisplayEnvelope, ...]:
        own = () if self.display is None or self.error is not None else (self.display,)
        return (*own, *self.for_person)

    def first_display(self: ToolTurn) -> DisplayEnvelope | None:
        succeeded = (one.response for one in self.outcomes if one is not None and one.response.error is None)
        return next((response.display for response in succeeded if response.display is not None), None)

    ToolResponse.displays = property(displays)  # type: ignore[method-assign, assignment]
    ToolTurn.first_display = property(first_display)  # type: ignore[method-assign, assignment]


def calls_a_cut_answer_empty() -> None:
    """End a chat with `empty` where the vendor cut or withheld the answer before any text came.

    By XMCP-CLI-133 it ends as the first table of section 11.7 has it: with `length` or `content_filter`.
    """
    original = stop_reason.ending

    def ending(completion: Completion) -> tuple[StopReason, str | None]:
        if completion.text.strip(XML_WHITE_SPACE):
            return original(completion)
        return "empty", "The model answered with neither text nor calls."

    chat.ending = ending  # type: ignore[attr-defined]


def takes_zero_and_false_for_no_value() -> None:
    """Take a value of the application that is 0, `False` or empty as none (XMCP-CLI-083)."""
    original = app_parameters.filled

    def asked(function: Callable[[ToolState], Any]) -> Callable[[ToolState], Awaitable[Any]]:
        async def ask(state: ToolState) -> Any:
            value = function(state)
            if inspect.isawaitable(value):
                value = await value
            return value or None

        return ask

    async def filled(params: Mapping[str, Any], entry: Entry, state: ToolState) -> dict[str, Any] | ErrorInfo:
        given = {name: asked(value) if callable(value) else value or None for name, value in params.items()}
        return await original(given, entry, state)

    app_parameters.filled = filled


def puts_no_prefix_before_a_prefix() -> None:
    """Offer a tool under its own name where that begins with the name that the application gave the server.

    By XMCP-CLI-092 the tool `crm_find` of the server `crm` is `crm__crm_find`.
    """
    original = names._full

    def full(listing: Listing, tool: str) -> str:
        return tool if tool.startswith(f"{listing.server}_") else original(listing, tool)

    names._full = full


def tells_what_the_model_reads() -> None:
    """Give as the `text` of the event `tool_result` the text of the document that the model gets (XMCP-REC-006).

    The two differ where the text is shortened for the model, has a character that XML cannot carry, or has a line in
    the place of a block for the person.
    """
    original = ToolTurn._outcome_events

    def outcome_events(self: ToolTurn, index: int) -> Sequence[ToolEvent]:
        events, outcome = original(self, index), self.outcomes[index]
        if outcome is None:
            return events
        try:
            text = decode(outcome.content, bad_display="drop").llm_output or ""
        except DecodeError:
            return events
        return [replace(event, text=text) if isinstance(event, ToolResult) else event for event in events]

    ToolTurn._outcome_events = outcome_events  # type: ignore[method-assign]


def reads_the_audience_of_texts_only() -> None:
    """Tell the model of a link or an embedded resource for the user alone what it tells of any (XMCP-MCP-045).

    The person is shown the block all the same.
    """
    original = content_blocks.divide

    def for_all(block: Any) -> Any:
        is_text = block.type not in ("resource", "resource_link")
        return block if is_text else block.model_copy(update={"annotations": None})

    def divide(blocks: Sequence[Any]) -> Parts:
        return replace(original(blocks), text=original([for_all(block) for block in blocks]).text)

    content_blocks.divide = divide
