"""The loop: ask the model, run the calls it asks for, ask again, until it has answered (spec chapter 11).

There is one loop, `Chat.run`; everything else consumes its events. All state of a chat lives in its `Chat`.
`Chat.messages` is a valid history at any time: a turn's assistant message and its tool messages are added together,
no matter how the turn ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from xmcp.chat import messages
from xmcp.chat.completions import Completion, ToolCall, VendorState, fault, unique_ids
from xmcp.chat.errors import ProviderError, error_of_chat
from xmcp.chat.events import (
    ChatChunk,
    ChatFailed,
    ChatResult,
    ChatWarning,
    Done,
    LLMDelta,
    LLMReasoning,
    LLMRetry,
    LLMUsage,
    StopReason,
    ToolRequested,
)
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.token_estimate import estimated_tokens
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.usage import Usage, UsageRecord
from xmcp.chat.vendor_state import for_vendor, with_vendor_state
from xmcp.client.calls import context_budget
from xmcp.client.calls.active_call import ChatScope
from xmcp.client.calls.pipeline import Pipeline
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.client.hooks.callbacks import UsageSink, notify
from xmcp.client.hooks.middleware import LLMState
from xmcp.client.loop import fallback
from xmcp.client.loop import usage as accounting
from xmcp.client.loop.fallback import Model
from xmcp.client.loop.library_prices import LibraryPrices
from xmcp.client.loop.stop_reason import DisplayMode, ending
from xmcp.client.loop.time_limit import TimeLimit
from xmcp.client.loop.turn import CANCEL_SECONDS, MAX_CALLS, Hooks, ToolTurn, let_others_run
from xmcp.client.loop.typed_answer import AnswerInvalid, AnswerType, answered_by_tool
from xmcp.client.loop.usage import Price
from xmcp.client.tools import meta_tools
from xmcp.client.tools.catalogue import Catalogue
from xmcp.providers import ModelRequest
from xmcp.providers.base import Piece, Reasoning, Received
from xmcp.wire import XML_WHITE_SPACE, DisplayEnvelope

LLM_SECONDS: Final = 300.0
"""Default for how long a model may be silent, before its answer or within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """What a chat is told by its client and by its caller. Times are in seconds."""

    models: tuple[Model, ...]
    max_turns: int
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    system: str | None = None
    """Instructions for this chat alone, in place of those at the beginning of its history; they stay out of it."""
    answer: AnswerType | None = None
    """The type of the answer; the schema is in `sampler`."""
    display: DisplayMode = "exit"
    llm_timeout: float = LLM_SECONDS
    max_calls: int = MAX_CALLS
    meta_tools: tuple[str, ...] = ()
    hooks: Hooks = field(default_factory=Hooks)
    usage_sink: UsageSink | None = None
    price: Price | LibraryPrices | None = None


class _TimeOver(TimeoutError):
    """The chat's deadline has passed."""


