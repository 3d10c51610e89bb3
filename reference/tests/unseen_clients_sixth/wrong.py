"""Thirty faults, each put into the reference client of this process by one function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import CONSEQUENCES, ErrorCategory, ProviderError
from xmcp.chat.events import ChatChunk, Done, LLMRetry, LLMUsage, StopReason, ToolStarted
from xmcp.chat.messages import Message
from xmcp.chat.usage import Usage
from xmcp.client.calls import app_parameters, cache, context_budget, pipeline, server_results
from xmcp.client.calls.active_call import ActiveCall, AnyStage, Next, Stage
from xmcp.client.calls.cache import Make, ResponseCache
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.calls.pipeline import Pipeline
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.middleware import LLMState, ToolState
from xmcp.client.hooks.quotas import TenantQuotas
from xmcp.client.loop import turn as turns
from xmcp.client.loop import usage as accounting
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools import dependencies, meta_tools, schemas
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.wire import ErrorInfo, ToolResponse

# ---- 11.5: caches ----


def keeps_what_can_be_repeated() -> None:
    """Where the application allows the cache for read-only tools, use it for idempotent ones, too (XMCP-CLI-050)."""

    def can_be_cached(entry: Entry, *, read_only_too: bool) -> bool:
        harmless = entry.read_only or entry.idempotent
        return entry.tool != "health_check" and (entry.cacheable or (read_only_too and harmless))

    cache.can_be_cached = can_be_cached


def null_is_left_out() -> None:
    """Take arguments with a member that is `null` for equal to those without that member (XMCP-CLI-051)."""
    right = cache.key

    def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        return right(tenant_id, entry, {name: value for name, value in arguments.items() if value is not None})

    cache.key = key


class _OfAllTenants(dict[str, Any]):
    """Flights by their keys without the part that names the tenant."""

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key.rpartition(":")[2])

    def __setitem__(self, key: str, flight: Any) -> None:
        super().__setitem__(key.rpartition(":")[2], flight)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key.rpartition(":")[2])

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key.rpartition(":")[2], default)


def waits_for_any_tenant() -> None:
    """Let a call wait for an equal call under way of another tenant, and get its answer; what is stored is kept by
    tenant (XMCP-CLI-051).
    """
    right = ResponseCache.__init__

    def init(self: ResponseCache, *args: Any, **options: Any) -> None:
        right(self, *args, **options)
        self._flights = _OfAllTenants()

    ResponseCache.__init__ = init


def transient_in_documents_only() -> None:
    """Look for `transient` only where the response was a document: a plain result with such a display goes into the
    cache (XMCP-CLI-053).
    """
    right = cache.can_be_kept

    def can_be_kept(reading: Reading) -> bool:
        if reading.document is None:
            return reading.response.error is None
        return right(reading)

    cache.can_be_kept = can_be_kept


def a_time_out_takes_the_others_along() -> None:
    """When the chat that made a call is out of time, cancel the call also for those of other chats that wait for its
    answer: they get `CANCELLED` (XMCP-CLI-055). When the chat is cancelled, all is right.
    """
    right = ResponseCache.answer

    async def answer(self: ResponseCache, key: str, make: Make, deadline: float | None = None) -> tuple[Reading, bool]:
        began = self._flights.get(key) is None
        try:
            return await right(self, key, make, deadline)
        except asyncio.CancelledError:
            flight = self._flights.get(key)
            late = deadline is not None and asyncio.get_running_loop().time() >= deadline
            if began and late and flight is not None and flight.task is not None:
                self._landed(key, flight)
                flight.task.cancel()
            raise

    ResponseCache.answer = answer


# ---- 11.6: displays ----


def a_display_from_the_cache_is_old_news() -> None:
    """Ask the model again where one of the displays of a turn came from the cache, or from an equal call
    (XMCP-CLI-060).
    """
    right: Any = ToolTurn.shows_all

    def shows_all(self: ToolTurn) -> bool:
        cached = any(outcome is not None and outcome.report.cached for outcome in self.outcomes)
        return bool(right.fget(self)) and not cached

    ToolTurn.shows_all = property(shows_all)


def a_second_try_makes_it_good() -> None:
    """End a chat with displays also where a call failed, if a later call of the same tool in the turn has a display
    (XMCP-CLI-061).
    """
    right: Any = ToolTurn.shows_all

    def shows_all(self: ToolTurn) -> bool:
        ended = [outcome.response for outcome in self.outcomes if outcome is not None]
        if len(ended) != len(self._calls):
            return False
        good = {
            place
            for place, response in enumerate(ended)
            if response.error is not None
            and any(
                later.error is None and later.display is not None and self._calls[place].name == call.name
                for later, call in zip(ended[place + 1 :], self._calls[place + 1 :], strict=True)
            )
        }
        if not good:
            return bool(right.fget(self))
        shown = [response.display is not None or place in good for place, response in enumerate(ended)]
        failed = any(response.error is not None and place not in good for place, response in enumerate(ended))
        return not failed and dependencies.shows_all(self._predecessors, shown)

    ToolTurn.shows_all = property(shows_all)


def continues_once() -> None:
    """Told to continue after displays, end the chat all the same after the second turn in a row in which everything
    was shown (XMCP-CLI-062).
    """
    right = Chat._take

    def take(self: Chat, turn: ToolTurn) -> None:
        right(self, turn)
        state: Any = self
        state._all_shown = vars(self).get("_all_shown", 0) + 1 if turn.shows_all else 0
        if state._all_shown > 1:
            self._settings = replace(self._settings, display="exit")

    Chat._take = take


def lists_displays_up_to_the_first_gap() -> None:
    """When the time of a chat is over during calls, list the displays of its last turn only up to the first call that
    was cut off: those of later calls, which the person has seen, are not in the result (XMCP-CLI-063).
    """
    right = Chat._take

    def take(self: Chat, turn: ToolTurn) -> None:
        if turn.timed_out:
            turn.displays = []
            for outcome in turn.outcomes:
                if outcome is None or (outcome.response.error and outcome.response.error.code == "TIMEOUT"):
                    break
                turn.displays += outcome.response.displays
        right(self, turn)

    Chat._take = take


def what_a_callback_did_not_show_was_not_shown() -> None:
    """Where `on_display` fails, take the display for one that the person did not see, and ask the model again instead
    of ending the chat (XMCP-CLI-064).
    """
    right: Any = ToolTurn.shows_all

    async def notify(self: ToolTurn, name: str, hook: Any, value: Any) -> None:
        async def observed(*args: Any) -> None:
            try:
                answer = hook(*args)
                if inspect.isawaitable(answer):
                    await answer
            except Exception:
                if name == "on_display":
                    state: Any = self
                    state._unseen = True
                raise

        history = self._history_for_callbacks()
        await turns.notify(name, observed, self._scope.log, value, history, deadline=self._scope.deadline)

    def shows_all(self: ToolTurn) -> bool:
        return bool(right.fget(self)) and not vars(self).get("_unseen", False)

    ToolTurn._notify = notify
    ToolTurn.shows_all = property(shows_all)


# ---- 11.7: the end of a chat ----


def an_unreadable_turn_is_free() -> None:
    """Do not count a turn for the limit of turns in which the arguments of each call were unreadable
    (XMCP-CLI-070).
    """
    right = Chat._take

    def take(self: Chat, turn: ToolTurn) -> None:
        right(self, turn)
        if turn._arguments and all(isinstance(one, ErrorInfo) for one in turn._arguments):
            self._settings = replace(self._settings, max_turns=self._settings.max_turns + 1)

    Chat._take = take


def answers_with_the_text_beside_the_calls() -> None:
    """At a time-out during calls, give what the model wrote beside these calls as the `answer` (XMCP-CLI-124)."""
    right_take, right_done = Chat._take, Chat._done

    def take(self: Chat, turn: ToolTurn) -> None:
        state: Any = self
        state._beside = turn._text if turn.timed_out else ""
        right_take(self, turn)

    def done(self: Chat, stop_reason: StopReason, answer: str = "") -> Done:
        if stop_reason == "timeout":
            answer = answer or vars(self).get("_beside", "")
        return right_done(self, stop_reason, answer)

    Chat._take = take
    Chat._done = done


def the_first_failure_names_the_chat() -> None:
    """Where several models fail, or one fails several times, give the chat the code of the first failure, not of the
    last one (XMCP-CLI-133).
    """
    right = Chat._ask

    async def ask(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        first: ErrorInfo | None = None
        try:
            async with aclosing(right(self, catalogue)) as events:
                async for event in events:
                    if isinstance(event, LLMRetry) and first is None:
                        first = event.error
                    yield event
        except ProviderError as exc:
            if first is not None:
                exc.category = next(
                    category for category, follows in CONSEQUENCES.items() if follows.code == first.code
                )
            raise

    Chat._ask = ask


def too_long_a_history_loses_its_last_turn() -> None:
    """When the history is longer than the model reads, leave the last turn of calls out of the history that the
    application gets with the failure (XMCP-CLI-073).
    """
    right = Chat._ask

    async def ask(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        try:
            async with aclosing(right(self, catalogue)) as events:
                async for event in events:
                    yield event
        except ProviderError as exc:
            if exc.category is ErrorCategory.CONTEXT and self.messages[-1]["role"] == "tool":
                while self.messages[-1]["role"] == "tool":
                    self.messages.pop()
                self.messages.pop()
            raise

    Chat._ask = ask


def a_turn_is_paid_once() -> None:
    """Look at the quota before the first request of a turn, and not before the later ones of that turn, which come
    after an answer that broke off or after the failure of another model (XMCP-CLI-074).
    """
    right = TenantQuotas.before_llm

    async def before_llm(self: TenantQuotas, state: LLMState) -> None:
        again = state.chat.state.get("checked_turn") == state.turn
        state.chat.state["checked_turn"] = state.turn
        mine: Any = self
        if again:
            mine._check = lambda *_: None
        try:
            await right(self, state)  # it awaits nothing, so that no other chat can come between
        finally:
            if again:
                del mine._check

    TenantQuotas.before_llm = before_llm


def broken_calls_cost_nothing() -> None:
    """Count nothing of an answer that broke off when the model had written no text, but a part of its calls
    (XMCP-CLI-115).
    """
    right = Chat._account_for_interrupted

    async def account(self: Chat, state: LLMState, exc: BaseException) -> None:
        if isinstance(exc, ProviderError) and not self._text and self._received and self._received.bytes:
            self._received = None
            return
        await right(self, state, exc)

    Chat._account_for_interrupted = account


def usage_is_of_the_chat_that_asked_last() -> None:
    """Keep in one variable for all chats whose request runs, so that of two requests at the same time both records
    have the tenant and the session of the one that began later (XMCP-CLI-076).
    """
    right_attempt, right_record = Chat._attempt, accounting.record
    current: list[Any] = [None]

    async def attempt(self: Chat, *args: Any) -> AsyncGenerator[ChatChunk, None]:
        current[0] = self._scope.context
        async with aclosing(right_attempt(self, *args)) as events:
            async for event in events:
                yield event

    def record(completion: Any, provider: str, model: str | None, chat: Any, *more: Any) -> Any:
        return right_record(completion, provider, model, current[0] or chat, *more)

    Chat._attempt = attempt
    accounting.record = record


# ---- 11.8: approval, parameters of the application, the client's own tools ----


def the_cache_needs_no_approval() -> None:
    """Ask the cache before the person: a call that it answers, or that waits for an equal one, has no approval
    (XMCP-CLI-080).
    """
    right = pipeline.stages_of

    def stages_of(made: Pipeline) -> tuple[AnyStage, ...]:
        stages = list(right(made))
        names = [getattr(stage, "__name__", "") for stage in stages]
        if "ask_approval" in names and "use_cache" in names:
            stages.insert(names.index("use_cache"), stages.pop(names.index("ask_approval")))
        return tuple(stages)

    pipeline.stages_of = stages_of


def definitions_stay() -> None:
    """Leave what the application fills in where the input schema has it under `$defs`, behind a reference
    (XMCP-CLI-082).
    """
    right = schemas.without

    def without(schema: Mapping[str, Any], names: Any) -> Mapping[str, Any]:
        stripped = right(schema, names)
        if stripped is schema or "$defs" not in schema:
            return stripped
        return {**stripped, "$defs": schema["$defs"]}

    schemas.without = without


def false_is_no_value() -> None:
    """Let the model's value stand where that of the application is `false`, 0 or empty (XMCP-CLI-083)."""
    right = app_parameters.filled

    async def filled(params: Mapping[str, Any], entry: Entry, state: ToolState) -> dict[str, Any] | ErrorInfo:
        arguments = await right(params, entry, state)
        if isinstance(arguments, dict):
            for name in app_parameters.hidden(params, entry):
                if name in arguments:
                    arguments[name] = arguments[name] or state.arguments.get(name, arguments[name])
        return arguments

    app_parameters.filled = filled


