"""Clients with one fault each. A function changes the reference client in this process, before one is started."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

from xmcp.chat import client_made_errors
from xmcp.chat.errors import ProviderError
from xmcp.chat.events import ChatChunk, Done, LLMRetry, StopReason
from xmcp.client.calls import app_parameters, breaker_guard, cache, context_budget, pipeline, retry_policy
from xmcp.client.calls import server_results as results
from xmcp.client.calls.active_call import ActiveCall, Next, Stage
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.callbacks import CALLBACK_SECONDS
from xmcp.client.hooks.callbacks import call as call_hook
from xmcp.client.hooks.middleware import LLMState, ToolState
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import MAX_CALLS, ToolTurn
from xmcp.client.servers import connection
from xmcp.client.tools import dependencies
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.client.tools.dependencies import FilledArguments, Graph, Result
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse
from xmcp_models.registry import EXTENSION_ID

# Modules and classes as `Any`: their functions are replaced.
_app_parameters: Any = app_parameters
_breaker_guard: Any = breaker_guard
_cache: Any = cache
_chat: Any = Chat
_connection: Any = connection
_context_budget: Any = context_budget
_dependencies: Any = dependencies
_pipeline: Any = pipeline
_results: Any = results
_retry_policy: Any = retry_policy
_turn: Any = ToolTurn


def a_begun_call_takes_the_text_along() -> None:
    """At the end of a chat in the middle of an answer, what is incomplete goes, and with a half call all of it."""
    account = _chat._account_for_interrupted

    async def account_and_forget(self: Any, state: LLMState, exc: BaseException) -> None:
        half_call = self._received is not None and self._received.bytes > 0
        await account(self, state, exc)
        if half_call and not isinstance(exc, ProviderError):
            self._text.clear()

    _chat._account_for_interrupted = account_and_forget


def the_first_of_far_calls_hands_on() -> None:
    """Further away than the direct predecessors, the first call of a tool that succeeded hands on."""
    fill, last_successes = _dependencies.fill_arguments, _dependencies._successes
    direct: list[Sequence[int]] = [()]

    def fill_arguments(
        call: int,
        arguments: Mapping[str, Any],
        entries: Sequence[Entry | None],
        graph: Graph,
        known: Sequence[Result | None],
        hidden: Collection[str] = (),
    ) -> FilledArguments | ErrorInfo:
        direct[0] = graph[call]
        filled: FilledArguments | ErrorInfo = fill(call, arguments, entries, graph, known, hidden)
        return filled

    def successes(row: Sequence[int], entries: Sequence[Entry], known: Sequence[Result | None]) -> list[int]:
        if row == direct[0]:
            last: list[int] = last_successes(row, entries, known)
            return last
        first: dict[str, int] = {}
        for place in row:
            if known[place] is not None:
                first.setdefault(entries[place].tool, place)
        return [*first.values()]

    _dependencies.fill_arguments = fill_arguments
    _dependencies._successes = successes


def once_harmless_always_harmless() -> None:
    """An attempt that changed nothing makes all later attempts of the call safe to repeat, whatever they say."""
    make_stage, is_allowed = _retry_policy.stage, _retry_policy.allowed
    licensed: ContextVar[list[bool] | None] = ContextVar("licensed", default=None)

    def stage(policy: RetryPolicy, sleep: Callable[[float], Any]) -> Stage:
        retry: Stage = make_stage(policy, sleep)

        async def one_call(call: ActiveCall, proceed: Next) -> Reading:
            token = licensed.set([])
            try:
                return await retry(call, proceed)
            finally:
                licensed.reset(token)

        return one_call

    def allowed(error: ErrorInfo, entry: Entry) -> bool:
        earlier = licensed.get()
        if earlier is None or not error.retryable or error.code == "CIRCUIT_OPEN":
            return bool(is_allowed(error, entry))
        if is_allowed(error, entry):
            earlier.append(True)
        return bool(earlier)

    _retry_policy.stage = stage
    _retry_policy.allowed = allowed


def a_probe_has_to_succeed() -> None:
    """A probe that the server answers with a protocol error leaves the breaker open for its whole time again."""
    report = _breaker_guard.Ticket.report
    _breaker_guard._OUTCOMES["answer"] = "refused"

    async def judged(self: Any, outcome: str) -> None:
        if outcome == "refused":
            outcome = "failed" if self.is_probe else "ok"
        await report(self, outcome)

    _breaker_guard.Ticket.report = judged


def caches_what_the_model_saw() -> None:
    """The document for the model is what is cached, with the reference in the place of a large display."""
    write, stages_of = _cache._written, _pipeline.stages_of
    budget = [context_budget.DISPLAY_BUDGET]

    def stages_and_budget(made: Any) -> Any:
        budget[0] = made.budgets.display
        return stages_of(made)

    def written(reading: Reading) -> str:
        response, display = reading.response, reading.response.display
        if display is not None and context_budget.size(display) > budget[0]:
            seen = replace(response, for_person=())
            reading = replace(reading, document=context_budget.for_model(seen, None, Budgets(budget[0], 2**23)))
        text: str = write(reading)
        return text

    _pipeline.stages_of = stages_and_budget
    _cache._written = written


def own_tools_are_free() -> None:
    """Calls of the client's own tools do not count for the limit of calls in a turn."""
    begin = _turn.__init__

    def count_the_others(
        self: Any, number: int, catalogue: Catalogue, text: str, calls: Sequence[Any], **options: Any
    ) -> None:
        left, place = options.get("max_calls", MAX_CALLS), 0
        for place, call in enumerate(calls):
            left -= call.name not in options.get("meta_tools", ())
            if left < 0:
                options["max_calls"] = place
                break
        else:
            options["max_calls"] = len(calls) or 1
        begin(self, number, catalogue, text, calls, **options)

    _turn.__init__ = count_the_others


