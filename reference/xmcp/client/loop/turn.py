"""Run the tool calls of one turn: at the same time, except that a call waits for its dependencies (spec section 11.3).

`ToolTurn.run` yields the events. The state of the turn can be read from the `ToolTurn` at any time, even
after `run` was cancelled.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypedDict

from xmcp.chat import client_made_errors, messages
from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import ToolCall, VendorState
from xmcp.chat.errors import QuotaExceeded
from xmcp.chat.events import (
    CallReport,
    ToolDisplay,
    ToolError,
    ToolEvent,
    ToolProgress,
    ToolRequested,
    ToolResult,
    ToolRetry,
    ToolStarted,
    ToolWarning,
)
from xmcp.chat.json_values import copied_json
from xmcp.chat.tool_schemas import legal_name
from xmcp.chat.vendor_state import with_vendor_state
from xmcp.client.calls import app_parameters, context_budget, server_results
from xmcp.client.calls.active_call import ChatScope, Event, Request, Retrying, Warned
from xmcp.client.calls.pipeline import Outcome, Pipeline
from xmcp.client.calls.progress import AttemptProgress
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.callbacks import DisplayCallback, ErrorCallback, notify
from xmcp.client.tools import dependencies, meta_tools
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.wire import DisplayEnvelope, ErrorInfo

MAX_CALLS: Final = 128
"""Default for how many calls of one answer of the model are made."""

EVENTS_IN_A_ROW: Final = 32
"""After so many events the other tasks of the event loop have their turn."""

READ_IN_A_ROW: Final = 256 * 1024
"""After so many characters of arguments, too."""

CANCEL_SECONDS: Final = 5.0
"""How long the turn waits for cancelled calls to end, in seconds."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The application's callbacks for displays and errors."""

    on_display: DisplayCallback | None = None
    on_error: ErrorCallback | None = None


class _CallFields(TypedDict):
    """The fields that every event of a call has."""

    turn: int
    call_id: str
    tool_name: str


