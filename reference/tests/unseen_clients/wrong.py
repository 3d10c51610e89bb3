"""Twelve faults, each put into the reference client of this process by one function."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import CallFailed, CircuitOpenError
from xmcp.chat.events import ChatChunk, LLMRetry, ToolDisplay, ToolEvent
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls import app_parameters, approval, attempt, breaker_guard, context_budget, pipeline
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, Next, NextOfAttempt, Stage
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.pipeline import Pipeline
from xmcp.client.calls.server_results import Reading, ServerResult
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop import turn as turns
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import MAX_CALLS, ToolTurn
from xmcp.client.slots import Slots
from xmcp.client.tools import dependencies
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.client.tools.dependencies import FilledArguments, Result
from xmcp.storage.breakers import BreakerStore
from xmcp.wire import ErrorInfo, ToolResponse


def last_to_finish_hands_on() -> None:
    """Number the results as they come, and let the newest one of a tool be the one that hands on (XMCP-CLI-034)."""
    right, numbers = Result.of, itertools.count()

    def of(response: ToolResponse, structured_content: Any, entry: Entry) -> Result | None:
        result = right(response, structured_content, entry)
        if result is not None:
            vars(result)["number"] = next(numbers)
        return result

    def successes(row: Sequence[int], entries: Sequence[Entry], results: Sequence[Result | None]) -> list[int]:
        ended = sorted((vars(results[place])["number"], place) for place in row if results[place] is not None)
        newest = {entries[place].tool: place for _, place in ended}
        return [newest[tool] for tool in dict.fromkeys(entries[place].tool for place in row) if tool in newest]

    Result.of = staticmethod(of)
    dependencies._successes = successes


def handed_on_beats_the_application() -> None:
    """Fill in the parameters of the application first, and then what earlier calls hand on (XMCP-CLI-083)."""
    right_fill, right_stage = dependencies.fill_arguments, app_parameters.stage

    def fill_arguments(
        call: int, arguments: Any, entries: Any, graph: Any, results: Any, hidden: Sequence[str] = ()
    ) -> FilledArguments | ErrorInfo:
        filled = right_fill(call, arguments, entries, graph, results, hidden)
        every = right_fill(call, arguments, entries, graph, results)
        if isinstance(filled, ErrorInfo) or isinstance(every, ErrorInfo):
            return filled
        more = [name for name in hidden if name in every.sources]
        return FilledArguments(
            {**filled.arguments, **{name: every.arguments[name] for name in more}},
            {**filled.sources, **{name: every.sources[name] for name in more}},
        )

    def stage(params: Any) -> Stage | None:
        right = right_stage(params)
        if right is None:
            return None

        async def fill_parameters(call: ActiveCall, proceed: Next) -> Reading:
            given = call.state.arguments
            handed_on = {name: given[name] for name in call.request.handed_on if name in params and name in given}
            call.state.arguments = {name: value for name, value in given.items() if name not in handed_on}

            async def with_handed_on(call: ActiveCall) -> Reading:
                call.settled = {**(call.settled or {}), **handed_on}
                return await proceed(call)

            return await right(call, with_handed_on)

        return fill_parameters

    dependencies.fill_arguments = fill_arguments
    app_parameters.stage = stage


def retry_ignores_the_breaker() -> None:
    """Make another attempt also while the breaker is open, which only holds first attempts back (XMCP-CLI-043)."""
    right_stage = breaker_guard.stage

    def stage(breakers: BreakerStore | None) -> AttemptStage | None:
        right = right_stage(breakers)
        if right is None:
            return None

        async def ask_the_breaker(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            try:
                return await right(call, proceed)
            except CallFailed as exc:
                if call.state.attempts == 0 or not isinstance(exc.__cause__, CircuitOpenError):
                    raise
            return await proceed(call)

        return ask_the_breaker

    breaker_guard.stage = stage


def approved_once_approved_always() -> None:
    """Remember the tools that were approved in a chat, and ask no more for them (XMCP-CLI-080)."""
    right, approved = approval.refusal, set[tuple[str, str]]()

    async def refusal(approve: Any, state: ToolState, timeout: float | None, log: Any) -> ErrorInfo | None:
        known = (state.chat.chat_id, state.tool_name)
        if known in approved:
            return None
        error = await right(approve, state, timeout, log)
        if error is None:
            approved.add(known)
        return error

    approval.refusal = refusal


def cache_keeps_the_reference() -> None:
    """Store responses with the reference in the place of a large display, as for the model (XMCP-DSP-042)."""
    right_stages, right_set = pipeline.stages_of, ResponseCache._set
    budgets: dict[ResponseCache, int] = {}

    def stages_of(built: Pipeline) -> tuple[Any, ...]:
        if built.cache is not None:
            budgets[built.cache] = built.budgets.display
        return right_stages(built)

    async def keep(self: ResponseCache, key: str, reading: Reading) -> None:
        display, budget = reading.response.display, budgets[self]
        if display is not None and context_budget.size(display) > budget:
            small = context_budget._with_reference(reading.response, display, budget)
            reading = replace(reading, response=small, document=None)
        await right_set(self, key, reading)

    pipeline.stages_of = stages_of
    ResponseCache._set = keep


def note_for_the_person_ends_the_chat() -> None:
    """Count a display that was made of a block for the user alone as one of the tool (XMCP-CLI-061)."""

    def shows_all(self: ToolTurn) -> bool:
        ended = [outcome.response for outcome in self.outcomes if outcome is not None]
        return (
            len(ended) == len(self._calls)
            and all(response.error is None for response in ended)
            and dependencies.shows_all(self._predecessors, [bool(response.displays) for response in ended])
        )

    ToolTurn.shows_all = property(shows_all)


def text_lost_with_a_cancelled_turn() -> None:
    """Write a turn whose calls did not all end into the history without the model's text (XMCP-CLI-006)."""
    right = Chat._take

    def take(self: Chat, turn: ToolTurn) -> None:
        right(self, turn)
        if None in turn.outcomes:
            calling = next(one for one in reversed(self.messages) if one.get("tool_calls"))
            calling["content"] = None

    Chat._take = take


