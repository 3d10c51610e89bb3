"""The calls of one turn: all that can run at once, in the order that their dependencies ask for (spec section 11.3).

`ToolTurn.run` yields the events; the state of the turn can be read from the `ToolTurn` at any moment, also after `run`
was cancelled.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from xmcp.chat import error_table, messages
from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import ToolCall, VendorState
from xmcp.chat.errors import QuotaExceeded
from xmcp.chat.events import (
    CallReport,
    ToolDisplay,
    ToolError,
    ToolEvent,
    ToolRequested,
    ToolResult,
    ToolRetry,
    ToolStarted,
    ToolWarning,
)
from xmcp.chat.tool_schemas import legal_name
from xmcp.chat.vendor_state import with_vendor_state
from xmcp.client.calls import app_parameters, context_budget, server_results
from xmcp.client.calls.active_call import ChatScope, Event, Request, Retrying, Warned
from xmcp.client.calls.pipeline import Outcome, Pipeline
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.callbacks import DisplayCallback, ErrorCallback, notify
from xmcp.client.tools import dependencies, meta_tools
from xmcp.client.tools.catalogue import Catalogue
from xmcp.wire import DisplayEnvelope, ErrorInfo

CANCEL_SECONDS: Final = 5.0
"""Maximum time that cancelled calls may take to end, after which the turn no longer waits for them."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The application's callbacks for the outcomes of calls."""

    on_display: DisplayCallback | None = None
    on_error: ErrorCallback | None = None


class _CallFields(TypedDict):
    """The fields that every event of a call has."""

    turn: int
    call_id: str
    tool_name: str


