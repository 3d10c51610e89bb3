"""The one way a tool call takes, from what the model wrote to what the model reads (semantics 11).

Read `Pipeline.run` from top to bottom: middleware, approval, parameters of the application, cache, slot, circuit
breaker, time-out, call, decoding, retry, and back. Whatever goes wrong on the way becomes an error response; only
cancellation and `QuotaExceeded` leave by an exception.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tenacity import AsyncRetrying, RetryCallState, retry_if_result

from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import CallFailed, CircuitOpenError, QuotaExceeded
from xmcp.chat.events import CallReport
from xmcp.client.calls import app_parameters, approval, cache, context_budget, results, retry
from xmcp.client.calls.approval import APPROVAL_SECONDS, Approve
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.calls.results import Reading
from xmcp.client.calls.retry import RetryPolicy
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext, Stack, ToolState
from xmcp.client.hooks.spans import tool_span
from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import Result
from xmcp.storage.breakers import Admitted, BreakerStore, MemoryBreakers, Refused
from xmcp.storage.breakers import Outcome as Outcomes
from xmcp.wire import ErrorInfo, ToolResponse, encode

Deadline: TypeAlias = Callable[[], float | None]
"""Until when whoever waits for a call can wait, as of now: a time of the event loop's clock."""

BREAKER_SECONDS: Final = 2.0
"""How long the store of the breakers may take to answer before calls go on without it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: the response, the text of its tool message, and what it hands on (`None`: it failed)."""

    call: ToolCall
    response: ToolResponse
    content: str
    report: CallReport = field(default_factory=CallReport)
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call that a model asked for: `arguments` read and with what predecessors handed on, or why there are none."""

    call: ToolCall
    name: str
    """The tool as the model knows it, legal for every vendor."""
    entry: Entry
    arguments: dict[str, Any] | ErrorInfo
    handed_on: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retrying:
    """An attempt failed, and there will be another."""

    call: ToolCall
    attempt: int
    wait_ms: int
    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class Warned:
    """Something about a call is worth knowing."""

    call: ToolCall
    text: str


Event = ToolCall | Retrying | Warned
"""What a call tells on its way; a bare `ToolCall` says that it has its slot and is on its way."""


@dataclass(frozen=True, slots=True)
class ChatScope:
    """What a call needs to know of its chat. `deadline` is a time of the event loop's clock."""

    context: ChatContext
    log: EventLog
    deadline: float | None
    span: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Runs the calls of all chats of a client. Times are seconds."""

    slots: asyncio.Semaphore
    timeouts: Mapping[str, float]
    """By the tool's name for the model; `*` is for all others. Counted from the slot on, for each attempt anew."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breakers: BreakerStore | None = None
    cache: ResponseCache | None = None
    cache_read_only: bool = False
    middleware: Stack = field(default_factory=lambda: Stack(()))
    approve: Approve | None = None
    approval_timeout: float = APPROVAL_SECONDS
    params: Mapping[str, Any] = field(default_factory=dict)
    budgets: Budgets = field(default_factory=Budgets)
    sleep: Callable[[float], Any] = asyncio.sleep

    async def run(self, request: Request, turn: int, scope: ChatScope, emit: Callable[[Event], None]) -> Outcome:
        """Run one call.

        Raises:
            QuotaExceeded: a middleware stops the chat.
        """
        begun = time.perf_counter()
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
        with tool_span(scope.span, request.name, request.call.id, entry.server.name) as span:
            try:
                reading = await self._answered(request, state, scope, emit)
                content = context_budget.for_model(reading.response, reading.document, self.budgets)
            except QuotaExceeded:
                span.ended("QUOTA_EXCEEDED", state.attempts, cached=state.cached)
                raise
            except asyncio.CancelledError:
                span.ended("CANCELLED", state.attempts, cached=state.cached)
                raise
            except Exception:
                error_id = uuid.uuid4().hex
                scope.log.exception("call_crashed", tool_name=request.name, error_id=error_id)
                reading = results.crashed(request.name, error_id, made=state.attempts > 0)
                content = context_budget.for_model(reading.response)
            response = reading.response
            code = response.error.code if response.error else None
            span.ended(code, state.attempts, cached=state.cached)
        duration = round((time.perf_counter() - begun) * 1000, 1)
        scope.log.info(
            "tool_call",
            turn=turn,
            tool_name=request.name,
            duration_ms=duration,
            outcome=code or "ok",
            attempts=state.attempts,
            cached=state.cached,
        )
        return Outcome(
            request.call,
            response,
            content,
            CallReport(entry.server.name, state.attempts, duration, state.cached, request.handed_on or None),
            None if code else Result.of(response, reading.structured, entry),
        )

    async def _answered(
        self, request: Request, state: ToolState, scope: ChatScope, emit: Callable[[Event], None]
    ) -> Reading:
        """Arguments that cannot be used are answered here; middleware goes around everything else."""
        if isinstance(request.arguments, ErrorInfo):
            return results.failed(request.name, request.arguments)
        if not self.middleware:
            return await self._allowed(request, state, scope, emit)
        async with self.middleware.around("tool", state, scope.log) as instead:
            if isinstance(instead, ErrorInfo):
                reading = results.failed(request.name, instead)
            elif isinstance(instead, ToolResponse):
                reading = Reading(instead)
            else:
                reading = await self._allowed(request, state, scope, emit)
            state.response = reading.response
            before = encode(reading.response, check=False)
        if state.response is None or encode(state.response, check=False) == before:
            return reading
        # A hook changed it, maybe in place: neither the server's own text nor its data is what counts now.
        return Reading(state.response)

    async def _allowed(
        self, request: Request, state: ToolState, scope: ChatScope, emit: Callable[[Event], None]
    ) -> Reading:
        """Approval, the application's parameters, the cache; then the attempts."""
        name, entry = request.name, request.entry
        if (refused := await approval.refusal(self.approve, state, self.approval_timeout, scope.log)) is not None:
            return results.failed(name, refused)
        if self.params:
            for parameter in app_parameters.hidden(self.params, entry):
                if parameter in state.arguments:
                    text = f"The model gave a value for {parameter!r}, which the application fills in; it was not used."
                    emit(Warned(request.call, text))
            arguments = await app_parameters.filled(self.params, entry, state)
            if isinstance(arguments, ErrorInfo):
                scope.log.warning("param_missing", tool_name=name, message=arguments.message)
                return results.failed(name, arguments)
        else:
            arguments = state.arguments

        async def attempts(deadline: Deadline) -> Reading:
            return await self._attempts(request, arguments, state, scope, emit, deadline)

        key = None
        if self.cache is not None and cache.can_be_cached(entry, read_only_too=self.cache_read_only):
            key = cache.key(scope.context.tenant_id, entry, arguments)
        if self.cache is None or key is None:
            return await attempts(lambda: scope.deadline)
        reading, state.cached = await self.cache.answer(key, attempts, scope.deadline)
        return reading

    async def _attempts(
        self,
        request: Request,
        arguments: dict[str, Any],
        state: ToolState,
        scope: ChatScope,
        emit: Callable[[Event], None],
        deadline: Deadline,
    ) -> Reading:
        """Call the server until it has answered for good; the engine is tenacity's, the decisions are `retry`'s."""
        now = asyncio.get_running_loop().time
        begun = now()
        failed: list[tuple[Reading, ErrorInfo]] = []

        def again(reading: Reading) -> bool:
            error = reading.response.error
            if error is None or not retry.allowed(error, request.entry):
                return False
            failed.append((reading, error))
            return True

        first = await self._attempt(request, arguments, state, scope, emit)
        if not again(first):
            return first
        answers = [first]

        def ends(attempt: RetryCallState) -> bool:
            until = deadline()
            left = None if until is None else until - now()
            return retry.ends(self.retry, attempt.attempt_number, attempt.upcoming_sleep, now() - begun, left)

        def announce(attempt: RetryCallState) -> None:
            number, (_, error) = attempt.attempt_number, failed[-1]
            scope.log.warning("tool_retry", tool_name=request.name, attempt=number, code=error.code)
            emit(Retrying(request.call, number, round(attempt.upcoming_sleep * 1000), error))

        async def attempt() -> Reading:
            # The engine begins with the attempt that failed: nearly all calls need none.
            return answers.pop() if answers else await self._attempt(request, arguments, state, scope, emit)

        engine = AsyncRetrying(
            retry=retry_if_result(again),
            wait=lambda attempt: retry.wait(self.retry, attempt.attempt_number, failed[-1][1]),
            stop=ends,
            before_sleep=announce,
            retry_error_callback=lambda _: failed[-1][0],
            sleep=self.sleep,
        )
        answer: Reading = await engine(attempt)
        return answer

    async def _attempt(
        self,
        request: Request,
        arguments: dict[str, Any],
        state: ToolState,
        scope: ChatScope,
        emit: Callable[[Event], None],
    ) -> Reading:
        """One attempt: a slot, the breaker, the time-out, the call.

        The breaker is asked last: it may have opened, or begun to probe, while the call waited for its slot.
        """
        entry, name = request.entry, request.name
        timeout = self.timeouts.get(name, self.timeouts["*"])
        async with self.slots:
            try:
                admitted = await self._admit(entry, scope.log)
            except CircuitOpenError as exc:
                return results.failed(name, results.circuit_open(exc))
            state.attempts += 1
            if state.attempts == 1:
                emit(request.call)
            outcome: Outcomes = "unknown"
            try:
                async with asyncio.timeout(timeout):
                    # A copy for each attempt: a tool of this process may do with it what it likes.
                    result = await entry.server.execute_tool_call(entry.tool, dict(arguments))
                outcome = "ok"
            except TimeoutError:
                outcome = "failed"
                return results.failed(name, results.timed_out(timeout))
            except CallFailed as exc:
                outcome = "failed" if exc.transport else "ok"
                return results.failed(name, exc.error)
            finally:
                await self._record(entry, admitted, outcome, scope.log)
        return results.read(result, name, speaks_xmcp=entry.server.speaks_xmcp)

    async def _admit(self, entry: Entry, log: EventLog) -> Admitted | None:
        """Ask the breaker; a store that fails holds nothing back.

        Raises:
            CircuitOpenError: the server's calls are held back.
        """
        if self.breakers is None:
            return None
        try:
            async with asyncio.timeout(None if self._at_once else BREAKER_SECONDS):
                verdict = await self.breakers.admit(entry.server.identity)
        except Exception as exc:
            log.warning("breaker_failed", operation="admit", reason=type(exc).__name__)
            return None
        if isinstance(verdict, Refused):
            raise CircuitOpenError(entry.server.name, verdict.retry_after)
        return verdict

    async def _record(self, entry: Entry, admitted: Admitted | None, outcome: Outcomes, log: EventLog) -> None:
        """Tell the breaker how it went, also when the call is being cancelled: a probe must not stay out for ever."""
        if self.breakers is None or admitted is None:
            return
        if self._at_once:
            await self._told(self.breakers, entry, admitted, outcome, log)
            return
        recording = asyncio.ensure_future(self._told(self.breakers, entry, admitted, outcome, log))
        try:
            await asyncio.shield(recording)
        except asyncio.CancelledError:
            await asyncio.wait({recording}, timeout=BREAKER_SECONDS)
            raise

    @property
    def _at_once(self) -> bool:
        """Whether the breakers' store never waits, so that nothing can be cancelled in it."""
        return type(self.breakers) is MemoryBreakers

    @staticmethod
    async def _told(breakers: BreakerStore, entry: Entry, admitted: Admitted, outcome: Outcomes, log: EventLog) -> None:
        try:
            async with asyncio.timeout(BREAKER_SECONDS):
                state = await breakers.record(entry.server.identity, admitted, outcome)
        except Exception as exc:
            log.warning("breaker_failed", operation="record", reason=type(exc).__name__)
            return
        if outcome == "failed" and state == "open":
            log.warning("circuit_open", server=entry.server.name)