def mends_cut_arguments() -> None:
    """Read of broken arguments what can be read, and call the server with that (XMCP-CLI-010)."""

    def mended(text: str) -> dict[str, Any] | ErrorInfo:
        parsed = parse_arguments(text)
        try:
            json.loads(text)
        except json.JSONDecodeError:
            try:
                partial = from_json(text, allow_inf_nan=False, allow_partial="trailing-strings")
            except ValueError:
                return parsed
            return partial if isinstance(partial, dict) else parsed
        except (ValueError, RecursionError):
            pass
        return parsed

    turns.parse_arguments = mended


def unknown_tools_are_not_counted() -> None:
    """Count only calls of tools that the client offers for the limit of calls in a turn (XMCP-CLI-105)."""
    right = ToolTurn.__init__

    def init(
        self: ToolTurn, number: int, catalogue: Catalogue, text: str, calls: Sequence[ToolCall], **options: Any
    ) -> None:
        known = {*catalogue.entries, *options.get("meta_tools", ())}
        counted = [place for place, call in enumerate(calls) if legal_name(call.name) in known]
        limit = options.get("max_calls", MAX_CALLS)
        options["max_calls"] = counted[limit] if len(counted) > limit else len(calls)
        right(self, number, catalogue, text, calls, **options)

    ToolTurn.__init__ = init


def no_tenant_is_a_tenant_each() -> None:
    """Let each chat without a tenant wait for slots as a tenant of its own (XMCP-CLI-117)."""

    def take_slot(slots: Slots) -> AttemptStage:
        async def in_a_slot(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            chat = call.scope.context
            waiting = f"chat {chat.chat_id}" if chat.tenant_id is None else f"tenant {chat.tenant_id}"
            await slots.take(waiting)
            try:
                return await proceed(call)
            finally:
                slots.give_back(waiting)

        return in_a_slot

    attempt.take_slot = take_slot


def silent_change_of_model() -> None:
    """Go over to another model without a word of what the one before had written (XMCP-CLI-075)."""
    right = Chat._ask

    async def ask(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        asked = self._model
        async with aclosing(right(self, catalogue)) as events:
            async for event in events:
                if isinstance(event, LLMRetry) and self._model != asked:
                    asked = self._model
                    continue
                yield event

    Chat._ask = ask


def display_before_the_error() -> None:
    """Give the display of a call that failed to the application before its error (XMCP-REC-002)."""
    right = ToolTurn._outcome_events

    def outcome_events(self: ToolTurn, index: int) -> Sequence[ToolEvent]:
        events, outcome = right(self, index), self.outcomes[index]
        if outcome is None or outcome.response.error is None:
            return events
        return sorted(events, key=lambda event: not isinstance(event, ToolDisplay))

    ToolTurn._outcome_events = outcome_events
