"""The calls of one turn: all that can run at once, in the order that their dependencies ask for (spec section 11.3).

`Turn.run` gives the events; what came of the turn is in the `Turn` at any moment, also when `run` was cancelled.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from xmcp.chat import messages
from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import QuotaExceeded
from xmcp.chat.events import CallReport, ChatChunk, ChunkType
from xmcp.chat.tool_schemas import legal
from xmcp.client.calls import app_parameters, context_budget, results
from xmcp.client.calls.pipeline import ChatScope, Event, Outcome, Pipeline, Request, Retrying, Warned
from xmcp.client.calls.results import Reading
from xmcp.client.hooks.callbacks import DisplayCallback, ErrorCallback, notify
from xmcp.client.tools import dependencies
from xmcp.client.tools import meta_tools as metatools
from xmcp.client.tools.catalogue import Catalogue
from xmcp.wire import DisplayEnvelope, ErrorInfo

CANCEL_SECONDS: Final = 5.0
"""How long the calls of a turn that ends early may take to let go."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the application is told of outcomes."""

    on_display: DisplayCallback | None = None
    on_error: ErrorCallback | None = None


class Turn:
    """One turn's calls.

    Args:
        number: The turn's, from 1.
        history: The messages before this turn; read only.
        meta_tools: Names of the client's own tools that are offered.
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
        self._entries = [catalogue.entries.get(legal(call.name)) for call in calls]
        self._arguments = [parse_arguments(call.arguments) for call in calls]
        self._graph = dependencies.predecessors(self._entries)
        self._ended = {place: asyncio.Event() for row in self._graph for place in row}
        self._events: list[Event | int | QuotaExceeded] = []
        self._woken: asyncio.Future[None] | None = None
        self._told: set[int] = set()
        self.outcomes: list[Outcome | None] = [None] * len(calls)
        """In call order, each from the moment on when the call had ended, told or not."""
        self.displays: list[DisplayEnvelope] = []
        """What was shown, in call order."""
        self.timed_out = False
        """Whether the time of the chat was over before all calls had ended."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The turn as it goes into a history: valid whatever has ended and what has not."""
        contents = [outcome.content if outcome else None for outcome in self.outcomes]
        return messages.turn_messages(self._text, self._calls, contents)

    @property
    def shows_all(self) -> bool:
        """Whether the turn was the answer (XMCP-CLI-060): nothing failed, and the last of each chain showed."""
        ended = [outcome.response for outcome in self.outcomes if outcome is not None]
        return (
            len(ended) == len(self._calls)
            and all(response.error is None for response in ended)
            and dependencies.shows_all(self._graph, [response.display is not None for response in ended])
        )

    def said(self, tool: str) -> str:
        """What the last call of one of the client's own tools carried; empty if none succeeded."""
        said = ""
        for call, arguments, outcome in zip(self._calls, self._arguments, self.outcomes, strict=True):
            succeeded = outcome is not None and outcome.response.error is None
            if call.name == tool and tool in self._meta_tools and isinstance(arguments, dict) and succeeded:
                said = metatools.said(tool, arguments) or said
        return said

    async def run(self) -> AsyncGenerator[ChatChunk, None]:
        """The events of the turn. Hooks learn of the outcomes in call order (semantics 5).

        Raises:
            QuotaExceeded: a middleware stops the chat.
        """
        for call, parsed in zip(self._calls, self._arguments, strict=True):
            known = None if isinstance(parsed, ErrorInfo) else deepcopy(parsed)
            yield self._chunk("tool_call", call, arguments=known, text=call.arguments)
        tasks = [
            asyncio.create_task(self._work(place), name=f"xmcp call {legal(call.name)}")
            for place, call in enumerate(self._calls)
        ]
        reported = 0
        try:
            while len(self._told) < len(self._calls):
                try:
                    event = await self._next()
                except TimeoutError:
                    self.timed_out = True
                    break
                if isinstance(event, QuotaExceeded):
                    raise event
                if not isinstance(event, int):
                    yield self._on_the_way(event)
                    continue
                for chunk in self._outcome_chunks(event):
                    yield chunk
                reported = await self._report(reported)
            if self.timed_out:
                await _end(tasks)
                for place, call in enumerate(self._calls):
                    if self.outcomes[place] is None:
                        self.outcomes[place] = self._unmade(call, results.chat_timed_out(legal(call.name)))
                    if place not in self._told:
                        for chunk in self._outcome_chunks(place):
                            yield chunk
                await self._report(reported)
        finally:
            await _end(tasks)

    def _tell(self, event: Event | int | QuotaExceeded) -> None:
        self._events.append(event)
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def _next(self) -> Event | int | QuotaExceeded:
        """The next event, in the order told. An `asyncio.Queue` would be the same, at 3 kB for each turn that waits.

        Raises:
            TimeoutError: the time of the chat is over.
        """
        while not self._events:
            self._woken = asyncio.get_running_loop().create_future()
            async with asyncio.timeout_at(self._scope.deadline):
                await self._woken
        return self._events.pop(0)

    async def _work(self, place: int) -> None:
        """One call from beginning to end. Its outcome is known from the moment on when it has one, told or not.

        A call that the turn cancels has none: what stands for it depends on why.
        """
        call, task = self._calls[place], asyncio.current_task()
        name = legal(call.name)
        try:
            self.outcomes[place] = await self._outcome(place, call)
        except QuotaExceeded as exc:
            # The turn is over for all its calls; this one is answered with why.
            self.outcomes[place] = self._unmade(call, results.not_made(name, exc))
            self._tell(exc)
        except asyncio.CancelledError:
            if task is None or task.cancelling():
                raise
            # Something in the call was cancelled, and not by us.
            self.outcomes[place] = self._unmade(call, results.cancelled(name))
        except Exception:
            error_id = uuid.uuid4().hex
            self._scope.log.exception("call_crashed", tool_name=name, error_id=error_id)
            self.outcomes[place] = self._unmade(call, results.crashed(name, error_id))
        finally:
            if place in self._ended:
                self._ended[place].set()
        self._tell(place)

    async def _outcome(self, place: int, call: ToolCall) -> Outcome:
        name, entry, arguments = legal(call.name), self._entries[place], self._arguments[place]
        if entry is None:
            if name in self._meta_tools:
                reading = (
                    results.failed(name, arguments)
                    if isinstance(arguments, ErrorInfo)
                    else Reading(metatools.answer(name, arguments))
                )
                return self._unmade(call, reading)
            known = [*self._catalogue.entries, *self._meta_tools]
            return self._unmade(call, results.failed(name, results.unknown_tool(call.name, known)))
        handed_on = None
        for before in self._graph[place]:
            await self._ended[before].wait()
        if self._graph[place] and isinstance(arguments, dict):
            known_results = [outcome.result if outcome else None for outcome in self.outcomes]
            own = app_parameters.hidden(self._pipeline.params, entry)
            handed = dependencies.handed_on(place, arguments, self._entries, self._graph, known_results, own)
            if isinstance(handed, ErrorInfo):
                return self._unmade(call, results.failed(name, handed))
            arguments, handed_on = handed.arguments, handed.sources
        request = Request(call, name, entry, arguments, handed_on or {})
        return await self._pipeline.run(request, self._number, self._scope, self._tell)

    async def _report(self, reported: int) -> int:
        """Tell the hooks of the outcomes that are next in call order; how many have been told of by now."""
        while reported in self._told and (outcome := self.outcomes[reported]) is not None:
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
        # A copy: what a hook makes of it is its own.
        history = messages.copied([*self._history, *self.messages])
        await notify(name, hook, self._scope.log, value, history, deadline=self._scope.deadline)

    def _unmade(self, call: ToolCall, reading: Reading) -> Outcome:
        """A call that was answered without a server."""
        return Outcome(call, reading.response, context_budget.for_model(reading.response, None, self._pipeline.budgets))

    def _on_the_way(self, event: Event) -> ChatChunk:
        match event:
            case Retrying(call, attempt, wait_ms, error):
                return self._chunk("retry", call, attempt=attempt, wait_ms=wait_ms, error=error)
            case Warned(call, text):
                return self._chunk("warning", call, text=text)
            case _:
                entry = self._catalogue.entries.get(legal(event.name))
                report = CallReport(entry.server.name if entry else None, attempts=1)
                return self._chunk("tool_started", event, report=report)

    def _outcome_chunks(self, place: int) -> Sequence[ChatChunk]:
        outcome = self.outcomes[place]
        if outcome is None:
            return []
        self._told.add(place)
        call, response, report = outcome.call, outcome.response, outcome.report
        chunks = [self._chunk("warning", call, text=text) for text in response.warnings]
        if response.error is not None:
            chunks.append(self._chunk("tool_error", call, response=response, error=response.error, report=report))
        else:
            chunks.append(self._chunk("tool_result", call, response=response, text=response.llm_output, report=report))
        if response.display is not None:
            chunks.append(self._chunk("tool_display", call, envelope=response.display))
        return chunks

    def _chunk(self, type_: ChunkType, call: ToolCall, **fields: Any) -> ChatChunk:
        return ChatChunk(type=type_, turn=self._number, call_id=call.id, tool_name=legal(call.name), **fields)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Leave no task behind: cancel what still runs and wait for it, in bounded time."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=CANCEL_SECONDS)