def asks_only_when_all_went_well() -> None:
    """Do not end a chat with the question of `__clarify__` where another call of that turn failed (XMCP-CLI-085)."""
    right = ToolTurn.meta_tool_text

    def meta_tool_text(self: ToolTurn, tool: str) -> str:
        if tool == meta_tools.CLARIFY and any(one is None or one.response.error is not None for one in self.outcomes):
            return ""
        return right(self, tool)

    ToolTurn.meta_tool_text = meta_tool_text


# ---- 11.9: servers and names ----


def calls_with_the_newest_list() -> None:
    """Make the calls of a turn with the tools as they are when the answer has come: a tool that went away while the
    model wrote is unknown (XMCP-CLI-096).
    """
    right = Chat._begin_turn

    def begin_turn(self: Chat, catalogue: Catalogue, text: str, calls: Sequence[ToolCall]) -> ToolTurn:
        known: Any = self._catalogue
        servers = known.args[0]._servers
        return right(self, catalogue if servers.credential_pools else servers.catalogue, text, calls)

    Chat._begin_turn = begin_turn


# ---- 10: records ----


def starts_under_the_id_of_the_model() -> None:
    """Where a call got an id of the client's own, have the one that the model wrote in `tool_started`
    (XMCP-REC-002).
    """
    right_begin, right_event = Chat._begin_turn, ToolTurn._progress_event

    def begin_turn(self: Chat, catalogue: Catalogue, text: str, calls: Sequence[ToolCall]) -> ToolTurn:
        made: Any = right_begin(self, catalogue, text, calls)
        written = self._completion.tool_calls
        made._written = {call.id: old.id for old, call in zip(written, calls, strict=True) if old.id}
        return made

    def progress_event(self: ToolTurn, event: Any) -> Any:
        told = right_event(self, event)
        if isinstance(told, ToolStarted):
            ids: dict[str, str] = vars(self).get("_written", {})
            return replace(told, call_id=ids.get(told.call_id, told.call_id))
        return told

    Chat._begin_turn = begin_turn
    ToolTurn._progress_event = progress_event


