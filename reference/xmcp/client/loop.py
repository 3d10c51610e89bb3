"""The loop: ask the model, run what it calls, ask again, until it has answered (semantics 3 to 9 and 25).

There is one loop, `Chat.run`; everything else that chats consumes its events. All state of a chat lives in its `Chat`.
`Chat.messages` is a valid history at every moment: a turn's assistant message and its tool messages enter it together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from xmcp.client import displays, messages
from xmcp.client.arguments import parse_arguments
from xmcp.client.callbacks import DisplayCallback, ErrorCallback, notify
from xmcp.client.calls import CallPipeline, Outcome
from xmcp.client.chunks import ChatChunk, ChatResult, ChatUsage, ChunkType, StopReason
from xmcp.client.displays import DisplayMode
from xmcp.client.ending import ending
from xmcp.client.log import EventLog
from xmcp.client.naming import legal
from xmcp.providers import Completion, LLMProvider, Message, ModelRequest, ProviderError, ToolCall, ToolSchemas
from xmcp.providers.base import unique_ids
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

CANCEL_SECONDS: Final = 5.0
"""How long the calls of a chat that ends early may take to let go."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What a client gives to each of its chats."""

    provider: LLMProvider
    model: str | None
    max_turns: int
    display: DisplayMode
    on_display: DisplayCallback | None
    on_error: ErrorCallback | None


