"""Wrong clients: each function changes the reference client of this process so that it breaks one sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xmcp.chat import client_made_errors, messages
from xmcp.chat.errors import CallFailed, CircuitOpenError
from xmcp.chat.events import ToolEvent, ToolResult
from xmcp.chat.messages import Message
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls import (
    app_parameters,
    approval,
    breaker_guard,
    context_budget,
    retry_policy,
    server_results,
)
from xmcp.client.calls import cache as caching
from xmcp.client.calls import pipeline as pipelines
from xmcp.client.calls.active_call import ActiveCall, AnyStage, AttemptStage, Next, NextOfAttempt, Retrying, Stage
from xmcp.client.calls.approval import Approve
from xmcp.client.calls.cache import Deadline, ResponseCache
from xmcp.client.calls.pipeline import Pipeline
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import Reading, ServerResult
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.servers import pool
from xmcp.client.tools import dependencies
from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import Result
from xmcp.storage import BreakerStore
from xmcp.storage.breakers import Outcome
from xmcp.wire import DisplayEnvelope, ErrorInfo, decode


def forgets_ids_of_earlier_chats() -> None:
    """Keep the ids of calls apart within the running chat alone, not from those in the history it was given.

    Broken: XMCP-CLI-005.
    """

    def no_ids(history: Sequence[Message]) -> set[str]:
        return set()

    messages.call_ids = no_ids


def sends_the_defaults_of_the_schema() -> None:
    """Send the `default` of each property that the model left out, as if the model had written it.

    Broken: XMCP-CLI-012.
    """
    stages_of = pipelines.stages_of

    def with_defaults(pipeline: Pipeline) -> tuple[AnyStage, ...]:
        async def fill_in_defaults(call: ActiveCall, proceed: Next) -> Reading:
            properties = call.entry.input_schema.get("properties")
            hidden = app_parameters.hidden(pipeline.params, call.entry)
            defaults = {
                name: schema["default"]
                for name, schema in (properties.items() if isinstance(properties, Mapping) else ())
                if isinstance(schema, Mapping) and "default" in schema and name not in hidden
            }
            call.settled = {**defaults, **call.arguments}
            return await proceed(call)

        stages = stages_of(pipeline)
        place = stages.index(pipelines.settle_arguments) + 1
        return (*stages[:place], fill_in_defaults, *stages[place:])

    pipelines.stages_of = with_defaults


def merges_the_results_of_one_tool() -> None:
    """Take a member that the last successful call of a tool does not have from an earlier call of that tool.

    Broken: XMCP-CLI-034.
    """

    def all_successes(
        row: Sequence[int],
        entries: Sequence[Entry],
        results: Sequence[Result | None],
    ) -> list[int]:
        return [place for place in row if results[place] is not None]

    dependencies._successes = all_successes


def trusts_the_attempt_before() -> None:
    """Decide about `side_effects` of the last error by the attempt before it alone, not by each earlier one.

    Broken: XMCP-CLI-132.
    """

    def stage(policy: RetryPolicy, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> Stage:
        async def retry(call: ActiveCall, proceed: Next) -> Reading:
            now = asyncio.get_running_loop().time
            begun, failures, doubtful = now(), 0, False
            while True:
                last = None
                try:
                    reading = await proceed(call)
                except CallFailed as exc:
                    reading = server_results.failed(call.name, exc.error)
                    last = retry_policy._in_doubt(exc.error) if doubtful else None
                error = reading.response.error
                if error is None or not retry_policy.allowed(error, call.entry):
                    return server_results.failed(call.name, last) if last else reading
                doubtful = (error.meta or {}).get("side_effects") != "none"
                failures += 1
                pause, until = retry_policy.wait(policy, failures, error), call.deadline()
                left = None if until is None else until - now()
                if retry_policy.ends(policy, failures, pause, now() - begun, left):
                    return server_results.failed(call.name, last) if last else reading
                call.log.warning("tool_retry", tool_name=call.name, attempt=failures, code=error.code)
                call.emit(Retrying(call.request.call, failures, round(pause * 1000), error))
                await sleep(pause)

        return retry

    retry_policy.stage = stage


def takes_cancelled_for_answered() -> None:
    """Tell the circuit breaker that the server answered a call which was cancelled with its chat.

    Broken: XMCP-CLI-101.
    """

    def stage(breakers: BreakerStore | None) -> AttemptStage | None:
        if breakers is None:
            return None
        guard = breaker_guard.BreakerGuard(breakers)

        async def ask_the_breaker(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            try:
                ticket = await guard.admit(call.entry.server, call.log)
            except CircuitOpenError as exc:
                sent = call.state.attempts > 0
                raise CallFailed(client_made_errors.circuit_open(exc.server, exc.retry_after, sent=sent)) from exc
            outcome: Outcome = "unknown"
            try:
                result = await proceed(call)
                outcome = "ok"
                return result
            except asyncio.CancelledError:
                outcome = "ok"
                raise
            except CallFailed as exc:
                outcome = breaker_guard._OUTCOMES[exc.cause]
                if outcome == "lost":
                    if call.loss_reported and not ticket.is_probe:
                        outcome = "unknown"
                    call.loss_reported = True
                raise
            finally:
                await ticket.report(outcome)

        return ask_the_breaker

    breaker_guard.stage = stage


def caches_by_what_the_model_wrote() -> None:
    """Look an answer up by the arguments without the values of the application, which are filled in for the server.

    Broken: XMCP-CLI-051.
    """

    def stage(cache: ResponseCache | None, *, read_only_too: bool) -> Stage | None:
        if cache is None:
            return None

        async def use_cache(call: ActiveCall, proceed: Next) -> Reading:
            key = None
            if caching.can_be_cached(call.entry, read_only_too=read_only_too):
                key = caching.key(call.scope.context.tenant_id, call.entry, call.state.arguments)
            if key is None:
                return await proceed(call)

            async def make(deadline: Deadline) -> Reading:
                call.deadline = deadline
                return await proceed(call)

            reading, call.state.cached = await cache.answer(key, make, call.scope.deadline)
            return reading

        return use_cache

    caching.stage = stage


def measures_displays_in_characters() -> None:
    """Compare the number of characters of a display's JSON with the budget, and not that of its bytes in UTF-8.

    Broken: XMCP-DSP-040.
    """
    size, reference = context_budget.size, context_budget.reference

    def characters(display: DisplayEnvelope) -> int:
        return len(json.dumps(display.to_dict(), ensure_ascii=False, separators=(",", ":")))

    def with_its_bytes(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        made = reference(display, note=note)
        payload: Any = made.payload
        return made.model_copy(update={"payload": {**payload, "bytes": size(display)}})

    context_budget.size = characters
    context_budget.reference = with_its_bytes


def drops_what_a_filter_left() -> None:
    """Give the application no `answer` where the vendor's content filter cut the text, although some of it came.

    Broken: XMCP-CLI-124.
    """
    done = Chat._done

    def without_filtered_text(self: Chat, stop_reason: Any, answer: str = "") -> Any:
        return done(self, stop_reason, "" if stop_reason == "content_filter" else answer)

    Chat._done = without_filtered_text  # type: ignore[method-assign]


def remembers_an_approval() -> None:
    """Make a call without asking if the application approved an equal one earlier in the chat.

    Broken: XMCP-CLI-080.
    """
    refusal = approval.refusal
    approved: set[tuple[str | None, ...]] = set()

    async def asked_once(approve: Approve, state: ToolState, timeout: float | None, log: EventLog) -> ErrorInfo | None:
        arguments = json.dumps(state.arguments, sort_keys=True, default=repr)
        call = (state.chat.chat_id, state.server, state.tool_name, arguments)
        if call in approved:
            return None
        error = await refusal(approve, state, timeout, log)
        if error is None:
            approved.add(call)
        return error

    approval.refusal = asked_once


def leaves_out_names_that_models_refuse() -> None:
    """Leave out each tool whose name, with its prefix, the model's format does not allow, in place of a similar name.

    Broken: XMCP-CLI-090.
    """
    module: Any = pool
    build = module.build

    def of_allowed_names(servers: Sequence[tuple[Any, Sequence[Any]]], *others: Any, **options: Any) -> Any:
        kept = []
        for server, tools in servers:
            prefix = f"{server.name}__" if server.named else ""
            allowed = [tool for tool in tools if legal_name(prefix + tool.name) == prefix + tool.name]
            # The same list again is how `build` knows that a server's tools are the same.
            kept.append((server, tools if len(allowed) == len(tools) else allowed))
        return build(kept, *others, **options)

    module.build = of_allowed_names


def reports_the_text_for_the_model() -> None:
    """Take the text of `tool_result` from the document for the model, which is cut and has notes about blocks.

    Broken: XMCP-REC-006.
    """
    outcome_events = ToolTurn._outcome_events

    def of_the_document(self: ToolTurn, index: int) -> Sequence[ToolEvent]:
        outcome, events = self.outcomes[index], outcome_events(self, index)
        if outcome is None:
            return events
        return [
            replace(event, text=decode(outcome.content).llm_output or "") if isinstance(event, ToolResult) else event
            for event in events
        ]

    ToolTurn._outcome_events = of_the_document  # type: ignore[method-assign]


def takes_silence_for_not_retryable() -> None:
    """Read the failure of another server that does not say `retryable` as one that no retry can help.

    Broken: XMCP-MCP-040, whose text takes the registry's value for the code.
    """
    module: Any = server_results
    error_in = module.error_in

    def not_retryable_by_default(structured: object) -> ErrorInfo | None:
        error: ErrorInfo | None = error_in(structured)
        if error is None or not isinstance(structured, Mapping):
            return error
        inner = structured.get("error")
        described = inner if isinstance(inner, Mapping) and isinstance(inner.get("code"), str) else structured
        if isinstance(described.get("retryable"), bool):
            return error
        return replace(error, retryable=False, retry_after_ms=None)

    module.error_in = not_retryable_by_default