def the_bill_comes_last() -> None:
    """When the time of a chat is over while the model answers, tell `done` first and then the `usage` of that request
    (XMCP-REC-003).
    """
    right = Chat.run

    async def run(self: Chat) -> AsyncGenerator[ChatChunk, None]:
        held: LLMUsage | None = None
        async with aclosing(right(self)) as events:
            async for event in events:
                last = isinstance(event, Done) and event.result["stop_reason"] == "timeout"
                if held is not None and not last:
                    yield held
                    held = None
                if isinstance(event, LLMUsage):
                    held = event  # until the next event is known
                else:
                    yield event
        if held is not None:
            yield held

    Chat.run = run


def what_the_cache_answers_has_started() -> None:
    """Tell `tool_started` also of a call that is answered from the cache, or with the answer of an equal call
    (XMCP-REC-006).
    """
    right = cache.stage

    def stage(kept: ResponseCache | None, *, read_only_too: bool) -> Stage | None:
        made = right(kept, read_only_too=read_only_too)
        if made is None:
            return None

        async def use_cache(call: ActiveCall, proceed: Next) -> Reading:
            reading = await made(call, proceed)
            if call.state.cached and not call.state.attempts:
                call.emit(call.request.call)
            return reading

        return use_cache

    cache.stage = stage