def without_a_value_the_models_counts() -> None:
    """Where the application has no value for a parameter of its own, that of the model is sent."""

    async def filled(params: Mapping[str, Any], entry: Entry, state: ToolState) -> dict[str, Any] | ErrorInfo:
        own = app_parameters.hidden(params, entry)
        arguments = {name: value for name, value in state.arguments.items() if name not in params or name in own}
        for name in own:
            value = params[name]
            try:
                value = await call_hook(value, state, seconds=CALLBACK_SECONDS) if callable(value) else value
            except LookupError:
                value = None
            if value is not None:
                arguments[name] = value
            elif name in entry.needed and arguments.get(name) is None:
                return client_made_errors.missing_app_parameter(name)
        return arguments

    _app_parameters.filled = filled


def an_empty_announcement_is_none() -> None:
    """A server whose announcement is an empty object counts as one that announced nothing."""

    def announces_xmcp(capabilities: Any) -> bool:
        places = (capabilities.extensions, capabilities.experimental)
        return any((place or {}).get(EXTENSION_ID) for place in places)

    _connection.announces_xmcp = announces_xmcp


def a_message_of_an_error_is_always_told() -> None:
    """The message beside the code in `structuredContent` goes to the model, also where it repeats a user's block."""
    repeats = _results._repeat_what_is_for_the_user

    def only_of_successes(data: Any, blocks: Sequence[Any]) -> bool:
        return not isinstance(data, str) and bool(repeats(data, blocks))

    _results._repeat_what_is_for_the_user = only_of_successes


def a_reference_makes_it_whole() -> None:
    """A document of a server that is marked as lossy loses the mark where its display is replaced by a reference."""
    shorten = _context_budget._with_reference

    def with_reference(response: ToolResponse, display: DisplayEnvelope, budget: int) -> ToolResponse:
        shortened: ToolResponse = shorten(replace(response, lossy=False), display, budget)
        return shortened

    _context_budget._with_reference = with_reference


_IN_VAIN: Final = "_asked_in_vain"


def failures_of_all_turns_add_up() -> None:
    """In `retry` of a request to the model, `attempt` counts the failed requests of the chat, not of the turn."""
    ask = _chat._ask

    async def ask_and_count(self: Any, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        async with aclosing(ask(self, catalogue)) as events:
            async for event in events:
                if isinstance(event, LLMRetry):
                    count = vars(self)[_IN_VAIN] = vars(self).get(_IN_VAIN, 0) + 1
                    yield replace(event, attempt=count)
                else:
                    yield event

    _chat._ask = ask_and_count


def time_over_in_a_call_answers_with_its_words() -> None:
    """Where the time of a chat is over while calls run, the answer is what the model wrote beside these calls."""
    done, answered = _chat._done, _chat._answered

    def note_and_answer(self: Any, *args: Any, **options: Any) -> Done:
        self._model_answered = True
        ended: Done = answered(self, *args, **options)
        return ended

    def done_with_words(self: Any, stop_reason: StopReason, answer: str = "") -> Done:
        in_calls = self.messages[-1]["role"] == "tool" and not hasattr(self, "_model_answered")
        if stop_reason == "timeout" and in_calls:
            answer = self._completion.text
        ended: Done = done(self, stop_reason, answer)
        return ended

    _chat._answered = note_and_answer
    _chat._done = done_with_words