class Chat:
    """One running chat.

    Raises:
        ValueError: the history cannot be continued.
    """

    def __init__(
        self, settings: ChatSettings, calls: CallPipeline, log: EventLog, history: Sequence[Message], query: str
    ) -> None:
        self._settings = settings
        self._calls = calls
        self._log = log
        self.messages = messages.begin(history, query)
        self._ids = messages.call_ids(self.messages)
        self._turn = 0
        self._completion = Completion()
        self._outcomes: list[Outcome] = []
        self._displays: list[DisplayEnvelope] = []
        self._usage = ChatUsage(input_tokens=None, output_tokens=None, cached_tokens=None, llm_calls=0)

    async def run(self) -> AsyncGenerator[ChatChunk, None]:
        """The events of the chat; the last one is `done`.

        Raises:
            ProviderError: the model could not be asked; its `history` and `usage` are set.
        """
        for text in self._warnings():
            yield self._chunk("warning", text=text)
        while self._turn < self._settings.max_turns:
            self._turn += 1
            async with aclosing(self._ask()) as events:
                async for event in events:
                    yield event
            text, calls = self._completion.text, unique_ids(self._completion.tool_calls, self._ids)
            if not calls:
                stop_reason, warning = ending(self._completion)
                if warning:
                    yield self._chunk("warning", text=warning)
                if text:
                    self.messages.append(messages.assistant_message(text))
                yield self._done(stop_reason, text)
                return
            self._ids.update(call.id for call in calls)
            async with aclosing(self._run_calls(text, calls)) as events:
                async for event in events:
                    yield event
            if displays.ends_chat([outcome.response for outcome in self._outcomes], self._settings.display):
                yield self._done("display")
                return
        yield self._done("max_turns", self._completion.text)

    def _warnings(self) -> Sequence[str]:
        catalogue, provider = self._calls.catalogue, self._settings.provider
        if catalogue.entries and not provider.supports_tools:
            unused = (
                f"The model of provider {provider.name!r} takes no tools: none of {len(catalogue.entries)} is offered."
            )
            return (*catalogue.warnings, unused)
        return catalogue.warnings

    async def _ask(self) -> AsyncGenerator[ChatChunk, None]:
        """One call of the model: its text as it comes, then its usage; what it said is in `_completion` afterwards."""
        provider = self._settings.provider
        tools = self._calls.catalogue.schemas if provider.supports_tools else ToolSchemas()
        request = ModelRequest(tuple(self.messages), tools, self._settings.model)
        completion: Completion | None = None
        try:
            async with aclosing(provider.stream(request)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Completion):
                        completion = piece
                    elif piece:
                        yield self._chunk("llm_delta", text=piece)
            if completion is None:
                raise ProviderError(
                    f"The provider {provider.name!r} ended without a completion.", provider=provider.name
                )
        except ProviderError as exc:
            await self._report_failure(exc)
            raise
        except Exception as exc:
            error = ProviderError(
                f"The provider {provider.name!r} failed: {type(exc).__name__}.", provider=provider.name
            )
            await self._report_failure(error)
            raise error from exc
        self._completion = completion
        yield self._chunk("usage", usage=self._count(completion))

    async def _run_calls(self, text: str, calls: Sequence[ToolCall]) -> AsyncGenerator[ChatChunk, None]:
        """One turn's calls, all at once: events as they happen; `_outcomes` in call order afterwards.

        Hooks learn of the outcomes in call order (semantics 5): each waits for those before it.
        """
        arguments = [parse_arguments(call.arguments) for call in calls]
        for call, parsed in zip(calls, arguments, strict=True):
            known = None if isinstance(parsed, ErrorInfo) else parsed
            yield self._call_chunk("tool_call", call, arguments=known, text=call.arguments)
        events: asyncio.Queue[ToolCall | tuple[int, Outcome]] = asyncio.Queue()
        outcomes: list[Outcome | None] = [None] * len(calls)
        reported = 0

        async def work(place: int) -> None:
            call = calls[place]
            outcome = _cancelled(call)
            try:
                outcome = await self._calls.run(call, arguments[place], lambda: events.put_nowait(call))
            finally:
                events.put_nowait((place, outcome))

        tasks = [asyncio.create_task(work(place), name=f"xmcp call {calls[place].name}") for place in range(len(calls))]
        try:
            while reported < len(calls):
                event = await events.get()
                if isinstance(event, ToolCall):
                    yield self._call_chunk("tool_started", event)
                    continue
                place, outcome = event
                outcomes[place] = outcome
                for chunk in self._outcome_chunks(outcome):
                    yield chunk
                while reported < len(calls) and (outcome_in_order := outcomes[reported]) is not None:
                    await self._report(outcome_in_order, text, calls, outcomes)
                    reported += 1
        finally:
            await _end(tasks)
        self._outcomes = [outcome for outcome in outcomes if outcome is not None]
        self.messages += messages.turn_messages(text, calls, [outcome.content for outcome in self._outcomes])

    def _outcome_chunks(self, outcome: Outcome) -> Sequence[ChatChunk]:
        call, response = outcome.call, outcome.response
        chunks = [self._call_chunk("warning", call, text=text) for text in response.warnings]
        if response.error is not None:
            chunks.append(self._call_chunk("tool_error", call, response=response, error=response.error))
        else:
            chunks.append(self._call_chunk("tool_result", call, response=response, text=response.llm_output))
        if response.display is not None:
            chunks.append(self._call_chunk("tool_display", call, envelope=response.display))
        return chunks

    async def _report(
        self, outcome: Outcome, text: str, calls: Sequence[ToolCall], outcomes: Sequence[Outcome | None]
    ) -> None:
        """Tell the hooks of one outcome, with a history that is valid although other calls may be under way."""
        display, error = outcome.response.display, outcome.response.error
        if display is not None:
            self._displays.append(display)

        def history() -> list[dict[str, Any]]:
            contents = [known.content if known else None for known in outcomes]
            return [*self.messages, *messages.turn_messages(text, calls, contents)]

        if display is not None and self._settings.on_display is not None:
            await notify("on_display", self._settings.on_display, self._log, display, history())
        if error is not None and self._settings.on_error is not None:
            await notify("on_error", self._settings.on_error, self._log, error, history())

    async def _report_failure(self, error: ProviderError) -> None:
        error.history, error.usage = list(self.messages), self._usage
        self._log.warning("llm_failed", turn=self._turn, category=error.category.value, status=error.status)
        await notify("on_error", self._settings.on_error, self._log, error.to_error_info(), list(self.messages))

    def _count(self, completion: Completion) -> ChatUsage:
        """Add a model call to the chat's usage; return its own."""
        used, total = completion.usage, self._usage
        one = ChatUsage(
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cached_tokens=used.cached_tokens,
            llm_calls=1,
        )
        self._usage = ChatUsage(
            input_tokens=_plus(total["input_tokens"], used.input_tokens),
            output_tokens=_plus(total["output_tokens"], used.output_tokens),
            cached_tokens=_plus(total["cached_tokens"], used.cached_tokens),
            llm_calls=total["llm_calls"] + 1,
        )
        self._log.info(
            "llm_call", turn=self._turn, model=completion.model, finish_reason=completion.finish_reason, **one
        )
        return one

    def _done(self, stop_reason: StopReason, answer: str = "") -> ChatChunk:
        result = ChatResult(
            answer=answer or None,
            display=self._displays[0] if self._displays else None,
            displays=list(self._displays),
            history=list(self.messages),
            usage=self._usage,
            stop_reason=stop_reason,
        )
        self._log.info("chat_done", turn=self._turn, stop_reason=stop_reason, displays=len(self._displays))
        return self._chunk("done", result=result)

    def _chunk(self, type_: ChunkType, **fields: Any) -> ChatChunk:
        return ChatChunk(type=type_, turn=self._turn, **fields)

    def _call_chunk(self, type_: ChunkType, call: ToolCall, **fields: Any) -> ChatChunk:
        return self._chunk(type_, call_id=call.id, tool_name=legal(call.name), **fields)


def _plus(total: int | None, more: int | None) -> int | None:
    return total if more is None else (total or 0) + more


def _cancelled(call: ToolCall) -> Outcome:
    """What stands for a call whose task something other than this chat has cancelled."""
    name = legal(call.name)
    error = ErrorInfo("CANCELLED", "The call was cancelled before it ended.", meta={"side_effects": "unknown"})
    response = ToolResponse(name, error=error)
    return Outcome(call, response, response.to_xml())


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Leave no task behind: cancel what still runs and wait for it, in bounded time."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=CANCEL_SECONDS)