def no_answer_no_record() -> None:
    """Write no usage record of a request of which nothing had come when the time of the chat was over
    (XMCP-REC-011).
    """
    right = Chat._account_for_interrupted

    async def account(self: Chat, state: LLMState, exc: BaseException) -> None:
        received = self._received
        if isinstance(exc, TimeoutError) and received is not None:  # noqa: SIM102
            if not (self._text or received.bytes or received.usage != Usage()):
                self._received = None
                return
        await right(self, state, exc)

    Chat._account_for_interrupted = account


# ---- 3.5: large displays and the model ----


def reads_no_parts() -> None:
    """Leave a large display in a history of the application where the content of the tool message is a list of parts,
    not a text (XMCP-DSP-040).
    """
    right = context_budget.can_be_large

    def can_be_large(message: Message, budget: int) -> bool:
        return isinstance(message.get("content"), str) and right(message, budget)

    context_budget.can_be_large = can_be_large


def an_error_explains_itself_at_length() -> None:
    """Give the model the whole display of a call that failed, however large it is (XMCP-DSP-040)."""
    right = context_budget.for_model

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets = Budgets()) -> str:  # noqa: B008
        if response.error is not None and response.display is not None:
            budgets = replace(budgets, display=2**40)
        return right(response, document, budgets)

    context_budget.for_model = for_model


def a_plain_failure_shows_nothing() -> None:
    """Drop the display of a plain result that is a failure; that of a document stays (XMCP-DSP-042)."""
    right = server_results._read_members

    def read_members(*args: Any) -> ToolResponse:
        response = right(*args)
        if response.error is not None:
            response.display = None
        return response

    server_results._read_members = read_members


# ---- 6.4: blocks for the user ----


def names_of_members_say_nothing() -> None:
    """Where the structured content stands in for a missing text, look for the text of a block for the user alone in
    its values only, and not in the names of its members (XMCP-MCP-045).
    """
    right = server_results._repeat_what_is_for_the_user

    def values(data: Any) -> Any:
        if isinstance(data, dict):
            return [values(value) for value in data.values()]
        return [values(value) for value in data] if isinstance(data, list) else data

    def repeat(data: Any, blocks: Sequence[Any]) -> bool:
        as_json = [block for block in blocks if server_results.content_blocks.held(block).strip()[:1] in ("{", "[")]
        others = [block for block in blocks if block not in as_json]
        return right(data, as_json) or right(values(data), others)

    server_results._repeat_what_is_for_the_user = repeat