class ToolTurn:
    """The tool calls of one answer of the model.

    Args:
        number: Number of the turn in the chat, from 1.
        catalogue: The tools that were offered to the model.
        text: The text in the same answer as the calls.
        calls: The calls, in the model's order.
        pipeline: Runs each call of a server's tool.
        scope: The chat that the turn belongs to.
        hooks: The application's callbacks.
        history: The messages before this turn; not changed.
        meta_tools: Names of the meta tools that were offered; the client itself answers their calls.
        vendor_state: Opaque state that the vendor must get back with the assistant message of this turn.
        max_calls: How many of the calls are made, in call order; the others are answered with an error.
    """

    def __init__(
        self,
        number: int,
        catalogue: Catalogue,
        text: str,
        calls: Sequence[ToolCall],
        *,
        pipeline: Pipeline,
        scope: ChatScope,
        hooks: Hooks,
        history: Sequence[dict[str, Any]],
        meta_tools: Sequence[str] = (),
        vendor_state: VendorState | None = None,
        max_calls: int = MAX_CALLS,
    ) -> None:
        self._number = number
        self._catalogue = catalogue
        self._text = text
        self._calls = calls
        self._pipeline = pipeline
        self._scope = scope
        self._hooks = hooks
        self._history = history
        self._meta_tools = meta_tools
        self._vendor_state = vendor_state
        self._legal_names = {name: legal_name(name) for name in {call.name for call in calls}}
        self._entries = [catalogue.entries.get(self._legal_names[call.name]) for call in calls]
        self._arguments: list[dict[str, Any] | ErrorInfo] = []
        self._max_calls = max_calls
        self._predecessors = dependencies.predecessors(self._entries_in_graph())
        self._finished = {index: asyncio.Event() for needed in self._predecessors for index in needed}
        self._events: deque[Event | int | QuotaExceeded] = deque()
        self._woken: asyncio.Future[None] | None = None
        self._yielded: set[int] = set()
        self._shown: list[dict[str, Any]] | None = None
        """Copies of the history and of this turn's messages, for callbacks; `None` until one is called."""
        self._not_shown: list[int] = []
        """The calls that ended since a callback was called."""
        self.outcomes: list[Outcome | None] = [None] * len(calls)
        """In call order. Each is set as soon as its call has ended, which may be before its events are yielded."""
        self.displays: list[DisplayEnvelope] = []
        """The displays of the turn so far, in call order."""
        self._open: dict[int, ToolRequested] = {}
        """The calls that the application is to make, by their places."""
        self.timed_out = False
        """Whether the chat's time limit passed before all calls had ended."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the turn, as in a history; a valid history even while calls are still running."""
        contents = [outcome.content if outcome else None for outcome in self.outcomes]
        assistant, *answers = messages.turn_messages(self._text, self._calls, contents)
        return [with_vendor_state(assistant, self._vendor_state), *answers]

    @property
    def open_calls(self) -> list[ToolRequested]:
        """The calls that the application is to make, in call order: the turn ends without their results, or, if it
        timed out, with errors in their place."""
        return list(self._open.values())

    @property
    def first_display(self) -> DisplayEnvelope | None:
        """The first display of a tool in call order; what a block was shown to the person as is none."""
        ended = (outcome.response.display for outcome in self.outcomes if outcome is not None)
        return next((display for display in ended if display is not None), None)

    @property
    def shows_all(self) -> bool:
        """Whether the displays answer the query (XMCP-CLI-060): no call failed, and each chain ends with one.

        What is for the person alone answers no query: it comes beside an answer that the model has not seen yet.
        """
        ended = [outcome.response for outcome in self.outcomes if outcome is not None]
        return (
            len(ended) == len(self._calls)
            and all(response.error is None for response in ended)
            and dependencies.shows_all(self._predecessors, [response.display is not None for response in ended])
        )

    def meta_tool_text(self, tool: str) -> str:
        """Return the text argument of the last successful call of the meta tool `tool`; empty if there is none."""
        text = ""
        for call, arguments, outcome in zip(self._calls, self._arguments, self.outcomes, strict=False):
            succeeded = outcome is not None and outcome.response.error is None
            if call.name == tool and tool in self._meta_tools and isinstance(arguments, dict) and succeeded:
                text = meta_tools.text_of(tool, arguments) or text
        return text

    async def run(self) -> AsyncGenerator[ToolEvent, None]:
        """Run the calls, and yield the events of the turn as they happen. Callbacks are called in call order.

        Raises:
            QuotaExceeded: a middleware stopped the chat.
        """
        await self._refuse_calls_above_the_limit()
        read = 0
        for index, call in enumerate(self._calls):
            self._arguments.append(parsed := parse_arguments(call.arguments))
            arguments = None if isinstance(parsed, ErrorInfo) else copied_json(parsed)
            yield (requested := ToolRequested(**self._fields(call), arguments=arguments, text=call.arguments))
            if arguments is not None and index < self._max_calls and requested.tool_name in self._catalogue.external:
                self._open[index] = requested
            read += len(call.arguments)
            if read > READ_IN_A_ROW:
                await asyncio.sleep(0)
                read = 0
            await let_others_run(index + 1)
        tasks = [
            asyncio.create_task(self._run_call(index), name=f"xmcp call {self._legal_names[call.name]}")
            for index, call in enumerate(self._calls[: self._max_calls])
            if index not in self._open
        ]
        reported = events = 0
        try:
            while len(self._yielded) + len(self._open) < len(self._calls):
                await let_others_run(events := events + 1)
                try:
                    event = await self._next()
                except TimeoutError:
                    self.timed_out = True
                    break
                if isinstance(event, QuotaExceeded):
                    raise event
                if not isinstance(event, int):
                    yield self._progress_event(event)
                    continue
                for outcome_event in self._outcome_events(event):
                    yield outcome_event
                reported = await self._call_hooks(reported)
            if self.timed_out:
                await _cancel_and_wait(tasks)
                for index, call in enumerate(self._calls):
                    if self.outcomes[index] is None:
                        self._end(index, self._failed(call, client_made_errors.chat_timed_out()))
                    if index not in self._yielded:
                        for outcome_event in self._outcome_events(index):
                            yield outcome_event
                await self._call_hooks(reported)
        finally:
            await _cancel_and_wait(tasks)

    def _emit(self, event: Event | int | QuotaExceeded) -> None:
        self._events.append(event)
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def _next(self) -> Event | int | QuotaExceeded:
        """Wait for the next event and return it. An `asyncio.Queue` would need 3 kB more for each waiting turn.

        Raises:
            TimeoutError: the time limit of the chat has passed.
        """
        while not self._events:
            self._woken = asyncio.get_running_loop().create_future()
            async with asyncio.timeout_at(self._scope.deadline):
                await self._woken
        return self._events.popleft()

    def _entries_in_graph(self) -> list[Entry | None]:
        """Return the tools of the calls, without those of calls above the limit that change nothing for others.

        Such a call has failed. That matters only where its tool has no other call in the turn.
        """
        counted = self._entries[: self._max_calls]
        called = {(id(entry.server), entry.tool) for entry in counted if entry is not None}
        for entry in self._entries[self._max_calls :]:
            place = None if entry is None else (id(entry.server), entry.tool)
            counted.append(None if place in called else entry)
            called |= {place} if place else set()
        return counted

    async def _refuse_calls_above_the_limit(self) -> None:
        """Answer the calls above the limit (XMCP-CLI-105). All of one tool share one answer: there may be very many."""
        if len(self._calls) <= self._max_calls:
            return
        error = client_made_errors.too_many_calls(self._max_calls)
        answers: dict[str, Outcome] = {}
        for index in range(self._max_calls, len(self._calls)):
            call = self._calls[index]
            name = self._legal_names[call.name]
            if name not in answers:
                answers[name] = self._failed(call, error)
            self._end(index, replace(answers[name], call=call))
            await let_others_run(index)
            if index in self._finished:
                self._finished[index].set()
            self._emit(index)

    def _end(self, index: int, outcome: Outcome) -> None:
        """Set the outcome of a call."""
        self.outcomes[index] = outcome
        self._not_shown.append(index)

    async def _run_call(self, index: int) -> None:
        """Make one call and set its outcome.

        If the turn cancels the call, no outcome is set here, because the right one depends on why the turn ended.
        """
        call, task = self._calls[index], asyncio.current_task()
        try:
            self._end(index, await self._outcome(index, call))
        except QuotaExceeded as exc:
            # The event ends the whole turn. This call gets the reason as its answer.
            self._end(index, self._failed(call, client_made_errors.quota_used_up(exc.quota)))
            self._emit(exc)
        except asyncio.CancelledError:
            if task is None or task.cancelling():
                raise
            # Something inside the call was cancelled, but not this task.
            self._end(index, self._failed(call, client_made_errors.cancelled()))
        except Exception:
            error_id = uuid.uuid4().hex
            self._scope.log.exception("call_crashed", tool_name=self._legal_names[call.name], error_id=error_id)
            self._end(index, self._failed(call, client_made_errors.crashed(error_id)))
        finally:
            if index in self._finished:
                self._finished[index].set()
        self._emit(index)

    async def _outcome(self, index: int, call: ToolCall) -> Outcome:
        name, entry, arguments = self._legal_names[call.name], self._entries[index], self._arguments[index]
        if entry is None:
            if name in self._meta_tools:
                if isinstance(arguments, ErrorInfo):
                    return self._failed(call, arguments)
                return self._local_outcome(call, Reading(meta_tools.answer(name, arguments)))
            if name in self._catalogue.external and isinstance(arguments, ErrorInfo):
                return self._failed(call, arguments)
            known = [*self._catalogue.entries, *self._meta_tools]
            return self._failed(call, client_made_errors.unknown_tool(call.name, known))
        handed_on = None
        for needed_index in self._predecessors[index]:
            await self._finished[needed_index].wait()
        if self._predecessors[index] and isinstance(arguments, dict):
            known_results = [outcome.result if outcome else None for outcome in self.outcomes]
            hidden = app_parameters.hidden(self._pipeline.params, entry)
            filled = dependencies.fill_arguments(
                index, arguments, self._entries, self._predecessors, known_results, hidden
            )
            if isinstance(filled, ErrorInfo):
                return self._failed(call, filled)
            arguments, handed_on = filled.arguments, filled.sources
            # What was handed on may be large; reading it and sending it are two pieces of work.
            await asyncio.sleep(0)
        request = Request(call, name, entry, arguments, handed_on or {})
        return await self._pipeline.run(request, self._number, self._scope, self._emit)

    async def _call_hooks(self, reported: int) -> int:
        """Call the callbacks for outcomes whose events were yielded, in call order, from index `reported` on.

        Return the index of the first outcome that is left.
        """
        while reported in self._open or reported in self._yielded:
            outcome = self.outcomes[reported]
            reported += 1
            await let_others_run(reported)  # a slow first call keeps very many waiting
            if outcome is None:
                continue
            error = outcome.response.error
            for display in outcome.response.displays:
                self.displays.append(display)
                if self._hooks.on_display is not None:
                    await self._notify("on_display", self._hooks.on_display, display)
            if error is not None and self._hooks.on_error is not None:
                await self._notify("on_error", self._hooks.on_error, error)
        return reported

    async def _notify(self, name: str, hook: Any, value: Any) -> None:
        history = await self._history_for_callbacks()
        await notify(name, hook, self._scope.log, value, history, deadline=self._scope.deadline)

    async def _history_for_callbacks(self) -> list[dict[str, Any]]:
        """Return the history at this moment. The list is new each time; the messages in it are copies.

        A callback may change them, so that they are not those of the chat. The callbacks of a turn share them: copies
        for each of them would take a time that grows with the square of the number of calls.
        """
        first = len(self._history) + 1
        if self._shown is None:
            self._not_shown.clear()
            made = self.messages
            await asyncio.sleep(0)  # of very many calls, to write the messages takes as long as to copy them
            self._shown = messages.copied([*self._history, *made])
        for index in self._not_shown:
            if (outcome := self.outcomes[index]) is not None:
                self._shown[first + index] = messages.tool_message(outcome.call, outcome.content)
        self._not_shown.clear()
        return list(self._shown)

    def _local_outcome(self, call: ToolCall, reading: Reading) -> Outcome:
        """Return the outcome of a call that the client answered without a server."""
        entry = self._catalogue.entries.get(self._legal_names[call.name])
        content = context_budget.for_model(reading.response, None, self._pipeline.budgets)
        return Outcome(call, reading.response, content, CallReport(entry.server.name if entry else None))

    def _failed(self, call: ToolCall, error: ErrorInfo) -> Outcome:
        return self._local_outcome(call, server_results.failed(self._legal_names[call.name], error))

    def _progress_event(self, event: Event) -> ToolEvent:
        match event:
            case Retrying(call, attempt, wait_ms, error):
                return ToolRetry(**self._fields(call), attempt=attempt, wait_ms=wait_ms, error=error)
            case Warned(call, text):
                return ToolWarning(**self._fields(call), text=text)
            case AttemptProgress():
                told = event.take()
                of_call = self._fields(event.call)
                return ToolProgress(**of_call, progress=told.progress, total=told.total, text=told.text)
            case _:
                entry = self._catalogue.entries.get(self._legal_names[event.name])
                report = CallReport(entry.server.name if entry else None, attempts=1)
                return ToolStarted(**self._fields(event), report=report)

    def _outcome_events(self, index: int) -> Sequence[ToolEvent]:
        outcome = self.outcomes[index]
        if outcome is None:
            return []
        self._yielded.add(index)
        fields, response, report = self._fields(outcome.call), outcome.response, outcome.report
        events: list[ToolEvent] = [ToolWarning(**fields, text=text) for text in response.warnings]
        if response.error is not None:
            events.append(ToolError(**fields, response=response, error=response.error, report=report))
        else:
            events.append(ToolResult(**fields, response=response, text=response.llm_output or "", report=report))
        events += [ToolDisplay(**fields, envelope=display) for display in response.displays]
        return events

    def _fields(self, call: ToolCall) -> _CallFields:
        return _CallFields(turn=self._number, call_id=call.id, tool_name=self._legal_names[call.name])


async def let_others_run(count: int) -> None:
    """Give the other tasks of the event loop their turn after every `EVENTS_IN_A_ROW` events."""
    if count % EVENTS_IN_A_ROW == 0:
        await asyncio.sleep(0)


async def _cancel_and_wait(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel the tasks that still run, and wait for them for at most `CANCEL_SECONDS`."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=CANCEL_SECONDS)
