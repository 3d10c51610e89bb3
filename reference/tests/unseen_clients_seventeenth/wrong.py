"""Clients that break one sentence each, as changes of the reference client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import client_made_errors
from xmcp.chat.completions import Completion
from xmcp.chat.errors import CallFailed
from xmcp.chat.events import ChatChunk
from xmcp.chat.messages import text_of
from xmcp.chat.usage import UsageRecord
from xmcp.client.calls import app_parameters, cache, context_budget, retry_policy, server_results
from xmcp.client.calls.active_call import ActiveCall, Next, Retrying, Stage
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.callbacks import CALLBACK_SECONDS
from xmcp.client.hooks.callbacks import call as call_hook
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop import usage as accounting
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools import names
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.client.tools.names import Listing
from xmcp.wire import DecodeError, DisplayEnvelope, ErrorInfo, ToolResponse, decode


def no_warning_beside_an_error() -> None:
    """XMCP-RSP-072: a broken display is dropped without a warning where the document has an error."""
    read = server_results._read_document

    def read_document(result: Any, tool_name: str) -> Reading:
        reading = read(result, tool_name)
        if reading.response.error is not None:
            # The failure returns early, before the place at which warnings are collected.
            reading.response.warnings = ()
        return reading

    server_results._read_document = read_document


def fallback_not_measured() -> None:
    """XMCP-DSP-040: the budget is compared with the display without its `fallback`, which goes to the model with it."""
    with_reference, fit_one = context_budget._with_reference, context_budget._fit

    def is_small(display: DisplayEnvelope, budget: int) -> bool:
        # A renderer shows either the payload or the fallback, so only one of them was thought to count.
        return context_budget.size(display.model_copy(update={"fallback": None})) <= budget

    def reference_if_large(response: ToolResponse, display: DisplayEnvelope, budget: int) -> ToolResponse:
        return response if is_small(display, budget) else with_reference(response, display, budget)

    def fit(message: dict[str, Any], budget: int) -> dict[str, Any]:
        try:
            display = decode(text_of(message), bad_display="drop").display
        except DecodeError:
            return message
        return message if display is None or is_small(display, budget) else fit_one(message, budget)

    context_budget._with_reference = reference_if_large
    context_budget._fit = fit


def first_hint_only() -> None:
    """XMCP-ERR-041: what the first failure asked for is waited for; further attempts of the call follow at once."""
    wait = retry_policy.wait

    def wait_once(policy: RetryPolicy, failures: int, error: ErrorInfo, **options: Any) -> float:
        # The moment before which nothing is sent is set once for a call, and is over after the first wait.
        return wait(policy, failures, error, **options) if failures == 1 else 0.0

    retry_policy.wait = wait_once


def waits_for_the_one_that_hands_on() -> None:
    """XMCP-TOL-012: of several calls of one tool, a call waits only for the last one, if that succeeds."""
    run_call = ToolTurn._run_call

    async def run_and_release(self: ToolTurn, index: int) -> None:
        await run_call(self, index)
        entry, outcome = self._entries[index], self.outcomes[index]
        if entry is None or outcome is None or outcome.response.error is not None:
            return
        same = [
            place
            for place, other in enumerate(self._entries)
            if other is not None and other.server is entry.server and other.tool == entry.tool
        ]
        if index != same[-1]:
            return
        # Only this result is passed on (XMCP-CLI-034), so nothing more seems to be needed of the tool.
        for place in same:
            if place in self._finished:
                self._finished[place].set()

    ToolTurn._run_call = run_and_release  # type: ignore[method-assign]


def failure_with_a_display_alone_succeeds() -> None:
    """XMCP-MCP-052: `isError` counts only where the document has a text that can be the message."""
    read = server_results._read_document

    def read_document(result: Any, tool_name: str) -> Reading:
        # As the result would be read without `isError`.
        reading = read(result.model_copy(update={"is_error": False}), tool_name)
        response = reading.response
        if response.error is None and response.llm_output is None:
            return reading
        return read(result, tool_name)

    server_results._read_document = read_document


def nothing_cached_is_zero() -> None:
    """XMCP-REC-010: where the vendor counted the input and said nothing of a cache, `cached_tokens` is 0."""
    record = accounting.record

    def record_with_zero(completion: Completion, *args: Any, **options: Any) -> UsageRecord:
        made = record(completion, *args, **options)
        # `details.get("cached_tokens", 0)`: many vendors do not have the member.
        if completion.usage.input_tokens is not None and made["cached_tokens"] is None:
            made["cached_tokens"] = 0
        return made

    accounting.record = record_with_zero


def calls_of_a_filtered_answer_are_dropped() -> None:
    """XMCP-CLI-123: the calls of an answer that ends with `content_filter` are not made; those of `length` are."""
    ask = Chat._ask

    async def ask_and_drop(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        async with aclosing(ask(self, catalogue)) as events:
            async for event in events:
                yield event
        if self._completion.finish_reason == "content_filter":
            # A withheld answer was taken for one that is void.
            self._completion = replace(self._completion, tool_calls=())

    Chat._ask = ask_and_drop  # type: ignore[method-assign]


def only_the_last_attempt_is_in_doubt() -> None:
    """XMCP-CLI-132: of the earlier attempts of a call, only the one before the last decides about `side_effects`."""

    def stage(policy: RetryPolicy, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> Stage:
        async def retry(call: ActiveCall, proceed: Next) -> Reading:
            now = asyncio.get_running_loop().time
            begun, failures, doubtful = now(), 0, False
            while True:
                last = None
                try:
                    reading = await proceed(call)
                except CallFailed as exc:
                    error = exc.error
                    # What refuses a call by itself knows that something was sent before; here it goes by `doubtful`.
                    if error.code == "CIRCUIT_OPEN" and not doubtful:
                        error = replace(error, meta={**(error.meta or {}), "side_effects": "none"})
                    reading = server_results.failed(call.name, error)
                    last = retry_policy._in_doubt(error) if doubtful else None
                failure = reading.response.error
                if failure is None or not retry_policy.allowed(failure, call.entry):
                    return server_results.failed(call.name, last) if last else reading
                # An assignment in the place of `|=`: the third attempt forgets what the first one was.
                doubtful = (failure.meta or {}).get("side_effects") != "none"
                failures += 1
                pause, until = retry_policy.wait(policy, failures, failure), call.deadline()
                left = None if until is None else until - now()
                if retry_policy.ends(policy, failures, pause, now() - begun, left):
                    return server_results.failed(call.name, last) if last else reading
                call.log.warning("tool_retry", tool_name=call.name, attempt=failures, code=failure.code)
                call.emit(Retrying(call.request.call, failures, round(pause * 1000), failure))
                await sleep(pause)

        return retry

    retry_policy.stage = stage


def queue_of_an_ended_chat_is_cleared() -> None:
    """XMCP-CLI-055: a chat that ends takes its calls out of the queue for slots, and those that wait for their answer.

    A call that has been sent goes on for the calls of other chats that wait for it.
    """
    make_stage = cache.stage

    def stage(store: ResponseCache | None, *, read_only_too: bool) -> Stage | None:
        use_cache = make_stage(store, read_only_too=read_only_too)
        if use_cache is None:
            return None

        async def use_cache_and_clear(call: ActiveCall, proceed: Next) -> Reading:
            running: list[asyncio.Task[Any] | None] = []

            async def noted(one: ActiveCall) -> Reading:
                running.append(asyncio.current_task())
                return await proceed(one)

            try:
                return await use_cache(call, noted)
            except asyncio.CancelledError:
                # Nothing was sent, so there seemed to be nothing that others could still use.
                if running and running[0] is not None and not call.state.attempts:
                    running[0].cancel()
                raise

        return use_cache_and_clear

    cache.stage = stage  # type: ignore[assignment]


def blocks_for_the_person_come_last() -> None:
    """XMCP-CLI-063: the displays of a turn's tools come first, and then those of blocks for the person of all calls."""
    take = Chat._take

    def take_sorted(self: Chat, turn: ToolTurn) -> None:
        ended = [outcome.response for outcome in turn.outcomes if outcome is not None]
        for_person = {id(shown) for response in ended for shown in response.for_person}
        # Two lists that are joined when the turn ends, in the place of one.
        turn.displays.sort(key=lambda shown: id(shown) in for_person)
        take(self, turn)

    Chat._take = take_sorted  # type: ignore[method-assign]


def false_and_zero_are_no_values() -> None:
    """XMCP-CLI-083: where the application gives `False`, 0 or an empty value, what the model wrote stays."""

    async def filled(params: Mapping[str, Any], entry: Entry, state: ToolState) -> dict[str, Any] | ErrorInfo:
        arguments = {name: value for name, value in state.arguments.items() if name not in params}
        for name in app_parameters.hidden(params, entry):
            value = params[name]
            try:
                value = await call_hook(value, state, seconds=CALLBACK_SECONDS) if callable(value) else value
            except LookupError:
                value = None
            if value is not None and not value:
                # `value or arguments.get(name)`, which other languages spell `||`.
                value = state.arguments.get(name, value)
            if value is not None:
                arguments[name] = value
            elif name in entry.needed:
                return client_made_errors.missing_app_parameter(name)
        return arguments

    app_parameters.filled = filled


def prefix_not_written_twice() -> None:
    """XMCP-CLI-092: a tool whose own name begins with the server's name, as `crm_search` of `crm`, keeps its name."""
    full = names._full

    def full_once(listing: Listing, tool: str) -> str:
        # `crm__crm_search` looked like a mistake.
        return tool if tool.startswith(f"{listing.server}_") else full(listing, tool)

    names._full = full_once
