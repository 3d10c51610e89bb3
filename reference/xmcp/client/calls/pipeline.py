"""The pipeline of a tool call, from the model's arguments to the text that the model reads (sections 11.4 to 11.8).

`stages_of` lists the stages, outermost first. Every failure becomes an error response; only cancellation and
`QuotaExceeded` are raised.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xmcp.chat import client_made_errors
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import QuotaExceeded
from xmcp.chat.events import CallReport
from xmcp.client.calls import (
    app_parameters,
    approval,
    attempt,
    breaker_guard,
    cache,
    context_budget,
    retry_policy,
    server_results,
    tool_hooks,
)
from xmcp.client.calls.active_call import ActiveCall, AnyStage, ChatScope, Event, Next, Request
from xmcp.client.calls.approval import APPROVAL_SECONDS, Approve
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import Reading
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.client.hooks.middleware import Stack, ToolState
from xmcp.client.slots import Slots
from xmcp.client.tools.dependencies import Result
from xmcp.storage.breakers import BreakerStore
from xmcp.wire import ErrorInfo, ToolResponse


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended.

    `content` is the text of its tool message. `result` is the value for calls that depend on this one, `None` if
    this call failed.
    """

    call: ToolCall
    response: ToolResponse
    content: str
    report: CallReport = field(default_factory=CallReport)
    result: Result | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Run the tool calls of all chats of a client. Times are in seconds."""

    slots: Slots
    timeouts: Mapping[str, float]
    """Time limit of each attempt, by the tool's name for the model; `*` is for all others.

    The time in which an attempt waits for its slot is not included.
    """
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breakers: BreakerStore | None = None
    cache: ResponseCache | None = None
    cache_read_only: bool = False
    middleware: Stack = field(default_factory=lambda: Stack(()))
    approve: Approve | None = None
    approval_timeout: float = APPROVAL_SECONDS
    params: Mapping[str, Any] = field(default_factory=dict)
    budgets: Budgets = field(default_factory=Budgets)
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    _answer: Next = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_answer", chain(stages_of(self)))

    async def run(self, request: Request, turn: int, scope: ChatScope, emit: Callable[[Event], None]) -> Outcome:
        """Run one call.

        Raises:
            QuotaExceeded: a middleware stopped the chat.
        """
        entry = request.entry
        state = ToolState(
            chat=scope.context,
            turn=turn,
            call_id=request.call.id,
            tool_name=request.name,
            server=entry.server.name,
            arguments=request.arguments if isinstance(request.arguments, dict) else {},
            read_only=entry.read_only,
        )
        with scope.telemetry.tool_call(state) as observed:
            try:
                reading = await self._answer(ActiveCall(request, state, scope, emit, lambda: scope.deadline))
                response, document = reading.response, reading.document
                size = server_results.rough_size(reading)
                content = await in_worker_if_large(size, context_budget.for_model, response, document, self.budgets)
            except QuotaExceeded:
                raise
            except Exception:
                error_id = uuid.uuid4().hex
                scope.log.exception("call_crashed", tool_name=request.name, error_id=error_id)
                reading = server_results.failed(
                    request.name, client_made_errors.crashed(error_id, sent=state.attempts > 0)
                )
                content = context_budget.for_model(reading.response)
            error = reading.response.error
            observed.code = error.code if error else None
        return Outcome(
            request.call,
            reading.response,
            content,
            CallReport(
                entry.server.name, state.attempts, observed.duration_ms, state.cached, request.handed_on or None
            ),
            None if error else Result.of(reading.response, reading.structured, entry),
        )


def stages_of(pipeline: Pipeline) -> tuple[AnyStage, ...]:
    """Return the stages of a call, outermost first, without the stages that this client does not use.

    The breaker is checked after the call got its slot, because it may have opened, or begun to probe, during the wait.
    """
    stages = (
        refuse_unusable_arguments,
        tool_hooks.stage(pipeline.middleware),
        approval.stage(pipeline.approve, pipeline.approval_timeout),
        app_parameters.stage(pipeline.params),
        settle_arguments,
        cache.stage(pipeline.cache, read_only_too=pipeline.cache_read_only),
        retry_policy.stage(pipeline.retry, pipeline.sleep),
        attempt.read_result,
        attempt.take_slot(pipeline.slots),
        breaker_guard.stage(pipeline.breakers),
        attempt.call_server(pipeline.timeouts),
    )
    return tuple(stage for stage in stages if stage is not None)


async def refuse_unusable_arguments(call: ActiveCall, proceed: Next) -> Reading:
    """Answer a call whose arguments cannot be used (XMCP-CLI-010), without calling any hook."""
    arguments = call.request.arguments
    if isinstance(arguments, ErrorInfo):
        return server_results.failed(call.name, arguments)
    return await proceed(call)


async def settle_arguments(call: ActiveCall, proceed: Next) -> Reading:
    """Set `ActiveCall.settled`, so that all attempts send, and the cache keeps an answer to, the same arguments.

    A hook can change `ToolState.arguments` while attempts are still made: when a chat is cancelled, its `after_tool`
    runs, and the call may go on for other chats.
    """
    call.settled = dict(call.arguments)
    return await proceed(call)


def chain(stages: Sequence[AnyStage]) -> Next:
    """Return the function that runs a call through `stages`."""
    proceed: Any = _no_stage_left
    for stage in reversed(stages):
        proceed = _bound(stage, proceed)
    return cast("Next", proceed)


def _bound(stage: Any, proceed: Any) -> Any:
    return lambda call: stage(call, proceed)


async def _no_stage_left(_: ActiveCall) -> Any:
    raise AssertionError("The last stage of a pipeline must answer.")