class Chat:
    """One running chat. `catalogue` returns the current tools; each turn keeps those that the model was offered.

    Raises:
        ValueError: the history cannot be continued.
    """

    def __init__(
        self,
        settings: ChatSettings,
        pipeline: Pipeline,
        catalogue: Callable[[], Awaitable[Catalogue]],
        scope: ChatScope,
        history: Sequence[Message],
        query: str | list[dict[str, Any]] | None,
    ) -> None:
        self._settings = settings
        self._pipeline = pipeline
        self._catalogue = catalogue
        self._scope = scope
        self._log = scope.log
        self.messages = messages.begin(history, query)
        self._ids = messages.call_ids(self.messages)
        self._model = 0
        self._turn = 0
        self._open_turn: ToolTurn | None = None
        self._text: list[str] = []
        """The pieces of the answer that is being received; empty once it is part of a turn, or void."""
        self._received: Received | None = None
        self._unreported: list[LLMUsage] = []
        self._completion = Completion()
        self._value: Any = None
        self._mended = False
        """Whether the model has been told what is wrong with an answer of another type than `answer`."""
        self._with_final_tool: dict[ToolSchemas, ToolSchemas] = {}
        """The tools of the last request, with the final one."""
        self._aside: list[dict[str, Any]] = []
        """Messages after the history in one request, which do not become a part of it."""
        self._displays: list[DisplayEnvelope] = []
        self._display: DisplayEnvelope | None = None
        self._usage = accounting.NOTHING
        self._now = asyncio.get_running_loop().time

    async def run(self) -> AsyncGenerator[ChatChunk, None]:
        """Yield the events of the chat; the last one is `Done`, or `ChatFailed` before an exception.

        Raises:
            ProviderError: every model failed; `history` and `usage` of the exception are set.
            QuotaExceeded: a middleware stopped the chat; the same attributes are set.
        """
        try:
            await self._fit_displays()
            try:
                catalogue = await self._tools()
            except _TimeOver:
                yield self._done("timeout")
                return
            for text in self._warnings(catalogue):
                yield ChatWarning(turn=0, text=text)
            while self._turn < self._settings.max_turns:
                self._turn += 1
                try:
                    if self._turn > 1:
                        catalogue = await self._tools()
                    async with aclosing(self._ask(catalogue)) as events:
                        async for event in events:
                            yield event
                except _TimeOver:
                    for report in self.take_unreported():
                        yield report
                    yield self._answered("timeout", "".join(self._text))
                    return
                text, calls = self._completion.text, unique_ids(self._completion.tool_calls, self._ids)
                if not calls:
                    stop_reason, warning = ending(self._completion)
                    if warning:
                        yield ChatWarning(turn=self._turn, text=warning)
                    yield self._answered(stop_reason, text, self._completion.vendor_state)
                    return
                self._ids.update(call.id for call in calls)
                turn = self._open_turn = self._begin_turn(catalogue, text, calls)
                self._text.clear()
                try:
                    async with aclosing(turn.run()) as events:
                        async for event in events:
                            yield event
                finally:
                    self._take(turn)
                if question := turn.meta_tool_text(meta_tools.CLARIFY):
                    yield self._done("clarify", question)
                    return
                if turn.timed_out:
                    yield self._done("timeout")
                    return
                if turn.open_calls:
                    yield self._done("tool_calls", open_calls=turn.open_calls)
                    return
                if self._settings.display == "exit" and turn.shows_all:
                    yield self._done("display")
                    return
            yield self._done("max_turns", self._completion.text)
        except Exception as exc:
            self._text.clear()
            # XMCP-CLI-073, also for what an application's own middleware raises.
            with suppress(AttributeError):
                exc.history, exc.usage = messages.copied(self.messages), self._usage  # type: ignore[attr-defined]
            told = exc.ui_message() if isinstance(exc, ProviderError) else ""
            failed = error_of_chat(exc)
            yield ChatFailed(turn=self._turn, error=failed, history=messages.copied(self.messages), ui_message=told)
            raise

    @property
    def history(self) -> list[dict[str, Any]]:
        """The messages so far, with those of a running turn, or the text of an answer that has begun (XMCP-CLI-116)."""
        return messages.copied([*self.messages, *(self._open_turn.messages if self._open_turn else self._begun())])

    def take_unreported(self) -> list[LLMUsage]:
        """Return, once, the usage of requests that ended without an answer, where no event has reported it."""
        events, self._unreported = self._unreported, []
        return events

    def _begun(self) -> list[dict[str, Any]]:
        text = "".join(self._text)
        return [messages.assistant_message(text)] if text.strip(XML_WHITE_SPACE) else []

    async def _fit_displays(self) -> None:
        """Replace displays above the budget in the messages of the application, too (XMCP-DSP-040)."""
        budget = self._pipeline.budgets.display
        large = [one for one in self.messages if context_budget.can_be_large(one, budget)]
        if large:
            size = sum(len(one["content"]) for one in large)
            self.messages = await in_worker_if_large(size, context_budget.fit, self.messages, budget)

    async def _tools(self) -> Catalogue:
        try:
            async with asyncio.timeout_at(self._scope.deadline):
                return await self._catalogue()
        except TimeoutError as exc:
            raise _TimeOver from exc

    def _begin_turn(self, catalogue: Catalogue, text: str, calls: Sequence[ToolCall]) -> ToolTurn:
        return ToolTurn(
            self._turn,
            catalogue,
            text,
            calls,
            pipeline=self._pipeline,
            scope=self._scope,
            hooks=self._settings.hooks,
            history=self.messages,
            meta_tools=self._settings.meta_tools,
            vendor_state=self._completion.vendor_state,
            max_calls=self._settings.max_calls,
        )

    def _take(self, turn: ToolTurn) -> None:
        """Add a finished or interrupted turn to the history; a summary by the model replaces the older messages."""
        self._open_turn = None
        self._displays += turn.displays
        self._display = self._display or turn.first_display
        new = turn.messages
        if summary := turn.meta_tool_text(meta_tools.SUMMARIZE):
            self.messages = meta_tools.summarized(self.messages, summary)
        self.messages += new

    def _warnings(self, catalogue: Catalogue) -> Sequence[str]:
        provider = self._settings.models[0].provider
        number = len(catalogue.entries) + len(catalogue.external)
        if number and not provider.supports_tools:
            offer = "the tool is not offered" if number == 1 else f"the {number} tools are not offered"
            unused = f"The model of provider {provider.name!r} takes no tools: {offer}."
            return (*catalogue.warnings, unused)
        return catalogue.warnings

    async def _ask(self, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        """Ask for the answer of the turn, and once in a chat again if it is not of the type that the application wants.

        Raises:
            AnswerInvalid: there is still no answer of this type.
            ProviderError: every model failed.
        """
        while True:
            async with aclosing(self._ask_models(catalogue)) as events:
                async for event in events:
                    yield event
            self._aside = []
            wanted = self._settings.answer
            if wanted is not None and (answer := answered_by_tool(self._completion)) is not self._completion:
                self._completion = answer
                if not answer.tool_calls:
                    # What is told as text of the model stays: it wrote that, and does not write it again.
                    told, self._text = "".join(self._text), [answer.text]
                    if answer.text and not told.strip(XML_WHITE_SPACE):
                        yield LLMDelta(turn=self._turn, text=answer.text)
            completion = self._completion
            if wanted is None or completion.tool_calls or ending(completion)[0] != "stop":
                return
            size = len(completion.text)
            self._value, faults = await in_worker_if_large(size, wanted.read, completion.text)
            if not faults:
                return
            self._log.warning("answer_invalid", turn=self._turn, faults=len(faults))
            provider = self._settings.models[self._model].provider.name
            failure = AnswerInvalid(wanted.name, completion.text, faults, provider=provider, model=completion.model)
            if self._mended:
                await self._tell(failure)
                raise failure
            self._mended = True
            self._text.clear()
            said = with_vendor_state(messages.assistant_message(completion.text), completion.vendor_state)
            self._aside = [said, messages.user_message(wanted.complaint(faults))]
            yield self._retry(1, failure)

    async def _tell(self, failure: ProviderError) -> None:
        """Call `on_error` with a failure that ends the chat."""
        hook, history = self._settings.hooks.on_error, messages.copied(self.messages)
        await notify("on_error", hook, self._log, failure.to_error_info(), history, deadline=self._scope.deadline)

    def _retry(self, failures: int, failure: ProviderError) -> LLMRetry:
        return LLMRetry(
            turn=self._turn,
            attempt=failures,
            wait_ms=0,
            error=failure.to_error_info(),
            ui_message=failure.ui_message(),
        )

    async def _ask_models(self, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        """Ask the models in order until one answers; yield its text piece by piece, then its usage.

        `_completion` has the complete answer afterwards, `_text` the pieces received so far.
        """
        failures, repeated, earlier = 0, False, list[str]()
        while True:
            self._text.clear()
            if (skipped := self._skip_too_small(catalogue)) is not None:
                failures += 1
                earlier.append(skipped.message)
                self._scope.telemetry.model_failed(self._turn, skipped)
                yield self._retry(failures, skipped)
            try:
                async with aclosing(self._attempt(self._settings.models[self._model], catalogue)) as events:
                    async for event in events:
                        yield event
                return
            except ProviderError as exc:
                failures += 1
                self._text.clear()
                for report in self.take_unreported():
                    yield report
                self._scope.telemetry.model_failed(self._turn, exc)
                more = self._model + 1 < len(self._settings.models)
                step = fallback.next_step(exc, repeated=repeated, more=more)
                if step == "raise":
                    if earlier:
                        exc.add_note(f"Before it failed: {' '.join(earlier)}")
                    await self._tell(exc)
                    raise
                earlier.append(exc.message)
                repeated = step == "repeat"
                # The rest of the chat stays with the next model: this one is likely to fail again.
                self._model += step == "next"
                yield self._retry(failures, exc)

    def _skip_too_small(self, catalogue: Catalogue) -> ProviderError | None:
        """Go on to a model that reads a request of this size, if a later one does; return why."""
        models, asked = self._settings.models, self._model
        if models[asked].provider.max_context_tokens is None or asked + 1 == len(models):
            return None
        sent = messages.instructed(self.messages, self._settings.system)
        tokens = estimated_tokens(sent, self._offered(models[asked], catalogue)[0])
        self._model = fallback.first_that_fits(models, asked, tokens)
        return None if self._model == asked else fallback.too_small(models[asked], tokens)

    def _offered(self, model: Model, catalogue: Catalogue) -> tuple[ToolSchemas, SamplerConfig]:
        """Return the tools for a model, and the options: the schema of a typed answer is in the options, or in a tool.

        The final tool is for vendors that take tools and no schema, unless the application wants no calls at all.
        """
        wanted, sampler = self._settings.answer, self._settings.sampler
        if not model.provider.supports_tools:
            return _NO_TOOLS, sampler
        tools = catalogue.schemas
        if wanted is None or sampler.tool_choice == "none" or _takes_schema(model, tools):
            return tools, sampler
        if tools not in self._with_final_tool:
            self._with_final_tool = {tools: tools.plus(wanted.tool)}
        return self._with_final_tool[tools], replace(sampler, response_format=None)

    async def _attempt(self, model: Model, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        """Ask one model once."""
        provider, middleware, deadline = model.provider, self._pipeline.middleware, self._scope.deadline
        history = [*self.messages, *self._aside] if self._aside else self.messages
        asked = messages.instructed(history, self._settings.system)
        tools, sampler = self._offered(model, catalogue)
        state = LLMState(
            chat=self._scope.context,
            turn=self._turn,
            provider=provider.name,
            model=model.name,
            messages=messages.copied(asked) if middleware else asked,
            tools=tools,
        )
        observed = self._scope.telemetry.model_call(state)
        try:
            async with middleware.around("llm", state, self._log, deadline) if middleware else nullcontext():
                try:
                    async with aclosing(self._pieces(model, state, sampler)) as pieces:
                        async for piece in pieces:
                            observed.arrived()
                            if isinstance(piece, Reasoning):
                                yield LLMReasoning(turn=self._turn, text=piece.text)
                            else:
                                yield LLMDelta(turn=self._turn, text=piece)
                except BaseException as exc:
                    await self._account_for_interrupted(state, exc)
                    raise
                state.completion = self._completion
                usage = state.usage = self._record(self._completion, state)
                # Before the `after` hooks: a call that ended is accounted for, even if one of them ends the chat.
                self._usage = accounting.add(self._usage, usage)
                report = LLMUsage(turn=self._turn, usage=usage)
                self._unreported.append(report)  # until it is told: a hook can end the chat before
                await notify("usage_sink", self._settings.usage_sink, self._log, usage, deadline=deadline)
        except ProviderError as exc:
            observed.failed(exc.category.value)
            raise
        except Exception as exc:
            observed.failed("timeout" if isinstance(exc, _TimeOver) else type(exc).__name__)
            if isinstance(exc, TimeoutError) and deadline is not None and self._now() >= deadline:
                raise _TimeOver from exc
            raise
        except BaseException:
            observed.failed("cancelled")
            raise
        observed.answered(self._completion, usage)
        self._unreported.remove(report)
        yield report

    async def _account_for_interrupted(self, state: LLMState, exc: BaseException) -> None:
        """Account for a request that ends without an answer (XMCP-CLI-115): the vendor bills it all the same.

        A request that the vendor refused or broke off before anything arrived costs nothing; one that it left without
        an answer was sent, and this side ended it.
        """
        received, self._received = self._received, None
        if received is None:
            return
        arrived = self._text or received.bytes or received.usage != Usage()
        if isinstance(exc, ProviderError) and not (arrived or exc.unanswered):
            return
        if arrived and isinstance(exc, ProviderError):
            exc.unanswered = False
        completion, estimated = accounting.interrupted(state, self._text, received)
        usage = state.usage = self._record(completion, state)
        if estimated:
            usage["estimated"] = True
        self._usage = accounting.add(self._usage, usage)
        self._unreported.append(LLMUsage(turn=self._turn, usage=usage))
        deadline = self._now() + CANCEL_SECONDS
        await notify("usage_sink", self._settings.usage_sink, self._log, usage, deadline=deadline)

    def _record(self, completion: Completion, state: LLMState) -> UsageRecord:
        price, context = self._settings.price, self._scope.context
        if isinstance(price, LibraryPrices):
            price = price.of(self._settings.models[self._model].provider)
        return accounting.record(completion, state.provider, state.model, context, price, self._log)

    async def _pieces(self, model: Model, state: LLMState, sampler: SamplerConfig) -> AsyncGenerator[Piece, None]:
        """Yield the pieces of one answer, waiting for each in bounded time; then set `_completion`.

        Raises:
            ProviderError: the model failed, or was silent for too long.
            _TimeOver: the chat's deadline has passed.
        """
        name, silence = model.provider.name, self._settings.llm_timeout
        # `for_vendor` reads the messages twice, and a hook may have put an iterator there.
        messages = tuple(for_vendor(tuple(state.messages), name))
        request = ModelRequest(messages, state.tools, state.model, sampler)
        self._received = request.received
        now, deadline = self._now, self._scope.deadline
        completion: Completion | None = None
        limit, told = TimeLimit(), 0
        try:
            async with aclosing(model.provider.stream(request)) as pieces:
                while True:
                    with limit.at(now() + silence if deadline is None else min(now() + silence, deadline)):
                        piece = await anext(pieces, None)
                    if piece is None:
                        break
                    if isinstance(piece, Completion):
                        completion = piece
                        continue
                    text = piece.text if isinstance(piece, Reasoning) else piece
                    if not isinstance(text, str):
                        raise _unusable(name, f"a piece of text that is a {type(text).__name__}")
                    if text:
                        if text is piece:
                            self._text.append(text)
                        else:
                            request.received.bytes += len(text.encode("utf-8", "surrogatepass"))
                        yield piece
                        await let_others_run(told := told + 1)
        except ProviderError:
            raise
        except TimeoutError as exc:
            if deadline is not None and now() >= deadline:
                raise _TimeOver from exc
            message = f"The provider {name!r} was silent for {silence:g} s."
            began = bool(self._text or request.received.bytes)
            error = ProviderError(
                message, category="network", provider=name, began=bool(self._text), unanswered=not began
            )
            raise error from exc
        except Exception as exc:
            self._log.exception("provider_crashed", provider=name)
            raise ProviderError(f"The provider {name!r} failed: {type(exc).__name__}.", provider=name) from exc
        finally:
            limit.close()
        if completion is None:
            raise ProviderError(f"The provider {name!r} ended without a completion.", provider=name)
        if wrong := fault(completion):
            raise _unusable(name, f"a completion whose {wrong}")
        self._completion = completion

    def _answered(self, stop_reason: StopReason, text: str, vendor_state: VendorState | None = None) -> Done:
        self._text.clear()
        if text.strip(XML_WHITE_SPACE):  # some vendors refuse a message of nothing but spaces
            self.messages.append(with_vendor_state(messages.assistant_message(text), vendor_state))
        return self._done(stop_reason, text)

    def _done(self, stop_reason: StopReason, answer: str = "", open_calls: Sequence[ToolRequested] = ()) -> Done:
        result = ChatResult(
            answer=answer if answer.strip(XML_WHITE_SPACE) else None,
            display=self._display,
            displays=list(self._displays),
            history=list(self.messages),
            usage=self._usage,
            stop_reason=stop_reason,
            value=self._value,
            open_calls=open_calls,
        )
        self._scope.telemetry.answered(self._turn, stop_reason, displays=len(self._displays))
        return Done(turn=self._turn, result=result)


def _unusable(provider: str, what: str) -> ProviderError:
    return ProviderError(f"The provider {provider!r} returned {what}.", provider=provider)


def _takes_schema(model: Model, tools: ToolSchemas) -> bool:
    """Return whether a provider hands the schema of an answer to its vendor; one that does not say so does."""
    asked: Callable[[str | None, ToolSchemas], bool] | None = getattr(model.provider, "takes_schema", None)
    return asked is None or asked(model.name, tools)


_NO_TOOLS: Final = ToolSchemas()