class ToolTurn:
    """The calls of one turn.

    Args:
        number: Number of the turn, from 1.
        catalogue: The tools that the model was offered.
        text: What the model wrote beside its calls.
        calls: The calls, in the model's order.
        pipeline: Makes each call.
        scope: The chat that the turn is part of.
        hooks: The application's callbacks.
        history: The messages before this turn; not changed.
        meta_tools: Names of the client's own tools that were offered.
        vendor_state: What the model's vendor must get back with the assistant message of this turn.
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
        self._entries = [catalogue.entries.get(legal_name(call.name)) for call in calls]
        self._arguments = [parse_arguments(call.arguments) for call in calls]
        self._graph = dependencies.predecessors(self._entries)
        self._ended = {place: asyncio.Event() for row in self._graph for place in row}
        self._events: list[Event | int | QuotaExceeded] = []
        self._woken: asyncio.Future[None] | None = None
        self._yielded: set[int] = set()
        self.outcomes: list[Outcome | None] = [None] * len(calls)
        """In call order; each is set as soon as its call has ended, also before its events are yielded."""
        self.displays: list[DisplayEnvelope] = []
        """What was shown, in call order."""
        self.timed_out = False
        """Whether the time of the chat was over before all calls had ended."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The turn as it goes into a history: valid also while calls are under way."""
        contents = [outcome.content if outcome else None for outcome in self.outcomes]
        assistant, *answers = messages.turn_messages(self._text, self._calls, contents)
        return [with_vendor_state(assistant, self._vendor_state), *answers]

    @property
    def shows_all(self) -> bool:
        """Whether the turn is the answer (XMCP-CLI-060): nothing failed, and the last call of each chain displayed."""
        ended = [outcome.response for outcome in self.outcomes if outcome is not None]
        return (
            len(ended) == len(self._calls)
            and all(response.error is None for response in ended)
            and dependencies.shows_all(self._graph, [response.display is not None for response in ended])
        )

    def said(self, tool: str) -> str:
        """Return the text that the last successful call of one of the client's own tools carried; empty if none."""
        said = ""
        for call, arguments, outcome in zip(self._calls, self._arguments, self.outcomes, strict=True):
            succeeded = outcome is not None and outcome.response.error is None
            if call.name == tool and tool in self._meta_tools and isinstance(arguments, dict) and succeeded:
                said = meta_tools.text_of(tool, arguments) or said
        return said

    async def run(self) -> AsyncGenerator[ToolEvent, None]:
        """Yield the events of the turn, as calls end. Hooks are called in call order.

        Raises:
            QuotaExceeded: a middleware stops the chat.
        """
        for call, parsed in zip(self._calls, self._arguments, strict=True):
            arguments = None if isinstance(parsed, ErrorInfo) else deepcopy(parsed)
            yield ToolRequested(**self._fields(call), arguments=arguments, text=call.arguments)
        tasks = [
            asyncio.create_task(self._work(place), name=f"xmcp call {legal_name(call.name)}")
            for place, call in enumerate(self._calls)
        ]
        reported = 0
        try:
            while len(self._yielded) < len(self._calls):
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
                reported = await self._report(reported)
            if self.timed_out:
                await _end(tasks)
                for place, call in enumerate(self._calls):
                    if self.outcomes[place] is None:
                        self.outcomes[place] = self._unmade(
                            call, server_results.failed(legal_name(call.name), error_table.chat_timed_out())
                        )
                    if place not in self._yielded:
                        for outcome_event in self._outcome_events(place):
                            yield outcome_event
                await self._report(reported)
        finally:
            await _end(tasks)

    def _emit(self, event: Event | int | QuotaExceeded) -> None:
        self._events.append(event)
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def _next(self) -> Event | int | QuotaExceeded:
        """Return the next event, in order. An `asyncio.Queue` would do the same, at 3 kB for each turn that waits.

        Raises:
            TimeoutError: the time of the chat is over.
        """
        while not self._events:
            self._woken = asyncio.get_running_loop().create_future()
            async with asyncio.timeout_at(self._scope.deadline):
                await self._woken
        return self._events.pop(0)

    async def _work(self, place: int) -> None:
        """Make one call and set its outcome.

        A call that the turn cancels gets no outcome here: what its message says depends on why the turn ended.
        """
        call, task = self._calls[place], asyncio.current_task()
        name = legal_name(call.name)
        try:
            self.outcomes[place] = await self._outcome(place, call)
        except QuotaExceeded as exc:
            # It ends the turn for all calls; this one is answered with the reason.
            self.outcomes[place] = self._unmade(call, server_results.failed(name, error_table.quota_used_up(exc.quota)))
            self._emit(exc)
        except asyncio.CancelledError:
            if task is None or task.cancelling():
                raise
            # Something inside the call was cancelled, not this task.
            self.outcomes[place] = self._unmade(call, server_results.failed(name, error_table.cancelled()))
        except Exception:
            error_id = uuid.uuid4().hex
            self._scope.log.exception("call_crashed", tool_name=name, error_id=error_id)
            self.outcomes[place] = self._unmade(call, server_results.failed(name, error_table.crashed(error_id)))
        finally:
            if place in self._ended:
                self._ended[place].set()
        self._emit(place)

    async def _outcome(self, place: int, call: ToolCall) -> Outcome:
        name, entry, arguments = legal_name(call.name), self._entries[place], self._arguments[place]
        if entry is None:
            if name in self._meta_tools:
                reading = (
                    server_results.failed(name, arguments)
                    if isinstance(arguments, ErrorInfo)
                    else Reading(meta_tools.answer(name, arguments))
                )
                return self._unmade(call, reading)
            known = [*self._catalogue.entries, *self._meta_tools]
            return self._unmade(call, server_results.failed(name, error_table.unknown_tool(call.name, known)))
        handed_on = None
        for before in self._graph[place]:
            await self._ended[before].wait()
        if self._graph[place] and isinstance(arguments, dict):
            known_results = [outcome.result if outcome else None for outcome in self.outcomes]
            own = app_parameters.hidden(self._pipeline.params, entry)
            handed = dependencies.fill_arguments(place, arguments, self._entries, self._graph, known_results, own)
            if isinstance(handed, ErrorInfo):
                return self._unmade(call, server_results.failed(name, handed))
            arguments, handed_on = handed.arguments, handed.sources
        request = Request(call, name, entry, arguments, handed_on or {})
        return await self._pipeline.run(request, self._number, self._scope, self._emit)

    async def _report(self, reported: int) -> int:
        """Call the hooks for the outcomes that are next in call order; return for how many it was done in all."""
        while reported in self._yielded and (outcome := self.outcomes[reported]) is not None:
            reported += 1
            display, error = outcome.response.display, outcome.response.error
            if display is not None:
                self.displays.append(display)
                if self._hooks.on_display is not None:
                    await self._notify("on_display", self._hooks.on_display, display)
            if error is not None and self._hooks.on_error is not None:
                await self._notify("on_error", self._hooks.on_error, error)
        return reported

    async def _notify(self, name: str, hook: Any, value: Any) -> None:
        # A copy, which a hook may change.
        history = messages.copied([*self._history, *self.messages])
        await notify(name, hook, self._scope.log, value, history, deadline=self._scope.deadline)

    def _unmade(self, call: ToolCall, reading: Reading) -> Outcome:
        """Return the outcome of a call that was answered without asking a server."""
        return Outcome(call, reading.response, context_budget.for_model(reading.response, None, self._pipeline.budgets))

    def _progress_event(self, event: Event) -> ToolEvent:
        match event:
            case Retrying(call, attempt, wait_ms, error):
                return ToolRetry(**self._fields(call), attempt=attempt, wait_ms=wait_ms, error=error)
            case Warned(call, text):
                return ToolWarning(**self._fields(call), text=text)
            case _:
                entry = self._catalogue.entries.get(legal_name(event.name))
                report = CallReport(entry.server.name if entry else None, attempts=1)
                return ToolStarted(**self._fields(event), report=report)

    def _outcome_events(self, place: int) -> Sequence[ToolEvent]:
        outcome = self.outcomes[place]
        if outcome is None:
            return []
        self._yielded.add(place)
        fields, response, report = self._fields(outcome.call), outcome.response, outcome.report
        events: list[ToolEvent] = [ToolWarning(**fields, text=text) for text in response.warnings]
        if response.error is not None:
            events.append(ToolError(**fields, response=response, error=response.error, report=report))
        else:
            events.append(ToolResult(**fields, response=response, text=response.llm_output or "", report=report))
        if response.display is not None:
            events.append(ToolDisplay(**fields, envelope=response.display))
        return events

    def _fields(self, call: ToolCall) -> _CallFields:
        return _CallFields(turn=self._number, call_id=call.id, tool_name=legal_name(call.name))


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel the tasks that still run and wait for them, for at most `CANCEL_SECONDS`."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=CANCEL_SECONDS)
